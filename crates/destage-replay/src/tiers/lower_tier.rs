//! A tier below tier 1: its policy, its pages, its admission (`docs/spec/tiers.md` 3 and 5).
//!
//! Its policy sees an access only for a page that it has and gives up to a look-up, takes in, or
//! writes over. Its type is forgotten ([`AnyPolicy`]) where it sees misses of tier 1 alone: a loop
//! for each pair of policies would be a thousand.
//!
//! Cost. A virtual call for each thing that the policy sees; a byte for each page of the trace,
//! which answers whether the tier has it, and dirty or clean.

use super::cleaner::Cleaner;
use super::feeder::Feeder;
use super::rules::TierRules;
use crate::pinned::{self, PinnedPages};
use destage_core::pages::prefetch;
use destage_core::{AnyPolicy, Lpn, NEVER, Op, Page, Plan, Policy, Request};
use destage_policies::admission::Admission;
use destage_policies::{BuildError, Setup};
use std::sync::Arc;

/// Copy of a page in a tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Copied {
    No = 0,
    Clean,
    Dirty,
}

/// A tier below tier 1.
pub struct LowerTier<'a, P = AnyPolicy> {
    pub(super) policy: P,
    pub(super) admission: Admission,
    pub(super) rules: TierRules,
    lpns: &'a [u64],
    pub(super) copies: Vec<Copied>, // by page
    cleaner: Option<Box<Cleaner>>,
    pub(super) feeder: Option<Box<Feeder>>,
    pins: Option<Arc<PinnedPages>>,
    pub(super) plan: Plan,
}

/// All that a tier is built from.
pub struct LowerTierParts<'a> {
    /// Name of its policy.
    pub policy: &'static str,
    /// Setup of the policy, with the frames of pinned pages.
    pub setup: Setup,
    /// Pages that are pinned in it.
    pub pins: Option<Arc<PinnedPages>>,
    /// Which offers it takes.
    pub admission: Admission,
    /// Rules between the tiers.
    pub rules: TierRules,
    /// LPNs of the pages.
    pub lpns: &'a [u64],
}

impl<'a> LowerTierParts<'a> {
    /// An empty tier with a policy whose type is forgotten.
    ///
    /// # Errors
    ///
    /// Errors of [`destage_policies::build`].
    pub fn erased(self) -> Result<LowerTier<'a>, BuildError> {
        let pages = self.lpns.len() as u32;
        let policy = pinned::dense(self.policy, &self.setup, pages, self.pins.as_ref())?;
        let tier = LowerTier::new(policy, self.admission, self.rules, self.lpns);
        Ok(LowerTier { pins: self.pins, ..tier })
    }
}

impl<'a, P: Policy> LowerTier<'a, P> {
    /// An empty tier, over pages with these LPNs.
    pub fn new(mut policy: P, admission: Admission, rules: TierRules, lpns: &'a [u64]) -> Self {
        let copies = vec![Copied::No; lpns.len()];
        let cleaner = rules.clean.map(|rule| {
            policy.keep_order();
            Box::new(Cleaner::new(rule))
        });
        let feeder = rules.feed.map(|rule| Box::new(Feeder::new(rule)));
        let plan = Plan::new();
        LowerTier { policy, admission, rules, lpns, copies, cleaner, feeder, pins: None, plan }
    }

    /// Rules between the tiers.
    pub fn rules(&self) -> TierRules {
        self.rules
    }

    /// The arrival from which on [`arrived`](LowerTier::arrived) is to be called, ns; the largest
    /// number: never.
    #[inline]
    pub fn awaits_ns(&self) -> u64 {
        let of_cleaner = self.cleaner.as_ref().map_or(u64::MAX, |cleaner| cleaner.awaits_ns());
        let of_feeder = self.feeder.as_ref().map_or(u64::MAX, |feeder| feeder.awaits_ns());
        self.admission.awaits_ns().min(of_cleaner).min(of_feeder)
    }

    /// A request arrives, before its accesses: admission may cut time into windows.
    pub fn arrived(&mut self, now_ns: u64) {
        self.admission.arrived(now_ns);
        if let Some(cleaner) = &mut self.cleaner {
            cleaner.arrived(now_ns);
        }
        if let Some(feeder) = &mut self.feeder {
            feeder.arrived(now_ns);
        }
    }

    /// Whether it has the page.
    #[inline(always)]
    pub fn has(&self, page: Page) -> bool {
        self.copies[page.0 as usize] != Copied::No
    }

    /// Whether the page is pinned here.
    #[inline(always)]
    pub(super) fn is_pinned(&self, page: Page) -> bool {
        self.pins.is_some() && self.pins_page(page)
    }

    /// Out of the loops of runs without pinned pages.
    #[cold]
    fn pins_page(&self, page: Page) -> bool {
        self.pins.as_ref().is_some_and(|pins| pins.has(page))
    }

    /// The page has this copy from now on.
    #[inline(always)]
    pub(super) fn set_copy(&mut self, page: Page, copy: Copied) {
        self.copies[page.0 as usize] = copy;
        if let Some(cleaner) = &mut self.cleaner {
            cleaner.note(page, copy == Copied::Dirty);
        }
    }

    /// Whether dirty pages are written back, and stay.
    #[inline(always)]
    pub(super) fn cleans(&self) -> bool {
        self.cleaner.is_some()
    }

    /// An access has come here and is served: the next dirty page that is written back because of
    /// it, and stays.
    pub(super) fn clean_next(&mut self) -> Option<Page> {
        self.cleaner.as_mut()?.after_access()
    }

    /// Dirty pages that were due to be written back, in order, before the request that has arrived:
    /// some of them, until there are none.
    pub(super) fn clean_due(&mut self) -> Option<Vec<Page>> {
        self.cleaner.as_mut()?.due()
    }

    /// The dirty page is written back, and stays; it is clean from now on.
    pub(super) fn cleaned(&mut self, page: Page) {
        self.policy.cleaned(page);
        self.set_copy(page, Copied::Clean);
    }

    /// Whether every frame is taken.
    pub fn is_full(&self) -> bool {
        self.policy.resident() >= self.policy.frames()
    }

    /// Pages that it has.
    pub fn resident(&self) -> u32 {
        self.policy.resident()
    }

    /// Whether the page is here, and newer than what lies below.
    pub(super) fn is_dirty(&self, page: Page) -> bool {
        self.copies[page.0 as usize] == Copied::Dirty
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

    /// Hint, after [`prefetch_missed`](LowerTier::prefetch_missed).
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

    pub(super) fn request(&self, page: Page, op: Op) -> Request {
        let lpn = self.lpns.get(page.0 as usize).copied().unwrap_or(NEVER);
        Request::new(page, Lpn(lpn), op)
    }
}
