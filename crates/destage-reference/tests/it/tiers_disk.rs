//! A disk below a flash tier: its vectors are what the reference model says
//! (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/tiers.md` 6.1), and closed forms.

use crate::common::{holds, object};
use crate::tiers_device::{Input, input};
use destage_reference::ssd;
use serde_json::{Value, json};

/// A disk of 400 pages: seeks of 50 to 450 us, half a turn of 200 us.
fn disk() -> Value {
    json!({"disk": {
        "pages": 400, "seek_min_ns": 50_000, "seek_max_ns": 450_000, "half_turn_ns": 200_000,
        "transfer_ns": 20_000,
    }})
}

pub(crate) fn over_a_disk(seed: u64, tier1: (&str, u64), tier2: Value, differs: Value) -> Input {
    let mut differs = object(differs);
    differs.insert("backing".into(), disk());
    input(seed, tier1, tier2, Value::Object(differs))
}

/// Reads of pages in turn, each when the one before has ended, and no page is taken by tier 2.
fn one_at_a_time(name: &str, pages: &[u64]) -> Input {
    let tier2 = json!({"policy": "lru", "frames": 4, "admit": "nth", "admit_params": {"n": 9}});
    let mut input = over_a_disk(90, ("lru", 2), tier2, json!({"name": name}));
    let requests = (0..).zip(pages).map(|(k, page)| json!([k * 5_000_000, "r", page * 4096, 4096]));
    input["requests"] = requests.collect();
    input
}

fn inputs() -> Vec<Input> {
    let lru = |admit: &str| json!({"policy": "lru", "frames": 18, "admit": admit});
    let cache = |wait| json!({"evict_wait": wait, "hit_ns": 700, "staging_pages": 2});
    let mut inputs = vec![
        one_at_a_time("sequential reads", &[0, 1, 2, 3, 4, 5]),
        one_at_a_time("known distances", &[1, 3, 103, 4, 159, 0]),
        over_a_disk(91, ("lru", 8), lru("always"), json!({"name": "disk"})),
        over_a_disk(92, ("arc", 6), lru("nth"), json!({"name": "disk"})),
    ];
    for (seed, wait) in (93..).zip(["transfer", "none", "staged"]) {
        let differs = json!({"name": wait, "cache": cache(wait)});
        inputs.push(over_a_disk(seed, ("lru", 7), lru("nth"), differs));
    }
    let fetch = json!({"fetch_on_write_miss": true, "flush_at_end": true});
    let differs = json!({"name": "fetched", "cache": {"read_wait": "data"}, "params": fetch});
    inputs.push(over_a_disk(96, ("lirs", 7), lru("always"), differs));
    let differs = json!({
        "name": "trims", "trims": true, "host": {"trim": "drop", "flush": "drain"},
        "slot_pages": 2,
    });
    let moved = json!({"policy": "fifo", "frames": 16, "promote": "move"});
    inputs.push(over_a_disk(97, ("arc", 7), moved, differs));
    // The end of a victim's read is not known when it is submitted.
    let differs = json!({"name": "reads first", "device": {"sched": "read_first"}});
    inputs.push(over_a_disk(98, ("lru", 8), lru("always"), differs));
    inputs
}

#[test]
fn vectors_are_what_the_model_says() {
    let lines: Vec<String> = inputs()
        .into_iter()
        .map(|mut input| {
            let name = input["name"].clone();
            let outcome = ssd::simulate_tiers(&Value::Object(input.clone()));
            input.extend(object(outcome.unwrap_or_else(|error| panic!("{name}: {error}"))));
            Value::Object(input).to_string()
        })
        .collect();
    holds("tiers-disk.jsonl", &lines);
}

fn took(input: &Input) -> Vec<u64> {
    let results = ssd::simulate_tiers(&Value::Object(input.clone())).expect("a run");
    let ends = results["completions_ns"].as_array().expect("a list");
    let arrivals = input["requests"].as_array().expect("a list");
    let both = ends.iter().zip(arrivals).map(|(end, request)| (end, &request[0]));
    both.map(|(end, at)| end.as_u64().expect("ns") - at.as_u64().expect("ns")).collect()
}

#[test]
fn a_page_takes_the_time_of_its_distance() {
    // 450 - 50 = 400 us over the root of 400 pages: 20 us times the root of the distance.
    assert_eq!(took(&one_at_a_time("", &[0, 1, 2])), [20_000; 3]);
    let seek = |root: u64| 50_000 + 20_000 * root + 200_000 + 20_000;
    // The head stands at 0, 2, 107, 7, 159, 16 and 80.
    let pages = [1, 106, 6, 158, 15, 79, 80];
    let distances = [1.0, 104.0, 101.0, 151.0, 144.0, 63.0, 0.0];
    for (took, distance) in took(&one_at_a_time("", &pages)).into_iter().zip(distances) {
        let beyond = (20_000.0 * f64::sqrt(distance)) as u64;
        assert_eq!(took, if distance == 0.0 { 20_000 } else { seek(0) + beyond });
    }
    assert_eq!(took(&one_at_a_time("", &[100]))[0], seek(10));
}

#[test]
fn a_saturated_disk_serves_one_page_after_the_other() {
    let mut input = one_at_a_time("", &[25, 51, 77]);
    for request in input["requests"].as_array_mut().expect("a list") {
        request[0] = 0.into();
    }
    let each = 50_000 + 100_000 + 200_000 + 20_000; // a distance of 25 each
    assert_eq!(took(&input), [each, 2 * each, 3 * each]);
    let results = ssd::simulate_tiers(&Value::Object(input)).expect("a run");
    let count = |name: &str| results["counters"][name].as_u64().expect("a count");
    assert_eq!((count("disk_seeks"), count("disk_sequential")), (3, 0));
    assert_eq!((count("disk_busy_ns"), count("disk_span_ns")), (3 * each, 3 * each));
    assert_eq!(count("disk_wait_ns"), each + 2 * each);
}

/// The laws of the counters: each page of the backing store is one of the disk.
#[test]
fn the_disk_serves_each_page_of_the_backing_store_once() {
    let mut seen = [0; 3];
    for input in inputs() {
        let results = ssd::simulate_tiers(&Value::Object(input.clone())).expect("a run");
        let count = |name: &str| results["counters"][name].as_u64().expect("a count");
        let served = count("disk_seeks") + count("disk_sequential");
        let sent = count("backing_reads") + count("backing_writes") - count("end_flushes");
        assert_eq!(served, sent, "{}", input["name"]);
        assert!(count("disk_busy_ns") <= count("disk_span_ns"), "{}", input["name"]);
        for (sum, name) in seen.iter_mut().zip(["disk_seeks", "disk_wait_ns", "backing_writes"]) {
            *sum += count(name);
        }
    }
    assert!(seen.iter().all(|&sum| sum > 10), "{seen:?}");
}
