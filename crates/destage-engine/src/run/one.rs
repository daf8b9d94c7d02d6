//! One run: a policy, a cache size, a trace.

use super::outcome::Outcome;
use super::record::{Named, record};
use super::requirements::{caveats, clusters, own_suits, suits, supplies};
use super::runner::{Runner, untimed};
use super::tiered::{self, TieredRunner};
use crate::mounted::{Mounted, has_an_order};
use crate::options::RunOptions;
use crate::result::RunResult;
use crate::sizes::Frames;
use crate::spec::{PolicySpec, json_of};
use destage_core::Policy;
use destage_policies::params::{Params, Value};
use destage_policies::{Circumstance, EraseBlocks, Setup};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::observe::{Observer, Unobserved};
use destage_replay::shared;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// Runs one policy at one size; `observer` sees every decision, if it watches this run.
pub fn run(
    input: &Input<'_>,
    spec: &PolicySpec,
    frames: &Frames,
    options: &RunOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let options = &options.with_moment(input, &[frames.frames]);
    run_beside(input, spec, frames, options, control, observer, &Blocks::default())
}

/// Erase blocks of a trace's pages, found for the first run that asks for them.
#[derive(Default)]
pub(super) struct Blocks(OnceLock<Arc<EraseBlocks>>);

/// [`run`], beside others over the same trace with the same options, which share `blocks`.
pub(super) fn run_beside(
    input: &Input<'_>,
    spec: &PolicySpec,
    frames: &Frames,
    options: &RunOptions,
    control: &Control,
    observer: &mut dyn Observer,
    blocks: &Blocks,
) -> Result<RunResult, RunError> {
    supplies(spec, options.shows(spec))?;
    options.suit(spec)?;
    tiered::suits(spec, options)?;
    options.tiers.have_room(frames.frames).map_err(RunError::Impossible)?;
    let params = spec.params(&options.says())?;
    let trace_pages = Some(input.columns.lpns.len() as u64);
    let mut setup = options.setup(frames.frames, params.clone(), trace_pages);
    if clusters(spec) {
        let lpns = || input.columns.lpns.iter().copied();
        let found = blocks.0.get_or_init(|| EraseBlocks::new(lpns(), setup.pages_per_block).into());
        setup.erase_blocks = Some(Arc::clone(found));
    }
    let foreseen = foresee(input, spec, &setup, options, control)?;
    let runs_with = foreseen.as_ref().unwrap_or(options);
    let outcome = outcome_of(input, spec, &setup, runs_with, control, observer);
    let outcome = outcome.map_err(|error| match error {
        RunError::Broken(law) => RunError::Broken(format!("{}: {law}", spec.label())),
        other => other,
    })?;
    let mut result = recorded(outcome, spec, &params, input, frames, options)?;
    if clusters(spec) && options.drive.is_none() {
        result.config.options.pages_per_block = Some(setup.pages_per_block);
        result.config.options.device_pages = setup.device_pages;
    }
    Ok(result)
}

/// Runs one policy at some sizes in one pass, if it can share one (`shared`); a result for each.
pub(super) fn run_together(
    input: &Input<'_>,
    spec: &PolicySpec,
    sizes: &[Frames],
    options: &RunOptions,
    control: &Control,
) -> Result<Vec<Result<RunResult, RunError>>, RunError> {
    let params = spec.params(&options.says())?;
    let frames: Vec<u32> = sizes.iter().map(|size| size.frames).collect();
    let columns = input.columns;
    let warmup = options.warmup.rows(columns.first_ids.len(), input.arrivals_ns).unwrap_or(0);
    let found = shared::run(spec.name, columns, &frames, warmup, true, control);
    let found = found.ok_or(RunError::Interrupted)?;
    let each = found.into_iter().zip(sizes).map(|(replayed, frames)| {
        recorded(untimed(replayed, input, options), spec, &params, input, frames, options)
    });
    Ok(each.collect())
}

/// The result of a policy of the table, with what has to be said of it.
fn recorded(
    outcome: Outcome,
    spec: &PolicySpec,
    params: &Params,
    input: &Input<'_>,
    frames: &Frames,
    options: &RunOptions,
) -> Result<RunResult, RunError> {
    let json = |(k, v): (&str, &Value)| (k.to_string(), json_of(v));
    let named = Named {
        policy: spec.name.to_string(),
        given: spec.given.iter().map(|(k, v)| json((k, v))).collect(),
        params: params.iter().map(json).collect(),
    };
    let mut result = record(outcome, named, input, frames, options)?;
    if options.drive.is_none() {
        let known = caveats(spec.name, Circumstance::NoDevice);
        result.warnings.extend(known.map(|says| format!("{}: {says}", spec.label())));
    }
    Ok(result)
}

/// Runs the policy, or without a cache.
fn outcome_of(
    input: &Input<'_>,
    spec: &PolicySpec,
    setup: &Setup,
    options: &RunOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    if options.tiers.kv || options.tiers.tier2.is_some() {
        return TieredRunner { input, options, control, observer }.run(spec, setup);
    }
    let runner = Runner { input, options, control, observer };
    if spec.is_none() { runner.without_a_cache() } else { runner.named(spec.name, setup) }
}

/// In front of a drive whose placement uses future accesses (`docs/spec/device-today.md` 8.6): runs
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
    // A follower of the runs waits for the accesses of one.
    control.accesses_done.fetch_sub(input.columns.accesses(), Ordering::Relaxed);
    let future = first.future.expect("the drive recorded it");
    let drive = Mounted { device: drive.device.foreseeing(&future).into(), ..(**drive).clone() };
    Ok(Some(RunOptions { drive: Some(Arc::new(drive)), ..options.clone() }))
}

/// Runs a policy that is not in the table, at the size that it was made with; always checked.
///
/// # Errors
///
/// Errors of [`run`]; [`RunError::Broken`] with the first invariant that the policy violates.
pub fn run_own<P: Policy>(
    input: &Input<'_>,
    named: Named,
    policy: P,
    frames: &Frames,
    options: &RunOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    if options.drops_trims() && !policy.forgets() {
        return Err(RunError::Impossible(format!(
            "{}: trim = drop needs a policy with a method forget(page), which drops a page that \
             the host has trimmed",
            named.policy
        )));
    }
    if options.tiers.ttl.is_some() {
        return Err(RunError::Impossible(format!(
            "{}: ttl (--ttl) excludes a policy of one's own, which is always checked",
            named.policy
        )));
    }
    if let Some((key, _)) = options.tiers.pinning().next() {
        return Err(RunError::Impossible(format!(
            "{}: {key} (--{}) excludes a policy of one's own, which has every frame",
            named.policy,
            key.replace('_', "-")
        )));
    }
    let writes_ahead = options.drive.as_ref().is_some_and(|drive| drive.host.writer.is_some());
    if writes_ahead && !P::ORDERED {
        has_an_order(&named.policy)?;
    }
    let options = options.with_moment(input, &[frames.frames]);
    let options = &RunOptions { check: true, ..options };
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
