//! All that lies below tier 1: an ordered list of tiers, and the backing store
//! (`docs/spec/tiers.md` 4).
//!
//! Each tier is to the tier below it what tier 1 is to tier 2: a look-up that finds nothing goes
//! on, and so does a page that the tier gives up or declines.

use super::counters::{DirtyPages, LowerCounters, TierCounters};
use super::events::{Leaving, TierEvents};
use super::feeder::{Feeder, VictimLists};
use super::lower_tier::{Copied, LowerTier, LowerTierParts};
use super::rules::{AdmitDirty, Offer, Promote};
use destage_core::plan::Evicted;
use destage_core::{AnyPolicy, Blind, Lookup, Op, Page, Policy};
use destage_policies::BuildError;
use destage_policies::admission::info::BlockTimes;
use std::sync::Arc;

/// The tiers below tier 1, in order.
pub struct LowerTiers<'a, P = AnyPolicy> {
    /// The first of them.
    pub tier2: LowerTier<'a, P>,
    /// The second, if there is one.
    pub tier3: Option<Box<LowerTier<'a>>>,
}

/// All that they are built from.
pub struct LowerTiersParts<'a> {
    /// Of the first of them.
    pub tier2: LowerTierParts<'a>,
    /// Of the second, if there is one.
    pub tier3: Option<LowerTierParts<'a>>,
}

impl<'a> LowerTiersParts<'a> {
    /// The time of computing each block of prompts, nanoseconds by page, and those of reads of the
    /// tiers, if the run has them: for policies and filters that ask for them.
    pub fn learn(&mut self, compute_ns: &Arc<[u64]>, reads: (Option<u64>, Option<u64>)) {
        let tier3 = self.tier3.as_mut().map(|tier3| (tier3, reads.1));
        for (tier, read_ns) in [(&mut self.tier2, reads.0)].into_iter().chain(tier3) {
            tier.setup.compute_ns = Some(compute_ns.clone());
            tier.admission.learns(&BlockTimes { compute_ns: compute_ns.clone(), read_ns });
        }
    }

    /// Empty tiers with policies whose types are forgotten.
    ///
    /// # Errors
    ///
    /// Errors of [`destage_policies::build`].
    pub fn erased(self) -> Result<LowerTiers<'a>, BuildError> {
        let tier3 = self.tier3.map(LowerTierParts::erased).transpose()?;
        Ok(LowerTiers { tier2: self.tier2.erased()?, tier3: tier3.map(Box::new) })
    }
}

/// Shows the resident pages of a tier, each with its dirty bit.
pub type Residents<'a> = dyn Fn(&mut dyn FnMut(Page, bool)) + 'a;

impl<'a, P: Policy> LowerTiers<'a, P> {
    /// An access that comes here, from tier 2 downwards.
    #[inline(always)]
    pub fn below<'t, E>(
        &'t mut self,
        counters: &'t mut LowerCounters,
        events: &'t mut E,
    ) -> Below<'t, 'a, E, P> {
        let next = self.tier3.as_deref_mut().map(|tier3| (tier3, &mut counters.tier3));
        Below { number: 2, tier: &mut self.tier2, counters: &mut counters.tier2, next, events }
    }

    /// Whether the tier with this number has the page.
    #[inline(always)]
    pub fn has(&self, tier: u8, page: Page) -> bool {
        match tier {
            2 => self.tier2.has(page),
            _ => self.tier3.as_ref().is_some_and(|tier3| tier3.has(page)),
        }
    }

    /// The tier that has the page, the upper one if both have: 2 or 3; or 0.
    #[inline(always)]
    pub fn tier_of(&self, page: Page) -> u8 {
        if self.tier2.has(page) {
            return 2;
        }
        if self.has(3, page) { 3 } else { 0 }
    }

    /// The arrival from which on [`arrived`](LowerTiers::arrived) is to be called, ns; the largest
    /// number: never.
    #[inline]
    pub fn awaits_ns(&self) -> u64 {
        let below = self.tier3.as_ref().map_or(u64::MAX, |tier3| tier3.awaits_ns());
        self.tier2.awaits_ns().min(below)
    }

    /// A request arrives, before its accesses: admission may cut time into windows.
    pub fn arrived(&mut self, now_ns: u64) {
        if self.tier2.awaits_ns() <= now_ns {
            self.tier2.arrived(now_ns);
        }
        if let Some(tier3) = self.tier3.as_mut().filter(|tier3| tier3.awaits_ns() <= now_ns) {
            tier3.arrived(now_ns);
        }
    }

    /// Work between two requests that was due before the one that has
    /// [`arrived`](LowerTiers::arrived), now; `tier1` shows the lists of tier 1.
    pub fn between<E: TierEvents>(
        &mut self,
        now_ns: u64,
        tier1: &VictimLists<'_>,
        counters: &mut LowerCounters,
        events: &mut E,
    ) {
        if self.tier2.cleans() {
            self.below(counters, events).clean_due();
        }
        if self.tier2.feeder.is_some() {
            self.below(counters, events).feed(now_ns, tier1);
        }
    }

    /// Pages that are dirty here, and in any tier; `shows` gives the pages of tier 1.
    pub fn dirty_pages(&self, shows: &Residents<'_>) -> DirtyPages {
        let LowerTiers { tier2, tier3 } = self;
        let is_in_tier3 = |page| tier3.as_ref().is_some_and(|tier3| tier3.is_dirty(page));
        let in_tier2 = tier2.policy.dirty_pages();
        let in_tier3 = tier3.as_ref().map_or(0, |tier3| tier3.policy.dirty_pages());
        let mut in_any = in_tier2 + in_tier3;
        if tier3.is_some() {
            tier2.policy.for_each_resident(&mut |page, dirty| {
                in_any -= u64::from(dirty && is_in_tier3(page));
            });
        }
        shows(&mut |page, dirty| {
            in_any += u64::from(dirty && !tier2.is_dirty(page) && !is_in_tier3(page));
        });
        DirtyPages { in_tier2, in_tier3, in_any }
    }
}

/// An access that has come as far as a tier: the tier, those below it, and who looks on.
pub struct Below<'t, 'a, E, P = AnyPolicy> {
    number: u8,
    tier: &'t mut LowerTier<'a, P>,
    counters: &'t mut TierCounters,
    next: Option<(&'t mut LowerTier<'a>, &'t mut TierCounters)>,
    events: &'t mut E,
}

impl<'a, E: TierEvents, P: Policy> Below<'_, 'a, E, P> {
    /// The next tier, if there is one.
    #[inline(always)]
    fn next(&mut self) -> Option<Below<'_, 'a, E>> {
        let (tier, counters) = self.next.as_mut()?;
        Some(Below { number: self.number + 1, tier, counters, next: None, events: self.events })
    }

    /// An access missed tier 1, which evicted these pages (4.1, steps 2 to 6).
    #[inline]
    pub fn miss(&mut self, page: Page, op: Op, evicted: &[Evicted]) {
        let found = self.reach(page, op);
        if op == Op::Write {
            self.replaced(page);
        }
        for evicted in evicted {
            self.leaves_tier1(evicted.page, evicted.dirty);
        }
        if !op.is_write() {
            self.inserted(page, found);
        }
        if self.tier.cleans() {
            self.clean();
        }
    }

    /// Dirty pages above the threshold are written back, and stay (4.9).
    #[inline(never)]
    fn clean(&mut self) {
        while let Some(page) = self.tier.clean_next() {
            self.clean_page(page);
        }
    }

    /// Stale dirty pages are written back, and stay (4.11).
    fn clean_due(&mut self) {
        while let Some(batch) = self.tier.clean_due() {
            batch.into_iter().for_each(|page| self.clean_page(page));
        }
    }

    fn clean_page(&mut self, page: Page) {
        self.tier.cleaned(page);
        self.counters.tier2_cleaned += 1;
        self.counters.tier2_reads += 1;
        self.counters.backing_writes += 1;
        self.events.cleaned(page);
    }

    /// An access that missed the tier above looks its page up (4.1, steps 2 and 3); the number of
    /// the tier that has it, or 0.
    #[inline]
    fn reach(&mut self, page: Page, op: Op) -> u8 {
        if !self.tier.is_pinned(page) {
            self.tier.admission.missed(page);
        }
        let looks_up = op == Op::Read || self.tier.rules.fetch_on_write_miss;
        if self.tier.has(page) {
            if looks_up {
                self.found(page, self.number);
                self.promote(page, self.number);
            }
            return if looks_up { self.number } else { 0 };
        }
        self.counters.tier2_misses += u64::from(looks_up);
        if let Some(mut next) = self.next() {
            return next.reach(page, op);
        }
        if looks_up {
            self.counters.backing_reads += 1;
            self.events.backing_read(page);
        }
        0
    }

    /// A write replaces copies that would move up (4.1, step 4).
    #[inline]
    fn replaced(&mut self, page: Page) {
        if self.tier.rules.promote == Promote::Move && self.tier.has(page) {
            self.drop_copy(page);
        }
        if let Some(mut next) = self.next() {
            next.replaced(page);
        }
    }

    /// A miss of tier 1 that reads nothing below: of a language model's block that is computed.
    #[inline]
    pub fn missed_without_look_up(&mut self, page: Page) {
        self.tier.admission.missed(page);
        let has = self.tier.has(page);
        if let Some(mut next) = self.next().filter(|_| !has) {
            next.missed_without_look_up(page);
        }
    }

    /// The page was found in the tier with this number, and is read there.
    #[inline]
    pub fn found(&mut self, page: Page, tier: u8) {
        if tier > self.number {
            return self.next().expect("the page was found there").found(page, tier);
        }
        self.counters.tier2_hits += 1;
        self.counters.tier2_reads += 1;
        if self.tier.is_pinned(page) {
            self.counters.tier2_pinned_hits += 1;
        } else {
            self.tier.admission.tier2_hit();
        }
        self.events.found(self.number, page);
    }

    /// A page that was found in this tier goes up: its copy stays and is hit, or is dropped.
    #[inline]
    pub fn promote(&mut self, page: Page, tier: u8) {
        if tier > self.number {
            return self.next().expect("the page was found there").promote(page, tier);
        }
        let copy = self.tier.copies[page.0 as usize];
        if self.tier.rules.promote == Promote::Move && copy == Copied::Clean {
            self.drop_copy(page);
        } else {
            self.hit(page, Op::Read);
        }
    }

    /// The policy of the tier sees a hit.
    fn hit(&mut self, page: Page, op: Op) {
        let r = self.tier.request(page, op);
        let found = self.tier.policy.request(&r);
        debug_assert!(matches!(found, Lookup::Hit(_)), "the tier has the page");
    }

    fn drop_copy(&mut self, page: Page) {
        self.tier.policy.forget(page);
        self.tier.set_copy(page, Copied::No);
        self.counters.tier2_drops += 1;
        self.events.dropped(self.number, page);
    }

    /// A page leaves tier 1 (4.3).
    #[inline]
    pub fn leaves_tier1(&mut self, page: Page, dirty: bool) {
        if self.tier.feeder.is_some() {
            return self.leaves_above_a_feed(Leaving { page, dirty, is_awaited: dirty });
        }
        self.leaves_above(Leaving { page, dirty, is_awaited: dirty });
    }

    /// A page leaves tier 1 above a tier that is fed (4.12): a dirty one goes to the backing store.
    #[cold]
    fn leaves_above_a_feed(&mut self, leaving: Leaving) {
        self.feeder().warm();
        if leaving.dirty {
            if self.tier.has(leaving.page) {
                self.drop_copy(leaving.page);
            }
            self.goes_on(leaving);
        }
    }

    /// Makes the passes of its feed that were due before the request that arrives now (4.12).
    pub(super) fn feed(&mut self, now_ns: u64, lists: &VictimLists<'_>) {
        while let Some(feeder) = self.tier.feeder.as_deref().copied()
            && let Some(pass_ns) = feeder.due_ns(now_ns)
        {
            let fed = feeder.pass(lists, |page, takes| {
                let is_missing = !self.tier.has(page);
                if is_missing && takes {
                    self.feed_page(page);
                }
                is_missing
            });
            self.feeder().passed(pass_ns, fed, now_ns);
        }
    }

    fn feeder(&mut self) -> &mut Feeder {
        self.tier.feeder.as_deref_mut().expect("the tier is fed")
    }

    /// A clean page of tier 1 is copied, and stays there (4.12).
    fn feed_page(&mut self, page: Page) {
        self.counters.offers += 1;
        self.take_in(Leaving { page, dirty: false, is_awaited: false });
    }

    /// A page leaves the tier above (4.3); whether it was written, here or below.
    #[inline]
    fn leaves_above(&mut self, leaving: Leaving) -> bool {
        if leaving.dirty && self.tier.has(leaving.page) {
            self.newer_version(leaving)
        } else if leaving.dirty || self.tier.rules.offer == Offer::Evicted {
            self.offer(leaving)
        } else {
            false
        }
    }

    /// A newer version of a page that the tier has: it is written over, or the copy is dropped.
    #[inline]
    fn newer_version(&mut self, leaving: Leaving) -> bool {
        let tier = &mut *self.tier;
        let is_asked = tier.rules.admit_dirty == AdmitDirty::Ask && !tier.is_pinned(leaving.page);
        if is_asked && tier.admission.counts_overwrites() {
            self.counters.offers += 1;
            if !tier.admission.admits(leaving.page, &tier.policy) {
                self.drop_copy(leaving.page);
                return self.declined(leaving);
            }
        } else {
            tier.admission.wrote_unasked();
        }
        self.hit(leaving.page, Op::Write);
        self.tier.set_copy(leaving.page, Copied::Dirty);
        self.counters.tier2_writes += 1;
        self.events.written_over(self.number, leaving);
        true
    }

    /// Admission declined an offer: the page goes on as if it had passed through.
    #[inline]
    fn declined(&mut self, leaving: Leaving) -> bool {
        self.counters.offers_capped += u64::from(self.tier.admission.was_over_cap());
        self.goes_on(leaving)
    }

    /// The page goes to the tier below; below the last, a dirty one is written, a clean one gone.
    #[inline]
    fn goes_on(&mut self, leaving: Leaving) -> bool {
        if let Some(mut next) = self.next() {
            return next.leaves_above(leaving);
        }
        if leaving.dirty {
            self.counters.backing_writes += 1;
            self.events.backing_write(leaving);
        }
        leaving.dirty
    }

    /// A page was read, and was found in the tier with this number, 0 for none: it is new to the
    /// tiers above that (4.1, step 6).
    #[inline]
    pub fn inserted(&mut self, page: Page, found: u8) {
        if found == self.number {
            return;
        }
        if self.tier.rules.offer == Offer::Inserted {
            self.offer(Leaving { page, dirty: false, is_awaited: false });
        }
        if let Some(mut next) = self.next() {
            next.inserted(page, found);
        }
    }

    /// A page is offered, dirty only if the tier does not have it.
    #[inline(always)]
    fn offer(&mut self, leaving: Leaving) -> bool {
        let (tier, Leaving { page, dirty, .. }) = (&mut *self.tier, leaving);
        if tier.has(page) {
            self.counters.offers_present += 1;
            return false;
        }
        let is_asked =
            (!dirty || tier.rules.admit_dirty == AdmitDirty::Ask) && !tier.is_pinned(page);
        self.counters.offers += u64::from(is_asked);
        let is_taken = !is_asked || tier.admission.admits(page, &tier.policy);
        if !is_taken {
            return self.declined(leaving);
        }
        if !is_asked {
            tier.admission.wrote_unasked();
        }
        self.take_in(leaving);
        true
    }

    /// The policy of the tier sees a miss, and victims leave: a victim that is written below is
    /// read first (4.4).
    #[inline(always)]
    fn take_in(&mut self, leaving: Leaving) {
        let (tier, Leaving { page, dirty, .. }) = (&mut *self.tier, leaving);
        let r = tier.request(page, if dirty { Op::Write } else { Op::Read });
        let Lookup::Miss(mut miss) = tier.policy.request(&r) else {
            unreachable!("the tier does not have the page, and its policy admits every page");
        };
        while tier.policy.resident() >= tier.policy.frames() {
            tier.policy.evict(&mut miss, &Blind, &mut tier.plan);
        }
        tier.policy.admit(&r, miss);
        for place in 0..self.tier.plan.evicted().len() {
            let Evicted { page, dirty } = self.tier.plan.evicted()[place];
            self.tier.set_copy(page, Copied::No);
            self.counters.tier2_evictions += 1;
            let is_read = self.goes_on(Leaving { page, dirty, is_awaited: false });
            self.counters.tier2_reads += u64::from(is_read);
            self.events.evicted(self.number, page, is_read);
        }
        self.tier.plan.clear();
        self.tier.set_copy(page, if dirty { Copied::Dirty } else { Copied::Clean });
        self.counters.admitted += 1;
        self.counters.tier2_writes += 1;
        self.events.admitted(self.number, leaving);
    }

    /// The page has expired (4.10): it leaves this tier and those below; whether it was written, a
    /// copy above being newer and dirty or one here.
    pub fn expire(&mut self, page: Page, is_dirty_above: bool) -> bool {
        let copy = self.tier.copies[page.0 as usize];
        if copy != Copied::No {
            self.drop_copy(page);
        }
        let is_newest = copy == Copied::Dirty && !is_dirty_above;
        self.counters.tier2_reads += u64::from(is_newest);
        let dirty = is_dirty_above || is_newest;
        if let Some(mut next) = self.next() {
            return next.expire(page, dirty);
        }
        if dirty {
            self.counters.backing_writes += 1;
            self.events.backing_write(Leaving { page, dirty, is_awaited: false });
        }
        dirty
    }

    /// A trim (4.5): whether a tier had the page, and whether it was dirty in one.
    pub fn forget(&mut self, page: Page) -> Option<bool> {
        self.tier.admission.forget(page);
        let forgotten = self.tier.policy.forget(page);
        if forgotten.is_some() {
            self.tier.set_copy(page, Copied::No);
            self.events.dropped(self.number, page);
        }
        let below = self.next().and_then(|mut next| next.forget(page));
        either(forgotten, below)
    }
}

/// A page was in either of two places: whether it was dirty in one.
pub(super) fn either(above: Option<bool>, below: Option<bool>) -> Option<bool> {
    match (above, below) {
        (Some(above), Some(below)) => Some(above || below),
        (above, below) => above.or(below),
    }
}
