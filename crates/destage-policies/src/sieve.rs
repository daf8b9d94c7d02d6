//! SIEVE: CLOCK without moving survivors.
//!
//! Zhang, Yang, Yue, Vigfusson, Rashmi. SIEVE is simpler than LRU: an efficient turn-key eviction
//! algorithm for web caches. NSDI 2024, section 3, algorithm 1.
//!
//! Rules. A list (head = newest), a bit `visited` per page, a hand. Hit: `visited` is set. Miss:
//! from the hand, or from the tail if there is none, while the page under the hand is visited, its
//! bit is cleared and the hand steps towards the head, from the head to the tail; the page where
//! it stops is evicted; the hand is then the next page towards the head, or none if the victim was
//! the head. The new page comes in at the head, not visited.
//!
//! State. The list is kept as two FIFOs, since pages come in only at the head and leave only under
//! the hand: what the hand has passed on its way, and what lies before it.
//!
//! ```text
//!     tail ─▶ 1 3 4  ▲  7 8 9 ◀─ head
//!             passed hand  ahead
//! ```
//!
//! Cost. O(1) amortised; a byte per page and a word per frame.

use crate::fifos::take;
use crate::info::MultiSize;
use crate::{Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Slot, Table,
};
use std::collections::VecDeque;
use std::mem::swap;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "sieve",
    title: "SIEVE",
    source: "Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024",
    about: "CLOCK without moving survivors: the hand sifts old pages from new ones.",
    time: "O(1) amortised",
    multi_size: Some(MultiSize::SteadyHand),
    ..Info::BLANK
};

/// The mark of a page: it was hit since the hand last passed it.
const VISITED: u8 = 1;

/// The policy.
pub struct Sieve<D> {
    pages: Table<D, Brief>, // every resident page; mark = visited
    passed: VecDeque<Slot>, // pages on the tail's side of the hand, from the tail on
    ahead: VecDeque<Slot>,  // the hand's page, and those from it to the head
    frames: u32,
}

impl<D: Directory> Sieve<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Sieve {
            pages: Table::new(directory),
            passed: VecDeque::new(),
            ahead: VecDeque::new(),
            frames: setup.frames,
        }
    }

    /// Pages from tail to head.
    fn iter(&self) -> impl DoubleEndedIterator<Item = Slot> {
        self.passed.iter().chain(&self.ahead).copied()
    }
}

impl<D: Directory> Policy for Sieve<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let page = &mut self.pages[slot];
        page.access(r.op.is_write());
        page.set_mark(VISITED);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = loop {
            let slot = self.ahead.pop_front().expect("the hand is on a page of a full buffer");
            let page = &mut self.pages[slot];
            let visited = page.mark() == VISITED;
            if visited {
                page.set_mark(0);
                self.passed.push_back(slot);
            }
            if self.ahead.is_empty() {
                swap(&mut self.ahead, &mut self.passed); // from the head to the tail
            }
            if !visited {
                break slot;
            }
        };
        let dirty = self.pages[victim].dirty();
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page, Brief::new(r.op.is_write(), 0));
        self.ahead.push_back(slot);
        slot
    }

    counted! { self: (self.passed.len() + self.ahead.len()) as u32, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.iter() {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        if !take(&mut self.ahead, slot) {
            take(&mut self.passed, slot);
        }
        if self.ahead.is_empty() {
            swap(&mut self.ahead, &mut self.passed); // the hand goes from the head to the tail
        }
        self.pages.remove(slot);
        Some(dirty)
    }

    shows! {
        self.pages;
        "queue" => self.iter().rev(),
        "visited" => self.iter().rev().filter(|&slot| self.pages[slot].mark() == VISITED)
    }

    hints! { self.pages: prefetch }

    fn check(&self) {
        assert!(self.resident() <= self.frames);
        assert!(self.passed.is_empty() || !self.ahead.is_empty(), "the hand is on a page");
        for slot in self.iter() {
            let found = self.pages.find(self.pages.page(slot));
            assert_eq!(found, Some(slot), "a page of the list is resident");
            assert!(self.pages[slot].mark() <= VISITED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, victims};
    use destage_core::Dense;

    fn list(sieve: &Sieve<Dense>) -> Vec<u32> {
        let mut list: Vec<u32> = sieve.iter().map(|s| s.0).collect();
        list.reverse(); // head first, as in the paper
        list
    }

    #[test]
    fn a_survivor_stays_where_it_is_and_the_hand_goes_on_from_there() {
        let mut sieve = Sieve::new(&Setup::new(3), Dense::new(6));
        let steps = drive(&mut sieve, &reads(&[1, 2, 3, 1, 4, 2, 5]));
        assert_eq!(victims(&steps), [2, 3, 4]);
        assert_eq!(list(&sieve), [5, 2, 1]);
    }

    #[test]
    fn the_hand_goes_from_the_head_to_the_tail() {
        let mut sieve = Sieve::new(&Setup::new(3), Dense::new(6));
        let steps = drive(&mut sieve, &reads(&[1, 2, 3, 3, 2, 1, 4]));
        assert_eq!(victims(&steps), [1], "all were visited, so the tail goes on the second round");
        assert_eq!(list(&sieve), [4, 3, 2]);
    }

    #[test]
    fn after_the_head_was_evicted_the_hand_starts_at_the_tail() {
        let mut sieve = Sieve::new(&Setup::new(2), Dense::new(6));
        // 3 evicts 2, the head, since 1 is visited; then the hand is none.
        let steps = drive(&mut sieve, &reads(&[1, 2, 1, 3, 4]));
        assert_eq!(victims(&steps), [2, 1]);
    }
}
