//! `rate`: an offer is taken with a probability that follows a write budget.
//!
//! After `DynamicRandomAP` of CacheLib (Berg et al., OSDI 2020; `navy/admission_policy`).
//!
//! Rules (`docs/spec/tiers.md` 5). Time is cut into windows of `window`; `T` is the target in pages
//! a window, `h` the `catch_up`. A window has `o` offers and `w` pages written without being asked
//! for; `B` pages have been written in all.
//!
//! ```text
//!  window j begins  r = (T (j + h) - B) / h; if o > 0:  p = (r - w) / o, cut to 0..1
//!                   L = r, at most max_bytes_per_day in pages a window
//!  offer            declined if unit() >= p, or if a page more is above L in this window
//! ```
//!
//! A page that would be written over is an offer, too: declined, its copy is dropped.
//!
//! Interpretations. CacheLib starts at p = 1 and changes it by a quarter a minute at most, with a
//! day to catch up: a trace of minutes would end before. Here the demand is taken as observed, and
//! a window ends at its share of the budget.
//!
//! Cost. O(1); nothing per page.

use super::Filter;
use super::info::AdmissionInfo;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{Page, Policy, SplitMix64};

/// Catalogue entry.
pub static INFO: AdmissionInfo = AdmissionInfo {
    name: "rate",
    title: "Admission at a write budget",
    source: "DynamicRandomAP of CacheLib, OSDI 2020",
    about: "Take offers with a probability that keeps flash writes at a target.",
    reads_time: true,
    reads_compute_time: false,
    params: &[
        Param {
            name: "bytes_per_day",
            kind: Kind::Bytes,
            default: IfAbsent::Nothing,
            about: "Target: bytes written to flash in a day.",
            ..Param::BLANK
        },
        Param {
            name: "max_bytes_per_day",
            kind: Kind::OptionalBytes,
            default: IfAbsent::None("unlimited"),
            about: "Rate that no window exceeds by admission.",
            ..Param::BLANK
        },
        Param {
            name: "window",
            kind: Kind::Duration,
            default: IfAbsent::Int(60_000_000_000),
            about: "Time between two changes of the probability.",
            ..Param::BLANK
        },
        Param {
            name: "catch_up",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: IfAbsent::Int(1),
            unit: "windows",
            about: "Windows in which a lag is made up for.",
            ..Param::BLANK
        },
        Param {
            name: "seed",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: IfAbsent::Int(1),
            about: "Seed of its random numbers.",
            ..Param::BLANK
        },
    ],
};

const DAY_NS: f64 = 86_400e9;

/// The filter.
pub struct Rate {
    target: f64,   // T
    most: f64,     // max_bytes_per_day
    catch_up: f64, // h
    window_ns: u64,
    random: SplitMix64,
    start_ns: Option<u64>,
    window: u64,        // j
    probability: f64,   // p
    limit: f64,         // L
    offers: u64,        // o
    unasked: u64,       // w
    in_window: u64,     // pages written in this window
    written: u64,       // B
    was_over_cap: bool, // the last offer
}

impl Filter for Rate {
    fn new(params: &Params, _: u32, _: u32, page_bytes: u64) -> Self {
        let window_ns = params.int("window");
        let pages = |bytes: u64| bytes as f64 / page_bytes as f64 * (window_ns as f64 / DAY_NS);
        let target = pages(params.int("bytes_per_day"));
        let most = params.optional_int("max_bytes_per_day").map_or(f64::INFINITY, pages);
        Rate {
            target,
            most,
            catch_up: params.int("catch_up") as f64,
            window_ns,
            random: SplitMix64::new(params.int("seed")),
            start_ns: None,
            window: 0,
            probability: 1.0,
            limit: f64::min(target, most),
            offers: 0,
            unasked: 0,
            in_window: 0,
            written: 0,
            was_over_cap: false,
        }
    }

    fn awaits_ns(&self) -> u64 {
        let end = |start: u64| {
            let windows = u128::from(self.window + 1) * u128::from(self.window_ns);
            u64::try_from(u128::from(start) + windows).unwrap_or(u64::MAX)
        };
        self.start_ns.map_or(0, end)
    }

    fn arrived(&mut self, now_ns: u64) {
        let start = *self.start_ns.get_or_insert(now_ns);
        let window = (now_ns - start) / self.window_ns;
        if window == self.window {
            return;
        }
        let due = self.target * (window as f64 + self.catch_up) - self.written as f64;
        let share = due / self.catch_up;
        if self.offers > 0 {
            let asked = share - self.unasked as f64;
            self.probability = (asked / self.offers as f64).clamp(0.0, 1.0);
        }
        self.window = window;
        self.limit = f64::min(share, self.most);
        (self.offers, self.unasked, self.in_window) = (0, 0, 0);
    }

    fn counts_overwrites(&self) -> bool {
        true
    }

    fn wrote_unasked(&mut self) {
        self.unasked += 1;
        self.in_window += 1;
        self.written += 1;
    }

    #[inline]
    fn admits<P: Policy>(&mut self, _: Page, _: &P) -> bool {
        self.offers += 1;
        let is_drawn = self.random.unit() < self.probability;
        self.was_over_cap = is_drawn && (self.in_window + 1) as f64 > self.limit;
        let is_taken = is_drawn && !self.was_over_cap;
        self.in_window += u64::from(is_taken);
        self.written += u64::from(is_taken);
        is_taken
    }

    fn was_over_cap(&self) -> bool {
        self.was_over_cap
    }
}
