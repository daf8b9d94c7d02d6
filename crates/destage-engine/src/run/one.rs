//! One run: a policy, a cache size, a trace.

use super::needs::{caveats, clusters, own_suits, suits, supplies};
use super::outcome::Outcome;
use super::record::{Named, record};
use super::runner::Runner;
use crate::accesses::Extent;
use crate::control::Control;
use crate::error::RunError;
use crate::input::Input;
use crate::mounted::{Mounted, has_an_order};
use crate::observe::{Observer, Unobserved};
use crate::options::RunOptions;
use crate::result::RunResult;
use crate::sizes::Frames;
use crate::spec::{PolicySpec, json_of};
use destage_core::{Dense, Policy};
use destage_policies::params::Value;
use destage_policies::{Circumstance, Setup, build, build_any};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs one policy at one size; `observer` sees every decision, if it watches this run.
pub fn run(
    input: &Input<'_>,
    spec: &PolicySpec,
    frames: &Frames,
    options: &RunOptions,
    control: &Control,
    observer: &mut impl Observer,
) -> Result<RunResult, RunError> {
    supplies(spec, options.drive.is_some())?;
    options.suit(spec)?;
    let params = spec.params(&options.says())?;
    let mut setup = options.setup(frames.frames, params.clone(), input.columns.lpns.len() as u64);
    if clusters(spec) {
        setup = setup.with_blocks_of(input.columns.lpns);
    }
    let foreseen = foresee(input, spec, &setup, options, control)?;
    let runs_with = foreseen.as_ref().unwrap_or(options);
    let outcome = outcome_of(input, spec, &setup, runs_with, control, observer);
    let outcome = outcome.map_err(|error| match error {
        RunError::Broken(law) => RunError::Broken(format!("{}: {law}", spec.label())),
        other => other,
    })?;
    let json = |(k, v): (&str, &Value)| (k.to_string(), json_of(v));
    let named = Named {
        policy: spec.name.to_string(),
        given: spec.given.iter().map(|(k, v)| json((k, v))).collect(),
        params: params.iter().map(json).collect(),
    };
    let mut result = record(outcome, named, input, frames, options)?;
    if clusters(spec) && options.drive.is_none() {
        result.config.options.pages_per_block = Some(setup.pages_per_block);
        result.config.options.device_pages = setup.device_pages;
    }
    if options.drive.is_none() {
        let told = caveats(spec.name, Circumstance::NoDevice);
        result.warnings.extend(told.map(|says| format!("{}: {says}", spec.label())));
    }
    Ok(result)
}

/// Runs the policy as it is watched.
fn outcome_of(
    input: &Input<'_>,
    spec: &PolicySpec,
    setup: &Setup,
    options: &RunOptions,
    control: &Control,
    observer: &mut impl Observer,
) -> Result<Outcome, RunError> {
    let directory = Dense::new(input.columns.lpns.len() as u32);
    if spec.is_none() {
        Runner { input, options, control, observer }.without_a_cache()
    } else if options.check || observer.watches() {
        let policy = build_any(spec.name, setup, directory)?;
        Runner { input, options, control, observer }.watched(policy)
    } else {
        let alone = Runner { input, options, control, observer: &mut Unobserved };
        build(spec.name, setup, directory, alone)?
    }
}

/// In front of a drive whose placement knows the future (`docs/spec/device-today.md` 8.6): runs
/// once for what is written, and says with which drive to run again.
fn foresee(
    input: &Input<'_>,
    spec: &PolicySpec,
    setup: &Setup,
    options: &RunOptions,
    control: &Control,
) -> Result<Option<RunOptions>, RunError> {
    let Some(drive) = &options.drive else { return Ok(None) };
    suits(spec.name, &setup.params, drive.device.config())?;
    if !drive.device.is_recording() {
        return Ok(None);
    }
    let first = RunOptions { check: false, profile: false, ..options.clone() };
    let first = outcome_of(input, spec, setup, &first, control, &mut Unobserved)?;
    // Whoever follows the runs waits for the accesses of one.
    let accesses = input.columns.extents.iter().map(|&extent| u64::from(Extent(extent).pages()));
    control.accesses_done.fetch_sub(accesses.sum(), Ordering::Relaxed);
    let future = first.future.expect("the drive recorded it");
    let drive = Mounted { device: drive.device.foreseeing(&future), ..(**drive).clone() };
    Ok(Some(RunOptions { drive: Some(Arc::new(drive)), ..options.clone() }))
}

/// Runs a policy that is not in the table, at the size that it was made with; always checked.
///
/// # Errors
///
/// As [`run`]; [`RunError::Broken`] with the first law that it breaks.
pub fn run_own<P: Policy>(
    input: &Input<'_>,
    named: Named,
    policy: P,
    frames: &Frames,
    options: &RunOptions,
    control: &Control,
    observer: &mut impl Observer,
) -> Result<RunResult, RunError> {
    if options.drops_trims() && !policy.forgets() {
        return Err(RunError::Impossible(format!(
            "{}: trim = drop needs a policy with a method forget(page), which drops a page that \
             the host has trimmed",
            named.policy
        )));
    }
    let writes_ahead = options.drive.as_ref().is_some_and(|drive| drive.host.writer.is_some());
    if writes_ahead && !P::ORDERED {
        has_an_order(&named.policy)?;
    }
    let options = &RunOptions { check: true, ..options.clone() };
    if let Some(drive) = &options.drive {
        own_suits(drive.device.config())?;
    }
    let outcome = Runner { input, options, control, observer }.watched(policy);
    let outcome = outcome.map_err(|error| match error {
        RunError::Broken(law) => RunError::Broken(format!("{}: {law}", named.policy)),
        other => other,
    })?;
    record(outcome, named, input, frames, options)
}
