//! The background writer: its vectors are what the reference model says (`DESTAGE_WRITE_VECTORS=1`
//! writes them), the micro-trace and the checks of `docs/spec/writer.md`, 8.

use std::collections::BTreeMap;

use crate::common::{accesses, device_input, holds, letter, line, object};
use destage_reference::{Op, ssd};
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

/// Policies with an order.
const POLICIES: [&str; 6] = ["lru", "fifo", "clock", "cflru", "lru-wsr", "clock-sweep"];

/// A vector with a writer; `host` has its keys.
fn input(name: &str, seed: u64, device: Value, policy: &str, cache: Value, host: Value) -> Input {
    let mut table = object(json!({"policy": policy, "frames": 24}));
    table.extend(object(cache));
    let mut vector = device_input(name, seed, device, Value::Object(table));
    // The drive gets through with it, and has time left.
    for request in vector["requests"].as_array_mut().expect("a list") {
        request[0] = (3 * number(&request[0])).into();
    }
    let mut writer = object(json!({"writer": "trickle"}));
    writer.extend(object(host));
    vector.insert("host".to_string(), Value::Object(writer));
    vector
}

fn inputs() -> Vec<Input> {
    let no = || json!({});
    let low = |pages: u64| json!({"writer_low_pages": pages});
    vec![
        input("writer, lru, defaults", 1, no(), "lru", no(), no()),
        input(
            "writer, lru, one page at a time",
            2,
            no(),
            "lru",
            json!({"hit_ns": 500}),
            json!({"writer_low_pages": 6, "writer_batch": 1}),
        ),
        input("writer, cflru", 3, no(), "cflru", no(), low(10)),
        input("writer, lru-wsr", 4, no(), "lru-wsr", no(), low(12)),
        input(
            "writer, clock, waiting for transfers",
            5,
            no(),
            "clock",
            json!({"evict_wait": "transfer"}),
            json!({"writer_low_pages": 8, "writer_batch": 2}),
        ),
        input(
            "writer, clock-sweep, waiting for nothing",
            6,
            no(),
            "clock-sweep",
            json!({"evict_wait": "none", "max_usage": 3}),
            low(8),
        ),
        input(
            "writer, fifo, reads wait for data",
            7,
            no(),
            "fifo",
            json!({"read_wait": "data"}),
            no(),
        ),
    ]
}

/// Vectors on other devices and in a closed loop.
fn other_inputs() -> Vec<Input> {
    let no = || json!({});
    let low = |pages: u64| json!({"writer_low_pages": pages});
    vec![
        input("writer, reads first", 8, json!({"sched": "read_first"}), "lru", no(), low(10)),
        input(
            "writer, closed loop",
            9,
            no(),
            "lru",
            json!({"hit_ns": 1000}),
            json!({"mode": "closed", "queue_depth": 3, "writer_low_pages": 10}),
        ),
        input(
            "writer, idle collection",
            10,
            json!({"gc_mode": "idle", "gc_idle_ns": 200_000}),
            "lru",
            no(),
            low(10),
        ),
        input(
            "writer, dynamic allocation",
            11,
            json!({"alloc": "dynamic"}),
            "clock",
            no(),
            low(10),
        ),
        input(
            "writer, shared bus, a queue per channel",
            12,
            json!({"bus": "shared", "queue_level": "channel"}),
            "lru",
            no(),
            low(10),
        ),
        input(
            "writer, a program takes no time",
            13,
            json!({"program_ns": [0], "bus_ps_per_byte": 0}),
            "lru",
            no(),
            json!({"writer_batch": 3}),
        ),
    ]
}

/// Vectors over an FTL on several units, where an operation that waited enters the queue of a unit
/// at the instant at which that has become idle (2).
fn ftl_inputs() -> Vec<Input> {
    let no = || json!({});
    let low = |pages: u64| json!({"writer_low_pages": pages});
    let dftl = || json!({"cmt_entries": 24, "entries_per_translation_page": 16});
    let log = || json!({"log_blocks": 5});
    let staged = || json!({"evict_wait": "staged", "staging_pages": 4});
    let first = || json!({"sched": "read_first"});
    [
        ("dftl, lru", 21, no(), "lru", no(), low(10), dftl()),
        ("dftl, cflru, staging pages", 22, no(), "cflru", staged(), low(12), dftl()),
        ("dftl, lru, reads first", 23, first(), "lru", no(), low(10), dftl()),
        ("dftl, clock-sweep", 24, no(), "clock-sweep", no(), low(24), dftl()),
        ("bast, clock", 25, no(), "clock", no(), low(10), log()),
        ("bast, lru-wsr, reads first", 26, first(), "lru-wsr", no(), low(8), log()),
        ("fast, fifo", 27, no(), "fifo", no(), low(10), log()),
        ("fast, lru, shared bus", 28, json!({"bus": "shared"}), "lru", no(), low(10), log()),
        ("page-ideal, lru", 29, no(), "lru", no(), low(10), no()),
    ]
    .into_iter()
    .map(|(name, seed, device, policy, cache, host, ftl)| {
        let kind = name.split(',').next().expect("a name");
        let mut keys = object(json!({"queue_level": "plane", "ftl": kind}));
        keys.extend(object(device));
        let name = format!("writer, {name}");
        let mut vector = input(&name, seed, Value::Object(keys), policy, cache, host);
        vector["device"].as_object_mut().expect("a table").remove("gc_low_pages");
        vector.insert("ftl".to_string(), ftl);
        vector
    })
    .collect()
}

#[test]
fn vectors_are_what_the_model_says() {
    let lines: Vec<String> = inputs().into_iter().chain(other_inputs()).map(line).collect();
    holds("writer.jsonl", &lines);
    let lines: Vec<String> = ftl_inputs().into_iter().map(line).collect();
    holds("writer-ftls.jsonl", &lines);
}

fn simulate(input: &Input) -> Value {
    ssd::simulate(&Value::Object(input.clone())).expect("a run")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Writes made at offers: instant and page.
fn written(results: &Value) -> Vec<(u64, u64)> {
    let list = results["written"].as_array().expect("a list");
    list.iter().map(|entry| (number(&entry[0]), number(&entry[1]))).collect()
}

/// The table of section 8.
#[test]
fn the_micro_trace_goes_as_the_table_has_it() {
    let requests = [0, 10, 20, 30, 1500, 1600, 2700].into_iter().zip([0, 2, 4, 1, 3, 5, 6]);
    let write = letter(Op::Write);
    let requests: Vec<Value> =
        requests.map(|(at, page): (u64, u64)| json!([at, write, page * 16, 16])).collect();
    let device = json!({
        "channels": 2, "blocks_per_plane": 12, "pages_per_block": 8, "page_bytes": 16,
        "read_ns": [100], "program_ns": [1000], "bus_ps_per_byte": 0, "gc_low_pages": 8,
        "logical_pages": 16,
    });
    let results = simulate(&object(json!({
        "device": device,
        "cache": {"policy": "lru", "frames": 4},
        "host": {"writer": "trickle", "writer_low_pages": 2, "writer_batch": 2},
        "requests": requests,
    })));
    assert_eq!(written(&results), [(20, 0), (1020, 2), (1600, 1), (2020, 4)]);
    assert_eq!(results["completions_ns"], json!([0, 10, 20, 30, 1500, 2020, 3020]));
    let evicted: Vec<_> = (4..7).map(|at| results["decisions"][at]["evicted"].clone()).collect();
    assert_eq!(evicted, [json!([0]), json!([2]), json!([4])]);
    for (counter, count) in
        [("idle_writes", 4), ("evictions", 3), ("dirty_evictions", 0), ("flash_programs", 4)]
    {
        assert_eq!(results["counters"][counter], count, "{counter}");
    }
}

/// Requests one after the other, each with its accesses as the decisions have them.
fn accesses_of(input: &Input, results: &Value) -> Vec<(u64, Vec<Value>)> {
    let mut decisions = results["decisions"].as_array().expect("a list").iter();
    let requests = input["requests"].as_array().expect("a list").iter();
    let pages = |request: &Value| {
        let (from, length) = (number(&request[2]), number(&request[3]));
        (from + length - 1) / 4096 - from / 4096 + 1
    };
    requests
        .map(|r| (number(&r[0]), decisions.by_ref().take(pages(r) as usize).cloned().collect()))
        .collect()
}

fn list(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

/// Every page that was written was resident and dirty, and is clean from then on; how many pages
/// are dirty at the end.
fn dirty_left(input: &Input, results: &Value) -> u64 {
    let mut writes = written(results).into_iter().peekable();
    let mut dirty: BTreeMap<u64, bool> = BTreeMap::new(); // of the resident pages
    for (now, decisions) in accesses_of(input, results) {
        while let Some((_, page)) = writes.next_if(|&(at, _)| at < now) {
            assert_eq!(dirty.insert(page, false), Some(true), "{page} was resident and dirty");
        }
        for decision in decisions {
            let flushed: Vec<u64> =
                decision["flushed"].as_array().expect("groups").iter().flat_map(list).collect();
            for victim in list(&decision["evicted"]) {
                let was_dirty = dirty.remove(&victim).expect("a victim is resident");
                assert_eq!(flushed.contains(&victim), was_dirty, "{victim}");
            }
            let is_dirty = dirty.entry(number(&decision["page"])).or_insert(false);
            *is_dirty |= decision["op"] == letter(Op::Write);
        }
    }
    assert_eq!(writes.next(), None, "nothing is written at or after the last request");
    dirty.values().filter(|&&dirty| dirty).count() as u64
}

#[test]
fn what_is_written_was_dirty_and_each_unit_gets_one_page_at_a_time() {
    let mut pages = 0;
    for (seed, policy) in (100..).zip(POLICIES).chain((200..).zip(POLICIES)) {
        let low = json!({"writer_low_pages": 2 + seed % 9, "writer_batch": 1 + seed % 3});
        let input = input("", seed, json!({}), policy, json!({}), low);
        let results = simulate(&input);
        dirty_left(&input, &results);
        let mut by_instant: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (at, page) in written(&results) {
            by_instant.entry(at).or_default().push(page % 4); // its chip
        }
        for (at, mut chips) in by_instant {
            assert!(chips.len() as u64 <= 1 + seed % 3, "{policy}, {at}: {chips:?}");
            pages += chips.len();
            chips.sort_unstable();
            let all = chips.len();
            chips.dedup();
            assert_eq!(chips.len(), all, "{policy}, {at}");
        }
        assert_eq!(results["counters"]["idle_writes"], written(&results).len(), "{policy}");
    }
    assert!(pages > 200, "{pages} pages");
}

#[test]
fn hits_and_victims_of_policies_that_do_not_look_at_clean_and_dirty_stay() {
    for (seed, policy) in (300..).zip(["lru", "fifo", "clock", "clock-sweep"]) {
        let with = input("", seed, json!({}), policy, json!({}), json!({}));
        let mut without = with.clone();
        without.insert("host".to_string(), json!({"writer": "none", "writer_batch": 2}));
        let (with_it, without_it) = (simulate(&with), simulate(&without));
        assert!(without_it.get("written").is_none());
        let pair = |results: &Value| {
            let all = results["decisions"].as_array().expect("a list").clone();
            all.into_iter().map(|d| (d["hit"].clone(), d["evicted"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(pair(&with_it), pair(&without_it), "{policy}");
        let mut alone = without_it.clone();
        alone["written"] = json!([]);
        let writes = |input: &Input, results: &Value| {
            number(&results["counters"]["flash_programs"]) + dirty_left(input, results)
        };
        assert!(writes(&with, &with_it) >= writes(&without, &alone), "{policy}");
        assert!(number(&with_it["counters"]["idle_writes"]) > 20, "{policy}");
    }
}

#[test]
fn there_is_nothing_to_write_over_reads_and_where_frames_are_free() {
    for (seed, policy) in (400..).zip(POLICIES) {
        let mut reads = input("", seed, json!({}), policy, json!({}), json!({}));
        for request in reads["requests"].as_array_mut().expect("a list") {
            request[1] = letter(Op::Read).into();
        }
        assert_eq!(written(&simulate(&reads)), [], "{policy}");
        let roomy = json!({"frames": 400});
        let free = input("", seed, json!({}), policy, roomy, json!({"writer_low_pages": 9}));
        assert_eq!(written(&simulate(&free)), [], "{policy}");
    }
    // The load has something to write.
    assert!(accesses(400, 120, 250, 65).iter().any(|&(op, _)| op == Op::Write));
}

#[test]
fn a_policy_without_an_order_is_refused_by_name_and_none_is_not() {
    for (policy, refused) in [("arc", true), ("ace", true), ("ecr", true), ("bplru", true)] {
        let input = input("", 1, json!({}), policy, json!({}), json!({}));
        let error = ssd::simulate(&Value::Object(input)).err().unwrap_or_default();
        assert_eq!(error.contains("writer=trickle excludes policy="), refused, "{policy}: {error}");
    }
    let mut bare = input("", 1, json!({}), "lru", json!({}), json!({}));
    bare.insert("cache".to_string(), json!({"policy": "none"}));
    assert!(simulate(&bare).get("written").is_none());
}
