//! Candidate victims of a collector: the sealed blocks of a plane that have an invalid page.

use crate::ftl::tournament::Tournaments;
use crate::geometry::BlockId;
use destage_core::PlaneId;

/// A block of the main area, by its place and by its number over the whole device.
#[derive(Clone, Copy, Debug)]
pub(in crate::ftl::page) struct SealedBlock {
    pub(in crate::ftl::page) plane: PlaneId,
    pub(in crate::ftl::page) local: u32,
    pub(in crate::ftl::page) block: BlockId,
}

/// The sealed blocks of a plane.
pub(in crate::ftl::page) struct Candidates<'a> {
    sealed: &'a Tournaments,
    plane: PlaneId,
    // by block of the plane: valid pages << 32 | erase count; all ones if not sealed
    keys: &'a [u64],
    fully_valid: u64, // the least key of a block without an invalid page
}

impl<'a> Candidates<'a> {
    /// No candidates yet, for a plane whose blocks have `data_pages` data pages.
    pub(in crate::ftl::page) fn new(sealed: &'a Tournaments, plane: PlaneId, data: u32) -> Self {
        let fully_valid = u64::from(data) << 32;
        Candidates { sealed, plane, keys: sealed.keys_of(plane), fully_valid }
    }

    /// D, data pages of a block.
    pub(super) fn data_pages(&self) -> u64 {
        self.fully_valid >> 32
    }

    /// Valid pages of a sealed block.
    pub(super) fn valid(&self, local: u32) -> u64 {
        self.keys[local as usize] >> 32
    }

    /// The block is sealed and has an invalid page.
    pub(super) fn contains(&self, local: u32) -> bool {
        self.keys[local as usize] < self.fully_valid
    }

    /// Place of a block in greedy order: valid pages, erase count, index.
    pub(super) fn greedy_order(&self, local: u32) -> (u64, u32) {
        (self.keys[local as usize], local)
    }

    /// The first in greedy order.
    pub(super) fn first(&self) -> Option<u32> {
        let (key, local) = self.sealed.least(self.plane)?;
        (key < self.fully_valid).then_some(local)
    }

    /// All candidates by ascending index, each with its valid pages.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let all = (0..).zip(self.keys);
        all.filter(|&(_, &key)| key < self.fully_valid).map(|(local, &key)| (local, key >> 32))
    }
}
