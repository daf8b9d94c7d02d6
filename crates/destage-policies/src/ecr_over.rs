//! ECR over other policies: each chip's pages are managed by one, and the chip with the shortest
//! queue gives up the page that its policy would.
//!
//! Chen, Pan, Li, Xu. ECR (see `ecr.rs`), section 3: "the cached data in each chip can be managed
//! by other algorithms, and just use CQMU module to select a target chip with shortest waiting
//! time."
//! Defined in `docs/spec/device-policies.md` 3.4.
//!
//! Rules. Every chip has a base policy of its own: LRU, CFLRU, 2Q or ARC. A page, clean or dirty,
//! is looked up, kept and remembered by the policy of its chip. On a miss with a full cache every
//! chip that has pages names its next victim; the one whose chip has the smallest CQCT goes.
//!
//! ```text
//!   chip 0   T1 T2 B1 B2, p ──▶ its victim ──┐
//!   chip 1   T1 T2 B1 B2, p ──▶ its victim ──┼─▶ smallest CQCT out
//!   chip 2   T1 T2 B1 B2, p ──▶ its victim ──┘
//! ```
//!
//! Readings. The paper does not say how many frames a chip has: as many as it has pages, so that
//! its window, its targets and its ghosts grow and shrink with them (`elastic.rs`). Ties go to the
//! victim that was used least recently. Over LRU it is `ecr-e`.
//!
//! Cost. That of the base, by hashing; O(chips) per eviction.

mod chip;
#[cfg(test)]
mod tests;

use crate::ecr::SOURCE;
use crate::ecr::cqct::{CQCT, Cqct, ONE_WRITE_POINT};
use crate::params::{IfAbsent, Kind, Param, Params};
use crate::unit_lists::{UnitLists, set_by_frame};
use crate::{BuildError, Info, Setup, written};
use chip::Chip;
use destage_core::{
    DeviceView, Directory, Lookup, Lpn, Nanos, Page, Plan, Policy, Request, Requirements, Slot,
    UnitId,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "ecr-over",
    title: "Eviction-Cost-Aware, over another policy",
    source: SOURCE,
    about: "Evict the next victim of the unit (chip) whose queue is shortest; another policy \
            manages each unit's pages.",
    flash_aware: true,
    time: "its base's, eviction O(units)",
    over: Some("base"),
    bases: chip::BASES,
    params: &[
        Param {
            name: "base",
            kind: Kind::Form("lru, cflru, 2q or arc, such as cflru[window_fraction=0.5]"),
            default: IfAbsent::Word("lru"),
            about: "The policy that manages each unit's pages, with its parameters. Default: the \
                    paper's own.",
            ..Param::BLANK
        },
        CQCT,
    ],
    one_write_point: ONE_WRITE_POINT,
    ..Info::BLANK
};

/// The policy.
pub struct EcrOver<D> {
    lists: UnitLists<D>, // every resident page in recency order: a list per unit, and list U
    chips: Vec<Chip>,    // by list
    lpns: Vec<Lpn>,      // by frame
    costs: Vec<Nanos>,   // by list; only while a victim is searched for
    given_up: Plan,      // what a chip has given up
    base: (&'static str, Params),
    cqct: Cqct,
    dynamic: bool, // a write-back's plane is chosen when it is written
    frames: u32,
}

/// A page that is not resident.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    known: chip::Miss,
    list: u32,         // where it was looked up
    is_replaced: bool, // a page of that list has left for it
}

impl<D: Directory> EcrOver<D> {
    /// An empty cache of `setup.frames` frames; an error if the base cannot be built.
    pub fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(EcrOver {
            lists: UnitLists::new(directory),
            chips: Vec::new(),
            lpns: Vec::new(),
            costs: Vec::new(),
            given_up: Plan::new(),
            base: written::base(&INFO, &setup.params)?,
            cqct: Cqct::of(&setup.params),
            dynamic: false,
            frames: setup.frames,
        })
    }

    /// The list of a page in this state.
    fn list(&mut self, r: &Request, dirty: bool) -> u32 {
        self.dynamic = r.units.clean != r.units.dirty;
        let list = if dirty { r.units.dirty.0 } else { r.units.clean.0 };
        while self.chips.len() <= list as usize {
            self.chips.push(Chip::new(self.base.0, &self.base.1));
        }
        list
    }

    /// A page that is not on this list, resident or not, comes to it: one frame more.
    fn enter(&mut self, r: &Request, list: u32) {
        let chip = &mut self.chips[list as usize];
        let known = chip.request(r).expect("it is not on the list");
        chip.resize(chip.resident() + 1, &self.base.1);
        chip.admit(r, known);
    }

    /// Frame of the page that a list would give up for this miss.
    fn candidate(&self, list: u32, miss: &Miss) -> Option<u32> {
        let chip = self.chips.get(list as usize)?;
        let known = if list == miss.list { miss.known } else { chip::Miss::New };
        let (_, frame) = self.lists.find(chip.candidate(known)?)?;
        Some(frame)
    }

    /// The list whose candidate has the smallest (CQCT, stamp).
    fn cheapest(&mut self, miss: &Miss, device: &dyn DeviceView) -> Option<u32> {
        let mut costs = std::mem::take(&mut self.costs);
        costs.resize(self.chips.len(), 0);
        self.cqct.costs_ns(device, &mut costs, self.dynamic, |UnitId(list)| {
            Some(self.lpns[self.candidate(list, miss)? as usize])
        });
        let with_pages = || {
            let costs = (0..).zip(&costs);
            costs.filter(|&(list, _)| self.lists.oldest_of(list).is_some())
        };
        let least = with_pages().map(|(_, cost)| cost).min();
        let cheapest = with_pages().filter(|&(_, cost)| Some(cost) == least);
        let stamped = cheapest.filter_map(|(list, _)| {
            Some((self.lists.held(self.candidate(list, miss)?).stamp, list))
        });
        let list = stamped.min().map(|(_, list)| list);
        self.costs = costs;
        list
    }
}

impl<D: Directory> Policy for EcrOver<D> {
    type Miss = Miss;

    const REQUIREMENTS: Requirements = Requirements::UNITS;

    fn request(&mut self, r: &Request) -> Lookup<Miss> {
        let write = r.op.is_write();
        let Some((slot, frame)) = self.lists.find(r.page) else {
            let list = self.list(r, write);
            let known = self.chips[list as usize].request(r).expect("the page is not resident");
            return Lookup::Miss(Miss { known, list, is_replaced: false });
        };
        let before = self.lists.held(frame).list;
        let list = if write { self.list(r, true) } else { before };
        if list == before {
            let missed = self.chips[list as usize].request(r);
            assert!(missed.is_none(), "the page is resident");
        } else {
            self.chips[before as usize].leave(r.page, &self.base.1);
            self.enter(r, list);
        }
        self.lists.touch(frame, list, write);
        Lookup::Hit(slot)
    }

    fn evict(&mut self, miss: &mut Miss, device: &dyn DeviceView, plan: &mut Plan) {
        let list = self.cheapest(miss, device).expect("evict is only called on a full buffer");
        miss.is_replaced = list == miss.list;
        let chip = &mut self.chips[list as usize];
        self.given_up.clear();
        chip.evict(if miss.is_replaced { miss.known } else { chip::Miss::New }, &mut self.given_up);
        if !miss.is_replaced {
            chip.resize(chip.resident(), &self.base.1);
        }
        let victim = self.given_up.evicted()[0].page;
        let (_, frame) = self.lists.find(victim).expect("a victim is resident");
        self.lists.evict(frame, plan);
    }

    fn admit(&mut self, r: &Request, miss: Miss) -> Slot {
        let dirty = r.op.is_write();
        let list = self.list(r, dirty);
        let chip = &mut self.chips[miss.list as usize];
        if list == miss.list {
            if !miss.is_replaced {
                chip.resize(chip.resident() + 1, &self.base.1);
            }
            chip.admit(r, miss.known);
        } else {
            chip.resize(chip.resident(), &self.base.1);
            self.enter(r, list);
        }
        let (slot, frame) = self.lists.insert(r.page, list, dirty);
        set_by_frame(&mut self.lpns, frame, r.lpn);
        slot
    }

    in_unit_lists! { self.lists; frames: self.frames }

    fn counts_operations(&self) -> bool {
        self.cqct.counts_operations()
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let held = self.lists.find(page).map(|(_, frame)| frame);
        let list = held.map(|frame| self.lists.held(frame).list);
        for (at, chip) in (0..).zip(&mut self.chips) {
            match Some(at) == list {
                true => chip.leave(page, &self.base.1),
                false => chip.forget(page),
            }
        }
        held.map(|frame| self.lists.forget(frame))
    }

    hints! { self.lists: prefetch, prefetch_held }

    fn check(&self) {
        self.lists.check();
        for (list, chip) in (0..).zip(&self.chips) {
            chip.check();
            let pages = if list < self.lists.lists() { self.lists.iter(list).count() } else { 0 };
            assert_eq!(chip.resident() as usize, pages, "a chip has the pages of its list");
        }
        assert!(self.resident() <= self.frames);
    }
}
