//! `always`: every offer is taken (`docs/spec/tiers.md` 5).

use super::Filter;
use super::info::AdmissionInfo;
use crate::params::Params;
use destage_core::{Page, Policy};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "always",
    title: "Admission of every page",
    source: "",
    about: "Take every offer.",
    reads_time: false,
    reads_compute_time: false,
    params: &[],
};

/// The filter.
pub struct Always;

impl Filter for Always {
    fn new(_: &Params, _: u32, _: u32, _: u64) -> Self {
        Always
    }

    #[inline(always)]
    fn admits<P: Policy>(&mut self, _: Page, _: &P) -> bool {
        true
    }
}
