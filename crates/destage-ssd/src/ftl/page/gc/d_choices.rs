//! d-choices: the best of d blocks drawn at random (`docs/spec/collectors.md` 4.4). `random` is
//! d-choices with d = 1 (4.3).
//!
//! Van Houdt. A mean field model for a class of garbage collection algorithms in flash-based solid
//! state drives. SIGMETRICS 2013.
//!
//! Always d draws, with replacement, from the candidates by ascending index; each plane has a
//! generator of its own. Cost: O(d) a collection, and a move of half the candidates' indices when
//! one is added or removed.

use super::{Candidates, Collector, SealedBlock};
use crate::config::{DeviceConfig, GcVictim};
use destage_core::{PlaneId, SplitMix64};

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct DChoices {
    d: u32,
    planes: Vec<Plane>,
}

#[derive(Clone, Debug)]
struct Plane {
    candidates: Vec<u32>, // ascending
    generator: SplitMix64,
}

impl PartialEq for Plane {
    fn eq(&self, other: &Self) -> bool {
        let next = |plane: &Plane| plane.generator.clone().next();
        self.candidates == other.candidates && next(self) == next(other)
    }
}

impl DChoices {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        let streams = &config.streams;
        let of_plane = |plane| Plane {
            candidates: Vec::new(),
            generator: SplitMix64::new(streams.gc_seed.wrapping_add(u64::from(plane))),
        };
        DChoices {
            d: if streams.gc_victim == GcVictim::Random { 1 } else { streams.gc_choices },
            planes: (0..config.planes()).map(of_plane).collect(),
        }
    }
}

impl Collector for DChoices {
    fn sealed(&mut self, block: SealedBlock, is_candidate: bool) {
        if is_candidate {
            self.became_candidate(block);
        }
    }

    fn became_candidate(&mut self, SealedBlock { plane, local, .. }: SealedBlock) {
        let candidates = &mut self.planes[plane.index()].candidates;
        candidates.insert(candidates.partition_point(|&other| other < local), local);
    }

    fn victim(&self, plane: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let Plane { candidates: drawn_from, generator } = &self.planes[plane.index()];
        if drawn_from.is_empty() {
            return None;
        }
        let mut generator = generator.clone();
        let mut draw = || drawn_from[generator.below(drawn_from.len() as u32) as usize];
        (0..self.d).map(|_| candidates.greedy_order(draw())).min().map(|(_, local)| local)
    }

    fn collects(&mut self, SealedBlock { plane, local, .. }: SealedBlock) {
        let Plane { candidates, generator } = &mut self.planes[plane.index()];
        generator.skip(self.d.into());
        let at = candidates.binary_search(&local);
        candidates.remove(at.expect("a victim is a candidate"));
    }
}
