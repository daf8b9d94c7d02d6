//! LeCaR: choose between LRU and LFU at random, with weights learned from regret.
//!
//! Vietri, Rodriguez, Martinez, Lyons, Liu, Rangaswami, Zhao, Narasimhan. Driving cache replacement
//! with ML-based LeCaR. HotStorage 2018; the authors' program `lecar.py`.
//!
//! Rules. Two experts, LRU and LFU, with weights `w_LRU` and `w_LFU` of sum 1; a history of each of
//! the pages that it made leave, `H_LRU` and `H_LFU`.
//!
//! ```text
//!  hit    most recent; count + 1
//!  miss   in a history: leaves it; its count is the remembered one + 1; that expert is regretted:
//!             r = d0 ^ (time since its eviction / s); its weight * exp(-lambda r); both weights
//!             over their sum; a weight of 0.99 or more is 0.99, and the other one 0.01
//!         full: a, the victim of LRU; b, that of LFU (ties: the least recently used);
//!             a = b: evicted, and forgotten; else with probability w_LRU a, into H_LRU, else b,
//!             into H_LFU, and the oldest entry of a full history goes
//!         comes in most recent, with the count above, or 1
//! ```
//!
//! Readings.
//!
//! | open | here |
//! |---|---|
//! | length of a history | as many entries as frames (the authors' program); libCacheSim: half of it |
//! | count of a page that comes back | remembered (the authors' program); libCacheSim: 1 (`keep_frequency`) |
//! | ties in LFU | least recently used (libCacheSim); the authors' heap compares page numbers |
//! | bounds of the weights | 0.99 and 0.01, after learning only (the authors' program) |
//! | a draw when both experts agree | made, and ignored (the authors' program) |
//! | precision, generator | binary64 for single; SplitMix64 for NumPy's |
//!
//! Cost. O(1); O(log s) for pages used 4096 times or more. Nine words per page or entry, at most
//! `s` and two histories of them.

use crate::params::{IfAbsent, Kind, Param};
use crate::ranks::Ranks;
use crate::sample::{SEED, random};
use crate::{Gauge, Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, PerSlot, Plan, Policy, Request, Slot,
    SplitMix64, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lecar",
    title: "Learning Cache Replacement",
    source: "Vietri et al., HotStorage 2018",
    about: "LRU or LFU at random, with weights learned from regret.",
    ghosts: true,
    time: "O(1) to O(log s)",
    params: PARAMS,
    gauges: &[Gauge { name: "w_lru", title: "w_LRU: weight of LRU", unit: "" }],
    ..Info::BLANK
};

static PARAMS: &[Param] = &[
    Param {
        name: "learning_rate",
        symbol: "lambda",
        kind: Kind::Real { min: 0.0, max: 100.0 },
        default: IfAbsent::Real(0.45),
        about: "Weight of a regret; default of the paper.",
        ..Param::BLANK
    },
    Param {
        name: "discount",
        symbol: "d_0",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(0.005),
        about: "Discount of a regret after as many accesses as there are frames; default of \
                the paper.",
        ..Param::BLANK
    },
    Param {
        name: "initial_weight",
        symbol: "w_LRU",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(0.5),
        about: "Weight of LRU at the start; default of the paper.",
        ..Param::BLANK
    },
    Param {
        name: "history_fraction",
        kind: Kind::Real { min: 0.0, max: 16.0 },
        default: IfAbsent::Real(1.0),
        unit: "of frames",
        about: "Entries of each of the two histories; default of the authors' program.",
        ..Param::BLANK
    },
    Param {
        name: "keep_frequency",
        kind: Kind::Bool,
        default: IfAbsent::Bool(true),
        about: "A page that comes back goes on counting; default of the authors' program.",
        ..Param::BLANK
    },
    SEED,
];

/// No expert's weight goes above this by learning, nor the other's below what is left of 1.
const HEAVIEST: f64 = 0.99;
const LIGHTEST: f64 = 0.01;

// Tags of the lists.
const RESIDENT: u8 = 1;
const H_LRU: u8 = 2;
const H_LFU: u8 = 3;

/// Ghost of an evicted page.
#[derive(Clone, Copy, Default, Debug)]
struct Past {
    count: u64,
    evicted_at: u64,
}

/// State of a miss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    count: u64,          // that it comes in with
    ghost: Option<Slot>, // its slot, taken off its history already
}

/// The policy.
pub struct Lecar<D> {
    pages: Pages<D>, // every resident page and every entry of a history
    recency: List,   // resident pages, MRU to LRU
    counts: Ranks,   // of the resident pages
    past: PerSlot<Past>,
    h_lru: List, // newest to oldest
    h_lfu: List,
    history_max: u32,
    w_lru: f64,
    w_lfu: f64,
    now: u64, // t
    learning_rate: f64,
    discount: f64,
    keep_frequency: bool,
    random: SplitMix64,
    frames: u32,
}

impl<D: Directory> Lecar<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let params = &setup.params;
        let pages = Pages::new(directory, 3);
        Lecar {
            recency: List::new(&pages, RESIDENT),
            counts: Ranks::new(pages.slots()),
            past: PerSlot::new(&pages),
            h_lru: List::new(&pages, H_LRU),
            h_lfu: List::new(&pages, H_LFU),
            pages,
            history_max: share(params.real("history_fraction"), setup.frames),
            w_lru: params.real("initial_weight"),
            w_lfu: 1.0 - params.real("initial_weight"),
            now: 0,
            learning_rate: params.real("learning_rate"),
            discount: params.real("discount"),
            keep_frequency: params.flag("keep_frequency"),
            random: random(params),
            frames: setup.frames,
        }
    }

    /// The page is in a history: leaves it, and its expert is regretted.
    #[inline(always)]
    fn recall(&mut self, slot: Slot) -> Miss {
        let Past { count, evicted_at } = self.past[slot];
        let after = (self.now - evicted_at) as f64 / f64::from(self.frames);
        let factor = (-self.learning_rate * self.discount.powf(after)).exp();
        if self.h_lru.holds(&self.pages, slot) {
            self.h_lru.unlink(&mut self.pages, slot);
            self.w_lru *= factor;
        } else {
            self.h_lfu.unlink(&mut self.pages, slot);
            self.w_lfu *= factor;
        }
        self.normalise();
        Miss { count: if self.keep_frequency { count + 1 } else { 1 }, ghost: Some(slot) }
    }

    fn normalise(&mut self) {
        let sum = self.w_lru + self.w_lfu;
        self.w_lru /= sum;
        self.w_lfu /= sum;
        if self.w_lru >= HEAVIEST {
            (self.w_lru, self.w_lfu) = (HEAVIEST, LIGHTEST);
        } else if self.w_lfu >= HEAVIEST {
            (self.w_lru, self.w_lfu) = (LIGHTEST, HEAVIEST);
        }
    }

    /// Puts an evicted page into the history of the expert that chose it.
    #[inline(always)]
    fn remember(&mut self, slot: Slot, count: u64, by_lru: bool) {
        let history = if by_lru { &mut self.h_lru } else { &mut self.h_lfu };
        if history.len() == self.history_max {
            let oldest = history.pop_lru(&mut self.pages).expect("it is not of length 0");
            self.pages.remove(oldest);
        }
        self.past.set(slot, Past { count, evicted_at: self.now });
        history.push_mru(&mut self.pages, slot);
    }
}

impl<D: Directory> Policy for Lecar<D> {
    type Miss = Miss;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Miss> {
        self.now += 1;
        let Some(slot) = self.pages.find(r.page) else {
            return Lookup::Miss(Miss { count: 1, ghost: None });
        };
        if !self.recency.holds(&self.pages, slot) {
            return Lookup::Miss(self.recall(slot));
        }
        self.pages[slot].dirty |= r.op.is_write();
        self.recency.touch(&mut self.pages, slot);
        self.counts.raise(slot, self.counts.rank(slot) + 1);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut Miss, _: &dyn DeviceView, plan: &mut Plan) {
        let by_lru = self.random.unit() < self.w_lru;
        let a = self.recency.lru(&self.pages).expect("evict is only called on a full buffer");
        let b = self.counts.least().expect("evict is only called on a full buffer");
        let victim = if by_lru { a } else { b };
        let count = self.counts.rank(victim);
        self.recency.unlink(&mut self.pages, victim);
        self.counts.remove(victim);
        plan.evict(self.pages.page(victim), self.pages[victim].dirty);
        if a == b || self.history_max == 0 {
            self.pages.remove(victim);
        } else {
            self.remember(victim, count, by_lru);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, Miss { count, ghost }: Miss) -> Slot {
        let slot = ghost.unwrap_or_else(|| self.pages.insert(r.page));
        self.pages[slot].dirty = r.op.is_write();
        self.recency.push_mru(&mut self.pages, slot);
        self.counts.push(slot, count);
        slot
    }

    on_lists! { self.pages: [self.recency]; frames: self.frames }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let list = match self.pages[slot].list {
            RESIDENT => {
                self.counts.remove(slot);
                &mut self.recency
            }
            H_LRU => &mut self.h_lru,
            _ => &mut self.h_lfu,
        };
        list.unlink(&mut self.pages, slot);
        let resident = list.tag() == RESIDENT;
        self.pages.remove(slot);
        resident.then_some(dirty)
    }

    shows! {
        self.pages;
        "recency" => self.recency.iter(&self.pages),
        "H_LRU" => self.h_lru.iter(&self.pages),
        "H_LFU" => self.h_lfu.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links; beside: self.counts }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("w_lru", self.w_lru);
    }

    fn check(&self) {
        for list in [&self.recency, &self.h_lru, &self.h_lfu] {
            list.check(&self.pages);
        }
        self.counts.check();
        assert!(self.resident() <= self.frames);
        assert_eq!(self.counts.len(), self.resident(), "every resident page has a count");
        assert!(
            self.counts.order().iter().all(|&slot| self.recency.holds(&self.pages, slot)),
            "only resident pages have a count"
        );
        assert!(self.h_lru.len() <= self.history_max && self.h_lfu.len() <= self.history_max);
        assert!((0.0..=1.0).contains(&self.w_lru) && (0.0..=1.0).contains(&self.w_lfu));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::Dense;

    fn lecar(frames: u32, given: &[(&str, Value)]) -> Lecar<Dense> {
        Lecar::new(&setup("lecar", frames, given), Dense::new(16))
    }

    /// `lru[1/3 5/1] H_LRU[3/2/10] H_LFU[]`.
    fn lists(p: &Lecar<Dense>) -> String {
        let resident = |s: Slot| format!("{}/{}", s.0, p.counts.rank(s));
        let past = |s: Slot| format!("{}/{}/{}", s.0, p.past[s].count, p.past[s].evicted_at);
        format!(
            "lru[{}] H_LRU[{}] H_LFU[{}]",
            show(p.recency.iter(&p.pages).map(resident)),
            show(p.h_lru.iter(&p.pages).map(past)),
            show(p.h_lfu.iter(&p.pages).map(past))
        )
    }

    #[test]
    fn the_page_on_which_both_experts_agree_is_forgotten() {
        let mut p = lecar(3, &[]);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3, 4]))), [2]);
        assert_eq!(lists(&p), "lru[4/1 3/1 1/2] H_LRU[] H_LFU[]");
    }

    #[test]
    fn a_page_that_lru_made_leave_and_that_comes_back_makes_lru_lighter() {
        let mut p = lecar(2, &[("initial_weight", Value::Real(1.0))]);
        drive(&mut p, &reads(&[1, 1, 2, 3]));
        assert_eq!(lists(&p), "lru[3/1 2/1] H_LRU[1/2/4] H_LFU[]");
        p.w_lru = 0.5;
        p.w_lfu = 0.5;
        drive(&mut p, &reads(&[1]));
        assert_eq!(lists(&p), "lru[1/3 3/1] H_LRU[] H_LFU[]", "2 was the victim of both");
        // One access after its eviction, of two frames: r = sqrt(d0).
        let factor = (-0.45 * 0.005_f64.sqrt()).exp();
        assert!((p.w_lru - factor / (factor + 1.0)).abs() < 1e-15);
    }

    #[test]
    fn no_expert_is_ever_silent_once_it_has_learned() {
        let given = [("learning_rate", Value::Real(100.0)), ("discount", Value::Real(1.0))];
        let mut p = lecar(2, &given);
        for _ in 0..20 {
            drive(&mut p, &reads(&[1, 1, 2, 3, 1, 4, 5]));
        }
        assert!([LIGHTEST, HEAVIEST].contains(&p.w_lru), "{}", p.w_lru);
        assert!((p.w_lru + p.w_lfu - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_history_of_no_length_remembers_nothing() {
        let mut p =
            lecar(2, &[("history_fraction", Value::Int(0)), ("initial_weight", Value::Int(1))]);
        drive(&mut p, &reads(&[1, 1, 2, 3, 1]));
        assert_eq!(lists(&p), "lru[1/1 3/1] H_LRU[] H_LFU[]");
    }
}
