//! An FTL against its reference model, which looks at every read for the newest version of its
//! page.

use crate::drawn::draw;
use crate::{Target, files, root};
use destage_conform::emit;
use destage_replay::control::Control;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::OnceLock;

pub const TARGET: Target = Target {
    name: "ftls",
    takes: "a byte that chooses an FTL with its parameters; what operations follow from",
    holds: "every read returns what was written last; the counters are the reference model's",
    run,
    samples: Vec::new,
};

/// An FTL and its parameters: those of the conformance vectors.
fn ftls() -> &'static [(String, Value)] {
    static FTLS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    FTLS.get_or_init(|| {
        let mut found = Vec::new();
        for line in files::short_lines(&root().join("tests/vectors/ftl.jsonl"), usize::MAX) {
            let vector: Value = serde_json::from_slice(&line).expect("a vector");
            let ftl = vector["ftl"].as_str().expect("a name").to_string();
            let one = (ftl, vector["params"].clone());
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found
    })
}

fn run(data: &[u8]) {
    let Some((&chosen, rest)) = data.split_first() else { return };
    let (ftl, params) = &ftls()[usize::from(chosen) % ftls().len()];
    let pages = params["logical_pages"].as_u64().expect("logical_pages");
    // Runs in order, pages of a hot set, pages anywhere; mostly writes.
    let op = (0..10_u8, 0..pages, 1..8_u64, 0..4_u8);
    let Some(drawn) = draw(&proptest::collection::vec(op, 1..300), rest) else { return };
    let mut ops: Vec<(bool, u64)> = Vec::new();
    for (place, page, length, read) in drawn {
        let first = if place < 4 { page % (pages / 4).max(1) } else { page };
        let length = if place > 6 { length } else { 1 };
        ops.extend((first..(first + length).min(pages)).map(|lpn| (read != 0, lpn)));
    }
    compare(ftl, params, &ops);
}

fn compare(ftl: &str, params: &Value, ops: &[(bool, u64)]) {
    let given = params.as_object().expect("an object");
    let model = destage_reference::ftl::run(ftl, given, ops).expect("a known FTL");
    let listed: Vec<Value> =
        ops.iter().map(|&(write, lpn)| json!([if write { "w" } else { "r" }, lpn])).collect();
    let vector = json!({"ftl": ftl, "name": "drawn", "params": params, "ops": listed});
    let mut file = tempfile::NamedTempFile::new().expect("room for a small file");
    writeln!(file, "{vector}").expect("room for a small file");
    let mut written = Vec::new();
    emit(file.path(), &mut written, &Control::default()).expect("it is a vector");
    let ours: Value = serde_json::from_slice(&written).expect("a line of JSON");
    assert_eq!(ours["steps"], json!(model.steps), "{ftl}: steps");
    for (counter, &counted) in &model.counters {
        let ours = ours["counters"].get(*counter).and_then(Value::as_u64).unwrap_or(0);
        assert_eq!(ours, counted, "{ftl}: {counter}");
    }
}
