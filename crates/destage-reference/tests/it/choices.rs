//! Choices by the state of units: `in_gc = executing`, and `ecr-over`. Their vectors are what the
//! reference model says (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/device.md` 4.6,
//! `docs/spec/device-policies.md` 3.4).

use crate::common::{device_input, holds, line, object};
use destage_reference::ssd;
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

fn input(name: &str, seed: u64, device: Value, cache: Value) -> Input {
    let mut table = object(json!({"frames": 24}));
    table.extend(object(cache));
    device_input(name, seed, device, Value::Object(table))
}

/// Drives on which a collection must be in service.
fn executing() -> Vec<Input> {
    let executing = |more: Value| {
        let mut keys = object(json!({"in_gc": "executing"}));
        keys.extend(object(more));
        Value::Object(keys)
    };
    let idle = json!({"gc_mode": "idle", "gc_idle_ns": 200_000, "bus": "shared"});
    let suspending = json!({"sched": "read_first", "suspend": "erase", "gc_mode": "background"});
    let steps = json!({"gc_step_pages": 2, "planes_per_die": 2, "blocks_per_plane": 8});
    vec![
        input("executing, gcar-lru", 1, executing(json!({})), json!({"policy": "gcar-lru"})),
        input("executing, gcar-cflru", 2, executing(idle), json!({"policy": "gcar-cflru"})),
        input(
            "executing, reads interrupt erases",
            3,
            executing(suspending),
            json!({"policy": "gcar-cflru", "window_fraction": 1.0}),
        ),
        input("executing, in steps", 4, executing(steps), json!({"policy": "gcar-lru"})),
        input(
            "executing, gcar-bplru",
            5,
            executing(json!({"stripe_pages": 8})),
            json!({"policy": "gcar-bplru", "padding": false}),
        ),
    ]
}

/// ECR over each base.
fn over() -> Vec<Input> {
    let over = |base: &str| json!({"policy": "ecr-over", "base": base});
    let with = |base: &str, key: &str, value: Value| {
        let mut cache = object(over(base));
        cache.insert(key.to_string(), value);
        Value::Object(cache)
    };
    let dynamic = || json!({"alloc": "dynamic"});
    vec![
        input("over lru", 6, json!({}), over("lru")),
        input("over cflru", 7, json!({}), over("cflru")),
        input("over 2q", 8, json!({}), over("2q")),
        input("over arc", 9, json!({}), over("arc")),
        input(
            "over cflru, the collection to come",
            10,
            json!({}),
            with("cflru", "cqct", "wait".into()),
        ),
        input(
            "over 2q, equation 1",
            11,
            json!({}),
            with("2q[out_fraction=2.0]", "cqct", "eq1".into()),
        ),
        input("over arc, dynamic allocation", 12, dynamic(), over("arc")),
        input("over cflru, dynamic allocation", 13, dynamic(), over("cflru[window_fraction=1.0]")),
        input(
            "over 2q, dynamic allocation",
            14,
            dynamic(),
            with("2q", "evict_wait", "none".into()),
        ),
        input("over arc, one frame", 15, json!({}), with("arc", "frames", 1.into())),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let lines: Vec<String> = executing().into_iter().chain(over()).map(line).collect();
    holds("choices.jsonl", &lines);
}

fn decisions(input: &Input) -> Value {
    ssd::simulate(&Value::Object(input.clone())).expect("a run")["decisions"].clone()
}

#[test]
fn a_collection_that_waits_changes_decisions_unless_only_one_in_service_counts() {
    for input in executing() {
        let mut queued = input.clone();
        queued["device"]["in_gc"] = "queued".into();
        assert!(decisions(&input) != decisions(&queued), "{}", input["name"]);
    }
}

#[test]
fn over_each_base_ecr_decides_otherwise_and_over_lru_as_without_a_clean_list() {
    let mut of_lru = over().swap_remove(0);
    let over_lru = decisions(&of_lru);
    of_lru["cache"] = json!({"policy": "ecr-e", "frames": 24});
    assert_eq!(over_lru, decisions(&of_lru));
    for mut input in over().into_iter().skip(1).filter(|input| input["cache"]["frames"] == 24) {
        let found = decisions(&input);
        // Under dynamic allocation the pages of a list are all clean, or all dirty.
        let is_lru = input["name"] == "over cflru, dynamic allocation";
        input["cache"]["base"] = "lru".into();
        assert_eq!(found == decisions(&input), is_lru, "{}", input["name"]);
    }
}
