//! The slots of tier 2 on the simulated SSD behind it, and what is done there, in order
//! (`docs/spec/tiers.md` 6).
//!
//! No decision depends on the device. So the operations of an access are noted while it is decided
//! and submitted afterwards, all at the same instant.
//!
//! A page of the trace that is larger than a page of the device takes several in a row; the
//! specification has one.

use super::events::{TierDecision, TierEvents};
use destage_core::Page;
use destage_ssd::DriveLpn;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// An operation below tier 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotOperation {
    /// A tier-2 hit is read from its slot.
    Read(u32),
    /// A dirty victim of tier 2 is read from its slot, on its way to the backing store.
    ReadVictim(u32),
    /// A page is written to its slot; dirty if it is the victim of an access.
    Write(u32, bool),
    /// A page has left its slot, and the host trims it.
    Trim(u32),
    /// A page is read from the backing store.
    BackingRead,
    /// A declined dirty page is written to the backing store.
    BackingWrite,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// Slots, and the operations of the access that is being decided.
#[derive(Debug)]
pub struct Slots {
    of_page: Vec<u32>,                  // by page
    released: BinaryHeap<Reverse<u32>>, // below `unused`
    unused: u32,                        // from here on no slot was ever taken
    trims: bool,
    pages_per_slot: u32,
    /// Flash operations, in order.
    pub operations: Vec<SlotOperation>,
    /// Decision below tier 1, for observers.
    pub decision: TierDecision,
}

impl Slots {
    /// Free slots, for so many pages of a trace; `trims` if the host trims a slot that is left.
    pub fn new(pages: usize, pages_per_slot: u32, trims: bool) -> Self {
        Slots {
            of_page: vec![NONE; pages],
            released: BinaryHeap::new(),
            unused: 0,
            trims,
            pages_per_slot,
            operations: Vec::new(),
            decision: TierDecision::default(),
        }
    }

    /// Pages of the device that a slot takes.
    pub fn pages_of(&self, slot: u32) -> Range<u32> {
        slot * self.pages_per_slot..(slot + 1) * self.pages_per_slot
    }

    /// First logical page of a slot.
    pub fn first_page(&self, slot: u32) -> DriveLpn {
        DriveLpn(slot * self.pages_per_slot)
    }

    fn of(&self, page: Page) -> u32 {
        self.of_page[page.0 as usize]
    }

    /// The page takes the free slot with the lowest number.
    fn take(&mut self, page: Page) -> u32 {
        let slot = match self.released.pop() {
            Some(Reverse(slot)) => slot,
            None => {
                self.unused += 1;
                self.unused - 1
            }
        };
        self.of_page[page.0 as usize] = slot;
        slot
    }

    /// The page leaves its slot.
    fn leave(&mut self, page: Page) {
        let slot = std::mem::replace(&mut self.of_page[page.0 as usize], NONE);
        self.released.push(Reverse(slot));
        if self.trims {
            self.operations.push(SlotOperation::Trim(slot));
        }
    }
}

impl TierEvents for Slots {
    fn found(&mut self, page: Page) {
        self.operations.push(SlotOperation::Read(self.of(page)));
        self.decision.found(page);
    }

    fn backing_read(&mut self, page: Page) {
        self.operations.push(SlotOperation::BackingRead);
        self.decision.backing_read(page);
    }

    fn admitted(&mut self, page: Page, dirty: bool) {
        let slot = self.take(page);
        self.operations.push(SlotOperation::Write(slot, dirty));
        self.decision.admitted(page, dirty);
    }

    fn written_over(&mut self, page: Page) {
        self.operations.push(SlotOperation::Write(self.of(page), true));
        self.decision.written_over(page);
    }

    fn evicted(&mut self, page: Page, dirty: bool) {
        if dirty {
            self.operations.push(SlotOperation::ReadVictim(self.of(page)));
        }
        self.leave(page);
        self.decision.evicted(page, dirty);
    }

    fn dropped(&mut self, page: Page) {
        self.leave(page);
        self.decision.dropped(page);
    }

    fn declined(&mut self, page: Page) {
        self.operations.push(SlotOperation::BackingWrite);
        self.decision.declined(page);
    }
}

#[cfg(test)]
mod tests {
    use super::SlotOperation::{ReadVictim, Trim, Write};
    use super::*;

    #[test]
    fn a_page_takes_the_lowest_free_slot_and_a_victim_is_read_and_trimmed_first() {
        let mut slots = Slots::new(4, 1, true);
        for page in 0..3 {
            slots.admitted(Page(page), false);
        }
        slots.dropped(Page(0));
        slots.evicted(Page(1), true);
        slots.admitted(Page(3), true);
        slots.admitted(Page(1), false);
        let done = [Trim(0), ReadVictim(1), Trim(1), Write(0, true), Write(1, false)];
        assert_eq!(slots.operations[3..], done);
    }

    #[test]
    fn without_trims_a_slot_is_left_as_it_is() {
        let mut slots = Slots::new(1, 3, false);
        slots.admitted(Page(0), false);
        slots.dropped(Page(0));
        assert_eq!(slots.operations, [Write(0, false)]);
        assert_eq!(slots.pages_of(2), 6..9);
    }
}
