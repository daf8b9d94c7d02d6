//! `worth`: a block is taken if computing it takes longer than reading it back.
//!
//! Rules (`docs/spec/tiers.md` 5). An offer of a block: taken if its time of computing is above
//! `read_ns`. A block deep in a prompt takes longer to compute; all take the same to read.
//!
//! Cost. O(1); nothing of its own per block.

use super::Filter;
use super::info::{AdmissionInfo, BlockTimes};
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::pages::prefetch;
use destage_core::{Page, Policy};
use std::sync::Arc;

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "worth",
    title: "Admission of blocks that are faster to read than to compute",
    source: "",
    about: "Take a block that takes longer to compute than to read back.",
    reads_time: false,
    reads_compute_time: true,
    params: &[Param {
        name: "read_ns",
        kind: Kind::Duration,
        default: IfAbsent::From("the tier's time of a read"),
        about: "Time of reading a block back.",
        ..Param::BLANK
    }],
};

/// The filter.
pub struct Worth {
    compute_ns: Arc<[u64]>, // by page
    read_ns: Option<u64>,
}

impl Filter for Worth {
    fn new(params: &Params, _: u32, _: u32, _: u64) -> Self {
        let given = params.iter().find(|(key, _)| *key == "read_ns");
        let read_ns = given.and_then(|(_, value)| value.as_whole());
        Worth { compute_ns: Arc::new([]), read_ns }
    }

    fn learns(&mut self, times: &BlockTimes) {
        self.compute_ns = times.compute_ns.clone();
        self.read_ns = self.read_ns.or(times.read_ns);
    }

    #[inline(always)]
    fn prefetch_offer(&self, page: Page) {
        prefetch(&self.compute_ns, page.0 as usize);
    }

    #[inline]
    fn admits<P: Policy>(&mut self, page: Page, _: &P) -> bool {
        self.compute_ns[page.0 as usize] > self.read_ns.unwrap_or(0)
    }
}
