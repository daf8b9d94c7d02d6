//! Spatial sampling: a trace of some of the pages, with all accesses to them.
//!
//! Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC construction with SHARDS. FAST 2015 (LRU);
//! Waldspurger, Saemundsson, Ahmad, Park. Cache modeling and optimization using miniature
//! simulations. USENIX ATC 2017 (any policy).
//!
//! A page is in the sample if a hash of its number falls below a threshold, T of P = 2^24; the rate
//! is R = T / P. Between two uses of a sampled page lies the share R of the pages that lie there in
//! the full trace, so the sample with `c * R` frames behaves as the full trace does with `c`.

use crate::accesses::{Access, BLOCK, Columns, Expander, Extent};
use crate::control::Control;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// P: what the threshold is out of.
const MODULUS: u64 = 1 << 24;

/// No id in the sample.
const OUTSIDE: u32 = u32::MAX;

/// Which pages are sampled.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// Share of the pages, above 0 and at most 1; rounded to a multiple of 2^-24, at least that.
    pub rate: f64,
    /// Seed of the hash: another seed gives another sample of the same rate.
    pub seed: u64,
}

impl Sampling {
    /// Checks the rate.
    pub fn new(rate: f64, seed: u64) -> Result<Sampling, String> {
        if rate > 0.0 && rate <= 1.0 {
            Ok(Sampling { rate, seed })
        } else {
            Err(format!("sampling rate {rate}: expected a share above 0 and at most 1"))
        }
    }

    fn threshold(self) -> u64 {
        ((self.rate * MODULUS as f64).round() as u64).clamp(1, MODULUS)
    }

    /// R = T / P: the rate after rounding.
    pub fn rounded_rate(self) -> f64 {
        self.threshold() as f64 / MODULUS as f64
    }

    /// The page is in the sample.
    pub(super) fn holds(self, lpn: u64) -> bool {
        self.hash(lpn) % MODULUS < self.threshold()
    }

    /// Which of `groups` random groups the page is in; says nothing about being in the sample.
    pub(super) fn group(self, lpn: u64, groups: u64) -> u64 {
        (self.hash(lpn) / MODULUS) % groups
    }

    /// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of page and seed
    /// moves every bit of the hash.
    fn hash(self, lpn: u64) -> u64 {
        let mix = |mut x: u64| {
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        };
        // Twice, so that seed and page do not cancel out in nearby pairs of them.
        mix(lpn ^ mix(self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }
}

/// A trace of its own: pages numbered by their rank in it, one page a request.
pub(super) struct Sample {
    pub(super) first_ids: Vec<u32>,
    pub(super) extents: Vec<u32>,
    pub(super) lpns: Vec<u64>,
    /// How many of its requests come from the warm-up of the full trace.
    pub(super) warmup_requests: usize,
}

impl Sample {
    /// The pages that `keep` chooses by number; `None` when it was stopped.
    pub(super) fn new(
        columns: Columns<'_>,
        warmup_requests: usize,
        control: &Control,
        keep: impl Fn(u64) -> bool,
    ) -> Option<Sample> {
        let mut lpns = Vec::new();
        let ids: Vec<u32> = columns
            .lpns
            .iter()
            .map(|&lpn| {
                if !keep(lpn) {
                    return OUTSIDE;
                }
                lpns.push(lpn);
                (lpns.len() - 1) as u32
            })
            .collect();
        let mut sample =
            Sample { first_ids: Vec::new(), extents: Vec::new(), lpns, warmup_requests: 0 };
        let warm = warmup_requests.min(columns.first_ids.len());
        sample.take(columns, 0, warm, &ids, control)?;
        sample.warmup_requests = sample.first_ids.len();
        sample.take(columns, warm, columns.first_ids.len(), &ids, control)?;
        Some(sample)
    }

    fn take(
        &mut self,
        columns: Columns<'_>,
        start: usize,
        end: usize,
        ids: &[u32],
        control: &Control,
    ) -> Option<()> {
        let mut expander = Expander::new(columns, start, end);
        let mut block = [Access::default(); BLOCK];
        loop {
            let filled = expander.fill(&mut block, 0);
            if filled == 0 {
                return Some(());
            }
            for access in &block[..filled] {
                let id = ids[access.id as usize];
                if id != OUTSIDE {
                    self.first_ids.push(id);
                    self.extents.push(Extent::new(1, access.op().is_write(), false, false).0);
                }
            }
            if control.stop.load(Ordering::Relaxed) {
                return None;
            }
        }
    }

    pub(super) fn columns(&self) -> Columns<'_> {
        Columns { first_ids: &self.first_ids, extents: &self.extents, lpns: &self.lpns }
    }

    /// Number of the next access to the same page, for each access; `u64::MAX` if there is none.
    pub(super) fn next_uses(&self) -> Vec<u64> {
        let mut next = vec![u64::MAX; self.lpns.len()];
        let mut next_uses = vec![u64::MAX; self.first_ids.len()];
        for (i, &id) in self.first_ids.iter().enumerate().rev() {
            next_uses[i] = std::mem::replace(&mut next[id as usize], i as u64);
        }
        next_uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_share_of_pages_that_its_rate_says() {
        for (rate, seed) in [(0.001, 0), (0.01, 1), (0.1, 2), (0.5, 3)] {
            let sampling = Sampling::new(rate, seed).unwrap();
            // Consecutive, strided and high numbers alike: five standard deviations either way.
            for page in [|k: u64| k, |k: u64| k << 12, |k: u64| u64::MAX - 3 * k] {
                let n = 1_000_000;
                let held = (0..n).filter(|&k| sampling.holds(page(k))).count() as f64;
                let expected = n as f64 * sampling.rounded_rate();
                let deviation = (expected * (1.0 - rate)).sqrt();
                assert!((held - expected).abs() < 5.0 * deviation, "{held} of {expected}");
            }
        }
    }

    #[test]
    fn groups_are_alike_in_size_within_a_sample() {
        let sampling = Sampling::new(0.05, 7).unwrap();
        let mut sizes = [0u64; 10];
        for lpn in (0..1_000_000).filter(|&lpn| sampling.holds(lpn)) {
            sizes[sampling.group(lpn, 10) as usize] += 1;
        }
        assert!(sizes.iter().all(|&size| (4_600..5_400).contains(&size)), "{sizes:?}");
    }

    #[test]
    fn another_seed_is_another_sample() {
        let [a, b] = [1, 2].map(|seed| Sampling::new(0.1, seed).unwrap());
        let both = (0..100_000).filter(|&lpn| a.holds(lpn) && b.holds(lpn)).count();
        assert!((800..1_200).contains(&both), "{both}: independent samples share a hundredth");
    }

    #[test]
    fn every_access_to_a_sampled_page_is_kept_in_order() {
        // Requests: pages 10..13 written, 11 read, 12..14 read; the warm-up is the first.
        let columns = Columns {
            first_ids: &[0, 1, 2],
            extents: &[3 << 3 | 1, 1 << 3, 2 << 3],
            lpns: &[10, 11, 12, 13],
        };
        let sample = Sample::new(columns, 1, &Control::default(), |lpn| lpn != 11).unwrap();
        assert_eq!(sample.lpns, [10, 12, 13]);
        assert_eq!(sample.first_ids, [0, 1, 1, 2]);
        assert_eq!(sample.extents, [9, 9, 8, 8]);
        assert_eq!(sample.warmup_requests, 2);
        assert_eq!(sample.next_uses(), [u64::MAX, 2, u64::MAX, u64::MAX]);
    }

    #[test]
    fn rates_that_are_none_are_refused() {
        for rate in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert!(Sampling::new(rate, 0).unwrap_err().contains("above 0 and at most 1"));
        }
        assert_eq!(Sampling::new(1e-12, 0).unwrap().rounded_rate(), 1.0 / MODULUS as f64);
    }
}
