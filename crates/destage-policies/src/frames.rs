//! Numbered frames, for policies that look at frames rather than at an order of pages: which page
//! stands in which.
//!
//! A page comes into the free frame with the lowest number (`docs/spec/further-policies.md`, 2.2):
//! the cache fills in order 0, 1, 2, .., and later a page takes the frame of the victim of its own
//! access. What a policy knows of a page it keeps in columns by frame: a frame's number is known
//! from a draw or a hand without looking the page up, and there are fewer frames than pages.

use destage_core::{Directory, Entry, Page, Plan, Request, Slot, Table};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A page's frame and its dirty bit.
#[derive(Clone, Copy, Default, Debug)]
struct FrameState {
    frame: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    #[default]
    Absent,
    Clean,
    Dirty,
}

impl State {
    #[inline(always)]
    fn after(write: bool) -> State {
        if write { State::Dirty } else { State::Clean }
    }
}

impl Entry for FrameState {
    #[inline(always)]
    fn known(&self) -> bool {
        self.state != State::Absent
    }
}

/// All frames that were ever taken, and the resident pages.
#[derive(Debug)]
pub(crate) struct Frames<D> {
    pages: Table<D, FrameState>,       // every resident page
    slots: Vec<Slot>,                  // of the page in each frame
    free: Option<u32>,                 // frame of the page just evicted
    trimmed: BinaryHeap<Reverse<u32>>, // other frames that were taken and are free
    resident: u32,
}

impl<D: Directory> Frames<D> {
    pub(crate) fn new(directory: D) -> Self {
        Frames {
            pages: Table::new(directory),
            slots: Vec::new(),
            free: None,
            trimmed: BinaryHeap::new(),
            resident: 0,
        }
    }

    /// Number of resident pages.
    #[inline(always)]
    pub(crate) fn resident(&self) -> u32 {
        self.resident
    }

    /// The page's slot and frame, if it is resident; a write makes it dirty.
    #[inline(always)]
    pub(crate) fn access(&mut self, r: &Request) -> Option<(Slot, u32)> {
        let slot = self.pages.find(r.page)?;
        let place = &mut self.pages[slot];
        if r.op.is_write() {
            place.state = State::Dirty;
        }
        Some((slot, place.frame))
    }

    /// The page in this frame leaves.
    #[inline(always)]
    pub(crate) fn evict(&mut self, frame: u32, plan: &mut Plan) {
        debug_assert!(self.free.is_none(), "one page leaves before the next comes");
        let slot = self.slots[frame as usize];
        let dirty = self.pages[slot].state == State::Dirty;
        plan.evict(self.pages.remove(slot), dirty);
        self.free = Some(frame);
        self.resident -= 1;
    }

    /// The page is trimmed: its frame and its dirty bit, if it was resident.
    pub(crate) fn forget(&mut self, page: Page) -> Option<(u32, bool)> {
        let slot = self.pages.find(page)?;
        let FrameState { frame, state } = self.pages[slot];
        self.pages.remove(slot);
        self.trimmed.push(Reverse(frame));
        self.resident -= 1;
        Some((frame, state == State::Dirty))
    }

    /// The free frame with the lowest number, where no page has just been evicted: one of those
    /// that trims have left, or the next one that was never taken.
    #[inline(never)]
    fn lowest_free(&mut self) -> u32 {
        let trimmed = self.trimmed.pop().map(|Reverse(frame)| frame);
        trimmed.unwrap_or(self.slots.len() as u32)
    }

    /// The page comes in. Its slot, and the frame that it takes: one that was taken before, or the
    /// next one.
    #[inline(always)]
    pub(crate) fn admit(&mut self, r: &Request) -> (Slot, u32) {
        let frame = match self.free.take() {
            Some(frame) => frame,
            None => self.lowest_free(),
        };
        self.resident += 1;
        let slot =
            self.pages.insert(r.page, FrameState { frame, state: State::after(r.op.is_write()) });
        if frame as usize == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[frame as usize] = slot;
        }
        (slot, frame)
    }

    /// Every resident page with its frame and dirty bit, by frame.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Page, bool)> {
        let taken = 0..self.slots.len() as u32;
        taken.filter_map(|frame| self.at(frame).map(|(page, dirty)| (frame, page, dirty)))
    }

    /// The page in a frame that was taken before, with its dirty bit, if there is one now.
    pub(crate) fn at(&self, frame: u32) -> Option<(Page, bool)> {
        let slot = self.slots[frame as usize];
        let place = self.pages[slot];
        let here = place.known() && place.frame == frame;
        here.then(|| (self.pages.page(slot), place.state == State::Dirty))
    }

    /// The page has been written back, and stays.
    pub(crate) fn clean(&mut self, page: Page) {
        let slot = self.pages.find(page).expect("a page that is cleaned is resident");
        self.pages[slot].state = State::Clean;
    }

    pub(crate) fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.iter().for_each(|(_, page, dirty)| visit(page, dirty));
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
    }

    /// Asserts that every page knows its frame, and that no more than `frames` are taken.
    pub(crate) fn check(&self, frames: u32) {
        assert!(self.slots.len() <= frames as usize);
        for (frame, page, _) in self.iter() {
            let slot = self.pages.find(page).expect("a page in a frame is resident");
            assert_eq!(self.slots[frame as usize], slot, "a page is in one frame");
            assert_eq!(self.pages[slot].frame, frame, "a page knows its frame");
        }
        assert_eq!(self.pages.iter().count(), self.resident() as usize);
        let free = self.trimmed.len() + usize::from(self.free.is_some());
        assert_eq!(self.slots.len(), self.resident as usize + free, "a frame is held or free");
    }
}

/// A value per frame, which grows as frames are taken.
#[inline(always)]
pub(crate) fn set<T>(column: &mut Vec<T>, frame: u32, value: T) {
    if frame as usize == column.len() {
        column.push(value);
    } else {
        column[frame as usize] = value;
    }
}
