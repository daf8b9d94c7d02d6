//! Windowed greedy: the block with the fewest valid pages among the oldest w
//! (`docs/spec/collectors.md` 4.5).
//!
//! Hu, Eleftheriou, Haas, Iliadis, Pletka. Write amplification analysis in flash-based solid state
//! drives. SYSTOR 2009.
//!
//! The window counts candidates: cold blocks that are fully valid would fill it for good. Cost: a
//! look at each block of the window.

use super::queue::Queues;
use super::{Candidates, Collector, SealedBlock, window};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct WindowedGreedy {
    window: usize, // w, blocks
    queues: Queues,
}

impl WindowedGreedy {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        WindowedGreedy { window: window(config), queues: Queues::new(config.planes()) }
    }
}

impl Collector for WindowedGreedy {
    fn sealed(&mut self, block: SealedBlock, _: bool) {
        self.queues.push(block);
    }

    fn victim(&self, plane: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let oldest = self.queues.of(plane).filter(|&local| candidates.contains(local));
        oldest.take(self.window).min_by_key(|&local| candidates.greedy_order(local))
    }

    fn collects(&mut self, block: SealedBlock) {
        self.queues.remove(block);
    }
}
