//! Counts of a run that goes on.

use crate::control_commands::ControlKind;
use crate::counters::{Counters, DestageSizes};
use crate::distribution::Values;
use crate::kv::KvCounters;
use crate::timing::{ControlCounters, TimedCounters};
use crate::windows::FlashWork;
use destage_core::{Nanos, Op};
use destage_ssd::DeviceCounters;

/// Counts of a run that goes on.
#[derive(Clone, Default, Debug)]
pub(super) struct Ledger {
    pub(super) pages: Counters,
    pub(super) kv: KvCounters,
    pub(super) destage_pages: DestageSizes,
    pub(super) padding_reads: u64, // those that reached flash
    pub(super) victim_reads: u64,  // the same, of dirty victims of tier 2
    pub(super) in_gc: u64,
    pub(super) unbalance: Values, // thousandths of the rate
    pub(super) unbalance_gt10: u64,
    pub(super) reads: Values,
    pub(super) writes: Values,
    pub(super) last_ns: Nanos, // largest completion
    pub(super) control_commands: ControlCounters,
}

impl Ledger {
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

    /// A trim or flush has completed: it is no response.
    pub(super) fn control_command(&mut self, kind: ControlKind, now: Nanos, completion: Nanos) {
        match kind {
            ControlKind::Trim | ControlKind::Empty => self.control_commands.trim_requests += 1,
            ControlKind::Flush => {
                self.control_commands.flush_requests += 1;
                let sum = &mut self.control_commands.flush_wait_ns_sum;
                *sum = sum.saturating_add(completion - now);
            }
        }
        self.last_ns = self.last_ns.max(completion);
    }

    /// Samples the drive at a dirty eviction, just before its submission.
    #[inline]
    pub(super) fn destage(&mut self, in_gc: bool, (longest, sum): (Nanos, u128), units: u32) {
        self.in_gc += u64::from(in_gc);
        let scaled = u128::from(longest) * u128::from(units);
        let permille = match u64::try_from(scaled * 1000).ok().zip(u64::try_from(sum).ok()) {
            Some((scaled, sum)) => scaled.checked_div(sum),
            None => (scaled * 1000).checked_div(sum).map(|permille| permille as u64),
        };
        // Without any queue there is no rate; with one it is at most the number of units.
        if let Some(permille) = permille {
            self.unbalance.add(permille);
            self.unbalance_gt10 += u64::from(scaled > 10 * sum);
        }
    }

    /// Work of the drive until an instant, and the state that dirty evictions met.
    pub(super) fn flash(&self, device: &DeviceCounters, at_ns: Nanos) -> FlashWork {
        FlashWork {
            at_ns,
            host_programs: device.flash_programs,
            programs: device.programs_of_all_kinds(),
            erases: device.erases,
            wait_ns: device.program_wait_ns_sum,
            in_gc: self.in_gc,
            unbalance_permille: u64::try_from(self.unbalance.sum()).unwrap_or(u64::MAX),
            unbalance_samples: self.unbalance.count(),
        }
    }

    /// Counters of conformance vectors. `None` if a sum of response times does not fit into 64
    /// bits.
    pub(super) fn counters(
        &self,
        device: DeviceCounters,
        started_ns: Nanos,
    ) -> Option<TimedCounters> {
        let pages = &self.pages;
        Some(TimedCounters {
            requests: self.reads.count()
                + self.writes.count()
                + self.control_commands.trim_requests
                + self.control_commands.flush_requests,
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
            read_misses: device.flash_reads - self.padding_reads - self.victim_reads,
            makespan_ns: self.last_ns.saturating_sub(started_ns),
            idle_writes: pages.idle_writes,
            control_commands: device.interface.is_some().then_some(self.control_commands),
            device,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_times_that_add_up_to_2_to_the_64_are_no_result() {
        let mut ledger = Ledger::default();
        for _ in 0..3 {
            ledger.request(Op::Read, 0, 1 << 62);
        }
        let counted = ledger.counters(DeviceCounters::default(), 0).expect("less than that");
        assert_eq!(counted.read_response_ns_sum, 3 << 62);
        ledger.request(Op::Read, 0, 1 << 62);
        assert_eq!(ledger.counters(DeviceCounters::default(), 0), None);
    }

    #[test]
    fn an_idle_drive_has_no_unbalance_and_a_rate_of_ten_is_not_over_ten() {
        let mut ledger = Ledger::default();
        ledger.destage(true, (0, 0), 16);
        ledger.destage(false, (100, 160), 16); // exactly 10
        ledger.destage(false, (101, 160), 16);
        assert_eq!((ledger.in_gc, ledger.unbalance.count(), ledger.unbalance_gt10), (1, 2, 1));
        assert_eq!(ledger.unbalance.max(), 10_100);
    }
}
