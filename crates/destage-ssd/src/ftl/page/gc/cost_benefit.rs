//! Cost-benefit: the block with the largest age * (1-u) / (2u), u being the share of its pages that
//! are valid (`docs/spec/collectors.md` 4.6).
//!
//! Kawaguchi, Nishioka, Motoda. A flash-memory based file system. USENIX 1995; after Rosenblum,
//! Ousterhout. The design and implementation of a log-structured file system. TOCS 1992.
//!
//! Age: host page writes of the device since a page of the block was programmed or became invalid.
//! Cost: a look at each block of the plane.

use super::{Candidates, Collector, SealedBlock};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct CostBenefit {
    blocks: usize,     // of a plane
    touched: Vec<u64>, // by block of the device, the clock
}

impl CostBenefit {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        let blocks = config.blocks_per_plane as usize;
        CostBenefit { blocks, touched: vec![0; config.planes() as usize * blocks] }
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
        let gain = |local: u32, valid: u64| {
            u128::from(clock - touched[local as usize]) * u128::from(data - valid)
        };
        // Both sides of "age_a * (D - v_a) * v_b > age_b * (D - v_b) * v_a".
        let mut best = (emptiest, candidates.valid(emptiest));
        let mut best_gain = gain(best.0, best.1);
        for (local, valid) in candidates.iter() {
            let gain = gain(local, valid);
            let (this, other) = (gain * u128::from(best.1), best_gain * u128::from(valid));
            let first = || candidates.greedy_order(local) < candidates.greedy_order(best.0);
            if this > other || this == other && first() {
                (best, best_gain) = ((local, valid), gain);
            }
        }
        Some(best.0)
    }

    fn uses_clock(&self) -> bool {
        true
    }
}
