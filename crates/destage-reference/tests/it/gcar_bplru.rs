//! GCaR over BPLRU: vectors that the reference model writes (`DESTAGE_WRITE_VECTORS=1` writes
//! them), and where its decisions differ from those of BPLRU (`docs/spec/further-policies.md`,
//! 5.2).

use crate::common::{device_input, holds, line, object};
use destage_reference::ssd;
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

/// A vector of the policy in front of the device with these keys.
fn input(name: &str, seed: u64, device: Value, cache: Value) -> Input {
    let mut table = object(json!({"policy": "gcar-bplru", "frames": 24}));
    table.extend(object(cache));
    device_input(name, seed, device, Value::Object(table))
}

/// A logical block lies on one unit.
fn one_unit(device: Value) -> Value {
    let mut keys = object(json!({"stripe_pages": 8}));
    keys.extend(object(device));
    Value::Object(keys)
}

/// Groups that touch few units: an eviction can avoid GC.
fn choosing() -> Vec<Input> {
    let no = || json!({});
    let unpadded = || json!({"padding": false});
    vec![
        input("padding, a block on one unit", 1, one_unit(no()), no()),
        input("no padding, a block on one unit", 2, one_unit(no()), unpadded()),
        input("no padding, a block over all units", 3, no(), unpadded()),
        input(
            "padding, no compensation, reads count",
            4,
            one_unit(no()),
            json!({"compensation": false, "read_recency": true}),
        ),
        input(
            "no padding, background collection",
            5,
            one_unit(json!({"gc_mode": "background"})),
            json!({"padding": false, "frames": 16}),
        ),
        input(
            "padding, waiting for programs",
            6,
            one_unit(json!({"gc_mode": "background"})),
            json!({"evict_wait": "program"}),
        ),
        input(
            "no padding, one staging page",
            7,
            one_unit(json!({"bus": "shared"})),
            json!({"padding": false, "evict_wait": "staged", "staging_pages": 1}),
        ),
        input(
            "padding, idle collection, two planes a unit",
            8,
            one_unit(json!({
                "gc_mode": "idle", "gc_idle_ns": 200_000, "planes_per_die": 2,
                "blocks_per_plane": 8, "queue_level": "die",
            })),
            no(),
        ),
    ]
}

/// Drives on which the decisions are those of BPLRU.
fn as_bplru() -> Vec<Input> {
    let no = || json!({});
    vec![
        input("padding, a block over all units", 9, no(), no()),
        input("padding, dynamic allocation", 10, json!({"alloc": "dynamic"}), no()),
        input("one frame", 11, one_unit(no()), json!({"frames": 1})),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let lines: Vec<String> = choosing().into_iter().chain(as_bplru()).map(line).collect();
    holds("gcar-bplru.jsonl", &lines);
}

fn decisions(input: &Input) -> Value {
    ssd::simulate(&Value::Object(input.clone())).expect("a run")["decisions"].clone()
}

fn base_of(input: &Input) -> Input {
    let mut base = input.clone();
    base["cache"]["policy"] = "bplru".into();
    base
}

#[test]
fn decisions_differ_from_those_of_bplru_where_a_group_touches_few_units() {
    let same = |input: &Input| decisions(input) == decisions(&base_of(input));
    let unchanged: Vec<Value> =
        choosing().iter().filter(|i| same(i)).map(|i| i["name"].clone()).collect();
    assert!(unchanged.is_empty(), "{unchanged:?}");
}

#[test]
fn decisions_are_those_of_bplru_where_no_victim_is_better() {
    for input in as_bplru() {
        assert!(decisions(&input) == decisions(&base_of(&input)), "{}", input["name"]);
    }
}
