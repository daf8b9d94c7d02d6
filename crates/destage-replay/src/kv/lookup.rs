//! Step 1 of a request: the look-up at its arrival (`docs/spec/tiers.md` 7.2).

use super::chains::Chains;
use super::counters::KvCounters;
use std::ops::Range;

/// Blocks that tier 1 has.
pub(super) struct Tier1Blocks(Vec<bool>);

impl Tier1Blocks {
    /// None of so many.
    pub(super) fn none(pages: usize) -> Self {
        Tier1Blocks(vec![false; pages])
    }

    #[inline(always)]
    pub(super) fn has(&self, id: u32) -> bool {
        self.0[id as usize]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, id: u32, is_cached: bool) {
        self.0[id as usize] = is_cached;
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, id: u32) {
        destage_core::pages::prefetch(&self.0, id as usize);
    }
}

/// Counts the look-up of a request; returns the length of the cached prefix.
#[inline]
pub(super) fn look_up(
    chains: &Chains<'_>,
    rows: Range<usize>,
    counters: &mut KvCounters,
    has: impl Fn(u32) -> bool,
) -> usize {
    let ids = &chains.ids[rows.clone()];
    let hit = ids.iter().position(|&id| !has(id)).unwrap_or(ids.len());
    let stranded = ids[hit..].iter().filter(|&&id| has(id)).count();
    let end = rows.start + hit;
    let hit_tokens = chains.tokens(rows.start..end);
    counters.requests += 1;
    counters.blocks += ids.len() as u64;
    counters.tokens += hit_tokens + chains.tokens(end..rows.end);
    counters.hit_blocks += hit as u64;
    counters.hit_tokens += hit_tokens;
    counters.full_hits += u64::from(hit == ids.len());
    counters.stranded_blocks += stranded as u64;
    if let Some(times) = chains.compute_ns {
        let of = |id: &u32| times[*id as usize];
        let sum = |ids: &[u32]| ids.iter().map(of).fold(0, u64::saturating_add);
        let hit_ns = sum(&ids[..hit]);
        let all_ns = hit_ns.saturating_add(sum(&ids[hit..]));
        counters.compute_ns = counters.compute_ns.saturating_add(all_ns);
        counters.hit_compute_ns = counters.hit_compute_ns.saturating_add(hit_ns);
    }
    hit
}
