//! Two-region FIFO: the oldest block whose share of valid pages is below a limit that grows until
//! one is found; the newest blocks are left alone (`docs/spec/collectors.md` 4.7).
//!
//! Haas, Lee, Bonnet, Leis. SSD-iq: Uncovering the hidden side of SSD performance. PVLDB 18, 2025.
//!
//! Old blocks that are still nearly full get a second chance. Nothing is remembered from one
//! collection to the next. Cost: passes over the window.

use super::queue::Queues;
use super::{Candidates, Collector, SealedBlock, window};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

/// Increment of the limit when the window has no block below it, 1/1000 of D.
const LIMIT_STEP: u64 = 50;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct TwoRegionFifo {
    window: usize, // blocks
    limit: u64,    // of the first pass, 1/1000 of D
    queues: Queues,
}

impl TwoRegionFifo {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        TwoRegionFifo {
            window: window(config),
            limit: config.streams.gc_limit_permille.into(),
            queues: Queues::new(config.planes()),
        }
    }
}

impl Collector for TwoRegionFifo {
    fn sealed(&mut self, block: SealedBlock, _: bool) {
        self.queues.push(block);
    }

    fn victim(&self, plane: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let oldest = self.queues.of(plane).take(self.window);
        let mut limit = self.limit;
        loop {
            let below = limit * candidates.data_pages();
            let is_below =
                |&local: &u32| candidates.contains(local) && 1000 * candidates.valid(local) < below;
            if let Some(found) = oldest.clone().find(is_below) {
                return Some(found);
            }
            if limit == 1000 {
                // No candidate in the window.
                return self.queues.of(plane).find(|&local| candidates.contains(local));
            }
            limit = (limit + LIMIT_STEP).min(1000);
        }
    }

    fn collects(&mut self, block: SealedBlock) {
        self.queues.remove(block);
    }
}
