//! The conformance vectors of the page policies: every decision and every counter.

use std::collections::BTreeMap;

use destage_reference::{Decision, NAMES, Op, model, run};
use serde_json::{Map, Value};

const VECTORS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/page-policies.jsonl"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/further-policies.jsonl"),
];

struct Vector {
    name: String,
    policy: String,
    params: Map<String, Value>,
    frames: usize,
    trace: Vec<(Op, u64)>,
    decisions: Vec<Decision>,
    counters: BTreeMap<String, u64>,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_string()
}

fn pages(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list of pages").iter().map(|p| p.as_u64().expect("a page")).collect()
}

fn access(value: &Value) -> (Op, u64) {
    let op = match value[0].as_str() {
        Some("r") => Op::Read,
        Some("w") => Op::Write,
        _ => panic!("expected r or w: {value}"),
    };
    (op, value[1].as_u64().expect("a page"))
}

fn decision(value: &Value) -> Decision {
    Decision {
        hit: value["hit"].as_bool().expect("true or false"),
        evicted: pages(&value["evicted"]),
        flushed: value["flushed"].as_array().expect("a list of groups").iter().map(pages).collect(),
    }
}

fn vector(line: &str) -> Vector {
    let value: Value = serde_json::from_str(line).expect("one JSON object a line");
    let list = |key: &str| value[key].as_array().expect("a list").clone();
    let object = |key: &str| value[key].as_object().expect("an object").clone();
    Vector {
        name: text(&value["name"]),
        policy: text(&value["policy"]),
        params: object("params"),
        frames: usize::try_from(value["frames"].as_u64().expect("an integer")).expect("in range"),
        trace: list("accesses").iter().map(access).collect(),
        decisions: list("decisions").iter().map(decision).collect(),
        counters: object("counters")
            .into_iter()
            .map(|(counter, value)| (counter, value.as_u64().expect("a count")))
            .collect(),
    }
}

fn vectors() -> Vec<Vector> {
    let read = |path| {
        let file = std::fs::read_to_string(path).expect("the vectors are part of the repository");
        file.lines().map(vector).collect::<Vec<_>>()
    };
    VECTORS.into_iter().flat_map(read).collect()
}

/// Where a vector and its reference model first differ, with the lists before and after that
/// access.
fn difference(vector: &Vector) -> Option<String> {
    let Vector { name, policy, params, frames, trace, .. } = vector;
    let mut model = model(policy, *frames, params, trace).expect("a known policy");
    for (index, &(op, page)) in trace.iter().enumerate() {
        let before = model.lists();
        let decided = model.access(op, page);
        let expected = &vector.decisions[index];
        if decided != *expected {
            let after = model.lists();
            return Some(format!(
                "{name}, access {index} ({op:?} {page}): expected {expected:?}, got {decided:?}\n\
                 before: {before}\nafter:  {after}"
            ));
        }
    }
    let outcome = run(policy, *frames, params, trace).expect("a known policy");
    for (counter, &got) in &outcome.counters {
        // A counter that a vector does not list is 0.
        let expected = vector.counters.get(*counter).copied().unwrap_or(0);
        if got != expected {
            return Some(format!("{name}, {counter}: expected {expected}, got {got}"));
        }
    }
    None
}

#[test]
fn every_vector_is_decided_and_counted_as_written() {
    let vectors = vectors();
    assert!(vectors.len() >= 204 + 143, "only {} vectors were read", vectors.len());
    let differences: Vec<String> = vectors.iter().filter_map(difference).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_vector_gives_one_decision_per_access_and_only_known_counters() {
    for vector in vectors() {
        assert_eq!(vector.decisions.len(), vector.trace.len(), "{}", vector.name);
        let outcome = run(&vector.policy, vector.frames, &vector.params, &vector.trace);
        let known = outcome.expect("a known policy").counters;
        for counter in vector.counters.keys() {
            assert!(known.contains_key(counter.as_str()), "{}: {counter}", vector.name);
        }
    }
}

#[test]
fn every_policy_has_vectors() {
    let vectors = vectors();
    for name in NAMES {
        assert!(vectors.iter().any(|vector| vector.policy == *name), "{name}");
    }
}
