//! LRU: evict the page unused for longest.
//!
//! Folklore; Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems
//! Journal 5(2), 1966. The baseline of all five papers.
//!
//! Rules. One list. Hit: the page moves to the MRU end. Miss: the page at the LRU end is evicted;
//! the new one comes in at the MRU end.
//!
//! Cost. O(1); two links per page.

use crate::elastic::Elastic;
use crate::info::{INTERVAL_FRAMES, StackOrder};
use crate::params::Params;
use crate::{Info, Setup, VICTIMS_AHEAD};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, VictimList,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lru",
    title: "Least Recently Used",
    source: "Belady, IBM Systems Journal 5(2), 1966",
    about: "Evict the page unused for longest.",
    lru_of_reads: true,
    time: "O(1)",
    interval_frames: INTERVAL_FRAMES,
    stack_order: Some(StackOrder::Recency),
    baseline: true,
    ..Info::BLANK
};

/// The policy.
pub struct Lru<D> {
    pages: Pages<D>, // every resident page
    list: List,      // all pages, MRU to LRU
    frames: u32,
}

impl<D: Directory> Lru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 1);
        let list = List::new(&pages, 1);
        Lru { pages, list, frames: setup.frames }
    }
}

impl<D: Directory> Policy for Lru<D> {
    type Miss = ();

    const ORDERED: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        self.pages[slot].dirty |= r.op.is_write();
        self.list.touch(&mut self.pages, slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim =
            self.list.pop_lru(&mut self.pages).expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.list.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.list]; frames: self.frames }

    forgets_on_lists! { self.pages: [self.list] }

    shows! { self.pages; "list" => self.list.iter(&self.pages) }

    hints! { self.pages: prefetch, prefetch_links }

    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        let shown = |slot| show(self.pages.page(slot), self.pages[slot].dirty);
        self.list.oldest_first(&self.pages).all(shown);
    }

    fn show_list(
        &self,
        list: VictimList,
        newest_first: bool,
        show: &mut dyn FnMut(Page, bool) -> bool,
    ) {
        match (list, newest_first) {
            (VictimList::All, false) => self.next_victims(show),
            (VictimList::All, true) => {
                let shown = |slot| show(self.pages.page(slot), self.pages[slot].dirty);
                self.list.iter(&self.pages).all(shown);
            }
            _ => {}
        }
    }

    fn cleaned(&mut self, page: Page) {
        let slot = self.pages.find(page).expect("a page that is cleaned is resident");
        self.pages[slot].dirty = false;
    }

    #[inline(always)]
    fn coming_victim(&self) -> Option<Page> {
        let victim = self.list.nth_lru(&self.pages, VICTIMS_AHEAD)?;
        self.pages.prefetch_node(victim); // the next eviction walks on from there
        Some(self.pages.page(victim))
    }

    fn check(&self) {
        self.list.check(&self.pages);
        assert!(self.list.len() <= self.frames);
    }
}

impl<D: Directory> Elastic for Lru<D> {
    fn resize(&mut self, frames: u32, _: &Params) {
        self.frames = frames;
    }

    fn candidate(&self, (): &()) -> Option<Page> {
        Some(self.pages.page(self.list.lru(&self.pages)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::drive;
    use destage_core::{Dense, Op::*};

    #[test]
    fn a_hit_saves_the_oldest_page_and_a_page_once_written_leaves_dirty() {
        let mut lru = Lru::new(&Setup::new(2), Dense::new(4));
        let steps = drive(&mut lru, &[(Write, 0), (Read, 1), (Read, 0), (Read, 2), (Read, 3)]);
        assert!(steps[2].hit);
        assert_eq!(steps[3].evicted, [(1, false)]);
        assert_eq!(steps[4].evicted, [(0, true)]);
    }
}
