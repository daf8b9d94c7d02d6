//! `tinylfu`: a page is taken if it missed tier 1 often enough.
//!
//! Einziger, Friedman, Manes. TinyLFU: a highly efficient cache admission policy. ACM TOS 13(4),
//! 2017.
//!
//! Rules (`docs/spec/tiers.md` 5). A `count`, 0..=15, of every page. An access that misses tier 1
//! adds one to its page's count; after `sample_factor * s` of them all counts are halved, and so is
//! the number of accesses seen. An offer changes no count. It is taken if the count reaches the
//! `threshold`; without one, if tier 2 has a free frame or the page's count is above that of the
//! first page of tier 2's order of eviction.
//!
//! State. A page's count with the number of the halving up to which it is right: what has been
//! halved since is made up for when the count is read.
//!
//! Cost. O(1) amortised; four bytes per page of the trace.

use super::Filter;
use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::pages::prefetch;
use destage_core::{Page, Policy};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "tinylfu",
    title: "TinyLFU with exact counts",
    source: "Einziger, Friedman, Manes, ACM TOS 13(4), 2017",
    about: "Take a page that missed tier 1 more often than the next victim, or often enough.",
    reads_time: false,
    reads_compute_time: false,
    params: &[
        Param {
            name: "threshold",
            kind: Kind::OptionalInt { min: 1, max: COUNT_MAX as u64 },
            default: IfAbsent::None("compared with the next victim of tier 2"),
            unit: "accesses",
            about: "Count from which a page is taken.",
            ..Param::BLANK
        },
        Param {
            name: "sample_factor",
            symbol: "W/C",
            kind: Kind::Int { min: 1, max: 1000 },
            default: IfAbsent::Int(10),
            unit: "accesses per frame of tier 2",
            about: "Accesses between two halvings.",
            ..Param::BLANK
        },
    ],
};

const COUNT_MAX: u32 = 15;
/// Halvings are numbered up to this: a mark is a count (four bits) below such a number.
const ERAS: u32 = 1 << 28;

/// The filter.
pub struct TinyLfu {
    marks: Vec<u32>,
    era: u32,
    seen: u64,
    sample: u64,
    threshold: Option<u32>,
}

impl TinyLfu {
    /// The page's count, now.
    #[inline]
    fn count(&self, page: Page) -> u32 {
        let mark = self.marks[page.0 as usize];
        (mark & COUNT_MAX) >> (self.era - (mark >> 4)).min(4)
    }

    /// Brings all counts up to date, so that halvings are numbered from 0 again.
    #[cold]
    fn renumber(&mut self) {
        for page in 0..self.marks.len() {
            self.marks[page] = self.count(Page(page as u64));
        }
        self.era = 0;
    }
}

impl Filter for TinyLfu {
    fn new(params: &Params, frames: u32, pages: u32, _: u64) -> Self {
        TinyLfu {
            marks: vec![0; pages as usize],
            era: 0,
            seen: 0,
            sample: params.int("sample_factor") * u64::from(frames),
            threshold: params.optional_int("threshold").map(|threshold| threshold as u32),
        }
    }

    #[inline(always)]
    fn prefetch_offer(&self, page: Page) {
        prefetch(&self.marks, page.0 as usize);
    }

    #[inline(always)]
    fn prefetch_missed(&self, page: Page) {
        prefetch(&self.marks, page.0 as usize);
    }

    #[inline]
    fn missed(&mut self, page: Page) {
        let count = (self.count(page) + 1).min(COUNT_MAX);
        self.marks[page.0 as usize] = self.era << 4 | count;
        self.seen += 1;
        if self.seen == self.sample {
            self.seen /= 2;
            if self.era + 1 == ERAS {
                self.renumber();
            }
            self.era += 1;
        }
    }

    #[inline]
    fn admits<P: Policy>(&mut self, page: Page, tier2: &P) -> bool {
        let count = self.count(page);
        if let Some(threshold) = self.threshold {
            return count >= threshold;
        }
        if tier2.resident() < tier2.frames() {
            return true;
        }
        let mut above = true;
        tier2.next_victims(&mut |victim, _| {
            above = count > self.count(victim);
            false
        });
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stay_right_when_halvings_are_numbered_from_0_again() {
        let given = [("sample_factor", &crate::params::Value::Int(1))];
        let params = Params::check("tinylfu", INFO.params, given).expect("good parameters");
        let mut filter = TinyLfu::new(&params, 4, 10, 4096);
        filter.era = ERAS - 1;
        (0..3).for_each(|_| filter.missed(Page(1)));
        filter.missed(Page(2));
        let counts = |filter: &TinyLfu| [1, 2, 3].map(|page| filter.count(Page(page)));
        assert_eq!((filter.era, counts(&filter)), (1, [1, 0, 0]));
    }
}
