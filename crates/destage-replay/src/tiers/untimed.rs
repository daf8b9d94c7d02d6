//! The loop of two tiers without a device: tier 1 compiled for its policy, tier 2 behind
//! [`AnyPolicy`](destage_core::AnyPolicy).

use super::counters::TierCounters;
use super::events::{TierDecision, TierEvents};
use super::tier2::{Below, Tier2};
use crate::counters::OwnCounters;
use crate::observe::{Observer, show_gauges};
use crate::replay::{Block, Counted, Replay, Replayed, Replays, look_ahead};
use destage_core::{Blind, Lookup, Page, Plan, Policy, Request};
use destage_policies::{BuildError, Setup};

/// How far ahead a page's state in tier 2 is asked for, then its node there, then its neighbours.
const COPY_AHEAD: usize = 24;
const NODE_AHEAD: usize = 12;
const LINKS_AHEAD: usize = 4;

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
    let events = TierDecision::default();
    let mut tiers = TierLoop::<_, _, true> { policy, plan: Plan::new(), tier2, events };
    tiers.whole(replay, observer)
}

/// Runs two tiers unobserved, tier 1 in a loop compiled for its policy.
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
    tier2: Tier2<'_>,
    observer: &mut dyn Observer,
) -> Result<Option<Replayed>, BuildError> {
    let pages = replay.columns.lpns.len() as u32;
    let unwatched = Unwatched { replay, tier2, observer };
    // As for one tier: tests do with one loop.
    #[cfg(debug_assertions)]
    {
        use destage_policies::Visitor;
        let policy = destage_policies::dense(name, setup, pages)?;
        Ok(unwatched.visit(policy))
    }
    #[cfg(not(debug_assertions))]
    destage_policies::build(name, setup, destage_core::Dense::new(pages), unwatched)
}

struct Unwatched<'a, 't> {
    replay: &'a Replay<'a>,
    tier2: Tier2<'t>,
    observer: &'a mut dyn Observer,
}

impl destage_policies::Visitor for Unwatched<'_, '_> {
    type Output = Option<Replayed>;

    fn visit<P: Policy>(self, mut policy: P) -> Option<Replayed> {
        let Unwatched { replay, tier2, observer } = self;
        let (plan, policy) = (Plan::new(), &mut policy);
        TierLoop::<_, _, false> { policy, plan, tier2, events: () }.whole(replay, observer)
    }
}

/// The loop over a block.
struct TierLoop<'p, 't, P, E, const WATCHED: bool> {
    policy: &'p mut P,
    plan: Plan,
    tier2: Tier2<'t>,
    events: E,
}

/// A record of decisions that observers are shown.
trait Shown: TierEvents {
    /// Shows where the access found its page, and begins the record of the next.
    fn show(&mut self, tier1_hit: bool, observer: &mut dyn Observer);
}

impl Shown for () {
    fn show(&mut self, _: bool, _: &mut dyn Observer) {}
}

impl Shown for TierDecision {
    fn show(&mut self, tier1_hit: bool, observer: &mut dyn Observer) {
        if tier1_hit {
            self.tier = 1;
        }
        observer.tiers(self);
        self.clear();
    }
}

impl<P: Policy, E: Shown, const WATCHED: bool> TierLoop<'_, '_, P, E, WATCHED> {
    fn whole(&mut self, replay: &Replay<'_>, observer: &mut dyn Observer) -> Option<Replayed> {
        let mut replayed = replay.whole(self, observer)?;
        let (pending_tier2, either) = self.tier2.dirty_pages(self.policy);
        replayed.counters.tiers.pending_tier1 = replayed.dirty_left;
        replayed.counters.tiers.pending_tier2 = pending_tier2;
        replayed.dirty_left = either;
        Some(replayed)
    }

    #[inline(always)]
    fn miss(&mut self, r: &Request, counters: &mut TierCounters) {
        let (tier2, events) = (&mut self.tier2, &mut self.events);
        let mut below = Below { tier2, counters, events };
        let found = below.missed(r.page, r.op);
        for evicted in self.plan.evicted() {
            below.leaves_tier1(evicted.page, evicted.dirty);
        }
        if !found && !r.op.is_write() {
            below.inserted(r.page);
        }
    }
}

impl<P: Policy, E: Shown, const WATCHED: bool> Replays for TierLoop<'_, '_, P, E, WATCHED> {
    fn block(
        &mut self,
        replay: &Replay<'_>,
        observer: &mut dyn Observer,
        block: Block<'_>,
        (counters, sizes): &mut Counted,
    ) {
        for (i, &access) in block.accesses[..block.run].iter().enumerate() {
            look_ahead(self.policy, block.accesses, i, replay.columns.lpns);
            if let Some(far) = block.accesses.get(i + COPY_AHEAD) {
                self.tier2.prefetch(Page(far.id.into()));
            }
            if let Some(near) = block.accesses.get(i + NODE_AHEAD) {
                self.tier2.prefetch_copy(Page(near.id.into()));
            }
            if let Some(next) = block.accesses.get(i + LINKS_AHEAD) {
                self.tier2.prefetch_links(Page(next.id.into()));
            }
            let r = replay.request(self.policy, access, block.first as usize + i);
            match self.policy.request(&r) {
                Lookup::Hit(_) => {
                    counters.hit(r.op);
                    if WATCHED {
                        self.events.show(true, observer);
                        observer.access(&r, true, None);
                    }
                }
                Lookup::Miss(mut miss) => {
                    counters.miss(r.op);
                    while self.policy.resident() >= self.policy.frames() {
                        self.policy.evict(&mut miss, &Blind, &mut self.plan);
                    }
                    self.policy.admit(&r, miss);
                    if let Some(victim) = self.policy.coming_victim() {
                        self.tier2.prefetch_offer(victim);
                    }
                    self.miss(&r, &mut counters.tiers);
                    counters.evicted(&self.plan);
                    sizes.add(&self.plan);
                    if WATCHED {
                        self.events.show(false, observer);
                        observer.access(&r, false, Some(&self.plan));
                    }
                    self.plan.clear();
                }
                Lookup::Bypass => unreachable!("a policy that bypasses is no tier 1"),
            }
            if WATCHED {
                show_gauges(self.policy, observer);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.policy.resident() >= self.policy.frames()
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let above = self.policy.forget(page);
        let mut nothing = TierCounters::default();
        let (tier2, events) = (&mut self.tier2, &mut self.events);
        let below = Below { tier2, counters: &mut nothing, events }.forget(page);
        match (above, below) {
            (Some(above), Some(below)) => Some(above || below),
            (above, below) => above.or(below),
        }
    }

    fn own_counters(&self) -> OwnCounters {
        OwnCounters::of(self.policy)
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.policy.gauges(show);
    }

    fn dirty_pages(&self) -> u64 {
        self.policy.dirty_pages()
    }
}
