//! The conformance vectors of the block policies: every decision, counter and list.

use destage_reference::Op;
use destage_reference::block::{Case, NAMES, run};
use serde_json::{Value, json};

const VECTORS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/block-policies.jsonl"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/further-block-policies.jsonl"),
];

fn case(vector: &Value) -> Case {
    let number = |key: &str| vector[key].as_u64().expect("an integer");
    let times = |key: &str| -> Vec<u64> {
        let times = vector["feedback"][key].as_array().into_iter().flatten();
        times.map(|ns| ns.as_u64().expect("a time")).collect()
    };
    let access = |access: &Value| {
        let op = if access[0] == "r" { Op::Read } else { Op::Write };
        (op, access[1].as_u64().expect("a page"))
    };
    Case {
        policy: vector["policy"].as_str().expect("a string").to_string(),
        params: vector["params"].as_object().expect("an object").clone(),
        frames: number("frames"),
        pages_per_block: number("pages_per_block"),
        accesses: vector["accesses"].as_array().expect("a list").iter().map(access).collect(),
        read_ns: times("read_ns"),
        write_ns: times("write_ns"),
    }
}

#[test]
fn every_vector_is_decided_counted_and_left_as_written() {
    let read = |path| std::fs::read_to_string(path).expect("the vectors are in the repository");
    let file = VECTORS.map(read).concat();
    let vectors: Vec<Value> =
        file.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    for policy in NAMES {
        assert!(vectors.iter().any(|vector| vector["policy"] == *policy), "{policy}");
    }
    for vector in vectors {
        let outcome = run(&case(&vector)).expect("a known policy");
        let name = format!("{} {}", vector["policy"], vector["name"]);
        for (got, expected) in
            outcome.decisions.iter().zip(vector["decisions"].as_array().expect("a list"))
        {
            assert_eq!(got, expected, "{name}");
        }
        assert_eq!(json!(outcome.counters), vector["counters"], "{name}");
        assert_eq!(outcome.last, vector["final"], "{name}");
    }
}
