//! LRU-WSR: dirty pages that are not cold get a second chance.
//!
//! Jung, Shim, Park, Kang, Cha. LRU-WSR: integration of LRU and writes sequence reordering for
//! flash memory. IEEE Transactions on Consumer Electronics 54(3), 2008. Described in AALRU.
//!
//! Rules. One LRU list; a bit *cold* per page. Hit: the page moves to the MRU end, *cold* = 0.
//! Victim: look at the LRU page until one may go. A clean one goes, whatever its *cold* says; a
//! dirty one goes if it is cold; else it becomes cold and moves to the MRU end. A new page, read
//! or written, comes in at the MRU end, not cold.
//!
//! Readings. Whether a hit on a clean page clears the bit is not said; it cannot matter, since a
//! clean page's bit is never read and becoming dirty needs a write hit, which clears it.
//!
//! While nothing is written it is LRU, and a test says so.
//!
//! Cost. O(1) amortised: between two second chances of a page lies a hit.

use crate::info::INTERVAL_FRAMES;
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lru-wsr",
    title: "LRU with Writes Sequence Reordering",
    source: "Jung, Shim, Park, Kang, Cha. LRU-WSR: integration of LRU and writes sequence \
             reordering for flash memory. IEEE Transactions on Consumer Electronics 54(3), 2008",
    about: "Give dirty pages that are not cold a second chance.",
    flash_aware: true,
    lru_of_reads: true,
    time: "O(1) amortised",
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// The policy. A node's `mark` is its *cold* bit.
pub struct LruWsr<D> {
    pages: Pages<D>, // every resident page
    list: List,      // all pages, MRU to LRU
    frames: u32,
}

impl<D: Directory> LruWsr<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 1);
        let list = List::new(&pages, 1);
        LruWsr { pages, list, frames: setup.frames }
    }
}

impl<D: Directory> Policy for LruWsr<D> {
    type Miss = ();

    const ORDERED: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let node = &mut self.pages[slot];
        node.dirty |= r.op.is_write();
        node.mark = 0;
        self.list.touch(&mut self.pages, slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        loop {
            let slot =
                self.list.pop_lru(&mut self.pages).expect("evict is only called on a full buffer");
            let node = &mut self.pages[slot];
            if !node.dirty || node.mark == 1 {
                let dirty = node.dirty;
                plan.evict(self.pages.remove(slot), dirty);
                return;
            }
            node.mark = 1;
            self.list.push_mru(&mut self.pages, slot);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.list.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.list]; frames: self.frames }

    /// Dirty pages that are not cold are passed once: they follow all others.
    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        let passed = |slot| self.pages[slot].dirty && self.pages[slot].mark == 0;
        let pages = || self.list.oldest_first(&self.pages);
        let mut order =
            pages().filter(|&slot| !passed(slot)).chain(pages().filter(|&slot| passed(slot)));
        order.all(|slot| show(self.pages.page(slot), self.pages[slot].dirty));
    }

    /// A clean page is neither cold nor not: it goes when its turn comes.
    fn cleaned(&mut self, page: Page) {
        let slot = self.pages.find(page).expect("a page that is cleaned is resident");
        let node = &mut self.pages[slot];
        (node.dirty, node.mark) = (false, 0);
    }

    forgets_on_lists! { self.pages: [self.list] }

    shows! { self.pages; "list" => self.list.iter(&self.pages) }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        self.list.check(&self.pages);
        assert!(
            self.list.iter(&self.pages).all(|slot| {
                let node = &self.pages[slot];
                node.mark == 0 || (node.mark == 1 && node.dirty)
            }),
            "only a dirty page that has had its second chance is cold"
        );
        assert!(self.list.len() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lru::Lru;
    use crate::testing::{drive, mixed, show, victims};
    use destage_core::{Dense, Op::*};

    fn lru_wsr(frames: u32) -> LruWsr<Dense> {
        LruWsr::new(&Setup::new(frames), Dense::new(64))
    }

    /// `page/C or D/cold`, MRU to LRU.
    fn list(p: &LruWsr<Dense>) -> String {
        show(p.list.iter(&p.pages).map(|slot| {
            let node = &p.pages[slot];
            format!("{}/{}/{}", slot.0, if node.dirty { "D" } else { "C" }, node.mark)
        }))
    }

    #[test]
    fn a_dirty_page_becomes_cold_before_it_goes_and_a_clean_one_goes_at_once() {
        let mut p = lru_wsr(3);
        let steps = drive(&mut p, &[(Write, 1), (Read, 2), (Write, 3), (Read, 4)]);
        assert_eq!(steps[3].evicted, [(2, false)]);
        assert_eq!(list(&p), "4/C/0 1/D/1 3/D/0");
    }

    #[test]
    fn a_hit_makes_a_cold_page_hot_again() {
        let mut p = lru_wsr(3);
        drive(&mut p, &[(Write, 1), (Read, 2), (Write, 3), (Read, 4), (Write, 1)]);
        assert_eq!(list(&p), "1/D/0 4/C/0 3/D/0");
        assert_eq!(victims(&drive(&mut p, &[(Read, 5), (Read, 6)])), [4, 3]);
        assert_eq!(list(&p), "6/C/0 1/D/1 5/C/0");
    }

    #[test]
    fn with_all_pages_dirty_the_oldest_goes_after_one_round() {
        let mut p = lru_wsr(3);
        let steps = drive(&mut p, &[(Write, 1), (Write, 2), (Write, 3), (Write, 4)]);
        assert_eq!(steps[3].evicted, [(1, true)]);
        assert_eq!(list(&p), "4/D/0 3/D/1 2/D/1");
    }

    #[test]
    fn while_nothing_is_written_it_is_lru() {
        let trace: Vec<_> = mixed(2000, 48).into_iter().map(|(_, page)| (Read, page)).collect();
        for frames in [1, 7, 24] {
            let mut lru = Lru::new(&Setup::new(frames), Dense::new(64));
            assert_eq!(drive(&mut lru_wsr(frames), &trace), drive(&mut lru, &trace));
        }
    }
}
