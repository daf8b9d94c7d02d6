//! CFLRU-e: evict the oldest clean page; a dirty one only if there is no clean one.
//!
//! CFLRU with the whole cache as its window, as ECR section 4.2 uses it (its superscript epsilon;
//! "the size of clean-first region being equivalent to the cache size"). Park, Jung, Kang, Kim,
//! Lee. CFLRU: a replacement algorithm for flash memory. CASES 2006.
//!
//! Rules. One recency order. Victim: the oldest clean page; if there is none, the oldest page. A
//! hit page becomes the most recent one; a new one comes in there.
//!
//! The one order is kept as two lists, clean and dirty: how they interleave is never asked, since
//! the oldest page is wanted only if all are dirty.
//!
//! ECR without chips: under dynamic allocation, where every dirty page has the same eviction cost,
//! and on a drive that is always idle, `ecr` decides as this policy does.
//!
//! Cost. O(1).

use crate::info::INTERVAL_FRAMES_ADAPTIVE;
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, List, Lookup, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "cflru-e",
    title: "Clean-First LRU over the whole cache",
    source: "Park, Jung, Kang, Kim, Lee. CFLRU: a replacement algorithm for flash memory. CASES \
             2006; with the window of ECR, section 4.2",
    about: "Evict the oldest clean page, a dirty one only if all are.",
    flash_aware: true,
    lru_of_reads: true,
    time: "O(1)",
    interval_frames: INTERVAL_FRAMES_ADAPTIVE,
    ..Info::BLANK
};

/// The policy.
pub struct CflruE<D> {
    pages: Pages<D>, // every resident page
    clean: List,     // MRU to LRU
    dirty: List,     // MRU to LRU
    frames: u32,
}

impl<D: Directory> CflruE<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 2);
        CflruE {
            clean: List::new(&pages, 1),
            dirty: List::new(&pages, 2),
            pages,
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for CflruE<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let was_dirty = self.pages[slot].dirty;
        let dirty = was_dirty | r.op.is_write();
        let from = if was_dirty { &mut self.dirty } else { &mut self.clean };
        from.unlink(&mut self.pages, slot);
        self.pages[slot].dirty = dirty;
        let to = if dirty { &mut self.dirty } else { &mut self.clean };
        to.push_mru(&mut self.pages, slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .clean
            .pop_lru(&mut self.pages)
            .or_else(|| self.dirty.pop_lru(&mut self.pages))
            .expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        let dirty = r.op.is_write();
        self.pages[slot].dirty = dirty;
        let list = if dirty { &mut self.dirty } else { &mut self.clean };
        list.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.clean, self.dirty]; frames: self.frames }

    forgets_on_lists! { self.pages: [self.clean, self.dirty] }

    shows! {
        self.pages;
        "clean" => self.clean.iter(&self.pages),
        "dirty" => self.dirty.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        self.clean.check(&self.pages);
        self.dirty.check(&self.pages);
        assert!(self.clean.iter(&self.pages).all(|slot| !self.pages[slot].dirty));
        assert!(self.dirty.iter(&self.pages).all(|slot| self.pages[slot].dirty));
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cflru::Cflru;
    use crate::params::Value;
    use crate::testing::{drive, mixed, setup};
    use destage_core::{Dense, Op::*};

    fn cflru_e(frames: u32) -> CflruE<Dense> {
        CflruE::new(&Setup::new(frames), Dense::new(64))
    }

    #[test]
    fn the_oldest_clean_page_goes_however_recent_and_then_the_oldest_dirty_one() {
        let mut p = cflru_e(3);
        let steps = drive(&mut p, &[(Write, 1), (Write, 2), (Read, 3), (Write, 4), (Write, 5)]);
        assert_eq!(steps[3].evicted, [(3, false)]);
        assert_eq!(steps[4].evicted, [(1, true)]);
    }

    #[test]
    fn a_written_page_is_clean_no_more() {
        let mut p = cflru_e(2);
        let steps = drive(&mut p, &[(Read, 1), (Read, 2), (Write, 1), (Read, 3), (Write, 4)]);
        assert_eq!(steps[3].evicted, [(2, false)]);
        assert_eq!(steps[4].evicted, [(3, false)]);
    }

    #[test]
    fn it_is_cflru_with_the_whole_cache_as_its_window() {
        let trace = mixed(2000, 48);
        for frames in [1, 2, 7, 24] {
            let whole = [("window_fraction", Value::Real(1.0))];
            let mut cflru = Cflru::new(&setup("cflru", frames, &whole), Dense::new(64));
            let steps = drive(&mut cflru, &trace);
            assert_eq!(drive(&mut cflru_e(frames), &trace), steps, "{frames} frames");
        }
    }
}
