//! Traces of language models: a hit is a cached prefix. Mirrors `docs/spec/tiers.md`, 7 and 8.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::pgdsf::Pgdsf;
use crate::tiers::{Lower, TIER3_COUNTERS, merge};
use crate::ttl::Ages;
use crate::{Model, Op, Params, Step, model_with_trims};

/// A request: the blocks of its prompt from head to tail, and the tokens of the prompt.
pub type Prompt = (Vec<u64>, u64);

/// The object of a tier in a vector.
type TierObject = Map<String, Value>;

/// A decision on one request (9).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KvDecision {
    /// Blocks of the prefix that were cached.
    pub hit_blocks: u64,
    /// The tier of each.
    pub tiers: Vec<u64>,
    /// Blocks that tier 1 took in.
    pub inserted: Vec<u64>,
    /// Blocks evicted from tier 1.
    pub evicted: Vec<u64>,
    /// Blocks that tier 2 took in.
    pub admitted: Vec<u64>,
    /// Blocks that tier 2 gave up.
    pub tier2_evicted: Vec<u64>,
    /// Blocks that tier 3 took in.
    pub tier3_admitted: Vec<u64>,
    /// Blocks that tier 3 gave up.
    pub tier3_evicted: Vec<u64>,
}

/// Everything that a run leaves behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KvOutcome {
    /// One per request.
    pub decisions: Vec<KvDecision>,
    /// All counters of 7.3.
    pub counters: BTreeMap<&'static str, u64>,
}

/// How a trace is run.
#[derive(Clone, Copy, Default, Debug)]
pub struct KvOptions {
    /// From the first block to the last.
    pub head_first: bool,
    /// Tokens of a block.
    pub block_tokens: u64,
    /// Requests that are not counted.
    pub warmup_requests: usize,
    /// Time of computing the first token of a prompt (7.5).
    pub token_ns: Option<u64>,
    /// Depth at which a token takes twice the time, tokens.
    pub double_tokens: Option<u64>,
    /// Time to live of a block (4.10), and the time between two requests.
    pub ttl_and_gap_ns: Option<(u64, u64)>,
}

const COUNTERS: [&str; 10] = [
    "requests",
    "blocks",
    "tokens",
    "hit_blocks",
    "hit_tokens",
    "full_hits",
    "stranded_blocks",
    "reinserted_blocks",
    "insertions",
    "evictions",
];

/// Counters of tier 2 that 7.3 names.
const LOWER: [&str; 9] = [
    "tier2_hits",
    "offers",
    "offers_capped",
    "offers_present",
    "admitted",
    "tier2_writes",
    "tier2_reads",
    "tier2_evictions",
    "tier2_drops",
];

/// Tokens of a block (7.1).
fn tokens(options: &KvOptions, position: usize, prompt: u64) -> u64 {
    if prompt == 0 {
        return options.block_tokens;
    }
    let before = position as u64 * options.block_tokens;
    options.block_tokens.min(prompt.saturating_sub(before)).max(1)
}

/// The time of computing each block, where it first occurs (7.5), token by token.
fn compute_times(options: &KvOptions, requests: &[Prompt]) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for (chain, prompt) in requests {
        let mut depth: u128 = 0;
        for (position, &block) in chain.iter().enumerate() {
            let token_ns = u128::from(options.token_ns.unwrap_or(1));
            let doubles = options.double_tokens.map_or(1, u128::from);
            let mut scaled = 0;
            for token in 0..tokens(options, position, *prompt).into() {
                let before = if options.double_tokens.is_some() { depth + token } else { 0 };
                scaled += token_ns * (doubles + before);
            }
            let ns = (scaled / doubles).clamp(1, 1 << 40) as u64;
            times.entry(block).or_insert(ns);
            depth += u128::from(tokens(options, position, *prompt));
        }
    }
    times
}

/// Counts the time of the blocks of a request, and that of its prefix of `hit` blocks.
fn count_times(
    counters: &mut BTreeMap<&'static str, u64>,
    times: &BTreeMap<u64, u64>,
    chain: &[u64],
    hit: usize,
) {
    let sum = |blocks: &[u64]| blocks.iter().map(|block| times[block]).sum::<u64>();
    *counters.entry("compute_ns").or_insert(0) += sum(chain);
    *counters.entry("hit_compute_ns").or_insert(0) += sum(&chain[..hit]);
}

/// The blocks of a request in the order of its touches.
fn touches(options: &KvOptions, chain: &[u64]) -> Vec<u64> {
    let mut order = chain.to_vec();
    if !options.head_first {
        order.reverse();
    }
    order
}

/// Counts the look-up of a request: its prefix is `hit` blocks long.
fn count(
    counters: &mut BTreeMap<&'static str, u64>,
    options: &KvOptions,
    (chain, prompt): &Prompt,
    hit: usize,
    stranded: usize,
) {
    let mut add = |name, by: u64| *counters.entry(name).or_insert(0) += by;
    let sum = |range: std::ops::Range<usize>| range.map(|i| tokens(options, i, *prompt)).sum();
    add("requests", 1);
    add("blocks", chain.len() as u64);
    add("tokens", sum(0..chain.len()));
    add("hit_blocks", hit as u64);
    add("hit_tokens", sum(0..hit));
    add("full_hits", u64::from(hit == chain.len()));
    add("stranded_blocks", stranded as u64);
}

/// The length of the cached prefix, and the cached blocks behind it.
fn prefix(chain: &[u64], cached: impl Fn(u64) -> bool) -> (usize, usize) {
    let hit = chain.iter().take_while(|block| cached(**block)).count();
    (hit, chain[hit..].iter().filter(|block| cached(**block)).count())
}

/// Runs requests; `None` if tier 1 is no known policy.
///
/// # Panics
///
/// As [`model`](crate::model).
pub fn run_kv(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    (tier2, tier3): (Option<&TierObject>, Option<&TierObject>),
    options: &KvOptions,
    requests: &[Prompt],
) -> Option<KvOutcome> {
    let times = compute_times(options, requests);
    let mut outcome = if policy == "prefix-min" {
        prefix_min(frames, options, requests)
    } else {
        run_policy((policy, frames, params), (tier2, tier3), options, requests, &times)?
    };
    if options.token_ns.is_some() {
        for name in ["compute_ns", "hit_compute_ns"] {
            outcome.counters.insert(name, 0);
        }
        let counted = requests.iter().zip(&outcome.decisions).skip(options.warmup_requests);
        for ((chain, _), decision) in counted {
            count_times(&mut outcome.counters, &times, chain, decision.hit_blocks as usize);
        }
    }
    Some(outcome)
}

/// Runs requests through a policy.
fn run_policy(
    (policy, frames, params): (&str, usize, &Map<String, Value>),
    (tier2, tier3): (Option<&TierObject>, Option<&TierObject>),
    options: &KvOptions,
    requests: &[Prompt],
    times: &BTreeMap<u64, u64>,
) -> Option<KvOutcome> {
    let stream: Vec<Step> = requests
        .iter()
        .flat_map(|(chain, _)| touches(options, chain))
        .map(|block| Step::Access(Op::Read, block))
        .collect();
    let mut upper = model_with_trims(policy, frames, params, &stream)?;
    if policy == "pgdsf" {
        upper = Box::new(Pgdsf::of_prompts(frames, &Params(params), times.clone(), true));
    }
    let mut cached = BTreeSet::new();
    let of_blocks = |tier: &TierObject| Lower::of_blocks(tier, times);
    let mut lower = Below { tier2: tier2.map(of_blocks), tier3: tier3.map(of_blocks) };
    let mut decisions = Vec::new();
    let mut counters: BTreeMap<&'static str, u64> = COUNTERS.map(|name| (name, 0)).into();
    let mut ages = options.ttl_and_gap_ns.map(|(ttl_ns, gap_ns)| (Ages::new(ttl_ns), gap_ns));
    for (number, request) in requests.iter().enumerate() {
        if number == options.warmup_requests {
            counters.values_mut().for_each(|count| *count = 0);
            lower.begin_counting();
        }
        let upper = upper.as_mut();
        let mut expired = Vec::new();
        if let Some((ages, gap_ns)) = &mut ages {
            ages.now_ns = number as u64 * *gap_ns;
            expired = expire(ages, upper, &mut cached, &mut lower, &request.0, &mut counters);
        }
        let mut decision = serve(upper, &mut cached, &mut lower, options, request, &mut counters);
        *counters.entry("evictions").or_insert(0) += expired.len() as u64;
        decision.evicted.splice(0..0, expired);
        if let Some((ages, _)) = &mut ages {
            request.0[decision.hit_blocks as usize..].iter().for_each(|&block| ages.renew(block));
        }
        decisions.push(decision);
    }
    if options.warmup_requests >= requests.len() {
        counters.values_mut().for_each(|count| *count = 0);
        lower.begin_counting();
    }
    if let Some(tier2) = lower.tier2 {
        counters.extend(LOWER.map(|name| (name, tier2.counters[name])));
    }
    if let Some(tier3) = lower.tier3 {
        let named = TIER3_COUNTERS.into_iter().filter(|(name, _)| *name != "tier3_misses");
        counters.extend(named.map(|(name, of)| (name, tier3.counters[of])));
    }
    Some(KvOutcome { decisions, counters })
}

/// Blocks of a chain that have expired leave all tiers; those that tier 1 had.
fn expire(
    ages: &mut Ages,
    upper: &mut dyn Model,
    cached: &mut BTreeSet<u64>,
    lower: &mut Below,
    chain: &[u64],
    counters: &mut BTreeMap<&'static str, u64>,
) -> Vec<u64> {
    let mut left = Vec::new();
    for &block in chain {
        ages.tier1 = cached.clone();
        let mut tiers: Vec<&mut Lower> = lower.tier2.iter_mut().chain(&mut lower.tier3).collect();
        let Some(expired) = ages.expire(block, upper, &mut tiers) else { continue };
        *counters.entry("expired_blocks").or_insert(0) += 1;
        if expired.tier1.is_some() {
            cached.remove(&block);
            left.push(block);
        }
    }
    left
}

/// The tiers below tier 1.
struct Below {
    tier2: Option<Lower>,
    tier3: Option<Lower>,
}

impl Below {
    fn begin_counting(&mut self) {
        for tier in self.tier2.iter_mut().chain(&mut self.tier3) {
            tier.counters.values_mut().for_each(|count| *count = 0);
        }
    }

    /// The tier that has the block, or 0.
    fn tier_of(&self, block: u64) -> u64 {
        let has = |tier: &Option<Lower>| {
            tier.as_ref().is_some_and(|tier| tier.pages.contains_key(&block))
        };
        if has(&self.tier2) {
            2
        } else if has(&self.tier3) {
            3
        } else {
            0
        }
    }

    fn tier(&mut self, number: u64) -> &mut Lower {
        if number == 2 { &mut self.tier2 } else { &mut self.tier3 }.as_mut().expect("there")
    }

    /// A touch that missed tier 1, which evicted these blocks (7.2, step 2).
    fn touched(&mut self, touch: &Touch, evicted: &[u64]) {
        let &Touch { block, is_prefix, was_in, read_from, was_there } = touch;
        let Some(tier2) = &mut self.tier2 else { return };
        tier2.missed(block);
        if read_from == Some(2) && was_there {
            tier2.promote(block);
        }
        evicted.iter().for_each(|&victim| tier2.leaves(victim, false));
        if !is_prefix || read_from == Some(3) {
            tier2.inserted(block);
        }
        let Some(tier3) = &mut self.tier3 else { return };
        if was_in != 2 {
            tier3.missed(block);
        }
        if read_from == Some(3) && was_there {
            tier3.promote(block);
        }
        tier3.take_over(tier2);
        if !is_prefix {
            tier3.inserted(block);
        }
    }
}

/// A touch of a block that missed tier 1.
struct Touch {
    block: u64,
    is_prefix: bool,
    /// The tier that had the block, or 0.
    was_in: u64,
    /// The tier that it was read from at the request's arrival.
    read_from: Option<u64>,
    /// That tier had it still.
    was_there: bool,
}

/// Serves a request (7.2).
fn serve(
    upper: &mut dyn Model,
    cached: &mut BTreeSet<u64>,
    lower: &mut Below,
    options: &KvOptions,
    request: &Prompt,
    counters: &mut BTreeMap<&'static str, u64>,
) -> KvDecision {
    let chain = &request.0;
    let has = |block| cached.contains(&block) || lower.tier_of(block) != 0;
    let (hit, stranded) = prefix(chain, has);
    count(counters, options, request, hit, stranded);
    let tiers = chain[..hit].iter();
    let tiers: Vec<u64> = tiers
        .map(|&block| if cached.contains(&block) { 1 } else { lower.tier_of(block) })
        .collect();
    let mut decision = KvDecision { hit_blocks: hit as u64, tiers, ..KvDecision::default() };
    let read: BTreeMap<u64, u64> = (0..hit)
        .filter(|&i| decision.tiers[i] > 1)
        .map(|i| (chain[i], decision.tiers[i]))
        .collect();
    for tier in decision.tiers.iter().filter(|tier| **tier > 1) {
        lower.tier(*tier).found();
    }
    upper.begins_request();
    for block in touches(options, chain) {
        let was_in = lower.tier_of(block);
        let read_from = read.get(&block).copied();
        let was_there = read_from.is_some_and(|tier| lower.tier(tier).pages.contains_key(&block));
        let above = upper.access(Op::Read, block);
        if above.hit {
            continue;
        }
        let is_prefix = chain[..hit].contains(&block);
        if is_prefix && was_in == 0 {
            *counters.entry("reinserted_blocks").or_insert(0) += 1;
        }
        if !upper.refused() {
            decision.inserted.push(block);
            cached.insert(block);
        }
        for victim in &above.evicted {
            cached.remove(victim);
        }
        decision.evicted.extend(&above.evicted);
        let touch = Touch { block, is_prefix, was_in, read_from, was_there };
        lower.touched(&touch, &above.evicted);
    }
    *counters.entry("insertions").or_insert(0) += decision.inserted.len() as u64;
    *counters.entry("evictions").or_insert(0) += decision.evicted.len() as u64;
    if let Some(tier2) = &mut lower.tier2 {
        let mut below = std::mem::take(&mut tier2.decision);
        tier2.forget_what_is_gone();
        if let Some(tier3) = &mut lower.tier3 {
            merge(&mut below, std::mem::take(&mut tier3.decision));
            tier3.forget_what_is_gone();
        }
        (decision.admitted, decision.tier2_evicted) = (below.admitted, below.tier2_evicted);
        (decision.tier3_admitted, decision.tier3_evicted) =
            (below.tier3_admitted, below.tier3_evicted);
    }
    decision
}

/// The bound (8.2), by its rules and by searching.
fn prefix_min(frames: usize, options: &KvOptions, requests: &[Prompt]) -> KvOutcome {
    let next = |block: u64, after: usize| {
        let later = (after + 1..requests.len()).find(|&r| requests[r].0.contains(&block));
        later.unwrap_or(usize::MAX)
    };
    let first = |block: u64| {
        let found = requests
            .iter()
            .enumerate()
            .find_map(|(r, (chain, _))| Some((r, chain.iter().position(|&other| other == block)?)));
        found.expect("a cached block has occurred")
    };
    let mut cached: BTreeSet<u64> = BTreeSet::new();
    let mut decisions = Vec::new();
    let mut counters: BTreeMap<&'static str, u64> = COUNTERS.map(|name| (name, 0)).into();
    for (r, request) in requests.iter().enumerate() {
        if r == options.warmup_requests {
            counters.values_mut().for_each(|count| *count = 0);
        }
        let chain = &request.0;
        let (hit, stranded) = prefix(chain, |block| cached.contains(&block));
        count(&mut counters, options, request, hit, stranded);
        let tiers = vec![1; hit];
        let mut decision = KvDecision { hit_blocks: hit as u64, tiers, ..KvDecision::default() };
        for &block in &chain[hit..] {
            if cached.len() == frames {
                let others = cached.iter().filter(|other| !chain.contains(other));
                let victim = others.max_by_key(|&&other| (next(other, r), first(other))).copied();
                let Some(victim) = victim.filter(|&v| next(v, r) > next(block, r)) else { break };
                cached.remove(&victim);
                decision.evicted.push(victim);
            }
            cached.insert(block);
            decision.inserted.push(block);
        }
        *counters.entry("insertions").or_insert(0) += decision.inserted.len() as u64;
        *counters.entry("evictions").or_insert(0) += decision.evicted.len() as u64;
        decisions.push(decision);
    }
    if options.warmup_requests >= requests.len() {
        counters.values_mut().for_each(|count| *count = 0);
    }
    KvOutcome { decisions, counters }
}
