//! Read/write affinity: most pages that were read are read next, and most that were written,
//! written.
//!
//! The operations on an extent are a Markov chain of two states. With probability `keep` a request
//! repeats the extent's last operation, otherwise its own sample counts, so the share of writes
//! stays and the correlation (phi) of successive operations is `keep`. The log, which is only
//! written, raises the correlation of all pages together: `keep` is solved for the recipe's value
//! over all. These decisions have random numbers of their own: requests ask for the same pages at
//! the same times whatever the affinity.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::recipe::Recipe;
use crate::random::chance;

/// Operations have random numbers of their own.
const REPEATING: u64 = 0x7265_7065_6174_696e;

pub(super) struct Affinity {
    /// Probability that an operation repeats the last one on its extent.
    keep: f64,
    random: Pcg64,
    /// Whether the last request of each extent wrote.
    last: Vec<Option<bool>>,
}

impl Affinity {
    pub(super) fn new(recipe: &Recipe, seed: u64, log_pages: u64) -> Self {
        let keep = keep(recipe, log_pages as f64);
        Affinity { keep, random: Pcg64::seed_from_u64(seed ^ REPEATING), last: Vec::new() }
    }

    /// Whether a request writes: as the last one on its extent, or as sampled.
    pub(super) fn operation(&mut self, extent: u32, sampled: bool) -> bool {
        if self.keep == 0.0 {
            return sampled;
        }
        let extent = extent as usize;
        if extent >= self.last.len() {
            self.last.resize(extent + 1, None);
        }
        let repeated = self.last[extent].filter(|_| chance(&mut self.random, self.keep));
        *self.last[extent].insert(repeated.unwrap_or(sampled))
    }
}

/// The probability of a repetition with which all pages together have the recipe's correlation.
///
/// Of the accesses that repeat a page, a share `l` is of the log; `q` of the others write. The
/// correlation is (P(write, write) - w^2) / (w (1 - w)), where w = l + (1 - l) q.
fn keep(recipe: &Recipe, log_pages: f64) -> f64 {
    let accesses = recipe.requests as f64 * recipe.mean_pages;
    let repeats = accesses - recipe.unique_pages as f64;
    let logged = (accesses * recipe.log_share - log_pages).max(0.0);
    if recipe.affinity == 0.0 || repeats <= logged || recipe.log_share >= 1.0 {
        return 0.0;
    }
    let l = logged / repeats;
    let q = ((recipe.write_ratio - recipe.log_share) / (1.0 - recipe.log_share)).clamp(0.0, 1.0);
    if q == 0.0 || q == 1.0 {
        return 0.0;
    }
    let w = l + (1.0 - l) * q;
    let both = w * w + recipe.affinity * w * (1.0 - w);
    (((both - l) / (1.0 - l) - q * q) / (q * (1.0 - q))).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::generate::tests::{generated, plain};
    use super::super::load::{RequestTarget, SurrogateTrace};
    use super::super::recipe::RecipeKind;
    use super::*;

    /// The correlation of successive operations on a page, over all pages.
    fn phi(load: &SurrogateTrace) -> f64 {
        let mut last = vec![None; load.extents.pages.len() + load.log_pages as usize];
        let mut pairs = [[0.0f64; 2]; 2];
        for request in &load.requests {
            // Each page of the log counts for itself, an extent's pages together.
            let places = match request.asked {
                RequestTarget::Extent(extent) => extent..extent + 1,
                RequestTarget::Log(page) => {
                    let first = load.extents.pages.len() as u32 + page;
                    first..first + request.pages
                }
            };
            let weight = f64::from(request.pages) / f64::from(places.len() as u32);
            for place in places {
                let before = last[place as usize].replace(request.writes);
                if let Some(before) = before {
                    pairs[usize::from(before)][usize::from(request.writes)] += weight;
                }
            }
        }
        let [[rr, rw], [wr, ww]] = pairs;
        (rr * ww - rw * wr) / ((rr + rw) * (wr + ww) * (rr + wr) * (rw + ww)).sqrt()
    }

    fn recipe(kind: RecipeKind, affinity: f64) -> Recipe {
        Recipe { kind, affinity, requests: 200_000, ..plain() }
    }

    #[test]
    fn successive_operations_are_correlated_as_the_recipe_says() {
        for kind in [RecipeKind::Recency, RecipeKind::Independent] {
            for affinity in [0.25, 0.6, 0.9] {
                let found = phi(&generated(&recipe(kind, affinity), 1));
                assert!((found - affinity).abs() < 0.02, "{kind:?} {affinity}: {found}");
            }
            // The log alone.
            let found = phi(&generated(&recipe(kind, 0.0), 1));
            assert!(found < 0.12, "{kind:?}: {found}");
        }
    }

    #[test]
    fn pages_and_times_stay_and_so_does_the_share_of_writes() {
        for kind in [RecipeKind::Recency, RecipeKind::Independent] {
            let (plain, repeated) =
                (generated(&recipe(kind, 0.0), 1), generated(&recipe(kind, 0.9), 1));
            for (one, other) in plain.requests.iter().zip(&repeated.requests) {
                assert_eq!(
                    (one.time_ns, one.asked, one.pages),
                    (other.time_ns, other.asked, other.pages)
                );
            }
            let writes = repeated.requests.iter().filter(|r| r.writes).count() as f64;
            // A chain that repeats nine of ten has the spread of a tenth to a nineteenth of the
            // requests: a standard deviation of 0.005.
            let share = writes / repeated.requests.len() as f64;
            assert!((share - 0.6).abs() < 0.02, "{kind:?}: {share}");
        }
    }

    #[test]
    fn loads_of_one_operation_have_nothing_to_repeat() {
        for write_ratio in [0.0, 1.0] {
            let log_share = 0.1f64.min(write_ratio);
            let recipe = Recipe { write_ratio, log_share, ..recipe(RecipeKind::Recency, 0.9) };
            let load = generated(&recipe, 1);
            assert!(load.requests.iter().all(|r| r.writes == (write_ratio == 1.0)));
        }
    }
}
