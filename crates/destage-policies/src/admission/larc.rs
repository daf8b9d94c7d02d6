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
//! Cost. O(1); two links per page of the trace.

use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{Dense, List, Page, Pages};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "larc",
    title: "Lazy adaptive admission (LARC)",
    source: "Huang, Wei, Chen, Chen, Feng, MSST 2013",
    about: "Take a page at its second offer, while it is remembered; the memory adapts.",
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
    pages: Pages<Dense>, // every remembered page
    remembered: List,    // Q_r, newest first
    c_r: f64,            // wanted length of Q_r
    s: f64,
    admit_while_filling: bool,
}

impl LarcAdmission {
    /// For a tier of `frames` frames, over pages numbered from 0.
    pub fn new(params: &Params, frames: u32, pages: u32) -> Self {
        let pages = Pages::new(Dense::new(pages), 1);
        LarcAdmission {
            remembered: List::new(&pages, 1),
            pages,
            c_r: 0.1 * f64::from(frames),
            s: f64::from(frames),
            admit_while_filling: params.flag("admit_while_filling"),
        }
    }

    /// Brings near what is remembered of the page.
    #[inline(always)]
    pub fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
    }

    /// A look-up found its page in tier 2.
    #[inline]
    pub fn tier2_hit(&mut self) {
        self.c_r = f64::max(0.1 * self.s, self.c_r - self.s / (self.s - self.c_r));
    }

    /// Answers an offer; whether tier 2 has a free frame.
    #[inline]
    pub fn admits(&mut self, page: Page, has_free_frame: bool) -> bool {
        self.c_r = f64::min(0.9 * self.s, self.c_r + self.s / self.c_r);
        if let Some(slot) = self.pages.find(page) {
            self.remembered.unlink(&mut self.pages, slot);
            self.pages.remove(slot);
            return true;
        }
        if self.admit_while_filling && has_free_frame {
            return true;
        }
        let slot = self.pages.insert(page);
        self.remembered.push_mru(&mut self.pages, slot);
        if f64::from(self.remembered.len()) > f64::max(1.0, self.c_r) {
            let oldest = self.remembered.pop_lru(&mut self.pages).expect("it has entries");
            self.pages.remove(oldest);
        }
        false
    }

    /// A trim: the page leaves Q_r.
    pub fn forget(&mut self, page: Page) {
        if let Some(slot) = self.pages.find(page) {
            self.remembered.unlink(&mut self.pages, slot);
            self.pages.remove(slot);
        }
    }
}
