//! Pinned pages of a cache (`docs/spec/tiers.md` 4.13): a policy around any policy.
//!
//! A pinned page has a frame of its own, which it takes at its first access and keeps. The policy
//! inside has the other frames and sees the other accesses: its decisions are those of the policy
//! alone over the trace without the pinned pages.
//!
//! Cost. A look-up in a table per access; four bytes per page of the trace. Runs without pinned
//! pages do not have it.

use destage_core::{
    AnyPolicy, Completion, DeviceView, Lookup, Page, Part, Plan, Policy, Request, Requirements,
    Slot, UnitId, VictimList,
};
use destage_policies::{BuildError, Setup};
use std::sync::Arc;

/// Of a page that is not pinned.
const NONE: u32 = u32::MAX;

/// Pages of a trace that are pinned in a cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinnedPages {
    ranks: Vec<u32>, // by page: its number among the pinned ones
    count: u32,
}

impl PinnedPages {
    /// The pages, by their LPNs, of a trace that are pinned.
    pub fn of(lpns: &[u64], mut is_pinned: impl FnMut(u64) -> bool) -> PinnedPages {
        let mut count = 0;
        let mut rank = |&lpn: &u64| {
            if !is_pinned(lpn) {
                return NONE;
            }
            count += 1;
            count - 1
        };
        let ranks = lpns.iter().map(&mut rank).collect();
        PinnedPages { ranks, count }
    }

    /// Number of them.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether the page is one of them.
    #[inline]
    pub fn has(&self, page: Page) -> bool {
        self.rank(page).is_some()
    }

    /// Its number among them.
    #[inline]
    fn rank(&self, page: Page) -> Option<usize> {
        let rank = self.ranks.get(page.0 as usize).copied().unwrap_or(NONE);
        (rank != NONE).then_some(rank as usize)
    }
}

/// The policy of this name over so many pages, those of `pins` pinned; `setup` has all frames, more
/// than these.
///
/// # Errors
///
/// Errors of [`destage_policies::build`].
pub fn dense(
    name: &str,
    setup: &Setup,
    pages: u32,
    pins: Option<&Arc<PinnedPages>>,
) -> Result<AnyPolicy, BuildError> {
    let Some(pins) = pins else { return destage_policies::dense(name, setup, pages) };
    let others = setup.trace_pages.map(|pages| pages - u64::from(pins.count));
    let frames = setup.frames - pins.count;
    let setup = Setup { frames, trace_pages: others, ..setup.clone() };
    let policy = destage_policies::dense(name, &setup, pages)?;
    Ok(AnyPolicy::new(Pinned::new(policy, pins.clone())))
}

/// Copy of a pinned page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    No,
    Clean,
    Dirty,
}

/// A policy, and pinned pages beside its own.
pub struct Pinned<P> {
    policy: P,
    pins: Arc<PinnedPages>,
    held: Vec<Held>, // by number of the pinned page
    is_coming: bool, // a pinned page has missed and is not here yet
    hits: u64,
}

impl<P: Policy> Pinned<P> {
    /// No page is here yet; the frames are those of the policy and one for each pinned page.
    pub fn new(policy: P, pins: Arc<PinnedPages>) -> Self {
        let held = vec![Held::No; pins.count as usize];
        Pinned { policy, pins, held, is_coming: false, hits: 0 }
    }

    fn slot(&self, rank: usize) -> Slot {
        Slot(self.policy.frames() + rank as u32)
    }
}

impl<P: Policy> Policy for Pinned<P> {
    /// `None` of a pinned page.
    type Miss = Option<P::Miss>;

    const REQUIREMENTS: Requirements = P::REQUIREMENTS;

    const READS_LPN: bool = P::READS_LPN;

    const ORDERED: bool = P::ORDERED;

    fn requirements(&self) -> Requirements {
        self.policy.requirements()
    }

    fn request(&mut self, r: &Request) -> Lookup<Self::Miss> {
        let Some(rank) = self.pins.rank(r.page) else {
            return match self.policy.request(r) {
                Lookup::Hit(slot) => Lookup::Hit(slot),
                Lookup::Miss(miss) => Lookup::Miss(Some(miss)),
                Lookup::Bypass => Lookup::Bypass,
            };
        };
        if self.held[rank] == Held::No {
            self.is_coming = true;
            return Lookup::Miss(None);
        }
        self.hits += 1;
        if r.op.is_write() {
            self.held[rank] = Held::Dirty;
        }
        Lookup::Hit(self.slot(rank))
    }

    fn evict(&mut self, miss: &mut Self::Miss, device: &dyn DeviceView, plan: &mut Plan) {
        let miss = miss.as_mut().expect("a pinned page has a frame");
        self.policy.evict(miss, device, plan);
    }

    fn admit(&mut self, r: &Request, miss: Self::Miss) -> Slot {
        if let Some(miss) = miss {
            return self.policy.admit(r, miss);
        }
        let rank = self.pins.rank(r.page).expect("it missed as a pinned page");
        self.is_coming = false;
        self.held[rank] = if r.op.is_write() { Held::Dirty } else { Held::Clean };
        self.slot(rank)
    }

    fn frames(&self) -> u32 {
        self.policy.frames() + self.pins.count
    }

    /// With the frames of all pinned pages, here or not: no other page may take them. While one of
    /// these comes, its own is free.
    fn resident(&self) -> u32 {
        self.policy.resident() + self.pins.count - u32::from(self.is_coming)
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for (page, &rank) in (0..).zip(&self.pins.ranks) {
            if rank != NONE && self.held[rank as usize] != Held::No {
                visit(Page(page), self.held[rank as usize] == Held::Dirty);
            }
        }
        self.policy.for_each_resident(visit);
    }

    fn dirty_pages(&self) -> u64 {
        let pinned = self.held.iter().filter(|&&held| held == Held::Dirty).count();
        pinned as u64 + self.policy.dirty_pages()
    }

    fn writes_through(&self) -> bool {
        self.policy.writes_through()
    }

    fn counts_operations(&self) -> bool {
        self.policy.counts_operations()
    }

    /// Of all pages: the policy counts operations of the device by their numbers.
    fn fetched(&mut self, completion: &Completion) {
        self.policy.fetched(completion);
    }

    fn destaged(&mut self, completion: &Completion) {
        self.policy.destaged(completion);
    }

    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        self.policy.next_victims(show);
    }

    fn show_list(
        &self,
        list: VictimList,
        newest_first: bool,
        show: &mut dyn FnMut(Page, bool) -> bool,
    ) {
        self.policy.show_list(list, newest_first, show);
    }

    fn keep_order(&mut self) {
        self.policy.keep_order();
    }

    fn cleaned(&mut self, page: Page) {
        match self.pins.rank(page) {
            Some(rank) => self.held[rank] = Held::Clean,
            None => self.policy.cleaned(page),
        }
    }

    fn idle(&mut self, unit: UnitId, device: &dyn DeviceView, plan: &mut Plan) {
        self.policy.idle(unit, device, plan);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let Some(rank) = self.pins.rank(page) else { return self.policy.forget(page) };
        let held = std::mem::replace(&mut self.held[rank], Held::No);
        (held != Held::No).then_some(held == Held::Dirty)
    }

    fn forgets(&self) -> bool {
        self.policy.forgets()
    }

    fn prefetch(&self, page: Page) {
        self.policy.prefetch(page);
    }

    fn prefetch_links(&self, page: Page) {
        self.policy.prefetch_links(page);
    }

    fn prefetch_neighbours(&self, page: Page) {
        self.policy.prefetch_neighbours(page);
    }

    fn coming_victim(&self) -> Option<Page> {
        self.policy.coming_victim()
    }

    fn counters(&self, count: &mut dyn FnMut(&'static str, u64)) {
        count(PINNED_HITS, self.hits);
        self.policy.counters(count);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.policy.gauges(show);
    }

    fn keep_periods(&mut self) {
        self.policy.keep_periods();
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        self.policy.inside()
    }

    fn check(&self) {
        self.policy.check();
    }
}

/// Name of the counter of hits in pinned pages, among those of the policy.
pub const PINNED_HITS: &str = "pinned_hits";
