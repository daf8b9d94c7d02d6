//! Clusters by size: a list of each size, oldest first out, and the largest size there is.
//!
//! ```text
//!   size 1   newest ◀─▶ ... ◀─▶ oldest        occupied   ...1011
//!   size 2   newest ◀─▶ oldest                            │ │└┴─ sizes 1, 2
//!   size 4   newest ◀─▶ ... ◀─▶ oldest                    │ └─── size 4: the victim's
//! ```
//!
//! Sizes that occur are bits, 64 to a word, with a bit for each word above them: the largest size
//! is one look per factor of 64, whatever clusters come and go.

use super::chain::{Chain, Linked};

/// Sizes that occur.
#[derive(Clone, Debug)]
struct Occupied {
    levels: Vec<Vec<u64>>, // the last has one word; words grow with what is set
}

impl Occupied {
    /// An empty set of numbers below `end`.
    fn new(end: u32) -> Self {
        let mut levels = vec![Vec::new()];
        let mut words = end.div_ceil(64);
        while words > 1 {
            levels.push(Vec::new());
            words = words.div_ceil(64);
        }
        Occupied { levels }
    }

    #[inline(always)]
    fn set(&mut self, mut number: usize) {
        for words in &mut self.levels {
            let (word, bit) = (number / 64, 1 << (number % 64));
            if words.len() <= word {
                words.resize(word + 1, 0);
            }
            let before = words[word];
            words[word] = before | bit;
            if before != 0 {
                return;
            }
            number = word;
        }
    }

    #[inline(always)]
    fn clear(&mut self, mut number: usize) {
        for words in &mut self.levels {
            let (word, bit) = (number / 64, 1 << (number % 64));
            words[word] &= !bit;
            if words[word] != 0 {
                return;
            }
            number = word;
        }
    }

    #[inline(always)]
    fn largest(&self) -> Option<usize> {
        let mut number = 0;
        for words in self.levels.iter().rev() {
            let word = words.get(number).copied().unwrap_or(0);
            if word == 0 {
                return None;
            }
            number = number * 64 + 63 - word.leading_zeros() as usize;
        }
        Some(number)
    }
}

/// Clusters by size, linked through their `K`th pair. Those of a size stand in the order in which
/// they were put there.
#[derive(Clone, Debug)]
pub(crate) struct Sizes<const K: usize> {
    chains: Vec<Chain<K>>, // of size n at n - 1; as long as the largest size was
    occupied: Occupied,
}

impl<const K: usize> Sizes<K> {
    /// No clusters, of at most `largest` pages each.
    pub(crate) fn new(largest: u32) -> Self {
        Sizes { chains: Vec::new(), occupied: Occupied::new(largest) }
    }

    /// Puts a cluster of this size, at least 1, at the new end of its list.
    #[inline(always)]
    pub(crate) fn push<N: Linked<K>>(&mut self, blocks: &mut [N], at: u32, size: u32) {
        let k = size as usize - 1;
        if self.chains.len() <= k {
            self.chains.resize(k + 1, Chain::default());
        }
        self.chains[k].push_newest(blocks, at);
        self.occupied.set(k);
    }

    /// A cluster has lost a page and is of this size now, at least 1: puts it on that list just
    /// behind one that is newer, or at the new end if none is.
    pub(crate) fn shrunk<N: Linked<K>>(
        &mut self,
        blocks: &mut [N],
        at: u32,
        size: u32,
        newer: Option<u32>,
    ) {
        match newer {
            None => self.push(blocks, at, size),
            Some(newer) => self.chains[size as usize - 1].push_behind(blocks, at, newer),
        }
    }

    /// Clusters of this size, newest first.
    pub(crate) fn of_size<N: Linked<K>>(
        &self,
        blocks: &[N],
        size: u32,
    ) -> impl Iterator<Item = u32> {
        let chain = self.chains.get((size as usize).wrapping_sub(1)).copied().unwrap_or_default();
        chain.iter(blocks)
    }

    /// Takes a cluster off the list of this size.
    #[inline(always)]
    pub(crate) fn unlink<N: Linked<K>>(&mut self, blocks: &mut [N], at: u32, size: u32) {
        let k = size as usize - 1;
        self.chains[k].unlink(blocks, at);
        if self.chains[k].is_empty() {
            self.occupied.clear(k);
        }
    }

    /// The oldest of the largest clusters, and their size.
    #[inline(always)]
    pub(crate) fn victim(&self) -> Option<(u32, u32)> {
        let k = self.occupied.largest()?;
        Some((self.chains[k].oldest()?, k as u32 + 1))
    }

    /// Every list that has been used, with its size.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Chain<K>)> {
        (1..).zip(self.chains.iter().copied())
    }

    /// Asserts that the largest size is true and the lists are sound; returns how many clusters
    /// there are.
    pub(crate) fn check<N: Linked<K>>(&self, blocks: &[N]) -> u32 {
        let largest = self.chains.iter().rposition(|chain| !chain.is_empty());
        assert_eq!(self.occupied.largest(), largest, "the largest size is true");
        self.chains.iter().map(|chain| chain.check(blocks)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_is_found_through_all_levels() {
        for end in [1, 64, 65, 4096, 4097, 1 << 20] {
            let mut occupied = Occupied::new(end);
            let mut set = std::collections::BTreeSet::new();
            let mut state = u64::from(end);
            for _ in 0..2000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = ((state >> 33) % u64::from(end)) as usize;
                if set.insert(number) {
                    occupied.set(number);
                } else {
                    set.remove(&number);
                    occupied.clear(number);
                }
                assert_eq!(occupied.largest(), set.last().copied(), "below {end}");
            }
        }
    }
}
