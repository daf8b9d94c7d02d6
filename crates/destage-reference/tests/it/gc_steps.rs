//! Collection in steps and suspension: vectors that the reference model writes
//! (`DESTAGE_WRITE_VECTORS=1` writes them), and the examples of `docs/spec/gc-steps.md` 3 and
//! 6.

use crate::common::{device_input, holds, object};
use destage_reference::ssd;
use serde_json::{Map, Value, json};

type Input = Map<String, Value>;

/// Keys of a drive that counts what `docs/spec/device-today.md` 10 lists.
const OF_INTERFACE: [&str; 3] = ["handles", "gc_stream", "slc_blocks"];

/// Four planes whose mark is two blocks above the floor, and these keys.
fn input(name: &str, seed: u64, device: Value, cache: Value) -> Input {
    let mut keys =
        object(json!({"gc_low_pages": 24, "logical_pages": 224, "blocks_per_plane": 13}));
    keys.extend(object(device));
    device_input(name, seed, Value::Object(keys), cache)
}

fn line(mut vector: Input) -> String {
    let mut outcome = ssd::simulate(&Value::Object(vector.clone())).expect("a run");
    let counts_interface = vector.contains_key("host")
        || OF_INTERFACE.iter().any(|key| vector["device"].get(key).is_some());
    if !counts_interface {
        let counters = outcome["counters"].as_object_mut().expect("counters");
        counters.retain(|counter, _| !ssd::INTERFACE_COUNTERS.contains(&counter.as_str()));
    }
    vector.extend(object(outcome));
    Value::Object(vector).to_string()
}

fn steps() -> Vec<Input> {
    let none = || json!({"policy": "none"});
    let lru = || json!({"policy": "lru", "frames": 16});
    let rule = |rule: &str| json!({"gc_step_pages": 2, "gc_victim": rule, "gc_stream": "shared"});
    vec![
        input("steps of 1", 1, json!({"gc_step_pages": 1}), none()),
        input("steps of 2, lru", 2, json!({"gc_step_pages": 2}), lru()),
        input("steps of 5", 3, json!({"gc_step_pages": 5, "copyback": false}), none()),
        input("auto", 4, json!({"gc_step_pages": "auto"}), none()),
        input("auto at the least mark: the floor", 5, least_mark(), lru()),
        input(
            "auto, summary pages and page types, ecr by the wait",
            6,
            json!({
                "gc_step_pages": "auto", "summary_page": true, "program_ns": [150_000, 300_000],
            }),
            json!({"policy": "ecr", "frames": 16, "cqct": "wait"}),
        ),
        input(
            "steps of 2, ecr by equation 1",
            7,
            json!({"gc_step_pages": 2}),
            json!({"policy": "ecr", "frames": 16, "cqct": "eq1"}),
        ),
        input(
            "steps of 2, background",
            8,
            json!({"gc_step_pages": 2, "gc_mode": "background"}),
            none(),
        ),
        input(
            "steps of 3, idle",
            9,
            json!({"gc_step_pages": 3, "gc_mode": "idle", "gc_idle_ns": 100_000}),
            none(),
        ),
        input(
            "steps of 2, dynamic allocation, shared bus",
            10,
            json!({"gc_step_pages": 2, "alloc": "dynamic", "bus": "shared"}),
            lru(),
        ),
        input("steps of 2, fifo", 11, rule("fifo"), none()),
        input("steps of 2, d-choices", 12, rule("d-choices"), none()),
        input("steps of 2, windowed-greedy", 13, rule("windowed-greedy"), none()),
        input("steps of 2, cost-benefit", 14, rule("cost-benefit"), lru()),
    ]
}

fn least_mark() -> Value {
    json!({"gc_step_pages": "auto", "gc_low_pages": 8})
}

fn interface_steps() -> Vec<Input> {
    let none = || json!({"policy": "none"});
    let mut trims = input("steps of 2, trims", 15, json!({"gc_step_pages": 2}), none());
    for (at, request) in trims["requests"].as_array_mut().expect("a list").iter_mut().enumerate() {
        if at % 7 == 3 {
            request[1] = "t".into();
        }
    }
    trims.insert("host".into(), json!({"trim": "drop"}));
    vec![
        trims,
        input(
            "auto, 2r-fifo by generation",
            16,
            json!({
                "gc_step_pages": "auto", "gc_victim": "2r-fifo", "gc_low_pages": 32,
                "gc_stream": "by-generation", "logical_pages": 160,
            }),
            none(),
        ),
        input(
            "steps of 2, three handles kept apart",
            17,
            json!({
                "gc_step_pages": 2, "handles": 3, "isolation": "persistent", "gc_low_pages": 32,
                "logical_pages": 160,
            }),
            none(),
        ),
        input(
            "steps of 1, folds of an SLC cache",
            18,
            json!({
                "gc_step_pages": 1, "slc_blocks": 2, "slc_policy": "fold", "slc_read_ns": 20_000,
                "slc_program_ns": 60_000, "slc_idle": true, "gc_idle_ns": 300_000,
            }),
            none(),
        ),
    ]
}

fn suspensions() -> Vec<Input> {
    let none = || json!({"policy": "none"});
    let first = |keys: Value| {
        let mut all = object(json!({"sched": "read_first"}));
        all.extend(object(keys));
        Value::Object(all)
    };
    vec![
        input("suspend erases", 19, first(json!({"suspend": "erase"})), none()),
        input(
            "suspend programs, staging pages",
            20,
            first(json!({"suspend": "program", "suspend_ns": 5000, "resume_ns": 7000})),
            json!({"policy": "lru", "frames": 16, "evict_wait": "staged", "staging_pages": 4}),
        ),
        input(
            "suspend programs once, waiting for transfers",
            21,
            first(json!({"suspend": "program", "suspend_max": 1})),
            json!({"policy": "lru", "frames": 16, "evict_wait": "transfer"}),
        ),
        input(
            "suspend in no time",
            22,
            first(json!({"suspend": "program", "suspend_ns": 0, "resume_ns": 0})),
            none(),
        ),
        input(
            "suspend programs, steps of 2, background",
            23,
            first(json!({
                "suspend": "program", "suspend_ns": 3000, "gc_step_pages": 2,
                "gc_mode": "background",
            })),
            json!({"policy": "cflru", "frames": 12}),
        ),
        input(
            "suspend erases, auto, gcar-lru",
            24,
            first(json!({"suspend": "erase", "suspend_max": 9, "gc_step_pages": "auto"})),
            json!({"policy": "gcar-lru", "frames": 12}),
        ),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let all = steps().into_iter().chain(interface_steps()).chain(suspensions());
    let lines: Vec<String> = all.map(line).collect();
    holds("gc-steps.jsonl", &lines);
}

/// Section 6: an erase of 1000 from 0, and three reads of 50.
#[test]
fn an_erase_gives_way_to_reads_as_the_example_has_it() {
    // The one write finds the mark reached, and a victim without a valid page.
    let device = json!({
        "blocks_per_plane": 4, "pages_per_block": 1, "page_bytes": 16, "logical_pages": 1,
        "gc_low_pages": 2, "precondition": "random", "precondition_writes": 1,
        "read_ns": [50], "program_ns": [1], "erase_ns": 1000, "bus_ps_per_byte": 0,
        "sched": "read_first", "suspend": "erase", "suspend_ns": 10, "resume_ns": 20,
        "gc_mode": "background",
    });
    let requests =
        json!([[0, "w", 0, 16], [101, "r", 0, 16], [106, "r", 0, 16], [216, "r", 0, 16]]);
    let vector = json!({"device": device, "cache": {"policy": "none"}, "requests": requests});
    let results = ssd::simulate(&vector).expect("a run");
    // Everything one nanosecond later than in the example: the program comes first.
    assert_eq!(results["completions_ns"], json!([1, 161, 211, 276]));
    assert_eq!(results["counters"]["unit_busy_ns"], json!([1 + 1045 + 3 * 50]));
    assert_eq!(results["counters"]["suspensions"], 2);
}
