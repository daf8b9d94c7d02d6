//! A disk below the tiers, naively (`docs/spec/tiers.md` 6.1).

use super::PAGES;
use destage_replay::timed::DiskTimes;

/// Its times.
pub(super) const DISK: DiskTimes = DiskTimes {
    pages: 2 * PAGES,
    seek_min_ns: 7_000,
    seek_max_ns: 95_000,
    half_turn_ns: 40_000,
    transfer_ns: 3_000,
};

/// A disk: the pages that it was sent, served from the first on whenever an end is asked for.
#[derive(Default)]
pub(super) struct NaiveDisk(Vec<(u64, usize, u64)>); // arrival, number, page

impl NaiveDisk {
    /// A page is sent; the end of its service, of those sent so far.
    pub(super) fn send(&mut self, arrival: u64, page: u64) -> u64 {
        let number = self.0.len();
        self.0.push((arrival, number, page));
        let served = self.serve();
        served.into_iter().find(|served| served.0 == number).expect("it is there").1
    }

    /// Number and end of each page, in order of arrival, with the time that it took.
    pub(super) fn serve(&self) -> Vec<(usize, u64, u64)> {
        let mut arrived = self.0.clone();
        arrived.sort_unstable();
        let (mut head, mut free) = (0, 0);
        let mut served = Vec::new();
        for (arrival, number, page) in arrived {
            let range = (DISK.seek_max_ns - DISK.seek_min_ns) as f64;
            let root = (page.abs_diff(head) as f64 / DISK.pages as f64).sqrt();
            let seek = DISK.seek_min_ns + (range * root) as u64 + DISK.half_turn_ns;
            let time = DISK.transfer_ns + if page == head { 0 } else { seek };
            free = free.max(arrival) + time;
            head = page + 1;
            served.push((number, free, time));
        }
        served
    }
}
