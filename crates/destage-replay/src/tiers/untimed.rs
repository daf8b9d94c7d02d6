//! The loops of two tiers without a device: observed, or compiled for both policies.

use super::behind::{self, Behind, Missed};
use super::counters::TierCounters;
use super::events::TierDecision;
use super::tier2::{Below, Tier2, Tier2Parts};
use crate::accesses::BLOCK;
use crate::observe::{Observer, show_gauges};
use crate::replay::{
    Block, Counted, Replay, Replayed, Replays, answers_of, count_evicted, run_block,
};
use destage_core::{Blind, Lookup, Page, Plan, Policy, Request};
use destage_policies::{BuildError, Setup, Visitor};

/// Runs two tiers over the trace, every decision shown to the observer; counts begin after the
/// warm-up. Pages left dirty are those of either tier.
///
/// Returns `None` when the observer stopped it.
pub fn run<P: Policy>(
    replay: &Replay<'_>,
    policy: &mut P,
    tier2: Tier2<'_>,
    observer: &mut dyn Observer,
) -> Option<Replayed> {
    let decision = TierDecision::default();
    let mut tiers = TierLoop { policy, plan: Plan::new(), tier2, decision };
    let replayed = replay.whole(&mut tiers, observer)?;
    let (in_tier2, _) = tiers.tier2.dirty_pages(&|visit| tiers.policy.for_each_resident(visit));
    Some(with_dirty(replayed, (tiers.policy.dirty_pages(), in_tier2)))
}

/// Runs two tiers unobserved, each in a loop compiled for its policy.
///
/// Returns `None` when the observer stopped it.
///
/// # Errors
///
/// Errors of [`destage_policies::build`].
pub fn run_unwatched(
    replay: &Replay<'_>,
    name: &str,
    setup: &Setup,
    tier2: Tier2Parts<'_>,
    observer: &mut dyn Observer,
) -> Result<Option<Replayed>, BuildError> {
    let pages = replay.columns.lpns.len() as u32;
    let unwatched = Unwatched { replay, tier2: behind::build(tier2)?, observer };
    // As for one tier: tests do with one loop.
    #[cfg(debug_assertions)]
    return Ok(unwatched.visit(destage_policies::dense(name, setup, pages)?));
    #[cfg(not(debug_assertions))]
    destage_policies::build(name, setup, destage_core::Dense::new(pages), unwatched)
}

struct Unwatched<'a, 't> {
    replay: &'a Replay<'a>,
    tier2: Box<dyn Behind + 't>,
    observer: &'a mut dyn Observer,
}

impl Visitor for Unwatched<'_, '_> {
    type Output = Option<Replayed>;

    fn visit<P: Policy>(self, mut policy: P) -> Option<Replayed> {
        let Unwatched { replay, tier2, observer } = self;
        let (policy, plan, misses) = (&mut policy, Plan::new(), Vec::with_capacity(BLOCK));
        let mut tiers = UnwatchedLoop { policy, tier2, plan, misses };
        let replayed = replay.whole(&mut tiers, observer)?;
        let (in_tier2, _) = tiers.tier2.dirty_pages(&|visit| tiers.policy.for_each_resident(visit));
        Some(with_dirty(replayed, (tiers.policy.dirty_pages(), in_tier2)))
    }
}

/// Sets the pages that are dirty in each tier.
fn with_dirty(mut replayed: Replayed, in_each: (u64, u64)) -> Replayed {
    let tiers = &mut replayed.counters.tiers;
    (tiers.pending_tier1, tiers.pending_tier2) = in_each;
    replayed
}

/// A trimmed page was in either tier: whether it was dirty in one.
fn forgotten(above: Option<bool>, below: Option<bool>) -> Option<bool> {
    match (above, below) {
        (Some(above), Some(below)) => Some(above || below),
        (above, below) => above.or(below),
    }
}

/// The unobserved loop over a block.
struct UnwatchedLoop<'p, 't, P> {
    policy: &'p mut P,
    tier2: Box<dyn Behind + 't>,
    plan: Plan,
    misses: Vec<Missed>,
}

impl<P: Policy> Replays for UnwatchedLoop<'_, '_, P> {
    fn block(
        &mut self,
        replay: &Replay<'_>,
        observer: &mut dyn Observer,
        block: Block<'_>,
        counted: &mut Counted,
    ) {
        let UnwatchedLoop { policy, tier2, plan, misses } = self;
        let (counters, sizes) = (&mut counted.0, &mut counted.1);
        run_block::<P, _, false>(policy, plan, misses, replay, observer, block, (counters, sizes));
        tier2.block(misses, plan.evicted(), &mut counters.tiers);
        misses.clear();
        count_evicted(plan, counters, sizes);
    }

    fn awaits_ns(&self) -> u64 {
        self.tier2.awaits_ns()
    }

    fn arrived(&mut self, now_ns: u64) {
        self.tier2.arrived(now_ns);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        forgotten(self.policy.forget(page), self.tier2.forget(page))
    }

    /// In either tier.
    fn dirty_pages(&self) -> u64 {
        self.tier2.dirty_pages(&|visit| self.policy.for_each_resident(visit)).1
    }

    answers_of! { self.policy }
}

/// The observed loop over a block.
struct TierLoop<'p, 't, P> {
    policy: &'p mut P,
    plan: Plan,
    tier2: Tier2<'t>,
    decision: TierDecision,
}

impl<P: Policy> TierLoop<'_, '_, P> {
    /// Shows the decision on an access, and begins the record of the next.
    fn show(&mut self, r: &Request, is_hit: bool, observer: &mut dyn Observer) {
        observer.tiers(&self.decision);
        self.decision.clear();
        observer.access(r, is_hit, (!is_hit).then_some(&self.plan));
        show_gauges(self.policy, observer);
    }
}

impl<P: Policy> Replays for TierLoop<'_, '_, P> {
    fn block(
        &mut self,
        replay: &Replay<'_>,
        observer: &mut dyn Observer,
        block: Block<'_>,
        counted: &mut Counted,
    ) {
        for (i, &access) in block.accesses[..block.run].iter().enumerate() {
            let r = replay.request(self.policy, access, block.first as usize + i);
            match self.policy.request(&r) {
                Lookup::Hit(_) => {
                    counted.0.hit(r.op);
                    self.decision.tier = 1;
                    self.show(&r, true, observer);
                }
                Lookup::Miss(mut miss) => {
                    counted.0.miss(r.op);
                    while self.policy.resident() >= self.policy.frames() {
                        self.policy.evict(&mut miss, &Blind, &mut self.plan);
                    }
                    self.policy.admit(&r, miss);
                    let (tier2, events) = (&mut self.tier2, &mut self.decision);
                    let counters = &mut counted.0.tiers;
                    Below { tier2, counters, events }.miss(r.page, r.op, self.plan.evicted());
                    self.show(&r, false, observer);
                    count_evicted(&mut self.plan, &mut counted.0, &mut counted.1);
                }
                Lookup::Bypass => unreachable!("a policy that bypasses is no tier 1"),
            }
        }
    }

    fn awaits_ns(&self) -> u64 {
        self.tier2.awaits_ns()
    }

    fn arrived(&mut self, now_ns: u64) {
        self.tier2.arrived(now_ns);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let above = self.policy.forget(page);
        let mut nothing = TierCounters::default();
        let (tier2, events) = (&mut self.tier2, &mut self.decision);
        forgotten(above, Below { tier2, counters: &mut nothing, events }.forget(page))
    }

    /// In either tier.
    fn dirty_pages(&self) -> u64 {
        self.tier2.dirty_pages(&|visit| self.policy.for_each_resident(visit)).1
    }

    answers_of! { self.policy }
}
