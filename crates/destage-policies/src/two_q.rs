//! 2Q: keep pages that come back after their first burst, let the rest pass through a short queue.
//!
//! Johnson, Shasha. 2Q: a low overhead high performance buffer management replacement algorithm.
//! VLDB 1994, "full version".
//!
//! Rules. `A1in`, a FIFO of resident pages; `Am`, an LRU list of resident pages; `A1out`, a FIFO of
//! ghosts. Hit in `Am`: the page moves to its head. Hit in `A1in`: nothing. Miss, cache full: if
//! `A1in` holds more than `Kin` pages or `Am` is empty, the tail of `A1in` is evicted and becomes a
//! ghost at the head of `A1out`, which drops its tail if it held `Kout`; else the tail of `Am` is
//! evicted, without a ghost. The new page comes in at the head of `Am` if it was a ghost, else at
//! the head of `A1in`.
//!
//! Readings.
//! * The paper never says that a number leaves `A1out` on a ghost hit. It must, or the page would
//!   be resident and a ghost at once; and it goes before the eviction, which could drop it.
//! * An empty `Am` with no more than `Kin` pages in `A1in` (`Kin` = all frames) is not treated;
//!   then `A1in` gives the victim. `in_fraction = 1`, `out_fraction = 0` is FIFO.
//!
//! Cost. O(1); two links per page of `Am`, a word per page of `A1in`, two per ghost.

use crate::elastic::Elastic;
use crate::fifos::take;
use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param, Params};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Places, Plan, Policy, Queue, Request, Slot,
    share,
};
use std::collections::VecDeque;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "2q",
    title: "2Q, full version",
    source: "Johnson, Shasha, VLDB 1994",
    about: "Keep pages that come back after their first burst; let the rest pass through.",
    ghosts: true,
    time: "O(1)",
    params: &[
        Param {
            name: "in_fraction",
            symbol: "Kin/s",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.25),
            unit: "of frames",
            about: "Pages that A1in may keep while Am has some; default of the paper.",
            ..Param::BLANK
        },
        Param {
            name: "out_fraction",
            symbol: "Kout/s",
            kind: Kind::Real { min: 0.0, max: 16.0 },
            default: IfAbsent::Real(0.5),
            unit: "of frames",
            about: "Entries of A1out; default of the paper.",
            ..Param::BLANK
        },
    ],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

// Where a page is: the tag of its node. Only Am is a list of nodes.
const AM: u8 = 1;
const A1IN: u8 = 2;
const A1OUT: u8 = 3;

/// Evictions from now to the one for which memory is asked already; old pages are cold.
const SOON: usize = 6;

/// The policy.
pub struct TwoQ<D> {
    pages: Pages<D>,      // every resident page and every ghost
    a1in: VecDeque<Slot>, // A1in, tail (oldest) first
    am: List,             // Am, MRU to LRU
    a1out: Queue,         // A1out
    places: Places,       // of the ghosts in A1out
    kin: u32,
    kout: u32,
    frames: u32,
}

impl<D: Directory> TwoQ<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 1);
        TwoQ {
            a1in: VecDeque::new(),
            am: List::new(&pages, AM),
            a1out: Queue::new(),
            places: Places::new(&pages),
            kin: share(setup.params.real("in_fraction"), setup.frames),
            kout: share(setup.params.real("out_fraction"), setup.frames),
            frames: setup.frames,
            pages,
        }
    }

    /// Makes a page that was evicted from A1in a ghost.
    #[inline(always)]
    fn remember(&mut self, slot: Slot) {
        if self.kout == 0 {
            self.pages.remove(slot);
            return;
        }
        if self.a1out.len() == self.kout {
            let oldest = self.a1out.pop().expect("a full A1out has a tail");
            self.pages.remove(oldest);
            self.pages.prefetch_slot(self.a1out.ahead(SOON as u32));
        }
        self.pages[slot].list = A1OUT;
        self.a1out.push(slot, &mut self.places);
    }
}

impl<D: Directory> Elastic for TwoQ<D> {
    fn resize(&mut self, frames: u32, params: &Params) {
        self.frames = frames;
        self.kin = share(params.real("in_fraction"), frames);
        self.kout = share(params.real("out_fraction"), frames);
        while self.a1out.len() > self.kout
            && let Some(oldest) = self.a1out.pop()
        {
            self.pages.remove(oldest);
        }
    }

    fn candidate(&self, _: &bool) -> Option<Page> {
        let slot = match self.a1in.len() > self.kin as usize || self.am.is_empty() {
            true => *self.a1in.front()?,
            false => self.am.lru(&self.pages)?,
        };
        Some(self.pages.page(slot))
    }
}

impl<D: Directory> Policy for TwoQ<D> {
    /// The page was in A1out.
    type Miss = bool;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<bool> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(false) };
        let page = &mut self.pages[slot];
        match page.list {
            AM => {
                page.dirty |= r.op.is_write();
                self.am.touch(&mut self.pages, slot);
                Lookup::Hit(slot)
            }
            A1IN => {
                page.dirty |= r.op.is_write();
                Lookup::Hit(slot)
            }
            _ => {
                self.a1out.take(slot, &self.places);
                self.pages.remove(slot);
                Lookup::Miss(true)
            }
        }
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut bool, _: &dyn DeviceView, plan: &mut Plan) {
        if self.a1in.len() > self.kin as usize || self.am.is_empty() {
            let victim = self.a1in.pop_front().expect("evict is only called on a full buffer");
            plan.evict(self.pages.page(victim), self.pages[victim].dirty);
            self.remember(victim);
            if let Some(&soon) = self.a1in.get(SOON) {
                self.pages.prefetch_slot(soon);
                self.places.prefetch_slot(soon);
            }
        } else {
            let victim = self.am.pop_lru(&mut self.pages).expect("Am is not empty");
            let dirty = self.pages[victim].dirty;
            plan.evict_labelled(self.pages.remove(victim), dirty, 1);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, ghost: bool) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        if ghost {
            self.am.push_mru(&mut self.pages, slot);
        } else {
            self.pages[slot].list = A1IN;
            self.a1in.push_back(slot);
        }
        slot
    }

    counted! { self: self.a1in.len() as u32 + self.am.len(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.a1in.iter().copied().chain(self.am.iter(&self.pages)) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let list = self.pages[slot].list;
        match list {
            AM => self.am.unlink(&mut self.pages, slot),
            A1IN => {
                take(&mut self.a1in, slot);
            }
            _ => self.a1out.take(slot, &self.places),
        }
        self.pages.remove(slot);
        (list != A1OUT).then_some(dirty)
    }

    shows! {
        self.pages;
        "A1in" => self.a1in.iter().rev().copied(),
        "Am" => self.am.iter(&self.pages),
        "A1out" => self.a1out.iter().rev()
    }

    hints! { self.pages: prefetch, prefetch_links; beside: self.places }

    fn check(&self) {
        assert!(self.resident() <= self.frames);
        assert!(self.a1out.len() <= self.kout);
        self.am.check(&self.pages);
        self.a1out.check(&self.places);
        let known = |slot: Slot, place: u8| {
            let found = self.pages.find(self.pages.page(slot));
            assert_eq!(found, Some(slot), "a page of a queue is known");
            assert_eq!(self.pages[slot].list, place, "a page knows its queue");
        };
        self.a1in.iter().for_each(|&slot| known(slot, A1IN));
        self.a1out.iter().for_each(|slot| known(slot, A1OUT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, victims};
    use destage_core::Dense;

    fn two_q(frames: u32, kin: f64, kout: f64) -> TwoQ<Dense> {
        let (kin, kout) = (Value::Real(kin), Value::Real(kout));
        let params = check_params("2q", [("in_fraction", &kin), ("out_fraction", &kout)]).unwrap();
        TwoQ::new(&Setup { params, ..Setup::new(frames) }, Dense::new(16))
    }

    /// `A1in[3 2] Am[1] A1out[]`, heads first.
    fn lists(p: &TwoQ<Dense>) -> String {
        let show = |slots: &mut dyn Iterator<Item = Slot>| {
            slots.map(|s| s.0.to_string()).collect::<Vec<_>>().join(" ")
        };
        format!(
            "A1in[{}] Am[{}] A1out[{}]",
            show(&mut p.a1in.iter().rev().copied()),
            show(&mut p.am.iter(&p.pages)),
            show(&mut p.a1out.iter().rev())
        )
    }

    #[test]
    fn a_hit_in_a1in_changes_nothing_and_a_ghost_comes_back_into_am() {
        let mut p = two_q(4, 0.25, 0.5);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4, 5]))), [1]);
        assert_eq!(lists(&p), "A1in[5 4 3 2] Am[] A1out[1]");
        drive(&mut p, &reads(&[1]));
        assert_eq!(lists(&p), "A1in[5 4 3] Am[1] A1out[2]");
    }

    #[test]
    fn a_ghost_that_the_eviction_of_its_own_return_would_drop_is_still_a_ghost() {
        let mut p = two_q(2, 0.0, 0.5);
        drive(&mut p, &reads(&[1, 2, 3]));
        assert_eq!(lists(&p), "A1in[3 2] Am[] A1out[1]");
        drive(&mut p, &reads(&[1]));
        assert_eq!(lists(&p), "A1in[3] Am[1] A1out[2]");
    }

    #[test]
    fn am_gives_the_victim_while_a1in_is_within_kin() {
        let mut p = two_q(4, 0.25, 1.0);
        drive(&mut p, &reads(&[1, 2, 3, 4, 5, 1, 2, 3]));
        assert_eq!(lists(&p), "A1in[5] Am[3 2 1] A1out[4]");
        assert_eq!(victims(&drive(&mut p, &reads(&[6]))), [1], "and leaves no ghost");
        assert_eq!(lists(&p), "A1in[6 5] Am[3 2] A1out[4]");
    }

    #[test]
    fn with_everything_in_a1in_and_no_ghosts_it_is_fifo() {
        let mut p = two_q(3, 1.0, 0.0);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4, 1, 5]))), [1, 2, 3]);
    }
}
