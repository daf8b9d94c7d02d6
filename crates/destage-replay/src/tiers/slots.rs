//! The slots of tier 2 on the simulated SSD behind it, and what is done there, in order
//! (`docs/spec/tiers.md` 6).
//!
//! No decision depends on the device. So the operations of an access are noted while it is decided
//! and submitted afterwards, all at the same instant.
//!
//! A page of the trace that is larger than a page of the device takes several in a row; the
//! specification has one.

use super::events::{Leaving, TierDecision, TierEvents};
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
    /// A victim of tier 2, or a page that is cleaned, is read from its slot, on its way to what
    /// lies below.
    ReadVictim(u32),
    /// A page is written to its slot; dirty if it is the victim of an access.
    Write(u32, bool),
    /// A page has left its slot, and the host trims it.
    Trim(u32),
    /// A page is read from this store.
    StoreRead(Store, Page),
    /// A dirty victim of tier 1 is written to this store.
    StoreWrite(Store, Page),
    /// A page that nothing waits for is written to the backing store, a disk.
    BackingWrite(Page),
    /// The same, of the page of tier 2 that was read last: once it has been.
    VictimWrite(Page),
}

/// A store below the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Store {
    /// Tier 3.
    Tier3,
    /// The backing store.
    Backing,
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
    has_disk: bool,
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
            has_disk: false,
            pages_per_slot,
            operations: Vec::new(),
            decision: TierDecision::default(),
        }
    }

    /// The backing store is a disk: it serves pages that nothing waits for, too.
    pub fn over_a_disk(&mut self) {
        self.has_disk = true;
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

    /// A page is written to its slot; without one, to tier 3.
    fn write(&mut self, slot: Option<u32>, leaving: Leaving) {
        match slot {
            Some(slot) => self.operations.push(SlotOperation::Write(slot, leaving.is_awaited)),
            None => self.written_below(Store::Tier3, leaving),
        }
    }

    /// A page is written below the device; nothing waits for one that was not in tier 1.
    fn written_below(&mut self, store: Store, leaving: Leaving) {
        if leaving.is_awaited {
            self.operations.push(SlotOperation::StoreWrite(store, leaving.page));
        } else if self.has_disk && store == Store::Backing {
            self.operations.push(SlotOperation::BackingWrite(leaving.page));
        }
    }

    /// A victim of tier 2 is read. If it goes to a disk, which was the last that was noted, it goes
    /// there afterwards.
    fn read_victim(&mut self, page: Page) {
        let is_next = self.operations.last() == Some(&SlotOperation::BackingWrite(page));
        if is_next {
            self.operations.pop();
        }
        self.operations.push(SlotOperation::ReadVictim(self.of(page)));
        if is_next {
            self.operations.push(SlotOperation::VictimWrite(page));
        }
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
    fn found(&mut self, tier: u8, page: Page) {
        let read = match tier {
            2 => SlotOperation::Read(self.of(page)),
            _ => SlotOperation::StoreRead(Store::Tier3, page),
        };
        self.operations.push(read);
        self.decision.found(tier, page);
    }

    fn backing_read(&mut self, page: Page) {
        self.operations.push(SlotOperation::StoreRead(Store::Backing, page));
        self.decision.backing_read(page);
    }

    fn admitted(&mut self, tier: u8, leaving: Leaving) {
        let slot = (tier == 2).then(|| self.take(leaving.page));
        self.write(slot, leaving);
        self.decision.admitted(tier, leaving);
    }

    fn written_over(&mut self, tier: u8, leaving: Leaving) {
        let slot = (tier == 2).then(|| self.of(leaving.page));
        self.write(slot, leaving);
        self.decision.written_over(tier, leaving);
    }

    fn evicted(&mut self, tier: u8, page: Page, is_read: bool) {
        if tier == 2 {
            if is_read {
                self.read_victim(page);
            }
            self.leave(page);
        }
        self.decision.evicted(tier, page, is_read);
    }

    fn dropped(&mut self, tier: u8, page: Page) {
        if tier == 2 {
            self.leave(page);
        }
        self.decision.dropped(tier, page);
    }

    fn cleaned(&mut self, page: Page) {
        self.operations.push(SlotOperation::ReadVictim(self.of(page)));
        if self.has_disk {
            self.operations.push(SlotOperation::VictimWrite(page));
        }
        self.decision.cleaned(page);
    }

    fn backing_write(&mut self, leaving: Leaving) {
        self.written_below(Store::Backing, leaving);
        self.decision.backing_write(leaving);
    }
}

#[cfg(test)]
mod tests {
    use super::SlotOperation::{
        BackingWrite, ReadVictim, StoreRead, StoreWrite, Trim, VictimWrite, Write,
    };
    use super::*;

    fn leaving(page: u64, dirty: bool) -> Leaving {
        Leaving { page: Page(page), dirty, is_awaited: dirty }
    }

    #[test]
    fn a_page_takes_the_lowest_free_slot_and_a_victim_is_read_and_trimmed_first() {
        let mut slots = Slots::new(4, 1, true);
        for page in 0..3 {
            slots.admitted(2, leaving(page, false));
        }
        slots.dropped(2, Page(0));
        slots.evicted(2, Page(1), true);
        slots.admitted(2, leaving(3, true));
        slots.admitted(2, leaving(1, false));
        let done = [Trim(0), ReadVictim(1), Trim(1), Write(0, true), Write(1, false)];
        assert_eq!(slots.operations[3..], done);
    }

    #[test]
    fn without_trims_a_slot_is_left_as_it_is() {
        let mut slots = Slots::new(1, 3, false);
        slots.admitted(2, leaving(0, false));
        slots.dropped(2, Page(0));
        assert_eq!(slots.operations, [Write(0, false)]);
        assert_eq!(slots.pages_of(2), 6..9);
    }
    #[test]
    fn tier_3_has_no_slots_and_only_victims_of_tier_1_wait_for_it() {
        let mut slots = Slots::new(2, 1, true);
        slots.found(3, Page(0));
        slots.admitted(3, leaving(0, true));
        slots.admitted(3, Leaving { is_awaited: false, ..leaving(1, true) });
        slots.evicted(3, Page(0), true);
        slots.dropped(3, Page(1));
        slots.backing_write(leaving(0, true));
        let done = [
            StoreRead(Store::Tier3, Page(0)),
            StoreWrite(Store::Tier3, Page(0)),
            StoreWrite(Store::Backing, Page(0)),
        ];
        assert_eq!(slots.operations, done);
    }

    #[test]
    fn a_disk_gets_each_page_and_a_victim_of_tier_2_once_it_is_read() {
        let unawaited = |page| Leaving { is_awaited: false, ..leaving(page, true) };
        for has_disk in [false, true] {
            let mut slots = Slots::new(2, 1, false);
            if has_disk {
                slots.over_a_disk();
            }
            slots.admitted(2, leaving(0, true));
            slots.backing_write(unawaited(1)); // a victim of tier 3
            slots.backing_write(unawaited(0));
            slots.evicted(2, Page(0), true);
            let expected: &[SlotOperation] = match has_disk {
                true => &[BackingWrite(Page(1)), ReadVictim(0), VictimWrite(Page(0))],
                false => &[ReadVictim(0)],
            };
            assert_eq!(&slots.operations[1..], expected);
        }
    }
}
