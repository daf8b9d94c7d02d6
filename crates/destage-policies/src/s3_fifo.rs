//! S3-FIFO: filter one-hit wonders with a small FIFO.
//!
//! Yang, Zhang, Qiu, Yue, Vinayak. FIFO queues are all you need for cache eviction. SOSP 2023,
//! section 4, algorithm 1.
//!
//! Rules. FIFOs `small`, `main` and `ghost`; a counter `freq`, 0..=3, per resident page.
//! Hit: `freq + 1`, up to 3; no move. Miss, cache full: if `small` is below its size and `main` is
//! not empty, evict from `main`; else the tails of `small`, one after the other: one with
//! `freq >= 2` moves to the head of `main`, `freq = 0`, and if that overflows `main`, `main` gives
//! the victim; one with less is the victim and leaves a ghost. From `main`: a tail with `freq > 0`
//! goes to the head with `freq - 1`; the first with 0 is evicted, without a ghost. The new page
//! comes in at the head of `main` if it was a ghost, else of `small`.
//!
//! Readings.
//! * When a promotion overflows `main`, the listing evicts from `main` and then goes on until
//!   `small` gives a victim too. One frame is needed, so the first victim ends the search.
//! * Promotion clears `freq` (the paper's text; the listing does not say).
//! * The authors' simulator fills `main` directly with new pages before the first eviction, and
//!   takes `small` unless `main` exceeds its size. The listing does neither; the listing holds.
//! * The ghost entry of the accessed page goes before the eviction, which could drop it.
//!
//! Cost. O(1) amortised; a byte per page, a word per frame and two per ghost.

use crate::fifos::take;
use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, Places, Plan, Policy, Queue, Request, Slot, Table,
    share,
};
use std::collections::VecDeque;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "s3-fifo",
    title: "S3-FIFO, simple and scalable with three static FIFOs",
    source: "Yang, Zhang, Qiu, Yue, Vinayak, SOSP 2023",
    about: "Filter one-hit wonders with a small FIFO in front of the main one.",
    ghosts: true,
    time: "O(1) amortised",
    params: &[
        Param {
            name: "small_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.1),
            unit: "of frames",
            about: "Size of the small FIFO, at least one frame; default of the paper, section 4.",
            ..Param::BLANK
        },
        Param {
            name: "ghost_fraction",
            kind: Kind::Real { min: 0.0, max: 16.0 },
            default: IfAbsent::Real(0.9),
            unit: "of frames",
            about: "Entries of the ghost FIFO; default: as many as the main FIFO (the paper).",
            ..Param::BLANK
        },
    ],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

// The mark of a page: where it is, above its freq.
const FREQ: u8 = 3;
const SMALL: u8 = 0 << 2;
const MAIN: u8 = 1 << 2;
const GHOST: u8 = 2 << 2;

/// Evictions from now to the one for which memory is asked already; old pages are cold.
const SOON: usize = 6;

/// The policy.
pub struct S3Fifo<D> {
    pages: Table<D, Brief>, // every resident page and every ghost
    small: VecDeque<Slot>,  // tail (oldest) first, like the others
    main: VecDeque<Slot>,
    ghost: Queue,
    places: Places, // of the ghosts in their queue
    small_max: u32, // the paper's size of S
    main_max: u32,  // of M
    ghost_max: u32, // of G
    frames: u32,
}

impl<D: Directory> S3Fifo<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let frames = setup.frames;
        let small_max = share(setup.params.real("small_fraction"), frames).clamp(1, frames);
        let pages = Table::new(directory);
        S3Fifo {
            places: Places::with_slots(pages.slots()),
            pages,
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: Queue::new(),
            small_max,
            main_max: frames - small_max,
            ghost_max: share(setup.params.real("ghost_fraction"), frames),
            frames,
        }
    }

    /// The victim of `main`: its first tail with `freq` 0.
    #[inline(always)]
    fn evict_main(&mut self, plan: &mut Plan) {
        loop {
            let tail = self.main.pop_front().expect("main is not empty");
            let page = &mut self.pages[tail];
            if page.mark() == MAIN {
                let dirty = page.dirty();
                plan.evict(self.pages.remove(tail), dirty);
                return;
            }
            page.set_mark(page.mark() - 1);
            self.main.push_back(tail);
        }
    }

    /// The victim of `small`: its first tail with `freq` below 2, unless a promotion before that
    /// overflows `main`.
    #[inline(always)]
    fn evict_small(&mut self, plan: &mut Plan) {
        loop {
            let tail = self.small.pop_front().expect("small gives a victim before it is empty");
            let page = &mut self.pages[tail];
            if page.mark() < SMALL + 2 {
                plan.evict(self.pages.page(tail), self.pages[tail].dirty());
                self.remember(tail);
                if let Some(&soon) = self.small.get(SOON) {
                    self.pages.prefetch_slot(soon);
                    self.places.prefetch_slot(soon);
                }
                return;
            }
            page.set_mark(MAIN);
            self.main.push_back(tail);
            if self.main.len() > self.main_max as usize {
                return self.evict_main(plan);
            }
        }
    }

    /// Makes an evicted page a ghost.
    #[inline(always)]
    fn remember(&mut self, slot: Slot) {
        if self.ghost_max == 0 {
            self.pages.remove(slot);
            return;
        }
        if self.ghost.len() == self.ghost_max {
            let oldest = self.ghost.pop().expect("a full ghost list has an oldest entry");
            self.pages.remove(oldest);
        }
        self.pages[slot] = Brief::new(false, GHOST);
        self.ghost.push(slot, &mut self.places);
    }
}

impl<D: Directory> Policy for S3Fifo<D> {
    /// The page was a ghost.
    type Miss = bool;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<bool> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(false) };
        let page = &mut self.pages[slot];
        if page.mark() >= GHOST {
            self.ghost.take(slot, &self.places);
            self.pages.remove(slot);
            return Lookup::Miss(true);
        }
        page.access(r.op.is_write());
        page.set_mark(page.mark() + u8::from(page.mark() & FREQ < FREQ));
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut bool, _: &dyn DeviceView, plan: &mut Plan) {
        if self.small.len() < self.small_max as usize && !self.main.is_empty() {
            self.evict_main(plan);
        } else {
            self.evict_small(plan);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, ghost: bool) -> Slot {
        let dirty = r.op.is_write();
        if ghost {
            let slot = self.pages.insert(r.page, Brief::new(dirty, MAIN));
            self.main.push_back(slot);
            slot
        } else {
            let slot = self.pages.insert(r.page, Brief::new(dirty, SMALL));
            self.small.push_back(slot);
            slot
        }
    }

    counted! { self: (self.small.len() + self.main.len()) as u32, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for &slot in self.small.iter().chain(&self.main) {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        let is_ghost = self.pages[slot].mark() >= GHOST;
        if is_ghost {
            self.ghost.take(slot, &self.places);
        } else if self.pages[slot].mark() >= MAIN {
            take(&mut self.main, slot);
        } else {
            take(&mut self.small, slot);
        }
        self.pages.remove(slot);
        (!is_ghost).then_some(dirty)
    }

    shows! {
        self.pages;
        "small" => self.small.iter().rev().copied(),
        "main" => self.main.iter().rev().copied(),
        "ghost" => self.ghost.iter().rev()
    }

    hints! { self.pages: prefetch; beside: self.places }

    fn check(&self) {
        assert!(self.resident() <= self.frames);
        assert!(self.ghost.len() <= self.ghost_max);
        self.ghost.check(&self.places);
        let known = |slot: Slot, place: u8| {
            let found = self.pages.find(self.pages.page(slot));
            assert_eq!(found, Some(slot), "a page of a list is known");
            assert_eq!(self.pages[slot].mark() & !FREQ, place, "a page knows its list");
        };
        self.small.iter().for_each(|&slot| known(slot, SMALL));
        self.main.iter().for_each(|&slot| known(slot, MAIN));
        self.ghost.iter().for_each(|slot| known(slot, GHOST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, victims};
    use destage_core::Dense;

    fn s3_fifo(frames: u32, small: f64, ghost: f64) -> S3Fifo<Dense> {
        let (small, ghost) = (Value::Real(small), Value::Real(ghost));
        let given = [("small_fraction", &small), ("ghost_fraction", &ghost)];
        let params = check_params("s3-fifo", given).unwrap();
        S3Fifo::new(&Setup { params, ..Setup::new(frames) }, Dense::new(16))
    }

    /// `small[2/0 1/2] main[] ghost[]`, heads first.
    fn lists(p: &S3Fifo<Dense>) -> String {
        let show = |list: &VecDeque<Slot>| {
            let pages: Vec<String> = list
                .iter()
                .rev()
                .map(|&slot| format!("{}/{}", slot.0, p.pages[slot].mark() & FREQ))
                .collect();
            pages.join(" ")
        };
        let ghosts: Vec<String> = p.ghost.iter().rev().map(|slot| slot.0.to_string()).collect();
        format!("small[{}] main[{}] ghost[{}]", show(&p.small), show(&p.main), ghosts.join(" "))
    }

    #[test]
    fn two_hits_in_small_carry_a_page_into_main_and_none_leaves_a_ghost() {
        let mut p = s3_fifo(4, 0.25, 0.5);
        let steps = drive(&mut p, &reads(&[1, 1, 1, 2, 3, 4, 5]));
        assert_eq!(victims(&steps), [2]);
        assert_eq!(lists(&p), "small[5/0 4/0 3/0] main[1/0] ghost[2]");
    }

    #[test]
    fn a_ghost_comes_back_into_main_and_is_no_ghost_any_more() {
        let mut p = s3_fifo(4, 0.25, 0.5);
        drive(&mut p, &reads(&[1, 1, 1, 2, 3, 4, 5, 2]));
        assert_eq!(lists(&p), "small[5/0 4/0] main[2/0 1/0] ghost[3]");
    }

    #[test]
    fn the_only_ghost_is_not_dropped_by_the_eviction_of_its_own_return() {
        let mut p = s3_fifo(2, 0.5, 0.5);
        drive(&mut p, &reads(&[1, 2, 3, 1]));
        assert_eq!(lists(&p), "small[3/0] main[1/0] ghost[2]");
    }

    #[test]
    fn a_promotion_that_overflows_main_makes_main_give_the_victim() {
        // small is the whole cache, main has no room: a page hit twice goes straight through.
        let mut p = s3_fifo(2, 1.0, 0.0);
        let steps = drive(&mut p, &reads(&[1, 1, 1, 2, 3]));
        assert_eq!(victims(&steps), [1]);
        assert_eq!(lists(&p), "small[3/0 2/0] main[] ghost[]");
    }

    #[test]
    fn a_page_of_main_hit_once_is_passed_once() {
        let mut p = s3_fifo(3, 0.34, 1.0);
        // 1 and 2 come back as ghosts; then 1, the older, is hit.
        drive(&mut p, &reads(&[1, 2, 3, 4, 1, 5, 2, 1]));
        assert_eq!(lists(&p), "small[5/0] main[2/0 1/1] ghost[4 3]");
        assert_eq!(victims(&drive(&mut p, &reads(&[3]))), [5]);
        assert_eq!(victims(&drive(&mut p, &reads(&[6]))), [2]);
    }
}
