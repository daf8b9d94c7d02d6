//! Stand-ins: requests drawn to what is published of a trace that is not at hand.
//!
//! A [`Recipe`] says how many requests ask for how many pages, how they come again and when.
//! [`draw`] makes requests for *extents*, stretches of pages that are asked for as a whole, without
//! addresses; [`place`] gives every extent its pages, so that one load can lie on the channels of
//! several drives; [`StandInSource`] makes records of both. Three kinds of drawing:
//!
//! * `recency`: what is asked for again is taken from a stack of all extents, the latest on top, at
//!   a drawn depth.
//! * `independent`: every request draws an extent by its popularity, k^-alpha for the k-th,
//!   whatever came before.
//! * `apart`: single pages, of which reads and writes have hot ones of their own.
//!
//! Of the first two, a share of the requests writes a log, round and round, and requests come in
//! bursts of so many on average, with silence between.
//!
//! The same recipe and seed give the same load: the generator is PCG64. Lengths, depths, ranks and
//! gaps go through the mathematical library of the platform.

mod apart;
mod independent;
mod place;
mod recency;
mod source;
mod stack;

use std::sync::Arc;

use rand::SeedableRng;
use rand::distr::Distribution;
use rand_distr::Exp1;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use self::independent::Independent;
use self::recency::Recency;
use crate::error::{Result, TraceError};
use crate::hooks::{Hooks, Stage, step};
use crate::synth::random::{chance, unit};

pub use place::{Channels, Placed, place, shares_of};
pub use source::StandInSource;

/// A request is at most so many times as long as the mean.
const LONGEST_MEANS: f64 = 64.0;
/// A log is read of nothing: of so much of its writes it can be as long at most.
const LOG_FILLED: f64 = 0.9;
/// Room is made for so many requests at once.
const AT_ONCE: u64 = 1 << 24;
/// Requests between two looks at whether a load is still wanted.
const LOOK: u64 = 1 << 16;

/// How requests are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drawing {
    /// By depth in a stack.
    Recency,
    /// By popularity.
    Independent,
    /// Reads and writes with hot pages of their own.
    Apart,
}

/// All that a load is made of, but for the seed. What a kind does not take is 0.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// How requests are drawn.
    pub kind: Drawing,
    /// Requests, from 1.
    pub requests: u64,
    /// Pages that are touched, from 1; `apart`: of the footprint.
    pub unique_pages: u64,
    /// Bytes of a page, from 1.
    pub page_bytes: u64,
    /// Share of requests that write, 0..=1.
    pub write_ratio: f64,
    /// Mean length, pages, from 1.
    #[serde(default = "one")]
    pub mean_pages: f64,
    /// Pages of new extents that lie side by side, on average, from 1.
    #[serde(default = "one")]
    pub cluster_pages: f64,
    /// Share of requests that write the log, 0..=1.
    #[serde(default)]
    pub log_share: f64,
    /// Share of the pages that the log goes round in, 0..=1.
    #[serde(default)]
    pub log_page_share: f64,
    /// Mean gap inside a burst, ns.
    pub gap_ns: u64,
    /// Requests of a burst on average; 1: no bursts.
    #[serde(default = "one")]
    pub burst: f64,
    /// Mean silence after a burst, ns.
    #[serde(default)]
    pub off_ns: u64,
    /// `independent`: the k-th extent in proportion to k^-alpha.
    #[serde(default)]
    pub alpha: f64,
    /// `recency`: share of depths that are among the latest few, 0..=1.
    #[serde(default)]
    pub near: f64,
    /// `recency`: the other depths are n * u^(1/depth) of the n extents so far, u even in 0..1.
    #[serde(default = "one")]
    pub depth: f64,
    /// `recency`: share of requests that go on where the last one ended, 0..=1.
    #[serde(default)]
    pub sequential: f64,
    /// `recency`: streams on which new extents are born side by side.
    #[serde(default = "one")]
    pub streams: f64,
    /// `recency`: phases, early in each of which most new extents come.
    #[serde(default = "one")]
    pub phases: f64,
    /// `apart`: share of reads, and of writes, that go to their hot pages, 0..=1.
    #[serde(default)]
    pub access_share: f64,
    /// `apart`: share of pages that are hot for reads, and as many for writes, 0..=1.
    #[serde(default)]
    pub page_share: f64,
}

fn one() -> f64 {
    1.0
}

impl Recipe {
    /// # Errors
    ///
    /// `Usage` for a value out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(TraceError::Usage { message });
        let counts = [
            ("requests", self.requests),
            ("unique_pages", self.unique_pages),
            ("page_bytes", self.page_bytes),
        ];
        for (name, count) in counts {
            if !(1..=1 << 40).contains(&count) {
                return wrong(format!("{name}: expected 1 to 2^40, found {count}"));
            }
        }
        if self.unique_pages >= u64::from(u32::MAX) {
            return wrong(format!(
                "unique_pages: expected below 2^32, found {}",
                self.unique_pages
            ));
        }
        let shares = [
            ("write_ratio", self.write_ratio),
            ("log_share", self.log_share),
            ("log_page_share", self.log_page_share),
            ("near", self.near),
            ("sequential", self.sequential),
            ("access_share", self.access_share),
            ("page_share", self.page_share),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return wrong(format!("{name}: expected a share, 0 to 1, found {share}"));
            }
        }
        let from_one = [
            ("mean_pages", self.mean_pages),
            ("cluster_pages", self.cluster_pages),
            ("burst", self.burst),
            ("streams", self.streams),
            ("phases", self.phases),
        ];
        for (name, value) in from_one {
            if !(1.0..1e9).contains(&value) {
                return wrong(format!("{name}: expected a number from 1, found {value}"));
            }
        }
        if !(self.depth > 0.0 && self.depth < 1e3) {
            return wrong(format!("depth: expected a number above 0, found {}", self.depth));
        }
        if !(0.0..=20.0).contains(&self.alpha) {
            return wrong(format!("alpha: expected a number, 0 to 20, found {}", self.alpha));
        }
        Ok(())
    }

    /// The longest request over so many pages.
    fn longest(&self, pages: u64) -> u64 {
        let means = (LONGEST_MEANS * self.mean_pages).round() as u64;
        (pages / 4).min(means).max(1)
    }
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// An extent, whole.
    Extent(u32),
    /// The log, from this page of it on; a write.
    Log(u32),
}

/// One request, without its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it comes, ns.
    pub time_ns: u64,
    /// What it asks for.
    pub asked: Asked,
    /// How many pages that are.
    pub pages: u32,
    /// Whether it writes.
    pub writes: bool,
}

/// Extents and their groups.
#[derive(Clone, Default, Debug)]
pub struct Extents {
    /// Pages of each extent.
    pub pages: Vec<u32>,
    /// Group of each extent: what lies side by side, in the order of the extents.
    pub groups: Vec<u32>,
}

/// A load without addresses.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// What it was made of.
    pub recipe: Recipe,
    /// Requests, in the order of their times.
    pub requests: Vec<Request>,
    /// What they ask for.
    pub extents: Extents,
    /// Pages of the log.
    pub log_pages: u32,
}

/// Geometric from 1 on, `longest` at most.
fn length(random: &mut Pcg64, mean: f64, longest: u64) -> u32 {
    if mean <= 1.0 {
        return 1;
    }
    let further = (1.0 - unit(random)).ln() / (1.0 - 1.0 / mean).ln();
    (1 + further as u64).min(longest) as u32
}

/// What draws an extent for a request.
enum Drawer {
    Recency(Box<Recency>),
    Independent(Independent),
}

/// Draws a load.
///
/// # Errors
///
/// As [`Recipe::check`]; `Interrupted`.
pub fn draw(recipe: &Recipe, seed: u64, hooks: &mut dyn Hooks) -> Result<Arc<Drawn>> {
    recipe.check()?;
    if recipe.kind == Drawing::Apart {
        return apart::draw(recipe, seed, hooks).map(Arc::new);
    }
    let (mut random, mut clock) = (Pcg64::seed_from_u64(seed), Pcg64::seed_from_u64(!seed));
    let logged = LOG_FILLED * recipe.requests as f64 * recipe.log_share * recipe.mean_pages;
    let log_pages = (recipe.log_page_share * recipe.unique_pages as f64).min(logged) as u32;
    let pages = (recipe.unique_pages - u64::from(log_pages)).max(1);
    let not_log = 1.0 - recipe.log_share;
    let count = (recipe.requests as f64 * not_log).round() as u64;
    let mut extents = Extents::default();
    let mut drawer = if recipe.kind == Drawing::Recency {
        Drawer::Recency(Box::new(Recency::new(recipe, pages, count)))
    } else {
        Drawer::Independent(Independent::new(recipe, &mut random, pages, count, &mut extents))
    };
    let reads = if not_log > 0.0 { ((1.0 - recipe.write_ratio) / not_log).min(1.0) } else { 0.0 };
    let (mut log_at, mut now) = (0, 0.0f64);
    let mut requests = Vec::with_capacity(recipe.requests.min(AT_ONCE) as usize);
    for k in 0..recipe.requests {
        if k % LOOK == 0 {
            step(hooks, Stage::Reading, k, Some(recipe.requests))?;
        }
        let (asked, pages, writes) = if log_pages > 0 && chance(&mut random, recipe.log_share) {
            let pages = length(&mut random, recipe.mean_pages, u64::from(log_pages));
            if log_at + pages > log_pages {
                log_at = 0;
            }
            log_at += pages;
            (Asked::Log(log_at - pages), pages, true)
        } else {
            let extent = match &mut drawer {
                Drawer::Recency(by) => by.draw(&mut random, &mut extents),
                Drawer::Independent(by) => by.draw(&mut random),
            };
            (Asked::Extent(extent), extents.pages[extent as usize], !chance(&mut random, reads))
        };
        requests.push(Request { time_ns: now as u64, asked, pages, writes });
        now += gap(&mut clock, recipe);
    }
    Ok(Arc::new(Drawn { recipe: recipe.clone(), requests, extents, log_pages }))
}

/// Time to the next request: exponential, and after the last one of a burst a silence.
fn gap(clock: &mut Pcg64, recipe: &Recipe) -> f64 {
    let mut exponential = |mean_ns: u64| -> f64 {
        let sample: f64 = Exp1.sample(clock);
        sample * mean_ns as f64
    };
    let gap = exponential(recipe.gap_ns);
    if recipe.burst > 1.0 && unit(clock) * recipe.burst < 1.0 {
        // A burst has `burst` gaps; the silence comes on top of the last.
        let sample: f64 = Exp1.sample(clock);
        return gap + sample * recipe.off_ns as f64;
    }
    gap
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::hooks::NoHooks;

    /// A plain recipe; tests change what they are about.
    pub(crate) fn plain() -> Recipe {
        Recipe {
            kind: Drawing::Recency,
            requests: 20_000,
            unique_pages: 4_000,
            page_bytes: 4096,
            write_ratio: 0.6,
            mean_pages: 2.0,
            cluster_pages: 8.0,
            log_share: 0.1,
            log_page_share: 0.05,
            gap_ns: 100_000,
            burst: 1.0,
            off_ns: 0,
            alpha: 0.8,
            near: 0.1,
            depth: 0.5,
            sequential: 0.2,
            streams: 4.0,
            phases: 5.0,
            access_share: 0.0,
            page_share: 0.0,
        }
    }

    pub(crate) fn drawn(recipe: &Recipe, seed: u64) -> Arc<Drawn> {
        draw(recipe, seed, &mut NoHooks).unwrap()
    }

    #[test]
    fn births_make_as_many_pages_as_are_asked_for() {
        for (pages, mean) in [(4_000, 2.0), (4_000, 1.0), (20_000, 5.3), (100, 2.0)] {
            let recipe = Recipe { unique_pages: pages, mean_pages: mean, ..plain() };
            let load = drawn(&recipe, 1);
            let born: u64 = load.extents.pages.iter().map(|p| u64::from(*p)).sum();
            assert_eq!(born + u64::from(load.log_pages), pages);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_requests_and_another_one_others() {
        for kind in [Drawing::Recency, Drawing::Independent] {
            let recipe = Recipe { kind, ..plain() };
            assert_eq!(drawn(&recipe, 1).requests, drawn(&recipe, 1).requests);
            assert_ne!(drawn(&recipe, 1).requests, drawn(&recipe, 2).requests);
        }
    }

    #[test]
    fn bursts_are_as_long_as_they_are_to_be() {
        for burst in [54.0, 8.0, 1.0] {
            let off_ns = if burst > 1.0 { 1_000_000_000 } else { 0 };
            let recipe = Recipe { requests: 200_000, burst, off_ns, gap_ns: 79_000, ..plain() };
            let load = drawn(&recipe, 1);
            let gaps = load.requests.windows(2).map(|w| w[1].time_ns - w[0].time_ns);
            // Inside a burst 79 us on average; 2 ms of a silence's second are little.
            let silences = gaps.filter(|gap| *gap > 2_000_000).count() as f64;
            let expected = if burst > 1.0 { 200_000.0 / burst } else { 0.0 };
            assert!((silences - expected).abs() <= 0.08 * expected, "{burst}: {silences}");
        }
    }

    #[test]
    fn a_recipe_out_of_range_is_refused_with_its_key() {
        for (recipe, key) in [
            (Recipe { requests: 0, ..plain() }, "requests"),
            (Recipe { write_ratio: 1.5, ..plain() }, "write_ratio"),
            (Recipe { streams: 0.0, ..plain() }, "streams"),
            (Recipe { depth: f64::NAN, ..plain() }, "depth"),
            (Recipe { unique_pages: 1 << 33, ..plain() }, "unique_pages"),
        ] {
            let error = draw(&recipe, 1, &mut NoHooks).unwrap_err().to_string();
            assert!(error.starts_with(key), "{error}");
        }
    }
}
