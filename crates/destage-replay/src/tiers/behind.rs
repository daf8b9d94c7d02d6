//! Tier 2 behind a block of tier 1.
//!
//! Tier 1 decides whatever lies below it. So a block of accesses runs through tier 1 first, in the
//! loop of one tier, and then what it missed and gave up through tier 2, in a loop compiled for the
//! policy of tier 2. Both know what comes next, and neither waits for the other's memory.

use super::below::{LowerTiers, LowerTiersParts, Residents};
use super::counters::{DirtyPages, LowerCounters};
use super::feeder::VictimLists;
use super::lower_tier::LowerTier;
use crate::replay::Misses;
use destage_core::plan::Evicted;
use destage_core::{Op, Page, Policy, Request};
use destage_policies::BuildError;

/// How many misses ahead the state of a page in tier 2 is asked for, then its neighbours there, and
/// what can be found only then.
const AHEAD: usize = 16;
const LINKS_AHEAD: usize = 6;
const NEIGHBOURS_AHEAD: usize = 3;

/// A miss of tier 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    id: u32,
    op: Op,
    evicted: u32, // pages that this miss and those before it have evicted
}

impl Missed {
    fn page(self) -> Page {
        Page(self.id.into())
    }
}

impl Misses for Vec<Missed> {
    #[inline(always)]
    fn missed(&mut self, r: &Request, evicted: usize) {
        self.push(Missed { id: r.page.0 as u32, op: r.op, evicted: evicted as u32 });
    }

    fn bypassed(&mut self) {
        unreachable!("a policy that bypasses is no tier 1");
    }
}

/// Tiers below tier 1, with a policy of tier 2 that the loop of tier 1 does not name.
pub(super) trait Behind {
    /// Runs what tier 1 missed and gave up, in order.
    fn block(&mut self, misses: &[Missed], evicted: &[Evicted], counters: &mut LowerCounters);
    /// [`LowerTiers::awaits_ns`].
    fn awaits_ns(&self) -> u64;
    /// [`LowerTiers::arrived`] and [`LowerTiers::between`].
    fn arrived(&mut self, now_ns: u64, tier1: &VictimLists<'_>, counters: &mut LowerCounters);
    /// A trim.
    fn forget(&mut self, page: Page) -> Option<bool>;
    /// [`LowerTiers::dirty_pages`].
    fn dirty_pages(&self, shows: &Residents<'_>) -> DirtyPages;
}

impl<P: Policy> Behind for LowerTiers<'_, P> {
    fn block(&mut self, misses: &[Missed], evicted: &[Evicted], counters: &mut LowerCounters) {
        let tier2 = &self.tier2;
        misses[..AHEAD.min(misses.len())].iter().for_each(|far| tier2.prefetch_missed(far.page()));
        evicted[..AHEAD.min(evicted.len())].iter().for_each(|far| tier2.prefetch_offer(far.page));
        let mut left = 0;
        for (i, &missed) in misses.iter().enumerate() {
            self.tier2.look_ahead((misses, i), (evicted, left));
            let end = missed.evicted as usize;
            self.below(counters, &mut ()).miss(missed.page(), missed.op, &evicted[left..end]);
            left = end;
        }
    }

    fn awaits_ns(&self) -> u64 {
        self.awaits_ns()
    }

    fn arrived(&mut self, now_ns: u64, tier1: &VictimLists<'_>, counters: &mut LowerCounters) {
        self.arrived(now_ns);
        self.between(now_ns, tier1, counters, &mut ());
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        self.below(&mut LowerCounters::default(), &mut ()).forget(page)
    }

    fn dirty_pages(&self, shows: &Residents<'_>) -> DirtyPages {
        self.dirty_pages(shows)
    }
}

impl<P: Policy> LowerTier<'_, P> {
    /// Tells the memory what comes next.
    #[inline(always)]
    fn look_ahead(&self, (misses, at): (&[Missed], usize), (evicted, left): (&[Evicted], usize)) {
        if let Some(far) = misses.get(at + AHEAD) {
            self.prefetch_missed(far.page());
        }
        if let Some(far) = evicted.get(left + AHEAD) {
            self.prefetch_offer(far.page);
        }
        if let Some(near) = misses.get(at + LINKS_AHEAD) {
            self.prefetch_links(near.page());
        }
        if let Some(next) = misses.get(at + NEIGHBOURS_AHEAD) {
            self.prefetch_neighbours(next.page());
        }
    }
}

/// Empty tiers, compiled for the policy of tier 2.
///
/// # Errors
///
/// Errors of [`destage_policies::build`].
pub(super) fn build<'a>(parts: LowerTiersParts<'a>) -> Result<Box<dyn Behind + 'a>, BuildError> {
    // As for one tier: tests do with one loop.
    #[cfg(debug_assertions)]
    return Ok(Box::new(parts.erased()?));
    #[cfg(not(debug_assertions))]
    {
        if parts.tier2.pins.is_some() {
            return Ok(Box::new(parts.erased()?));
        }
        let directory = destage_core::Dense::new(parts.tier2.lpns.len() as u32);
        let (name, setup) = (parts.tier2.policy, parts.tier2.setup.clone());
        destage_policies::build(name, &setup, directory, Builder(parts))?
    }
}

#[cfg(not(debug_assertions))]
use super::lower_tier::LowerTierParts;

#[cfg(not(debug_assertions))]
struct Builder<'a>(LowerTiersParts<'a>);

#[cfg(not(debug_assertions))]
impl<'a> destage_policies::Visitor for Builder<'a> {
    type Output = Result<Box<dyn Behind + 'a>, BuildError>;

    fn visit<P: Policy + 'static>(self, policy: P) -> Self::Output {
        let LowerTiersParts { tier2, tier3 } = self.0;
        let LowerTierParts { admission, rules, lpns, .. } = tier2;
        let tier2 = LowerTier::new(policy, admission, rules, lpns);
        let tier3 = tier3.map(LowerTierParts::erased).transpose()?.map(Box::new);
        Ok(Box::new(LowerTiers { tier2, tier3 }))
    }
}
