//! A set of pages in their order: a bit for each, in pieces of one cache line.
//!
//! Pages that are near each other share a piece, and a set of all dirty pages changes with each
//! write: a tree of single pages takes twice as long.

use std::collections::BTreeMap;
use std::ops::Range;

const WORDS: usize = 8;
const PAGES: u64 = 64 * WORDS as u64;

/// A set of pages.
#[derive(Default)]
pub(crate) struct PageSet(BTreeMap<u64, [u64; WORDS]>);

/// Word and bit of a page in its piece.
fn place(page: u64) -> (usize, u64) {
    ((page % PAGES / 64) as usize, 1 << (page % 64))
}

impl PageSet {
    pub(crate) fn add(&mut self, page: u64) {
        let (word, bit) = place(page);
        self.0.entry(page / PAGES).or_default()[word] |= bit;
    }

    pub(crate) fn remove(&mut self, page: u64) {
        let (word, bit) = place(page);
        if let Some(piece) = self.0.get_mut(&(page / PAGES)) {
            piece[word] &= !bit;
            if *piece == [0; WORDS] {
                self.0.remove(&(page / PAGES));
            }
        }
    }

    pub(crate) fn has(&self, page: u64) -> bool {
        let (word, bit) = place(page);
        self.0.get(&(page / PAGES)).is_some_and(|piece| piece[word] & bit != 0)
    }

    /// The pages of a range, ascending.
    pub(crate) fn in_range(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        let pieces = self.0.range(range.start / PAGES..range.end.div_ceil(PAGES));
        let all = pieces.flat_map(|(number, piece)| {
            piece.iter().enumerate().flat_map(move |(at, word)| {
                let first = number * PAGES + at as u64 * 64;
                let next = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
                std::iter::successors(Some(*word).filter(|word| *word != 0), next)
                    .map(move |left| first + u64::from(left.trailing_zeros()))
            })
        });
        all.filter(move |page| range.contains(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_the_set_from_its_addition_until_its_removal() {
        let mut set = PageSet::default();
        let pages = [0, 63, 64, 511, 512, 1 << 40];
        pages.iter().rev().chain(&[64]).for_each(|page| set.add(*page));
        assert!(pages.iter().all(|page| set.has(*page)));
        assert!(![1, 65, 513, (1 << 40) + 1].iter().any(|page| set.has(*page)));
        assert_eq!(set.in_range(0..u64::MAX).collect::<Vec<_>>(), pages);
        assert_eq!(set.in_range(63..512).collect::<Vec<_>>(), [63, 64, 511]);
        assert_eq!(set.in_range(64..64).count(), 0);
        set.remove(1);
        set.remove(64);
        assert_eq!(set.in_range(1..513).collect::<Vec<_>>(), [63, 511, 512]);
        pages.iter().for_each(|page| set.remove(*page));
        assert!(set.0.is_empty());
    }
}
