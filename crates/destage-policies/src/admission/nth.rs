//! `nth`: a page is taken at its n-th offer, while its offers are remembered.
//!
//! Rules (`docs/spec/tiers.md` 5). A list of (page, offers so far), at most `g`. An offer: the page
//! leaves the list; it is offer number `k`. `k >= n`: taken. Else declined: if the list has `g`
//! entries, the oldest goes; (page, k) enters as the newest.
//!
//! Cost. O(1) amortised; a count and a place per page of the trace.

use super::info::AdmissionInfo;
use super::{Filter, POPS_AHEAD};
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{Page, PerSlot, Places, Policy, Queue, Slot, share};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "nth",
    title: "Admission at the n-th offer",
    source: "",
    about: "Take a page at its n-th offer, while it is remembered.",
    reads_time: false,
    reads_compute_time: false,
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
    offers: PerSlot<u32>, // by page; 0: not remembered
    remembered: Queue,    // the pages with offers
    places: Places,
    n: u32,
    capacity: u32, // g
}

impl Filter for Nth {
    fn new(params: &Params, frames: u32, pages: u32, _: u64) -> Self {
        Nth {
            offers: PerSlot::with_slots(pages as usize),
            remembered: Queue::new(),
            places: Places::with_slots(pages as usize),
            n: params.int("n") as u32,
            capacity: share(params.real("ghost_fraction"), frames).max(1),
        }
    }

    #[inline(always)]
    fn prefetch_offer(&self, page: Page) {
        self.offers.prefetch(page);
        self.places.prefetch(page);
    }

    #[inline]
    fn admits<P: Policy>(&mut self, page: Page, _: &P) -> bool {
        let slot = Slot(page.0 as u32);
        let before = std::mem::take(&mut self.offers[slot]);
        if before > 0 {
            self.remembered.take(slot, &self.places);
        }
        let offers = before.saturating_add(1);
        if offers >= self.n {
            return true;
        }
        if self.remembered.len() == self.capacity {
            let oldest = self.remembered.pop().expect("it has entries");
            self.offers[oldest] = 0;
            self.offers.prefetch_slot(self.remembered.ahead(POPS_AHEAD));
        }
        self.offers[slot] = offers;
        self.remembered.push(slot, &mut self.places);
        false
    }

    fn forget(&mut self, page: Page) {
        let slot = Slot(page.0 as u32);
        if std::mem::take(&mut self.offers[slot]) > 0 {
            self.remembered.take(slot, &self.places);
        }
    }
}
