//! A load of locality in which reads and writes have hot sets of their own.
//!
//! A share of the reads goes to the first pages, and the same share of the writes to as many pages
//! behind these; all others go to the other pages. With `halves` reads keep to the first half of
//! the pages and writes to the second, each with its hot pages in front. In every second phase
//! reads and writes exchange their shares.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::load::{AT_ONCE, Extents, LOOK, Request, RequestTarget, SurrogateTrace};
use super::recipe::Recipe;
use crate::random::{below, chance};
use destage_trace::{Hooks, Result, Stage, TraceError, step};

pub(super) fn generate(
    recipe: &Recipe,
    seed: u64,
    hooks: &mut dyn Hooks,
) -> Result<SurrogateTrace> {
    let parts = if recipe.halves { 2 } else { 1 };
    let pages = recipe.unique_pages / parts;
    let hot = (recipe.page_share * pages as f64).round() as u64;
    if (3 - parts) * hot > pages || hot == 0 || hot == pages {
        return Err(TraceError::usage(format!(
            "page_share: two hot sets of {hot} pages do not fit {} pages",
            recipe.unique_pages
        )));
    }
    let phases = recipe.phases.round() as u64;
    let mut random = Pcg64::seed_from_u64(seed);
    let mut requests = Vec::with_capacity(recipe.requests.min(AT_ONCE) as usize);
    for k in 0..recipe.requests {
        if k % LOOK == 0 {
            step(hooks, Stage::Reading, k, Some(recipe.requests))?;
        }
        let turned = k * phases / recipe.requests % 2 == 1;
        let ratio = if turned { 1.0 - recipe.write_ratio } else { recipe.write_ratio };
        let writes = chance(&mut random, ratio);
        let (half, first) = match (writes, recipe.halves) {
            (false, _) => (0, 0),
            (true, true) => (pages, 0),
            (true, false) => (0, hot),
        };
        let page = if chance(&mut random, recipe.access_share) {
            half + first + below(&mut random, hot)
        } else {
            half + (first + hot + below(&mut random, pages - hot)) % pages
        };
        let asked = RequestTarget::Extent(page as u32);
        requests.push(Request { time_ns: k * recipe.gap_ns, asked, pages: 1, writes });
    }
    // One group: pages lie in their order.
    let every = recipe.unique_pages as usize;
    let extents = Extents { pages: vec![1; every], groups: vec![0; every] };
    Ok(SurrogateTrace { recipe: recipe.clone(), requests, extents, log_pages: 0 })
}

#[cfg(test)]
mod tests {
    use super::super::generate::generate;
    use super::super::generate::tests::plain;
    use super::super::recipe::RecipeKind;
    use super::*;
    use destage_trace::NoHooks;

    fn recipe(page_share: f64) -> Recipe {
        let kind = RecipeKind::Apart;
        Recipe { kind, page_share, access_share: 0.8, write_ratio: 0.2, phases: 1.0, ..plain() }
    }

    #[test]
    fn reads_and_writes_exchange_their_shares_in_every_second_phase() {
        let load = generate(&Recipe { phases: 4.0, ..recipe(0.2) }, 1, &mut NoHooks).unwrap();
        for (phase, requests) in load.requests.chunks(5_000).enumerate() {
            let writes = requests.iter().filter(|r| r.writes).count() as f64 / 5_000.0;
            let expected = if phase % 2 == 0 { 0.2 } else { 0.8 };
            // Five standard deviations.
            assert!((writes - expected).abs() < 0.03, "phase {phase}: {writes}");
        }
    }

    #[test]
    fn each_hot_set_has_its_share() {
        let load = generate(&recipe(0.2), 1, &mut NoHooks).unwrap();
        for (writes, first, share) in [(false, 0, 0.8), (true, 800, 0.2)] {
            let mine: Vec<u32> = load
                .requests
                .iter()
                .filter(|r| r.writes == writes)
                .map(|r| match r.asked {
                    RequestTarget::Extent(page) | RequestTarget::Log(page) => page,
                })
                .collect();
            // Standard deviations: 57 of 20,000, and 26 of 4,000.
            assert!((mine.len() as f64 / 20_000.0 - share).abs() < 0.015);
            let hot = mine.iter().filter(|page| (first..first + 800).contains(*page)).count();
            assert!((hot as f64 / mine.len() as f64 - 0.8).abs() < 0.035);
            assert!(mine.iter().all(|page| *page < 4_000));
        }
    }

    #[test]
    fn halves_keep_reads_and_writes_apart_each_with_its_own_hot_pages() {
        let halves = Recipe { halves: true, ..recipe(0.6) };
        let load = generate(&halves, 1, &mut NoHooks).unwrap();
        let mut hot = [0_u32; 2];
        let mut all = [0_u32; 2];
        for r in &load.requests {
            let (RequestTarget::Extent(page) | RequestTarget::Log(page)) = r.asked;
            let of = usize::from(r.writes);
            assert_eq!(page / 2_000, of as u32, "4,000 pages in two halves");
            all[of] += 1;
            hot[of] += u32::from(page % 2_000 < 1_200);
        }
        for of in [0, 1] {
            assert!((f64::from(hot[of]) / f64::from(all[of]) - 0.8).abs() < 0.035);
        }
    }

    #[test]
    fn two_hot_sets_have_to_fit() {
        let error = generate(&recipe(0.6), 1, &mut NoHooks).unwrap_err().to_string();
        assert_eq!(error, "page_share: two hot sets of 2400 pages do not fit 4000 pages");
    }
}
