//! A policy in front of a drive without a trace, for requests as they come (`docs/spec/pool.md`
//! 10.3): built, and described at the end, as a run over a trace is.

use crate::mounted::Mounted;
use crate::options::RunOptions;
use crate::result::{METRICS, Number, PendingWrites, RunConfig, RunResult};
use crate::run::{requirements, suits};
use crate::spec::PolicySpec;
use destage_core::{AnyPolicy, Requirements};
use destage_policies::hashed;
use destage_replay::error::RunError;
use destage_replay::timed::{LiveRun, TimedOutcome};
use destage_ssd::Device;
use destage_ssd::config::TrimMode;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A policy, or no cache, in front of a drive whose host sees `pages` pages.
///
/// # Errors
///
/// [`RunError`], as a run has it, and for what a live run cannot have.
pub fn start(
    spec: &PolicySpec,
    frames: u32,
    pages: u64,
    drive: &Arc<Mounted>,
) -> Result<LiveRun, RunError> {
    if spec.is_prefix_min() || requirements(spec).contains(Requirements::NEXT_USE) {
        let what = format!("{}: a live cache does not know the future", spec.name);
        return Err(RunError::Impossible(what));
    }
    let policy = if spec.is_none() { None } else { Some(policy(spec, frames, pages, drive)?) };
    with_policy(policy, drive)
}

/// The same with a policy over hashed pages, such as one's own.
///
/// # Errors
///
/// [`RunError::Impossible`] for a drive that a live run cannot have.
pub fn with_policy(policy: Option<AnyPolicy>, drive: &Mounted) -> Result<LiveRun, RunError> {
    let device = Device::clone(&drive.device);
    let host = drive.host.with_trim(TrimMode::Drop, device.config());
    let host = host.map_err(|error| RunError::Impossible(error.to_string()))?;
    LiveRun::new(device, policy, &drive.cache, host)
}

fn policy(
    spec: &PolicySpec,
    frames: u32,
    pages: u64,
    drive: &Arc<Mounted>,
) -> Result<AnyPolicy, RunError> {
    let options = RunOptions { drive: Some(Arc::clone(drive)), ..RunOptions::default() };
    let params = spec.params(&options.says())?;
    suits(spec.name, &params, drive.device.config())?;
    // Where a trace would say how many pages it has, the store does.
    Ok(hashed(spec.name, &options.setup(frames, params, Some(pages)))?)
}

/// The metrics of a live run with a device, by name, as a result of a run over a trace has them.
pub fn metrics(
    outcome: TimedOutcome,
    policy: &str,
    frames: u32,
    drive: &Mounted,
) -> BTreeMap<&'static str, Option<Number>> {
    let page_bytes = drive.device.config().page_bytes.into();
    let mut counters = outcome.pages;
    if policy == "none" {
        counters.physical_reads = counters.read_misses;
        counters.physical_writes = counters.write_misses;
    } else {
        counters.add_up(false);
    }
    let result = RunResult {
        config: RunConfig {
            policy: policy.to_string(),
            given: BTreeMap::new(),
            params: BTreeMap::new(),
            frames,
            cache: format!("{frames}p"),
            options: RunOptions::default(),
            device: Some(drive.name.clone()),
            placement: drive.placement.clone(),
            source_sha256: None,
        },
        warmup_requests: 0,
        measured: None,
        counters,
        trims: None,
        expiry: None,
        pin: None,
        policy_counters: outcome.own.by_name(),
        policy_gauges: outcome.gauges,
        destage_pages: outcome.destage_pages.summary(),
        cost: None,
        timing: Some(outcome.timing),
        profile: None,
        pending: Some(PendingWrites {
            start_pages: Some(outcome.dirty_at_start),
            end_pages: outcome.dirty_left,
            end_bytes: Some(outcome.dirty_left * page_bytes),
        }),
        tiers: None,
        tier3: None,
        disk: None,
        kv: None,
        queue: None,
        windows: None,
        warnings: Vec::new(),
        series: Vec::new(),
        page_bytes,
    };
    METRICS.iter().map(|metric| (metric.name, metric.value(&result))).collect()
}
