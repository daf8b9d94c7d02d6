//! `probability`: an offer is taken with a fixed probability.
//!
//! Rules (`docs/spec/tiers.md` 5). Taken if `unit() < p`: one random number an offer.

use super::Filter;
use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{Page, Policy, SplitMix64};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "probability",
    title: "Admission with a fixed probability",
    source: "",
    about: "Take an offer with a fixed probability.",
    reads_time: false,
    reads_compute_time: false,
    params: &[
        Param {
            name: "p",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.5),
            about: "Probability that an offer is taken.",
            ..Param::BLANK
        },
        Param {
            name: "seed",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: IfAbsent::Int(1),
            about: "Seed of its random numbers.",
            ..Param::BLANK
        },
    ],
};

/// The filter.
pub struct Probability {
    p: f64,
    random: SplitMix64,
}

impl Filter for Probability {
    fn new(params: &Params, _: u32, _: u32, _: u64) -> Self {
        Probability { p: params.real("p"), random: SplitMix64::new(params.int("seed")) }
    }

    #[inline]
    fn admits<P: Policy>(&mut self, _: Page, _: &P) -> bool {
        self.random.unit() < self.p
    }
}
