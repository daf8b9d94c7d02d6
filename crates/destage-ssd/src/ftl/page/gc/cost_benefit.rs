//! Cost-benefit: the block with the largest age * (1-u) / (2u), u being the share of its pages that
//! are valid (`docs/spec/collectors.md` 4.6).
//!
//! Kawaguchi, Nishioka, Motoda. A flash-memory based file system. USENIX 1995; after Rosenblum,
//! Ousterhout. The design and implementation of a log-structured file system. TOCS 1992.
//!
//! Age: host page writes of the device since a page of the block was programmed or became invalid.
//!
//! A look at each block of the plane ranks the best ones for the collections that follow. A block
//! that has not been touched since gains (D - v) / v a write of the host, and a touched one begins
//! again at 0: what any block that is not ranked can have reached is known without a look at it.
//! Cost: a look at some ranked blocks, and at each block of the plane whenever the best ranked one
//! is not above that any more: under uniform writes and 512 blocks a plane, every seventeenth
//! collection.
//!
//! Benefits are real numbers here; only a block that they do not rule out is compared in whole
//! numbers of 128 bits.

use super::{Candidates, Collector, SealedBlock};
use crate::config::DeviceConfig;
use crate::geometry::BlockId;
use destage_core::PlaneId;
use destage_core::pages::prefetch;

#[derive(Clone, Debug)]
pub(in crate::ftl::page) struct CostBenefit {
    blocks: usize,          // of a plane
    touched: Vec<u64>,      // by block of the device, the clock
    worth: Vec<f64>,        // by valid pages v, (D - v) / v
    rankings: Vec<Ranking>, // by plane
}

impl PartialEq for CostBenefit {
    /// Rankings save looks, and change no choice.
    fn eq(&self, other: &Self) -> bool {
        self.touched == other.touched
    }
}

/// Share of the best benefit below which a block is ruled out by real numbers: an age below 2^53
/// is exact, and each quotient, product and sum is off by 2^-53.
const RULED_OUT: f64 = 1.0 - 1e-15;

/// Of how many blocks of a plane one is ranked.
const UNRANKED: usize = 8;

/// The blocks of a plane that had the largest benefits.
#[derive(Clone, Default, Debug)]
struct Ranking {
    clock: u64,              // when that was
    ranked: Vec<(f64, u32)>, // benefit and block of the plane, the largest benefit first
    gone: usize,             // so many at the beginning have been collected or touched since
    rest: f64,               // no other block had a larger benefit
}

/// The best block so far.
#[derive(Clone, Copy)]
struct Best {
    local: u32,
    valid: u64,
    benefit: f64,
}

/// The blocks of a plane, at a clock.
struct Plane<'a> {
    clock: u64,
    touched: &'a [u64], // by block
    worth: &'a [f64],
    candidates: &'a Candidates<'a>,
}

impl Plane<'_> {
    /// Benefit of a candidate that was touched at this clock.
    #[inline(always)]
    fn benefit(&self, touched: u64, valid: u64) -> f64 {
        // A clock is below 2^63, and the processor converts signed numbers at once.
        (self.clock - touched).cast_signed() as f64 * self.worth[valid as usize]
    }

    /// A candidate as the best block.
    #[inline(always)]
    fn best(&self, local: u32) -> Best {
        let valid = self.candidates.valid(local);
        Best { local, valid, benefit: self.benefit(self.touched[local as usize], valid) }
    }

    /// The better one of two blocks.
    #[inline(always)]
    fn better(&self, best: Best, this: Best) -> Best {
        if this.benefit < RULED_OUT * best.benefit {
            return best;
        }
        let data = self.candidates.data_pages();
        let gain = |block: Best| {
            let age = self.clock - self.touched[block.local as usize];
            u128::from(age) * u128::from(data - block.valid)
        };
        // "age_a * (D - v_a) * v_b" and "age_b * (D - v_b) * v_a"
        let of_this = gain(this) * u128::from(best.valid);
        let of_best = gain(best) * u128::from(this.valid);
        let order = |block: Best| self.candidates.greedy_order(block.local);
        if of_this > of_best || of_this == of_best && order(this) < order(best) {
            this
        } else {
            best
        }
    }

    /// The victim, after a look at each block; `seen` hears of every candidate.
    #[inline(always)]
    fn of_all(&self, emptiest: u32, mut seen: impl FnMut(f64, u32)) -> u32 {
        let mut best = self.best(emptiest);
        for (local, valid) in self.candidates.iter() {
            let benefit = self.benefit(self.touched[local as usize], valid);
            seen(benefit, local);
            best = self.better(best, Best { local, valid, benefit });
        }
        best.local
    }

    /// The victim if it is a ranked block, and how many blocks at the beginning are gone.
    #[inline(always)]
    fn of_ranked(&self, ranking: &Ranking, emptiest: u32) -> (Option<u32>, usize) {
        let since = ranking.clock;
        let (mut best, mut gone): (Option<Best>, usize) = (None, ranking.gone);
        // No block gains more a write, or has gained more since.
        let gained = self.benefit(since, self.candidates.valid(emptiest));
        let is_above = |best: Option<Best>, then: f64| {
            best.is_some_and(|best| RULED_OUT * best.benefit > then + gained)
        };
        for (at, &(then, local)) in ranking.ranked.iter().enumerate().skip(ranking.gone) {
            if is_above(best, then) {
                return (best.map(|best| best.local), gone);
            }
            if self.touched[local as usize] >= since || !self.candidates.contains(local) {
                gone += usize::from(at == gone);
                continue;
            }
            let this = self.best(local);
            best = Some(best.map_or(this, |best| self.better(best, this)));
        }
        let is_known = is_above(best, ranking.rest);
        (best.filter(|_| is_known).map(|best| best.local), gone)
    }
}

impl CostBenefit {
    pub(super) fn new(config: &DeviceConfig) -> Self {
        let blocks = config.blocks_per_plane as usize;
        let (planes, data) = (config.planes() as usize, config.data_pages());
        let worth = |valid| f64::from(data - valid) / f64::from(valid);
        CostBenefit {
            blocks,
            touched: vec![0; planes * blocks],
            worth: (0..=data).map(worth).collect(),
            rankings: vec![Ranking::default(); planes],
        }
    }
}

#[cfg(test)]
impl CostBenefit {
    /// The victim is one of the ranked blocks.
    pub(super) fn knows_ranked(&self, plane: PlaneId, clock: u64, of: &Candidates<'_>) -> bool {
        let Some(emptiest) = of.first().filter(|&local| of.valid(local) > 0) else { return false };
        let touched = &self.touched[plane.index() * self.blocks..][..self.blocks];
        let blocks = Plane { clock, touched, worth: &self.worth, candidates: of };
        blocks.of_ranked(&self.rankings[plane.index()], emptiest).0.is_some()
    }
}

impl Collector for CostBenefit {
    #[inline(always)]
    fn touched(&mut self, block: SealedBlock, clock: u64) {
        self.touched[block.block.index()] = clock;
    }

    #[inline(always)]
    fn prefetch(&self, block: BlockId) {
        prefetch(&self.touched, block.index());
    }

    fn victim(&self, plane: PlaneId, clock: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let emptiest = candidates.first()?;
        if candidates.valid(emptiest) == 0 {
            return Some(emptiest);
        }
        let touched = &self.touched[plane.index() * self.blocks..][..self.blocks];
        let blocks = Plane { clock, touched, worth: &self.worth, candidates };
        let (ranked, _) = blocks.of_ranked(&self.rankings[plane.index()], emptiest);
        Some(ranked.unwrap_or_else(|| blocks.of_all(emptiest, |_, _| {})))
    }

    fn choose(&mut self, plane: PlaneId, clock: u64, candidates: &Candidates<'_>) -> Option<u32> {
        let emptiest = candidates.first()?;
        if candidates.valid(emptiest) == 0 {
            return Some(emptiest);
        }
        let touched = &self.touched[plane.index() * self.blocks..][..self.blocks];
        let blocks = Plane { clock, touched, worth: &self.worth, candidates };
        let ranking = &mut self.rankings[plane.index()];
        let (ranked, gone) = blocks.of_ranked(ranking, emptiest);
        ranking.gone = gone;
        if ranked.is_some() {
            return ranked;
        }
        let Ranking { ranked, rest, .. } = ranking;
        ranked.clear();
        let victim = blocks.of_all(emptiest, |benefit, local| ranked.push((benefit, local)));
        let largest_first = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0);
        let count = self.blocks.div_ceil(UNRANKED);
        *rest = 0.0;
        if ranked.len() > count {
            let (_, largest, _) = ranked.select_nth_unstable_by(count, largest_first);
            *rest = largest.0;
            ranked.truncate(count);
        }
        ranked.sort_unstable_by(largest_first);
        (ranking.clock, ranking.gone) = (clock, 0);
        Some(victim)
    }

    fn uses_clock(&self) -> bool {
        true
    }
}
