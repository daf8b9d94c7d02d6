//! The conformance vectors of the page policies: every decision and every counter, for every
//! policy of the table, over dense ids and over the hashed directory.

use crate::common::{Decision, Outcome, Over, run};
use destage_core::Op;
use destage_policies::POLICIES;
use destage_policies::params;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/");
const FILES: [&str; 3] = ["page-policies.jsonl", "further-policies.jsonl", "ace.jsonl"];

fn read(file: &str) -> String {
    std::fs::read_to_string(VECTORS.to_string() + file)
        .expect("the vectors are part of the repository")
}

struct Vector {
    name: String,
    policy: String,
    params: Vec<(String, params::Value)>,
    fetch_on_write_miss: bool,
    flush_at_end: bool,
    frames: u32,
    trace: Vec<(Op, u64)>,
    decisions: Vec<Decision>,
    counters: serde_json::Map<String, Value>,
}

fn vectors() -> Vec<Vector> {
    FILES.map(read).concat().lines().map(vector).collect()
}

fn vector(line: &str) -> Vector {
    let value: Value = serde_json::from_str(line).expect("one JSON object a line");
    let list = |key: &str| value[key].as_array().expect("a list").iter();
    let mut params = value["params"].as_object().expect("an object").clone();
    let mut option = |key: &str| params.remove(key).is_some_and(|set| set == true);
    Vector {
        name: value["name"].as_str().expect("a string").to_string(),
        policy: value["policy"].as_str().expect("a string").to_string(),
        fetch_on_write_miss: option("fetch_on_write_miss"),
        flush_at_end: option("flush_at_end"),
        params: params.into_iter().map(|(key, value)| (key, param(&value))).collect(),
        frames: value["frames"].as_u64().and_then(|f| f.try_into().ok()).expect("frames"),
        trace: list("accesses").map(access).collect(),
        decisions: list("decisions").map(decision).collect(),
        counters: value["counters"].as_object().expect("an object").clone(),
    }
}

fn param(value: &Value) -> params::Value {
    match value {
        Value::Null => params::Value::None,
        Value::Bool(b) => params::Value::Bool(*b),
        Value::Number(n) if n.is_f64() => params::Value::Real(n.as_f64().expect("a number")),
        Value::Number(n) => params::Value::Int(n.as_i128().expect("an integer")),
        Value::String(text) => params::Value::Text(text.clone()),
        other => panic!("a parameter is a number, a truth value, a text or null, not {other}"),
    }
}

fn access(value: &Value) -> (Op, u64) {
    let op = if value[0] == "r" { Op::Read } else { Op::Write };
    (op, value[1].as_u64().expect("a page"))
}

fn pages(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list of pages").iter().map(|p| p.as_u64().expect("a page")).collect()
}

fn decision(value: &Value) -> Decision {
    Decision {
        hit: value["hit"].as_bool().expect("true or false"),
        evicted: pages(&value["evicted"]),
        flushed: value["flushed"].as_array().expect("a list of groups").iter().map(pages).collect(),
    }
}

/// The counters of section 2.5 that follow from the decisions.
fn counters(
    trace: &[(Op, u64)],
    outcome: &Outcome,
    fetch_on_write_miss: bool,
    flush_at_end: bool,
) -> BTreeMap<&'static str, u64> {
    let mut counters = BTreeMap::new();
    let mut add = |counter, by: usize| *counters.entry(counter).or_insert(0) += by as u64;
    for (&(op, _), decision) in trace.iter().zip(&outcome.decisions) {
        let (counter, fetched) = match (op, decision.hit) {
            (Op::Read, true) => ("read_hits", false),
            (Op::Write, true) => ("write_hits", false),
            (Op::Read, false) => ("read_misses", true),
            (Op::Write, false) => ("write_misses", fetch_on_write_miss),
        };
        add(counter, 1);
        add("physical_reads", usize::from(fetched));
        add("evictions", decision.evicted.len());
        add("physical_writes", decision.flushed.iter().map(Vec::len).sum());
    }
    if flush_at_end {
        let dirty = outcome.resident.iter().filter(|(_, dirty)| *dirty).count();
        add("end_flushes", dirty);
        add("physical_writes", dirty);
    }
    counters
}

/// First difference between a vector and the policy.
fn difference(vector: &Vector, over: Over) -> Option<String> {
    let Vector { name, policy, frames, trace, .. } = vector;
    let outcome = run(policy, *frames, &vector.params, trace, over, true);
    for (index, (expected, got)) in vector.decisions.iter().zip(&outcome.decisions).enumerate() {
        if expected != got {
            let access = trace[index];
            return Some(format!(
                "{name}, {over:?}, access {index} {access:?}: expected {expected:?}, got {got:?}"
            ));
        }
    }
    let got = counters(trace, &outcome, vector.fetch_on_write_miss, vector.flush_at_end);
    vector.counters.iter().find_map(|(counter, expected)| {
        let got = got.get(counter.as_str()).copied().unwrap_or(0);
        (*expected != got)
            .then(|| format!("{name}, {over:?}, {counter}: expected {expected}, got {got}"))
    })
}

#[test]
fn every_vector_is_decided_and_counted_as_written() {
    let vectors = vectors();
    let mut differences = Vec::new();
    for vector in vectors.iter().filter(|v| POLICIES.iter().any(|p| p.name == v.policy)) {
        differences.extend(difference(vector, Over::Dense));
        differences.extend(difference(vector, Over::Hashed));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_policy_of_the_table_has_vectors() {
    let mut with_vectors: BTreeSet<String> = vectors().into_iter().map(|v| v.policy).collect();
    // Those in front of a device are run with it, where it is known.
    for file in ["device-policies.jsonl", "choices.jsonl"] {
        for line in read(file).lines() {
            let vector: Value = serde_json::from_str(line).expect("one JSON object a line");
            let policy = vector["cache"]["policy"].as_str().expect("a string");
            with_vectors.insert(policy.to_string());
        }
    }
    // Those of block policies have a layout of their own (`blocks.rs`).
    for policy in POLICIES.iter().filter(|policy| !policy.clusters) {
        assert!(with_vectors.contains(policy.name), "{}", policy.name);
    }
}
