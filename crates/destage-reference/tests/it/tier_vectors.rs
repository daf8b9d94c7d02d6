//! The conformance vectors of several tiers and of language models: every decision and counter.

use std::collections::BTreeMap;

use destage_reference::{KvOptions, Op, Prompt, Step, run_kv, run_tiers_with_ttl};
use serde_json::{Map, Value, json};

fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
}

/// Those with a third tier or a time to live, of both kinds.
fn of_both_kinds() -> Vec<Value> {
    ["three-tiers.jsonl", "ttl.jsonl"].into_iter().flat_map(vectors).collect()
}

fn object<'a>(vector: &'a Value, key: &str) -> &'a Map<String, Value> {
    vector[key].as_object().expect("an object")
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector[key].as_str().expect("a text")
}

fn list<'a>(vector: &'a Value, key: &str) -> &'a [Value] {
    vector[key].as_array().expect("a list")
}

/// Holds decisions and counters to those of a vector; a key that it leaves out is not compared.
fn holds(vector: &Value, decisions: &[Value], counters: &BTreeMap<&str, u64>) {
    let name = text(vector, "name");
    assert_eq!(list(vector, "decisions").len(), decisions.len(), "{name}");
    for (index, (expected, got)) in list(vector, "decisions").iter().zip(decisions).enumerate() {
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(&got[key], value, "{name}, {index}: {key}\n{got}");
        }
    }
    let expected: BTreeMap<&str, u64> = object(vector, "counters")
        .iter()
        .map(|(counter, value)| (counter.as_str(), value.as_u64().expect("a count")))
        .collect();
    assert_eq!(*counters, expected, "{name}");
}

#[test]
fn every_vector_of_several_tiers_is_decided_and_counted_as_written() {
    let is_kv = |vector: &Value| vector.get("kv").is_some();
    let mut vectors = vectors("tiers.jsonl");
    vectors.extend(of_both_kinds().into_iter().filter(|vector| !is_kv(vector)));
    assert_eq!(vectors.len(), 46 + 16 + 4);
    for vector in vectors {
        let trace: Vec<Step> = list(&vector, "accesses")
            .iter()
            .map(|access| {
                let op = if access[0] == "w" { Op::Write } else { Op::Read };
                Step::Access(op, access[1].as_u64().expect("a page"))
            })
            .collect();
        let frames = vector["frames"].as_u64().expect("frames") as usize;
        let (params, tier2) = (object(&vector, "params"), object(&vector, "tier2"));
        let tier3 = vector.get("tier3").and_then(Value::as_object);
        let times = vector.get("arrivals_ns").and_then(Value::as_array);
        let times: Vec<u64> =
            times.into_iter().flatten().map(|ns| ns.as_u64().expect("a time")).collect();
        let policy = text(&vector, "policy");
        let times = (&times[..], vector.get("ttl_ns").and_then(Value::as_u64));
        let outcome = run_tiers_with_ttl(policy, frames, params, (tier2, tier3), &trace, times);
        let outcome = outcome.expect("a known policy");
        let decisions: Vec<Value> = outcome
            .decisions
            .iter()
            .map(|d| {
                json!({
                    "hit": d.hit, "tier": d.tier, "evicted": d.evicted, "flushed": d.flushed,
                    "admitted": d.admitted, "tier2_evicted": d.tier2_evicted,
                    "tier3_admitted": d.tier3_admitted, "tier3_evicted": d.tier3_evicted,
                    "written_back": d.written_back,
                })
            })
            .collect();
        holds(&vector, &decisions, &outcome.counters);
    }
}

#[test]
fn every_vector_of_a_language_model_is_decided_and_counted_as_written() {
    let is_kv = |vector: &Value| vector.get("kv").is_some();
    let mut vectors = vectors("kv.jsonl");
    vectors.extend(of_both_kinds().into_iter().filter(is_kv));
    vectors.extend(self::vectors("kv-compute.jsonl"));
    assert_eq!(vectors.len(), 30 + 8 + 8 + 2);
    for vector in vectors {
        let requests: Vec<Prompt> = list(&vector, "requests")
            .iter()
            .map(|request| {
                let ids = request[0].as_array().expect("ids");
                let ids = ids.iter().map(|id| id.as_u64().expect("an id")).collect();
                (ids, request[1].as_u64().expect("tokens"))
            })
            .collect();
        let kv = object(&vector, "kv");
        let number = |key: &str, default| kv.get(key).map_or(default, |v| v.as_u64().expect("one"));
        let options = KvOptions {
            head_first: kv.get("touch").is_some_and(|touch| touch == "head-first"),
            block_tokens: number("block_tokens", 512),
            warmup_requests: number("warmup_requests", 0) as usize,
            token_ns: kv.get("token_ns").map(|_| number("token_ns", 0)),
            double_tokens: kv.get("double_tokens").map(|_| number("double_tokens", 0)),
            ttl_and_gap_ns: kv.get("ttl_ns").map(|_| (number("ttl_ns", 0), number("gap_ns", 0))),
        };
        let frames = vector["frames"].as_u64().expect("frames") as usize;
        let tier = |key: &str| vector.get(key).map(|tier| tier.as_object().expect("an object"));
        let (policy, params) = (text(&vector, "policy"), object(&vector, "params"));
        let outcome =
            run_kv(policy, frames, params, (tier("tier2"), tier("tier3")), &options, &requests);
        let outcome = outcome.expect("a known policy");
        let decisions: Vec<Value> = outcome
            .decisions
            .iter()
            .map(|d| {
                json!({
                    "hit_blocks": d.hit_blocks, "tiers": d.tiers, "inserted": d.inserted,
                    "evicted": d.evicted, "admitted": d.admitted,
                    "tier2_evicted": d.tier2_evicted, "tier3_admitted": d.tier3_admitted,
                    "tier3_evicted": d.tier3_evicted,
                })
            })
            .collect();
        holds(&vector, &decisions, &outcome.counters);
    }
}
