//! Time to live of cached pages (`docs/spec/tiers.md` 4.10).
//!
//! A page has one time, whichever tiers have it: the arrival of the request that last wrote it or
//! fetched it from the backing store. Expiry is lazy: an access finds it.
//!
//! Cost. A look-up and a bit more per access; nine bytes per page of the trace. The loops here are
//! observed ones: runs without a time to live take others.

use crate::counters::ExpiryCounters;
use crate::observe::{Observer, show_gauges};
use crate::replay::{Block, Counted, Replay, Replayed, Replays, answers_of, count_evicted};
use destage_core::{Blind, Lookup, Page, Plan, Policy};

/// Times of the pages of a run, and which of them tier 1 has.
#[derive(Clone, Debug)]
pub struct Expiry {
    ttl_ns: u64,
    now_ns: u64,
    renewed_ns: Vec<u64>, // by page: arrival of its last write or fetch
    in_tier1: Vec<bool>,  // by page
}

impl Expiry {
    /// No page is cached yet, of so many.
    pub fn new(ttl_ns: u64, pages: usize) -> Self {
        Expiry { ttl_ns, now_ns: 0, renewed_ns: vec![0; pages], in_tier1: vec![false; pages] }
    }

    /// The next arrival that it must be told, ns.
    pub(crate) fn awaits_ns(&self) -> u64 {
        self.now_ns + 1 // times are below 2^63
    }

    /// A request arrives, no earlier than the last one.
    pub(crate) fn arrived(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Tier 1 has the page.
    pub(crate) fn is_in_tier1(&self, page: Page) -> bool {
        self.in_tier1[page.0 as usize]
    }

    /// Tier 1 has taken the page in, or given it up.
    pub(crate) fn set_in_tier1(&mut self, page: Page, is_in: bool) {
        self.in_tier1[page.0 as usize] = is_in;
    }

    /// The page, if it is cached, is older than the time to live.
    pub(crate) fn is_over(&self, page: Page) -> bool {
        self.now_ns - self.renewed_ns[page.0 as usize] > self.ttl_ns
    }

    /// The page was written or fetched now.
    pub(crate) fn renew(&mut self, page: Page) {
        self.renewed_ns[page.0 as usize] = self.now_ns;
    }

    /// Tier 1 took the page in, and gave up those of the plan behind the expired.
    pub(crate) fn missed(&mut self, page: Page, plan: &Plan, expired: usize) {
        self.set_in_tier1(page, true);
        for evicted in &plan.evicted()[expired..] {
            self.set_in_tier1(evicted.page, false);
        }
    }

    /// The page, if it is in tier 1 and over, leaves it: the first of the plan. Its dirty bit.
    pub(crate) fn expire<P: Policy>(
        &mut self,
        policy: &mut P,
        page: Page,
        plan: &mut Plan,
    ) -> Option<bool> {
        if !self.is_in_tier1(page) || !self.is_over(page) {
            return None;
        }
        let dirty = policy.forget(page)?;
        self.set_in_tier1(page, false);
        plan.evict(page, dirty);
        Some(dirty)
    }
}

/// Runs the policy over the trace, in one tier, every decision shown to the observer; counts begin
/// after the warm-up.
///
/// Returns `None` when the observer stopped it.
pub fn run<P: Policy>(
    replay: &Replay<'_>,
    policy: &mut P,
    ttl_ns: u64,
    observer: &mut dyn Observer,
) -> Option<Replayed> {
    let expiry = Expiry::new(ttl_ns, replay.columns.lpns.len());
    replay.whole(&mut ExpiringLoop { policy, plan: Plan::new(), expiry }, observer)
}

/// The loop of one tier.
struct ExpiringLoop<'p, P> {
    policy: &'p mut P,
    plan: Plan,
    expiry: Expiry,
}

impl<P: Policy> Replays for ExpiringLoop<'_, P> {
    fn block(
        &mut self,
        replay: &Replay<'_>,
        observer: &mut dyn Observer,
        block: Block<'_>,
        (counters, sizes): &mut Counted,
    ) {
        let ExpiringLoop { policy, plan, expiry } = self;
        for (i, &access) in block.accesses[..block.run].iter().enumerate() {
            let r = replay.request(*policy, access, block.first as usize + i);
            let expired = expiry.expire(*policy, r.page, plan);
            counters.expired.count(expired);
            match policy.request(&r) {
                Lookup::Hit(_) => {
                    counters.hit(r.op);
                    if r.op.is_write() {
                        expiry.renew(r.page);
                    }
                    observer.access(&r, true, None);
                }
                Lookup::Miss(mut miss) => {
                    counters.miss(r.op);
                    while policy.resident() >= policy.frames() {
                        policy.evict(&mut miss, &Blind, plan);
                    }
                    policy.admit(&r, miss);
                    expiry.missed(r.page, plan, usize::from(expired.is_some()));
                    expiry.renew(r.page);
                    observer.access(&r, false, Some(plan));
                    count_evicted(plan, counters, sizes);
                }
                Lookup::Bypass => unreachable!("a policy that bypasses has no time to live"),
            }
            show_gauges(*policy, observer);
        }
    }

    fn awaits_ns(&self) -> u64 {
        self.expiry.awaits_ns()
    }

    fn arrived(&mut self, now_ns: u64, _: &mut Counted) {
        self.expiry.arrived(now_ns);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        self.expiry.set_in_tier1(page, false);
        self.policy.forget(page)
    }

    fn dirty_pages(&self) -> u64 {
        self.policy.dirty_pages()
    }

    answers_of! { self.policy }
}

impl ExpiryCounters {
    /// Counts a page that an access found expired, with its dirty bit.
    pub(crate) fn count(&mut self, expired: Option<bool>) {
        self.expired_hits += u64::from(expired.is_some());
        self.expired_writes += u64::from(expired == Some(true));
    }
}
