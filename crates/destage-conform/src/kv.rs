//! Vectors of language models (`docs/spec/tiers.md` 9): their content, and their runs.

use super::objects::{Expectation, ObjectOutcome, ObjectVector};
use super::read::{
    Count, Frames, List, Malformed, Named, Object, PageNumber, Params, Text, malformed,
    one_for_each, present, read, row, values, worded,
};
use super::tiers::{TierLine, arrivals, lower, policies};
use destage_core::{AnyPolicy, NEVER, Page};
use destage_engine::spec::PolicySpec;
use destage_engine::tiers::LowerTiersSpec;
use destage_keys::Word;
use destage_policies::{Setup, dense, hashed};
use destage_replay::accesses::{Columns, Extent};
use destage_replay::error::RunError;
use destage_replay::input::NextUses;
use destage_replay::kv::{Chains, KvDecision, KvReplay, KvReplayed, TokenTime, Touch, prefix_min};
use destage_replay::observe::Observer;
use destage_replay::tiers::LowerTiers;
use destage_replay::warmup::Warmup;
use destage_trace::ChainMark;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// A conformance vector of a language model.
pub(super) struct KvVector {
    name: String,
    policy: PolicySpec,
    frames: u32,
    lower: Option<LowerTiersSpec>,
    touch: Touch,
    warmup_requests: u64,
    token_time: Option<TokenTime>,
    ttl_ns: Option<u64>,
    arrivals_ns: Vec<u64>,
    lpns: Vec<u64>,
    ids: Vec<u32>,
    marks: Vec<ChainMark>,
    expected: Expectation,
}

worded!(
    /// Order of the touches.
    Touched(Touch), "\"tail-first\" or \"head-first\"", |found| {
        found.as_str().and_then(Touch::parse)
    }
);
worded!(
    /// Tokens of a block.
    BlockTokens(u64), "an integer 1..32767", |found| {
        found.as_u64().filter(|tokens| (1..=ChainMark::MOST_TOKENS).contains(tokens))
    }
);
worded!(
    /// Nanoseconds of a token, or tokens; at least one.
    Positive(u64), "an integer 1..1000000000", |found| {
        found.as_u64().filter(|number| (1..=1_000_000_000).contains(number))
    }
);
row!(
    /// A request.
    Prompt(ids: List<PageNumber>, tokens: Count), "a list [ids, tokens of the prompt]"
);

/// How a vector is run, as its line has it.
#[derive(Deserialize)]
struct KvLine {
    touch: Option<Touched>,
    block_tokens: Option<BlockTokens>,
    #[serde(default)]
    warmup_requests: Count,
    token_ns: Option<Positive>,
    double_tokens: Option<Positive>,
    ttl_ns: Option<Positive>,
    gap_ns: Option<Positive>,
}

/// A vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    policy: Text,
    params: Params,
    frames: Frames,
    kv: Object<KvLine>,
    #[serde(default, deserialize_with = "present")]
    tier2: Option<Object<TierLine>>,
    #[serde(default, deserialize_with = "present")]
    tier3: Option<Object<TierLine>>,
    requests: List<Prompt>,
    #[serde(default, deserialize_with = "present")]
    decisions: Option<List<Named>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Named>,
}

/// Reads a line of kind *language model*.
pub(super) fn kv_vector(line: &Json) -> Result<KvVector, Malformed> {
    let (line, unknown_keys) = read::<Line>(line)?;
    let policy = PolicySpec::new(&line.policy.0, values(line.params).into_iter().collect())
        .map_err(|error| malformed("policy", error.to_string()))?;
    let tier3 = line.tier3.map(|Object(tier3)| tier3);
    let lower = match line.tier2 {
        Some(Object(tier2)) => Some(lower(tier2, tier3, (&policy, false))?),
        None if tier3.is_some() => return Err(malformed("tier3", "there is no tier2")),
        None => None,
    };
    if let Some(lower) = &lower {
        arrivals(None, lower, 0)?; // requests of a vector have no times
    }
    let KvLine { touch, block_tokens, warmup_requests, token_ns, double_tokens, ttl_ns, gap_ns } =
        line.kv.0;
    let number = |given: Option<Positive>| given.map(|Positive(number)| number);
    let (token_ns, double_tokens) = (number(token_ns), number(double_tokens));
    let (ttl_ns, gap_ns) = (number(ttl_ns), number(gap_ns));
    if ttl_ns.is_some() != gap_ns.is_some() {
        return Err(malformed("kv.ttl_ns", "it goes with kv.gap_ns"));
    }
    let token_time = token_ns.map(|token_ns| TokenTime { token_ns, double_tokens });
    if token_time.is_none() && double_tokens.is_some() {
        return Err(malformed("kv.double_tokens", "there is no kv.token_ns"));
    }
    let block_tokens = block_tokens.map_or(512, |BlockTokens(tokens)| tokens);
    let requests = line.requests.0;
    let decisions = one_for_each("decisions", line.decisions, ("request", requests.len()))?;
    let (mut blocks, mut marks, mut arrivals_ns) = (Vec::new(), Vec::new(), Vec::new());
    for (number, Prompt(ids, Count(prompt))) in requests.into_iter().enumerate() {
        let ids = ids.pages();
        if ids.is_empty() {
            let what = "expected at least one block, found none";
            return Err(malformed(format!("requests[{number}][0]"), what));
        }
        for (place, id) in ids.into_iter().enumerate() {
            let left = prompt.saturating_sub(place as u64 * block_tokens);
            let tokens = if prompt == 0 { block_tokens } else { left.clamp(1, block_tokens) };
            blocks.push(id);
            arrivals_ns.push(number as u64 * gap_ns.unwrap_or(0));
            marks.push(ChainMark::new(tokens, place == 0));
        }
    }
    let mut lpns = blocks.clone();
    lpns.sort_unstable();
    lpns.dedup();
    let ids = blocks.iter().map(|id| lpns.partition_point(|lpn| lpn < id) as u32).collect();
    Ok(KvVector {
        name: line.name.0,
        policy,
        frames: line.frames.0,
        lower,
        touch: touch.map(|Touched(touch)| touch).unwrap_or_default(),
        warmup_requests: warmup_requests.0,
        token_time,
        ttl_ns,
        arrivals_ns,
        lpns,
        ids,
        marks,
        expected: Expectation {
            step: "request",
            decisions,
            completions_ns: None,
            counters: line.counters,
            unknown_keys,
        },
    })
}

impl ObjectVector for KvVector {
    fn name(&self) -> &str {
        &self.name
    }

    fn of(&self) -> &'static str {
        "a language model"
    }

    fn expected(&self) -> &Expectation {
        &self.expected
    }

    fn policies(&self) -> String {
        policies(&self.policy, self.lower.as_ref())
    }

    fn accesses(&self) -> u64 {
        self.ids.len() as u64
    }

    fn run(&self) -> Result<[ObjectOutcome; 2], RunError> {
        if self.policy.is_prefix_min() {
            let outcome = self.replay(None)?;
            return Ok([outcome.clone(), outcome]);
        }
        let pages = self.lpns.len() as u32;
        let params = self.policy.params(&[])?;
        let compute_ns = Some(self.compute_ns());
        let trace_pages = Some(pages.into());
        let setup = Setup { params, trace_pages, compute_ns, ..Setup::new(self.frames) };
        let over_dense = dense(self.policy.name, &setup, pages)?;
        let over_hashed = hashed(self.policy.name, &setup)?;
        Ok([self.replay(Some(over_dense))?, self.replay(Some(over_hashed))?])
    }
}

impl KvVector {
    /// Time of computing each block, by dense id.
    fn compute_ns(&self) -> Arc<[u64]> {
        let chains = Chains { ids: &self.ids, marks: &self.marks, compute_ns: None };
        self.token_time.unwrap_or(TokenTime::UNIT).of_blocks(&chains, self.lpns.len())
    }

    /// The tiers below the first, empty.
    fn below(&self) -> Result<Option<LowerTiers<'_>>, RunError> {
        let Some(lower) = &self.lower else { return Ok(None) };
        let mut parts = lower.parts(&self.lpns, &[])?;
        parts.learn(&self.compute_ns(), (None, None));
        Ok(Some(parts.erased()?))
    }

    /// Through this policy, or the bound.
    fn replay(&self, tier1: Option<AnyPolicy>) -> Result<ObjectOutcome, RunError> {
        let one_block = Extent::new(1, false, false, false).0;
        let extents = vec![one_block; self.ids.len()];
        let columns = Columns { first_ids: &self.ids, extents: &extents, lpns: &self.lpns };
        let next_uses = next_uses(&self.ids);
        let compute_ns = self.token_time.map(|_| self.compute_ns());
        let chains = Chains::of(&columns, &self.marks).map_err(RunError::Impossible)?;
        let replay = KvReplay {
            columns,
            chains: chains.with_compute_ns(compute_ns.as_deref()),
            next_uses: NextUses::Long(&next_uses),
            arrivals_ns: &self.arrivals_ns,
            warmup: Warmup::Requests(self.warmup_requests),
            touch: self.touch,
            ttl_ns: self.ttl_ns,
        };
        let has_tier3 = self.lower.as_ref().is_some_and(|lower| lower.tier3.is_some());
        let mut recorder = Recorder { lpns: &self.lpns, has_tier3, decisions: Vec::new() };
        let replayed = match tier1 {
            None => prefix_min::run(&replay, self.frames, &mut recorder)
                .map_err(RunError::Impossible)?,
            Some(tier1) => replay.run(tier1, self.below()?, &mut recorder),
        };
        let counters = self.counters(&replayed.expect("no stop"));
        Ok(ObjectOutcome { decisions: recorder.decisions, completions_ns: None, counters })
    }

    /// The counters of 7.3, by name.
    fn counters(&self, counted: &KvReplayed) -> Map<String, Json> {
        let of_pages = [
            "tier2_cleaned",
            "tier2_pinned_hits",
            "tier2_misses",
            "tier3_misses",
            "backing_reads",
            "backing_writes",
        ];
        let is_named =
            |(name, _): &(&str, u64)| !of_pages.contains(name) && !name.starts_with("pending");
        let (of_tier2, of_tier3) = (counted.tiers.of_tier2(), counted.tiers.of_tier3());
        let has_tier3 = self.lower.as_ref().is_some_and(|lower| lower.tier3.is_some());
        let tiers = of_tier2.iter().filter(|_| self.lower.is_some());
        let tiers = tiers.chain(of_tier3.iter().filter(|_| has_tier3)).filter(is_named);
        let all = counted.kv.iter().chain(tiers);
        all.map(|(name, count)| (name.to_owned(), count.into())).collect()
    }
}

/// Row of the next use of each block.
fn next_uses(ids: &[u32]) -> Vec<u64> {
    let mut next = std::collections::HashMap::new();
    let mut uses = vec![NEVER; ids.len()];
    for (row, &id) in ids.iter().enumerate().rev() {
        uses[row] = next.insert(id, row as u64).unwrap_or(NEVER);
    }
    uses
}

/// Keeps every decision, blocks translated back to their ids.
struct Recorder<'a> {
    lpns: &'a [u64],
    has_tier3: bool,
    decisions: Vec<Map<String, Json>>,
}

impl Observer for Recorder<'_> {
    fn access(&mut self, _: &destage_core::Request, _: bool, _: Option<&destage_core::Plan>) {}

    fn chain(&mut self, decision: &KvDecision) {
        let numbers = |pages: &[Page]| -> Vec<u64> {
            pages.iter().map(|page| self.lpns[page.0 as usize]).collect()
        };
        let KvDecision { tiers, inserted, evicted, below, .. } = decision;
        let shown = json!({
            "hit_blocks": tiers.len(),
            "tiers": tiers,
            "inserted": numbers(inserted),
            "evicted": numbers(evicted),
        });
        let Json::Object(mut shown) = shown else { unreachable!("it is an object") };
        if let Some(below) = below {
            shown.insert("admitted".into(), numbers(&below.admitted).into());
            shown.insert("tier2_evicted".into(), numbers(&below.tier2_evicted).into());
            if self.has_tier3 {
                shown.insert("tier3_admitted".into(), numbers(&below.tier3_admitted).into());
                shown.insert("tier3_evicted".into(), numbers(&below.tier3_evicted).into());
            }
        }
        self.decisions.push(shown);
    }
}
