//! Pages that the policy may know: those that missed since they were trimmed last.
//!
//! A trim of a terabyte names a quarter of a billion pages, and the policy has to be asked about
//! those alone that it can know. A bit for each, in pieces that are made when they are needed.

use std::collections::BTreeMap;
use std::ops::Range;

const WORDS: usize = 64;
const PAGES: u64 = 64 * WORDS as u64;

#[derive(Default)]
pub(crate) struct Known(BTreeMap<u64, Box<[u64; WORDS]>>);

impl Known {
    pub(crate) fn add(&mut self, page: u64) {
        let piece = self.0.entry(page / PAGES).or_insert_with(|| Box::new([0; WORDS]));
        piece[(page % PAGES / 64) as usize] |= 1 << (page % 64);
    }

    /// Takes the pages of a range out, and returns them, ascending.
    pub(crate) fn take(&mut self, range: &Range<u64>) -> Vec<u64> {
        let mut taken = Vec::new();
        if range.is_empty() {
            return taken;
        }
        let pieces = range.start / PAGES..=(range.end - 1) / PAGES;
        for (number, piece) in self.0.range_mut(pieces.clone()) {
            for (at, word) in piece.iter_mut().enumerate() {
                let first = number * PAGES + at as u64 * 64;
                let mut left = *word;
                while left != 0 {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    if range.contains(&(first + u64::from(bit))) {
                        *word &= !(1 << bit);
                        taken.push(first + u64::from(bit));
                    }
                }
            }
        }
        let empty: Vec<u64> = (self.0.range(pieces))
            .filter(|(_, piece)| piece.iter().all(|word| *word == 0))
            .map(|(number, _)| *number)
            .collect();
        empty.iter().for_each(|number| _ = self.0.remove(number));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_takes_its_own_pages_and_leaves_the_others() {
        let mut known = Known::default();
        [0, 63, 64, 4095, 4096, 1 << 40].iter().for_each(|page| known.add(*page));
        assert_eq!(known.take(&(63..4096)), [63, 64, 4095]);
        assert!(known.take(&(5..5)).is_empty());
        assert_eq!(known.take(&(0..u64::MAX)), [0, 4096, 1 << 40]);
        assert!(known.0.is_empty());
    }
}
