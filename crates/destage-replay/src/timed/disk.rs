//! A disk as the store below the tiers (`docs/spec/tiers.md` 6.1).
//!
//! One actuator serves one page at a time, in the order in which the pages arrive. With the head at
//! `h`, a page at `a` takes
//!
//! ```text
//!  a = h   transfer
//!  a ≠ h   least + floor((full - least) √(|a - h| / pages)) + half a turn + transfer
//! ```
//!
//! The victim of tier 2 arrives when its read from flash has ended, which may be after pages that
//! come later. So it waits in a heap until no page can arrive before it.
//!
//! Cost. A square root a page that is not sequential, and O(log n) for n victims under way.

use destage_core::Nanos;
use destage_ssd::{Device, PendingTime, Settled};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Times of a disk, nanoseconds, and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskTimes {
    /// Pages of the disk, at least 1.
    pub pages: u64,
    /// Seek to the nearest page that is not sequential, at most 10^9.
    pub seek_min_ns: Nanos,
    /// Seek over all pages, at most 10^9 and at least the one to the nearest.
    pub seek_max_ns: Nanos,
    /// Half a turn.
    pub half_turn_ns: Nanos,
    /// Transfer of a page.
    pub transfer_ns: Nanos,
}

impl DiskTimes {
    /// Time of a page at this distance from the head, pages.
    pub fn service_ns(&self, distance: u64) -> Nanos {
        if distance == 0 {
            return self.transfer_ns;
        }
        let range = u128::from(self.seek_max_ns - self.seek_min_ns);
        let square = range * range * u128::from(distance) / u128::from(self.pages);
        // Below the root of 10^18 * 2^64: it fits.
        let beyond = square.isqrt() as u64;
        self.seek_min_ns + beyond + self.half_turn_ns + self.transfer_ns
    }
}

/// Counts of a disk, of the pages that measured requests sent to it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Pages that needed a seek and a rotation.
    pub disk_seeks: u64,
    /// Pages at the position of the head.
    pub disk_sequential: u64,
    /// Time in which the disk served them, nanoseconds.
    pub disk_busy_ns: Nanos,
    /// Time from the arrivals of these pages to their service, nanoseconds.
    pub disk_wait_ns: Nanos,
    /// From the beginning of measurement to the end of the last of them, or of the last request if
    /// that is later, nanoseconds.
    pub disk_span_ns: Nanos,
}

/// A page that waits for its arrival: when, its place in the order of submission, its address, and
/// whether it is measured.
type Coming = (Nanos, u64, u64, bool);

/// The disk of a run.
#[derive(Debug)]
pub(super) struct Disk {
    times: DiskTimes,
    head: u64,
    free_ns: Nanos, // the end of the last page served
    submitted: u64,
    coming: BinaryHeap<Reverse<Coming>>,
    unknown: Vec<(PendingTime, Coming)>, // arrivals that are only names yet
    counters: DiskCounters,
    last_ns: Nanos, // the end of the last measured page
}

impl Disk {
    pub(super) fn new(times: DiskTimes) -> Self {
        Disk {
            times,
            head: 0,
            free_ns: 0,
            submitted: 0,
            coming: BinaryHeap::new(),
            unknown: Vec::new(),
            counters: DiskCounters::default(),
            last_ns: 0,
        }
    }

    /// A page arrives now, after all that have arrived before; the end of its service.
    pub(super) fn arrives(
        &mut self,
        device: &mut Device,
        now: Nanos,
        (page, measured): (u64, bool),
    ) -> Nanos {
        self.find_arrivals(device, now);
        self.serve_until(now);
        self.submitted += 1;
        self.serve((now, self.submitted, page, measured))
    }

    /// A page arrives at this instant, now or later; nothing waits for it.
    pub(super) fn arrives_at(&mut self, at: PendingTime, (page, measured): (u64, bool)) {
        self.submitted += 1;
        let coming = (0, self.submitted, page, measured);
        match at.known() {
            Some(ns) => self.coming.push(Reverse((ns, self.submitted, page, measured))),
            None => self.unknown.push((at, coming)),
        }
    }

    /// Arrivals that were only names, and are known by now.
    fn find_arrivals(&mut self, device: &mut Device, now: Nanos) {
        if self.unknown.is_empty() {
            return;
        }
        let times = device.queues().times();
        times.foresee(now);
        let coming = &mut self.coming;
        self.unknown.retain(|&(at, (_, submitted, page, measured))| {
            let Some(ns) = times.foreseen(at) else { return true };
            coming.push(Reverse((ns, submitted, page, measured)));
            false
        });
    }

    /// Names that have become instants.
    pub(super) fn settle(&mut self, settled: &Settled) {
        for (at, _) in &mut self.unknown {
            *at = settled.now(*at);
        }
        let coming = &mut self.coming;
        self.unknown.retain(|&(at, (_, submitted, page, measured))| {
            let Some(ns) = at.known() else { return true };
            coming.push(Reverse((ns, submitted, page, measured)));
            false
        });
    }

    fn serve_until(&mut self, now: Nanos) {
        while let Some(&Reverse(next)) = self.coming.peek().filter(|Reverse(next)| next.0 <= now) {
            self.coming.pop();
            self.serve(next);
        }
    }

    fn serve(&mut self, (arrival, _, page, measured): Coming) -> Nanos {
        let service = self.times.service_ns(page.abs_diff(self.head));
        let start = self.free_ns.max(arrival);
        if measured {
            let counters = &mut self.counters;
            counters.disk_sequential += u64::from(page == self.head);
            counters.disk_seeks += u64::from(page != self.head);
            counters.disk_busy_ns += service;
            counters.disk_wait_ns = counters.disk_wait_ns.saturating_add(start - arrival);
            self.last_ns = start + service;
        }
        self.free_ns = start + service;
        self.head = page + 1;
        self.free_ns
    }

    /// Serves what is still to come; the counts of a run that measured from `started_ns` on and
    /// whose requests took `makespan_ns`.
    pub(super) fn finish(mut self, (started_ns, makespan_ns): (Nanos, Nanos)) -> DiskCounters {
        debug_assert!(self.unknown.is_empty(), "every operation has ended");
        self.serve_until(Nanos::MAX);
        let span = self.last_ns.saturating_sub(started_ns).max(makespan_ns);
        DiskCounters { disk_span_ns: span, ..self.counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_ssd::DeviceConfig;
    use destage_ssd::config::Table;

    const TIMES: DiskTimes = DiskTimes {
        pages: 10_000,
        seek_min_ns: 1_000,
        seek_max_ns: 11_000,
        half_turn_ns: 4_000,
        transfer_ns: 100,
    };

    fn device() -> Device {
        Device::new(&DeviceConfig::from_table(&Table::new()).expect("defaults"))
    }

    #[test]
    fn a_seek_grows_with_the_root_of_the_distance() {
        for (distance, ns) in [
            (0, 100),
            (1, 1_000 + 100 + 4_100), // the root of 1 / 10,000
            (25, 1_000 + 500 + 4_100),
            (26, 1_000 + 509 + 4_100), // 509.9: rounded down
            (10_000, 11_000 + 4_100),
        ] {
            assert_eq!(TIMES.service_ns(distance), ns, "{distance}");
        }
        let widest = DiskTimes {
            pages: 1,
            seek_min_ns: 0,
            seek_max_ns: 1_000_000_000,
            half_turn_ns: 0,
            transfer_ns: 0,
        };
        assert_eq!(widest.service_ns(u64::MAX), 4_294_967_295_999_999_999);
    }

    #[test]
    fn sequential_pages_take_their_transfer_alone() {
        let (mut disk, mut device) = (Disk::new(TIMES), device());
        for page in 0..5 {
            let now = page * 1_000;
            assert_eq!(disk.arrives(&mut device, now, (page, true)), now + 100);
        }
        let counted = disk.finish((0, 4_100));
        let DiskCounters { disk_seeks, disk_sequential, disk_busy_ns, .. } = counted;
        assert_eq!((disk_seeks, disk_sequential, disk_busy_ns), (0, 5, 500));
        assert_eq!((counted.disk_wait_ns, counted.disk_span_ns), (0, 4_100));
    }

    #[test]
    fn pages_that_arrive_together_are_served_one_after_the_other() {
        let (mut disk, mut device) = (Disk::new(TIMES), device());
        // The head goes from 0 to 100, and from 101 back to 1 and on to 101.
        let each = [100, 1, 101].map(|page| disk.arrives(&mut device, 7, (page, true)));
        let service = TIMES.service_ns(100); // 100 from 0, from 101 to 1 and from 2 to 101 less 1
        let last = TIMES.service_ns(99);
        assert_eq!(each, [7 + service, 7 + 2 * service, 7 + 2 * service + last]);
        let counted = disk.finish((7, 0));
        assert_eq!((counted.disk_wait_ns, counted.disk_busy_ns), (3 * service, 2 * service + last));
        assert_eq!(counted.disk_span_ns, counted.disk_busy_ns, "it was never idle");
    }

    #[test]
    fn a_victim_that_arrives_later_is_served_later() {
        let (mut disk, mut device) = (Disk::new(TIMES), device());
        disk.arrives_at(PendingTime::at(500), (0, false));
        disk.arrives_at(PendingTime::at(50), (1, true));
        // At 60, page 1 has arrived and page 0 has not.
        let first = 50 + TIMES.service_ns(1);
        assert_eq!(disk.arrives(&mut device, 60, (2, true)), first + 100);
        // Page 0 arrived before 900, and the head comes back for it from 3 to 0, and from 1 to 3.
        let end = first + 100 + TIMES.service_ns(3) + TIMES.service_ns(2);
        assert_eq!(disk.arrives(&mut device, 900, (3, true)), end);
        assert_eq!(disk.finish((0, 0)).disk_seeks, 2, "page 0 is not measured");
    }
}
