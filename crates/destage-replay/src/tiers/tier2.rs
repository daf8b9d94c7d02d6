//! All that lies below tier 1: the flash tier, its admission, the backing store
//! (`docs/spec/tiers.md` 4).
//!
//! The policy of tier 2 sees an access only for a page that it has and gives up to a look-up, takes
//! in, or writes over. Its type is forgotten ([`AnyPolicy`]): it sees misses of tier 1 alone, and a
//! loop for each pair of policies would be a thousand.
//!
//! Cost. A virtual call for each thing that the policy of tier 2 sees; a byte for each page of the
//! trace, which answers whether tier 2 has it, and dirty or clean.

use super::counters::TierCounters;
use super::events::TierEvents;
use super::rules::{AdmitDirty, Offer, Promote, TierRules};
use destage_core::pages::prefetch;
use destage_core::plan::Evicted;
use destage_core::{AnyPolicy, Blind, Lookup, Lpn, NEVER, Op, Page, Plan, Policy, Request};
use destage_policies::admission::Admission;
use destage_policies::{BuildError, Setup, dense};

/// Copy of a page in tier 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Copied {
    No = 0,
    Clean,
    Dirty,
}

/// Shows the resident pages of a tier, each with its dirty bit.
pub type Residents<'a> = dyn Fn(&mut dyn FnMut(Page, bool)) + 'a;

/// The flash tier and the backing store below it.
pub struct Tier2<'a, P = AnyPolicy> {
    policy: P,
    admission: Admission,
    rules: TierRules,
    lpns: &'a [u64],
    copies: Vec<Copied>, // by page
    plan: Plan,
}

/// All that tier 2 is built from.
pub struct Tier2Parts<'a> {
    /// Name of its policy.
    pub policy: &'static str,
    /// Setup of the policy.
    pub setup: Setup,
    /// Which offers it takes.
    pub admission: Admission,
    /// Rules between the tiers.
    pub rules: TierRules,
    /// LPNs of the pages.
    pub lpns: &'a [u64],
}

impl<'a> Tier2Parts<'a> {
    /// An empty tier with a policy whose type is forgotten.
    ///
    /// # Errors
    ///
    /// Errors of [`destage_policies::build`].
    pub fn erased(self) -> Result<Tier2<'a>, BuildError> {
        let policy = dense(self.policy, &self.setup, self.lpns.len() as u32)?;
        Ok(Tier2::new(policy, self.admission, self.rules, self.lpns))
    }
}

/// Where an access found its page, and who looks on.
pub struct Below<'t, 'a, E, P = AnyPolicy> {
    /// The tier.
    pub tier2: &'t mut Tier2<'a, P>,
    /// Counters of the tier.
    pub counters: &'t mut TierCounters,
    /// Sees what happens.
    pub events: &'t mut E,
}

impl<'a, P: Policy> Tier2<'a, P> {
    /// An empty tier, over pages with these LPNs.
    pub fn new(policy: P, admission: Admission, rules: TierRules, lpns: &'a [u64]) -> Self {
        let copies = vec![Copied::No; lpns.len()];
        Tier2 { policy, admission, rules, lpns, copies, plan: Plan::new() }
    }

    /// Rules between the tiers.
    pub fn rules(&self) -> TierRules {
        self.rules
    }

    /// The arrival from which on [`arrived`](Tier2::arrived) is to be called, ns; the largest
    /// number: never.
    #[inline]
    pub fn awaits_ns(&self) -> u64 {
        self.admission.awaits_ns()
    }

    /// A request arrives, before its accesses: admission may cut time into windows.
    pub fn arrived(&mut self, now_ns: u64) {
        self.admission.arrived(now_ns);
    }

    /// Whether tier 2 has the page.
    #[inline(always)]
    pub fn has(&self, page: Page) -> bool {
        self.copies[page.0 as usize] != Copied::No
    }

    /// Whether every frame is taken.
    pub fn is_full(&self) -> bool {
        self.policy.resident() >= self.policy.frames()
    }

    /// Pages that it has.
    pub fn resident(&self) -> u32 {
        self.policy.resident()
    }

    /// Pages that are dirty in tier 2, and those that are dirty in either tier, of which the first
    /// `shows` its pages.
    pub fn dirty_pages(&self, shows: &Residents<'_>) -> (u64, u64) {
        let own = self.policy.dirty_pages();
        let mut either = own;
        shows(&mut |page, dirty| {
            let is_here = self.copies[page.0 as usize] == Copied::Dirty;
            either += u64::from(dirty && !is_here);
        });
        (own, either)
    }

    /// Hint, many accesses ahead: this page is about to be looked up.
    #[inline(always)]
    pub fn prefetch(&self, page: Page) {
        prefetch(&self.copies, page.0 as usize);
        self.admission.prefetch_missed(page);
    }

    /// Hint, some accesses ahead: the page's state has come near.
    #[inline(always)]
    pub fn prefetch_copy(&self, page: Page) {
        if self.has_near(page) {
            self.policy.prefetch(page);
            prefetch(self.lpns, page.0 as usize);
        }
    }

    /// Hint: this page is about to be looked up, or to be hit or taken in.
    #[inline(always)]
    fn prefetch_all(&self, page: Page) {
        prefetch(&self.copies, page.0 as usize);
        self.policy.prefetch(page);
        if P::READS_LPN {
            prefetch(self.lpns, page.0 as usize);
        }
    }

    /// Hint: tier 1 gives this page up soon.
    #[inline(always)]
    pub(super) fn prefetch_offer(&self, page: Page) {
        self.prefetch_all(page);
        self.admission.prefetch_offer(page);
    }

    /// Hint: this page soon misses tier 1.
    #[inline(always)]
    pub(super) fn prefetch_missed(&self, page: Page) {
        self.prefetch_all(page);
        self.admission.prefetch_missed(page);
    }

    /// Hint, after [`prefetch_missed`](Tier2::prefetch_missed).
    #[inline(always)]
    pub(super) fn prefetch_links(&self, page: Page) {
        // Links of a page that is not here lead nowhere. No branch: nothing predicts it.
        self.policy.prefetch_links(Page(page.0 * u64::from(self.has_near(page))));
    }

    /// Hint, the last.
    #[inline(always)]
    pub(super) fn prefetch_neighbours(&self, page: Page) {
        self.policy.prefetch_neighbours(page);
    }

    #[inline(always)]
    fn has_near(&self, page: Page) -> bool {
        self.copies.get(page.0 as usize).is_some_and(|&copy| copy != Copied::No)
    }

    fn request(&self, page: Page, op: Op) -> Request {
        let lpn = self.lpns.get(page.0 as usize).copied().unwrap_or(NEVER);
        Request::new(page, Lpn(lpn), op)
    }
}

impl<E: TierEvents, P: Policy> Below<'_, '_, E, P> {
    /// An access missed tier 1, which evicted these pages (4.1, steps 2 to 6); whether its page was
    /// found in tier 2.
    #[inline]
    pub fn miss(&mut self, page: Page, op: Op, evicted: &[Evicted]) -> bool {
        let is_found = self.missed(page, op);
        for evicted in evicted {
            self.leaves_tier1(evicted.page, evicted.dirty);
        }
        if !is_found && !op.is_write() {
            self.inserted(page);
        }
        is_found
    }

    /// An access missed tier 1 (4.1, steps 2 to 4); whether its page was found in tier 2.
    #[inline]
    fn missed(&mut self, page: Page, op: Op) -> bool {
        self.tier2.admission.missed(page);
        let rules = self.tier2.rules;
        let found = (op == Op::Read || rules.fetch_on_write_miss) && self.look_up(page);
        if op == Op::Write && rules.promote == Promote::Move && self.tier2.has(page) {
            self.drop_copy(page);
        }
        found
    }

    /// A miss of tier 1 that reads nothing below: of a language model's block that is computed.
    #[inline]
    pub fn missed_without_look_up(&mut self, page: Page) {
        self.tier2.admission.missed(page);
    }

    /// Looks the page up (4.2).
    #[inline]
    fn look_up(&mut self, page: Page) -> bool {
        if !self.tier2.has(page) {
            self.counters.tier2_misses += 1;
            self.counters.backing_reads += 1;
            self.events.backing_read(page);
            return false;
        }
        self.found(page);
        self.promote(page);
        true
    }

    /// The page was found in tier 2, and is read there.
    #[inline]
    pub fn found(&mut self, page: Page) {
        self.counters.tier2_hits += 1;
        self.counters.tier2_reads += 1;
        self.tier2.admission.tier2_hit();
        self.events.found(page);
    }

    /// A page that was found goes up: its copy stays and is hit, or is dropped.
    #[inline]
    pub fn promote(&mut self, page: Page) {
        let copy = self.tier2.copies[page.0 as usize];
        if self.tier2.rules.promote == Promote::Move && copy == Copied::Clean {
            self.drop_copy(page);
        } else {
            self.hit(page, Op::Read);
        }
    }

    /// The policy of tier 2 sees a hit.
    fn hit(&mut self, page: Page, op: Op) {
        let r = self.tier2.request(page, op);
        let found = self.tier2.policy.request(&r);
        debug_assert!(matches!(found, Lookup::Hit(_)), "tier 2 has the page");
    }

    fn drop_copy(&mut self, page: Page) {
        self.tier2.policy.forget(page);
        self.tier2.copies[page.0 as usize] = Copied::No;
        self.counters.tier2_drops += 1;
        self.events.dropped(page);
    }

    /// A page leaves tier 1 (4.3).
    #[inline]
    pub fn leaves_tier1(&mut self, page: Page, dirty: bool) {
        if dirty && self.tier2.has(page) {
            self.newer_version(page);
        } else if dirty || self.tier2.rules.offer == Offer::Evicted {
            self.offer(page, dirty);
        }
    }

    /// A newer version of a page that tier 2 has: it is written over, or the copy is dropped.
    #[inline]
    fn newer_version(&mut self, page: Page) {
        let tier2 = &mut *self.tier2;
        let is_asked = tier2.rules.admit_dirty == AdmitDirty::Ask;
        if is_asked && tier2.admission.counts_overwrites() {
            self.counters.offers += 1;
            if !tier2.admission.admits(page, &tier2.policy) {
                self.drop_copy(page);
                self.declined(page, true);
                return;
            }
        } else {
            tier2.admission.wrote_unasked();
        }
        self.hit(page, Op::Write);
        self.tier2.copies[page.0 as usize] = Copied::Dirty;
        self.counters.tier2_writes += 1;
        self.events.written_over(page);
    }

    /// Admission declined an offer.
    #[inline]
    fn declined(&mut self, page: Page, dirty: bool) {
        self.counters.offers_capped += u64::from(self.tier2.admission.was_over_cap());
        if dirty {
            self.counters.backing_writes += 1;
            self.events.declined(page);
        }
    }

    /// A page came from the backing store, or was computed (4.1, step 6).
    #[inline]
    pub fn inserted(&mut self, page: Page) {
        if self.tier2.rules.offer == Offer::Inserted {
            self.offer(page, false);
        }
    }

    /// A page is offered, dirty only if tier 2 does not have it.
    #[inline(always)]
    fn offer(&mut self, page: Page, dirty: bool) {
        let tier2 = &mut *self.tier2;
        if tier2.has(page) {
            self.counters.offers_present += 1;
            return;
        }
        let is_asked = !dirty || tier2.rules.admit_dirty == AdmitDirty::Ask;
        self.counters.offers += u64::from(is_asked);
        let is_taken = !is_asked || tier2.admission.admits(page, &tier2.policy);
        if !is_taken {
            return self.declined(page, dirty);
        }
        if !is_asked {
            tier2.admission.wrote_unasked();
        }
        self.take_in(page, dirty);
    }

    /// The policy of tier 2 sees a miss, and victims leave (4.4).
    #[inline(always)]
    fn take_in(&mut self, page: Page, dirty: bool) {
        let tier2 = &mut *self.tier2;
        let r = tier2.request(page, if dirty { Op::Write } else { Op::Read });
        let Lookup::Miss(mut miss) = tier2.policy.request(&r) else {
            unreachable!("tier 2 does not have the page, and its policy admits every page");
        };
        while tier2.policy.resident() >= tier2.policy.frames() {
            tier2.policy.evict(&mut miss, &Blind, &mut tier2.plan);
        }
        tier2.policy.admit(&r, miss);
        for evicted in tier2.plan.evicted() {
            tier2.copies[evicted.page.0 as usize] = Copied::No;
            self.counters.tier2_evictions += 1;
            if evicted.dirty {
                self.counters.tier2_reads += 1;
                self.counters.backing_writes += 1;
            }
            self.events.evicted(evicted.page, evicted.dirty);
        }
        tier2.plan.clear();
        tier2.copies[page.0 as usize] = if dirty { Copied::Dirty } else { Copied::Clean };
        self.counters.admitted += 1;
        self.counters.tier2_writes += 1;
        self.events.admitted(page, dirty);
    }

    /// A trim (4.5): whether tier 2 had the page, and its dirty bit.
    pub fn forget(&mut self, page: Page) -> Option<bool> {
        self.tier2.admission.forget(page);
        let forgotten = self.tier2.policy.forget(page);
        if forgotten.is_some() {
            self.tier2.copies[page.0 as usize] = Copied::No;
            self.events.dropped(page);
        }
        forgotten
    }
}
