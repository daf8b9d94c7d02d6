//! Writing to the SLC cache, and folding its blocks into the main area (`docs/spec/device-today.md`
//! 9.2 to 9.4).

use super::state::{PageFtl, UNMAPPED};
use super::steps::Steps;
use crate::config::{Alloc, GcMode, SlcPolicy};
use crate::ftl::sink::Sink;
use crate::geometry::Ppn;
use crate::timing::{Operation, OperationKind};
use destage_core::{PlaneId, UnitId};

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// Writes a page to the SLC cache of its plane, if there is one and it has room (9.2).
    #[inline]
    pub(super) fn write_cached<S: Sink>(
        &mut self,
        plane: PlaneId,
        slot: u32,
        sink: &mut S,
    ) -> Option<S::Served> {
        let slc = self.slc.as_ref()?;
        if slc.config.slc_policy == SlcPolicy::Fold {
            self.fold_for_room(plane, sink);
        } else if !slc.has_room(plane) {
            return None;
        }
        let old = self.map[slot as usize];
        if old != UNMAPPED {
            self.invalidate(old - 1);
        }
        let slc = self.slc.as_mut()?;
        let (ppn, index) = (slc.take_page(plane, slot), slc.index());
        self.map[slot as usize] = ppn + 1;
        self.planes[plane.index()].valid += 1;
        if self.alloc == Alloc::Dynamic && self.planes[plane.index()].valid == self.cap {
            self.units[self.geometry.place(plane).unit.index()].open_planes -= 1;
        }
        let (kind, collection) = (OperationKind::Write, false);
        Some(sink.submit(Operation { kind, collection, plane, index, from: index, ppn }))
    }

    /// Before a page goes to the SLC cache of the plane: a step of a fold while no more than one
    /// block of it is free, all of a block where it has no room (`docs/spec/gc-steps.md` 4).
    fn fold_for_room<S: Sink>(&mut self, plane: PlaneId, sink: &mut S) {
        if let Some(pages) = self.steps.as_ref().map(Steps::fold_step)
            && !S::IN_NO_TIME
            && let Some(slc) = &self.slc
            && slc.free_pages(plane) <= slc.config.slc_pages_per_block
            && slc.oldest(plane).is_some()
        {
            self.fold(plane, pages, sink);
        }
        if self.slc.as_ref().is_some_and(|slc| !slc.has_room(plane)) {
            self.fold(plane, u32::MAX, sink);
        }
    }

    /// Folds so many pages of the SLC block of the plane that was sealed first (9.3); erases it if
    /// it has no more.
    fn fold<S: Sink>(&mut self, plane: PlaneId, pages: u32, sink: &mut S) {
        let Some(slc) = &self.slc else { return };
        let oldest = slc.oldest(plane);
        let local = oldest.expect("a full SLC cache has sealed blocks");
        let from = slc.index();
        let block = plane.0 * slc.config.slc_blocks + local;
        let ppn = slc.first_page + block * slc.config.slc_pages_per_block;
        let mut left = pages;
        while left > 0 && self.migrate(plane, block, sink) {
            left -= 1;
        }
        if self.slc.as_ref().is_some_and(|slc| slc.first_valid(block).is_some()) {
            return;
        }
        let (kind, collection) = (OperationKind::Erase, true);
        sink.submit(Operation { kind, collection, plane, index: from, from, ppn });
        if let Some(slc) = &mut self.slc {
            slc.erased(plane, local);
        }
    }

    /// Moves the first valid page of an SLC block to the main area. False if it has none.
    fn migrate<S: Sink>(&mut self, plane: PlaneId, block: u32, sink: &mut S) -> bool {
        if self.slc.as_ref().is_none_or(|slc| slc.first_valid(block).is_none()) {
            return false;
        }
        if self.gc_mode != GcMode::Background {
            self.make_room(plane, sink);
        }
        let Some(slc) = &mut self.slc else { return false };
        let Some((old, slot)) = slc.first_valid(block) else { return false };
        slc.clear(old);
        slc.counts.migrations += 1;
        let (kind, from) = (OperationKind::Move, slc.index());
        sink.moves_from(old);
        let point = self.points.handle_of(slot);
        let (index, ppn) = self.take_page(plane, point, slot);
        self.note_moved(&[slot]);
        if self.alloc == Alloc::Dynamic {
            self.units[self.geometry.place(plane).unit.index()].free_pages -= 1;
        }
        sink.submit(Operation { kind, collection: true, plane, index, from, ppn });
        self.seal_if_full(plane, point, true, sink);
        if self.gc_mode == GcMode::Background {
            self.make_room(plane, sink);
        }
        true
    }

    /// The unit has been idle: folds a block, or a step of it, of the plane with the fewest free
    /// SLC pages (9.4). False if it has none to fold.
    pub(super) fn fold_idle<S: Sink>(&mut self, unit: UnitId, sink: &mut S) -> bool {
        let Some(slc) = self.slc.as_ref().filter(|slc| slc.config.slc_idle) else { return false };
        let planes = self.geometry.planes_of(unit).filter(|&plane| slc.oldest(plane).is_some());
        let Some(plane) = planes.min_by_key(|&plane| slc.free_pages(plane)) else { return false };
        self.fold(plane, self.steps.as_ref().map_or(u32::MAX, Steps::fold_step), sink);
        true
    }

    /// A page in an SLC block becomes invalid.
    #[inline]
    pub(super) fn invalidate_cached(&mut self, ppn: Ppn) -> Option<PlaneId> {
        let slc = self.slc.as_mut().filter(|slc| slc.holds(ppn))?;
        slc.clear(ppn);
        Some(slc.plane(ppn))
    }
}
