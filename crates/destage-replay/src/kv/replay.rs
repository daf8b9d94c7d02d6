//! The loop over requests of a language model: a look-up at arrival, then a read of every block
//! (`docs/spec/tiers.md` 7.2).
//!
//! Cost. Two passes over the blocks of a request; the policy behind [`AnyPolicy`], whose calls are
//! a small part of the time of a block. Memory: a byte for each block of the trace, and what the
//! policies take.

use super::chains::Chains;
use super::counters::KvCounters;
use super::decision::KvDecision;
use super::lookup::{Tier1Blocks, look_up};
use crate::accesses::Columns;
use crate::counters::{Counters, ExpiryCounters, OwnCounters};
use crate::input::NextUses;
use crate::observe::{Observer, show_gauges};
use crate::tiers::below::LowerTiers;
use crate::tiers::counters::LowerCounters;
use crate::tiers::events::{TierDecision, TierEvents};
use crate::tiers::slots::Slots;
use crate::ttl::Expiry;
use crate::warmup::Warmup;
use crate::windows::{FlashWork, WINDOWS, WindowBounds, WindowCounts};
use destage_core::{
    AnyPolicy, Blind, Lookup, Lpn, NEVER, Op, Page, Plan, Policy, Request, Requirements,
};
use destage_keys::words;
use std::collections::BTreeMap;
use std::ops::Range;

words! {
    /// Order in which a request's blocks meet the policy.
    #[derive(Default, Hash, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Touch {
        /// From the last block to the first: a chain dies from its end.
        #[default]
        TailFirst = "tail-first",
        /// From the first block to the last.
        HeadFirst = "head-first",
    }
}

/// How far ahead a block's node is asked for, and then its neighbours.
const AHEAD: usize = 16;
const LINKS_AHEAD: usize = 6;

/// Blocks between two reports of progress.
const PROGRESS_BLOCKS: u64 = 1024;

/// Input of a run.
#[derive(Clone, Copy)]
pub struct KvReplay<'a> {
    /// The decoded trace.
    pub columns: Columns<'a>,
    /// Requests of the trace.
    pub chains: Chains<'a>,
    /// Next use of each block, for policies that need it.
    pub next_uses: NextUses<'a>,
    /// Arrivals of the rows, nanoseconds; only a warm-up by time reads them.
    pub arrivals_ns: &'a [u64],
    /// Requests before which nothing counts.
    pub warmup: Warmup,
    /// Order of the touches.
    pub touch: Touch,
    /// Time to live of a block, nanoseconds; `None`: it lives as long as it is cached.
    pub ttl_ns: Option<u64>,
}

/// Counts of a run.
#[derive(Clone, Debug)]
pub struct KvReplayed {
    /// Counts of requests and blocks.
    pub kv: KvCounters,
    /// Counts of the tiers below tier 1; all 0 without.
    pub tiers: LowerCounters,
    /// The policy's own counters.
    pub own: OwnCounters,
    /// Requests that were not counted.
    pub warmup_requests: u64,
    /// Counts of each window.
    pub parts: WindowCounts,
    /// Where the policy has adapted to, at the end.
    pub gauges: BTreeMap<String, f64>,
}

impl KvReplay<'_> {
    /// Runs a policy over the requests, with tiers below it or not; counts begin after the
    /// warm-up.
    ///
    /// Returns `None` when the observer stopped it.
    pub fn run(
        &self,
        policy: AnyPolicy,
        lower: Option<LowerTiers<'_>>,
        observer: &mut dyn Observer,
    ) -> Option<KvReplayed> {
        if observer.watches() {
            let mut tier1 = Tier1::new(self, policy, lower, TierDecision::default());
            self.follow(&mut tier1, observer)
        } else {
            self.follow(&mut Tier1::new(self, policy, lower, ()), observer)
        }
    }

    /// Serves all requests, and counts those after the warm-up, window by window.
    pub(super) fn follow<S: Serves>(
        &self,
        serves: &mut S,
        observer: &mut dyn Observer,
    ) -> Option<KvReplayed> {
        let requests = self.chains.requests();
        let mut progress = Progress { row: 0, shown: 0 };
        let warm = self.warm_requests(requests);
        let mut request = 0;
        while request < requests && warm.map_or_else(|| !serves.is_full(), |warm| request < warm) {
            progress.serve(self, serves, observer)?;
            request += 1;
        }
        let start = request;
        let was_full = serves.is_full();
        let before = serves.begin_counting();
        let cuts = WindowBounds::of(start..requests);
        let mut parts = WindowCounts::none();
        parts.begin(start..requests, was_full, FlashWork::default());
        for window in 0..WINDOWS {
            while request < cuts.start(window + 1) {
                progress.serve(self, serves, observer)?;
                request += 1;
            }
            parts.cut(request, &serves.window_counters(), FlashWork::default(), serves.is_full());
        }
        observer.progress(progress.row as u64);
        let mut gauges = BTreeMap::new();
        serves.gauges(&mut |name, value| {
            observer.gauge(name, value);
            gauges.insert(name.to_string(), value);
        });
        let (kv, tiers) = serves.counted();
        let own = serves.own_counters().since(&before);
        Some(KvReplayed { kv, tiers, own, warmup_requests: start, parts, gauges })
    }

    /// Requests before which nothing counts, if that is known before the run.
    pub(crate) fn warm_requests(&self, requests: u64) -> Option<u64> {
        let warm = match self.warmup {
            Warmup::None => 0,
            Warmup::Percent(percent) => (percent / 100.0 * requests as f64).floor() as u64,
            Warmup::Requests(warm) => warm,
            Warmup::Nanos(_) | Warmup::Auto(_) => {
                let rows = self.warmup.rows(self.chains.ids.len(), self.arrivals_ns)?;
                let marks = &self.chains.marks[..rows];
                let begun = marks.iter().skip(1).filter(|mark| mark.begins()).count() as u64;
                begun + u64::from(rows > 0)
            }
            Warmup::Full => return None,
        };
        Some(warm.min(requests))
    }

    /// Number, among all touches, of the next touch of the block of this row.
    #[inline]
    fn next_touch(&self, row: usize) -> u64 {
        let next = self.next_uses.of(row);
        if next == NEVER || self.touch == Touch::HeadFirst {
            return next;
        }
        let head = self.chains.head_of(next as usize);
        let rows = self.chains.rows_from(head);
        (rows.start + rows.end - 1) as u64 - next
    }
}

/// How far the loop has come.
struct Progress {
    row: usize,
    shown: u64,
}

impl Progress {
    /// Serves the next request.
    #[inline]
    fn serve<S: Serves>(
        &mut self,
        replay: &KvReplay<'_>,
        serves: &mut S,
        observer: &mut dyn Observer,
    ) -> Option<()> {
        let rows = replay.chains.rows_from(self.row);
        self.row = rows.end;
        serves.serve(replay, rows, observer);
        if self.row as u64 - self.shown >= PROGRESS_BLOCKS {
            self.shown = self.row as u64;
            return observer.progress(self.shown).then_some(());
        }
        Some(())
    }
}

/// Caches that serve requests.
pub(crate) trait Serves {
    fn serve(&mut self, replay: &KvReplay<'_>, rows: Range<usize>, observer: &mut dyn Observer);
    fn is_full(&self) -> bool;
    fn has_tier2(&self) -> bool;
    /// Sets all counts to 0; returns the policy's own, which go on.
    fn begin_counting(&mut self) -> OwnCounters;
    fn counted(&self) -> (KvCounters, LowerCounters);
    fn own_counters(&self) -> OwnCounters;
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64));

    /// The counts of a window: those of pages, but hits and misses are of tokens.
    fn window_counters(&self) -> Counters {
        let (kv, tiers) = self.counted();
        Counters {
            read_hits: kv.hit_tokens,
            read_misses: kv.tokens - kv.hit_tokens,
            ..page_counters(&kv, &tiers, self.has_tier2())
        }
    }
}

/// Counts of blocks as counts of pages, for what is made of every run alike: a hit is a block of a
/// cached prefix, a page that is destaged one that is written to flash.
pub fn page_counters(kv: &KvCounters, tiers: &LowerCounters, has_tier2: bool) -> Counters {
    Counters {
        read_hits: kv.hit_blocks,
        read_misses: kv.blocks - kv.hit_blocks,
        evictions: kv.evictions,
        clean_evictions: kv.evictions,
        destaged_pages: if has_tier2 { tiers.tier2.tier2_writes } else { kv.insertions },
        tiers: *tiers,
        expired: ExpiryCounters { expired_hits: kv.expired_blocks, expired_writes: 0 },
        kv: *kv,
        ..Counters::default()
    }
}

/// A policy of tier 1, and the tiers below it.
pub(crate) struct Tier1<'t, E> {
    policy: AnyPolicy,
    cached: Tier1Blocks,
    lower: Option<LowerTiers<'t>>,
    events: E,
    plan: Plan,
    /// For each block of the prefix: the tier below tier 1 that it was read from, or 0.
    read_below: Vec<u8>,
    kv: KvCounters,
    tiers: LowerCounters,
    expiry: Option<Expiry>,
}

/// Record of a request's decisions.
pub(crate) trait Record: TierEvents {
    const WATCHES: bool;
    /// Shows the decision, with what happened below.
    fn show(&mut self, decision: KvDecision, has_tier2: bool, observer: &mut dyn Observer);
}

impl Record for () {
    const WATCHES: bool = false;
    fn show(&mut self, _: KvDecision, _: bool, _: &mut dyn Observer) {}
}

impl Record for TierDecision {
    const WATCHES: bool = true;
    fn show(&mut self, decision: KvDecision, has_tier2: bool, observer: &mut dyn Observer) {
        let below = std::mem::take(self);
        observer.chain(&KvDecision { below: has_tier2.then_some(below), ..decision });
    }
}

/// With a device behind tier 2, which takes its operations from here.
impl Record for Slots {
    const WATCHES: bool = true;
    fn show(&mut self, decision: KvDecision, has_tier2: bool, observer: &mut dyn Observer) {
        self.decision.show(decision, has_tier2, observer);
    }
}

impl<'t, E: Record> Tier1<'t, E> {
    pub(crate) fn new(
        replay: &KvReplay<'_>,
        policy: AnyPolicy,
        lower: Option<LowerTiers<'t>>,
        events: E,
    ) -> Self {
        Tier1 {
            policy,
            cached: Tier1Blocks::none(replay.columns.lpns.len()),
            lower,
            events,
            plan: Plan::new(),
            read_below: Vec::new(),
            kv: KvCounters::default(),
            tiers: LowerCounters::default(),
            expiry: replay.ttl_ns.map(|ttl_ns| Expiry::new(ttl_ns, replay.columns.lpns.len())),
        }
    }

    /// Counts on from these.
    pub(crate) fn count_on(&mut self, kv: KvCounters, tiers: LowerCounters) {
        (self.kv, self.tiers) = (kv, tiers);
    }

    /// Observer of the tiers below.
    pub(crate) fn events(&mut self) -> &mut E {
        &mut self.events
    }

    /// Blocks of the request that have expired leave all tiers.
    fn expire(&mut self, replay: &KvReplay<'_>, rows: Range<usize>, decision: &mut KvDecision) {
        let Some(expiry) = &mut self.expiry else { return };
        expiry.arrived(replay.arrivals_ns[rows.start]);
        for &id in &replay.chains.ids[rows] {
            let page = Page(id.into());
            let is_below = self.lower.as_ref().is_some_and(|lower| lower.tier_of(page) != 0);
            if !expiry.is_over(page) || !self.cached.has(id) && !is_below {
                continue;
            }
            if self.cached.has(id) {
                self.policy.forget(page);
                self.cached.set(id, false);
                self.kv.evictions += 1;
                if E::WATCHES {
                    decision.evicted.push(page);
                }
            }
            if let Some(lower) = &mut self.lower {
                lower.below(&mut self.tiers, &mut self.events).expire(page, false);
            }
            self.kv.expired_blocks += 1;
        }
    }

    /// The look-up; returns the length of the cached prefix. Its blocks that tier 1 does not have
    /// are read below.
    #[inline]
    fn look_up(&mut self, replay: &KvReplay<'_>, rows: Range<usize>) -> usize {
        let ids = replay.chains.ids;
        for &id in ids[rows.end..].iter().take(AHEAD) {
            self.cached.prefetch(id);
        }
        for &id in &ids[rows.clone()] {
            self.policy.prefetch(Page(id.into()));
        }
        let (cached, lower) = (&self.cached, &self.lower);
        let below =
            |id: u32| lower.as_ref().is_some_and(|lower| lower.tier_of(Page(id.into())) != 0);
        let hit =
            look_up(&replay.chains, rows.clone(), &mut self.kv, |id| cached.has(id) || below(id));
        self.read_below.clear();
        if let Some(lower) = &mut self.lower {
            for &id in &ids[rows.start..rows.start + hit] {
                let page = Page(id.into());
                let tier = if self.cached.has(id) { 0 } else { lower.tier_of(page) };
                self.read_below.push(tier);
                if tier != 0 {
                    lower.below(&mut self.tiers, &mut self.events).found(page, tier);
                }
            }
        }
        hit
    }

    /// A touch of a block at this place of its chain, of which the first `hit` were cached.
    #[inline]
    fn touch(&mut self, r: &Request, place: usize, hit: usize, decision: &mut KvDecision) {
        let id = r.page.0 as u32;
        let is_kept = match self.policy.request(r) {
            Lookup::Hit(_) => return,
            Lookup::Miss(mut miss) => {
                while self.policy.resident() >= self.policy.frames() {
                    self.policy.evict(&mut miss, &Blind, &mut self.plan);
                }
                self.policy.admit(r, miss);
                true
            }
            Lookup::Bypass => false,
        };
        let is_prefix = place < hit;
        let tier = self.lower.as_ref().map_or(0, |lower| lower.tier_of(r.page));
        self.kv.reinserted_blocks += u64::from(is_prefix && tier == 0);
        self.kv.insertions += u64::from(is_kept);
        self.kv.evictions += self.plan.evicted().len() as u64;
        if is_kept {
            self.cached.set(id, true);
        }
        for evicted in self.plan.evicted() {
            self.cached.set(evicted.page.0 as u32, false);
        }
        if E::WATCHES {
            decision.inserted.extend(is_kept.then_some(r.page));
            decision.evicted.extend(self.plan.evicted().iter().map(|evicted| evicted.page));
        }
        if let Some(lower) = &mut self.lower {
            let read_from = if is_prefix { self.read_below[place] } else { 0 };
            // The copy that was read may have gone, and another be there.
            let is_there = read_from != 0 && lower.has(read_from, r.page);
            let mut below = lower.below(&mut self.tiers, &mut self.events);
            below.missed_without_look_up(r.page);
            if is_there {
                below.promote(r.page, read_from);
            }
            for evicted in self.plan.evicted() {
                below.leaves_tier1(evicted.page, evicted.dirty);
            }
            if !is_prefix || read_from != 0 {
                below.inserted(r.page, read_from);
            }
        }
        self.plan.clear();
    }
}

impl<E: Record> Serves for Tier1<'_, E> {
    #[inline]
    fn serve(&mut self, replay: &KvReplay<'_>, rows: Range<usize>, observer: &mut dyn Observer) {
        let ids = replay.chains.ids;
        if let Some(lower) = self.lower.as_mut().filter(|lower| lower.awaits_ns() < u64::MAX) {
            lower.arrived(replay.arrivals_ns[rows.start]);
        }
        let mut decision = KvDecision::default();
        self.expire(replay, rows.clone(), &mut decision);
        let hit = self.look_up(replay, rows.clone());
        if let Some(expiry) = &mut self.expiry {
            // The blocks behind the prefix are computed.
            ids[rows.start + hit..rows.end].iter().for_each(|&id| expiry.renew(Page(id.into())));
        }
        if E::WATCHES {
            decision.blocks = rows.len() as u64;
            let below = |place: usize| self.read_below.get(place).copied().unwrap_or(0);
            decision.tiers.extend((0..hit).map(|place| below(place).max(1)));
        }
        let needs_next_use = self.policy.requirements().contains(Requirements::NEXT_USE);
        let length = rows.len();
        let place_of = |touch: usize| match replay.touch {
            Touch::TailFirst => length - 1 - touch,
            Touch::HeadFirst => touch,
        };
        for touch in 0..length {
            if touch + LINKS_AHEAD < length {
                let near = rows.start + place_of(touch + LINKS_AHEAD);
                self.policy.prefetch_links(Page(ids[near].into()));
            }
            let place = place_of(touch);
            let row = rows.start + place;
            let id = ids[row];
            let r = Request {
                first_of_request: touch == 0,
                next_use: if needs_next_use { replay.next_touch(row) } else { NEVER },
                ..Request::new(Page(id.into()), Lpn(replay.columns.lpns[id as usize]), Op::Read)
            };
            self.touch(&r, place, hit, &mut decision);
        }
        if E::WATCHES {
            self.events.show(decision, self.lower.is_some(), observer);
            show_gauges(&self.policy, observer);
        }
    }

    fn is_full(&self) -> bool {
        self.policy.resident() >= self.policy.frames()
    }

    fn has_tier2(&self) -> bool {
        self.lower.is_some()
    }

    fn begin_counting(&mut self) -> OwnCounters {
        (self.kv, self.tiers) = (KvCounters::default(), LowerCounters::default());
        self.own_counters()
    }

    fn counted(&self) -> (KvCounters, LowerCounters) {
        (self.kv, self.tiers)
    }

    fn own_counters(&self) -> OwnCounters {
        OwnCounters::of(&self.policy)
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.policy.gauges(show);
    }
}
