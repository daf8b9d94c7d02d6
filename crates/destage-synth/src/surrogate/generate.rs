//! Requests and extents from a recipe and a seed.

use std::sync::Arc;

use destage_trace::{Hooks, Result, Stage, step};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand_distr::Exp1;
use rand_pcg::Pcg64;

use super::affinity::Affinity;
use super::apart;
use super::independent::Independent;
use super::load::{AT_ONCE, Extents, LOOK, Request, RequestTarget, SurrogateTrace, length};
use super::recency::Recency;
use super::recipe::{Recipe, RecipeKind};
use crate::random::{chance, unit};

/// A log is read of nothing: of so much of its writes it can be as long at most.
const LOG_FILLED: f64 = 0.9;

/// Model that generates the extent of a request.
enum Generator {
    Recency(Box<Recency>),
    Independent(Independent),
}

/// Draws a load.
///
/// # Errors
///
/// Errors of [`Recipe::check`]; `Interrupted`.
pub fn generate(recipe: &Recipe, seed: u64, hooks: &mut dyn Hooks) -> Result<Arc<SurrogateTrace>> {
    recipe.check()?;
    if recipe.kind == RecipeKind::Apart {
        return apart::generate(recipe, seed, hooks).map(Arc::new);
    }
    let (mut random, mut clock) = (Pcg64::seed_from_u64(seed), Pcg64::seed_from_u64(!seed));
    let logged = LOG_FILLED * recipe.requests as f64 * recipe.log_share * recipe.mean_pages;
    let log_pages = (recipe.log_page_share * recipe.unique_pages as f64).min(logged) as u32;
    let pages = (recipe.unique_pages - u64::from(log_pages)).max(1);
    let not_log = 1.0 - recipe.log_share;
    let count = (recipe.requests as f64 * not_log).round() as u64;
    let mut extents = Extents::default();
    let mut generator = if recipe.kind == RecipeKind::Recency {
        Generator::Recency(Box::new(Recency::new(recipe, pages, count)))
    } else {
        Generator::Independent(Independent::new(recipe, &mut random, pages, count, &mut extents))
    };
    let mut affinity = Affinity::new(recipe, seed, u64::from(log_pages));
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
            (RequestTarget::Log(log_at - pages), pages, true)
        } else {
            let extent = match &mut generator {
                Generator::Recency(by) => by.sample(&mut random, &mut extents),
                Generator::Independent(by) => by.sample(&mut random),
            };
            let sampled = !chance(&mut random, reads);
            (
                RequestTarget::Extent(extent),
                extents.pages[extent as usize],
                affinity.operation(extent, sampled),
            )
        };
        requests.push(Request { time_ns: now as u64, asked, pages, writes });
        now += gap(&mut clock, recipe);
    }
    Ok(Arc::new(SurrogateTrace { recipe: recipe.clone(), requests, extents, log_pages }))
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
    use destage_trace::NoHooks;

    /// A plain recipe; tests change what they are about.
    pub(crate) fn plain() -> Recipe {
        Recipe {
            kind: RecipeKind::Recency,
            requests: 20_000,
            unique_pages: 4_000,
            page_bytes: 4096,
            write_ratio: 0.6,
            affinity: 0.0,
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
            halves: false,
            page_share: 0.0,
        }
    }

    pub(crate) fn generated(recipe: &Recipe, seed: u64) -> Arc<SurrogateTrace> {
        generate(recipe, seed, &mut NoHooks).unwrap()
    }

    #[test]
    fn births_make_as_many_pages_as_are_asked_for() {
        for (pages, mean) in [(4_000, 2.0), (4_000, 1.0), (20_000, 5.3), (100, 2.0)] {
            let recipe = Recipe { unique_pages: pages, mean_pages: mean, ..plain() };
            let load = generated(&recipe, 1);
            let born: u64 = load.extents.pages.iter().map(|p| u64::from(*p)).sum();
            assert_eq!(born + u64::from(load.log_pages), pages);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_requests_and_another_one_others() {
        for kind in [RecipeKind::Recency, RecipeKind::Independent] {
            let recipe = Recipe { kind, ..plain() };
            assert_eq!(generated(&recipe, 1).requests, generated(&recipe, 1).requests);
            assert_ne!(generated(&recipe, 1).requests, generated(&recipe, 2).requests);
        }
    }

    #[test]
    fn bursts_are_as_long_as_they_are_to_be() {
        for burst in [54.0, 8.0, 1.0] {
            let off_ns = if burst > 1.0 { 1_000_000_000 } else { 0 };
            let recipe = Recipe { requests: 200_000, burst, off_ns, gap_ns: 79_000, ..plain() };
            let load = generated(&recipe, 1);
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
            (Recipe { affinity: -0.1, ..plain() }, "affinity"),
            (Recipe { streams: 0.0, ..plain() }, "streams"),
            (Recipe { depth: f64::NAN, ..plain() }, "depth"),
            (Recipe { unique_pages: 1 << 33, ..plain() }, "unique_pages"),
        ] {
            let error = generate(&recipe, 1, &mut NoHooks).unwrap_err().to_string();
            assert!(error.starts_with(key), "{error}");
        }
    }
}
