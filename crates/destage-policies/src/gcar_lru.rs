//! GCaR-LRU: evict the oldest page whose chip is not collecting garbage.
//!
//! Wu, Lin, Mao, Jiang. GCaR: Garbage Collection aware Cache Management with Improved Performance
//! for Flash-based SSDs. ICS 2016. Known from its abstract and from ECR (sections 1 and 4.1:
//! "prefers to evict pages belonging to the chips not in the GC state").
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
use crate::{BuildError, Info, Setup};
use destage_core::{
    DeviceView, Directory, Lookup, Needs, Page, Plan, Policy, Request, Slot, UnitId,
};

pub(crate) const SOURCE: &str = "Wu, Lin, Mao, Jiang. GCaR: Garbage Collection aware Cache \
                                 Management with Improved Performance for Flash-based SSDs. ICS \
                                 2016; as ECR describes it";

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "gcar-lru",
    title: "GC-aware LRU",
    source: SOURCE,
    about: "Evict the oldest page whose chip is not collecting.",
    flash_aware: true,
    ghosts: false,
    time: "O(1), eviction O(chips)",
    params: &[],
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
    /// For `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        GcarLru { lists: UnitLists::new(directory), frames: setup.frames }
    }

    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(GcarLru::new(setup, directory))
    }
}

impl<D: Directory> Policy for GcarLru<D> {
    type Miss = ();

    const NEEDS: Needs = Needs::UNITS.and(Needs::GC_STATE);

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.lists.find(r.page) else { return Lookup::Miss(()) };
        let write = r.op.is_write();
        let list = if write { unit(r, true) } else { self.lists.held(frame).list };
        self.lists.touch(frame, list, write);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &(), device: &dyn DeviceView, plan: &mut Plan) {
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

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.lists.resident()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.lists.for_each(visit);
    }

    #[inline(always)]
    fn warm(&self, page: Page) {
        self.lists.warm(page);
    }

    #[inline(always)]
    fn warm_links(&self, page: Page) {
        self.lists.warm_held(page);
    }

    fn check(&self) {
        self.lists.check();
        assert!(self.resident() <= self.frames);
    }
}
