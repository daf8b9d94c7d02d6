//! The outcome of one run.

use super::config::RunConfig;
use super::measured::Measured;
use super::pending_writes::PendingWrites;
use super::pin::PinCounters;
use super::queue::Queue;
use crate::series::Period;
use destage_replay::counters::{Counters, ExpiryCounters, TrimCounters};
use destage_replay::distribution::Summary;
use destage_replay::kv::KvCounters;
use destage_replay::tiers::{Tier3Counters, TierCounters};
use destage_replay::timed::{DiskCounters, Profile, Timing};
use destage_replay::windows::Windows;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outcome of one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// Configuration of the run.
    pub config: RunConfig,
    /// Requests that were replayed before counting began.
    pub warmup_requests: u64,
    /// The part that was measured; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// Counters of the cache.
    pub counters: Counters,
    /// Pages that trims dropped, in a run without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<TrimCounters>,
    /// Pages that accesses found expired, with a time to live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<ExpiryCounters>,
    /// Pinned pages, and the hits in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<PinCounters>,
    /// Counters of this policy alone, such as hits by list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_counters: BTreeMap<String, u64>,
    /// Final values of adapted parameters, such as AALRU's tau.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_gauges: BTreeMap<String, f64>,
    /// Pages of the buffer per flush group; absent if no group had more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destage_pages: Option<Summary>,
    /// Cost of the pages read and of the flash writes, in the unit of the cost model.
    #[serde(alias = "running_time")]
    pub cost: Option<u64>,
    /// Times and what the drive did, in a run with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// How the run developed, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Dirty pages at the beginning and at the end, in all tiers; absent in results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "debt")]
    pub pending: Option<PendingWrites>,
    /// Counts of the flash tier, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<TierCounters>,
    /// Counts of tier 3, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier3: Option<Tier3Counters>,
    /// Counts of the disk below the tiers, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskCounters>,
    /// Counts of requests, with prefix semantics; those of pages are then of cached prefixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv: Option<KvCounters>,
    /// In an open loop: the requests that were outstanding; absent where there are no windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// The run in sixty parts; absent if it has too few requests for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Warnings for the reader of these numbers.
    pub warnings: Vec<String>,
    /// Counts of each period of `series` accesses, if requested.
    #[serde(default, skip_serializing)] // comes last, after the metrics
    pub series: Vec<Period>,
    /// Page size of the trace, bytes; 0 before the run is in a result set, which has it.
    #[serde(skip)]
    pub page_bytes: u64,
}

impl RunResult {
    /// Growth of the pending writes while the run was measured, pages; `None` where an earlier
    /// version did not count them.
    pub fn pending_growth(&self) -> Option<i128> {
        let pending = self.pending?;
        let start = pending.start_pages.or((self.warmup_requests == 0).then_some(0))?;
        Some(i128::from(pending.end_pages) - i128::from(start))
    }

    /// Pages written, and the growth of the pending writes; not below 0, which trims could cause.
    ///
    /// `None` above a flash tier: whether it will take in a page that is dirty in tier 1 is not
    /// known.
    pub fn flash_writes(&self) -> Option<u64> {
        if self.tiers.is_some() {
            return None;
        }
        let writes = i128::from(self.counters.physical_writes) + self.pending_growth()?;
        Some(u64::try_from(writes.max(0)).unwrap_or(u64::MAX))
    }

    /// Label in tables and on the command line: `acr-h[file_pages=none]`.
    pub fn label(&self) -> String {
        self.config.label()
    }
}
