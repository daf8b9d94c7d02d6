//! Two-region FIFO: the oldest block whose share of valid pages is below a limit that grows until
//! one is found; the newest blocks are left alone (`docs/spec/collectors.md` 4.7).
//!
//! Haas, Lee, Bonnet, Leis. SSD-iq: Uncovering the hidden side of SSD performance. PVLDB 18, 2025.
//!
//! Old blocks that are still nearly full get a second chance. Nothing is remembered from one
//! collection to the next.
//!
//! The first limit that any block of the plane is below is that of its emptiest one, which the
//! tournament knows. Cost: a look at each block of the window, as far as the oldest one below that
//! limit; if the window has none, a second one, whatever the limit grows to.

use super::queue::Queues;
use super::{Candidates, Collector, SealedBlock, window};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

/// Increment of the limit when the window has no block below it, 1/1000 of D.
const LIMIT_STEP: u32 = 50;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct TwoRegionFifo {
    window: usize,    // blocks
    passes: Vec<u32>, // by valid pages, how often the limit grows until a block is below it
    queues: Queues,
}

impl TwoRegionFifo {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        let data = u64::from(config.data_pages());
        let limit = u64::from(config.streams.gc_limit_permille);
        // 1000 * v < l * D, and no l is above 1000: a fully valid block is never below.
        let growths = |permille: u64| match permille.checked_sub(limit) {
            None => 0,
            Some(over) => over as u32 / LIMIT_STEP + 1,
        };
        let below = (0..data).map(|valid| growths(1000 * valid / data));
        TwoRegionFifo {
            window: window(config),
            passes: below.chain([u32::MAX]).collect(),
            queues: Queues::new(config.planes()),
        }
    }

    /// The oldest block of the window of those that are below the first limit that one is below;
    /// without any, the oldest candidate.
    fn in_window(&self, plane: PlaneId, candidates: &Candidates<'_>) -> Option<u32> {
        let queue = self.queues.of(plane);
        let window = queue.clone().take(self.window).filter(|&local| candidates.contains(local));
        let found = window.min_by_key(|&local| self.passes[candidates.valid(local) as usize]);
        found.or_else(|| queue.clone().find(|&local| candidates.contains(local)))
    }
}

impl Collector for TwoRegionFifo {
    fn sealed(&mut self, block: SealedBlock, _: bool) {
        self.queues.push(block);
    }

    fn victim(&self, plane: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let emptiest = candidates.first()?;
        let limit = self.passes[candidates.valid(emptiest) as usize];
        let mut window = self.queues.of(plane).take(self.window);
        let oldest = window.find(|&local| self.passes[candidates.valid(local) as usize] == limit);
        oldest.or_else(|| self.in_window(plane, candidates))
    }

    fn collects(&mut self, block: SealedBlock) {
        self.queues.remove(block);
    }
}
