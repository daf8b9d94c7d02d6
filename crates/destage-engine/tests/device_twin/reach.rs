//! What the random vectors reach: a property that never meets a collection says nothing about one.

use crate::generate::{self, Caches};
use destage_twins::ssd::simulate;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The same vectors each time.
fn vectors(caches: Caches, count: usize) -> Vec<Value> {
    let mut runner = TestRunner::deterministic();
    let strategy = generate::vector(caches);
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a vector").current()).collect()
}

fn results(vector: &Value) -> Value {
    simulate(vector).expect("a vector that the specification allows")
}

/// The same vector with one key of one table changed, and its results.
fn with(vector: &Value, table: &str, key: &str, value: Value) -> Value {
    let mut other = vector.clone();
    other[table][key] = value;
    results(&other)
}

struct Reached(BTreeMap<String, u32>);

impl Reached {
    fn note(&mut self, what: impl Into<String>, reached: bool) {
        *self.0.entry(what.into()).or_default() += u32::from(reached);
    }

    /// Each of them at least so many times.
    fn all(&self, times: u32) {
        let missed: Vec<_> = self.0.iter().filter(|&(_, &count)| count < times).collect();
        assert!(missed.is_empty(), "reached too seldom: {missed:?}");
    }
}

#[test]
fn random_drives_reach_every_mode_at_work() {
    let mut reached = Reached(BTreeMap::new());
    for vector in vectors(Caches::None, 400) {
        let device = &vector["device"];
        let results = results(&vector);
        let counted = |counter: &str| results["counters"][counter].as_u64().expect("a count");
        let is = |key: &str, value: &str| device[key] == value;
        let (moves, programs) = (counted("gc_moves") > 0, counted("flash_programs") > 50);
        let types = |key: &str| device[key].as_array().expect("a list").len() > 1;

        for key in ["gc_mode", "alloc", "sched", "bus", "queue_level", "precondition"] {
            let value = device[key].as_str().expect("a word");
            reached.note(format!("moves with {key}={value}"), moves);
        }
        let closed = vector.get("host").is_some();
        reached.note("moves in a closed loop", closed && moves);
        reached.note("moves over the pins", device["copyback"] == false && moves);
        reached
            .note("moves of several page types", types("read_ns") && types("program_ns") && moves);
        reached.note("summary pages", counted("summary_programs") > 10 && moves);
        reached.note("several pages as one stripe", device["stripe_pages"] != 1 && programs);
        reached.note("background without collection", is("gc_mode", "background") && !moves);
        let requests = vector["requests"].as_array().expect("a list");
        let empty = requests.iter().any(|request| request[3] == 0);
        reached.note("empty requests", empty);
        reached.note("several pages a request", counted("page_accesses") > counted("requests"));

        if is("gc_mode", "idle") {
            let foreground = with(&vector, "device", "gc_mode", json!("foreground"));
            let more = counted("gc_runs") > foreground["counters"]["gc_runs"].as_u64().unwrap_or(0);
            reached.note("collections of idle units", more);
        }
        if is("bus", "shared") {
            let private = with(&vector, "device", "bus", json!("private"));
            let waits = private["counters"]["unit_busy_ns"] != results["counters"]["unit_busy_ns"];
            reached.note("units that wait for a bus", waits);
        }
        if is("sched", "read_first") {
            let fcfs = with(&vector, "device", "sched", json!("fcfs"));
            let overtakes = fcfs["completions_ns"] != results["completions_ns"];
            reached.note("reads that overtake", overtakes);
        }
        if device.get("address_mode").is_none() {
            let bytes = device["page_bytes"].as_u64().expect("a size");
            let first = |request: &Value| request[2].as_u64().expect("an offset") / bytes;
            let pages = device["logical_pages"].as_u64().unwrap_or(u64::MAX);
            reached.note("addresses that wrap", requests.iter().any(|r| first(r) >= pages));
        }
        let free = with(&vector, "device", "unmapped_read", json!("free"));
        let unmapped = is("unmapped_read", "home") && free["counters"] != results["counters"];
        reached.note("reads of pages never written", unmapped);
    }
    reached.all(10);
}

#[test]
fn random_loads_make_policies_decide_by_what_they_see() {
    let mut reached = Reached(BTreeMap::new());
    for vector in vectors(Caches::Device, 600) {
        let policy = vector["cache"]["policy"].as_str().expect("a name");
        let alloc = vector["device"]["alloc"].as_str().expect("a word");
        let results = results(&vector);
        let counted = |counter: &str| results["counters"][counter].as_u64().expect("a count");
        let differs = |other: &Value| other["decisions"] != results["decisions"];
        let with = |key: &str, value: Value| with(&vector, "cache", key, value);
        // Another policy does not have the same parameters.
        let against = |other: &str| {
            let mut vector = vector.clone();
            let keys = ["policy", "frames", "hit_ns", "evict_wait", "read_wait"];
            let cache = vector["cache"].as_object_mut().expect("a table");
            cache.retain(|key, _| keys.contains(&key.as_str()));
            cache.insert("policy".to_string(), other.into());
            self::results(&vector)
        };

        reached.note("hits", counted("hits") > 0);
        reached.note("dirty victims", counted("dirty_evictions") > 20);
        reached.note("dirty victims on a collecting unit", counted("dirty_evictions_in_gc") > 0);
        reached.note("unbalance", counted("unbalance_samples") > 0);
        reached.note("unbalance over ten", counted("unbalance_gt10") > 0);
        let base = match policy {
            "ecr" if alloc == "static" => Some("cflru-e"),
            "ecr-e" => Some("lru"),
            "gcar-lru" => Some("lru"),
            "sac" => Some("dual-queue"),
            _ => None,
        };
        if let Some(base) = base {
            reached.note(format!("{policy}, {alloc}: not as {base}"), differs(&against(base)));
        }
        if let Some(cqct) = vector["cache"].get("cqct").and_then(Value::as_str) {
            let backlog = with("cqct", json!("backlog"));
            let other = ["backlog", "eq1_strict"].contains(&cqct) || differs(&backlog);
            reached.note(format!("cqct={cqct}"), other);
        }
        if policy == "gcar-cflru" {
            let all = with("window_fraction", json!(1.0));
            reached.note("gcar-cflru: a window that matters", differs(&all));
            let cflru = against("gcar-lru");
            reached.note("gcar-cflru: a window at all", differs(&cflru));
        }
        if ["gcar-lru", "gcar-cflru"].contains(&policy) {
            let all = counted("dirty_evictions_in_gc") > 0;
            reached.note("GCaR with every unit collecting", all);
        }
        if policy == "sac" {
            let patient = with("starve_limit", json!(1_000_000));
            reached.note("sac: queue 0 starves", differs(&patient));
        }
        for (key, otherwise) in [("evict_wait", "program"), ("read_wait", "frame")] {
            if vector["cache"][key] != otherwise {
                let other = with(key, json!(otherwise));
                let matters = other["completions_ns"] != results["completions_ns"];
                let value = vector["cache"][key].as_str().expect("a word");
                reached.note(format!("{key}={value} matters"), matters);
            }
        }
    }
    reached.all(4);
}
