//! Drives described whole (`docs/spec/device-today.md` 2): vectors that the reference model writes
//! (`DESTAGE_WRITE_VECTORS=1` writes them).

use crate::common::{device_input, holds, object};
use destage_reference::ssd;
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

/// A drive with an SLC cache, on which reads go first, and these keys.
fn input(name: &str, seed: u64, device: Value, cache: Value, host: Value) -> Input {
    let mut keys = object(json!({
        "gc_low_pages": 24, "logical_pages": 224, "blocks_per_plane": 13, "sched": "read_first",
        "slc_blocks": 3, "slc_pages_per_block": 4, "slc_read_ns": 20_000,
        "slc_program_ns": 60_000, "slc_policy": "fold", "gc_idle_ns": 300_000,
    }));
    keys.extend(object(device));
    let mut input = device_input(name, seed, Value::Object(keys), cache);
    input.insert("host".into(), host);
    input
}

fn none() -> Value {
    json!({"policy": "none"})
}

fn lru() -> Value {
    json!({"policy": "lru", "frames": 16})
}

fn transfer() -> Value {
    json!({"policy": "lru", "frames": 16, "evict_wait": "transfer"})
}

fn depth(depth: u64) -> Value {
    json!({"mode": "closed", "queue_depth": depth})
}

/// Suspension, and everything between the host and the flash, with these keys.
fn with(keys: Value) -> Value {
    let mut all = object(json!({
        "suspend": "program", "suspend_ns": 5000, "resume_ns": 7000, "command_ns": 2000,
        "firmware_read_ns": 9000, "firmware_write_ns": 4000, "link_ps_per_byte": 1000,
        "buffer_pages": 6,
    }));
    all.extend(object(keys));
    Value::Object(all)
}

/// Parts alone or in pairs.
fn pairs() -> Vec<Input> {
    vec![
        input("reads first, closed", 1, json!({"slc_blocks": 0}), none(), depth(4)),
        input(
            "reads first, idle collection",
            2,
            json!({"slc_blocks": 0, "gc_mode": "idle"}),
            lru(),
            json!({}),
        ),
        input("reads first, SLC", 3, json!({}), none(), json!({})),
        input(
            "reads first, SLC, direct, closed",
            4,
            json!({"slc_policy": "direct"}),
            none(),
            depth(8),
        ),
    ]
}

/// All of it.
fn whole() -> Vec<Input> {
    let steps = |pages: Value| json!({"gc_step_pages": pages});
    let staged = json!({"policy": "lru", "frames": 16, "evict_wait": "staged"});
    let own = json!({"gc_stream": "own", "gc_low_pages": 32, "logical_pages": 160});
    let handles = json!({
        "handles": 2, "isolation": "persistent", "gc_low_pages": 32, "logical_pages": 160,
    });
    vec![
        input("all of it", 5, with(json!({})), none(), json!({})),
        input("all of it, closed", 6, with(json!({})), none(), depth(8)),
        input("all of it, folds in steps of 2", 7, with(steps(json!(2))), none(), depth(8)),
        input("all of it, auto, lru staged", 8, with(steps(json!("auto"))), staged, depth(3)),
        input(
            "all of it, trims and flushes",
            9,
            with(json!({"gc_mode": "background"})),
            none(),
            json!({"trim": "drop", "flush": "drain"}),
        ),
        input(
            "no buffer, half duplex, transfer",
            10,
            with(json!({"buffer_pages": 0, "link_duplex": "half"})),
            transfer(),
            depth(5),
        ),
        input(
            "suspension, transfer, closed",
            11,
            json!({"suspend": "program", "slc_idle": false}),
            transfer(),
            depth(5),
        ),
        input(
            "all of it, sac",
            12,
            with(json!({"buffer_pages": 2})),
            json!({"policy": "sac", "frames": 16}),
            depth(4),
        ),
        input("all of it, a stream for collected pages", 13, with(own), lru(), depth(4)),
        input("all of it, two handles", 14, with(handles), none(), depth(4)),
        input(
            "first come, auto, folds",
            15,
            json!({"sched": "fcfs", "gc_step_pages": "auto"}),
            none(),
            depth(4),
        ),
        input(
            "all of it, dynamic allocation, erases only",
            16,
            with(json!({"alloc": "dynamic", "suspend": "erase"})),
            none(),
            depth(6),
        ),
    ]
}

/// Every seventh request of the run with trims and flushes is one.
fn line(mut vector: Input) -> String {
    if vector["host"].get("trim").is_some() {
        let requests = vector["requests"].as_array_mut().expect("a list");
        for (at, request) in requests.iter_mut().enumerate().filter(|(at, _)| at % 7 == 3) {
            request[1] = if at % 2 == 0 { "f" } else { "t" }.into();
        }
    }
    let mut outcome = ssd::simulate(&Value::Object(vector.clone())).expect("a run");
    if vector["device"]["slc_blocks"] == 0 {
        // Nothing of such a device counts these.
        let counters = outcome["counters"].as_object_mut().expect("counters");
        counters.retain(|counter, _| !ssd::INTERFACE_COUNTERS.contains(&counter.as_str()));
    }
    vector.extend(object(outcome));
    Value::Object(vector).to_string()
}

#[test]
fn vectors_are_what_the_model_says() {
    let lines: Vec<String> = pairs().into_iter().chain(whole()).map(line).collect();
    holds("combinations.jsonl", &lines);
}
