//! `nth`: a page is taken at its n-th offer, while its offers are remembered.
//!
//! Rules (`docs/spec/tiers.md` 5). A list of (page, offers so far), at most `g`. An offer: the page
//! leaves the list; it is offer number `k`. `k >= n`: taken. Else declined: if the list has `g`
//! entries, the oldest goes; (page, k) enters as the newest.
//!
//! Cost. O(1); two links and a count per page of the trace.

use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{Dense, List, Page, Pages, PerSlot, share};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "nth",
    title: "Admission at the n-th offer",
    source: "",
    about: "Take a page at its n-th offer, while it is remembered.",
    params: &[
        Param {
            name: "n",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: IfAbsent::Int(2),
            unit: "offers",
            about: "Offers of a page until it is taken.",
            ..Param::BLANK
        },
        Param {
            name: "ghost_fraction",
            kind: Kind::Real { min: 0.0, max: 16.0 },
            default: IfAbsent::Real(1.0),
            unit: "of the frames of tier 2",
            about: "Pages whose offers are remembered, at least one.",
            ..Param::BLANK
        },
    ],
};

/// The filter.
pub struct Nth {
    pages: Pages<Dense>, // every remembered page
    remembered: List,    // newest first
    offers: PerSlot<u32>,
    n: u32,
    capacity: u32, // g
}

impl Nth {
    /// For a tier of `frames` frames, over pages numbered from 0.
    pub fn new(params: &Params, frames: u32, pages: u32) -> Self {
        let pages = Pages::new(Dense::new(pages), 1);
        Nth {
            remembered: List::new(&pages, 1),
            offers: PerSlot::new(&pages),
            pages,
            n: params.int("n") as u32,
            capacity: share(params.real("ghost_fraction"), frames).max(1),
        }
    }

    /// Brings near what is remembered of the page.
    #[inline(always)]
    pub fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
        self.offers.prefetch(page);
    }

    /// Answers an offer.
    #[inline]
    pub fn admits(&mut self, page: Page) -> bool {
        let known = self.pages.find(page);
        let offers = known.map_or(0, |slot| self.offers[slot]).saturating_add(1);
        if let Some(slot) = known {
            self.remembered.unlink(&mut self.pages, slot);
            self.pages.remove(slot);
        }
        if offers >= self.n {
            return true;
        }
        if self.remembered.len() == self.capacity {
            let oldest = self.remembered.pop_lru(&mut self.pages).expect("it has entries");
            self.pages.remove(oldest);
        }
        let slot = self.pages.insert(page);
        self.offers[slot] = offers;
        self.remembered.push_mru(&mut self.pages, slot);
        false
    }

    /// A trim: the page's offers are forgotten.
    pub fn forget(&mut self, page: Page) {
        if let Some(slot) = self.pages.find(page) {
            self.remembered.unlink(&mut self.pages, slot);
            self.pages.remove(slot);
        }
    }
}
