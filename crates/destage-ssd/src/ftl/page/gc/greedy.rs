//! Greedy: the block with the fewest valid pages (`docs/spec/collectors.md` 4.1,
//! `docs/spec/device.md` 5.4).
//!
//! Robinson. Analysis of steady-state segment storage utilizations in a log-structured file system
//! with least-utilized segment cleaning. OSR 1996.
//!
//! The tournament over all sealed blocks knows it; nothing else is remembered.

use super::{Candidates, Collector};
use crate::config::DeviceConfig;
use destage_core::PlaneId;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::ftl::page) struct Greedy;

impl Greedy {
    pub(super) fn new(_: &DeviceConfig) -> Self {
        Greedy
    }
}

impl Collector for Greedy {
    #[inline]
    fn victim(&self, _: PlaneId, _: u64, candidates: &Candidates<'_>) -> Option<u32> {
        candidates.first()
    }
}
