//! Vectors of several tiers (`docs/spec/tiers.md` 9): their content, and their runs.

use super::objects::{Expectation, ObjectOutcome, ObjectVector};
use super::read::{
    Access, Count, Frames, List, Malformed, Named, Object, Params, Text, malformed, one_for_each,
    option, present, read, values, worded,
};
use super::vector::Decision;
use destage_core::{Op, Page, Plan, Policy, Request};
use destage_engine::spec::PolicySpec;
use destage_engine::tiers::{AdmissionSpec, LowerTierSpec, LowerTiersSpec};
use destage_keys::Word;
use destage_policies::{Setup, admission, hashed};
use destage_replay::accesses::{Columns, Extent};
use destage_replay::counters::Counters;
use destage_replay::error::RunError;
use destage_replay::input::{Input, NextUses};
use destage_replay::observe::Observer;
use destage_replay::pinned::{self, PINNED_HITS, PinnedPages};
use destage_replay::replay::Replay;
use destage_replay::tiers::rules::{
    AdmitDirty, AlruRule, Clean, FeedLists, FeedRule, Offer, Promote, TierRules,
};
use destage_replay::tiers::through::Through;
use destage_replay::tiers::{TierDecision, untimed};
use destage_replay::warmup::Warmup;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A conformance vector of two or three tiers.
pub(super) struct TierVector {
    name: String,
    policy: PolicySpec,
    frames: u32,
    lower: LowerTiersSpec,
    flush_at_end: bool,
    accesses: Vec<(Op, u64)>,
    arrivals_ns: Vec<u64>,
    ttl_ns: Option<u64>,
    pinned: [Vec<u64>; 2], // in tiers 1 and 2
    expected: Expectation,
}

worded!(
    /// Which pages are offered.
    Offered(Offer), "\"evicted\", \"inserted\" or \"feed\"",
    |found| found.as_str().and_then(Offer::parse)
);
worded!(
    /// Treatment of a tier-2 copy that is hit.
    Promoted(Promote), "\"copy\" or \"move\"", |found| found.as_str().and_then(Promote::parse)
);
worded!(
    /// Tier that decides on the admission of dirty pages.
    Dirty(AdmitDirty), "\"ask\" or \"always\"", |found| found.as_str().and_then(AdmitDirty::parse)
);

worded!(
    /// A time that passes, nanoseconds.
    Time(u64), "an integer >= 1", |found| found.as_u64().filter(|&ns| ns > 0)
);

/// A tier below the first as a line has it.
#[derive(Deserialize)]
pub(super) struct TierLine {
    policy: Text,
    #[serde(default)]
    params: Params,
    frames: Frames,
    offer: Option<Offered>,
    promote: Option<Promoted>,
    admit: Option<Text>,
    #[serde(default)]
    admit_params: Params,
    admit_dirty: Option<Dirty>,
    page_bytes: Option<Frames>,
    most_dirty: Option<Count>,
    alru: Option<Object<AlruLine>>,
    feed: Option<Object<FeedLine>>,
    #[serde(default, deserialize_with = "present")]
    pinned: Option<List<Count>>,
}

worded!(
    /// Lists of tier 1 that a feed goes through.
    Lists(FeedLists), "\"all\" or \"mfu\"", |found| found.as_str().and_then(FeedLists::parse)
);

/// The feed of a tier as a line has it.
#[derive(Deserialize)]
struct FeedLine {
    interval_ns: Time,
    min_interval_ns: Time,
    warm_pages: Frames,
    cold_pages: Frames,
    headroom: Count,
    lists: Lists,
}

/// Stale dirty pages of a tier as a line has them.
#[derive(Deserialize)]
struct AlruLine {
    wake_up_ns: Time,
    staleness_ns: Time,
    flush_max_buffers: Frames,
    activity_ns: Time,
    page_ns: Time,
}

impl TierLine {
    /// The tier, its policy and filter looked up.
    fn spec(self, key: &str, fetch_on_write_miss: bool) -> Result<LowerTierSpec, Malformed> {
        let admit = self.admit.map_or_else(|| "always".to_owned(), |Text(name)| name);
        let refused = |of: &str| {
            let key = format!("{key}.{of}");
            move |error: destage_policies::BuildError| malformed(key, error.to_string())
        };
        if self.pinned.is_some() {
            let what = "pages are pinned in tiers 1 and 2 alone, without a device";
            return Err(malformed(format!("{key}.pinned"), what));
        }
        let offer = self.offer.map(|Offered(offer)| offer).unwrap_or_default();
        let given = |params| values(params).into_iter().collect();
        Ok(LowerTierSpec {
            policy: PolicySpec::new(&self.policy.0, given(self.params))
                .map_err(refused("policy"))?,
            frames: self.frames.0,
            admit: AdmissionSpec::new(&admit, given(self.admit_params))
                .map_err(refused("admit"))?,
            rules: TierRules {
                offer,
                feed: feed(key, offer, self.feed)?,
                promote: self.promote.map(|Promoted(promote)| promote).unwrap_or_default(),
                admit_dirty: self.admit_dirty.map(|Dirty(dirty)| dirty).unwrap_or_default(),
                fetch_on_write_miss,
                clean: clean(key, self.most_dirty, self.alru)?,
            },
            page_bytes: self.page_bytes.map_or(4096, |Frames(bytes)| bytes.into()),
            pins: None,
        })
    }
}

/// The feed, which goes with the offer of this name.
fn feed(
    key: &str,
    offer: Offer,
    feed: Option<Object<FeedLine>>,
) -> Result<Option<FeedRule>, Malformed> {
    match (offer == Offer::Feed, feed) {
        (false, None) => Ok(None),
        (true, Some(Object(feed))) => Ok(Some(FeedRule {
            interval_ns: feed.interval_ns.0,
            min_interval_ns: feed.min_interval_ns.0,
            warm_pages: feed.warm_pages.0.into(),
            cold_pages: feed.cold_pages.0.into(),
            headroom: feed.headroom.0,
            lists: feed.lists.0,
        })),
        (true, None) => Err(malformed(format!("{key}.feed"), "the key is missing")),
        (false, Some(_)) => Err(malformed(format!("{key}.feed"), "it goes with offer \"feed\"")),
    }
}

/// Write-back of dirty pages that stay.
fn clean(
    key: &str,
    most_dirty: Option<Count>,
    alru: Option<Object<AlruLine>>,
) -> Result<Option<Clean>, Malformed> {
    match (most_dirty, alru) {
        (Some(_), Some(_)) => Err(malformed(format!("{key}.alru"), "there is most_dirty, too")),
        (most_dirty, None) => Ok(most_dirty.map(|Count(pages)| Clean::Above(pages))),
        (None, Some(Object(alru))) => Ok(Some(Clean::Stale(AlruRule {
            wake_up_ns: alru.wake_up_ns.0,
            staleness_ns: alru.staleness_ns.0,
            flush_max_buffers: alru.flush_max_buffers.0.into(),
            activity_ns: alru.activity_ns.0,
            page_ns: alru.page_ns.0,
        }))),
    }
}

/// The tiers of a line, looked up.
pub(super) fn lower(
    tier2: TierLine,
    tier3: Option<TierLine>,
    (tier1, fetch_on_write_miss): (&PolicySpec, bool),
) -> Result<LowerTiersSpec, Malformed> {
    let tier3 = tier3.map(|tier3| tier3.spec("tier3", fetch_on_write_miss)).transpose()?;
    let lower = LowerTiersSpec { tier2: tier2.spec("tier2", fetch_on_write_miss)?, tier3 };
    lower.suits(tier1).map_err(|error| malformed("tier2", error.to_string()))?;
    Ok(lower)
}

/// A vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    policy: Text,
    params: Params,
    frames: Frames,
    tier2: Object<TierLine>,
    #[serde(default, deserialize_with = "present")]
    tier3: Option<Object<TierLine>>,
    accesses: List<Access>,
    #[serde(default, deserialize_with = "present")]
    arrivals_ns: Option<List<Count>>,
    ttl_ns: Option<Count>,
    #[serde(default, deserialize_with = "present")]
    pinned: Option<List<Count>>,
    #[serde(default, deserialize_with = "present")]
    decisions: Option<List<Named>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Named>,
}

/// Reads a line of kind *two tiers*, or three.
pub(super) fn tier_vector(line: &Json) -> Result<TierVector, Malformed> {
    let (mut line, unknown_keys) = read::<Line>(line)?;
    let pinned = [line.pinned, line.tier2.0.pinned.take()];
    let pinned = pinned.map(|pages| pages.map(List::counts).unwrap_or_default());
    let mut params = values(line.params);
    let fetch_on_write_miss = option(&mut params, "fetch_on_write_miss")?;
    let flush_at_end = option(&mut params, "flush_at_end")?;
    let policy = PolicySpec::new(&line.policy.0, params.into_iter().collect())
        .map_err(|error| malformed("policy", error.to_string()))?;
    let tier3 = line.tier3.map(|Object(tier3)| tier3);
    let lower = lower(line.tier2.0, tier3, (&policy, fetch_on_write_miss))?;
    let accesses: Vec<(Op, u64)> = line.accesses.0.into_iter().map(Into::into).collect();
    let decisions = one_for_each("decisions", line.decisions, ("access", accesses.len()))?;
    let arrivals_ns = arrivals(line.arrivals_ns, &lower, accesses.len())?;
    let ttl_ns = line.ttl_ns.map(|Count(ns)| ns);
    if ttl_ns.is_some() && arrivals_ns.len() != accesses.len() {
        return Err(malformed("arrivals_ns", "missing, and ttl_ns is of ages"));
    }
    check_pinned(&pinned, (line.frames.0, &policy), &lower, (&accesses, ttl_ns))?;
    let mut tiers = std::iter::once(&lower.tier2).chain(&lower.tier3);
    let reads_compute_time = |tier: &LowerTierSpec| {
        admission::info(tier.admit.name).is_ok_and(|info| info.reads_compute_time)
    };
    if tiers.any(reads_compute_time) {
        return Err(malformed("tier2.admit", "pages have no time of computing; blocks have"));
    }
    Ok(TierVector {
        name: line.name.0,
        policy,
        frames: line.frames.0,
        lower,
        flush_at_end,
        accesses,
        arrivals_ns,
        ttl_ns,
        pinned,
        expected: Expectation {
            step: "access",
            decisions,
            completions_ns: None,
            counters: line.counters,
            unknown_keys,
        },
    })
}

/// Pinned pages of tiers 1 and 2 leave room for others, and go with the rules.
fn check_pinned(
    [above, below]: &[Vec<u64>; 2],
    (frames, policy): (u32, &PolicySpec),
    lower: &LowerTiersSpec,
    (accesses, ttl_ns): (&[(Op, u64)], Option<u64>),
) -> Result<(), Malformed> {
    if above.is_empty() && below.is_empty() {
        return Ok(());
    }
    let of_trace = |pinned: &[u64]| {
        let pages: BTreeSet<u64> = accesses.iter().map(|&(_, page)| page).collect();
        pages.iter().filter(|page| pinned.contains(page)).count()
    };
    let rules = &lower.tier2.rules;
    let goes_with_rules = rules.promote == Promote::Copy && rules.offer != Offer::Feed;
    if !above.is_empty() && (policy.is_none() || of_trace(above) >= frames as usize) {
        return Err(malformed("pinned", "tier 1 has no frame for other pages"));
    }
    if of_trace(below) >= lower.tier2.frames as usize {
        return Err(malformed("tier2.pinned", "tier 2 has no frame for other pages"));
    }
    if ttl_ns.is_some() || !below.is_empty() && !goes_with_rules {
        return Err(malformed("pinned", "with ttl_ns, promote \"move\" or offer \"feed\""));
    }
    Ok(())
}

/// Arrivals of the accesses, which some filters and rules need.
pub(super) fn arrivals(
    given: Option<List<Count>>,
    lower: &LowerTiersSpec,
    accesses: usize,
) -> Result<Vec<u64>, Malformed> {
    let wrong = |what: &str| Err(malformed("arrivals_ns", what.to_owned()));
    let Some(given) = given else {
        let mut tiers = std::iter::once(&lower.tier2).chain(&lower.tier3);
        let needed =
            tiers.any(|tier| admission::info(tier.admit.name).is_ok_and(|info| info.reads_time));
        return match lower.between() {
            Some(key) => wrong(&format!("missing, and {key} follows them")),
            None if needed => wrong("missing, and the filter reads times"),
            None => Ok(Vec::new()),
        };
    };
    let arrivals = given.counts();
    if arrivals.len() != accesses || !arrivals.is_sorted() {
        return wrong("expected a time for each access, not decreasing");
    }
    Ok(arrivals)
}

impl ObjectVector for TierVector {
    fn name(&self) -> &str {
        &self.name
    }

    fn of(&self) -> &'static str {
        "two tiers"
    }

    fn expected(&self) -> &Expectation {
        &self.expected
    }

    fn policies(&self) -> String {
        policies(&self.policy, Some(&self.lower))
    }

    fn accesses(&self) -> u64 {
        self.accesses.len() as u64
    }

    fn run(&self) -> Result<[ObjectOutcome; 2], RunError> {
        let mut lpns: Vec<u64> = self.accesses.iter().map(|&(_, page)| page).collect();
        lpns.sort_unstable();
        lpns.dedup();
        let pages = lpns.len() as u32;
        if self.policy.is_none() {
            return Ok([
                self.replay(Through::default(), &lpns)?,
                self.replay(Through::default(), &lpns)?,
            ]);
        }
        let params = self.policy.params(&[])?;
        let setup = Setup { params, trace_pages: Some(pages.into()), ..Setup::new(self.frames) };
        let pins = self.pins(0, &lpns);
        let over_dense = || pinned::dense(self.policy.name, &setup, pages, pins.as_ref());
        // Pinned pages are looked up by number, over either directory.
        let other = if pins.is_some() { over_dense()? } else { hashed(self.policy.name, &setup)? };
        Ok([self.replay(over_dense()?, &lpns)?, self.replay(other, &lpns)?])
    }
}

impl TierVector {
    /// Pages that are pinned in tier 1 or 2.
    fn pins(&self, tier: usize, lpns: &[u64]) -> Option<Arc<PinnedPages>> {
        let pinned = &self.pinned[tier];
        (!pinned.is_empty()).then(|| Arc::new(PinnedPages::of(lpns, |lpn| pinned.contains(&lpn))))
    }

    fn replay<P: Policy>(&self, mut tier1: P, lpns: &[u64]) -> Result<ObjectOutcome, RunError> {
        let rank = |page| lpns.partition_point(|&lpn| lpn < page) as u32;
        let first_ids: Vec<u32> = self.accesses.iter().map(|&(_, page)| rank(page)).collect();
        let one_page = |op: Op| Extent::new(1, op.is_write(), false, false).0;
        let extents: Vec<u32> = self.accesses.iter().map(|&(op, _)| one_page(op)).collect();
        let next_uses = super::run::next_uses(&self.accesses);
        let columns = Columns { first_ids: &first_ids, extents: &extents, lpns };
        let input = Input {
            next_uses: NextUses::Long(&next_uses),
            arrivals_ns: &self.arrivals_ns,
            ..Input::of(columns)
        };
        let replay = Replay::of(&input, Warmup::None);
        let mut lower = self.lower.clone();
        lower.tier2.pins = self.pins(1, lpns);
        let lower = lower.build(lpns, &[])?;
        let has_tier3 = self.lower.tier3.is_some();
        let mut recorder =
            Recorder { lpns, has_tier3, below: TierDecision::default(), decisions: Vec::new() };
        let replayed =
            untimed::run_expiring(&replay, &mut tier1, lower, self.ttl_ns, &mut recorder);
        let mut replayed = replayed.expect("no stop");
        if self.flush_at_end {
            replayed.flush();
        }
        let mut counters = counters(&replayed.counters, has_tier3);
        if self.ttl_ns.is_some() {
            let expired = replayed.counters.expired;
            counters.insert("expired_hits".into(), expired.expired_hits.into());
            counters.insert("expired_writes".into(), expired.expired_writes.into());
        }
        if let Some(hits) = replayed.own.by_name().get(PINNED_HITS) {
            counters.insert(PINNED_HITS.into(), (*hits).into());
        }
        Ok(ObjectOutcome { decisions: recorder.decisions, completions_ns: None, counters })
    }
}

/// The policies of all tiers, from the first downwards.
pub(super) fn policies(tier1: &PolicySpec, lower: Option<&LowerTiersSpec>) -> String {
    let below = lower.map(|lower| std::iter::once(&lower.tier2).chain(&lower.tier3));
    let labels = below.into_iter().flatten().map(|tier| tier.policy.label());
    std::iter::once(tier1.label()).chain(labels).collect::<Vec<_>>().join(" over ")
}

/// The counters of a run with two tiers or three, by name.
pub(super) fn counters(counted: &Counters, has_tier3: bool) -> Map<String, Json> {
    let Counters { read_hits, read_misses, write_hits, write_misses, .. } = *counted;
    let tier1 = [
        ("read_hits", read_hits),
        ("read_misses", read_misses),
        ("write_hits", write_hits),
        ("write_misses", write_misses),
        ("evictions", counted.evictions),
        ("end_flushes", counted.end_flushes),
    ];
    let (of_tier2, of_tier3) = (counted.tiers.of_tier2(), counted.tiers.of_tier3());
    let of_tier3 = of_tier3.iter().filter(|_| has_tier3);
    // Vectors without a threshold, or pinned pages, do not have them.
    let is_rare = |name: &str| ["tier2_cleaned", "tier2_pinned_hits"].contains(&name);
    let is_given = |(name, count): &(&str, u64)| !is_rare(name) || *count > 0;
    let all = tier1.into_iter().chain(of_tier2.iter().filter(is_given)).chain(of_tier3);
    all.map(|(name, count)| (name.to_owned(), count.into())).collect()
}

/// Keeps every decision, pages translated back to their numbers.
struct Recorder<'a> {
    lpns: &'a [u64],
    has_tier3: bool,
    below: TierDecision,
    decisions: Vec<Map<String, Json>>,
}

impl Observer for Recorder<'_> {
    fn tiers(&mut self, decision: &TierDecision) {
        self.below = decision.clone();
    }

    fn access(&mut self, _: &Request, hit: bool, plan: Option<&Plan>) {
        self.decisions.push(decision((self.lpns, self.has_tier3), hit, plan, &self.below));
    }
}

/// A decision as vectors write it; `lpns` has the numbers of the pages.
pub(super) fn decision(
    (lpns, has_tier3): (&[u64], bool),
    hit: bool,
    plan: Option<&Plan>,
    below: &TierDecision,
) -> Map<String, Json> {
    let number = |page: Page| lpns[page.0 as usize];
    let numbers = |pages: &[Page]| pages.iter().map(|&p| number(p)).collect::<Vec<_>>();
    let empty = Plan::new();
    let Decision { hit, evicted, flushed, .. } = Decision::of(hit, plan.unwrap_or(&empty), number);
    let decision = json!({
        "hit": hit,
        "tier": below.tier,
        "evicted": evicted,
        "flushed": flushed,
        "admitted": numbers(&below.admitted),
        "tier2_evicted": numbers(&below.tier2_evicted),
        "written_back": numbers(&below.written_back),
    });
    let Json::Object(mut decision) = decision else { unreachable!("it is an object") };
    if has_tier3 {
        decision.insert("tier3_admitted".into(), numbers(&below.tier3_admitted).into());
        decision.insert("tier3_evicted".into(), numbers(&below.tier3_evicted).into());
    }
    decision
}
