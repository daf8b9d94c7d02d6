//! A time to live of cached pages. Mirrors `docs/spec/tiers.md`, 4.10.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::tiers::{Lower, TierDecision};
use crate::{Decision, Model, Op, model};

/// Ages of the pages of a run.
pub(crate) struct Ages {
    ttl_ns: u64,
    pub(crate) now_ns: u64,
    /// Arrival of the last write or fetch.
    since: BTreeMap<u64, u64>,
    /// Pages of tier 1.
    pub(crate) tier1: BTreeSet<u64>,
}

/// A page that was cached and has expired.
pub(crate) struct Expired {
    /// Its dirty bit in tier 1, if that had it.
    pub(crate) tier1: Option<bool>,
    /// It was dirty somewhere.
    pub(crate) written: bool,
}

impl Ages {
    pub(crate) fn new(ttl_ns: u64) -> Ages {
        Ages { ttl_ns, now_ns: 0, since: BTreeMap::new(), tier1: BTreeSet::new() }
    }

    pub(crate) fn renew(&mut self, page: u64) {
        self.since.insert(page, self.now_ns);
    }

    /// Tier 1 took the page in, and gave others up.
    pub(crate) fn missed(&mut self, page: u64, evicted: &[u64]) {
        self.tier1.insert(page);
        self.tier1.retain(|page| !evicted.contains(page));
    }

    /// An access, which found the page in this tier, 0 for none.
    pub(crate) fn accessed(&mut self, op: Op, page: u64, above: &Decision, tier: u64) {
        if !above.hit {
            self.missed(page, &above.evicted);
        }
        if op == Op::Write || tier == 0 {
            self.renew(page);
        }
    }

    /// An access comes to the page: does it leave all tiers?
    pub(crate) fn expire(
        &mut self,
        page: u64,
        upper: &mut dyn Model,
        lower: &mut [&mut Lower],
    ) -> Option<Expired> {
        let below = lower.iter().any(|tier| tier.pages.contains_key(&page));
        let since = *self.since.get(&page)?;
        if !(below || self.tier1.contains(&page)) || self.now_ns <= since + self.ttl_ns {
            return None;
        }
        let tier1 = if self.tier1.remove(&page) { upper.forget(page) } else { None };
        let mut written = tier1 == Some(true);
        for tier in &mut *lower {
            match tier.expires(page) {
                Some(true) if !written => {
                    tier.count("tier2_reads");
                    written = true;
                }
                _ => {}
            }
        }
        if let (true, Some(last)) = (written, lower.last_mut()) {
            last.count("backing_writes");
        }
        Some(Expired { tier1, written })
    }
}

/// Counts so many.
pub(crate) fn add(counters: &mut BTreeMap<&'static str, u64>, name: &'static str, by: usize) {
    *counters.entry(name).or_insert(0) += by as u64;
}

/// An expired page as the first of a decision.
pub(crate) fn leaves_first(
    decision: &mut TierDecision,
    page: u64,
    &Expired { tier1, written }: &Expired,
    counters: &mut BTreeMap<&'static str, u64>,
) {
    add(counters, "expired_hits", 1);
    add(counters, "expired_writes", usize::from(written));
    add(counters, "evictions", usize::from(tier1.is_some()));
    if tier1.is_some() {
        decision.evicted.insert(0, page);
    }
    if tier1 == Some(true) {
        decision.flushed.insert(0, vec![page]);
    }
    if written {
        decision.written_back.insert(0, page);
    }
}

/// Decisions and counters of one tier with a time to live; `None` if there is no such policy.
///
/// # Panics
///
/// As [`model`].
pub fn run_with_ttl(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    trace: &[(Op, u64)],
    arrivals_ns: &[u64],
    ttl_ns: u64,
) -> Option<(Vec<Decision>, BTreeMap<&'static str, u64>)> {
    let mut model = model(policy, frames, params, trace)?;
    let mut ages = Ages::new(ttl_ns);
    let mut counters: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut decisions = Vec::new();
    for (&(op, page), &now_ns) in trace.iter().zip(arrivals_ns) {
        ages.now_ns = now_ns;
        let mut add = |name, by: usize| *counters.entry(name).or_insert(0) += by as u64;
        let expired = ages.expire(page, model.as_mut(), &mut []);
        let mut decision = model.access(op, page);
        let name = match (op, decision.hit) {
            (Op::Read, true) => "read_hits",
            (Op::Read, false) => "read_misses",
            (Op::Write, true) => "write_hits",
            (Op::Write, false) => "write_misses",
        };
        add(name, 1);
        if !decision.hit {
            ages.missed(page, &decision.evicted);
        }
        if !decision.hit || op == Op::Write {
            ages.renew(page);
        }
        if let Some(Expired { tier1, written }) = expired {
            add("expired_hits", 1);
            add("expired_writes", usize::from(written));
            tier1.expect("one tier").then(|| decision.flushed.insert(0, vec![page]));
            decision.evicted.insert(0, page);
        }
        add("evictions", decision.evicted.len());
        add("destaged_pages", decision.flushed.iter().map(Vec::len).sum());
        decisions.push(decision);
    }
    Some((decisions, counters))
}
