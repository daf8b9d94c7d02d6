//! One of MQ's queues: pages that move through memory in the order of their arrival.
//!
//! ```text
//!   oldest ─▶ 7  ·  4  9  ·  1  2 ◀─ newest      (· taken from the middle by a hit)
//!   expiry   20 21 21 23 24 24 26                never less than that of an older entry
//! ```
//!
//! Both ends are read and written in order, so the oldest page, its expiry and which pages come
//! after it are known without a look at any page, and a hit touches one word. In a linked list each
//! of these is a page's node, and cold.

use destage_core::pages::prefetch;
use destage_core::{NEVER, Slot, huge};

/// Stands for a page that was taken from the middle.
const HOLE: u32 = u32::MAX;

/// A queue of pages. All operations are O(1) amortised, but `iter`.
///
/// A page's place is counted over all pushes, modulo 2^32; the page keeps it for the queue.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    slots: Vec<u32>,            // or HOLE; a power of two long, or empty
    expiries: Option<Vec<u64>>, // of the entries; None: no page of this queue expires
    oldest: u32,                // place of the oldest entry
    end: u32,                   // one past that of the newest
    len: u32,                   // holes not counted
}

impl Ring {
    /// Empty; grows with what it holds.
    pub(super) fn new(pages_expire: bool) -> Self {
        let expiries = pages_expire.then(Vec::new);
        Ring { slots: Vec::new(), expiries, oldest: 0, end: 0, len: 0 }
    }

    /// Number of pages.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// No page is in it.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn at(&self, place: u32) -> usize {
        place as usize & self.slots.len().wrapping_sub(1)
    }

    #[inline(always)]
    fn expiry(&self, at: usize) -> u64 {
        self.expiries.as_ref().map_or(NEVER, |expiries| expiries[at])
    }

    /// Puts a page at the newest end; its place. `moved` is told the new places of other pages.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: Slot, expiry: u64, moved: impl FnMut(Slot, u32)) -> u32 {
        if self.end.wrapping_sub(self.oldest) as usize == self.slots.len() {
            self.make_room(moved);
        }
        let place = self.end;
        let at = self.at(place);
        self.slots[at] = slot.0;
        if let Some(expiries) = &mut self.expiries {
            expiries[at] = expiry;
        }
        self.end = place.wrapping_add(1);
        self.len += 1;
        place
    }

    /// Takes the page at this place out.
    #[inline(always)]
    pub(super) fn take(&mut self, place: u32) {
        let at = self.at(place);
        debug_assert_ne!(self.slots[at], HOLE, "a page is at this place");
        self.slots[at] = HOLE;
        self.len -= 1;
    }

    /// The oldest page and its expiry.
    #[inline(always)]
    pub(super) fn oldest(&mut self) -> Option<(Slot, u64)> {
        while self.len > 0 {
            let at = self.at(self.oldest);
            if self.slots[at] != HOLE {
                return Some((Slot(self.slots[at]), self.expiry(at)));
            }
            self.oldest = self.oldest.wrapping_add(1);
        }
        None
    }

    /// Takes the oldest page out.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Slot> {
        let (slot, _) = self.oldest()?;
        self.oldest = self.oldest.wrapping_add(1);
        self.len -= 1;
        Some(slot)
    }

    /// No page expires before this: the expiry of the oldest entry, be it a hole.
    #[inline(always)]
    pub(super) fn due(&self) -> u64 {
        if self.len == 0 { NEVER } else { self.expiry(self.at(self.oldest)) }
    }

    /// A page that will be popped some pops from now, for a prefetch: exact where no hole is before
    /// it, otherwise one that comes sooner, or none.
    #[inline(always)]
    pub(super) fn ahead(&self, pops: u32) -> Slot {
        let at = self.at(self.oldest.wrapping_add(pops));
        Slot(self.slots.get(at).copied().unwrap_or(HOLE))
    }

    /// Prefetches what [`take`](Ring::take) touches.
    #[inline(always)]
    pub(super) fn warm(&self, place: u32) {
        prefetch(&self.slots, self.at(place));
    }

    /// Squeezes the holes out, into a ring at least four times as long as what it holds: the next
    /// squeeze comes after three times as many pushes as this one moves pages.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, mut moved: impl FnMut(Slot, u32)) {
        let room = (4 * self.len as usize).next_power_of_two().max(64);
        assert!(room <= 1 << 31, "a queue holds at most 2^29 pages");
        let (mut slots, mut expiries) = (huge::room(room), Vec::new());
        for (place, (slot, expiry)) in (0..).zip(self.iter()) {
            slots.push(slot.0);
            if self.expiries.is_some() {
                expiries.push(expiry);
            }
            moved(slot, place);
        }
        slots.resize(room, HOLE);
        if let Some(before) = &mut self.expiries {
            expiries.resize(room, NEVER);
            *before = expiries;
        }
        (self.slots, self.oldest, self.end) = (slots, 0, self.len);
    }

    /// All pages with their expiries, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, u64)> {
        (0..self.end.wrapping_sub(self.oldest))
            .map(|i| self.at(self.oldest.wrapping_add(i)))
            .filter(|&at| self.slots[at] != HOLE)
            .map(|at| (Slot(self.slots[at]), self.expiry(at)))
    }

    /// Asserts that every page knows its place, that the length is true, and that no page expires
    /// before an older one.
    pub(super) fn check(&self, place_of: impl Fn(Slot) -> u32) {
        for (slot, _) in self.iter() {
            assert_eq!(self.slots[self.at(place_of(slot))], slot.0, "a page knows its place");
        }
        assert_eq!(self.iter().count(), self.len as usize, "a queue knows its length");
        assert!(self.iter().map(|(_, expiry)| expiry).is_sorted(), "an older page expires first");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_in_the_order_they_came_but_for_those_taken_from_the_middle() {
        let mut ring = Ring::new(true);
        let places: Vec<u32> =
            (0..4).map(|i| ring.push(Slot(i), 10 + u64::from(i), |_, _| ())).collect();
        ring.take(places[0]);
        ring.take(places[2]);
        assert_eq!(ring.due(), 10, "a hole's expiry is a bound as good as any");
        assert_eq!(ring.oldest(), Some((Slot(1), 11)));
        ring.check(|slot| places[slot.index()]);
        assert_eq!((ring.pop(), ring.pop(), ring.pop()), (Some(Slot(1)), Some(Slot(3)), None));
        assert_eq!((ring.due(), ring.is_empty()), (NEVER, true));
    }

    #[test]
    fn holes_are_squeezed_out_and_order_and_expiries_are_kept() {
        let mut places = vec![0; 1000];
        let mut ring = Ring::new(true);
        let put = |ring: &mut Ring, places: &mut Vec<u32>, slot: u32, expiry| {
            let place = ring.push(Slot(slot), expiry, |slot, place| places[slot.index()] = place);
            places[slot as usize] = place;
        };
        put(&mut ring, &mut places, 999, 5); // stays while all others come and go
        for slot in 0..900 {
            put(&mut ring, &mut places, slot, 6 + u64::from(slot));
            if slot >= 10 {
                ring.take(places[slot as usize - 10]);
            }
            ring.check(|slot| places[slot.index()]);
        }
        assert!(ring.slots.len() <= 64, "eleven pages at a time need no long ring");
        assert_eq!((ring.oldest(), ring.pop()), (Some((Slot(999), 5)), Some(Slot(999))));
        assert_eq!(ring.oldest(), Some((Slot(890), 896)));
    }
}
