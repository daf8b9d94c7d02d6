//! AD-LRU: cold clean pages first, but the cold region keeps a minimum size.
//!
//! Jin, Ou, Haerder, Li. AD-LRU: an efficient buffer replacement algorithm for flash-based
//! databases. Data & Knowledge Engineering 72, 2012. Described in AALRU.
//!
//! Rules. Two LRU lists, `cold` and `hot`, each with clean and dirty pages; a bit *ref* per page. A
//! hit page moves to the MRU end of `hot`, *ref* = 1; a new one comes in at the MRU end of `cold`,
//! *ref* = 1. The victim comes from `cold` if it has more than `min_lc` pages, else from `hot`; if
//! that list is empty, from the other one. Victim of a list: its clean page nearest the LRU end,
//! whatever its *ref*; if all are dirty, look at the LRU page until one may go: *ref* = 0 goes,
//! *ref* = 1 becomes 0 and moves to the MRU end of the same list.
//!
//! Readings. `min_lc`'s default is the ratio that AALRU's experiments take from the original.
//! `hot` empty while `|cold| <= min_lc` (only for `min_lc = s`, or right after the start) is not
//! treated in the source: the other list serves. A page of `hot` leaves it only by eviction.
//!
//! Each list is kept as two, one of its clean and one of its dirty pages. Pages enter at MRU ends
//! only, and their state changes only in a hit, which moves them; so both are in the order of the
//! whole list. How they interleave is never asked: the clean pages go first, and dirty ones go
//! round only while there is no clean one.
//!
//! Cost. O(1) amortised: a page goes round only if a hit or its admission has set *ref*.

use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Pages, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "ad-lru",
    title: "Adaptive Double LRU",
    source: "Jin, Ou, Haerder, Li. AD-LRU: an efficient buffer replacement algorithm for \
             flash-based databases. Data & Knowledge Engineering 72, 2012",
    about: "Cold clean pages first, but the cold region keeps a minimum size.",
    flash_aware: true,
    time: "O(1) amortised",
    params: &[Param {
        name: "min_lc_fraction",
        symbol: "min_lc/s",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(0.2),
        unit: "of frames",
        about: "Size below which the cold list gives no victims. Default: AALRU's experiments.",
        ..Param::BLANK
    }],
    ..Info::BLANK
};

/// One LRU list, as the list of its clean and the list of its dirty pages, each MRU to LRU.
struct Region {
    clean: List,
    dirty: List,
}

impl Region {
    fn len(&self) -> u32 {
        self.clean.len() + self.dirty.len()
    }

    #[inline(always)]
    fn push_mru<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot) {
        let list = if pages[slot].dirty { &mut self.dirty } else { &mut self.clean };
        list.push_mru(pages, slot);
    }

    #[inline(always)]
    fn pop_victim<D: Directory>(&mut self, pages: &mut Pages<D>) -> Option<Slot> {
        if let Some(slot) = self.clean.pop_lru(pages) {
            return Some(slot);
        }
        loop {
            let slot = self.dirty.pop_lru(pages)?;
            if pages[slot].mark == 0 {
                return Some(slot);
            }
            pages[slot].mark = 0;
            self.dirty.push_mru(pages, slot);
        }
    }
}

const COLD_CLEAN: u8 = 1;
const COLD_DIRTY: u8 = 2;
const HOT_CLEAN: u8 = 3;
const HOT_DIRTY: u8 = 4;

/// The policy. A node's `mark` is its *ref* bit.
pub struct AdLru<D> {
    pages: Pages<D>, // every resident page
    cold: Region,    // requested once
    hot: Region,     // requested again
    min_lc: u32,     // size below which the cold list gives no victims
    frames: u32,
}

impl<D: Directory> AdLru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 4);
        let region = |clean, dirty| Region {
            clean: List::new(&pages, clean),
            dirty: List::new(&pages, dirty),
        };
        AdLru {
            cold: region(COLD_CLEAN, COLD_DIRTY),
            hot: region(HOT_CLEAN, HOT_DIRTY),
            pages,
            min_lc: share(setup.params.real("min_lc_fraction"), setup.frames),
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for AdLru<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let list = match self.pages[slot].list {
            COLD_CLEAN => &mut self.cold.clean,
            COLD_DIRTY => &mut self.cold.dirty,
            HOT_CLEAN => &mut self.hot.clean,
            _ => &mut self.hot.dirty,
        };
        list.unlink(&mut self.pages, slot);
        let node = &mut self.pages[slot];
        node.dirty |= r.op.is_write();
        node.mark = 1;
        self.hot.push_mru(&mut self.pages, slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let (list, other) = if self.cold.len() > self.min_lc {
            (&mut self.cold, &mut self.hot)
        } else {
            (&mut self.hot, &mut self.cold)
        };
        let victim = list
            .pop_victim(&mut self.pages)
            .or_else(|| other.pop_victim(&mut self.pages))
            .expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        let node = &mut self.pages[slot];
        node.dirty = r.op.is_write();
        node.mark = 1;
        self.cold.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! {
        self.pages: [self.cold.clean, self.cold.dirty, self.hot.clean, self.hot.dirty];
        frames: self.frames
    }

    forgets_on_lists! {
        self.pages: [self.cold.clean, self.cold.dirty, self.hot.clean, self.hot.dirty]
    }

    shows! {
        self.pages;
        "cold clean" => self.cold.clean.iter(&self.pages),
        "cold dirty" => self.cold.dirty.iter(&self.pages),
        "hot clean" => self.hot.clean.iter(&self.pages),
        "hot dirty" => self.hot.dirty.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        for region in [&self.cold, &self.hot] {
            region.clean.check(&self.pages);
            region.dirty.check(&self.pages);
            assert!(region.clean.iter(&self.pages).all(|slot| !self.pages[slot].dirty));
            assert!(region.dirty.iter(&self.pages).all(|slot| self.pages[slot].dirty));
        }
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::{Dense, Op::*};

    fn ad_lru(frames: u32, min_lc_fraction: f64) -> AdLru<Dense> {
        let min_lc_fraction = Value::Real(min_lc_fraction);
        AdLru::new(
            &setup("ad-lru", frames, &[("min_lc_fraction", min_lc_fraction)]),
            Dense::new(16),
        )
    }

    /// Pages with their *ref* bits; clean and dirty pages of each list apart, MRU to LRU.
    fn lists(p: &AdLru<Dense>) -> String {
        let list = |list: &List| {
            show(list.iter(&p.pages).map(|slot| format!("{}/{}", slot.0, p.pages[slot].mark)))
        };
        let region = |r: &Region| format!("C[{}] D[{}]", list(&r.clean), list(&r.dirty));
        format!("cold {} hot {}", region(&p.cold), region(&p.hot))
    }

    #[test]
    fn dirty_pages_of_a_list_without_clean_ones_lose_ref_before_they_go() {
        let mut p = ad_lru(4, 0.25);
        let trace = [
            (Read, 1),
            (Write, 2),
            (Read, 3),
            (Read, 1),
            (Write, 2),
            (Write, 4),
            (Read, 5),
            (Write, 6),
        ];
        assert_eq!(victims(&drive(&mut p, &trace)), [3, 5], "clean ones, whatever their ref");
        assert_eq!(lists(&p), "cold C[] D[6/1 4/1] hot C[1/1] D[2/1]");
        assert_eq!(drive(&mut p, &[(Write, 3)])[0].evicted, [(4, true)]);
        assert_eq!(lists(&p), "cold C[] D[3/1 6/0] hot C[1/1] D[2/1]");
        assert_eq!(drive(&mut p, &[(Write, 7)])[0].evicted, [(6, true)]);
    }

    #[test]
    fn a_cold_list_of_minimum_length_gives_no_victim() {
        let mut p = ad_lru(3, 1.0 / 3.0);
        let steps = drive(&mut p, &reads(&[1, 1, 2, 2, 3, 4]));
        assert_eq!(steps[5].evicted, [(1, false)]);
        assert_eq!(lists(&p), "cold C[4/1 3/1] D[] hot C[2/1] D[]");
    }

    #[test]
    fn without_hot_pages_the_cold_list_serves_below_its_minimum() {
        let mut p = ad_lru(2, 1.0);
        assert_eq!(victims(&drive(&mut p, &[(Write, 1), (Read, 2), (Read, 3)])), [2]);
    }
}
