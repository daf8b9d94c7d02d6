//! GCaR-LRU: evict the oldest page whose chip is not collecting garbage.
//!
//! Wu, Lin, Mao, Jiang. GCaR: Garbage Collection aware Cache Management with Improved Performance
//! for Flash-based SSDs. ICS 2016; extended in IEEE TPDS 28(10), 2017, whose text the rules
//! follow. ECR sums it up: "prefers to evict pages belonging to the chips not in the GC state"
//! (4.1).
//!
//! Rules. Run the base policy's search for a victim over the pages whose chip is not in GC; if that
//! finds none, over all. Over LRU: the oldest page whose chip is not in GC, else the oldest page. A
//! chip (what has a queue of its own, a *unit* here) is in GC while a collection is in its queue or
//! in service there.
//!
//! Readings. Clean pages count too: a later read of them would meet the collection. Under dynamic
//! allocation a dirty page has no chip until it is written: the dirty pages are on one list, which
//! answers for the chip that a write would go to now.
//!
//! The one recency order is kept as a list per chip; their oldest pages are compared by stamp.
//!
//! Cost. O(1) per access, O(chips) per eviction.

use crate::unit_lists::UnitLists;
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Requirements, Slot, UnitId,
};

pub(crate) const SOURCE: &str = "Wu, Lin, Mao, Jiang. GCaR: Garbage Collection aware Cache \
                                 Management with Improved Performance for Flash-based SSDs. ICS \
                                 2016";

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "gcar-lru",
    title: "GC-aware LRU",
    source: SOURCE,
    about: "Evict the oldest page whose unit (chip) is not in GC.",
    flash_aware: true,
    time: "O(1), eviction O(units)",
    ..Info::BLANK
};

/// The policy.
pub struct GcarLru<D> {
    lists: UnitLists<D>, // one per unit, the last of them list U
    frames: u32,
}

/// The unit whose list a page in this state is on.
#[inline(always)]
fn unit(r: &Request, dirty: bool) -> u32 {
    if dirty { r.units.dirty.0 } else { r.units.clean.0 }
}

impl<D: Directory> GcarLru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        GcarLru { lists: UnitLists::new(directory), frames: setup.frames }
    }
}

impl<D: Directory> Policy for GcarLru<D> {
    type Miss = ();

    const REQUIREMENTS: Requirements = Requirements::UNITS.and(Requirements::GC_STATE);

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.lists.find(r.page) else { return Lookup::Miss(()) };
        let write = r.op.is_write();
        let list = if write { unit(r, true) } else { self.lists.held(frame).list };
        self.lists.touch(frame, list, write);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .lists
            .oldest(|unit| !device.in_gc(UnitId(unit)))
            .or_else(|| self.lists.oldest(|_| true))
            .expect("evict is only called on a full buffer");
        self.lists.evict(victim, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let dirty = r.op.is_write();
        self.lists.insert(r.page, unit(r, dirty), dirty).0
    }

    in_unit_lists! { self.lists; frames: self.frames }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.lists.find(page)?;
        Some(self.lists.forget(frame))
    }

    hints! { self.lists: prefetch, prefetch_held }

    fn check(&self) {
        self.lists.check();
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Chips, drive_on, reads, victims};
    use destage_core::{Dense, Op::*};

    fn gcar_lru(frames: u32) -> GcarLru<Dense> {
        GcarLru::new(&Setup::new(frames), Dense::new(64))
    }

    #[test]
    fn the_oldest_page_whose_chip_does_not_collect_goes_clean_or_dirty() {
        let chips = Chips::collecting([true, false, false]);
        let mut p = gcar_lru(4);
        let trace = [(Write, 0), (Read, 3), (Read, 2), (Write, 1), (Read, 4), (Read, 5)];
        let steps = drive_on(&mut p, &chips, &trace);
        assert_eq!(steps[4].evicted, [(2, false)]);
        assert_eq!(steps[5].evicted, [(1, true)]);
    }

    #[test]
    fn if_all_chips_collect_the_oldest_page_goes() {
        let chips = Chips::collecting([true, true, true]);
        let steps = drive_on(&mut gcar_lru(3), &chips, &reads(&[5, 1, 0, 5, 2, 7]));
        assert_eq!(victims(&steps), [1, 0]);
    }

    #[test]
    fn if_all_that_is_resident_is_on_collecting_chips_the_oldest_goes() {
        let chips = Chips::collecting([true, false]);
        let steps = drive_on(&mut gcar_lru(2), &chips, &reads(&[2, 0, 4]));
        assert_eq!(victims(&steps), [2]);
    }

    #[test]
    fn under_dynamic_allocation_dirty_pages_answer_for_the_chip_that_would_be_chosen() {
        let trace = [(Write, 0), (Read, 1), (Write, 1), (Read, 2), (Read, 5)];
        // 0 and 1 are dirty, 2 is clean on chip 2.
        for (in_gc, victim) in [([true, true, false], 2), ([false, true, true], 0)] {
            let chips = Chips { dynamic: Some(0), ..Chips::collecting(in_gc) };
            assert_eq!(victims(&drive_on(&mut gcar_lru(3), &chips, &trace)), [victim], "{in_gc:?}");
        }
    }
}
