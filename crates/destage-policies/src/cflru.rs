//! CFLRU: among the oldest pages, let clean ones go first.
//!
//! Park, Jung, Kang, Kim, Lee. CFLRU: a replacement algorithm for flash memory. CASES 2006.
//! Described in ACR section II.B and figure 2, ECR section 4.1, AALRU.
//!
//! Rules. One LRU list, cut into a working region (MRU side) and a clean-first region of `w` pages
//! (LRU side). Victim: the clean page nearest the LRU end inside the clean-first region; if it
//! holds none, the LRU page. A hit page moves to the MRU end; a new one comes in there.
//!
//! Readings. This is the variant with a fixed `w`, a parameter; the source has no default for it.
//! The working region may hold clean and dirty pages alike. `w = 0` is LRU, and so is any `w`
//! while nothing is written; tests say so. A page of the region that is written and stays (a policy
//! over this one, a background writer) becomes the newest of the region's clean pages: its turn
//! among them would take a search, and is the same wherever pages are written in the order of
//! eviction.
//!
//! The one list is kept as three, so that no search is needed:
//!
//! ```text
//!   MRU  working region │ clean-first region, w pages  LRU
//!        ───working───▶ ├──▶ clean ──▶ out first
//!                       └──▶ dirty ──▶ out if there is no clean page
//! ```
//!
//! Pages enter the region at its MRU side only, and a page that is hit leaves it before its state
//! can change. So `clean` and `dirty` are each in the order of the one list, and how they
//! interleave is not asked: clean pages go first, and the LRU page is wanted only if all are
//! dirty. Only where dirty pages become clean in the region out of turn (`keep_order`), it is
//! numbered in which order pages have entered it.
//!
//! Cost. O(1).

use crate::elastic::Elastic;
use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param, Params};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, PerSlot, Plan, Policy, Request, Slot, share,
};
use std::collections::VecDeque;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "cflru",
    title: "Clean-First LRU",
    source: "Park, Jung, Kang, Kim, Lee. CFLRU: a replacement algorithm for flash memory. \
             CASES 2006",
    about: "Evict clean pages first, within a window of cold pages.",
    flash_aware: true,
    lru_of_reads: true,
    time: "O(1)",
    params: &[Param {
        name: "window_fraction",
        symbol: "w/s",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(0.5),
        unit: "of frames",
        about: "The clean-first region. Default: chosen, the source has none; ACR uses 0.75, \
                AALRU 0.4, ECR 1/x for x = 1..6.",
        ..Param::BLANK
    }],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

const WORKING: u8 = 1;
const CLEAN: u8 = 2;
const DIRTY: u8 = 3;

/// The policy.
pub struct Cflru<D> {
    pages: Pages<D>, // every resident page
    working: List,   // working region, MRU to LRU
    clean: List,     // clean pages of the clean-first region, MRU to LRU
    dirty: List,     // dirty pages of the clean-first region, MRU to LRU
    window: u32,     // w, the clean-first region
    frames: u32,
    entries: u64,                  // into the window, with `keep_order`
    entered: Option<PerSlot<u64>>, // which of them a page of the window was
}

impl<D: Directory> Cflru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 3);
        Cflru {
            working: List::new(&pages, WORKING),
            clean: List::new(&pages, CLEAN),
            dirty: List::new(&pages, DIRTY),
            pages,
            window: share(setup.params.real("window_fraction"), setup.frames),
            frames: setup.frames,
            entries: 0,
            entered: None,
        }
    }

    /// Moves the window's edge towards the MRU end until it holds `w` pages, or all there are.
    #[inline(always)]
    fn fill_window(&mut self) {
        while self.clean.len() + self.dirty.len() < self.window
            && let Some(slot) = self.working.pop_lru(&mut self.pages)
        {
            let list = if self.pages[slot].dirty { &mut self.dirty } else { &mut self.clean };
            list.push_mru(&mut self.pages, slot);
            if let Some(entered) = &mut self.entered {
                self.entries += 1;
                entered.set(slot, self.entries);
            }
        }
    }
}

impl<D: Directory> Policy for Cflru<D> {
    type Miss = (); // a miss has nothing to remember: CFLRU keeps no history

    const ORDERED: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        match self.pages[slot].list {
            WORKING => self.working.unlink(&mut self.pages, slot),
            CLEAN => self.clean.unlink(&mut self.pages, slot),
            _ => self.dirty.unlink(&mut self.pages, slot),
        }
        self.pages[slot].dirty |= r.op.is_write();
        self.working.push_mru(&mut self.pages, slot);
        self.fill_window();
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .clean
            .pop_lru(&mut self.pages)
            .or_else(|| self.dirty.pop_lru(&mut self.pages))
            .or_else(|| self.working.pop_lru(&mut self.pages)) // w = 0
            .expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.working.push_mru(&mut self.pages, slot);
        self.fill_window();
        slot
    }

    on_lists! { self.pages: [self.working, self.clean, self.dirty]; frames: self.frames }

    /// Each eviction lets the oldest page of the working region into the window: behind the
    /// window's own pages, clean ones among the clean, dirty ones among the dirty.
    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        let [mut clean, mut dirty, mut working] =
            [&self.clean, &self.dirty, &self.working].map(|list| list.oldest_first(&self.pages));
        let (mut clean_entered, mut dirty_entered) = (VecDeque::new(), VecDeque::new());
        loop {
            let victim = clean
                .next()
                .or_else(|| clean_entered.pop_front())
                .or_else(|| dirty.next())
                .or_else(|| dirty_entered.pop_front())
                .or_else(|| working.next()); // w = 0
            let Some(slot) = victim else { return };
            if !show(self.pages.page(slot), self.pages[slot].dirty) {
                return;
            }
            if self.window > 0
                && let Some(slot) = working.next()
            {
                let entered =
                    if self.pages[slot].dirty { &mut dirty_entered } else { &mut clean_entered };
                entered.push_back(slot);
            }
        }
    }

    fn keep_order(&mut self) {
        self.entered = Some(PerSlot::new(&self.pages));
    }

    /// O(clean pages of the window): a background writer does not look far beyond them.
    fn cleaned(&mut self, page: Page) {
        let slot = self.pages.find(page).expect("a page that is cleaned is resident");
        self.pages[slot].dirty = false;
        if !self.dirty.holds(&self.pages, slot) {
            return;
        }
        self.dirty.unlink(&mut self.pages, slot);
        let newer: Vec<Slot> = match &self.entered {
            None => Vec::new(), // it is its turn: what is clean was written before it
            Some(entered) => {
                let clean = self.clean.oldest_first(&self.pages);
                clean.filter(|&other| entered[other] > entered[slot]).collect()
            }
        };
        self.clean.push_mru(&mut self.pages, slot);
        newer.into_iter().for_each(|other| self.clean.touch(&mut self.pages, other));
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        match self.pages[slot].list {
            WORKING => self.working.unlink(&mut self.pages, slot),
            CLEAN => self.clean.unlink(&mut self.pages, slot),
            _ => self.dirty.unlink(&mut self.pages, slot),
        }
        self.pages.remove(slot);
        self.fill_window();
        Some(dirty)
    }

    shows! {
        self.pages;
        "working" => self.working.iter(&self.pages),
        "clean" => self.clean.iter(&self.pages),
        "dirty" => self.dirty.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        for list in [&self.working, &self.clean, &self.dirty] {
            list.check(&self.pages);
        }
        assert!(self.clean.iter(&self.pages).all(|slot| !self.pages[slot].dirty));
        assert!(self.dirty.iter(&self.pages).all(|slot| self.pages[slot].dirty));
        assert_eq!(
            self.clean.len() + self.dirty.len(),
            self.window.min(self.resident()),
            "the window holds the w oldest pages, or all there are"
        );
        assert!(self.resident() <= self.frames);
    }
}

impl<D: Directory> Elastic for Cflru<D> {
    /// Pages of the window stay there if it is to hold fewer.
    fn resize(&mut self, frames: u32, params: &Params) {
        self.frames = frames;
        self.window = share(params.real("window_fraction"), frames);
        self.fill_window();
    }

    fn candidate(&self, (): &()) -> Option<Page> {
        let lists = [&self.clean, &self.dirty, &self.working];
        Some(self.pages.page(lists.into_iter().find_map(|list| list.lru(&self.pages))?))
    }

    fn leave(&mut self, page: Page, params: &Params) {
        self.resize(self.resident() - 1, params);
        self.forget(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lru::Lru;
    use crate::params::Value;
    use crate::testing::{drive, mixed, setup, victims};
    use destage_core::{Dense, Op::*};

    fn cflru(frames: u32, window_fraction: f64) -> Cflru<Dense> {
        let window_fraction = Value::Real(window_fraction);
        Cflru::new(&setup("cflru", frames, &[("window_fraction", window_fraction)]), Dense::new(64))
    }

    #[test]
    fn a_clean_page_inside_the_window_goes_before_an_older_dirty_one() {
        // LRU 1d 2c | 3d 4c MRU, w = 2
        let mut p = cflru(4, 0.5);
        let steps = drive(&mut p, &[(Write, 1), (Read, 2), (Write, 3), (Read, 4), (Read, 5)]);
        assert_eq!(steps[4].evicted, [(2, false)]);
    }

    #[test]
    fn a_clean_page_outside_the_window_saves_no_dirty_one() {
        // LRU 1d 3d | 4d 2c MRU, w = 2
        let mut p = cflru(4, 0.5);
        let steps =
            drive(&mut p, &[(Write, 1), (Read, 2), (Write, 3), (Write, 4), (Read, 2), (Read, 5)]);
        assert_eq!(steps[5].evicted, [(1, true)]);
    }

    #[test]
    fn a_page_written_inside_the_window_leaves_it_and_comes_back_dirty() {
        // LRU 1d 2d | 3c MRU after the write to 1; then 1 is inside the window again, and dirty.
        let mut p = cflru(3, 2.0 / 3.0);
        let trace = [(Read, 1), (Write, 2), (Read, 3), (Write, 1), (Write, 4), (Write, 5)];
        let steps = drive(&mut p, &trace);
        assert_eq!(steps[4].evicted, [(3, false)]);
        assert_eq!(steps[5].evicted, [(2, true)]);
        assert_eq!(drive(&mut p, &[(Read, 6)])[0].evicted, [(1, true)]);
    }

    #[test]
    fn a_page_that_becomes_clean_in_the_window_keeps_its_place_among_the_clean_ones() {
        // LRU 1d 2c 3d 4c MRU, all in the window; 3 and then 1 are written, and stay.
        let mut p = cflru(4, 1.0);
        p.keep_order();
        drive(&mut p, &[(Write, 1), (Read, 2), (Write, 3), (Read, 4)]);
        p.cleaned(Page(3));
        p.cleaned(Page(1));
        p.check();
        let steps = drive(&mut p, &[(Write, 5), (Write, 6), (Write, 7), (Write, 8)]);
        assert_eq!(victims(&steps), [1, 2, 3, 4]);
    }

    #[test]
    fn without_a_window_it_is_lru() {
        let trace = mixed(2000, 48);
        for frames in [1, 2, 7, 24] {
            let mut lru = Lru::new(&Setup::new(frames), Dense::new(64));
            let mut p = cflru(frames, 0.0);
            assert_eq!(drive(&mut p, &trace), drive(&mut lru, &trace), "{frames} frames");
        }
    }

    #[test]
    fn with_any_window_it_is_lru_while_nothing_is_written() {
        let trace: Vec<_> = mixed(2000, 48).into_iter().map(|(_, page)| (Read, page)).collect();
        let mut lru = Lru::new(&Setup::new(9), Dense::new(64));
        let expected = victims(&drive(&mut lru, &trace));
        for window in [0.1, 0.5, 1.0] {
            assert_eq!(victims(&drive(&mut cflru(9, window), &trace)), expected, "{window}");
        }
    }
}
