//! W-TinyLFU: admit to the main part only what is more popular than the victim.
//!
//! Einziger, Friedman, Manes. TinyLFU: a highly efficient cache admission policy. ACM TOS 13(4),
//! 2017.
//!
//! Rules. LRU lists `window`, `probation` and `protected`; a `count`, 0..=15, of every page,
//! resident or not. Every access first adds one to its page's count; after `sample_factor * s` of
//! them all counts are halved, and so is the number of accesses seen. Hit in `window` or
//! `protected`: to the MRU end of that list; in `probation`: to that of `protected`, whose LRU page
//! goes back to `probation` if it is over its size. Miss, cache full: the LRU page of `window` is
//! the candidate, that of `probation` (or of `protected`, if `probation` is empty) the victim; if
//! the candidate's count is larger, the victim is evicted and the candidate goes to the MRU end of
//! `probation`; else the candidate is evicted. Miss, not full: the LRU page of a full `window` goes
//! to `probation`. The new page comes in at the MRU end of `window`.
//!
//! Readings.
//! * Exact counts in place of the count-min sketch, whose decisions depend on its hash functions.
//! * The cap of 15, the halving period and 1 % / 80 % are those of the paper and of its reference
//!   implementation. A tie goes to the victim: the candidate is evicted.
//!
//! State. A page's count is in its node, with the number of the halving up to which it is right
//! (modulo 2^12); what has been halved since is made up for when the count is read. So a halving is
//! one addition, however many pages have counts.
//!
//! Cost. O(1) amortised; two links and two bytes per page with a count.

use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "w-tinylfu",
    title: "W-TinyLFU with exact counts",
    source: "Einziger, Friedman, Manes, ACM TOS 13(4), 2017",
    about: "Admit to the main part only what is more popular than its victim.",
    ghosts: true,
    time: "O(1) amortised",
    params: &[
        Param {
            name: "window_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.01),
            unit: "of frames",
            about: "Size of the window, at least one frame; default of the paper, section 4.",
            ..Param::BLANK
        },
        Param {
            name: "protected_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.8),
            unit: "of the main part",
            about: "Size of the protected list; default of the paper, section 4.",
            ..Param::BLANK
        },
        Param {
            name: "sample_factor",
            symbol: "W/C",
            kind: Kind::Int { min: 1, max: 1000 },
            default: IfAbsent::Int(10),
            unit: "accesses per frame",
            about: "Accesses between two halvings; default of the reference implementation.",
            ..Param::BLANK
        },
    ],
    ..Info::BLANK
};

const WINDOW: u8 = 1;
const PROBATION: u8 = 2;
const PROTECTED: u8 = 3;
/// Tag of a page that is not resident, but counted.
const COUNTED: u8 = 4;

const COUNT_MAX: u16 = 15;
/// Halvings are numbered modulo this: a mark is a count (four bits) below such a number.
const ERAS: u16 = 1 << 12;
/// Halvings between two visits to all counts; before a number comes round again.
const VISIT_ERAS: u16 = ERAS / 2;

/// The policy.
pub struct WTinyLfu<D> {
    pages: Pages<D>, // every resident page and every counted one
    window: List,    // MRU to LRU, all three
    probation: List,
    protected: List,
    window_max: u32,    // Wmax
    protected_max: u32, // Pmax
    seen: u64,          // accesses, halved with the counts
    sample: u64,        // accesses seen that set off a halving
    era: u16,           // halvings, modulo ERAS
    visited: u16,       // era of the last visit to all counts
    counted: usize,     // pages that are not resident, but counted
    counted_max: usize, // that many set off a visit
    frames: u32,
}

impl<D: Directory> WTinyLfu<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let (frames, params) = (setup.frames, &setup.params);
        let window_max = share(params.real("window_fraction"), frames).clamp(1, frames);
        let pages = Pages::new(directory, 3);
        WTinyLfu {
            window: List::new(&pages, WINDOW),
            probation: List::new(&pages, PROBATION),
            protected: List::new(&pages, PROTECTED),
            pages,
            window_max,
            protected_max: share(params.real("protected_fraction"), frames - window_max),
            seen: 0,
            sample: params.int("sample_factor") * u64::from(frames),
            era: 0,
            visited: 0,
            counted: 0,
            counted_max: 1024,
            frames,
        }
    }

    /// The page's count, now.
    #[inline(always)]
    fn count(&self, slot: Slot) -> u16 {
        let mark = self.pages[slot].mark;
        let halvings = self.era.wrapping_sub(mark >> 4) % ERAS;
        (mark & COUNT_MAX) >> halvings.min(4)
    }

    #[inline(always)]
    fn set_count(&mut self, slot: Slot, count: u16) {
        self.pages[slot].mark = self.era << 4 | count;
    }

    /// Counts an access to a known page.
    #[inline(always)]
    fn count_access(&mut self, slot: Slot) {
        let count = self.count(slot) + 1;
        self.set_count(slot, count.min(COUNT_MAX));
        self.seen += 1;
        if self.seen == self.sample {
            self.era = (self.era + 1) % ERAS;
            self.seen /= 2;
        }
    }

    /// Visits all counts before the number of a halving comes round again; where slots are scarce,
    /// also when many pages are only counted. Pages whose count is 0 are forgotten.
    #[inline(always)]
    fn visit_counts(&mut self) {
        let eras = self.era.wrapping_sub(self.visited) % ERAS;
        if eras >= VISIT_ERAS || !D::DENSE && self.counted > self.counted_max {
            self.visit_all_counts();
        }
    }

    #[cold]
    #[inline(never)]
    fn visit_all_counts(&mut self) {
        for slot in (0..self.pages.slots() as u32).map(Slot) {
            let count = self.count(slot);
            match self.pages[slot].list {
                0 => {}
                COUNTED if count == 0 => {
                    self.pages.remove(slot);
                    self.counted -= 1;
                }
                _ => self.set_count(slot, count),
            }
        }
        self.visited = self.era;
        self.counted_max = 2 * self.counted + 1024;
    }
}

impl<D: Directory> Policy for WTinyLfu<D> {
    /// The page, counted already.
    type Miss = Slot;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Slot> {
        self.visit_counts();
        let Some(slot) = self.pages.find(r.page) else {
            let slot = self.pages.insert(r.page);
            self.pages[slot].list = COUNTED;
            self.counted += 1;
            self.set_count(slot, 0);
            self.count_access(slot);
            return Lookup::Miss(slot);
        };
        self.count_access(slot);
        let page = &mut self.pages[slot];
        let list = page.list;
        if list == COUNTED {
            return Lookup::Miss(slot);
        }
        page.dirty |= r.op.is_write();
        // Both lists are chosen without a branch: nothing predicts them.
        let from = match list {
            WINDOW => &mut self.window,
            PROBATION => &mut self.probation,
            _ => &mut self.protected,
        };
        from.unlink(&mut self.pages, slot);
        let to = if list == WINDOW { &mut self.window } else { &mut self.protected };
        to.push_mru(&mut self.pages, slot);
        if self.protected.len() > self.protected_max {
            let demoted = self.protected.pop_lru(&mut self.pages).expect("it is over its size");
            self.probation.push_mru(&mut self.pages, demoted);
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut Slot, _: &dyn DeviceView, plan: &mut Plan) {
        let candidate =
            self.window.pop_lru(&mut self.pages).expect("a full buffer's window is full");
        let main =
            if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        let mut loser = candidate;
        if let Some(victim) = main.lru(&self.pages)
            && self.count(candidate) > self.count(victim)
        {
            let main =
                if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
            main.unlink(&mut self.pages, victim);
            self.probation.push_mru(&mut self.pages, candidate);
            loser = victim;
        }
        plan.evict(self.pages.page(loser), self.pages[loser].dirty);
        self.pages[loser].list = COUNTED;
        self.counted += 1;
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, slot: Slot) -> Slot {
        if self.window.len() == self.window_max {
            let oldest = self.window.pop_lru(&mut self.pages).expect("the window is full");
            self.probation.push_mru(&mut self.pages, oldest);
        }
        self.counted -= 1;
        self.pages[slot].dirty = r.op.is_write();
        self.window.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.window, self.probation, self.protected]; frames: self.frames }

    /// Counts stay, as the sketch would that they stand for.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let list = match self.pages[slot].list {
            WINDOW => &mut self.window,
            PROBATION => &mut self.probation,
            PROTECTED => &mut self.protected,
            _ => return None,
        };
        list.unlink(&mut self.pages, slot);
        self.pages[slot].list = COUNTED;
        self.counted += 1;
        Some(dirty)
    }

    shows! {
        self.pages;
        "window" => self.window.iter(&self.pages),
        "probation" => self.probation.iter(&self.pages),
        "protected" => self.protected.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        for list in [&self.window, &self.probation, &self.protected] {
            list.check(&self.pages);
        }
        assert!(self.resident() <= self.frames);
        assert!(self.window.len() <= self.window_max);
        assert!(self.protected.len() <= self.protected_max);
        assert!(
            self.resident() < self.frames || self.window.len() == self.window_max,
            "a full buffer has a full window"
        );
        assert!(self.seen < self.sample, "counts are halved in time");
        let counted =
            (0..self.pages.slots() as u32).filter(|&s| self.pages[Slot(s)].list == COUNTED);
        assert_eq!(counted.count(), self.counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, victims};
    use destage_core::{Dense, Hashed};

    fn setup(frames: u32, window: f64, protected: f64, sample: i128) -> Setup {
        let (window, protected) = (Value::Real(window), Value::Real(protected));
        let sample = Value::Int(sample);
        let given = [
            ("window_fraction", &window),
            ("protected_fraction", &protected),
            ("sample_factor", &sample),
        ];
        Setup { params: check_params("w-tinylfu", given).unwrap(), ..Setup::new(frames) }
    }

    /// `window[4] probation[3 2] protected[1]`.
    fn lists(p: &WTinyLfu<Dense>) -> String {
        let show = |list: &List| {
            list.iter(&p.pages).map(|s| s.0.to_string()).collect::<Vec<_>>().join(" ")
        };
        format!(
            "window[{}] probation[{}] protected[{}]",
            show(&p.window),
            show(&p.probation),
            show(&p.protected)
        )
    }

    #[test]
    fn a_candidate_no_more_popular_than_the_victim_is_evicted() {
        let mut p = WTinyLfu::new(&setup(4, 0.25, 0.67, 10), Dense::new(16));
        let steps = drive(&mut p, &reads(&[1, 1, 2, 3, 4, 1, 5]));
        assert_eq!(victims(&steps), [4], "4 and 2 were read once each");
        assert_eq!(lists(&p), "window[5] probation[3 2] protected[1]");
    }

    #[test]
    fn a_more_popular_candidate_takes_the_victims_place() {
        let mut p = WTinyLfu::new(&setup(4, 0.25, 0.67, 10), Dense::new(16));
        let steps = drive(&mut p, &reads(&[1, 1, 2, 3, 4, 1, 5, 2, 5, 6]));
        assert_eq!(victims(&steps), [4, 3]);
        assert_eq!(lists(&p), "window[6] probation[5] protected[2 1]");
    }

    #[test]
    fn a_hit_in_probation_is_protected_and_the_oldest_protected_page_goes_back() {
        let mut p = WTinyLfu::new(&setup(4, 0.25, 0.34, 10), Dense::new(16));
        drive(&mut p, &reads(&[1, 2, 3, 4, 1, 2]));
        assert_eq!(lists(&p), "window[4] probation[1 3] protected[2]");
    }

    #[test]
    fn counts_are_halved_after_a_sample_and_capped_at_15() {
        let mut p = WTinyLfu::new(&setup(2, 0.5, 0.8, 10), Dense::new(16));
        drive(&mut p, &reads(&[1; 19]));
        assert_eq!(p.count(Slot(1)), 15);
        drive(&mut p, &reads(&[1]));
        assert_eq!((p.count(Slot(1)), p.seen), (7, 10));
        drive(&mut p, &reads(&[2; 40]));
        assert_eq!(p.count(Slot(1)), 0, "halved five times");
        assert_eq!(p.count(Slot(2)), 7, "10, 5, 15, 7, 15 (not 17), 7, ..");
    }

    #[test]
    fn numbers_of_halvings_that_come_round_again_do_not_bring_counts_back() {
        // One frame and sample 1: every access halves.
        let mut p = WTinyLfu::new(&setup(1, 1.0, 0.8, 1), Dense::new(16));
        drive(&mut p, &reads(&[1]));
        p.set_count(Slot(1), 15);
        for _ in 0..ERAS {
            drive(&mut p, &reads(&[2]));
        }
        drive(&mut p, &reads(&[1]));
        assert_eq!(p.count(Slot(1)), 0, "1, halved at once; were it 15 still, 7");
    }

    #[test]
    fn a_live_pool_forgets_pages_whose_count_is_0() {
        let mut p = WTinyLfu::new(&setup(1, 1.0, 0.8, 1), Hashed::new());
        for page in 0..100_000 {
            drive(&mut p, &reads(&[page]));
        }
        assert!(p.pages.slots() < 3000);
    }
}
