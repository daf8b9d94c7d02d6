//! Collecting a few pages of a victim before each program, the erase with the last of them
//! (`docs/spec/gc-steps.md` 3 to 5).

use super::state::PageFtl;
use super::steps::OpenCollection;
use crate::config::Alloc;
use crate::ftl::bitmap::pages;
use crate::ftl::sink::Sink;
use destage_core::PlaneId;
use destage_core::pages::prefetch;

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// The collection of a plane that has begun.
    #[inline]
    pub(super) fn open_collection(&self, plane: PlaneId) -> Option<OpenCollection> {
        if EXTENDED { self.steps.as_ref()?.of(plane) } else { None }
    }

    /// Before a program to the plane, or after it in the background: whole blocks until there is
    /// room, or one step.
    #[inline(always)]
    pub(super) fn make_room<S: Sink>(&mut self, plane: PlaneId, sink: &mut S) {
        if !EXTENDED || S::IN_NO_TIME || self.steps.is_none() {
            self.collect_down_to_threshold(plane, sink);
        } else if self.planes[plane.index()].free_pages <= self.low {
            let collected = self.step(plane, sink);
            assert!(collected, "the configuration leaves an invalid page to every collection");
        }
    }

    /// One step of the plane's collection, which begins if none has. False if there is nothing to
    /// collect.
    pub(super) fn step<S: Sink>(&mut self, plane: PlaneId, sink: &mut S) -> bool {
        let open = match self.open_collection(plane) {
            Some(open) => open,
            None => {
                let Some((local, valid)) = self.begin_collection(plane, sink) else { return false };
                let victim = self.points.collects(self.geometry.block(plane, local));
                let data_pages = self.geometry.data_pages;
                let steps = self.steps.as_ref().expect("the device collects in steps");
                OpenCollection { local, victim, step: steps.step_of(valid, data_pages) }
            }
        };
        let (moves, is_last) = self.next_step(plane, open.local, open.step);
        self.move_pages(plane, open.local, Some(open.victim), moves, sink);
        if is_last {
            self.end_collection(plane, open.local, sink);
        }
        let steps = self.steps.as_mut().expect("the device collects in steps");
        steps.keep(plane, (!is_last).then_some(open));
        true
    }

    /// Hint, some ten writes ahead: the next step of this plane comes soon. Brings near which pages
    /// it moves.
    #[inline(always)]
    pub(super) fn prefetch_step(&self, plane: PlaneId) {
        if let Some(open) = self.hinted_collection(plane) {
            let block = self.geometry.block(plane, open.local);
            if let Some(index) = pages(&self.valid[self.words_of(block)]).next() {
                let ppn = self.geometry.first_page(block) + index;
                prefetch(&self.owners, ppn as usize);
            }
        }
    }

    /// Hint, a few writes ahead: brings near what the next step of this plane changes. A step moves
    /// few pages, and does not hide that by itself.
    #[inline(always)]
    pub(super) fn prefetch_moves(&self, plane: PlaneId) {
        if let Some(open) = self.hinted_collection(plane) {
            let block = self.geometry.block(plane, open.local);
            let first = self.geometry.first_page(block);
            for index in pages(&self.valid[self.words_of(block)]).take(open.step as usize) {
                let slot = self.owners[(first + index) as usize];
                prefetch(&self.map, slot as usize);
                self.points.prefetch(slot);
            }
        }
    }

    /// The collection that a write to a home goes on with, if that can be known beforehand.
    #[inline(always)]
    fn hinted_collection(&self, home: PlaneId) -> Option<OpenCollection> {
        if !EXTENDED || self.alloc != Alloc::Static {
            return None;
        }
        self.open_collection(home)
    }

    /// Moves of the next step of this victim, and whether the erase follows.
    fn next_step(&self, plane: PlaneId, local: u32, step: u32) -> (u32, bool) {
        let left = self.valid_pages(self.geometry.block(plane, local));
        let steps = self.steps.as_ref().expect("the device collects in steps");
        let moves = steps.moves(self.planes[plane.index()].free_pages, step, left);
        (moves, moves == left)
    }

    /// Collection work before the next program to the plane: victim, moves, and whether the erase
    /// follows. `None` if none is due.
    pub(super) fn next_moves(&self, plane: PlaneId) -> Option<(u32, u32, bool)> {
        if !self.is_due(plane) {
            return None;
        }
        if let Some(open) = self.open_collection(plane) {
            let (moves, erases) = self.next_step(plane, open.local, open.step);
            return Some((open.local, moves, erases));
        }
        let (local, valid) = self.next_victim(plane)?;
        let Some(steps) = self.steps.as_ref().filter(|_| EXTENDED) else {
            return Some((local, valid, true));
        };
        let step = steps.step_of(valid, self.geometry.data_pages);
        let (moves, erases) = self.next_step(plane, local, step);
        Some((local, moves, erases))
    }
}
