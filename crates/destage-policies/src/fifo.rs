//! FIFO: evict the page loaded longest ago.
//!
//! Folklore; Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems
//! Journal 5(2), 1966.
//!
//! Rules. One list. Hit: nothing changes. Miss: the page at the tail is evicted; the new one comes
//! in at the head.
//!
//! Cost. O(1); a byte per page and a word per frame, since no page ever leaves the middle.

use crate::fifos::take;
use crate::info::{INTERVAL_FRAMES, MultiSize};
use crate::{Info, Setup, VICTIMS_AHEAD};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Slot, Table,
};
use std::collections::VecDeque;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "fifo",
    title: "First In, First Out",
    source: "Belady, IBM Systems Journal 5(2), 1966",
    about: "Evict the page loaded longest ago.",
    time: "O(1)",
    interval_frames: INTERVAL_FRAMES,
    multi_size: Some(MultiSize::Arrival),
    ..Info::BLANK
};

/// The policy.
pub struct Fifo<D> {
    pages: Table<D, Brief>, // every resident page
    fifo: VecDeque<Slot>,   // all pages, tail (oldest) first
    frames: u32,
}

impl<D: Directory> Fifo<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Fifo { pages: Table::new(directory), fifo: VecDeque::new(), frames: setup.frames }
    }
}

impl<D: Directory> Policy for Fifo<D> {
    type Miss = ();

    const ORDERED: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        self.pages[slot].access(r.op.is_write());
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.fifo.pop_front().expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty();
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page, Brief::new(r.op.is_write(), 0));
        self.fifo.push_back(slot);
        slot
    }

    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        self.fifo.iter().all(|&slot| show(self.pages.page(slot), self.pages[slot].dirty()));
    }

    fn cleaned(&mut self, page: Page) {
        let slot = self.pages.find(page).expect("a page that is cleaned is resident");
        self.pages[slot].clean();
    }

    #[inline(always)]
    fn coming_victim(&self) -> Option<Page> {
        Some(self.pages.page(*self.fifo.get(VICTIMS_AHEAD as usize)?))
    }

    counted! { self: self.fifo.len() as u32, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for &slot in &self.fifo {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    /// Walks to the page in the FIFO.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        take(&mut self.fifo, slot);
        self.pages.remove(slot);
        Some(dirty)
    }

    shows! { self.pages; "fifo" => self.fifo.iter().rev().copied() }

    hints! { self.pages: prefetch }

    fn check(&self) {
        assert!(self.fifo.len() <= self.frames as usize);
        for &slot in &self.fifo {
            let found = self.pages.find(self.pages.page(slot));
            assert_eq!(found, Some(slot), "a page of the FIFO is resident");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, victims};
    use destage_core::{Dense, Op::*};

    #[test]
    fn a_hit_does_not_save_the_page_loaded_first() {
        let mut fifo = Fifo::new(&Setup::new(3), Dense::new(6));
        let steps = drive(&mut fifo, &reads(&[1, 2, 3, 1, 4, 2, 5]));
        assert!(steps[3].hit && steps[5].hit);
        assert_eq!(victims(&steps), [1, 2]);
    }

    #[test]
    fn a_read_hit_leaves_a_dirty_page_dirty() {
        let mut fifo = Fifo::new(&Setup::new(1), Dense::new(2));
        let steps = drive(&mut fifo, &[(Write, 0), (Read, 0), (Read, 1)]);
        assert_eq!(steps[2].evicted, [(0, true)]);
    }
}
