//! Extents by their popularity: the k-th in proportion to k^-alpha, whatever came before.

use rand_pcg::Pcg64;

use super::load::{Extents, length};
use super::recipe::Recipe;
use crate::random::unit;

pub(super) struct Independent {
    alpha: f64,
    count: u32,
    /// Areas under x^-alpha where the first extent begins and the last one ends.
    first: f64,
    last: f64,
}

impl Independent {
    /// As many extents as touch the wanted pages, on average.
    pub(super) fn new(
        recipe: &Recipe,
        random: &mut Pcg64,
        pages: u64,
        requests: u64,
        extents: &mut Extents,
    ) -> Self {
        let (alpha, mean) = (recipe.alpha, recipe.mean_pages);
        let count = population(pages as f64 / mean, requests as f64, alpha);
        let longest = recipe.longest(pages);
        let together = ((recipe.cluster_pages / mean).round() as u32).max(1);
        for k in 0..count {
            extents.pages.push(length(random, mean, longest));
            extents.groups.push(k / together);
        }
        let (first, last) = (area(0.5, alpha), area(f64::from(count) + 0.5, alpha));
        Independent { alpha, count, first, last }
    }

    /// The extent of the next request.
    pub(super) fn sample(&self, random: &mut Pcg64) -> u32 {
        let at = self.first + unit(random) * (self.last - self.first);
        let rank = self.rank(at).round().clamp(1.0, f64::from(self.count));
        rank as u32 - 1
    }

    /// The inverse of [`area`].
    fn rank(&self, area: f64) -> f64 {
        let left = 1.0 - self.alpha;
        if left == 0.0 { area.exp() } else { (left * area).powf(1.0 / left) }
    }
}

/// The integral of x^-alpha: extent k has what lies between k - 1/2 and k + 1/2.
fn area(x: f64, alpha: f64) -> f64 {
    if alpha == 1.0 { x.ln() } else { x.powf(1.0 - alpha) / (1.0 - alpha) }
}

/// Number of extents of which this many samples touch as many different ones as wanted.
fn population(wanted: f64, samples: f64, alpha: f64) -> u32 {
    let (mut low, mut high) = (wanted.max(1.0), 64.0 * wanted.max(1.0));
    if touched(high, samples, alpha) < wanted {
        return high.round() as u32;
    }
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if touched(middle, samples, alpha) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    (high.round() as u32).max(1)
}

/// Extents of `count` that this many samples touch, on average.
fn touched(count: f64, samples: f64, alpha: f64) -> f64 {
    let total = area(count + 0.5, alpha) - area(0.5, alpha);
    let (mut found, mut low) = (0.0, 0.5);
    while low < count + 0.5 {
        // Ranks of about the same popularity together.
        let high = (low * 1.02).max(low + 1.0).min(count + 0.5);
        let share = (area(high, alpha) - area(low, alpha)) / total / (high - low);
        found += (high - low) * -(samples * (-share.min(1.0 - 1e-12)).ln_1p()).exp_m1();
        low = high;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::generate::tests::{generated, plain};
    use super::super::load::RequestTarget;
    use super::super::recipe::RecipeKind;
    use super::*;

    #[test]
    fn as_many_extents_are_touched_as_wanted_on_average() {
        for alpha in [0.0, 0.8, 1.0] {
            let recipe = Recipe { kind: RecipeKind::Independent, alpha, ..plain() };
            let load = generated(&recipe, 1);
            let mut pages: u64 = u64::from(load.log_pages);
            let mut seen = vec![false; load.extents.pages.len()];
            for request in &load.requests {
                let RequestTarget::Extent(extent) = request.asked else { continue };
                if !std::mem::replace(&mut seen[extent as usize], true) {
                    pages += u64::from(request.pages);
                }
            }
            // 1,900 extents of geometric lengths, standard deviation 1.4 pages each.
            assert!((pages as f64 - 4_000.0).abs() < 300.0, "{alpha}: {pages}");
        }
    }

    #[test]
    fn the_first_is_asked_for_twice_as_often_as_the_second_if_alpha_is_1() {
        let recipe = Recipe { alpha: 1.0, mean_pages: 1.0, ..plain() };
        let mut extents = Extents::default();
        let mut random = rand::SeedableRng::seed_from_u64(3);
        let by = Independent::new(&recipe, &mut random, 1_000, 100_000, &mut extents);
        let mut counts = vec![0u32; by.count as usize];
        (0..400_000).for_each(|_| counts[by.sample(&mut random) as usize] += 1);
        // ln 3 to ln 5/3 of areas: 2.15.
        let ratio = f64::from(counts[0]) / f64::from(counts[1]);
        assert!((ratio - 3f64.ln() / (5.0f64 / 3.0).ln()).abs() < 0.05, "{ratio}");
    }
}
