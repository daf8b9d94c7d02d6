//! Pages by a whole number that only grows while a page stays, such as a count of its uses: the one
//! with the smallest, among equals the one that has had it longest.
//!
//! A list per number, the newest page at its end. Numbers less than `NEAR` above the floor have
//! their list in an array, with a bit each that says whether it is empty, and a bit per word of
//! those:
//!
//! ```text
//!   floor                         floor + NEAR
//!     ▼                                ▼
//!     ▢ ▣ ▣ ▢ ▣ ▢ ▢ ▢ ▢ ▣ ▢ ▢ ▢ ▢ ▢ ▢ ▢│   ▣        ▣     ▣      far: a sorted map
//!     │                                │
//!     └─ 11: p3 ─ p8 ─ p1 (oldest to newest)
//! ```
//!
//! Few pages are ever far: a page must have been used `NEAR` times. What is near takes no search
//! and no allocation: a move is two lists and two bits, and the smallest number two look-ups.

use destage_core::{Page, PerSlot, Slot};
use std::collections::BTreeMap;

/// Numbers that have their list in the array: a word of bits for each bit of one word.
const NEAR: usize = 64 * 64;

/// End of a list.
const NONE: u32 = u32::MAX;

/// A page on the list of its number.
#[derive(Clone, Copy, Default, Debug)]
struct Ranked {
    older: u32,
    newer: u32,
    rank: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    oldest: u32,
    newest: u32,
}

const EMPTY: Ends = Ends { oldest: NONE, newest: NONE };

/// The pages by their numbers.
#[derive(Debug)]
pub(crate) struct Ranks {
    pages: PerSlot<Ranked>,
    near: Vec<Ends>,          // of number n at n modulo NEAR
    filled: [u64; NEAR / 64], // bit per list of `near`: it has a page
    words: u64,               // bit per word of `filled`: it is not 0
    far: BTreeMap<u64, Ends>, // numbers from floor + NEAR on; none is empty
    floor: u64,               // no page has a smaller number
    len: u32,
}

impl Ranks {
    /// No page yet; `slots` slots are there from the start.
    pub(crate) fn new(slots: usize) -> Self {
        Ranks {
            pages: PerSlot::with_slots(slots),
            near: vec![EMPTY; NEAR],
            filled: [0; NEAR / 64],
            words: 0,
            far: BTreeMap::new(),
            floor: 0,
            len: 0,
        }
    }

    /// Number of pages.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The page's number.
    #[inline(always)]
    pub(crate) fn rank(&self, slot: Slot) -> u64 {
        self.pages[slot].rank
    }

    #[inline(always)]
    fn is_near(&self, rank: u64) -> bool {
        debug_assert!(rank >= self.floor, "the floor is below every number");
        rank - self.floor < NEAR as u64
    }

    /// Adds a page, as the newest of its number.
    #[inline(always)]
    pub(crate) fn push(&mut self, slot: Slot, rank: u64) {
        let ends = if self.is_near(rank) {
            let at = rank as usize % NEAR;
            self.filled[at / 64] |= 1 << (at % 64);
            self.words |= 1 << (at / 64);
            &mut self.near[at]
        } else {
            self.far.entry(rank).or_insert(EMPTY)
        };
        let before = ends.newest;
        ends.newest = slot.0;
        if before == NONE {
            ends.oldest = slot.0;
        } else {
            self.pages[Slot(before)].newer = slot.0;
        }
        self.pages.set(slot, Ranked { older: before, newer: NONE, rank });
        self.len += 1;
    }

    /// Takes a page out.
    #[inline(always)]
    pub(crate) fn remove(&mut self, slot: Slot) {
        let Ranked { older, newer, rank } = self.pages[slot];
        self.len -= 1;
        if older != NONE {
            self.pages[Slot(older)].newer = newer;
        }
        if newer != NONE {
            self.pages[Slot(newer)].older = older;
        }
        if older != NONE && newer != NONE {
            return; // neither end
        }
        if !self.is_near(rank) {
            self.far_end_left(rank, older, newer);
            return;
        }
        let at = rank as usize % NEAR;
        let ends = &mut self.near[at];
        if older == NONE {
            ends.oldest = newer;
        }
        if newer == NONE {
            ends.newest = older;
        }
        if older == newer {
            self.filled[at / 64] &= !(1 << (at % 64));
            self.words &= !(u64::from(self.filled[at / 64] == 0) << (at / 64));
        }
    }

    /// An end of a far list has gone.
    #[cold]
    fn far_end_left(&mut self, rank: u64, older: u32, newer: u32) {
        if older == newer {
            self.far.remove(&rank);
            return;
        }
        let ends = self.far.get_mut(&rank).expect("the list of a far page");
        if older == NONE {
            ends.oldest = newer;
        }
        if newer == NONE {
            ends.newest = older;
        }
    }

    /// Gives a page a larger number, and makes it the newest of that.
    #[inline(always)]
    pub(crate) fn raise(&mut self, slot: Slot, rank: u64) {
        debug_assert!(rank > self.rank(slot), "numbers grow");
        self.remove(slot);
        self.push(slot, rank);
    }

    /// The page with the smallest number, among equals the oldest.
    #[inline(always)]
    pub(crate) fn least(&self) -> Option<Slot> {
        let ends = if self.words == 0 {
            *self.far.first_key_value()?.1
        } else {
            self.near[self.least_near()]
        };
        Some(Slot(ends.oldest))
    }

    /// Place of the first list from the floor on, round the end of the array, that has a page.
    #[inline(always)]
    fn least_near(&self) -> usize {
        let from = self.floor as usize % NEAR;
        let (word, bit) = (from / 64, from % 64);
        let here = self.filled[word] & u64::MAX << bit;
        if here != 0 {
            return word * 64 + here.trailing_zeros() as usize;
        }
        // The words after this one, round the end; this one's lower bits come last.
        let after = self.words.rotate_right(word as u32 + 1);
        let next = (word + 1 + after.trailing_zeros() as usize) % 64;
        next * 64 + self.filled[next].trailing_zeros() as usize
    }

    /// No page will have a smaller number than this one, and none has.
    #[inline(always)]
    pub(crate) fn raise_floor(&mut self, floor: u64) {
        self.floor = floor;
        while let Some(first) = self.far.first_entry()
            && *first.key() - floor < NEAR as u64
        {
            let at = *first.key() as usize % NEAR;
            self.near[at] = first.remove();
            self.filled[at / 64] |= 1 << (at % 64);
            self.words |= 1 << (at / 64);
        }
    }

    /// The pages from the smallest number on, among equals the oldest first. Slow; for tests and
    /// snapshots of the state.
    pub(crate) fn order(&self) -> Vec<Slot> {
        let first = self.floor as usize % NEAR;
        let near = self.near[first..].iter().chain(&self.near[..first]);
        let mut order = Vec::new();
        for ends in near.chain(self.far.values()) {
            let mut at = ends.oldest;
            while at != NONE {
                order.push(Slot(at));
                at = self.pages[Slot(at)].newer;
            }
        }
        order
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
    }

    /// Asserts that lists and bits agree with the numbers of their pages.
    pub(crate) fn check(&self) {
        let order = self.order();
        assert_eq!(order.len(), self.len as usize, "a page is on one list");
        let ranks: Vec<u64> = order.iter().map(|&slot| self.rank(slot)).collect();
        assert!(ranks.is_sorted(), "a list is that of its number");
        assert!(ranks.first().is_none_or(|&least| least >= self.floor));
        assert_eq!(self.least(), order.first().copied());
        for (at, ends) in self.near.iter().enumerate() {
            let filled = self.filled[at / 64] >> (at % 64) & 1 == 1;
            assert_eq!(filled, ends.oldest != NONE, "a bit says whether its list has a page");
            assert_eq!(ends.oldest == NONE, ends.newest == NONE);
        }
        for (word, filled) in self.filled.iter().enumerate() {
            assert_eq!(self.words >> word & 1 == 1, *filled != 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ranks: &Ranks) -> Vec<(u32, u64)> {
        ranks.check();
        ranks.order().into_iter().map(|slot| (slot.0, ranks.rank(slot))).collect()
    }

    #[test]
    fn the_page_that_has_had_the_smallest_number_longest_is_least() {
        let mut ranks = Ranks::new(8);
        for slot in 0..4 {
            ranks.push(Slot(slot), 1);
        }
        ranks.raise(Slot(0), 2);
        ranks.raise(Slot(2), 5);
        assert_eq!(order(&ranks), [(1, 1), (3, 1), (0, 2), (2, 5)]);
        ranks.remove(Slot(1));
        ranks.remove(Slot(3));
        ranks.raise(Slot(0), 5);
        assert_eq!(order(&ranks), [(2, 5), (0, 5)]);
    }

    #[test]
    fn far_numbers_come_near_as_the_floor_rises() {
        let near = NEAR as u64;
        let mut ranks = Ranks::new(8);
        ranks.push(Slot(0), 0);
        ranks.push(Slot(1), near - 1);
        ranks.push(Slot(2), near);
        ranks.push(Slot(3), near);
        ranks.push(Slot(4), 1 << 60);
        assert_eq!(ranks.far.len(), 2);
        ranks.remove(Slot(0));
        ranks.raise_floor(1);
        assert_eq!(ranks.far.len(), 1);
        assert_eq!(
            order(&ranks),
            [(1, near - 1), (2, near), (3, near), (4, 1 << 60)],
            "number NEAR has the place that number 0 had"
        );
        for slot in [2, 1, 3] {
            ranks.remove(Slot(slot));
            ranks.check();
        }
        assert_eq!(ranks.least(), Some(Slot(4)), "nothing near");
        ranks.raise_floor(1 << 60);
        assert_eq!(order(&ranks), [(4, 1 << 60)]);
        ranks.remove(Slot(4));
        assert_eq!(ranks.least(), None);
    }

    #[test]
    fn a_far_list_loses_its_ends_and_then_itself() {
        let mut ranks = Ranks::new(8);
        for slot in 0..3 {
            ranks.push(Slot(slot), 1 << 40);
        }
        ranks.remove(Slot(0));
        assert_eq!(order(&ranks), [(1, 1 << 40), (2, 1 << 40)]);
        ranks.remove(Slot(2));
        ranks.remove(Slot(1));
        assert!(ranks.far.is_empty());
    }

    #[test]
    fn the_least_is_found_round_the_end_of_the_array() {
        let near = NEAR as u64;
        for floor in [1, 63, 64, 65, near - 1, near, near + 70] {
            for above in [0, 1, 62, 63, 64, 65, 4000, near - 1] {
                let mut ranks = Ranks::new(1);
                ranks.raise_floor(floor);
                ranks.push(Slot(0), floor + above);
                ranks.check();
                assert_eq!(ranks.least(), Some(Slot(0)), "{floor} + {above}");
            }
        }
    }
}
