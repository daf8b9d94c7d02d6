//! Current SSDs against their reference model: commands, link, buffer, handles, placement
//! policies, SLC cache, trims and flushes, in every combination that `docs/spec/device-today.md` 2
//! does not refuse. What it refuses, the product refuses.

use super::generate::{self, Caches};
use super::refuse::is_refused;
use super::{Line, agrees, difference, runner};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn agrees_with_its_model(caches: Caches, cases: u32) {
    let vectors = generate::interface_vector(caches).prop_map(Line);
    let verdict = runner(cases).run(&vectors, |Line(vector)| agrees(&vector));
    if let Err(failure) = verdict {
        panic!("{failure}");
    }
}

#[test]
fn a_current_drive_without_a_cache_agrees_with_its_model() {
    agrees_with_its_model(Caches::None, 100);
}

#[test]
fn policies_that_see_a_current_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::Device, 40);
}

#[test]
fn page_policies_in_front_of_a_current_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::Page, 50);
}

#[test]
fn block_policies_in_front_of_a_current_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::Block, 40);
}

#[test]
fn block_policies_that_see_a_current_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::DeviceBlock, 20);
}

#[test]
fn what_is_refused_in_front_of_a_current_drive_is_written_through_as_by_the_model() {
    agrees_with_its_model(Caches::Admission, 20);
}

#[test]
fn pages_that_are_written_and_stay_on_a_current_drive_agree_with_the_model() {
    agrees_with_its_model(Caches::Over, 30);
}

#[test]
fn what_a_host_writes_ahead_on_a_current_drive_it_writes_when_its_model_does() {
    agrees_with_its_model(Caches::Ahead, 30);
}

/// A collection that a write causes may move the page's old version; to `fk` it is of the new data
/// by then. Only idle collections show where it went: the one request comes after them.
#[test]
fn the_old_version_of_a_page_that_is_being_written_is_moved_as_its_new_data() {
    let vector = json!({
        "device": {
            "channels": 2, "dies_per_chip": 2, "planes_per_die": 1, "blocks_per_plane": 8,
            "pages_per_block": 9, "page_bytes": 4096, "logical_pages": 144, "bus": "private",
            "read_ns": [10007], "program_ns": [10007], "erase_ns": 10007, "bus_ps_per_byte": 0,
            "gc_mode": "idle", "gc_idle_ns": 0, "handles": 2, "isolation": "assigned",
            "precondition": "random", "precondition_writes": 226, "precondition_seed": 10,
        },
        "cache": {"policy": "none"},
        "placement": {"policy": "fk"},
        "requests": [[200237, "r", 0, 0]],
    });
    if let Some(difference) = difference(&vector) {
        panic!("{difference}");
    }
    let run = super::product::run(&vector).expect("a run");
    assert_eq!(run["counters"]["gc_moves"], json!(22));
}

/// Sets keys, `table.key`, and drops those that stand in the way.
fn with(mut vector: Value, keys: &[(&str, &str, Value)]) -> Value {
    for (table, key, value) in keys {
        vector[*table][*key] = value.clone();
    }
    vector
}

/// A key that is at work and needs `ftl=page`.
fn at_work() -> impl Strategy<Value = (&'static str, &'static str, Value)> {
    select(vec![
        ("device", "command_ns", json!(5)),
        ("device", "command_read_ns", json!(5)),
        ("device", "command_write_ns", json!(5)),
        ("device", "firmware_read_ns", json!(5)),
        ("device", "firmware_write_ns", json!(5)),
        ("device", "link_ps_per_byte", json!(5)),
        ("device", "buffer_pages", json!(5)),
        ("device", "slc_blocks", json!(5)),
        ("device", "handles", json!(2)),
        ("device", "gc_stream", json!("own")),
        ("host", "trim", json!("drop")),
        ("host", "flush", json!("drain")),
    ])
}

#[test]
fn another_ftl_excludes_all_of_it() {
    let vectors = (generate::vector(Caches::None, generate::Ftls::Other), at_work());
    is_refused(vectors.prop_map(|(vector, key)| with(vector, &[key])));
}

/// Sets of keys that exclude one another, whatever else a current SSD has.
fn excluded() -> Vec<Vec<(&'static str, &'static str, Value)>> {
    let device = |key, value: Value| ("device", key, value);
    let placement = |policy: &str| ("placement", "policy", json!(policy));
    let isolation = |word: &str| device("isolation", json!(word));
    vec![
        vec![
            device("gc_stream", json!("own")),
            isolation("assigned"),
            device("handles", json!(2)),
            placement("fk"),
        ],
        vec![isolation("assigned"), device("handles", json!(2)), placement("none")],
        vec![isolation("assigned"), device("handles", json!(2)), placement("by-cache")],
        vec![isolation("assigned"), device("handles", json!(3)), placement("sepbit")],
        vec![device("handles", json!(1)), isolation("initial"), placement("sepbit")],
        vec![device("handles", json!(1)), isolation("initial"), placement("by-cache")],
        vec![device("handles", json!(9))],
        vec![device("handles", json!(0))],
        vec![device("isolation", json!("none"))],
        vec![device("gc_stream", json!("both"))],
        vec![device("link_duplex", json!("no"))],
        vec![device("slc_policy", json!("idle"))],
        vec![device("slc_pages_per_block", json!(1_000_000))],
        vec![device("command_ns", json!(-1))],
        vec![("host", "trim", json!("keep"))],
        vec![("host", "flush", json!(true))],
        vec![("placement", "policy", json!("by-age"))],
        vec![("placement", "thresholds", json!([4096])), placement("sepbit")],
    ]
}

#[test]
fn what_excludes_one_another_is_refused() {
    let vectors = (generate::interface_vector(Caches::None), select(excluded()));
    is_refused(vectors.prop_map(|(mut vector, keys)| {
        if keys.iter().any(|(table, ..)| *table == "placement") {
            vector["placement"] = json!({});
        }
        with(vector, &keys)
    }));
}

#[test]
fn thresholds_of_another_number_or_order_are_refused() {
    let spoilt = select(vec![
        json!([]),
        json!([4096]),
        json!([4096, 8192, 16384]),
        json!([8192, 4096]),
        json!([4096, 4096]),
        json!([0, 4096]),
        json!("4096"),
        json!(null),
    ]);
    let vectors = (generate::vector(Caches::None, generate::Ftls::Page), spoilt);
    is_refused(vectors.prop_map(|(mut vector, thresholds)| {
        vector["device"] = json!({
            "handles": 3, "blocks_per_plane": 40, "pages_per_block": 4, "logical_pages": 40,
        });
        vector["host"] = json!({});
        vector["placement"] = json!({"policy": "by-size"});
        if !thresholds.is_null() {
            vector["placement"]["thresholds"] = thresholds;
        }
        vector
    }));
}

#[test]
fn a_placement_that_knows_the_future_and_a_cache_that_looks_at_the_drive_are_refused() {
    let looks = select(vec!["ecr", "ecr-e", "gcar-lru", "gcar-cflru", "gcar-bplru", "sac"]);
    is_refused((generate::interface_vector(Caches::None), looks).prop_map(|(vector, policy)| {
        let mut vector = of_fk(vector);
        vector["cache"] = json!({"policy": policy, "frames": 8});
        vector
    }));
}

#[test]
fn a_placement_that_knows_the_future_and_a_background_writer_are_refused() {
    is_refused(generate::interface_vector(Caches::None).prop_map(|vector| {
        let mut vector = of_fk(vector);
        vector["cache"] = json!({"policy": "lru", "frames": 8});
        vector["host"]["writer"] = "trickle".into();
        vector
    }));
}

fn of_fk(mut vector: Value) -> Value {
    vector["device"] = json!({
        "handles": 2, "blocks_per_plane": 40, "pages_per_block": 4, "logical_pages": 40,
    });
    vector["placement"] = json!({"policy": "fk"});
    vector
}

/// ECR's estimates that foresee a collection know one open block a plane.
#[test]
fn a_collection_is_not_foreseen_with_several_open_blocks() {
    let keys = select(vec![("gc_stream", json!("own")), ("slc_blocks", json!(2))]);
    let words = select(vec!["wait", "eq1"]);
    let vectors = (generate::vector(Caches::None, generate::Ftls::Page), keys, words);
    is_refused(vectors.prop_map(|(mut vector, (key, value), cqct)| {
        vector["device"] = json!({
            "blocks_per_plane": 40, "pages_per_block": 4, "logical_pages": 40, key: value,
        });
        vector["host"] = json!({});
        vector["cache"] = json!({"policy": "ecr", "frames": 8, "cqct": cqct});
        vector
    }));
}
