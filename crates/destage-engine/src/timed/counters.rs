//! What a run with a device counts (`docs/spec/device.md` 8), warm-up left out.

use super::response::{Summary, Values};
use crate::counters::{Counters, DestageSizes};
use destage_core::{Nanos, Op};
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
    /// The drive's.
    #[serde(flatten)]
    pub device: DeviceCounters,
}

/// What is counted while the run goes on.
#[derive(Clone, Default, Debug)]
pub(super) struct Tally {
    pub(super) pages: Counters,
    pub(super) destage_pages: DestageSizes,
    pub(super) padding_reads: u64, // those that reached flash
    pub(super) in_gc: u64,
    pub(super) unbalance: Values, // thousandths of the rate
    pub(super) unbalance_gt10: u64,
    pub(super) reads: Values,
    pub(super) writes: Values,
    pub(super) last_ns: Nanos, // largest completion
}

impl Tally {
    /// A request has completed.
    #[inline]
    pub(super) fn request(&mut self, op: Op, now: Nanos, completion: Nanos) {
        let responses = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        responses.add(completion - now);
        self.last_ns = self.last_ns.max(completion);
    }

    /// What is sampled at a dirty eviction, just before its submission.
    #[inline]
    pub(super) fn destage(&mut self, in_gc: bool, (longest, sum): (Nanos, u128), units: u32) {
        self.in_gc += u64::from(in_gc);
        let scaled = u128::from(longest) * u128::from(units);
        // Without any queue there is no rate; with one it is at most the number of units.
        if let Some(permille) = (scaled * 1000).checked_div(sum) {
            self.unbalance.add(permille as u64);
            self.unbalance_gt10 += u64::from(scaled > 10 * sum);
        }
    }

    /// As vectors have them. `None` if a sum of responses does not fit into 64 bits.
    pub(super) fn counters(
        &self,
        device: DeviceCounters,
        started_ns: Nanos,
    ) -> Option<TimedCounters> {
        let pages = &self.pages;
        Some(TimedCounters {
            requests: self.reads.count() + self.writes.count(),
            page_accesses: pages.accesses(),
            hits: pages.hits(),
            read_hits: pages.read_hits,
            write_hits: pages.write_hits,
            evictions: pages.evictions,
            dirty_evictions: pages.destaged_pages,
            dirty_evictions_in_gc: self.in_gc,
            unbalance_samples: self.unbalance.count(),
            unbalance_gt10: self.unbalance_gt10,
            read_requests: self.reads.count(),
            read_response_ns_sum: self.reads.sum().try_into().ok()?,
            read_response_ns_max: self.reads.max(),
            write_requests: self.writes.count(),
            write_response_ns_sum: self.writes.sum().try_into().ok()?,
            write_response_ns_max: self.writes.max(),
            eviction_wait_ns_sum: 0, // without a cache nothing is evicted
            read_misses: device.flash_reads - self.padding_reads,
            makespan_ns: self.last_ns.saturating_sub(started_ns),
            device,
        })
    }
}

/// What a drive has done since it had done `before`; erase counts of blocks stay as they are.
pub(super) fn since(mut all: DeviceCounters, before: &DeviceCounters) -> DeviceCounters {
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
    if let (Some(all), Some(before)) = (&mut all.ftl, &before.ftl) {
        *all = all.since(before);
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
    pub(super) fn of(counts: impl Iterator<Item = u32>) -> Self {
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

/// What a run with a device adds to a result.
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
    fn an_idle_drive_has_no_unbalance_and_a_rate_of_ten_is_not_over_ten() {
        let mut tally = Tally::default();
        tally.destage(true, (0, 0), 16);
        tally.destage(false, (100, 160), 16); // exactly 10
        tally.destage(false, (101, 160), 16);
        assert_eq!((tally.in_gc, tally.unbalance.count(), tally.unbalance_gt10), (1, 2, 1));
        assert_eq!(tally.unbalance.max(), 10_100);
    }

    #[test]
    fn the_spread_of_erases_is_over_all_blocks() {
        let spread = EraseSpread::of([0, 4].into_iter());
        assert_eq!((spread.blocks, spread.mean, spread.std), (2, 2.0, 2.0));
    }
}
