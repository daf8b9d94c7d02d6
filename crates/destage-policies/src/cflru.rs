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
//! while nothing is written; tests say so.
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
//! interleave is never asked: clean pages go first, and the LRU page is wanted only if all are
//! dirty.
//!
//! Cost. O(1).

use crate::params::{Default, Kind, Param};
use crate::{BuildError, Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "cflru",
    title: "Clean-First LRU",
    source: "Park, Jung, Kang, Kim, Lee. CFLRU: a replacement algorithm for flash memory. \
             CASES 2006",
    about: "Evict clean pages first, within a window of cold pages.",
    flash_aware: true,
    ghosts: false,
    time: "O(1)",
    params: &[Param {
        name: "window_fraction",
        symbol: "w/s",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: Default::Real(0.5),
        unit: "of frames",
        about: "The clean-first region. Default: chosen, the source has none; ACR uses 0.75, \
                AALRU 0.4, ECR 1/x for x = 1..6.",
    }],
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
}

impl<D: Directory> Cflru<D> {
    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        let pages = Pages::new(directory, 3);
        Ok(Cflru {
            working: List::new(&pages, WORKING),
            clean: List::new(&pages, CLEAN),
            dirty: List::new(&pages, DIRTY),
            pages,
            window: share(setup.params.real("window_fraction"), setup.frames),
            frames: setup.frames,
        })
    }

    /// Moves the window's edge towards the MRU end until it holds `w` pages, or all there are.
    #[inline(always)]
    fn fill_window(&mut self) {
        while self.clean.len() + self.dirty.len() < self.window
            && let Some(slot) = self.working.pop_lru(&mut self.pages)
        {
            let list = if self.pages[slot].dirty { &mut self.dirty } else { &mut self.clean };
            list.push_mru(&mut self.pages, slot);
        }
    }
}

impl<D: Directory> Policy for Cflru<D> {
    type Miss = (); // a miss has nothing to remember: CFLRU keeps no history

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
    fn evict(&mut self, (): &(), _: &dyn DeviceView, plan: &mut Plan) {
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

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.working.len() + self.clean.len() + self.dirty.len()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in [&self.working, &self.clean, &self.dirty] {
            list.iter(&self.pages)
                .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
        }
    }

    #[inline(always)]
    fn warm(&self, page: Page) {
        self.pages.warm(page);
    }

    #[inline(always)]
    fn warm_links(&self, page: Page) {
        self.pages.warm_links(page);
    }

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
