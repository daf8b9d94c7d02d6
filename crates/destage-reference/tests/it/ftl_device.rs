//! FTLs over a row of blocks on several units, where dependent operations wait
//! (`docs/spec/device.md` 12): vectors that the reference model writes
//! (`DESTAGE_WRITE_VECTORS=1` writes them), and its example.

use crate::common::{device_input, holds, line, object};
use destage_reference::ssd;
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

fn input(name: &str, seed: u64, device: Value, cache: Value) -> Input {
    let ftl = match name.split(',').next() {
        Some("dftl") => json!({"cmt_entries": 24, "entries_per_translation_page": 16}),
        Some("dftl with lru") => json!({
            "cmt_entries": 8, "entries_per_translation_page": 32, "cmt_policy": "lru",
            "batch_update": false,
        }),
        Some("page-ideal") => json!({}),
        _ => json!({"log_blocks": 5}),
    };
    let kind = name.split([',', ' ']).next().expect("a name");
    let mut keys = object(json!({"queue_level": "plane", "ftl": kind}));
    keys.remove("gc_low_pages");
    keys.extend(object(device));
    let mut vector = device_input(name, seed, Value::Object(keys), cache);
    vector.insert("ftl".into(), ftl);
    vector
}

fn with(mut vector: Input, host: Value) -> Input {
    vector.insert("host".into(), host);
    vector
}

fn without_cache() -> Vec<Input> {
    let none = || json!({"policy": "none"});
    let planes = || json!({"planes_per_die": 2, "blocks_per_plane": 6, "queue_level": "chip"});
    let kinds = ["dftl", "dftl with lru", "bast", "fast", "page-ideal"];
    let numbered = kinds.into_iter().zip(1..);
    numbered
        .flat_map(|(kind, seed)| {
            let name = |of: &str| format!("{kind}, {of}");
            let closed = json!({"mode": "closed", "queue_depth": 4});
            [
                input(&name("a unit a plane"), seed, json!({}), none()),
                input(&name("two planes a unit"), seed + 10, planes(), none()),
                input(&name("shared bus"), seed + 20, json!({"bus": "shared"}), none()),
                input(&name("reads first"), seed + 30, json!({"sched": "read_first"}), none()),
                with(input(&name("closed loop"), seed + 40, json!({}), none()), closed),
            ]
        })
        .collect()
}

fn policies() -> Vec<Input> {
    let wait = |policy: &str, wait: &str| {
        let mut keys = json!({"policy": policy, "frames": 16, "staging_pages": 4});
        keys["evict_wait"] = json!(wait);
        keys
    };
    let empty = || json!({"precondition": "none"});
    vec![
        input("dftl, never written", 60, empty(), json!({"policy": "none"})),
        input("fast, never written", 61, empty(), json!({"policy": "none"})),
        input("dftl, lru", 62, json!({}), wait("lru", "program")),
        input("dftl, cflru, staging pages", 63, json!({}), wait("cflru", "staged")),
        input("dftl, ecr", 64, json!({}), wait("ecr", "program")),
        input("bast, sac", 65, json!({}), wait("sac", "transfer")),
        input("fast, lru, reads first", 66, json!({"sched": "read_first"}), wait("lru", "staged")),
        with(
            input("dftl, lru, closed loop", 67, json!({}), wait("lru", "program")),
            json!({"mode": "closed", "queue_depth": 4}),
        ),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let all = without_cache().into_iter().chain(policies());
    let lines: Vec<String> = all.map(line).collect();
    holds("ftl-device.jsonl", &lines);
}

/// The example of section 12.
#[test]
fn a_read_waits_for_a_translation_page_on_another_unit() {
    let vector = json!({
        "device": {
            "channels": 2, "queue_level": "plane", "blocks_per_plane": 8, "pages_per_block": 2,
            "page_bytes": 64, "logical_pages": 4, "ftl": "dftl", "precondition": "sequential",
            "read_ns": [100], "program_ns": [0], "erase_ns": 0, "bus_ps_per_byte": 0,
        },
        "ftl": {"cmt_entries": 1, "entries_per_translation_page": 4},
        "cache": {"policy": "none"},
        "requests": [[1000, "r", 0, 64], [1010, "r", 0, 64], [1020, "r", 64, 64]],
    });
    let results = ssd::simulate(&vector).expect("a run");
    assert_eq!(results["completions_ns"], json!([1300, 1400, 1500]));
}
