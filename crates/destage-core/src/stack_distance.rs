//! How many pages were used since this one: LRU's stack distance, in memory bounded by the pages.
//!
//! Bennett, Kruskal. LRU stack processing. IBM Journal of Research and Development 19(4), 1975;
//! Olken. Efficient methods for calculating the success function of fixed space replacement
//! policies. LBL-12370, 1981. That the tree's shape, not its logarithm, decides how long a whole
//! curve takes is shown by Bender, DeLayo, Kuszmaul, Kuszmaul, Westover. Increment-and-freeze:
//! every cache, everywhere, all of the time. SPAA 2023, who go without one, by sorting the trace in
//! passes; here it stays, so that memory is bounded by the pages, and is made wide and flat.
//!
//! Every use takes the next *slot* in time, and the page gives up its former one; the depth of a
//! page is then the number of slots in use from its own on.
//!
//! ```text
//!  slots    . a . . c . | d . b . . . | . . . . . . | e f . (next)     one bit per slot in use
//!  before   0             2             4             4                in use before each word
//! ```
//!
//! The number of slots in use before a slot is a sum of five numbers: the bits before it in its
//! word, and the
//! counts before its word, its words of 1,024 slots, those of 32,768 and of 2^20, each within the
//! next larger. None depends on another, so that they are read side by side. A slot that is given
//! up takes one off the counts behind it, in each level's node: sixteen or 32 neighbours, which
//! the processor changes a register at a time, with no branch to guess. A Fenwick tree over the
//! same bits does half the additions and takes twice the time, waiting for guesses.
//!
//! A slot that is taken is behind all counts: those of words to come are set when they are begun.
//! When slots run out, the pages move down to `0..live` in their order, so that the length of the
//! trace does not matter. Five bits a page and slots four times the pages keep it near the
//! processor.

/// Slots of a word, of a node of words, and so on; the last level is as long as it must be.
const WORD: usize = 64;
const LOW: usize = 16 * WORD;
const MIDDLE: usize = 32 * LOW;
const HIGH: usize = 32 * MIDDLE;

/// Slots per page: of so many uses of any page, one pays for moving all pages down.
const SLOTS_PER_PAGE: usize = 4;

/// A page without a slot: it was never used.
pub const NO_SLOT: u32 = u32::MAX;

/// Slots in time, those in use marked and counted.
pub struct StackDistances {
    words: Vec<u64>,
    low: Vec<[u16; 16]>,    // before each word, within LOW slots
    middle: Vec<[u16; 32]>, // before each LOW slots, within MIDDLE: at most 31 * 1,024
    high: Vec<[u32; 32]>,   // before each MIDDLE slots, within HIGH
    top: Vec<u32>,          // before each HIGH slots
    next: u32,
    live: u32,
}

impl StackDistances {
    /// For so many pages, none used yet.
    pub fn new(pages: usize) -> Self {
        // At least a word is free when all pages have moved down; slots are numbered below NO_SLOT.
        let most = NO_SLOT as usize / WORD * WORD;
        let slots = (pages * SLOTS_PER_PAGE).next_multiple_of(WORD).min(most);
        let slots = slots.max((pages + 1).next_multiple_of(WORD));
        assert!(slots <= most, "slots are numbered in 32 bits");
        StackDistances {
            words: vec![0; slots / WORD],
            low: vec![[0; 16]; slots.div_ceil(LOW)],
            middle: vec![[0; 32]; slots.div_ceil(MIDDLE)],
            high: vec![[0; 32]; slots.div_ceil(HIGH)],
            top: vec![0; slots / HIGH + 1],
            next: 0,
            live: 0,
        }
    }

    /// Slots in use.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// The words of a slot's neighbourhood, to be asked for ahead.
    #[inline(always)]
    pub fn prefetch(&self, slot: u32) {
        crate::pages::prefetch(&self.words, slot as usize / WORD);
    }

    /// No slot is left: [`compact`](StackDistances::compact) comes before the next use.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.next as usize == self.words.len() * WORD
    }

    /// Gives up a slot for the next one, which is returned with the depth that the page had: 1 if
    /// it was the last one used.
    #[inline(always)]
    pub fn reuse(&mut self, slot: u32) -> (u32, u32) {
        if slot + 1 == self.next {
            return (slot, 1);
        }
        // As `before`, and each count that is read gives up one behind it.
        let at = slot as usize;
        let word = &mut self.words[at / WORD];
        let bit = 1 << (at % WORD);
        let mut before = (*word & (bit - 1)).count_ones();
        *word ^= bit;
        before += take_one_behind_of_16(&mut self.low[at / LOW], at / WORD % 16);
        before += take_one_behind_of_16(&mut self.middle[at / MIDDLE], at / LOW % 32);
        before += take_one_behind_of_32(&mut self.high[at / HIGH], at / MIDDLE % 32);
        let (first, behind) = self.top[at / HIGH..=self.next as usize / HIGH]
            .split_first_mut()
            .expect("the slot is before the next");
        before += *first;
        behind.iter_mut().for_each(|count| *count = count.wrapping_sub(1));
        let depth = self.live - before;
        self.live -= 1;
        (self.first_use(), depth)
    }

    /// Takes the next slot, for a page that has none.
    #[inline(always)]
    pub fn first_use(&mut self) -> u32 {
        let slot = self.next;
        if slot.is_multiple_of(WORD as u32) {
            self.begin_word();
        }
        self.words[slot as usize / WORD] |= 1 << (slot as usize % WORD);
        self.next += 1;
        self.live += 1;
        slot
    }

    /// Depth of the page with this slot: 1 for the last one used.
    #[inline(always)]
    pub fn depth(&self, slot: u32) -> u32 {
        self.live - self.before(slot as usize)
    }

    /// Slots in use before this one, which is in use.
    #[inline(always)]
    fn before(&self, at: usize) -> u32 {
        let in_word = self.words[at / WORD] & ((1 << (at % WORD)) - 1);
        self.top[at / HIGH]
            + self.high[at / HIGH][at / MIDDLE % 32]
            + u32::from(self.middle[at / MIDDLE][at / LOW % 32])
            + u32::from(self.low[at / LOW][at / WORD % 16])
            + in_word.count_ones()
    }

    /// Sets the counts before a word, and before all that begins with it: all slots in use are
    /// before it.
    #[inline(never)]
    fn begin_word(&mut self) {
        let at = self.next as usize;
        let mut left = self.live;
        if at.is_multiple_of(HIGH) {
            self.top[at / HIGH] = left;
        }
        left -= self.top[at / HIGH];
        let high = &mut self.high[at / HIGH][at / MIDDLE % 32];
        if at.is_multiple_of(MIDDLE) {
            *high = left;
        }
        left -= *high;
        let middle = &mut self.middle[at / MIDDLE][at / LOW % 32];
        if at.is_multiple_of(LOW) {
            *middle = left as u16;
        }
        left -= u32::from(*middle);
        self.low[at / LOW][at / WORD % 16] = left as u16;
    }

    /// Moves all pages down, in their order; `slots` are theirs.
    #[cold]
    #[inline(never)]
    pub fn compact<'a>(&mut self, slots: impl Iterator<Item = &'a mut u32>) {
        for slot in slots.filter(|slot| **slot != NO_SLOT) {
            *slot = self.before(*slot as usize);
        }
        let live = std::mem::take(&mut self.live);
        self.words.fill(0);
        self.next = 0;
        while self.live < live {
            self.begin_word();
            let bits = (live - self.live).min(WORD as u32);
            self.words[self.next as usize / WORD] = u64::MAX >> (WORD as u32 - bits);
            self.live += bits;
            self.next += WORD as u32;
        }
        self.next = live;
    }
}

/// Takes one off each count behind the place, and returns the one there. Those of words not yet
/// begun are set when they are.
///
/// The addends, zeros or all ones, are read from a row of both, begun at an offset by the place:
/// three instructions a register of counts, where a comparison of each takes ten times that.
macro_rules! take_one_behind {
    ($name:ident, $count:ty) => {
        #[inline(always)]
        fn $name<const N: usize>(counts: &mut [$count; N], place: usize) -> u32 {
            static STEP: [$count; 64] = {
                let mut step = [0; 64];
                let mut k = 32;
                while k < 64 {
                    step[k] = <$count>::MAX;
                    k += 1;
                }
                step
            };
            // Both by value: the compiler then sees that neither changes the other.
            let step: [$count; N] = *STEP[31 - place..].first_chunk().expect("N is at most 32");
            let old = *counts;
            *counts = std::array::from_fn(|k| old[k].wrapping_add(step[k]));
            u32::from(counts[place])
        }
    };
}
take_one_behind!(take_one_behind_of_16, u16);
take_one_behind!(take_one_behind_of_32, u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_those_of_a_list_searched_from_the_front() {
        // Few pages against many uses: slots run out hundreds of times. Sizes around a word.
        for pages in [1, 2, 15, 16, 17, 63, 64, 65, 300, 1500] {
            let mut stack = StackDistances::new(pages);
            let mut slots = vec![NO_SLOT; pages];
            let mut list: Vec<usize> = Vec::new();
            let mut random = 1u64;
            for _ in 0..40_000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Squared, so that some pages are used more than others.
                let unit = (random >> 33) as f64 / (1u64 << 31) as f64;
                let page = (unit * unit * pages as f64) as usize;
                let found = list.iter().position(|&other| other == page);
                if stack.is_full() {
                    stack.compact(slots.iter_mut());
                }
                match found {
                    None => slots[page] = stack.first_use(),
                    Some(at) => {
                        let (slot, depth) = stack.reuse(slots[page]);
                        slots[page] = slot;
                        assert_eq!(depth as usize, at + 1);
                        list.remove(at);
                    }
                }
                list.insert(0, page);
            }
            assert_eq!(stack.live() as usize, list.len());
            for (at, &page) in list.iter().enumerate() {
                assert_eq!(stack.depth(slots[page]) as usize, at + 1);
            }
        }
    }

    #[test]
    fn a_loop_has_its_length_as_depth_at_every_level_of_the_counts() {
        // 600,000 pages have 2.4 million slots: three nodes of the last level.
        let pages = 600_000;
        let mut stack = StackDistances::new(pages);
        let mut slots = vec![NO_SLOT; pages];
        slots.iter_mut().for_each(|slot| *slot = stack.first_use());
        for _ in 0..5 {
            for page in 0..pages {
                if stack.is_full() {
                    stack.compact(slots.iter_mut());
                }
                let (slot, depth) = stack.reuse(slots[page]);
                assert_eq!(depth as usize, pages);
                slots[page] = slot;
            }
        }
    }
}
