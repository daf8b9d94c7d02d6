//! Counts of a run, with or without a device.

use crate::options::RunOptions;
use destage_core::Nanos;
use destage_replay::counters::{Counters, OwnCounters};
use destage_replay::distribution::Summary;
use destage_replay::kv::KvCounters;
use destage_replay::tiers::LowerCounters;
use destage_replay::timed::{DiskCounters, Profile, Timing};
use destage_replay::windows::Windows;
use destage_ssd::Future;
use std::collections::BTreeMap;

/// Counts of a run, with or without a device.
pub(super) struct Outcome {
    pub(super) counters: Counters,
    pub(super) own: OwnCounters,
    pub(super) gauges: BTreeMap<String, f64>, // at the end
    pub(super) destage_pages: Option<Summary>,
    pub(super) warmup_requests: u64,
    pub(super) requests: u64, // those, and those that were counted
    pub(super) started_ns: Option<Nanos>, // when counting began, with a device
    pub(super) windows: Option<Windows>,
    pub(super) dirty_at_start: u64,
    pub(super) dirty_left: u64,
    pub(super) timing: Option<Timing>,
    pub(super) profile: Option<Profile>,
    pub(super) future: Option<Future>, // of the first of two runs
    pub(super) tiers: Option<LowerCounters>,
    pub(super) disk: Option<DiskCounters>,
    pub(super) kv: Option<KvCounters>,
}

/// Counts the pages that went to flash, by the options of the run.
pub(super) fn physical(counters: &mut Counters, options: &RunOptions) {
    counters.add_up(options.fetch_on_write_miss);
}
