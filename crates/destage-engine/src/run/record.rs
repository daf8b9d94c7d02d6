//! From what a run counted to a result.

use super::outcome::Outcome;
use super::warnings;
use crate::options::{RunOptions, Trim};
use crate::result::{Measured, PendingWrites, PinCounters, Queue, RunConfig, RunResult};
use crate::sizes::Frames;
use destage_replay::accesses::Extent;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::pinned::PINNED_HITS;
use destage_replay::warmup::Warmup;
use destage_ssd::config::{HostMode, TrimMode};
use std::collections::BTreeMap;

/// A policy of the user's own, as a result names it.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Name of the policy.
    pub policy: String,
    /// Parameters that were given.
    pub given: BTreeMap<String, serde_json::Value>,
    /// All parameters, as far as they are known.
    pub params: BTreeMap<String, serde_json::Value>,
}

/// The result of a run.
pub(super) fn record(
    outcome: Outcome,
    named: Named,
    input: &Input<'_>,
    frames: &Frames,
    options: &RunOptions,
) -> Result<RunResult, RunError> {
    let measured = measured(&outcome, (&named.policy, frames.frames), input, options);
    let measured = Some(measured);
    let open = options.drive.as_ref().filter(|drive| drive.host.mode == HostMode::Open);
    let queue = open.zip(outcome.windows.as_ref().zip(outcome.timing.as_ref()));
    let queue = queue.and_then(|(drive, (windows, timing))| {
        Queue::of(windows, timing.counters.makespan_ns, drive.device.geometry().units)
    });
    let warnings = warnings::of((&named.policy, frames.frames), (&outcome, queue), input, options);
    let mut policy_counters = outcome.own.by_name();
    let pinned_hits = policy_counters.remove(PINNED_HITS);
    let mut result = RunResult {
        config: RunConfig {
            policy: named.policy,
            given: named.given,
            params: named.params,
            frames: frames.frames,
            cache: frames.given.clone(),
            options: RunOptions {
                // Counters that the policy and the device have; the caller of the run knows them.
                pages_per_block: None,
                device_pages: None,
                // That they were dropped; or that they were not, though the drive says so.
                trim: options.trim.filter(|&trim| {
                    let of_drive = options.drive.as_ref().map(|drive| drive.host.trim);
                    trim == Trim::Drop || of_drive == Some(TrimMode::Drop)
                }),
                drive: None,
                ..options.clone()
            },
            device: options.drive.as_ref().map(|drive| drive.name.clone()),
            placement: options.drive.as_ref().and_then(|drive| drive.placement.clone()),
            // Known where the file was read.
            source_sha256: None,
        },
        warmup_requests: outcome.warmup_requests,
        measured,
        counters: outcome.counters,
        trims: (options.drops_trims() && options.drive.is_none()).then_some(outcome.counters.trims),
        expiry: options.tiers.ttl.is_some().then_some(outcome.counters.expired),
        pin: PinCounters::of(options, pinned_hits, &outcome.counters),
        policy_counters,
        policy_gauges: outcome.gauges,
        destage_pages: outcome.destage_pages,
        cost: None,
        timing: outcome.timing,
        profile: outcome.profile,
        pending: Some(PendingWrites {
            start_pages: Some(outcome.dirty_at_start),
            end_pages: outcome.dirty_left,
            end_bytes: None,
        }),
        queue,
        windows: outcome.windows,
        warnings,
        tiers: outcome.tiers.map(|tiers| tiers.of_tier2()),
        tier3: outcome
            .tiers
            .filter(|_| options.tiers.tier3.is_some())
            .map(|tiers| tiers.of_tier3()),
        disk: outcome.disk,
        kv: outcome.kv,
        series: Vec::new(),
        page_bytes: 0,
    };
    let cost = options.cost.zip(result.flash_writes());
    result.cost = match cost.map(|(c, writes)| c.of(result.counters.physical_reads, writes)) {
        None => None,
        Some(cost) => Some(u64::try_from(cost).map_err(|_| {
            RunError::Impossible("the cost is beyond 2^64 units: choose a coarser unit".into())
        })?),
    };
    Ok(result)
}

/// The part that was measured.
fn measured(
    outcome: &Outcome,
    (policy, frames): (&str, u32),
    input: &Input<'_>,
    options: &RunOptions,
) -> Measured {
    let cache_full = match options.warmup {
        Warmup::Auto(Some(found)) if policy != "none" => Some(found.pages >= frames.into()),
        _ => None,
    };
    let first_access = input.columns.accesses() - outcome.counters.accesses();
    let has_flash_per_day = outcome.tiers.is_some() || outcome.kv.is_some();
    Measured {
        first_request: outcome.warmup_requests + 1,
        last_request: outcome.requests,
        first_access,
        start_ns: outcome.started_ns,
        arrivals_ns: if has_flash_per_day { arrivals_ns(input, first_access) } else { None },
        cache_full,
    }
}

/// From the arrival of the request with this access to that of the last, if there are times.
fn arrivals_ns(input: &Input<'_>, first_access: u64) -> Option<u64> {
    let mut accesses = 0;
    let before = |&&extent: &&u32| {
        accesses += u64::from(Extent(extent).pages());
        accesses <= first_access
    };
    let row = input.columns.extents.iter().take_while(before).count();
    let (first, last) = (input.arrivals_ns.get(row)?, input.arrivals_ns.last()?);
    Some(last - first).filter(|&ns| ns > 0)
}
