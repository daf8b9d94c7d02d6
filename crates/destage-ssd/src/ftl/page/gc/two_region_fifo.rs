//! Two-region FIFO: the oldest block whose share of valid pages is below a limit that grows until
//! one is found; the newest blocks are left alone (`docs/spec/collectors.md` 4.7).
//!
//! Haas, Lee, Bonnet, Leis. SSD-iq: Uncovering the hidden side of SSD performance. PVLDB 18, 2025.
//!
//! Old blocks that are still nearly full get a second chance. Nothing is remembered from one
//! collection to the next. Cost: one look at each block of the window, whatever the limit grows to.

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
        let data = candidates.data_pages();
        let mut found = None;
        // 1000 * v of a block that would be taken before the one found.
        let mut below = 1000 * data;
        for local in self.queues.of(plane).take(self.window) {
            let valid = candidates.valid(local);
            if 1000 * valid >= below {
                continue;
            }
            found = Some(local);
            if 1000 * valid < self.limit * data {
                break;
            }
            // The last limit that stops it: a later block has to pass below that one.
            let steps = (1000 * valid / data - self.limit) / LIMIT_STEP;
            below = (self.limit + steps * LIMIT_STEP) * data;
        }
        // The window may have no candidate.
        let any = || self.queues.of(plane).find(|&local| candidates.contains(local));
        found.or_else(any)
    }

    fn collects(&mut self, block: SealedBlock) {
        self.queues.remove(block);
    }
}
