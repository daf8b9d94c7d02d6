//! Requests of a language model: against the reference model on random forests, the laws of
//! `docs/spec/tiers.md` 12, and Mooncake's conversation trace against kvcache-simulator.

use destage_core::{NEVER, Page, Plan, Request};
use destage_engine::spec::PolicySpec;
use destage_engine::tiers::{AdmissionSpec, LowerTierSpec, LowerTiersSpec};
use destage_policies::{Setup, dense};
use destage_reference as models;
use destage_replay::accesses::{Columns, Extent};
use destage_replay::input::{Input, NextUses};
use destage_replay::kv::{Chains, KvDecision, KvReplay, KvReplayed, TokenTime, Touch, prefix_min};
use destage_replay::observe::{Observer, Unobserved};
use destage_replay::tiers::{Offer, Promote, TierRules};
use destage_replay::warmup::Warmup;
use destage_trace::{
    CacheOptions, ChainMark, DecodeOptions, NoHooks, ReaderOptions, Trace, open_trace,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// Tokens of a block of the random forests.
const BLOCK_TOKENS: u64 = 16;

/// Requests over a random forest: every block has one predecessor.
fn prompts() -> impl Strategy<Value = Vec<models::Prompt>> {
    let request = (prop::collection::vec(0..3u64, 1..8), 0..20u64);
    prop::collection::vec(request, 1..60).prop_map(|requests| {
        let mut ids: HashMap<Vec<u64>, u64> = HashMap::new();
        let named = |(path, short): (Vec<u64>, u64)| {
            let chain = (1..=path.len()).map(|length| {
                let next = ids.len() as u64;
                *ids.entry(path[..length].to_vec()).or_insert(next)
            });
            let chain: Vec<u64> = chain.collect();
            let prompt = (chain.len() as u64 * BLOCK_TOKENS).saturating_sub(short);
            (chain, prompt)
        };
        requests.into_iter().map(named).collect()
    })
}

/// Prompts as a decoded trace.
struct Decoded {
    lpns: Vec<u64>,
    ids: Vec<u32>,
    extents: Vec<u32>,
    marks: Vec<ChainMark>,
    next_uses: Vec<u64>,
}

impl Decoded {
    fn of(prompts: &[models::Prompt]) -> Decoded {
        let (mut ids, mut marks) = (Vec::new(), Vec::new());
        for (chain, prompt) in prompts {
            for (place, &id) in chain.iter().enumerate() {
                let left = prompt.saturating_sub(place as u64 * BLOCK_TOKENS);
                let tokens = if *prompt == 0 { BLOCK_TOKENS } else { left.clamp(1, BLOCK_TOKENS) };
                ids.push(id as u32);
                marks.push(ChainMark::new(tokens, place == 0));
            }
        }
        let mut next = HashMap::new();
        let mut next_uses = vec![NEVER; ids.len()];
        for (row, &id) in ids.iter().enumerate().rev() {
            next_uses[row] = next.insert(id, row as u64).unwrap_or(NEVER);
        }
        let blocks = u64::from(ids.iter().copied().max().unwrap_or(0)) + 1;
        let extents = vec![Extent::new(1, false, false, false).0; ids.len()];
        Decoded { lpns: (0..blocks).collect(), ids, extents, marks, next_uses }
    }

    /// Arrivals of the rows, a request every so many nanoseconds.
    fn arrivals_ns(&self, gap_ns: u64) -> Vec<u64> {
        let mut begun = 0;
        let arrival = |mark: &ChainMark| {
            begun += u64::from(mark.begins());
            (begun - 1) * gap_ns
        };
        self.marks.iter().map(arrival).collect()
    }

    /// Time of computing each block.
    fn compute_ns(&self, time: Option<TokenTime>) -> Arc<[u64]> {
        let chains = Chains { ids: &self.ids, marks: &self.marks, compute_ns: None };
        time.unwrap_or(TokenTime::UNIT).of_blocks(&chains, self.lpns.len())
    }

    fn replay(&self, touch: Touch, warmup: u64) -> KvReplay<'_> {
        let Decoded { lpns, ids, extents, marks, next_uses } = self;
        let columns = Columns { first_ids: ids, extents, lpns };
        KvReplay {
            columns,
            chains: Chains::of(&columns, marks).expect("chains of blocks"),
            next_uses: NextUses::Long(next_uses),
            arrivals_ns: &[],
            warmup: Warmup::Requests(warmup),
            touch,
            ttl_ns: None,
        }
    }
}

/// Keeps every decision.
#[derive(Default)]
struct Recorder(Vec<models::KvDecision>);

impl Observer for Recorder {
    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}

    fn chain(&mut self, decision: &KvDecision) {
        let numbers = |pages: &[Page]| pages.iter().map(|page| page.0).collect::<Vec<_>>();
        let KvDecision { tiers, inserted, evicted, below, .. } = decision;
        let below = below.clone().unwrap_or_default();
        self.0.push(models::KvDecision {
            hit_blocks: tiers.len() as u64,
            tiers: tiers.iter().map(|&tier| tier.into()).collect(),
            inserted: numbers(inserted),
            evicted: numbers(evicted),
            admitted: numbers(&below.admitted),
            tier2_evicted: numbers(&below.tier2_evicted),
            tier3_admitted: numbers(&below.tier3_admitted),
            tier3_evicted: numbers(&below.tier3_evicted),
        });
    }
}

/// A tier below the first, drawn.
fn lower_tier() -> impl Strategy<Value = LowerTierSpec> {
    let rules = select(vec![
        (Offer::Evicted, Promote::Copy),
        (Offer::Evicted, Promote::Move),
        (Offer::Inserted, Promote::Copy),
    ]);
    let filters = select(vec!["always", "nth", "tinylfu[threshold=2]", "larc", "probability"]);
    let policies = select(vec!["lru", "fifo", "arc", "s3-fifo", "clock"]);
    (policies, 1..25u32, filters, rules).prop_map(|(policy, frames, admit, (offer, promote))| {
        LowerTierSpec {
            policy: PolicySpec::parse(policy).expect("a policy"),
            frames,
            admit: AdmissionSpec::parse(admit).expect("a filter"),
            rules: TierRules { offer, promote, ..TierRules::default() },
            page_bytes: 4096,
            pins: None,
        }
    })
}

/// The tier as the reference model takes it.
fn of_model(tier: &LowerTierSpec) -> Map<String, serde_json::Value> {
    let given = |given: &[(String, destage_policies::params::Value)]| -> Map<String, _> {
        let pairs = given.iter();
        pairs
            .map(|(key, value)| (key.clone(), serde_json::to_value(value).expect("JSON")))
            .collect()
    };
    let LowerTierSpec { policy, frames, admit, rules, .. } = tier;
    let tier = json!({
        "policy": policy.name, "frames": frames, "admit": admit.name,
        "admit_params": given(&admit.given), "offer": rules.offer, "promote": rules.promote,
    });
    tier.as_object().expect("one").clone()
}

fn run(
    replay: &KvReplay<'_>,
    policy: &str,
    frames: u32,
    observer: &mut dyn Observer,
) -> KvReplayed {
    let replayed = if policy == prefix_min::NAME {
        prefix_min::run(replay, frames, observer).expect("one predecessor each")
    } else {
        let params = PolicySpec::parse(policy).expect("a policy").params(&[]).expect("defaults");
        let pages = replay.columns.lpns.len() as u32;
        let setup = Setup { params, trace_pages: Some(pages.into()), ..Setup::new(frames) };
        replay.run(dense(policy, &setup, pages).expect("a policy"), None, observer)
    };
    replayed.expect("no stop")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn requests_decide_and_count_as_their_model(
        prompts in prompts(),
        policy in select(vec!["lru", "fifo", "arc", "s3-fifo", "larc", "min", "2q", "prefix-min"]),
        frames in 1..25u32, head_first in any::<bool>(), warmup in 0..30usize,
    ) {
        let decoded = Decoded::of(&prompts);
        let touch = if head_first { Touch::HeadFirst } else { Touch::TailFirst };
        let replay = decoded.replay(touch, warmup as u64);
        let mut recorder = Recorder::default();
        let replayed = run(&replay, policy, frames, &mut recorder);
        let options = models::KvOptions {
            head_first, block_tokens: BLOCK_TOKENS, warmup_requests: warmup, ..Default::default()
        };
        let params = Map::new();
        let alone = (None, None);
        let model = models::run_kv(policy, frames as usize, &params, alone, &options, &prompts)
            .expect("a known policy");
        prop_assert_eq!(&recorder.0, &model.decisions);
        for (counter, got) in replayed.kv.iter() {
            prop_assert_eq!(got, model.counters[counter], "{}", counter);
        }
        let unwatched = run(&replay, policy, frames, &mut Unobserved);
        prop_assert_eq!(unwatched.kv, replayed.kv, "an unobserved run counts the same");
    }

    #[test]
    fn requests_over_two_and_three_tiers_decide_and_count_as_their_model(
        prompts in prompts(), policy in select(vec!["lru", "fifo", "arc", "s3-fifo"]),
        frames in 1..12u32, head_first in any::<bool>(), warmup in 0..30usize,
        tier2 in lower_tier(), tier3 in prop::option::of(lower_tier()),
    ) {
        let decoded = Decoded::of(&prompts);
        let touch = if head_first { Touch::HeadFirst } else { Touch::TailFirst };
        let replay = decoded.replay(touch, warmup as u64);
        let options = models::KvOptions {
            head_first, block_tokens: BLOCK_TOKENS, warmup_requests: warmup, ..Default::default()
        };
        let (second, third) = (of_model(&tier2), tier3.as_ref().map(of_model));
        let lower = (Some(&second), third.as_ref());
        let model = models::run_kv(policy, frames as usize, &Map::new(), lower, &options, &prompts)
            .expect("a known policy");
        let lower = LowerTiersSpec { tier2, tier3 };
        let lower = || lower.build(&decoded.lpns, &[]).expect("tiers");
        let params = PolicySpec::parse(policy).expect("a policy").params(&[]).expect("defaults");
        let pages = decoded.lpns.len() as u32;
        let setup = Setup { params, trace_pages: Some(pages.into()), ..Setup::new(frames) };
        let tier1 = || dense(policy, &setup, pages).expect("a policy");
        let mut recorder = Recorder::default();
        let replayed = replay.run(tier1(), Some(lower()), &mut recorder).expect("no stop");
        prop_assert_eq!(&recorder.0, &model.decisions);
        let (of_tier2, of_tier3) = (replayed.tiers.of_tier2(), replayed.tiers.of_tier3());
        let all = replayed.kv.iter().chain(of_tier2.iter()).chain(of_tier3.iter());
        let named = all.filter(|(counter, _)| model.counters.contains_key(counter));
        let named: BTreeMap<&str, u64> = named.collect();
        prop_assert_eq!(named, model.counters);
        let unwatched = replay.run(tier1(), Some(lower()), &mut Unobserved).expect("no stop");
        prop_assert_eq!((unwatched.kv, unwatched.tiers), (replayed.kv, replayed.tiers));
    }

    #[test]
    fn the_bound_strands_nothing_and_no_policy_has_more(
        prompts in prompts(), policy in select(vec!["lru", "fifo", "arc", "lirs", "min", "sieve"]),
        frames in 1..25u32,
    ) {
        let decoded = Decoded::of(&prompts);
        let replay = decoded.replay(Touch::TailFirst, 0);
        let bound = run(&replay, prefix_min::NAME, frames, &mut Unobserved).kv;
        prop_assert_eq!((bound.stranded_blocks, bound.reinserted_blocks), (0, 0));
        let other = run(&replay, policy, frames, &mut Unobserved).kv;
        prop_assert!(other.hit_blocks <= bound.hit_blocks, "{policy}: {other:?} {bound:?}");
        let longest = prompts.iter().map(|(chain, _)| chain.len()).max().unwrap_or(0);
        if policy == "lru" && longest <= frames as usize {
            prop_assert_eq!(other.stranded_blocks, 0, "a chain dies from its end");
        }
    }
}

/// A time of computing a token, drawn.
fn token_time() -> impl Strategy<Value = Option<TokenTime>> {
    let doubled = prop::option::of(select(vec![1, 7, 40, 1000]));
    let time = (select(vec![1, 3, 1000]), doubled);
    prop::option::of(
        time.prop_map(|(token_ns, double_tokens)| TokenTime { token_ns, double_tokens }),
    )
}

/// Options of the reference model with this time of computing a token.
fn timed(time: Option<TokenTime>, warmup_requests: usize) -> models::KvOptions {
    models::KvOptions {
        block_tokens: BLOCK_TOKENS,
        warmup_requests,
        token_ns: time.map(|time| time.token_ns),
        double_tokens: time.and_then(|time| time.double_tokens),
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn blocks_are_worth_their_time_of_computing_as_in_the_model(
        prompts in prompts(), time in token_time(), frames in 1..25u32, warmup in 0..30usize,
        (policy, value) in select(vec![
            ("pgdsf", Some("block")), ("pgdsf", Some("suffix")), ("lru", None),
            ("prefix-min", None),
        ]),
        below in prop::option::of((select(vec!["lru", "pgdsf"]), 1..25u32, lower_tier())),
        ttl_ns in prop::option::of(1..300u64),
    ) {
        let decoded = Decoded::of(&prompts);
        let compute_ns = decoded.compute_ns(time);
        let mut replay = decoded.replay(Touch::TailFirst, warmup as u64);
        let arrivals_ns = decoded.arrivals_ns(7);
        if let Some(ttl_ns) = ttl_ns.filter(|_| policy != prefix_min::NAME) {
            (replay.ttl_ns, replay.arrivals_ns) = (Some(ttl_ns), &arrivals_ns);
        }
        replay.chains = replay.chains.with_compute_ns(time.map(|_| &compute_ns[..]));
        let given = value.map(|value| format!("{policy}[value={value}]"));
        let spec = PolicySpec::parse(given.as_deref().unwrap_or(policy)).expect("a policy");
        let lower = below.filter(|_| policy != prefix_min::NAME).map(|(policy, frames, third)| {
            let admit = AdmissionSpec::parse("worth[read_ns=20ns]").expect("a filter");
            let policy = PolicySpec::parse(policy).expect("a policy");
            let rules = TierRules::default();
            let page_bytes = 4096;
            let tier2 = LowerTierSpec { policy, frames, admit, rules, page_bytes, pins: None };
            LowerTiersSpec { tier2, tier3: Some(third) }
        });
        let mut recorder = Recorder::default();
        let replayed = if policy == prefix_min::NAME {
            prefix_min::run(&replay, frames, &mut recorder).expect("one predecessor each")
        } else {
            let params = spec.params(&[]).expect("defaults");
            let pages = decoded.lpns.len() as u32;
            let compute_ns = Some(compute_ns.clone());
            let trace_pages = Some(pages.into());
            let setup = Setup { params, trace_pages, compute_ns, ..Setup::new(frames) };
            let tiers = lower.as_ref().map(|lower| {
                let mut parts = lower.parts(&decoded.lpns, &[]).expect("tiers");
                parts.learn(setup.compute_ns.as_ref().expect("times"), (None, None));
                parts.erased().expect("tiers")
            });
            replay.run(dense(policy, &setup, pages).expect("a policy"), tiers, &mut recorder)
        };
        let replayed = replayed.expect("no stop");
        let of_value = value.map(|value| ("value".into(), json!(value)));
        let params: Map<String, _> = of_value.into_iter().collect();
        let tier2 = lower.as_ref().map(|lower| of_model(&lower.tier2));
        let tier3 = lower.as_ref().and_then(|lower| lower.tier3.as_ref()).map(of_model);
        let tiers = (tier2.as_ref(), tier3.as_ref());
        let ttl_and_gap_ns = replay.ttl_ns.map(|ttl_ns| (ttl_ns, 7));
        let options = models::KvOptions { ttl_and_gap_ns, ..timed(time, warmup) };
        let model = models::run_kv(policy, frames as usize, &params, tiers, &options, &prompts)
            .expect("a known policy");
        prop_assert_eq!(&recorder.0, &model.decisions);
        for (counter, got) in replayed.kv.iter() {
            prop_assert_eq!(got, model.counters[counter], "{}", counter);
        }
        prop_assert_eq!(replayed.kv.compute_ns > 0, time.is_some() && replayed.kv.blocks > 0);
        let longest = prompts.iter().map(|(chain, _)| chain.len()).max().unwrap_or(0);
        let is_alone = replay.ttl_ns.is_none() && lower.is_none();
        if is_alone && policy != "lru" && longest <= frames as usize {
            prop_assert_eq!(replayed.kv.stranded_blocks, 0, "a chain dies from its end");
        }
    }
}

/// The blocks cached after each request, by the decisions of a run.
fn contents(decisions: &[models::KvDecision]) -> Vec<BTreeSet<u64>> {
    let mut cached = BTreeSet::new();
    let after = |decision: &models::KvDecision| {
        // A block may be given up and taken in again, so the balance of both counts.
        let mut balance: BTreeMap<u64, i32> = BTreeMap::new();
        decision.inserted.iter().for_each(|&block| *balance.entry(block).or_default() += 1);
        decision.evicted.iter().for_each(|&block| *balance.entry(block).or_default() -= 1);
        for (block, change) in balance {
            match change {
                1 => assert!(cached.insert(block), "{block} comes in"),
                -1 => assert!(cached.remove(&block), "{block} leaves"),
                _ => assert_eq!(change, 0),
            }
        }
        cached.clone()
    };
    decisions.iter().map(after).collect()
}

/// `docs/spec/tiers.md` 7.4, by its words: of the blocks that are not of the request and have no
/// cached successor, the one whose last request is oldest leaves, of one request the last block.
fn leaf_only_lru(prompts: &[models::Prompt], frames: usize) -> Vec<BTreeSet<u64>> {
    let chains = prompts.iter().map(|(chain, _)| chain);
    let before: HashMap<u64, u64> =
        chains.flat_map(|chain| chain.windows(2).map(|two| (two[1], two[0]))).collect();
    let mut last: BTreeMap<u64, (usize, usize)> = BTreeMap::new(); // request, place from the end
    let after = |(request, (chain, _)): (usize, &models::Prompt)| {
        let missing = chain.iter().filter(|block| !last.contains_key(block)).count();
        while last.len() + missing > frames {
            let is_leaf = |block: u64| !last.keys().any(|other| before.get(other) == Some(&block));
            let idle = last.iter().filter(|(block, _)| !chain.contains(block));
            let leaves = idle.filter(|(block, _)| is_leaf(**block));
            let (&victim, _) = leaves.min_by_key(|(_, last)| **last).expect("a leaf is idle");
            last.remove(&victim);
        }
        let places = chain.iter().rev().enumerate();
        last.extend(places.map(|(place, &block)| (block, (request, place))));
        last.keys().copied().collect()
    };
    prompts.iter().enumerate().map(after).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lru_from_the_tail_is_lru_among_leaves(prompts in prompts(), more in 0..25u32) {
        let longest = prompts.iter().map(|(chain, _)| chain.len()).max().expect("a request");
        let frames = longest as u32 + more;
        let decoded = Decoded::of(&prompts);
        let mut recorder = Recorder::default();
        run(&decoded.replay(Touch::TailFirst, 0), "lru", frames, &mut recorder);
        prop_assert_eq!(contents(&recorder.0), leaf_only_lru(&prompts, frames as usize));
    }
}

#[test]
fn touched_from_the_head_a_chain_loses_its_head_first() {
    let prompts: Vec<models::Prompt> = vec![(vec![0, 1, 2], 0), (vec![3], 0), (vec![0, 1, 2], 0)];
    let decoded = Decoded::of(&prompts);
    let after = |touch| {
        let mut recorder = Recorder::default();
        let counted = run(&decoded.replay(touch, 0), "lru", 3, &mut recorder).kv;
        (contents(&recorder.0)[1].clone(), counted.hit_blocks, counted.stranded_blocks)
    };
    assert_eq!(after(Touch::TailFirst), (BTreeSet::from([0, 1, 3]), 2, 0));
    assert_eq!(after(Touch::HeadFirst), (BTreeSet::from([1, 2, 3]), 0, 2));
    assert_eq!(leaf_only_lru(&prompts, 3)[1], BTreeSet::from([0, 1, 3]));
}

#[test]
fn chains_of_one_block_are_page_reads() {
    let prompts: Vec<models::Prompt> =
        (0..500u64).map(|k| (vec![k * k % 37], BLOCK_TOKENS)).collect();
    let decoded = Decoded::of(&prompts);
    let replay = decoded.replay(Touch::TailFirst, 0);
    let params = json!({});
    let ops: Vec<_> = prompts.iter().map(|(chain, _)| (models::Op::Read, chain[0])).collect();
    for policy in ["lru", "arc", "larc", "min", "clock-pro"] {
        let counted = run(&replay, policy, 9, &mut Unobserved).kv;
        let params = params.as_object().expect("an object");
        let model = models::run(policy, 9, params, &ops).expect("a known policy");
        assert_eq!(counted.hit_blocks, model.counters["read_hits"], "{policy}");
    }
}

/// A file of the folder of real traces, decoded; `None`, and a line that says so, without it.
fn real(name: &str) -> Option<Arc<Trace>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let folder = std::env::var_os("DESTAGE_TRACES").map_or_else(|| beside.into(), PathBuf::from);
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("skipped: {name} is not there (DESTAGE_TRACES)");
        return None;
    }
    let mut reader = ReaderOptions::default();
    reader.set_text("bytes_per_token", "1024").expect("a good option");
    let (decode, cache) =
        (DecodeOptions::default(), CacheOptions { enabled: false, ..CacheOptions::default() });
    Some(open_trace(&[path], &reader, &decode, &cache, &mut NoHooks).expect("a trace"))
}

fn hit_tokens(trace: &Trace, policy: &str, touch: Touch, frames: u32) -> (u64, u64) {
    let next_uses = trace.next_uses().expect("room for them");
    let input = Input::new(trace, Some(&next_uses));
    let replay = KvReplay {
        columns: input.columns,
        chains: Chains::of(&input.columns, input.chains).expect("chains of blocks"),
        next_uses: input.next_uses,
        arrivals_ns: input.arrivals_ns,
        warmup: Warmup::Percent(50.0),
        touch,
        ttl_ns: None,
    };
    let counted = run(&replay, policy, frames, &mut Unobserved).kv;
    (counted.hit_tokens, counted.tokens)
}

/// `docs/spec/tiers.md` 8.3: hit tokens of the last half of the requests.
#[test]
fn the_conversation_trace_hits_the_tokens_of_kvcache_simulator() {
    let names = ["mooncake_conversation.jsonl.xz", "conversation_trace.jsonl"];
    let Some(trace) = names.into_iter().find_map(real) else { return };
    for (frames, fifo, lru, bound) in [
        (248, 2_845_768, 3_082_824, 6_941_117),
        (506, 2_960_456, 3_085_579, 9_570_541),
        (2_026, 3_711_455, 3_823_976, 18_147_441),
        (8_106, 11_122_465, 12_646_597, 27_021_684),
    ] {
        let counted = |policy, touch| hit_tokens(&trace, policy, touch, frames);
        assert_eq!(counted("fifo", Touch::HeadFirst), (fifo, 67_915_607), "fifo, {frames}");
        assert_eq!(counted("lru", Touch::TailFirst), (lru, 67_915_607), "lru, {frames}");
        assert_eq!(counted("prefix-min", Touch::TailFirst), (bound, 67_915_607), "{frames}");
    }
}

#[test]
fn the_excerpt_of_the_conversation_trace_is_bounded() {
    let Some(trace) = real("mooncake_conversation_first2000.jsonl.xz") else { return };
    for frames in [248, 2_026] {
        let counted = |policy, touch| hit_tokens(&trace, policy, touch, frames).0;
        let bound = counted("prefix-min", Touch::TailFirst);
        for (policy, touch) in [("fifo", Touch::HeadFirst), ("lru", Touch::TailFirst)] {
            let hit = counted(policy, touch);
            assert!(0 < hit && hit < bound, "{policy} {frames}: {hit} of {bound}");
        }
    }
}
