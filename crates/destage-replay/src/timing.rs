//! Counters of a run with a device (`docs/spec/device.md` 8), warm-up left out.

use crate::distribution::Summary;
use destage_core::Nanos;
use destage_ssd::DeviceCounters;
use serde::{Deserialize, Serialize};

/// The numbers that conformance vectors have, under their names.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table of section 8 says what each one is, name by name")]
pub struct TimedCounters {
    pub requests: u64,
    pub page_accesses: u64,
    pub hits: u64,
    pub read_hits: u64,
    pub write_hits: u64,
    pub evictions: u64,
    pub dirty_evictions: u64,
    pub dirty_evictions_in_gc: u64,
    pub unbalance_samples: u64,
    pub unbalance_gt10: u64,
    pub read_requests: u64,
    pub read_response_ns_sum: Nanos,
    pub read_response_ns_max: Nanos,
    pub write_requests: u64,
    pub write_response_ns_sum: Nanos,
    pub write_response_ns_max: Nanos,
    pub eviction_wait_ns_sum: Nanos,
    pub read_misses: u64,
    pub makespan_ns: Nanos,
    /// Where somebody writes while units are idle (`docs/spec/writer.md`, 6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_writes: Option<u64>,
    /// With a current SSD.
    #[serde(default, flatten)]
    pub control_commands: Option<ControlCounters>,
    /// The drive's.
    #[serde(flatten)]
    pub device: DeviceCounters,
}

impl TimedCounters {
    /// Behind a cache, it is evictions that wait for programs.
    pub(crate) fn waits_are_evictions(&mut self) {
        self.eviction_wait_ns_sum = self.device.program_wait_ns_sum;
    }
}

/// Counters of trims and flushes (`docs/spec/device-today.md` 10).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table of section 10 says what each one is, name by name")]
pub struct ControlCounters {
    pub trim_requests: u64,
    pub trim_cache_drops: u64,
    pub trim_dirty_drops: u64,
    pub flush_requests: u64,
    pub flush_wait_ns_sum: Nanos,
}

/// Work of a drive since it had done `before`; erase counts of blocks stay as they are.
pub(crate) fn since(mut all: DeviceCounters, before: &DeviceCounters) -> DeviceCounters {
    for (all, before) in [
        (&mut all.flash_reads, before.flash_reads),
        (&mut all.flash_programs, before.flash_programs),
        (&mut all.gc_runs, before.gc_runs),
        (&mut all.gc_moves, before.gc_moves),
        (&mut all.summary_programs, before.summary_programs),
        (&mut all.erases, before.erases),
    ] {
        *all -= before;
    }
    for (all, before) in [
        (&mut all.unit_busy_ns, &before.unit_busy_ns),
        (&mut all.channel_transfer_ns, &before.channel_transfer_ns),
        (&mut all.channel_reads, &before.channel_reads),
        (&mut all.channel_programs, &before.channel_programs),
    ] {
        for (all, before) in all.iter_mut().zip(before) {
            *all -= before;
        }
    }
    if let (Some(all), Some(before)) = (&mut all.suspensions, before.suspensions) {
        *all -= before;
    }
    if let (Some(all), Some(before)) = (&mut all.interface, &before.interface) {
        *all = std::mem::take(all).since(before);
    }
    if let (Some(all), Some(before)) = (&mut all.map, &before.map) {
        *all = all.since(before);
    }
    if let (Some(all), Some(before)) = (&mut all.ftl, &before.ftl) {
        *all = std::mem::take(all).since(before);
    }
    all
}

/// How erases are spread over the drive's blocks, preconditioning included.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct EraseSpread {
    /// Erase blocks of the drive.
    pub blocks: u64,
    /// Mean erase count.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
}

impl EraseSpread {
    pub(crate) fn of(counts: impl Iterator<Item = u32>) -> Self {
        let (mut blocks, mut sum, mut squares) = (0u64, 0u128, 0u128);
        for count in counts.map(u128::from) {
            blocks += 1;
            sum += count;
            squares += count * count;
        }
        let n = blocks.max(1) as f64;
        let spread = u128::from(blocks) * squares - sum * sum;
        EraseSpread { blocks, mean: sum as f64 / n, std: (spread as f64).sqrt() / n }
    }
}

/// Times and counters that a run with a device adds to a result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// The exact numbers.
    pub counters: TimedCounters,
    /// Response times of all requests, nanoseconds; absent if there were none.
    pub response_ns: Option<Summary>,
    /// Of reads.
    pub read_response_ns: Option<Summary>,
    /// Of writes.
    pub write_response_ns: Option<Summary>,
    /// Unbalance rate at dirty evictions, thousandths: 1000 is an even load, 1000 times the number
    /// of units one unit that has all of it.
    pub unbalance_permille: Option<Summary>,
    /// Wear.
    pub block_erases: EraseSpread,
}

/// `(max - min) * channels / sum`: how far the channels' loads lie apart; 0 without any load.
pub fn max_deviation(loads: impl Iterator<Item = u64>) -> f64 {
    let (mut n, mut sum, mut max, mut min) = (0u64, 0u128, 0, u64::MAX);
    for load in loads {
        n += 1;
        sum += u128::from(load);
        max = max.max(load);
        min = min.min(load);
    }
    if sum == 0 { 0.0 } else { (max - min) as f64 * n as f64 / sum as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_busiest_from_the_idlest_channel_over_the_mean() {
        assert_eq!(max_deviation([10, 30, 20].into_iter()), 1.0);
        assert_eq!(max_deviation([0, 0].into_iter()), 0.0);
        assert_eq!(max_deviation([0, 8].into_iter()), 2.0);
    }
    #[test]
    fn the_spread_of_erases_is_over_all_blocks() {
        let spread = EraseSpread::of([0, 4].into_iter());
        assert_eq!((spread.blocks, spread.mean, spread.std), (2, 2.0, 2.0));
    }
}
