//! A queue in an array, from which an entry may be taken in the middle: pages that move through
//! memory in the order of their arrival. MQ's queues, and CFDC's lists.
//!
//! ```text
//!   oldest ─▶ 7  ·  4  9  ·  1  2 ◀─ newest      (· taken from the middle by a hit)
//!   expiry   20 21 21 23 24 24 26                never less than that of an older entry
//! ```
//!
//! Both ends are read and written in order, so the oldest entry, its expiry and which entries come
//! after it are known without a look at any page, and a hit touches one word. In a linked list each
//! of these is a page's node, and cold. Unlike [`Queue`](destage_core::Queue) it leaves to its user
//! where an entry's place is kept: best in what is touched with it anyway.

use destage_core::pages::prefetch;
use destage_core::{NEVER, huge};

/// How far ahead of its turn an entry is named, so that what belongs to it can be brought near.
const SOON: u32 = 8;

/// Stands for an entry that was taken from the middle.
const HOLE: u32 = u32::MAX;

/// A queue of numbers of pages or frames. All operations are O(1) amortised, but `iter`.
///
/// An entry's place is counted over all pushes, modulo 2^32; the user keeps it for the queue.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    entries: Vec<u32>,          // or HOLE; a power of two long, or empty
    expiries: Option<Vec<u64>>, // of the entries; None: they do not expire
    oldest: u32,                // place of the oldest entry
    end: u32,                   // one past that of the newest
    len: u32,                   // holes not counted
}

impl Ring {
    /// Empty; grows with what it holds.
    pub(crate) fn new() -> Self {
        Ring { entries: Vec::new(), expiries: None, oldest: 0, end: 0, len: 0 }
    }

    /// The same, for entries that expire.
    pub(crate) fn with_expiries() -> Self {
        Ring { expiries: Some(Vec::new()), ..Ring::new() }
    }

    /// Number of entries, holes not counted.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Nothing is in it.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn at(&self, place: u32) -> usize {
        place as usize & self.entries.len().wrapping_sub(1)
    }

    #[inline(always)]
    fn expiry(&self, at: usize) -> u64 {
        self.expiries.as_ref().map_or(NEVER, |expiries| expiries[at])
    }

    /// Puts an entry at the newest end; its place. `moved` is told the new places of others.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: u32, moved: impl FnMut(u32, u32)) -> u32 {
        if self.end.wrapping_sub(self.oldest) as usize == self.entries.len() {
            self.make_room(moved);
        }
        let place = self.end;
        let at = self.at(place);
        self.entries[at] = entry;
        self.end = place.wrapping_add(1);
        self.len += 1;
        place
    }

    /// The same with an expiry, which counts where the queue has them.
    #[inline(always)]
    pub(crate) fn push_until(
        &mut self,
        entry: u32,
        expiry: u64,
        moved: impl FnMut(u32, u32),
    ) -> u32 {
        let place = self.push(entry, moved);
        let at = self.at(place);
        if let Some(expiries) = &mut self.expiries {
            expiries[at] = expiry;
        }
        place
    }

    /// Takes the entry at this place out.
    #[inline(always)]
    pub(crate) fn take(&mut self, place: u32) {
        let at = self.at(place);
        debug_assert_ne!(self.entries[at], HOLE, "an entry is at this place");
        self.entries[at] = HOLE;
        self.len -= 1;
    }

    /// The oldest entry and its expiry; `soon` as with [`pop`](Ring::pop).
    #[inline(always)]
    pub(crate) fn oldest(&mut self, mut soon: impl FnMut(u32)) -> Option<(u32, u64)> {
        while self.len > 0 {
            let at = self.at(self.oldest);
            if self.entries[at] != HOLE {
                return Some((self.entries[at], self.expiry(at)));
            }
            self.step(&mut soon);
        }
        None
    }

    /// Takes the oldest entry out. `soon` is told each entry whose turn comes in [`SOON`] steps,
    /// for a prefetch; of a hole it is told `u32::MAX`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, mut soon: impl FnMut(u32)) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        loop {
            let entry = self.step(&mut soon);
            if entry != HOLE {
                return Some(entry);
            }
        }
    }

    /// Goes past the oldest place.
    #[inline(always)]
    fn step(&mut self, soon: &mut impl FnMut(u32)) -> u32 {
        soon(self.entries[self.at(self.oldest.wrapping_add(SOON))]);
        let entry = self.entries[self.at(self.oldest)];
        self.oldest = self.oldest.wrapping_add(1);
        entry
    }

    /// No entry expires before this: the expiry of the oldest entry, be it a hole.
    #[inline(always)]
    pub(crate) fn due(&self) -> u64 {
        if self.len == 0 { NEVER } else { self.expiry(self.at(self.oldest)) }
    }

    /// Prefetches what [`take`](Ring::take) touches.
    #[inline(always)]
    pub(crate) fn warm(&self, place: u32) {
        prefetch(&self.entries, self.at(place));
    }

    /// Squeezes the holes out, into a ring at least four times as long as what it holds: the next
    /// squeeze comes after three times as many pushes as this one moves pages.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, mut moved: impl FnMut(u32, u32)) {
        let room = (4 * self.len as usize).next_power_of_two().max(64);
        assert!(room <= 1 << 31, "a queue holds at most 2^29 pages");
        let (mut entries, mut expiries) = (huge::room(room), Vec::new());
        for (place, at) in (0..).zip(self.live()) {
            entries.push(self.entries[at]);
            if self.expiries.is_some() {
                expiries.push(self.expiry(at));
            }
            moved(self.entries[at], place);
        }
        entries.resize(room, HOLE);
        if let Some(before) = &mut self.expiries {
            expiries.resize(room, NEVER);
            *before = expiries;
        }
        (self.entries, self.oldest, self.end) = (entries, 0, self.len);
    }

    /// Where the entries are, from the oldest on.
    fn live(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.end.wrapping_sub(self.oldest))
            .map(|i| self.at(self.oldest.wrapping_add(i)))
            .filter(|&at| self.entries[at] != HOLE)
    }

    /// All entries, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.live().map(|at| self.entries[at])
    }

    /// All entries with their expiries, oldest first.
    pub(crate) fn expiring(&self) -> impl Iterator<Item = (u32, u64)> {
        self.live().map(|at| (self.entries[at], self.expiry(at)))
    }

    /// Asserts that every entry's place is known, that the length is true, and that none expires
    /// before an older one.
    pub(crate) fn check(&self, place_of: impl Fn(u32) -> u32) {
        for entry in self.iter() {
            assert_eq!(self.entries[self.at(place_of(entry))], entry, "an entry's place is known");
        }
        assert_eq!(self.iter().count(), self.len as usize, "a queue knows its length");
        let expiries = self.expiring().map(|(_, expiry)| expiry);
        assert!(expiries.is_sorted(), "an older entry expires first");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_in_the_order_they_came_but_for_those_taken_from_the_middle() {
        let mut ring = Ring::with_expiries();
        let places: Vec<u32> =
            (0..4).map(|i| ring.push_until(i, 10 + u64::from(i), |_, _| ())).collect();
        ring.take(places[0]);
        ring.take(places[2]);
        assert_eq!(ring.due(), 10, "a hole's expiry is a bound as good as any");
        assert_eq!(ring.oldest(|_| ()), Some((1, 11)));
        ring.check(|slot| places[slot as usize]);
        assert_eq!(
            (ring.pop(|_| ()), ring.pop(|_| ()), ring.pop(|_| ())),
            (Some(1), Some(3), None)
        );
        assert_eq!((ring.due(), ring.is_empty()), (NEVER, true));
    }

    #[test]
    fn holes_are_squeezed_out_and_order_and_expiries_are_kept() {
        let mut places = vec![0; 1000];
        let mut ring = Ring::with_expiries();
        let put = |ring: &mut Ring, places: &mut Vec<u32>, slot: u32, expiry| {
            let place = ring.push_until(slot, expiry, |slot, place| places[slot as usize] = place);
            places[slot as usize] = place;
        };
        put(&mut ring, &mut places, 999, 5); // stays while all others come and go
        for slot in 0..900 {
            put(&mut ring, &mut places, slot, 6 + u64::from(slot));
            if slot >= 10 {
                ring.take(places[slot as usize - 10]);
            }
            ring.check(|slot| places[slot as usize]);
        }
        assert!(ring.entries.len() <= 64, "eleven pages at a time need no long ring");
        assert_eq!((ring.oldest(|_| ()), ring.pop(|_| ())), (Some((999, 5)), Some(999)));
        assert_eq!(ring.oldest(|_| ()), Some((890, 896)));
    }
}
