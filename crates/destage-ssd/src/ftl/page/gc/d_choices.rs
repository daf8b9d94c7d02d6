//! d-choices: the best of d blocks drawn at random (`docs/spec/collectors.md` 4.4). `random` is
//! d-choices with d = 1 (4.3).
//!
//! Van Houdt. A mean field model for a class of garbage collection algorithms in flash-based solid
//! state drives. SIGMETRICS 2013.
//!
//! Always d draws, with replacement, from the candidates by ascending index; each plane has a
//! generator of its own. Cost: a pass over one bit a block for all draws of a collection.

use super::{Candidates, Collector, SealedBlock};
use crate::config::{DeviceConfig, GcVictim};
use destage_core::{PlaneId, SplitMix64};

#[derive(Clone, Debug)]
pub(in crate::ftl::page) struct DChoices {
    d: u32,
    words: usize,                // of a plane in `candidates`
    candidates: Vec<u64>,        // one bit a block
    counts: Vec<u32>,            // of a plane
    generators: Vec<SplitMix64>, // of a plane
}

impl PartialEq for DChoices {
    fn eq(&self, other: &Self) -> bool {
        let next = |rule: &DChoices| -> Vec<u64> {
            rule.generators.iter().map(|generator| generator.clone().next()).collect()
        };
        self.candidates == other.candidates && next(self) == next(other)
    }
}

impl DChoices {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        let planes = config.planes();
        let words = (config.blocks_per_plane as usize).div_ceil(64);
        let seed = |plane| config.streams.gc_seed.wrapping_add(u64::from(plane));
        DChoices {
            d: if config.streams.gc_victim == GcVictim::Random {
                1
            } else {
                config.streams.gc_choices
            },
            words,
            candidates: vec![0; planes as usize * words],
            counts: vec![0; planes as usize],
            generators: (0..planes).map(|plane| SplitMix64::new(seed(plane))).collect(),
        }
    }

    fn bit(&mut self, SealedBlock { plane, local, .. }: SealedBlock) -> (&mut u64, u64, &mut u32) {
        let word = plane.index() * self.words + local as usize / 64;
        (&mut self.candidates[word], 1 << (local % 64), &mut self.counts[plane.index()])
    }

    /// The k-th candidates of a plane, k in ascending order.
    fn at_ranks(&self, plane: PlaneId, ranks: &[u32]) -> impl Iterator<Item = u32> {
        let words = &self.candidates[plane.index() * self.words..][..self.words];
        let (mut word, mut before) = (0, 0);
        ranks.iter().map(move |&rank| {
            while before + words[word].count_ones() <= rank {
                before += words[word].count_ones();
                word += 1;
            }
            let mut rest = words[word];
            for _ in before..rank {
                rest &= rest - 1;
            }
            word as u32 * 64 + rest.trailing_zeros()
        })
    }
}

impl Collector for DChoices {
    fn sealed(&mut self, block: SealedBlock, is_candidate: bool) {
        if is_candidate {
            self.became_candidate(block);
        }
    }

    fn became_candidate(&mut self, block: SealedBlock) {
        let (word, bit, count) = self.bit(block);
        *word |= bit;
        *count += 1;
    }

    fn victim(&self, plane: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let count = self.counts[plane.index()];
        if count == 0 {
            return None;
        }
        let mut generator = self.generators[plane.index()].clone();
        let mut ranks: Vec<u32> = (0..self.d).map(|_| generator.below(count)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        self.at_ranks(plane, &ranks).min_by_key(|&local| candidates.greedy_order(local))
    }

    fn collects(&mut self, block: SealedBlock) {
        self.generators[block.plane.index()].skip(self.d.into());
        let (word, bit, count) = self.bit(block);
        *word &= !bit;
        *count -= 1;
    }
}
