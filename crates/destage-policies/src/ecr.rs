//! ECR: when all pages are dirty, evict the one whose chip can take it soonest.
//!
//! Chen, Pan, Li, Xu. ECR: Eviction-Cost-Aware Cache Management Policy for Page-Level Flash-Based
//! SSDs. Concurrency and Computation: Practice and Experience, 2019. Sections 3.1 (eviction cost,
//! equations 1 to 4), 3.2 (lists) and 3.3 (victims). "Chip" is the paper's word for what has a
//! queue of its own: a *unit* here.
//!
//! Rules, `ecr`. A Clean list, and a dirty list per chip, each in recency order. A hit page becomes
//! the most recent of its list; a write moves it to its dirty list. Victim: the oldest clean page.
//! If there is none, the oldest page of every dirty list is a candidate, and the one whose chip has
//! the smallest *chip queue complete time*, CQCT, goes.
//!
//! ```text
//!   Clean    MRU ◀─▶ ... ◀─▶ LRU ──▶ out, if there is one
//!   chip 0   MRU ◀─▶ ... ◀─▶ LRU ──┐
//!   chip 1   MRU ◀─▶ ... ◀─▶ LRU ──┼─▶ smallest CQCT out
//!   chip 2   MRU ◀─▶ ... ◀─▶ LRU ──┘
//! ```
//!
//! Rules, `ecr-e` (the paper's ECR with superscript epsilon, section 4.2). No Clean list: every
//! page, clean or dirty, is on the list of its chip, and the candidates are the oldest of all
//! lists. A clean victim costs nothing, but is still chosen by its chip's CQCT.
//!
//! Readings of CQCT, the parameter `cqct`. The paper calls it the time to process all requests in a
//! chip's queue, and also the waiting time of a new request. The two differ in the collection that
//! the next request itself would set off, which equation 2 counts when free pages *equal* the
//! minimum and table 1 does not:
//!
//! * `backlog`: the remaining work of the chip. Collections that queued writes have caused are in
//!   the queue already.
//! * `wait`: that, and the collection that this write-back would set off.
//! * `eq1_strict`: equation 1 as it is counted: unfinished operations by kind, each at its nominal
//!   time, the one in service in full. A collection's move is one read and one write.
//! * `eq1`: that, and equations 3 and 4, if the write-back would set a collection off.
//!
//! `wait` and `eq1` avoid every chip that is about to collect, until all are; `backlog` does not.
//! Ties go to the older candidate: the paper does not say, and a tie broken by chip number would
//! drain chip 0 whenever the drive is idle. On an idle drive `ecr` is clean-first LRU.
//!
//! Under dynamic allocation a dirty page has no chip until it is written: all dirty pages are on
//! one list (list U), and `ecr` decides as `cflru-e` does. A clean page's CQCT is then its chip's
//! queue alone, since its target would be another.
//!
//! Cost. O(1) per access, O(chips) per eviction; `eq1` and `eq1_strict` count queues.

pub(crate) mod cqct;
#[cfg(test)]
mod tests;

use crate::unit_lists::{EMPTY, UnitLists, set_by_frame};
use crate::{Caveat, Circumstance, Info, Setup};
use cqct::{CQCT, Cqct, ONE_WRITE_POINT};
use destage_core::{
    DeviceView, Directory, Lookup, Lpn, Nanos, Page, Plan, Policy, Request, Requirements, Slot,
    UnitId,
};

pub(crate) const SOURCE: &str = "Chen, Pan, Li, Xu. ECR: Eviction-Cost-Aware Cache Management \
                                 Policy for Page-Level Flash-Based SSDs. Concurrency and \
                                 Computation: Practice and Experience, 2019";

/// Catalogue entry of `ecr`.
pub static INFO: Info = Info {
    name: "ecr",
    title: "Eviction-Cost-Aware",
    source: SOURCE,
    about: "Evict clean pages first, then the dirty page whose unit's (chip's) queue is shortest.",
    flash_aware: true,
    time: "O(1), eviction O(units)",
    params: &[CQCT],
    caveats: &[Caveat {
        when: Circumstance::NoUnitWhileDirty,
        says: "no dirty page has a unit before it is written (alloc = dynamic, or an FTL other \
               than page): all of them cost the same, and ecr decides as cflru-e does",
    }],
    one_write_point: ONE_WRITE_POINT,
    ..Info::BLANK
};

/// Catalogue entry of `ecr-e`.
pub static WITHOUT_CLEAN_LIST: Info = Info {
    name: "ecr-e",
    title: "Eviction-Cost-Aware, without a clean list",
    source: SOURCE,
    about: "Evict the page, clean or dirty, whose unit's (chip's) queue is shortest.",
    flash_aware: true,
    time: "O(1), eviction O(units)",
    params: &[CQCT],
    one_write_point: ONE_WRITE_POINT,
    ..Info::BLANK
};

/// The Clean list; a unit's list is the next one after its number. Empty in `ecr-e`.
const CLEAN: u32 = 0;

#[inline(always)]
fn list_of(unit: UnitId) -> u32 {
    unit.0 + 1
}

/// The policy; `ecr-e` if there is no `CLEAN_LIST`.
pub struct Ecr<D, const CLEAN_LIST: bool> {
    lists: UnitLists<D>, // Clean, then one per unit, the last of them list U
    lpns: Vec<Lpn>,      // by frame
    costs: Vec<Nanos>,   // by unit; only while a victim is searched for
    left: u32,           // list of the last victim
    cqct: Cqct,
    dynamic: bool, // a write-back's plane is chosen when it is written
    frames: u32,
}

impl<D: Directory, const CLEAN_LIST: bool> Ecr<D, CLEAN_LIST> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Ecr {
            lists: UnitLists::new(directory),
            lpns: Vec::new(),
            costs: Vec::new(),
            left: CLEAN,
            cqct: Cqct::of(&setup.params),
            dynamic: false,
            frames: setup.frames,
        }
    }

    /// The list of a page in this state.
    #[inline(always)]
    fn list(&mut self, r: &Request, dirty: bool) -> u32 {
        // Static allocation has one unit for both states of a page; dynamic allocation never has.
        self.dynamic = r.units.clean != r.units.dirty;
        match dirty {
            true => list_of(r.units.dirty),
            false if CLEAN_LIST => CLEAN,
            false => list_of(r.units.clean),
        }
    }

    /// The candidate with the smallest (CQCT, stamp).
    #[inline(always)]
    fn cheapest(&mut self, device: &dyn DeviceView) -> Option<u32> {
        let mut costs = std::mem::take(&mut self.costs);
        costs.resize(self.lists.lists().saturating_sub(1) as usize, 0);
        let oldest = |unit| {
            let oldest = self.lists.oldest_of(list_of(unit))?;
            Some(self.lpns[oldest as usize])
        };
        self.cqct.costs_ns(device, &mut costs, self.dynamic, oldest);
        let unit = cheapest(&costs, self.lists.oldest_stamps().get(1..).unwrap_or_default());
        self.costs = costs;
        self.lists.oldest_of(list_of(unit?))
    }
}

/// The unit with the smallest (cost, stamp) among those whose list is not empty.
///
/// Even and odd units apart, so that one comparison need not wait for the one before it.
#[inline(always)]
fn cheapest(costs: &[Nanos], stamps: &[u64]) -> Option<UnitId> {
    let units = costs.len().min(stamps.len());
    let (costs, stamps) = (costs[..units].chunks_exact(2), stamps[..units].chunks_exact(2));
    let (mut even, mut odd) = (Cheapest::NONE, Cheapest::NONE);
    if let (&[cost], &[stamp]) = (costs.remainder(), stamps.remainder()) {
        even.offer(units as u32 - 1, cost, stamp);
    }
    for (unit, (costs, stamps)) in (0..).step_by(2).zip(costs.zip(stamps)) {
        even.offer(unit, costs[0], stamps[0]);
        odd.offer(unit + 1, costs[1], stamps[1]);
    }
    let least = if odd.key < even.key { odd } else { even };
    (least.key != u128::MAX).then_some(UnitId(least.unit))
}

#[derive(Clone, Copy)]
struct Cheapest {
    key: u128, // (cost, stamp)
    unit: u32,
}

impl Cheapest {
    const NONE: Cheapest = Cheapest { key: u128::MAX, unit: 0 };

    #[inline(always)]
    fn offer(&mut self, unit: u32, cost: Nanos, stamp: u64) {
        if stamp == EMPTY {
            return;
        }
        // As one number the pair is compared without a branch, which nothing could predict: half
        // the time of comparing tuples.
        let key = u128::from(cost) << 64 | u128::from(stamp);
        if key < self.key {
            *self = Cheapest { key, unit };
        }
    }
}

impl<D: Directory, const CLEAN_LIST: bool> Policy for Ecr<D, CLEAN_LIST> {
    type Miss = ();

    const REQUIREMENTS: Requirements = Requirements::UNITS;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.lists.find(r.page) else { return Lookup::Miss(()) };
        let write = r.op.is_write();
        let list = if write { self.list(r, true) } else { self.lists.held(frame).list };
        self.lists.touch(frame, list, write);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .lists
            .oldest_of(CLEAN)
            .or_else(|| self.cheapest(device))
            .expect("evict is only called on a full buffer");
        self.left = self.lists.held(victim).list;
        self.lists.evict(victim, plan);
    }

    /// The next of the list that the last one left: the unit has just got work, so it is about as
    /// many evictions away as there are units.
    #[inline(always)]
    fn coming_victim(&self) -> Option<Page> {
        Some(self.lists.page(self.lists.oldest_of(self.left)?))
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let dirty = r.op.is_write();
        let list = self.list(r, dirty);
        let (slot, frame) = self.lists.insert(r.page, list, dirty);
        set_by_frame(&mut self.lpns, frame, r.lpn);
        slot
    }

    in_unit_lists! { self.lists; frames: self.frames }

    fn counts_operations(&self) -> bool {
        self.cqct.counts_operations()
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.lists.find(page)?;
        Some(self.lists.forget(frame))
    }

    hints! { self.lists: prefetch, prefetch_held }

    fn check(&self) {
        self.lists.check();
        for list in 0..self.lists.lists() {
            for frame in self.lists.iter(list) {
                let dirty = self.lists.held(frame).dirty;
                if CLEAN_LIST {
                    assert_eq!(dirty, list != CLEAN, "clean pages are on the Clean list, only");
                } else {
                    assert!(list != CLEAN, "every page is on the list of a unit");
                }
            }
        }
        assert!(self.resident() <= self.frames);
    }
}
