//! The state at time 0 again, after a run that began with it.
//!
//! Nothing marks a change, so that a run pays nothing for it. A slot whose place has changed is at
//! the end in a page that was programmed since, and `owners` names it there, or it was trimmed.
//! A block was programmed since if it was open at time 0, was free and is not, or was erased.

use super::points::NONE;
use super::state::PageFtl;
use super::trimmed::FEW;
use crate::ftl::tournament::OUT;
use crate::geometry::BlockId;
use destage_core::PlaneId;

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// The blocks that were programmed since `before`.
    fn programmed_since(&self, before: &Self) -> Vec<BlockId> {
        let all = (0..self.geometry.planes * self.geometry.blocks_per_plane).map(BlockId);
        let was_used = |&block: &BlockId| {
            self.erases[block.index()] != before.erases[block.index()]
                || before.free.key(block) != OUT && self.free.key(block) == OUT
        };
        let planes = (0..self.geometry.planes).map(PlaneId);
        let open = planes.flat_map(|plane| {
            let points = before.points_of(plane).iter().filter(|point| point.active != NONE);
            points.map(move |point| before.geometry.block(plane, point.active))
        });
        all.filter(was_used).chain(open).collect()
    }

    /// [`Ftl::restore`](crate::ftl::Ftl::restore).
    pub(super) fn restore_from(&mut self, before: &Self) {
        let blocks = self.programmed_since(before);
        let in_a_block = self.geometry.pages_per_block as usize;
        let cached: &[u32] = self.slc.as_ref().map_or(&[], |slc| slc.owners());
        let changes = blocks.len() * in_a_block + cached.len() + self.trimmed.slots().len();
        if self.trimmed.are_many() || changes > (self.map.len() + self.owners.len()) / FEW {
            self.map.copy_from_slice(&before.map);
            self.owners.copy_from_slice(&before.owners);
        } else {
            for &slot in cached.iter().chain(self.trimmed.slots()) {
                self.map[slot as usize] = before.map[slot as usize];
            }
            for block in blocks {
                let first = self.geometry.first_page(block) as usize;
                let pages = first..first + in_a_block;
                for &slot in &self.owners[pages.clone()] {
                    self.map[slot as usize] = before.map[slot as usize];
                }
                self.owners[pages.clone()].copy_from_slice(&before.owners[pages]);
            }
        }
        self.restore_the_rest(before);
    }

    /// All else: an entry for each block or plane, and for each slot where a device has handles.
    fn restore_the_rest(&mut self, before: &Self) {
        #[rustfmt::skip] // every field is here, so that no new one is forgotten
        let PageFtl {
            map: _, owners: _, valid, erases, planes, free, sealed, units, moving, points, trimmed,
            slc, collector, steps, map_cache,
            // Of the configuration.
            geometry: _, by_block_pages: _, by_plane_blocks: _, words: _, plane_slots: _,
            summary_page: _, alloc: _, gc_mode: _, unmapped_read: _, low: _, high: _, cap: _,
            page_bytes: _,
        } = before;
        self.valid.clone_from(valid);
        self.erases.clone_from(erases);
        self.planes.clone_from(planes);
        self.free.clone_from(free);
        self.sealed.clone_from(sealed);
        self.units.clone_from(units);
        self.moving.clone_from(moving);
        self.points.clone_from(points);
        self.trimmed.clone_from(trimmed);
        self.slc.clone_from(slc);
        self.collector.clone_from(collector);
        self.steps.clone_from(steps);
        self.map_cache.clone_from(map_cache);
    }
}
