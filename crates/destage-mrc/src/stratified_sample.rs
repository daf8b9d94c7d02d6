//! In which order pages enter a sample, so that every sample, and every group of one, mimics the
//! whole.
//!
//! Which pages a hash draws is luck, and most of a sampled curve's error is that luck: a hundredth
//! of the pages used often, or of those of one scan, may have two hundredths of the uses. So pages
//! are put in an order first in which neighbours are alike, by how often they are used, by whether
//! they are read, written or both, and by address; and from every stretch of that order a sample
//! takes its share (stratified sampling: Cochran, Sampling Techniques, 1977, chapter 5A).
//!
//! A page's rank says at which rate it enters. Coins, thrown for each pair of neighbours, then for
//! each pair of pairs and so on, decide which one of each stretch of 2^k places is the last to go
//! as rates fall to 2^-k; those that go at one throw are one for each stretch, and stand in the
//! same kind of order among themselves. So every page is as likely to be drawn as any other, and
//! what is drawn of one stretch says nothing about the next.
//!
//! ```text
//!  place    0    1    2    3    4    5    6    7
//!  rate 1/2      x         x    x              x     one of each pair
//!  rate 1/4                x                   x     one of each four
//! ```
//!
//! Samples of lower rates lie in those of higher ones, and slices of the ranks, of equal width, are
//! samples of equal rates that exclude each other: the groups that errors are estimated from.

use super::sample::GROUPS;
use destage_replay::accesses::{Access, BLOCK, Columns, Expander};
use destage_replay::control::Control;
use std::sync::atomic::Ordering;

/// Classes of pages: half octaves of uses, and types: read, written, or both.
const CLASSES: usize = 60 * KINDS;
const KINDS: usize = 3;

/// Of every page, by id, at which share of 2^32 it enters the sample; `None` when it was stopped.
pub(super) fn ranks(columns: Columns<'_>, seed: u64, control: &Control) -> Option<Vec<u32>> {
    let classes = classes(columns, control)?;
    let mut next = [0u32; CLASSES + 1];
    for &class in &classes {
        next[usize::from(class) + 1] += 1;
    }
    for class in 0..CLASSES {
        next[class + 1] += next[class];
    }
    let coins = Coins::new(seed);
    let rank = |class: &u8| {
        // Ids ascend with the address: so do the places within a class.
        let place = &mut next[usize::from(*class)];
        *place += 1;
        coins.rank(*place - 1)
    };
    Some(classes.iter().map(rank).collect())
}

/// How much less neighbours in the order differ in how often they are written than [`GROUPS`] pages
/// in a row do: variance over variance (von Neumann, Ann. Math. Stat. 12, 1941).
///
/// The pages of a sample stand for a stretch each, those of one of its groups for one [`GROUPS`]
/// times as long. About 1 where the order says nothing of what is written, as where all pages are
/// used equally often.
pub(super) fn neighbours_variance(columns: Columns<'_>) -> f64 {
    let mut uses = vec![Uses::default(); columns.lpns.len()];
    let mut written = vec![0u32; columns.lpns.len()];
    let note = |page: usize, is_write| {
        uses[page].add(is_write);
        written[page] += u32::from(is_write);
    };
    _ = each_access(columns, note, || false);
    let mut order: Vec<usize> = (0..uses.len()).collect();
    order.sort_by_key(|&page| uses[page].class());
    let in_order: Vec<f64> = order.into_iter().map(|page| f64::from(written[page])).collect();
    let (mut of_neighbours, mut of_all) = (0.0, 0.0);
    for stretch in in_order.chunks_exact(GROUPS as usize) {
        let pairs = (stretch.len() - 1) as f64;
        let mean = stretch.iter().sum::<f64>() / stretch.len() as f64;
        of_all += stretch.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / pairs;
        let apart = stretch.windows(2).map(|pair| (pair[0] - pair[1]).powi(2)).sum::<f64>();
        of_neighbours += apart / (2.0 * pairs);
    }
    if of_all > 0.0 { of_neighbours / of_all } else { 1.0 }
}

/// Stratum of each page, by its use.
fn classes(columns: Columns<'_>, control: &Control) -> Option<Vec<u8>> {
    let mut uses = vec![Uses::default(); columns.lpns.len()];
    let note = |page: usize, is_write| uses[page].add(is_write);
    each_access(columns, note, || control.stop.load(Ordering::Relaxed))?;
    Some(uses.into_iter().map(Uses::class).collect())
}

/// Shows page and operation of each access; `None` if it was stopped after a block.
fn each_access(
    columns: Columns<'_>,
    mut show: impl FnMut(usize, bool),
    is_stopped: impl Fn() -> bool,
) -> Option<()> {
    let mut expander = Expander::new(columns, 0, columns.first_ids.len());
    let mut block = [Access::default(); BLOCK];
    loop {
        let filled = expander.fill(&mut block, 0);
        if filled == 0 {
            return Some(());
        }
        for access in &block[..filled] {
            show(access.id as usize, access.op().is_write());
        }
        if is_stopped() {
            return None;
        }
    }
}

/// Uses of a page, and in the two highest bits whether it is read and whether it is written: the
/// pass waits for these.
#[derive(Clone, Copy, Default)]
struct Uses(u32);

impl Uses {
    const MOST: u32 = READ - 1;

    #[inline(always)]
    fn add(&mut self, write: bool) {
        let kind = if write { WRITTEN } else { READ };
        let more = u32::from(self.0 & Uses::MOST < Uses::MOST);
        self.0 = (self.0 + more) | kind;
    }

    fn class(self) -> u8 {
        let uses = u64::from(self.0 & Uses::MOST).max(1);
        let octave = uses.ilog2();
        // sqrt(2) of a power of two, squared.
        let upper = uses * uses >= 1 << (2 * octave + 1);
        let kind = match (self.0 & READ > 0, self.0 & WRITTEN > 0) {
            (_, false) => 0,
            (read, true) => 1 + usize::from(!read),
        };
        let half = 2 * octave as usize + usize::from(upper);
        (half * KINDS + kind) as u8
    }
}

const READ: u32 = 1 << 30;
const WRITTEN: u32 = 1 << 31;

/// Bits of a rank that no coin decides: rates below 2^-20 are drawn as it comes.
const LOOSE_BITS: u32 = 12;

/// The coins of a seed.
#[derive(Clone, Copy)]
struct Coins(u64);

impl Coins {
    fn new(seed: u64) -> Self {
        Coins(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    fn rank(self, place: u32) -> u32 {
        let (mut seed, mut place, mut width, mut low) = (self.0, place, 32, 0u32);
        // Each turn is of those that went at one throw, numbered by their stretches.
        loop {
            let mut won = 0;
            loop {
                let thrown = won + 1;
                if width - thrown < LOOSE_BITS {
                    let loose = mix(seed ^ u64::from(place) ^ u64::from(won) << 40) >> 32;
                    return low + (loose & ((1 << (width - won)) - 1)) as u32;
                }
                let stretch = u64::from(place) >> thrown;
                let coin = mix(seed ^ stretch << 8 ^ u64::from(thrown)) >> 63;
                if u64::from(place >> won & 1) != coin {
                    break;
                }
                won = thrown;
            }
            width -= won + 1;
            low += 1 << width;
            place = (u64::from(place) >> (won + 1)) as u32;
            seed = mix(seed.wrapping_add(1 + u64::from(won)));
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit moves every bit.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_replay::accesses::Extent;

    fn below(share: f64, seed: u64, pages: u32) -> Vec<u32> {
        let coins = Coins::new(seed);
        let threshold = (share * 2f64.powi(32)) as u64;
        (0..pages).filter(|&place| u64::from(coins.rank(place)) < threshold).collect()
    }

    #[test]
    fn every_stretch_has_its_share_of_a_sample() {
        for seed in 0..20 {
            let drawn = below(1.0 / 64.0, seed, 1 << 14);
            for (stretch, place) in drawn.iter().enumerate() {
                assert_eq!(place / 64, stretch as u32, "one of each 64, seed {seed}");
            }
            // A rate that is no power of two: within a few pages of it over any stretch.
            let drawn = below(0.03, seed, 100_000);
            for end in [1_000u32, 10_000, 50_000, 100_000] {
                let found = drawn.iter().filter(|&&place| place < end).count() as f64;
                assert!((found - 0.03 * f64::from(end)).abs() < 6.0, "{found} of {end}");
            }
        }
    }

    #[test]
    fn every_page_is_as_likely_to_be_drawn_as_any_other() {
        // 4,000 seeds, an eighth each: 500 expected, five standard deviations are 105.
        let mut drawn = [0u32; 64];
        for seed in 0..4_000 {
            below(0.125, seed, 64).into_iter().for_each(|place| drawn[place as usize] += 1);
        }
        assert!(drawn.iter().all(|found| (395..605).contains(found)), "{drawn:?}");
        // Nor does one page say which of its neighbours' stretch is drawn.
        let mut both = 0;
        for seed in 0..4_000 {
            let found = below(0.125, seed, 16);
            both += u32::from(found.iter().all(|place| place % 8 == found[0] % 8));
        }
        assert!((395..605).contains(&both), "{both}: the same place in both stretches");
    }

    /// Every page used four times, so many of them writes.
    fn used_alike(writes: impl Fn(u32) -> u32) -> f64 {
        let pages = 0..4_000u32;
        let uses = || pages.clone().flat_map(|page| (0..4).map(move |use_of| (page, use_of)));
        let first_ids: Vec<u32> = uses().map(|(page, _)| page).collect();
        let extents: Vec<u32> = uses()
            .map(|(page, use_of)| Extent::new(1, use_of < writes(page), false, false).0)
            .collect();
        let lpns: Vec<u64> = pages.clone().map(u64::from).collect();
        neighbours_variance(Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns })
    }

    #[test]
    fn neighbours_are_alike_where_the_order_says_how_often_pages_are_written() {
        let luck = |page: u32| 1 + (mix(u64::from(page)) % 3) as u32;
        assert!((used_alike(luck) - 1.0).abs() < 0.05, "{}", used_alike(luck));
        // By address: a sequence of pages written once, then twice, ..
        assert!(
            used_alike(|page| 1 + page / 4 % 3) < 0.5,
            "{}",
            used_alike(|page| 1 + page / 4 % 3)
        );
        assert_eq!(used_alike(|_| 2), 1.0, "nothing to be told");
    }

    #[test]
    fn uses_and_kinds_make_classes() {
        let class = |reads: usize, writes: usize| {
            let mut uses = Uses::default();
            (0..reads).for_each(|_| uses.add(false));
            (0..writes).for_each(|_| uses.add(true));
            uses.class()
        };
        assert_eq!(class(1, 0), 0);
        assert_eq!(class(0, 1), 2);
        assert_eq!(class(1, 1), 2 * 3 + 1, "two uses, of both kinds");
        assert_eq!(class(3, 0), 3 * 3, "three are more than sqrt(2) times two");
        let mut most = Uses(Uses::MOST | READ);
        most.add(true);
        assert_eq!(most.0, Uses::MOST | READ | WRITTEN, "it holds no more");
        assert!(usize::from(most.class()) < CLASSES);
    }
}
