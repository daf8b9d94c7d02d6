//! Cost-benefit: the block with the largest age * (1-u) / (2u), u being the share of its pages that
//! are valid (`docs/spec/collectors.md` 4.6).
//!
//! Kawaguchi, Nishioka, Motoda. A flash-memory based file system. USENIX 1995; after Rosenblum,
//! Ousterhout. The design and implementation of a log-structured file system. TOCS 1992.
//!
//! Age: host page writes of the device since a page of the block was programmed or became invalid.
//! Cost: a look at each block of the plane. The look is at real numbers; only a block that they do
//! not rule out is compared in whole numbers of 128 bits.

use super::{Candidates, Collector, SealedBlock};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct CostBenefit {
    blocks: usize,     // of a plane
    touched: Vec<u64>, // by block of the device, the clock
    worth: Vec<f64>,   // by valid pages v, (D - v) / v
}

/// Share of the best benefit below which a block is ruled out by real numbers: an age below 2^53
/// is exact, and the quotient and the product are off by 2^-53 each.
const RULED_OUT: f64 = 1.0 - 1e-15;

impl CostBenefit {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        let blocks = config.blocks_per_plane as usize;
        let data = config.data_pages();
        let worth = |valid| f64::from(data - valid) / f64::from(valid);
        CostBenefit {
            blocks,
            touched: vec![0; config.planes() as usize * blocks],
            worth: (0..=data).map(worth).collect(),
        }
    }
}

impl Collector for CostBenefit {
    #[inline(always)]
    fn touched(&mut self, block: SealedBlock, clock: u64) {
        self.touched[block.block.index()] = clock;
    }

    fn victim(&self, plane: PlaneId, clock: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let emptiest = candidates.first()?;
        if candidates.valid(emptiest) == 0 {
            return Some(emptiest);
        }
        let touched = &self.touched[plane.index() * self.blocks..][..self.blocks];
        let data = candidates.data_pages();
        let age = |local: u32| clock - touched[local as usize];
        // A clock is below 2^63, and the processor converts signed numbers at once.
        let age_as_real = |local: u32| age(local).cast_signed() as f64;
        let benefit = |local: u32, valid: u64| age_as_real(local) * self.worth[valid as usize];
        let gain = |(local, valid): (u32, u64)| u128::from(age(local)) * u128::from(data - valid);
        let mut best = (emptiest, candidates.valid(emptiest));
        let mut ruled_out = RULED_OUT * benefit(best.0, best.1);
        for this in candidates.iter() {
            let benefit = benefit(this.0, this.1);
            if benefit < ruled_out {
                continue;
            }
            // "age_a * (D - v_a) * v_b" and "age_b * (D - v_b) * v_a"
            let of_this = gain(this) * u128::from(best.1);
            let of_best = gain(best) * u128::from(this.1);
            let first = || candidates.greedy_order(this.0) < candidates.greedy_order(best.0);
            if of_this > of_best || of_this == of_best && first() {
                best = this;
                ruled_out = RULED_OUT * benefit;
            }
        }
        Some(best.0)
    }

    fn uses_clock(&self) -> bool {
        true
    }
}
