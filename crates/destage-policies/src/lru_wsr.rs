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

use crate::{BuildError, Info, Setup};
use destage_core::{DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lru-wsr",
    title: "LRU with Writes Sequence Reordering",
    source: "Jung, Shim, Park, Kang, Cha. LRU-WSR: integration of LRU and writes sequence \
             reordering for flash memory. IEEE Transactions on Consumer Electronics 54(3), 2008",
    about: "Give dirty pages that are not cold a second chance.",
    flash_aware: true,
    ghosts: false,
    time: "O(1) amortised",
    params: &[],
};

/// The policy. A node's `mark` is its *cold* bit.
pub struct LruWsr<D> {
    pages: Pages<D>, // every resident page
    list: List,      // all pages, MRU to LRU
    frames: u32,
}

impl<D: Directory> LruWsr<D> {
    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        let pages = Pages::new(directory, 1);
        let list = List::new(&pages, 1);
        Ok(LruWsr { pages, list, frames: setup.frames })
    }
}

impl<D: Directory> Policy for LruWsr<D> {
    type Miss = ();

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
    fn evict(&mut self, (): &(), _: &dyn DeviceView, plan: &mut Plan) {
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

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.list.len()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.list
            .iter(&self.pages)
            .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
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
