//! How many pages were used since this one: LRU's stack distance, in memory bounded by the pages.
//!
//! Bennett, Kruskal. LRU stack processing. IBM Journal of Research and Development 19(4), 1975;
//! Olken. Efficient methods for calculating the success function of fixed space replacement
//! policies. LBL-12370, 1981.
//!
//! Every use takes the next *slot* in time, and the page gives up its former one; the depth of a
//! page is then the number of slots in use after its own, plus one.
//!
//! ```text
//!  slots        . a . . c | d . b . .  |  e . (next)       one bit per slot, 1 where a page is
//!  finished blocks: 2     |     2      |                   their counts in a Fenwick tree
//! ```
//!
//! Bits instead of one counter per slot keep the whole structure near the processor: half a byte
//! per page for the bits, 1/128 of that for the tree. When slots run out, the pages move down to
//! `0..live` in their order, so that the length of the trace does not matter.

use destage_core::pages::prefetch;

/// Slots of a block, one cache line of bits.
const BLOCK: usize = 512;

/// Slots per page: of so many uses of any page, one pays for moving all pages down.
const SLOTS_PER_PAGE: usize = 4;

/// No slot yet.
const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block([u64; BLOCK / 64]);

impl Block {
    const EMPTY: Block = Block([0; BLOCK / 64]);

    fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Ones at positions below `end`, 0..=BLOCK.
    fn ones_below(&self, end: usize) -> u32 {
        let (word, bit) = (end / 64, end % 64);
        let whole: u32 = self.0[..word].iter().map(|word| word.count_ones()).sum();
        whole + self.0.get(word).map_or(0, |word| (word & ((1 << bit) - 1)).count_ones())
    }
}

/// The pages in the order of their last use.
pub(super) struct Recency {
    slot_of: Vec<u32>,
    blocks: Vec<Block>,
    tree: Fenwick, // ones of the finished blocks; those of the open one are counted when it ends
    next: usize,
    live: u32,
}

impl Recency {
    /// For pages `0..pages`, none used yet.
    pub(super) fn new(pages: usize) -> Self {
        let slots = (pages * SLOTS_PER_PAGE).min(NEVER as usize) / BLOCK * BLOCK;
        let slots = slots.max(pages / BLOCK * BLOCK + BLOCK);
        assert!(slots <= NEVER as usize, "slots are numbered in 32 bits");
        let blocks = slots / BLOCK;
        Recency {
            slot_of: vec![NEVER; pages],
            blocks: vec![Block::EMPTY; blocks],
            tree: Fenwick::new(blocks),
            next: 0,
            live: 0,
        }
    }

    /// Pages used so far.
    pub(super) fn live(&self) -> u32 {
        self.live
    }

    /// Asks for what [`touch`](Recency::touch) of this page will need first.
    #[inline(always)]
    pub(super) fn warm(&self, page: u32) {
        prefetch(&self.slot_of, page as usize);
    }

    /// Uses the page; returns its depth before: 1 if it was the last one used, `None` if it was
    /// never used.
    #[inline(always)]
    pub(super) fn touch(&mut self, page: u32) -> Option<u32> {
        let depth = self.depth(page);
        if depth.is_some() {
            let slot = self.slot_of[page as usize] as usize;
            self.blocks[slot / BLOCK].0[slot % BLOCK / 64] &= !(1 << (slot % 64));
            if slot / BLOCK < self.next / BLOCK {
                self.tree.subtract_one(slot / BLOCK);
            }
            self.slot_of[page as usize] = NEVER;
            self.live -= 1;
        }
        if self.next == self.blocks.len() * BLOCK {
            self.compact();
        }
        let slot = self.next;
        self.blocks[slot / BLOCK].0[slot % BLOCK / 64] |= 1 << (slot % 64);
        self.slot_of[page as usize] = slot as u32;
        self.live += 1;
        self.next += 1;
        if self.next.is_multiple_of(BLOCK) {
            let block = slot / BLOCK;
            self.tree.add(block, self.blocks[block].ones());
        }
        depth
    }

    /// The page's depth: 1 for the last one used, `None` if it was never used.
    #[inline(always)]
    pub(super) fn depth(&self, page: u32) -> Option<u32> {
        let slot = self.slot_of[page as usize];
        if slot == NEVER {
            return None;
        }
        let (block, at) = (slot as usize / BLOCK, slot as usize % BLOCK);
        let open = self.next / BLOCK;
        let below = self.blocks[block].ones_below(at);
        // All ones but those below the page's own.
        Some(if block == open {
            self.blocks[block].ones() - below
        } else {
            self.live - self.tree.sum_below(block) - below
        })
    }

    /// Moves all pages down to the slots `0..live`, in their order.
    #[cold]
    fn compact(&mut self) {
        let mut below = Vec::with_capacity(self.blocks.len());
        let mut ones = 0;
        for block in &self.blocks {
            below.push(ones);
            ones += block.ones();
        }
        for slot in self.slot_of.iter_mut().filter(|slot| **slot != NEVER) {
            let (block, at) = (*slot as usize / BLOCK, *slot as usize % BLOCK);
            *slot = below[block] + self.blocks[block].ones_below(at);
        }
        self.blocks.fill(Block::EMPTY);
        self.next = self.live as usize;
        for slot in 0..self.next {
            self.blocks[slot / BLOCK].0[slot % BLOCK / 64] |= 1 << (slot % 64);
        }
        self.tree = Fenwick::new(self.blocks.len());
        for block in 0..self.next / BLOCK {
            self.tree.add(block, BLOCK as u32);
        }
    }
}

/// Counts with prefix sums, both in O(log n): Fenwick, Software: Practice and Experience 24(3),
/// 1994. Entry `i` of the array (from 1) holds the sum of the `i & -i` counts that end with it.
struct Fenwick(Vec<u32>);

impl Fenwick {
    fn new(counts: usize) -> Self {
        Fenwick(vec![0; counts + 1])
    }

    fn add(&mut self, at: usize, count: u32) {
        let mut i = at + 1;
        while i < self.0.len() {
            self.0[i] += count;
            i += i & i.wrapping_neg();
        }
    }

    #[inline(always)]
    fn subtract_one(&mut self, at: usize) {
        let mut i = at + 1;
        while i < self.0.len() {
            self.0[i] -= 1;
            i += i & i.wrapping_neg();
        }
    }

    /// Sum of the counts `0..end`.
    #[inline(always)]
    fn sum_below(&self, end: usize) -> u32 {
        let mut sum = 0;
        let mut i = end;
        while i > 0 {
            sum += self.0[i];
            i &= i - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_those_of_a_list_searched_from_the_front() {
        // Few pages against many uses: slots run out hundreds of times. Sizes around a block.
        for pages in [1, 2, 127, 128, 129, 511, 512, 513, 1500] {
            let mut recency = Recency::new(pages);
            let mut list: Vec<u32> = Vec::new();
            let mut random = 1u64;
            for _ in 0..40_000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Squared, so that some pages are used more than others.
                let unit = (random >> 33) as f64 / (1u64 << 31) as f64;
                let page = (unit * unit * pages as f64) as u32;
                let found = list.iter().position(|&other| other == page);
                assert_eq!(recency.touch(page), found.map(|at| at as u32 + 1));
                if let Some(at) = found {
                    list.remove(at);
                }
                list.insert(0, page);
            }
            assert_eq!(recency.live() as usize, list.len());
            for (at, &page) in list.iter().enumerate() {
                assert_eq!(recency.depth(page), Some(at as u32 + 1));
            }
        }
    }
}
