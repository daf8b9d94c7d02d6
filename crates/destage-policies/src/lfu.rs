//! LFU: evict the page used least often while in the cache.
//!
//! Folklore; the decisions are also those of libCacheSim and of Caffeine's simulator.
//!
//! Rules. A count per resident page. Hit: count + 1. Miss: the page with the smallest count is
//! evicted, among equals the least recently used. The new page has count 1, whatever it had before.
//!
//! Readings. None: both sources break ties by recency and forget the counts of evicted pages.
//!
//! State. A list per count, new arrivals at its end: every access changes the count, so the order
//! of arrival in a list is the order of recency.
//!
//! Cost. O(1); four words and a byte per page.

use crate::ranks::Ranks;
use crate::{Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Slot, Table,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lfu",
    title: "Least Frequently Used",
    source: "Folklore",
    about: "Evict the page used least often while in the cache.",
    time: "O(1)",
    ..Info::BLANK
};

/// The policy.
pub struct Lfu<D> {
    pages: Table<D, Brief>, // every resident page
    counts: Ranks,
    frames: u32,
}

impl<D: Directory> Lfu<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Table::new(directory);
        Lfu { counts: Ranks::new(pages.slots()), pages, frames: setup.frames }
    }
}

impl<D: Directory> Policy for Lfu<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        self.pages[slot].access(r.op.is_write());
        self.counts.raise(slot, self.counts.rank(slot) + 1);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.counts.least().expect("evict is only called on a full buffer");
        self.counts.remove(victim);
        let dirty = self.pages[victim].dirty();
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page, Brief::new(r.op.is_write(), 0));
        self.counts.push(slot, 1);
        slot
    }

    counted! { self: self.counts.len(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.counts.order() {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        self.counts.remove(slot);
        self.pages.remove(slot);
        Some(dirty)
    }

    hints! { self.pages: prefetch; beside: self.counts }

    fn check(&self) {
        self.counts.check();
        assert!(self.resident() <= self.frames);
        assert!(
            self.counts
                .order()
                .iter()
                .all(|&slot| self.pages.find(self.pages.page(slot)) == Some(slot))
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, show, victims};
    use destage_core::Dense;

    /// `2/1 3/1 1/2`: page and count, the next victim first.
    fn order(p: &Lfu<Dense>) -> String {
        show(p.counts.order().into_iter().map(|s| format!("{}/{}", s.0, p.counts.rank(s))))
    }

    #[test]
    fn of_pages_used_least_often_the_least_recently_used_goes() {
        let mut p = Lfu::new(&Setup::new(3), Dense::new(8));
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3, 4, 3]))), [2]);
        assert_eq!(order(&p), "4/1 1/2 3/2");
    }

    #[test]
    fn a_page_that_comes_back_has_its_count_forgotten() {
        let mut p = Lfu::new(&Setup::new(2), Dense::new(8));
        let steps = drive(&mut p, &reads(&[1, 1, 2, 2, 2, 3, 1, 4]));
        assert_eq!(victims(&steps), [1, 3, 1]);
        assert_eq!(order(&p), "4/1 2/3");
    }
}
