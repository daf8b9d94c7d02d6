//! CLOCK: LRU's effect without moving pages on a hit.
//!
//! Corbato, A paging experiment with the Multics system, MIT, 1968; described in SAC, section 2.1.
//!
//! Rules. A list of all pages, each with a bit `ref`. Hit: `ref` is set. Miss: the page at the
//! tail, while its `ref` is set, loses it and moves to the head; the first tail page without it is
//! evicted. The new page comes in at the head, `ref` clear.
//!
//! ```text
//!            hand
//!             ▼
//!     6  7  8 1  2  3  4  5       ring: the hand stands at the tail, the head is left of it;
//!     0  1  0 1  0  1  1  0       passing a page moves it from the tail to the head
//! ```
//!
//! Readings. A page comes in unreferenced: SAC says that a *hit* marks a page as reused.
//!
//! Cost. O(1) amortised; a byte per page and a word per frame.

use crate::info::{INTERVAL_FRAMES, MultiSize};
use crate::{Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Slot, Table,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "clock",
    title: "CLOCK, second chance",
    source: "Corbato, MIT Project MAC, 1968",
    about: "Evict the oldest page that was not hit since the hand last passed it.",
    time: "O(1) amortised",
    interval_frames: INTERVAL_FRAMES,
    multi_size: Some(MultiSize::SecondChance),
    ..Info::BLANK
};

/// The mark of a page: its reference bit.
const REF: u8 = 1;

/// The policy.
pub struct Clock<D> {
    pages: Table<D, Brief>, // every resident page; mark = ref
    ring: Vec<Slot>,        // one page a frame; the frame under the hand may be free
    hand: usize,            // at the tail; the head is just behind it
    resident: u32,
    frames: u32,
}

impl<D: Directory> Clock<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Clock {
            pages: Table::new(directory),
            ring: Vec::new(),
            hand: 0,
            resident: 0,
            frames: setup.frames,
        }
    }

    /// The frame after this one.
    #[inline(always)]
    fn next(&self, frame: usize) -> usize {
        if frame + 1 == self.ring.len() { 0 } else { frame + 1 }
    }

    /// A page comes into a frame that is not in the ring: just behind the hand, which is the end of
    /// the ring until the first eviction.
    #[inline(always)]
    fn join(&mut self, slot: Slot) {
        if self.hand == 0 {
            self.ring.push(slot);
        } else {
            self.ring.insert(self.hand, slot);
            self.hand += 1;
        }
    }

    /// Pages from tail to head.
    fn iter(&self) -> impl Iterator<Item = Slot> {
        let (behind, ahead) = self.ring.split_at(self.hand);
        // A free frame is the one under the hand.
        let free = self.ring.len() - self.resident as usize;
        ahead.iter().skip(free).chain(behind).copied()
    }
}

impl<D: Directory> Policy for Clock<D> {
    type Miss = ();

    const ORDERED: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let page = &mut self.pages[slot];
        page.access(r.op.is_write());
        page.set_mark(REF);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = loop {
            let tail = self.ring[self.hand];
            if self.pages[tail].mark() != REF {
                break tail;
            }
            self.pages[tail].set_mark(0);
            self.hand = self.next(self.hand);
        };
        self.resident -= 1;
        let dirty = self.pages[victim].dirty();
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page, Brief::new(r.op.is_write(), 0));
        if self.resident as usize == self.ring.len() {
            self.join(slot);
        } else {
            self.ring[self.hand] = slot; // the frame that the eviction left under the hand
            self.hand = self.next(self.hand);
        }
        self.resident += 1;
        slot
    }

    counted! { self: self.resident, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.iter() {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    /// In its first round the hand takes the pages that it does not pass, in its second the others.
    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        let round = |mark| self.iter().filter(move |&slot| self.pages[slot].mark() == mark);
        let mut order = round(0).chain(round(REF));
        order.all(|slot| show(self.pages.page(slot), self.pages[slot].dirty()));
    }

    fn cleaned(&mut self, page: Page) {
        let slot = self.pages.find(page).expect("a page that is cleaned is resident");
        self.pages[slot].clean();
    }

    /// Walks to the page in the ring.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        let place = self.ring.iter().position(|&other| other == slot);
        let place = place.expect("a resident page is in the ring");
        self.ring.remove(place);
        self.hand -= usize::from(place < self.hand);
        if self.hand == self.ring.len() {
            self.hand = 0; // on to the frame after the one that is gone
        }
        self.pages.remove(slot);
        self.resident -= 1;
        Some(dirty)
    }

    shows! {
        self.pages;
        "ring" => self.iter(),
        "referenced" => self.iter().filter(|&slot| self.pages[slot].mark() == REF)
    }

    hints! { self.pages: prefetch }

    fn check(&self) {
        assert!(self.resident <= self.frames);
        assert!(
            self.ring.len() - self.resident as usize <= 1,
            "at most one frame of the ring free"
        );
        for slot in self.iter() {
            let found = self.pages.find(self.pages.page(slot));
            assert_eq!(found, Some(slot), "a page of the ring is resident");
            assert!(self.pages[slot].mark() <= REF);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, victims};
    use destage_core::{Dense, Op::*};

    #[test]
    fn a_page_that_was_hit_is_passed_once() {
        let mut clock = Clock::new(&Setup::new(3), Dense::new(6));
        let steps = drive(
            &mut clock,
            &[(Read, 1), (Write, 2), (Read, 3), (Read, 1), (Write, 4), (Read, 2), (Read, 5)],
        );
        assert_eq!(steps[4].evicted, [(2, true)]);
        assert_eq!(victims(&steps), [2, 3, 1]);
        assert_eq!(clock.iter().map(|s| s.0).collect::<Vec<_>>(), [4, 2, 5]);
    }

    #[test]
    fn with_all_pages_hit_the_oldest_goes() {
        let mut clock = Clock::new(&Setup::new(3), Dense::new(6));
        let steps = drive(&mut clock, &reads(&[1, 2, 3, 3, 2, 1, 4]));
        assert_eq!(victims(&steps), [1]);
    }

    #[test]
    fn a_page_comes_in_unreferenced() {
        let mut clock = Clock::new(&Setup::new(2), Dense::new(6));
        assert_eq!(victims(&drive(&mut clock, &reads(&[1, 2, 1, 3, 4]))), [2, 1]);
    }
}
