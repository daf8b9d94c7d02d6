//! What the random vectors reach: a property that never meets a collection says nothing about one.

use crate::generate::{self, Caches, Ftls};
use destage_reference::ssd::simulate;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The same vectors each time.
fn vectors(caches: Caches, ftls: Ftls, count: usize) -> Vec<Value> {
    drawn(&generate::vector(caches, ftls), count)
}

pub(crate) fn drawn(strategy: &impl Strategy<Value = Value>, count: usize) -> Vec<Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a vector").current()).collect()
}

pub(crate) fn results(vector: &Value) -> Value {
    simulate(vector).expect("a vector that the specification allows")
}

/// The same vector with one key of one table changed, and its results.
pub(crate) fn with(vector: &Value, table: &str, key: &str, value: Value) -> Value {
    let mut other = vector.clone();
    other[table][key] = value;
    results(&other)
}

pub(crate) struct Reached(pub(crate) BTreeMap<String, u32>);

impl Reached {
    pub(crate) fn note(&mut self, what: impl Into<String>, reached: bool) {
        *self.0.entry(what.into()).or_default() += u32::from(reached);
    }

    /// Each of them at least so many times.
    pub(crate) fn all(&self, times: u32) {
        let missed: Vec<_> = self.0.iter().filter(|&(_, &count)| count < times).collect();
        assert!(missed.is_empty(), "reached too seldom: {missed:?}");
    }
}

#[test]
fn random_drives_reach_every_mode_at_work() {
    let mut reached = Reached(BTreeMap::new());
    for vector in vectors(Caches::None, Ftls::Page, 400) {
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

/// Whether the instants at which a page has its frame and its data decide when requests end.
fn note_waits(reached: &mut Reached, vector: &Value, results: &Value) {
    for (key, otherwise) in [("evict_wait", "program"), ("read_wait", "frame")] {
        if vector["cache"][key] != otherwise {
            let other = with(vector, "cache", key, json!(otherwise));
            let matters = other["completions_ns"] != results["completions_ns"];
            let value = vector["cache"][key].as_str().expect("a word");
            reached.note(format!("{key}={value} matters"), matters);
        }
    }
}

#[test]
fn random_loads_make_policies_decide_by_what_they_see() {
    let mut reached = Reached(BTreeMap::new());
    for vector in vectors(Caches::Device, Ftls::Page, 600) {
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
        note_waits(&mut reached, &vector, &results);
    }
    reached.all(4);
}

#[test]
fn random_loads_let_a_writer_write_and_wait_in_every_mode() {
    let mut reached = Reached(BTreeMap::new());
    for vector in vectors(Caches::Ahead, Ftls::Page, 300) {
        let results = results(&vector);
        let written = results["written"].as_array().expect("a list").len();
        let policy = vector["cache"]["policy"].as_str().expect("a name");
        reached.note(format!("{policy}: idle writes"), written > 5);
        for key in ["gc_mode", "alloc", "sched", "bus", "queue_level"] {
            let value = vector["device"][key].as_str().expect("a word");
            reached.note(format!("idle writes with {key}={value}"), written > 5);
        }
        let closed = vector["host"].get("mode").is_some();
        reached.note("idle writes in a closed loop", closed && written > 5);
        let collects = results["counters"]["gc_runs"] != json!(0);
        reached.note("idle writes and collections", collects && written > 5);
        if vector["host"].get("writer_batch").is_some_and(|batch| *batch != 1) {
            let single = with(&vector, "host", "writer_batch", json!(1));
            reached.note("several pages at an offer", single["written"] != results["written"]);
        }
        let instants = vector["requests"].as_array().expect("a list").iter().map(|r| &r[0]);
        let instants: Vec<&Value> = instants.collect();
        let control_commands = |entry: &&Value| closed || !instants.contains(&&entry[0]);
        let ends =
            results["written"].as_array().expect("a list").iter().filter(control_commands).count();
        reached.note("offers when a unit becomes idle", !closed && ends > 5);
        let waits = waits_for_a_frame(&vector, &results, 1);
        reached.note("frames of clean victims that are waited for", waits);
    }
    reached.all(3);
}

/// Whether a request of one page that was written without a dirty victim, and this many clean ones,
/// waited all the same: for a frame that an earlier group left, or that is still being written.
fn waits_for_a_frame(vector: &Value, results: &Value, clean_victims: usize) -> bool {
    let number = |value: &Value| value.as_u64().expect("a number");
    let bytes = number(&vector["device"]["page_bytes"]);
    let mut access = 0;
    let requests = vector["requests"].as_array().expect("a list").iter().enumerate();
    let waits = |(index, request): (usize, &Value)| {
        let (arrival, offset, length) =
            (number(&request[0]), number(&request[2]), number(&request[3]));
        let pages = match length {
            0 => 0,
            _ => (offset + length - 1) / bytes - offset / bytes + 1,
        };
        let decision = &results["decisions"][access];
        access += pages as usize;
        let idle = arrival + number(&vector["cache"]["hit_ns"]);
        pages == 1
            && decision["op"] == "w"
            && decision["hit"] == false
            && decision["flushed"] == json!([])
            && decision["evicted"].as_array().is_some_and(|all| all.len() == clean_victims)
            && number(&results["completions_ns"][index]) > idle
    };
    vector["host"].get("mode").is_none()
        && requests.map(waits).fold(false, |any, waits| any | waits)
}

#[test]
fn random_loads_make_groups_of_every_form() {
    let mut reached = Reached(BTreeMap::new());
    for vector in vectors(Caches::Block, Ftls::Page, 600) {
        let policy = vector["cache"]["policy"].as_str().expect("a name");
        let results = results(&vector);
        let counted = |counter: &str| results["counters"][counter].as_u64().expect("a count");
        let decisions = results["decisions"].as_array().expect("a list");
        let lengths = |list: &str| -> Vec<u64> {
            let groups = decisions.iter().filter_map(|decision| decision[list].as_array());
            groups.flatten().map(|group| group.as_array().expect("a group").len() as u64).collect()
        };
        reached.note(
            format!("{policy}: groups of several pages"),
            lengths("flushed").iter().any(|&pages| pages > 1),
        );
        let padded: u64 = lengths("padded").iter().sum();
        if ["bplru", "aalru"].contains(&policy) {
            reached.note(format!("{policy}: padding"), padded > 0);
            reached.note(
                format!("{policy}: frames that were left"),
                waits_for_a_frame(&vector, &results, 0),
            );
        }
        let from_buffer = counted("flash_reads") < counted("read_misses") + padded;
        if policy == "aalru" {
            let home = vector["device"]["unmapped_read"] == "home";
            reached.note("aalru: padding that the buffer has", home && from_buffer);
            let patient = with(&vector, "cache", "page_write_ns", json!(1_000_000_000_000_u64));
            let decided = patient["decisions"] != results["decisions"];
            reached.note("aalru: latencies that decide", decided);
        } else {
            let missed = |d: &&Value| d["op"] == "r" && d["hit"] == false;
            reached.note("bypassed reads", decisions.iter().any(|decision| missed(&decision)));
        }
        reached.note("dirty victims on a collecting unit", counted("dirty_evictions_in_gc") > 0);
        for (key, value) in [("evict_wait", "program"), ("evict_wait", "none")] {
            let other = with(&vector, "cache", key, json!(value));
            let matters = other["completions_ns"] != results["completions_ns"];
            reached.note(format!("not {key}={value}"), matters);
        }
        for key in ["sched", "bus", "gc_mode"] {
            let value = vector["device"][key].as_str().expect("a word");
            reached.note(format!("padding with {key}={value}"), padded > 0);
        }
        reached.note("padding in a closed loop", padded > 0 && vector.get("host").is_some());
    }
    reached.all(4);
}

#[test]
fn random_drives_reach_all_that_other_ftls_do() {
    let mut reached = Reached(BTreeMap::new());
    let mut full = 0;
    for vector in vectors(Caches::None, Ftls::Other, 500) {
        let ftl = vector["device"]["ftl"].as_str().expect("a name");
        let Ok(results) = simulate(&vector) else {
            full += 1;
            continue;
        };
        let counters = &results["counters"];
        let counted = |at: &str| counters.pointer(at).and_then(Value::as_u64).unwrap_or(0);
        let programs = counters["channel_programs"].as_array().expect("a list");
        let programs: u64 = programs.iter().filter_map(Value::as_u64).sum();
        let does: &[&str] = match ftl {
            "bast" | "fast" => &["switch_merges", "partial_merges", "full_merges"],
            "page-ideal" => &["gc_copies"],
            _ => &[
                "gc_copies",
                "gc_translation_runs",
                "translation_writes",
                "cmt_dirty_evictions",
                "lazy_updates",
                "batched_entries",
            ],
        };
        for counter in does {
            reached.note(format!("{ftl}: {counter}"), counted(&format!("/ftl/{counter}")) > 0);
        }
        reached.note(format!("{ftl}: reads of nothing"), counted("/ftl/unmapped_reads") > 0);
        let (moves, own) = (counted("/gc_moves"), programs - counted("/flash_programs"));
        reached.note(format!("{ftl}: copies within a plane"), moves > 0);
        reached.note(format!("{ftl}: programs of its own"), own > 0);
        for key in ["sched", "bus", "copyback", "queue_level", "precondition"] {
            let value = &vector["device"][key];
            reached.note(format!("work of its own with {key}={value}"), moves > 0 && own > 0);
        }
        reached.note("the same in a closed loop", own > 0 && vector.get("host").is_some());
    }
    reached.all(4);
    assert!(full < 100, "{full} of 500 drives run full");
}
