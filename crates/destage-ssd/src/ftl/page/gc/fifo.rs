//! FIFO: the block that was sealed first and has an invalid page (`docs/spec/collectors.md` 4.2).
//!
//! Robinson. Analysis of steady-state segment storage utilizations in a log-structured file system
//! with least-utilized segment cleaning. OSR 1996. Desnoyers. Analytic modeling of SSD write
//! performance. SYSTOR 2012.
//!
//! Fully valid blocks keep their places in the queue. Cost: the fully valid blocks at its front.

use super::queue::Queues;
use super::{Candidates, Collector, SealedBlock};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct Fifo {
    queues: Queues,
}

impl Fifo {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        Fifo { queues: Queues::new(config.planes()) }
    }
}

impl Collector for Fifo {
    fn sealed(&mut self, block: SealedBlock, _: bool) {
        self.queues.push(block);
    }

    fn victim(&self, plane: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        self.queues.of(plane).find(|&local| candidates.contains(local))
    }

    fn collects(&mut self, block: SealedBlock) {
        self.queues.remove(block);
    }
}
