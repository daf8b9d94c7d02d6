//! The loops of several tiers without a device: observed, or compiled for both policies.

use super::behind::{self, Behind, Missed};
use super::below::{LowerTiers, LowerTiersParts, either};
use super::counters::LowerCounters;
use super::events::TierDecision;
use crate::accesses::BLOCK;
use crate::counters::Counters;
use crate::observe::{Observer, show_gauges};
use crate::replay::{
    Block, Counted, Replay, Replayed, Replays, answers_of, count_evicted, run_block,
};
use crate::ttl::Expiry;
use destage_core::{Blind, Lookup, Page, Plan, Policy, Request};
use destage_policies::{BuildError, Setup, Visitor};

/// Is shown pages and their dirty bits, and answers whether it wants another.
type Show<'a> = &'a mut dyn FnMut(Page, bool) -> bool;

/// Runs the tiers over the trace, every decision shown to the observer; counts begin after the
/// warm-up. Pages left dirty are those of any tier.
///
/// Returns `None` when the observer stopped it.
pub fn run<P: Policy>(
    replay: &Replay<'_>,
    policy: &mut P,
    lower: LowerTiers<'_>,
    observer: &mut dyn Observer,
) -> Option<Replayed> {
    run_expiring(replay, policy, lower, None, observer)
}

/// [`run`], with a time to live of pages, nanoseconds, or without.
///
/// Returns `None` when the observer stopped it.
pub fn run_expiring<P: Policy>(
    replay: &Replay<'_>,
    policy: &mut P,
    lower: LowerTiers<'_>,
    ttl_ns: Option<u64>,
    observer: &mut dyn Observer,
) -> Option<Replayed> {
    let decision = TierDecision::default();
    let expiry = ttl_ns.map(|ttl_ns| Expiry::new(ttl_ns, replay.columns.lpns.len()));
    let mut tiers = TierLoop { policy, plan: Plan::new(), lower, decision, expiry };
    let mut replayed = replay.whole(&mut tiers, observer)?;
    let below = tiers.lower.dirty_pages(&|visit| tiers.policy.for_each_resident(visit));
    replayed.counters.tiers.set_pending(tiers.policy.dirty_pages(), below);
    Some(replayed)
}

/// Runs the tiers unobserved, each in a loop compiled for its policy.
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
    lower: LowerTiersParts<'_>,
    observer: &mut dyn Observer,
) -> Result<Option<Replayed>, BuildError> {
    let pages = replay.columns.lpns.len() as u32;
    let unwatched = Unwatched { replay, lower: behind::build(lower)?, observer };
    // As for one tier: tests do with one loop.
    #[cfg(debug_assertions)]
    return Ok(unwatched.visit(destage_policies::dense(name, setup, pages)?));
    #[cfg(not(debug_assertions))]
    destage_policies::build(name, setup, destage_core::Dense::new(pages), unwatched)
}

struct Unwatched<'a, 't> {
    replay: &'a Replay<'a>,
    lower: Box<dyn Behind + 't>,
    observer: &'a mut dyn Observer,
}

impl Visitor for Unwatched<'_, '_> {
    type Output = Option<Replayed>;

    fn visit<P: Policy>(self, mut policy: P) -> Option<Replayed> {
        let Unwatched { replay, lower, observer } = self;
        let (policy, plan, misses) = (&mut policy, Plan::new(), Vec::with_capacity(BLOCK));
        let mut tiers = UnwatchedLoop { policy, lower, plan, misses };
        let mut replayed = replay.whole(&mut tiers, observer)?;
        let below = tiers.lower.dirty_pages(&|visit| tiers.policy.for_each_resident(visit));
        replayed.counters.tiers.set_pending(tiers.policy.dirty_pages(), below);
        Some(replayed)
    }
}

/// The unobserved loop over a block.
struct UnwatchedLoop<'p, 't, P> {
    policy: &'p mut P,
    lower: Box<dyn Behind + 't>,
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
        let UnwatchedLoop { policy, lower, plan, misses } = self;
        let (counters, sizes) = (&mut counted.0, &mut counted.1);
        run_block::<P, _, false>(policy, plan, misses, replay, observer, block, (counters, sizes));
        lower.block(misses, plan.evicted(), &mut counters.tiers);
        misses.clear();
        count_evicted(plan, counters, sizes);
    }

    fn awaits_ns(&self) -> u64 {
        self.lower.awaits_ns()
    }

    fn arrived(&mut self, now_ns: u64, counted: &mut Counted) {
        let policy = &*self.policy;
        let lists = |list, newest_first, show: Show<'_>| policy.show_list(list, newest_first, show);
        self.lower.arrived(now_ns, &lists, &mut counted.0.tiers);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        either(self.policy.forget(page), self.lower.forget(page))
    }

    /// In any tier.
    fn dirty_pages(&self) -> u64 {
        self.lower.dirty_pages(&|visit| self.policy.for_each_resident(visit)).in_any
    }

    answers_of! { self.policy }
}

/// The observed loop over a block.
struct TierLoop<'p, 't, P> {
    policy: &'p mut P,
    plan: Plan,
    lower: LowerTiers<'t>,
    decision: TierDecision,
    expiry: Option<Expiry>,
}

impl<P: Policy> TierLoop<'_, '_, P> {
    /// The page, if it has expired, leaves all tiers; how many pages are in the plan for it.
    fn expire(&mut self, page: Page, counters: &mut Counters) -> usize {
        let Some(expiry) = &mut self.expiry else { return 0 };
        let is_cached = expiry.is_in_tier1(page) || self.lower.tier_of(page) != 0;
        if !is_cached || !expiry.is_over(page) {
            return 0;
        }
        let above = expiry.expire(self.policy, page, &mut self.plan);
        let mut below = self.lower.below(&mut counters.tiers, &mut self.decision);
        let is_written = below.expire(page, above == Some(true));
        counters.expired.count(Some(is_written));
        usize::from(above.is_some())
    }

    /// The page was written, or read from the backing store, and is as old as now; on a miss tier 1
    /// has it, with so many pages in the plan that had expired.
    fn renew(&mut self, r: &Request, missed: Option<usize>) {
        let Some(expiry) = &mut self.expiry else { return };
        if r.op.is_write() || missed.is_some() && self.decision.tier == 0 {
            expiry.renew(r.page);
        }
        if let Some(expired) = missed {
            expiry.missed(r.page, &self.plan, expired);
        }
    }

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
            let expired = self.expire(r.page, &mut counted.0);
            match self.policy.request(&r) {
                Lookup::Hit(_) => {
                    counted.0.hit(r.op);
                    self.renew(&r, None);
                    self.decision.tier = 1;
                    self.show(&r, true, observer);
                }
                Lookup::Miss(mut miss) => {
                    counted.0.miss(r.op);
                    while self.policy.resident() >= self.policy.frames() {
                        self.policy.evict(&mut miss, &Blind, &mut self.plan);
                    }
                    self.policy.admit(&r, miss);
                    let mut below = self.lower.below(&mut counted.0.tiers, &mut self.decision);
                    below.miss(r.page, r.op, &self.plan.evicted()[expired..]);
                    self.renew(&r, Some(expired));
                    self.show(&r, false, observer);
                    count_evicted(&mut self.plan, &mut counted.0, &mut counted.1);
                }
                Lookup::Bypass => unreachable!("a policy that bypasses is no tier 1"),
            }
        }
    }

    fn awaits_ns(&self) -> u64 {
        let of_expiry = self.expiry.as_ref().map_or(u64::MAX, Expiry::awaits_ns);
        self.lower.awaits_ns().min(of_expiry)
    }

    fn arrived(&mut self, now_ns: u64, counted: &mut Counted) {
        self.lower.arrived(now_ns);
        let policy = &*self.policy;
        let lists = |list, newest_first, show: Show<'_>| policy.show_list(list, newest_first, show);
        self.lower.between(now_ns, &lists, &mut counted.0.tiers, &mut self.decision);
        if let Some(expiry) = &mut self.expiry {
            expiry.arrived(now_ns);
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let above = self.policy.forget(page);
        if let Some(expiry) = &mut self.expiry {
            expiry.set_in_tier1(page, false);
        }
        let nothing = &mut LowerCounters::default();
        either(above, self.lower.below(nothing, &mut self.decision).forget(page))
    }

    /// In any tier.
    fn dirty_pages(&self) -> u64 {
        self.lower.dirty_pages(&|visit| self.policy.for_each_resident(visit)).in_any
    }

    answers_of! { self.policy }
}
