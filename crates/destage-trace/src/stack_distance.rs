//! Exact LRU stack distances: how many different pages were accessed since a page's last access,
//! that page included.
//!
//! ```text
//!  slots, one an access:  . # . . # # . # | next
//!                           ^ last access of page p: its distance is the number of # from here on
//! ```
//!
//! One bit per slot says whether it is the last access of some page; a Fenwick tree over the 64-bit
//! words counts the bits behind a slot. Twice as many slots as pages are kept: when they run out,
//! the set bits (one a page) move together. Memory does not grow with the trace: 4 bytes per page
//! for its slot, and 1 bit and 1/16 byte per slot.

/// A first access has no distance.
pub const FIRST: u64 = u64::MAX;

const NO_SLOT: u32 = u32::MAX;

/// Measures stack distances of accesses to pages `0..pages`.
pub struct StackDistances {
    /// Slot of each page's last access.
    slot: Vec<u32>,
    bits: Vec<u64>,
    /// Fenwick tree over the words of `bits`, from 1.
    tree: Vec<u32>,
    next: usize,
    /// Pages seen, which is the number of set bits.
    seen: u64,
}

impl StackDistances {
    /// For dense ids `0..pages`.
    pub fn new(pages: u32) -> Self {
        // At least as many free slots as pages after moving together, in whole words.
        let words = (pages as usize * 2).div_ceil(64).max(4) + 1;
        // Slots are `u32`: with more than 2^31 pages fewer are free, and moves come more often.
        let words = words.min((u32::MAX as usize) / 64);
        StackDistances {
            slot: vec![NO_SLOT; pages as usize],
            bits: vec![0; words],
            tree: vec![0; words + 1],
            next: 0,
            seen: 0,
        }
    }

    /// Different pages seen so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Takes the next access; returns the page's distance, from 1 (accessed just before), or
    /// [`FIRST`].
    #[inline]
    pub fn access(&mut self, id: u32) -> u64 {
        if self.next == self.bits.len() * 64 {
            self.compact();
        }
        let slot = self.slot[id as usize];
        let distance = if slot == NO_SLOT {
            self.seen += 1;
            FIRST
        } else {
            let slot = slot as usize;
            if slot + 1 == self.next {
                return 1;
            }
            let (word, bit) = (slot / 64, slot % 64);
            let before =
                self.before(word) + u64::from((self.bits[word] & ((1 << bit) - 1)).count_ones());
            self.bits[word] &= !(1 << bit);
            self.add(word, u32::MAX);
            self.seen - before
        };
        let (word, bit) = (self.next / 64, self.next % 64);
        self.bits[word] |= 1 << bit;
        self.add(word, 1);
        self.slot[id as usize] = self.next as u32;
        self.next += 1;
        distance
    }

    /// Set bits in the words before `word`.
    #[inline]
    fn before(&self, word: usize) -> u64 {
        let mut sum = 0;
        let mut at = word;
        while at > 0 {
            sum += u64::from(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Adds to a word's count; `u32::MAX` takes one off.
    #[inline]
    fn add(&mut self, word: usize, change: u32) {
        let mut at = word + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(change);
            at += at & at.wrapping_neg();
        }
    }

    /// Moves the set bits together, in order.
    #[cold]
    fn compact(&mut self) {
        // New slot of each set bit = number of set bits before it, which words answer at once.
        let mut before = Vec::with_capacity(self.bits.len());
        let mut count = 0u32;
        for word in &self.bits {
            before.push(count);
            count += word.count_ones();
        }
        for slot in self.slot.iter_mut().filter(|slot| **slot != NO_SLOT) {
            let (word, bit) = (*slot as usize / 64, *slot % 64);
            *slot = before[word] + (self.bits[word] & ((1u64 << bit) - 1)).count_ones();
        }
        let count = count as usize;
        for (k, word) in self.bits.iter_mut().enumerate() {
            *word = match count.saturating_sub(k * 64) {
                0 => 0,
                left if left >= 64 => u64::MAX,
                left => (1 << left) - 1,
            };
        }
        self.tree.fill(0);
        for k in 0..self.bits.len() {
            self.tree[k + 1] += self.bits[k].count_ones();
            let parent = (k + 1) + ((k + 1) & (k + 1).wrapping_neg());
            if parent < self.tree.len() {
                self.tree[parent] += self.tree[k + 1];
            }
        }
        self.next = count;
        assert!(self.next < self.bits.len() * 64, "there are more slots than pages");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distances_are_positions_in_an_lru_list(ids in prop::collection::vec(0u32..40, 1..2000)) {
            let mut distances = StackDistances::new(40);
            let mut list: Vec<u32> = Vec::new();
            for id in ids {
                let want = list.iter().position(|x| *x == id);
                prop_assert_eq!(distances.access(id), want.map_or(FIRST, |at| at as u64 + 1));
                if let Some(at) = want {
                    list.remove(at);
                }
                list.insert(0, id);
                prop_assert_eq!(distances.seen(), list.len() as u64);
            }
        }
    }

    #[test]
    fn a_loop_has_its_length_as_distance_through_every_move() {
        let mut distances = StackDistances::new(1000);
        for round in 0..20 {
            for id in 0..1000 {
                let want = if round == 0 { FIRST } else { 1000 };
                assert_eq!(distances.access(id), want);
            }
        }
    }
}
