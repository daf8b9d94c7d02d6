//! `reject-first`: a page is taken if it was offered within the last `window`.
//!
//! `RejectFirstAP` of CacheLib, with exact times for its Bloom filters.
//!
//! Rules (`docs/spec/tiers.md` 5). An offer of a page at `t`: taken if its last offer came at
//! `t - window` or later. Every offer, taken or not, is then the page's last.
//!
//! Cost. O(1); eight bytes per page of the trace.

use super::Filter;
use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::pages::prefetch;
use destage_core::{Page, Policy};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "reject-first",
    title: "Admission at a second offer within a time",
    source: "RejectFirstAP of CacheLib, OSDI 2020",
    about: "Take a page that was offered within the last window.",
    reads_time: true,
    reads_compute_time: false,
    params: &[Param {
        name: "window",
        kind: Kind::Duration,
        default: IfAbsent::Int(3_600_000_000_000),
        about: "Longest time since the page's last offer.",
        ..Param::BLANK
    }],
};

/// The filter.
pub struct RejectFirst {
    offered: Vec<u64>, // by page: `next_ns` at its last offer; 0: never
    window_ns: u64,
    next_ns: u64, // the present arrival plus 1
}

impl Filter for RejectFirst {
    fn new(params: &Params, _: u32, pages: u32, _: u64) -> Self {
        let offered = vec![0; pages as usize];
        RejectFirst { offered, window_ns: params.int("window"), next_ns: 0 }
    }

    #[inline(always)]
    fn prefetch_offer(&self, page: Page) {
        prefetch(&self.offered, page.0 as usize);
    }

    fn awaits_ns(&self) -> u64 {
        self.next_ns
    }

    fn arrived(&mut self, now_ns: u64) {
        self.next_ns = now_ns + 1; // times are below 2^63
    }

    #[inline]
    fn admits<P: Policy>(&mut self, page: Page, _: &P) -> bool {
        let last = std::mem::replace(&mut self.offered[page.0 as usize], self.next_ns);
        last > 0 && self.next_ns - last <= self.window_ns
    }

    fn forget(&mut self, page: Page) {
        self.offered[page.0 as usize] = 0;
    }
}
