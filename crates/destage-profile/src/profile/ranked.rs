//! In how many erase blocks the hottest pages are.

use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};

use super::distances::Sequence;

/// A point of BPAC's figure 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RankedPoint {
    /// Number of hottest pages.
    pub pages: u64,
    /// Blocks that hold them, hottest meaning the shortest mean distance between references.
    pub blocks_by_distance: u64,
    /// Hottest meaning the most references.
    pub blocks_by_frequency: u64,
    /// The fewest blocks that hold as many referenced pages: hot pages in hot blocks.
    pub blocks_at_least: u64,
}

/// Points beside those at the powers of two.
const POINTS: u64 = 256;

/// Ranks pages by both kinds of heat and counts the blocks that they are in. Pages are `0..`, with
/// their sequence (of one distance less than references) and their references, 0 of a page that
/// does not take part; `block_of` is the rank of each page's block, not descending.
pub fn ranked(sequences: &[Sequence], references: &[u32], block_of: &[u32]) -> Vec<RankedPoint> {
    let mut pages: Vec<u32> =
        (0..references.len() as u32).filter(|page| references[*page as usize] > 0).collect();
    let blocks = block_of.last().map_or(0, |last| *last as usize + 1);
    let stops = stops(pages.len() as u64);
    let colder = |a: &u32, b: &u32| {
        let (a, b) = (*a as usize, *b as usize);
        by_mean(&sequences[a], &sequences[b])
            .then(references[b].cmp(&references[a]))
            .then(a.cmp(&b))
    };
    pages.sort_unstable_by(colder);
    let by_distance = spread(&pages, block_of, blocks, &stops);
    pages.sort_unstable_by_key(|page| (Reverse(references[*page as usize]), *page));
    let by_frequency = spread(&pages, block_of, blocks, &stops);

    let mut sizes = vec![0u64; blocks];
    pages.iter().for_each(|page| sizes[block_of[*page as usize] as usize] += 1);
    sizes.sort_unstable_by_key(|size| Reverse(*size));
    let (mut fewest, mut held) = (0, 0);
    let points = stops.iter().zip(by_distance.iter().zip(&by_frequency));
    points
        .map(|(&pages, (&blocks_by_distance, &blocks_by_frequency))| {
            while held < pages {
                held += sizes[fewest];
                fewest += 1;
            }
            let blocks_at_least = fewest as u64;
            RankedPoint { pages, blocks_by_distance, blocks_by_frequency, blocks_at_least }
        })
        .collect()
}

/// By mean distance; a page of a single reference has none and comes last.
fn by_mean(a: &Sequence, b: &Sequence) -> Ordering {
    match (a.mean(), b.mean()) {
        (Some((a_sum, a_count)), Some((b_sum, b_count))) => {
            let (a, b) =
                (u128::from(a_sum) * u128::from(b_count), u128::from(b_sum) * u128::from(a_count));
            a.cmp(&b)
        }
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Positions of the points: evenly, and at the powers of two, where the curve is steep.
fn stops(pages: u64) -> Vec<u64> {
    let even =
        (1..=POINTS).map(|k| (u128::from(pages) * u128::from(k)).div_ceil(POINTS.into()) as u64);
    let powers = (0..63).map(|k| 1 << k).take_while(|power| *power <= pages);
    let mut stops: Vec<u64> = even.filter(|stop| *stop > 0).chain(powers).collect();
    stops.sort_unstable();
    stops.dedup();
    stops
}

/// Different blocks among the first so many pages.
fn spread(pages: &[u32], block_of: &[u32], blocks: usize, stops: &[u64]) -> Vec<u64> {
    let mut seen = vec![false; blocks];
    let (mut count, mut done) = (0, 0);
    let mut found = Vec::with_capacity(stops.len());
    for &stop in stops {
        for page in &pages[done..stop as usize] {
            let block = &mut seen[block_of[*page as usize] as usize];
            count += u64::from(!std::mem::replace(block, true));
        }
        done = stop as usize;
        found.push(count);
    }
    found
}
