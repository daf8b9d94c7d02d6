//! Dirty pages of tier 2 above a threshold are written back, and stay (`docs/spec/tiers.md` 4.9).
//!
//! After bcache's `writeback_percent`, whose thread goes through the dirty pages in order of
//! address. Here the excess is written back at once.
//!
//! Cost. O(log d) whenever one of d dirty pages is written, leaves or is cleaned.

use destage_core::Page;
use std::collections::BTreeSet;

/// The dirty pages of a tier, and where the last write-back stopped.
#[derive(Debug)]
pub(super) struct Cleaner {
    most: u64, // dirty pages that may stay
    dirty: BTreeSet<u64>,
    next: u64, // one past the page that was cleaned last
}

impl Cleaner {
    pub(super) fn new(most: u64) -> Self {
        Cleaner { most, dirty: BTreeSet::new(), next: 0 }
    }

    /// The page is dirty in the tier from now on, or is not.
    pub(super) fn note(&mut self, page: Page, is_dirty: bool) {
        match is_dirty {
            true => self.dirty.insert(page.0),
            false => self.dirty.remove(&page.0),
        };
    }

    /// The next page to clean, while too many are dirty. Ids of pages are in the order of
    /// addresses.
    pub(super) fn next(&mut self) -> Option<Page> {
        if self.dirty.len() as u64 <= self.most {
            return None;
        }
        let ahead = self.dirty.range(self.next..).next();
        let page = *ahead.or_else(|| self.dirty.first())?;
        self.next = page + 1;
        Some(Page(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_is_cleaned_from_where_the_last_write_back_stopped() {
        let mut cleaner = Cleaner::new(2);
        let mut cleaned = Vec::new();
        for page in [5, 9, 7, 1, 3, 8] {
            cleaner.note(Page(page), true);
            while let Some(page) = cleaner.next() {
                cleaner.note(page, false);
                cleaned.push(page.0);
            }
        }
        // 5 of 5 7 9; 7 of 1 7 9; 9 of 1 3 9; 1 of 1 3 8, as none is ahead.
        assert_eq!(cleaned, [5, 7, 9, 1]);
        cleaner.note(Page(9), true);
        cleaner.note(Page(9), false);
        assert_eq!(cleaner.next(), None, "9 has left");
    }
}
