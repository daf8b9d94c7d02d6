//! `probability`: an offer is taken with a fixed probability.
//!
//! Rules (`docs/spec/tiers.md` 5). Taken if `unit() < p`: one random number an offer.

use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::SplitMix64;

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "probability",
    title: "Admission with a fixed probability",
    source: "",
    about: "Take an offer with a fixed probability.",
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

impl Probability {
    /// With its parameters.
    pub fn new(params: &Params) -> Self {
        Probability { p: params.real("p"), random: SplitMix64::new(params.int("seed")) }
    }

    /// Answers an offer.
    #[inline]
    pub fn admits(&mut self) -> bool {
        self.random.unit() < self.p
    }
}
