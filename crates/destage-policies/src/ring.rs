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

use destage_core::NEVER;
use destage_core::pages::prefetch;

/// Pops between the naming of an entry (`prefetch`) and its turn.
const SOON: u32 = 8;

/// Stands for an entry that was taken from the middle.
const HOLE: u32 = u32::MAX;

/// Places that a ring starts with.
const FIRST: usize = 64;

/// A queue of numbers of pages or frames. All operations are O(1) amortised, but `iter`.
///
/// An entry's place is counted over all pushes, modulo 2^32; the user keeps it for the queue.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    entries: Vec<u32>,  // or HOLE; a power of two long
    expiries: Vec<u64>, // of the entries; empty where they do not expire
    oldest: u32,        // place of the oldest entry
    end: u32,           // one past that of the newest
    len: u32,           // holes not counted
}

impl Ring {
    /// Empty; grows with what it holds.
    pub(crate) fn new() -> Self {
        let entries = vec![HOLE; FIRST];
        Ring { entries, expiries: Vec::new(), oldest: 0, end: 0, len: 0 }
    }

    /// An empty ring of entries that expire.
    pub(crate) fn with_expiries() -> Self {
        Ring { expiries: vec![NEVER; FIRST], ..Ring::new() }
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
        place as usize & (self.entries.len() - 1)
    }

    /// Puts an entry at the newest end; its place. `moved` is told the new places of others.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: u32, moved: impl FnMut(u32, u32)) -> u32 {
        let at = self.next(moved);
        self.append(entry, at)
    }

    /// Pushes an entry with an expiry, not before those of older entries.
    #[inline(always)]
    pub(crate) fn push_until(
        &mut self,
        entry: u32,
        expiry: u64,
        moved: impl FnMut(u32, u32),
    ) -> u32 {
        let at = self.next(moved);
        self.expiries[at] = expiry;
        self.append(entry, at)
    }

    /// Position of the next entry.
    #[inline(always)]
    fn next(&mut self, moved: impl FnMut(u32, u32)) -> usize {
        if self.end.wrapping_sub(self.oldest) as usize == self.entries.len() {
            self.make_room(moved);
        }
        self.at(self.end)
    }

    #[inline(always)]
    fn append(&mut self, entry: u32, at: usize) -> u32 {
        let place = self.end;
        self.entries[at] = entry;
        self.end = place.wrapping_add(1);
        self.len += 1;
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

    /// Takes the oldest entry out. `ahead` gets each entry whose turn comes in [`SOON`] steps,
    /// for a prefetch, or `u32::MAX` for a hole.
    #[inline(always)]
    pub(crate) fn pop(&mut self, mut ahead: impl FnMut(u32)) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        loop {
            let entry = self.step(&mut ahead);
            if entry != HOLE {
                return Some(entry);
            }
        }
    }

    /// Takes the oldest entry out if it has expired at `now`; `ahead` as with [`pop`](Ring::pop).
    #[inline(always)]
    pub(crate) fn pop_expired(&mut self, now: u64, mut ahead: impl FnMut(u32)) -> Option<u32> {
        while self.due() < now {
            let entry = self.step(&mut ahead);
            if entry != HOLE {
                self.len -= 1;
                return Some(entry);
            }
        }
        None
    }

    /// Goes past the oldest place.
    #[inline(always)]
    fn step(&mut self, ahead: &mut impl FnMut(u32)) -> u32 {
        ahead(self.entries[self.at(self.oldest.wrapping_add(SOON))]);
        let entry = self.entries[self.at(self.oldest)];
        self.oldest = self.oldest.wrapping_add(1);
        entry
    }

    /// No entry expires before this: the expiry of the oldest entry, be it a hole.
    #[inline(always)]
    pub(crate) fn due(&self) -> u64 {
        if self.len == 0 { NEVER } else { self.expiries[self.at(self.oldest)] }
    }

    /// Prefetches what [`take`](Ring::take) touches.
    #[inline(always)]
    pub(crate) fn prefetch(&self, place: u32) {
        prefetch(&self.entries, self.at(place));
    }

    /// Squeezes the holes out where three of four places are; else doubles the ring, in which no
    /// entry moves. So a squeeze comes after three times as many pushes as it moves entries.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, moved: impl FnMut(u32, u32)) {
        if self.len as usize <= self.entries.len() / 4 {
            return self.squeeze(moved);
        }
        assert!(self.entries.len() < 1 << 31, "a queue holds at most 2^29 pages");
        self.entries.extend_from_within(..);
        self.expiries.extend_from_within(..);
    }

    fn squeeze(&mut self, mut moved: impl FnMut(u32, u32)) {
        let mut place = self.oldest;
        for i in 0..self.end.wrapping_sub(self.oldest) {
            let from = self.at(self.oldest.wrapping_add(i));
            let entry = self.entries[from];
            if entry == HOLE {
                continue;
            }
            let to = self.at(place);
            self.entries[to] = entry;
            if let Some(&expiry) = self.expiries.get(from) {
                self.expiries[to] = expiry;
            }
            moved(entry, place);
            place = place.wrapping_add(1);
        }
        self.end = place;
    }

    /// Positions of the entries, from the oldest on.
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
        let expiry = |at: usize| self.expiries.get(at).copied().unwrap_or(NEVER);
        self.live().map(move |at| (self.entries[at], expiry(at)))
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

    /// Pushes slots in turn and keeps their places.
    struct User {
        ring: Ring,
        places: Vec<u32>,
    }

    impl User {
        fn new() -> Self {
            User { ring: Ring::with_expiries(), places: vec![0; 1000] }
        }

        fn push(&mut self, slot: u32, expiry: u64) {
            let User { ring, places } = self;
            let place = ring.push_until(slot, expiry, |slot, place| places[slot as usize] = place);
            places[slot as usize] = place;
        }

        fn take(&mut self, slot: u32) {
            self.ring.take(self.places[slot as usize]);
        }

        fn check(&self) {
            self.ring.check(|slot| self.places[slot as usize]);
        }
    }

    #[test]
    fn pages_leave_in_the_order_they_came_but_for_those_taken_from_the_middle() {
        let mut user = User::new();
        (0..4).for_each(|slot| user.push(slot, 10 + u64::from(slot)));
        user.take(0);
        user.take(2);
        user.check();
        let ring = &mut user.ring;
        assert_eq!(ring.due(), 10, "a hole's expiry is a bound as good as any");
        assert_eq!(
            (ring.pop(|_| ()), ring.pop(|_| ()), ring.pop(|_| ())),
            (Some(1), Some(3), None)
        );
        assert_eq!((ring.due(), ring.is_empty()), (NEVER, true));
    }

    #[test]
    fn a_page_expires_after_its_last_instant_and_only_the_oldest_is_asked() {
        let mut user = User::new();
        (0..4).for_each(|slot| user.push(slot, [5, 7, 7, 9][slot as usize]));
        user.take(0);
        let mut expired = |now| user.ring.pop_expired(now, |_| ());
        assert_eq!(
            [7, 8, 8, 9, 10, 11].map(&mut expired),
            [None, Some(1), Some(2), None, Some(3), None]
        );
    }

    #[test]
    fn holes_are_squeezed_out_and_order_and_expiries_are_kept() {
        let mut user = User::new();
        user.push(999, 5); // stays while all others come and go
        for slot in 0..900 {
            user.push(slot, 6 + u64::from(slot));
            if slot >= 10 {
                user.take(slot - 10);
            }
            user.check();
        }
        let ring = &mut user.ring;
        assert_eq!(ring.entries.len(), FIRST, "eleven pages at a time need no long ring");
        assert_eq!((ring.due(), ring.pop(|_| ())), (5, Some(999)));
        assert_eq!((ring.pop_expired(897, |_| ()), ring.due()), (Some(890), 897));
    }

    #[test]
    fn a_ring_that_grows_keeps_every_place() {
        let mut user = User::new();
        for slot in 0..900 {
            user.push(slot, slot.into());
            if slot % 3 == 0 {
                user.ring.pop(|_| ());
            }
            user.check();
        }
        assert!(user.ring.iter().eq(300..900));
        assert_eq!((user.ring.entries.len(), user.places[899]), (1024, 899));
    }
}
