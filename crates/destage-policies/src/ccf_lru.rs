//! CCF-LRU: evict in the order cold clean, cold dirty, hot clean, hot dirty.
//!
//! Li, Jung, Jung, Kang, Cha. CCF-LRU: a new buffer replacement algorithm for flash memory. IEEE
//! Transactions on Consumer Electronics 55(3), 2009. Described in AALRU.
//!
//! Rules. Two LRU lists: `cold_clean` (clean pages with *cold* = 1) and `mixed` (all others). A
//! hit page moves to the MRU end of `mixed`, *cold* = 0. A new page comes in with *cold* = 1, at
//! the MRU end of `cold_clean` if it was read, of `mixed` if it was written. Victim: the LRU page
//! of `cold_clean`. If there is none, look at the LRU page of `mixed` until one may go: a cold one
//! goes; a hot one becomes cold and moves to the MRU end, of `cold_clean` if it is clean, of
//! `mixed` if it is dirty.
//!
//! Readings. The published algorithm does not treat the case in which all pages of `mixed` are hot
//! and clean, so that the search empties it: the LRU page of `cold_clean` goes then. After a hot
//! clean page has become cold, the search goes on in `mixed` and does not take it at once: this
//! keeps the stated order, a cold dirty page before a hot clean one. A page that comes in by a
//! write starts cold: one reference makes no page hot.
//!
//! Cost. O(1) amortised: only a hit makes a page hot.

use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, List, Lookup, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "ccf-lru",
    title: "Cold-Clean-First LRU",
    source: "Li, Jung, Jung, Kang, Cha. CCF-LRU: a new buffer replacement algorithm for flash \
             memory. IEEE Transactions on Consumer Electronics 55(3), 2009",
    about: "Evict in the order cold clean, cold dirty, hot clean, hot dirty.",
    flash_aware: true,
    time: "O(1) amortised",
    ..Info::BLANK
};

/// The policy. A node's `mark` is its *cold* bit.
pub struct CcfLru<D> {
    pages: Pages<D>,  // every resident page
    cold_clean: List, // clean pages with cold = 1, MRU to LRU
    mixed: List,      // all others, MRU to LRU
    frames: u32,
}

impl<D: Directory> CcfLru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 2);
        CcfLru {
            cold_clean: List::new(&pages, 1),
            mixed: List::new(&pages, 2),
            pages,
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn victim(&mut self) -> Option<Slot> {
        if let Some(slot) = self.cold_clean.pop_lru(&mut self.pages) {
            return Some(slot);
        }
        while let Some(slot) = self.mixed.pop_lru(&mut self.pages) {
            let node = &mut self.pages[slot];
            if node.mark == 1 {
                return Some(slot);
            }
            node.mark = 1;
            let list = if node.dirty { &mut self.mixed } else { &mut self.cold_clean };
            list.push_mru(&mut self.pages, slot);
        }
        self.cold_clean.pop_lru(&mut self.pages)
    }
}

impl<D: Directory> Policy for CcfLru<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let list = if self.cold_clean.holds(&self.pages, slot) {
            &mut self.cold_clean
        } else {
            &mut self.mixed
        };
        list.unlink(&mut self.pages, slot);
        let node = &mut self.pages[slot];
        node.dirty |= r.op.is_write();
        node.mark = 0;
        self.mixed.push_mru(&mut self.pages, slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.victim().expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        let dirty = r.op.is_write();
        let node = &mut self.pages[slot];
        node.dirty = dirty;
        node.mark = 1;
        let list = if dirty { &mut self.mixed } else { &mut self.cold_clean };
        list.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.cold_clean, self.mixed]; frames: self.frames }

    forgets_on_lists! { self.pages: [self.cold_clean, self.mixed] }

    shows! {
        self.pages;
        "cold-clean" => self.cold_clean.iter(&self.pages),
        "mixed" => self.mixed.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        self.cold_clean.check(&self.pages);
        self.mixed.check(&self.pages);
        let cold_and_clean = |slot| self.pages[slot].mark == 1 && !self.pages[slot].dirty;
        assert!(self.cold_clean.iter(&self.pages).all(cold_and_clean));
        assert!(!self.mixed.iter(&self.pages).any(cold_and_clean), "mixed holds all others");
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, show, victims};
    use destage_core::{Dense, Op::*};

    fn ccf_lru(frames: u32) -> CcfLru<Dense> {
        CcfLru::new(&Setup::new(frames), Dense::new(16))
    }

    /// Pages of `mixed` as `page/C or D/cold`, MRU to LRU.
    fn lists(p: &CcfLru<Dense>) -> String {
        let mixed = |slot| {
            let node = &p.pages[slot];
            format!("{}/{}/{}", slot.0, if node.dirty { "D" } else { "C" }, node.mark)
        };
        format!(
            "cold_clean[{}] mixed[{}]",
            show(p.cold_clean.iter(&p.pages).map(|slot| slot.0)),
            show(p.mixed.iter(&p.pages).map(mixed))
        )
    }

    #[test]
    fn a_cold_dirty_page_goes_before_a_hot_clean_one_which_becomes_cold() {
        let mut p = ccf_lru(4);
        let trace =
            [(Read, 1), (Write, 2), (Read, 3), (Read, 1), (Write, 4), (Write, 2), (Write, 7)];
        assert_eq!(victims(&drive(&mut p, &trace)), [3]);
        assert_eq!(lists(&p), "cold_clean[] mixed[7/D/1 2/D/0 4/D/1 1/C/0]");
        assert_eq!(drive(&mut p, &[(Write, 8)])[0].evicted, [(4, true)]);
        assert_eq!(lists(&p), "cold_clean[1] mixed[8/D/1 7/D/1 2/D/0]");
    }

    #[test]
    fn a_hot_dirty_page_becomes_cold_and_stays() {
        let mut p = ccf_lru(2);
        drive(&mut p, &[(Write, 1), (Write, 1), (Write, 2)]);
        assert_eq!(drive(&mut p, &[(Read, 3)])[0].evicted, [(2, true)]);
        assert_eq!(lists(&p), "cold_clean[3] mixed[1/D/1]");
    }

    #[test]
    fn with_all_pages_hot_and_clean_the_oldest_goes() {
        let mut p = ccf_lru(3);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 2, 1, 3, 4]))), [2]);
        assert_eq!(lists(&p), "cold_clean[4 3 1] mixed[]");
    }

    #[test]
    fn cold_clean_pages_go_first_however_young() {
        let mut p = ccf_lru(3);
        let trace = [(Write, 1), (Write, 2), (Read, 3), (Read, 4), (Read, 5)];
        assert_eq!(victims(&drive(&mut p, &trace)), [3, 4]);
    }
}
