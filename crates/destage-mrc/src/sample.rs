//! Spatial sampling: a trace of some of the pages, with all accesses to them.
//!
//! Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC construction with SHARDS. FAST 2015 (LRU);
//! Waldspurger, Saemundsson, Ahmad, Park. Cache modeling and optimization using miniature
//! simulations. USENIX ATC 2017 (any policy).
//!
//! A page is in the sample if its [rank](super::stratified_sample) falls below a threshold. Between
//! two uses of
//! a sampled page lies the share R of the pages that lie there in the full trace, so the sample
//! with `c * R` frames behaves as the full trace does with `c`.

use destage_replay::accesses::{Access, BLOCK, Columns, Expander, Extent};
use destage_replay::control::Control;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// Random groups that the error is estimated from.
pub const GROUPS: u64 = 8;

/// Number of ranks; thresholds are among them.
const RANKS: u64 = 1 << 32;

/// Which pages are sampled.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// Share of the pages, above 0 and at most 1; rounded to a multiple of 2^-32, at least that.
    pub rate: f64,
    /// Another seed gives another sample of the same rate.
    pub seed: u64,
}

impl Sampling {
    /// Checks the rate.
    pub fn new(rate: f64, seed: u64) -> Result<Sampling, String> {
        if rate > 0.0 && rate <= 1.0 {
            Ok(Sampling { rate, seed })
        } else {
            Err(format!("sample: expected a share above 0 and at most 1, found {rate}"))
        }
    }

    fn threshold(self) -> u64 {
        ((self.rate * RANKS as f64).round() as u64).clamp(1, RANKS)
    }

    /// R: the rate after rounding.
    pub fn rounded_rate(self) -> f64 {
        self.threshold() as f64 / RANKS as f64
    }

    /// A page of this rank is in the sample.
    fn holds(self, rank: u32) -> bool {
        u64::from(rank) < self.threshold()
    }

    /// Which group of the sample a page of this rank is in: slices of the ranks, equally wide.
    fn group(self, rank: u32) -> usize {
        (u64::from(rank) * GROUPS / self.threshold()) as usize
    }
}

/// A trace of its own: pages numbered in the order of their ids, one page a request.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) first_ids: Vec<u32>,
    pub(super) extents: Vec<u32>,
    pub(super) lpns: Vec<u64>,
    /// Rank of each page.
    ranks: Vec<u32>,
    /// How many of its requests come from the warm-up of the full trace.
    pub(super) warmup_requests: usize,
}

impl Sample {
    /// The pages whose ranks are low enough; `None` when it was stopped.
    pub(super) fn new(
        columns: Columns<'_>,
        ranks: &[u32],
        sampling: Sampling,
        warmup_requests: usize,
        control: &Control,
    ) -> Option<Sample> {
        let mut sample = Sample::default();
        let mut ids = Ids::new(ranks.len());
        for (page, (&rank, &lpn)) in ranks.iter().zip(columns.lpns).enumerate() {
            if sampling.holds(rank) {
                ids.push(page);
                sample.page(lpn, rank);
            }
        }
        ids.count();
        let warm = warmup_requests.min(columns.first_ids.len());
        sample.take(columns, 0, warm, &ids, control)?;
        sample.warmup_requests = sample.first_ids.len();
        sample.take(columns, warm, columns.first_ids.len(), &ids, control)?;
        Some(sample)
    }

    /// A sample of a lower rate, in one pass over this one; `None` when it was stopped.
    pub(super) fn lower(&self, sampling: Sampling, control: &Control) -> Option<Sample> {
        Sample::new(self.columns(), &self.ranks, sampling, self.warmup_requests, control)
    }

    /// The groups of this sample, in one pass over it.
    pub(super) fn groups(&self, sampling: Sampling) -> Vec<Sample> {
        let mut groups: Vec<Sample> = (0..GROUPS).map(|_| Sample::default()).collect();
        let ids: Vec<(u8, u32)> = self
            .ranks
            .iter()
            .zip(&self.lpns)
            .map(|(&rank, &lpn)| {
                let group = sampling.group(rank);
                (group as u8, groups[group].page(lpn, rank))
            })
            .collect();
        for (k, (&id, &extent)) in self.first_ids.iter().zip(&self.extents).enumerate() {
            let (group, id) = ids[id as usize];
            let group = &mut groups[usize::from(group)];
            group.first_ids.push(id);
            group.extents.push(extent);
            group.warmup_requests += usize::from(k < self.warmup_requests);
        }
        groups
    }

    /// Adds a page; its id.
    fn page(&mut self, lpn: u64, rank: u32) -> u32 {
        self.lpns.push(lpn);
        self.ranks.push(rank);
        (self.lpns.len() - 1) as u32
    }

    fn take(
        &mut self,
        columns: Columns<'_>,
        start: usize,
        end: usize,
        ids: &Ids,
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
                if let Some(id) = ids.of(access.id) {
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

/// The id in the sample of each page that is in it: one bit a page says whether it is, which stays
/// near the processor, and what comes before a word of them is counted.
struct Ids {
    bits: Vec<u64>,
    before: Vec<u32>,
}

impl Ids {
    fn new(pages: usize) -> Ids {
        Ids { bits: vec![0; pages.div_ceil(64)], before: Vec::new() }
    }

    fn push(&mut self, page: usize) {
        self.bits[page / 64] |= 1 << (page % 64);
    }

    /// After the last page.
    fn count(&mut self) {
        let before =
            |sum: &mut u32, word: &u64| Some(std::mem::replace(sum, *sum + word.count_ones()));
        self.before = self.bits.iter().scan(0, before).collect();
    }

    #[inline(always)]
    fn of(&self, page: u32) -> Option<u32> {
        let (word, bit) = (page as usize / 64, page % 64);
        let bits = self.bits[word];
        let below = bits & ((1 << bit) - 1);
        (bits >> bit & 1 != 0).then(|| self.before[word] + below.count_ones())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requests: pages 10..13 written, 11 read, 12..14 read; the warm-up is the first.
    const COLUMNS: Columns<'static> = Columns {
        first_ids: &[0, 1, 2],
        extents: &[3 << 3 | 1, 1 << 3, 2 << 3],
        lpns: &[10, 11, 12, 13],
    };

    #[test]
    fn every_access_to_a_sampled_page_is_kept_in_order() {
        let ranks = [0, u32::MAX, 1 << 30, 1 << 28];
        let half = Sampling::new(0.5, 0).unwrap();
        let sample = Sample::new(COLUMNS, &ranks, half, 1, &Control::default()).unwrap();
        assert_eq!(sample.lpns, [10, 12, 13]);
        assert_eq!(sample.first_ids, [0, 1, 1, 2]);
        assert_eq!(sample.extents, [9, 9, 8, 8]);
        assert_eq!(sample.warmup_requests, 2);
        assert_eq!(sample.next_uses(), [u64::MAX, 2, u64::MAX, u64::MAX]);
    }

    #[test]
    fn groups_share_out_the_pages_of_a_sample_by_their_ranks() {
        let ranks = [0, u32::MAX, u32::MAX / 2, u32::MAX / 2 + 1];
        let all = Sampling::new(1.0, 0).unwrap();
        let sample = Sample::new(COLUMNS, &ranks, all, 1, &Control::default()).unwrap();
        let groups = sample.groups(all);
        let pages = |k: usize| groups[k].lpns.clone();
        let last = GROUPS as usize - 1;
        assert_eq!((pages(0), pages(last)), (vec![10], vec![11]));
        assert_eq!((pages(last / 2), pages(last / 2 + 1)), (vec![12], vec![13]));
        assert_eq!(groups[last / 2].extents, [9, 8]);
        assert_eq!(groups[last / 2].warmup_requests, 1);
        assert_eq!(groups.iter().map(|group| group.first_ids.len()).sum::<usize>(), 6);
        // Of a lower rate, the groups are slices of what is in it.
        let quarter = Sampling::new(0.25, 0).unwrap();
        assert_eq!(quarter.group((1 << 30) - 1), last);
        assert!(quarter.holds((1 << 30) - 1) && !quarter.holds(1 << 30));
    }

    #[test]
    fn rates_that_are_none_are_refused() {
        for rate in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert!(Sampling::new(rate, 0).unwrap_err().contains("above 0 and at most 1"));
        }
        assert_eq!(Sampling::new(1e-12, 0).unwrap().rounded_rate(), 1.0 / RANKS as f64);
    }
}
