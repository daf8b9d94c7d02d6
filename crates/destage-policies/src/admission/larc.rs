//! `larc`: a page is taken at its second offer, while it is remembered; how long, adapts.
//!
//! Huang, Wei, Chen, Chen, Feng. Improving flash-based disk cache with Lazy Adaptive Replacement.
//! MSST 2013. The filter of the policy [`larc`](crate::larc) alone, in front of any other.
//!
//! Rules (`docs/spec/tiers.md` 5), `s` the frames of tier 2.
//!
//! ```text
//!  tier-2 hit  C_r = max(0.1 s, C_r - s / (s - C_r))
//!  offer       C_r = min(0.9 s, C_r + s / C_r)
//!              in Q_r: leaves it, is taken
//!              else:   declined; to the MRU end of Q_r, whose LRU entry goes if the list is longer
//!                      than max(1, C_r)
//! ```
//!
//! Cost. O(1) amortised; a place and a mark per page of the trace.

use super::info::AdmissionInfo;
use super::{Filter, POPS_AHEAD};
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{Page, PerSlot, Places, Policy, Queue, Slot};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "larc",
    title: "Lazy adaptive admission (LARC)",
    source: "Huang, Wei, Chen, Chen, Feng, MSST 2013",
    about: "Take a page at its second offer, while it is remembered; the memory adapts.",
    reads_time: false,
    reads_compute_time: false,
    params: &[Param {
        name: "admit_while_filling",
        kind: Kind::Bool,
        default: IfAbsent::Bool(false),
        about: "Take every page until tier 2 is full.",
        ..Param::BLANK
    }],
};

/// The filter.
pub struct LarcAdmission {
    is_remembered: PerSlot<bool>, // by page
    remembered: Queue,            // Q_r
    places: Places,
    c_r: f64, // wanted length of Q_r
    s: f64,
    admit_while_filling: bool,
}

impl LarcAdmission {
    /// The page leaves Q_r; whether it was there.
    #[inline]
    fn leaves(&mut self, page: Page) -> bool {
        let slot = Slot(page.0 as u32);
        let was_remembered = std::mem::take(&mut self.is_remembered[slot]);
        if was_remembered {
            self.remembered.take(slot, &self.places);
        }
        was_remembered
    }
}

impl Filter for LarcAdmission {
    fn new(params: &Params, frames: u32, pages: u32, _: u64) -> Self {
        LarcAdmission {
            is_remembered: PerSlot::with_slots(pages as usize),
            remembered: Queue::new(),
            places: Places::with_slots(pages as usize),
            c_r: 0.1 * f64::from(frames),
            s: f64::from(frames),
            admit_while_filling: params.flag("admit_while_filling"),
        }
    }

    #[inline(always)]
    fn prefetch_offer(&self, page: Page) {
        self.is_remembered.prefetch(page);
        self.places.prefetch(page);
    }

    #[inline]
    fn tier2_hit(&mut self) {
        self.c_r = f64::max(0.1 * self.s, self.c_r - self.s / (self.s - self.c_r));
    }

    #[inline]
    fn admits<P: Policy>(&mut self, page: Page, tier2: &P) -> bool {
        self.c_r = f64::min(0.9 * self.s, self.c_r + self.s / self.c_r);
        let slot = Slot(page.0 as u32);
        if self.leaves(page) {
            return true;
        }
        if self.admit_while_filling && tier2.resident() < tier2.frames() {
            return true;
        }
        self.is_remembered[slot] = true;
        self.remembered.push(slot, &mut self.places);
        if f64::from(self.remembered.len()) > f64::max(1.0, self.c_r) {
            let oldest = self.remembered.pop().expect("it has entries");
            self.is_remembered[oldest] = false;
            self.is_remembered.prefetch_slot(self.remembered.ahead(POPS_AHEAD));
        }
        false
    }

    fn forget(&mut self, page: Page) {
        self.leaves(page);
    }
}
