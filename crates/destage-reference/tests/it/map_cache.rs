//! The map cache: vectors that the reference model writes (`DESTAGE_WRITE_VECTORS=1` writes them),
//! and the example of `docs/spec/map-cache.md` 7.

use crate::common::{device_input, holds, object};
use destage_reference::ssd;
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

/// Four planes with room for map pages of eight entries, and these keys.
fn input(name: &str, seed: u64, device: Value, cache: Value) -> Input {
    let mut keys = object(json!({
        "gc_low_pages": 24, "logical_pages": 224, "blocks_per_plane": 16, "queue_level": "plane",
        "map_cache": 12288, "map_entry_bytes": 512,
    }));
    keys.extend(object(device));
    device_input(name, seed, Value::Object(keys), cache)
}

fn with(mut vector: Input, host: Value) -> Input {
    vector.insert("host".into(), host);
    vector
}

fn line(mut vector: Input) -> String {
    let outcome = ssd::simulate(&Value::Object(vector.clone())).expect("a run");
    vector.extend(object(outcome));
    Value::Object(vector).to_string()
}

fn caches() -> Vec<Input> {
    let none = || json!({"policy": "none"});
    let entry = |items: u64, policy: &str, batch: bool| {
        json!({
            "map_granularity": "entry", "map_cache": 512 * items, "map_policy": policy,
            "map_batch_update": batch,
        })
    };
    vec![
        input("three map pages, lru", 1, json!({}), none()),
        input("one map page", 2, json!({"map_cache": 4096}), none()),
        input("five map pages, slru", 3, json!({"map_cache": 20480, "map_policy": "slru"}), none()),
        input("the whole map", 4, json!({"map_cache": 4096 * 28}), none()),
        input("entries, lru", 5, entry(20, "lru", true), none()),
        input("entries, slru, without batch update", 6, entry(40, "slru", false), none()),
        input("one entry", 7, entry(1, "lru", true), none()),
        input(
            "one unit",
            8,
            json!({"channels": 1, "chips_per_channel": 1, "planes_per_die": 4,
            "queue_level": "chip"}),
            none(),
        ),
        input("background", 9, json!({"gc_mode": "background"}), none()),
        input("idle", 10, json!({"gc_mode": "idle", "gc_idle_ns": 100_000}), none()),
        input("steps of 2", 11, json!({"gc_step_pages": 2}), none()),
        input(
            "dynamic allocation, summary pages",
            12,
            json!({"alloc": "dynamic", "summary_page": true}),
            none(),
        ),
        input(
            "shared bus, fifo, without copy-back",
            13,
            json!({"bus": "shared", "gc_victim": "fifo", "copyback": false}),
            none(),
        ),
        input(
            "cost-benefit, collected pages apart",
            14,
            json!({"gc_victim": "cost-benefit", "gc_stream": "own", "gc_low_pages": 32}),
            none(),
        ),
        input(
            "unmapped reads that cost nothing",
            15,
            json!({"precondition": "none", "unmapped_read": "free", "map_cache": 4096}),
            none(),
        ),
    ]
}

fn of_interface() -> Vec<Input> {
    let none = || json!({"policy": "none"});
    let buffer = |pages: u64| {
        json!({
            "buffer_pages": pages, "link_ps_per_byte": 400_000, "command_ns": 2000,
            "firmware_read_ns": 5000, "map_cache": 4096,
        })
    };
    let mut flushes =
        with(input("a small buffer, flushes", 16, buffer(2), none()), json!({"flush": "drain"}));
    for (at, request) in flushes["requests"].as_array_mut().expect("a list").iter_mut().enumerate()
    {
        if at % 9 == 4 {
            request[1] = "f".into();
        }
    }
    let mut trims = with(input("trims", 17, json!({}), none()), json!({"trim": "drop"}));
    for (at, request) in trims["requests"].as_array_mut().expect("a list").iter_mut().enumerate() {
        if at % 7 == 3 {
            request[1] = "t".into();
        }
    }
    vec![
        flushes,
        trims,
        input(
            "half duplex, no buffer",
            18,
            json!({"link_ps_per_byte": 400_000,
            "link_duplex": "half", "map_cache": 4096}),
            none(),
        ),
        input(
            "folds of an SLC cache",
            19,
            json!({
                "slc_blocks": 2, "slc_policy": "fold", "slc_read_ns": 20_000,
                "slc_program_ns": 60_000, "slc_idle": true, "gc_idle_ns": 300_000,
            }),
            none(),
        ),
        input(
            "three handles kept apart",
            20,
            json!({
                "handles": 3, "isolation": "persistent", "gc_low_pages": 40, "logical_pages": 160,
            }),
            none(),
        ),
        with(
            input("closed loop, 6 in flight", 21, json!({}), none()),
            json!({"mode": "closed", "queue_depth": 6}),
        ),
        with(
            input("closed loop, 1 in flight, a small buffer", 22, buffer(1), none()),
            json!({"mode": "closed", "queue_depth": 1}),
        ),
        input(
            "reads first, programs suspended",
            23,
            json!({
                "sched": "read_first", "suspend": "program", "suspend_ns": 5000, "resume_ns": 7000,
            }),
            none(),
        ),
    ]
}

fn policies() -> Vec<Input> {
    let wait = |policy: &str, wait: &str| {
        let mut keys = json!({"policy": policy, "frames": 16, "evict_wait": wait});
        keys["staging_pages"] = json!(4);
        keys
    };
    vec![
        input("lru, which waits for programs", 24, json!({}), wait("lru", "program")),
        input("lru, which waits for transfers", 25, json!({}), wait("lru", "transfer")),
        input("cflru, staging pages", 26, json!({}), wait("cflru", "staged")),
        input("ecr", 27, json!({}), wait("ecr", "program")),
        input("sac", 28, json!({}), wait("sac", "none")),
        input(
            "gcar-lru, reads first",
            29,
            json!({"sched": "read_first"}),
            wait("gcar-lru", "staged"),
        ),
        with(
            input("lru, closed loop", 30, json!({}), wait("lru", "program")),
            json!({"mode": "closed", "queue_depth": 4}),
        ),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let all = caches().into_iter().chain(of_interface()).chain(policies());
    let lines: Vec<String> = all.map(line).collect();
    holds("map-cache.jsonl", &lines);
}

/// Section 7: reads of page 1 at 0 and 10 wait for the fetch on the other unit, one of page 0 at 20
/// goes to the unit of the fetch.
#[test]
fn reads_wait_for_a_fetch_as_the_example_has_it() {
    let device = json!({
        "channels": 2, "queue_level": "plane", "blocks_per_plane": 8, "pages_per_block": 4,
        "page_bytes": 64, "logical_pages": 4, "map_cache": 64, "map_entry_bytes": 1,
        "read_ns": [100], "program_ns": [0], "erase_ns": 0, "bus_ps_per_byte": 0,
    });
    // A write, at the start, whose map page leaves and comes again: map pages 0 and 1 take turns.
    let device = {
        let mut keys = object(device);
        keys.insert("logical_pages".into(), 8.into());
        keys.insert("map_entry_bytes".into(), 16.into());
        keys.insert("precondition".into(), "sequential".into());
        Value::Object(keys)
    };
    // Map page 0 holds pages 0 to 3 and is on plane 0; preconditioning leaves map page 1 cached.
    let requests = json!([[1000, "r", 64, 64], [1010, "r", 64, 64], [1020, "r", 0, 64]]);
    let vector = json!({"device": device, "cache": {"policy": "none"}, "requests": requests});
    let results = ssd::simulate(&vector).expect("a run");
    // Before the fetch, the old version of map page 1 is read on plane 1 and a new one programmed.
    assert_eq!(results["completions_ns"], json!([1200, 1300, 1200]));
    assert_eq!(results["counters"]["map_hits"], 2);
    assert_eq!(results["counters"]["map_misses"], 1);
}
