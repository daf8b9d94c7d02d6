//! Runs of a trace through two tiers or three.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::third::Reached;
use super::{Lower, TIER3_COUNTERS, TierDecision, TierOutcome, feed, merge};
use crate::pinned::{Pinned, of_trace};
use crate::through::Through;
use crate::ttl::{Ages, add, leaves_first};
use crate::{Decision, Model, Op, Params, Step};

/// Counters of tier 1, and pages written at the end.
const OF_TIER_1: [&str; 6] =
    ["read_hits", "read_misses", "write_hits", "write_misses", "evictions", "end_flushes"];

/// Runs a trace through two tiers; `None` if tier 1 is no known policy.
///
/// `params` holds the parameters of tier 1 and the options of a run, `tier2` is the object of a
/// vector.
///
/// # Panics
///
/// As [`model`](crate::model), of either tier; on an unknown filter.
pub fn run_tiers(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    tier2: &Map<String, Value>,
    trace: &[Step],
) -> Option<TierOutcome> {
    run_tiers_at(policy, frames, params, (tier2, None), trace, &[])
}

/// As [`run_tiers`], through three tiers if there is one more, with the arrival of each access for
/// filters that read times.
///
/// # Panics
///
/// As [`run_tiers`].
pub fn run_tiers_at(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    (tier2, tier3): (&Map<String, Value>, Option<&Map<String, Value>>),
    trace: &[Step],
    arrivals_ns: &[u64],
) -> Option<TierOutcome> {
    run_tiers_with_ttl(policy, frames, params, (tier2, tier3), trace, (arrivals_ns, None))
}

/// As [`run_tiers_at`], with a time to live of pages, or without.
///
/// # Panics
///
/// As [`run_tiers`].
pub fn run_tiers_with_ttl(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    (tier2, tier3): (&Map<String, Value>, Option<&Map<String, Value>>),
    trace: &[Step],
    (arrivals_ns, ttl_ns): (&[u64], Option<u64>),
) -> Option<TierOutcome> {
    let none = &BTreeSet::new();
    let tiers = (tier2, tier3);
    run_tiers_pinned(policy, (frames, none), params, tiers, trace, (arrivals_ns, ttl_ns))
}

/// As [`run_tiers_with_ttl`], with pages that are pinned in tier 1; `pinned` of its object has the
/// pages that are pinned in tier 2.
///
/// # Panics
///
/// As [`run_tiers`]; if the pinned pages leave no frame.
pub fn run_tiers_pinned(
    policy: &str,
    (frames, pinned): (usize, &BTreeSet<u64>),
    params: &Map<String, Value>,
    (tier2, tier3): (&Map<String, Value>, Option<&Map<String, Value>>),
    trace: &[Step],
    (arrivals_ns, ttl_ns): (&[u64], Option<u64>),
) -> Option<TierOutcome> {
    let mut ages = Ages::new(ttl_ns.unwrap_or(u64::MAX / 2));
    let fetch_on_write_miss = Params(params).flag("fetch_on_write_miss");
    let mut upper: Box<dyn Model> = match policy {
        "none" => Box::new(Through),
        _ => Box::new(Pinned::new(policy, frames, params, trace, pinned)?),
    };
    let mut arrivals = arrivals_ns.iter();
    let mut lower = Lower::new(&pinned_of_trace(tier2, trace));
    let others = frames - of_trace(pinned, trace).len();
    lower.feed = feed::Feed::new(tier2.get("feed"), (policy, others, params));
    let mut third = tier3.map(Lower::new);
    let mut decisions = Vec::new();
    let mut counters: BTreeMap<&'static str, u64> = OF_TIER_1.map(|name| (name, 0)).into();
    for step in trace {
        let &Step::Access(op, page) = step else {
            let Step::Trim(page) = step else { unreachable!("an access or a trim") };
            upper.forget(*page);
            ages.tier1.remove(page);
            std::iter::once(&mut lower).chain(&mut third).for_each(|tier| tier.trims(*page));
            continue;
        };
        lower.decision = TierDecision::default();
        if let Some(&ns) = arrivals.next() {
            ages.now_ns = ns;
            arrives(ns, &mut lower, &mut third);
        }
        let before = std::mem::take(&mut lower.decision.written_back);
        let mut tiers: Vec<&mut Lower> = std::iter::once(&mut lower).chain(&mut third).collect();
        let expired = ages.expire(page, upper.as_mut(), &mut tiers);
        let above = upper.access(op, page);
        if let Some(feed) = lower.feed.as_mut().filter(|_| !pinned.contains(&page)) {
            let has_left = expired.as_ref().is_some_and(|expired| expired.tier1.is_some());
            feed.access(op, page, has_left);
        }
        let name = OF_TIER_1[2 * usize::from(op == Op::Write) + usize::from(!above.hit)];
        add(&mut counters, name, 1);
        add(&mut counters, "evictions", above.evicted.len());
        if above.hit {
            lower.decision.tier = 1;
        } else {
            let looked_up = op == Op::Read || fetch_on_write_miss;
            let missed = !lower.pages.contains_key(&page);
            lower.missed_above(op, page, &above, fetch_on_write_miss);
            let reached = Reached { page, op, missed, looked_up };
            third.iter_mut().for_each(|third| goes_on(third, &mut lower, &reached));
        }
        lower.gone.clear();
        let mut decision = std::mem::take(&mut lower.decision);
        ages.accessed(op, page, &above, decision.tier);
        let Decision { hit, evicted, flushed } = above;
        decision = TierDecision { hit, evicted, flushed, ..decision };
        if let Some(expired) = expired {
            leaves_first(&mut decision, page, &expired, &mut counters);
        }
        decision.written_back.splice(0..0, before);
        decisions.push(decision);
    }
    let flushes = Params(params).flag("flush_at_end");
    Some(ended(upper.dirty_pages(), (lower, third), counters, decisions, flushes))
}

/// The tier, its pinned pages without any that the trace does not access.
fn pinned_of_trace(tier: &Map<String, Value>, trace: &[Step]) -> Map<String, Value> {
    let mut tier = tier.clone();
    if let Some(Value::Array(pages)) = tier.get("pinned") {
        let pinned = pages.iter().map(|page| page.as_u64().expect("a page")).collect();
        let found = of_trace(&pinned, trace);
        tier.insert("pinned".into(), found.into_iter().collect::<Vec<_>>().into());
    }
    tier
}

/// A request arrives, before its accesses.
fn arrives(ns: u64, lower: &mut Lower, third: &mut Option<Lower>) {
    lower.admission.arrived(ns);
    third.iter_mut().for_each(|third| third.admission.arrived(ns));
    lower.wakes(ns);
    lower.fed(ns);
}

/// An access that has been served as far as tier 2 comes to tier 3.
fn goes_on(third: &mut Lower, lower: &mut Lower, reached: &Reached) {
    third.decision = TierDecision::default();
    third.below_tier_2(lower, reached);
    merge(&mut lower.decision, std::mem::take(&mut third.decision));
}

/// The outcome, with all dirty pages written if the run flushes them.
fn ended(
    dirty1: Vec<u64>,
    (mut lower, third): (Lower, Option<Lower>),
    mut counters: BTreeMap<&'static str, u64>,
    decisions: Vec<TierDecision>,
    flushes: bool,
) -> TierOutcome {
    let dirty_in = |tier: &Lower| -> BTreeSet<u64> {
        tier.pages.iter().filter(|(_, dirty)| **dirty).map(|(page, _)| *page).collect()
    };
    let dirty1: BTreeSet<u64> = dirty1.into_iter().collect();
    let dirty2 = dirty_in(&lower);
    let dirty3 = third.as_ref().map(dirty_in);
    let both = dirty1.union(&dirty2).copied();
    let dirty: BTreeSet<u64> = both.chain(dirty3.iter().flatten().copied()).collect();
    counters.extend(std::mem::take(&mut lower.counters));
    let left = |pages: &BTreeSet<u64>| if flushes { 0 } else { pages.len() as u64 };
    if let (Some(third), Some(dirty3)) = (&third, &dirty3) {
        counters.extend(TIER3_COUNTERS.map(|(name, of)| (name, third.counters[of])));
        counters.insert("pending_tier3", left(dirty3));
        for name in ["backing_reads", "backing_writes"] {
            counters.insert(name, third.counters[name]);
        }
    }
    counters.insert("pending_tier1", left(&dirty1));
    counters.insert("pending_tier2", left(&dirty2));
    if flushes {
        counters.insert("end_flushes", dirty.len() as u64);
        *counters.entry("backing_writes").or_insert(0) += dirty.len() as u64;
    }
    let tier2_pages = lower.pages.into_keys().collect();
    TierOutcome { decisions, counters, tier2_pages, dirty }
}
