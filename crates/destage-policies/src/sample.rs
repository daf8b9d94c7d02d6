//! Eviction candidates by drawing frames (`docs/spec/further-policies.md`, 2.5).

use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::SplitMix64;

/// Parameter of policies that draw.
pub(crate) const SEED: Param = Param {
    name: "seed",
    kind: Kind::Int { min: 0, max: u64::MAX },
    default: IfAbsent::Int(1),
    about: "Of the policy's own SplitMix64, which draws at evictions only. Default: ours.",
    ..Param::BLANK
};

/// Parameter of policies that sample; they put their own default.
pub(crate) const SAMPLE: Param = Param {
    name: "sample",
    symbol: "N",
    kind: Kind::OptionalInt { min: 1, max: u32::MAX as u64 },
    default: IfAbsent::None("all"),
    unit: "frames",
    ..Param::BLANK
};

/// A generator from the parameters of a policy that has [`SEED`].
pub(crate) fn random(params: &Params) -> SplitMix64 {
    SplitMix64::new(params.int("seed"))
}

/// Frames that an eviction looks at.
#[derive(Debug)]
pub(crate) struct Sample {
    drawn: Option<u32>, // N; all frames if none, or if there are no more than N
    frames: u32,
    random: SplitMix64,
}

impl Sample {
    /// A sample by the parameters of a policy that has [`SAMPLE`] and [`SEED`].
    pub(crate) fn new(params: &Params, frames: u32) -> Self {
        Sample::of(params.optional_int("sample"), params, frames)
    }

    /// A sample of so many frames, 1..=`u32::MAX` (`None`: all), by the parameters of a policy that
    /// has [`SEED`].
    pub(crate) fn of(drawn: Option<u64>, params: &Params, frames: u32) -> Self {
        let drawn = drawn.filter(|&n| n < u64::from(frames)).map(|n| n as u32);
        Sample { drawn, frames, random: random(params) }
    }

    /// Calls `look` with every candidate of an eviction from a full cache. Draws with replacement:
    /// a frame may come twice.
    #[inline(always)]
    pub(crate) fn for_each(&mut self, mut look: impl FnMut(u32)) {
        match self.drawn {
            Some(n) => (0..n).for_each(|_| look(self.random.below(self.frames))),
            None => (0..self.frames).for_each(look),
        }
    }
}
