//! Dirty pages of tier 2 that are written back, and stay: above a threshold, or stale ones
//! (`docs/spec/tiers.md` 4.9 and 4.11).

use super::alru::Alru;
use super::rules::Clean;
use destage_core::Page;
use std::collections::BTreeSet;

/// The dirty pages of a tier, and which of them are written back.
#[derive(Debug)]
pub(super) enum Cleaner {
    /// The excess above a threshold, after each access.
    Above(Above),
    /// Stale ones, between two requests.
    Stale(Alru),
}

impl Cleaner {
    pub(super) fn new(rule: Clean) -> Self {
        match rule {
            Clean::Above(most) => Cleaner::Above(Above::new(most)),
            Clean::Stale(rule) => Cleaner::Stale(Alru::new(rule)),
        }
    }

    /// The page is dirty in the tier from now on, or is not.
    #[inline(never)] // most runs have no cleaner
    pub(super) fn note(&mut self, page: Page, is_dirty: bool) {
        match self {
            Cleaner::Above(above) => above.note(page, is_dirty),
            Cleaner::Stale(alru) => alru.note(page, is_dirty),
        }
    }

    /// An access has come to the tier and is served: the next page to clean because of it.
    pub(super) fn after_access(&mut self) -> Option<Page> {
        match self {
            Cleaner::Above(above) => above.next(),
            Cleaner::Stale(alru) => {
                alru.accessed();
                None
            }
        }
    }

    /// The next arrival that it must be told, ns; the largest number: never.
    pub(super) fn awaits_ns(&self) -> u64 {
        match self {
            Cleaner::Above(_) => u64::MAX,
            Cleaner::Stale(alru) => alru.awaits_ns(),
        }
    }

    /// A request arrives, no earlier than the last one, and its accesses are still to come.
    pub(super) fn arrived(&mut self, now_ns: u64) {
        if let Cleaner::Stale(alru) = self {
            alru.arrived(now_ns);
        }
    }

    /// The pages to clean, in order, that were due before the request that has arrived: some of
    /// them, until there are none.
    pub(super) fn due(&mut self) -> Option<Vec<Page>> {
        match self {
            Cleaner::Above(_) => None,
            Cleaner::Stale(alru) => alru.batch(),
        }
    }
}

/// The dirty pages of a tier, and where the last write-back stopped.
///
/// After bcache's `writeback_percent`, whose thread goes through the dirty pages in order of
/// address. Here the excess is written back at once.
///
/// Cost. O(log d) whenever one of d dirty pages is written, leaves or is cleaned.
#[derive(Debug)]
pub(super) struct Above {
    most: u64, // dirty pages that may stay
    dirty: BTreeSet<u64>,
    next: u64, // one past the page that was cleaned last
}

impl Above {
    fn new(most: u64) -> Self {
        Above { most, dirty: BTreeSet::new(), next: 0 }
    }

    fn note(&mut self, page: Page, is_dirty: bool) {
        match is_dirty {
            true => self.dirty.insert(page.0),
            false => self.dirty.remove(&page.0),
        };
    }

    /// The next page to clean, while too many are dirty. Ids of pages are in the order of
    /// addresses.
    fn next(&mut self) -> Option<Page> {
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
        let mut cleaner = Above::new(2);
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
