//! The timed drive against its slow, event-driven reference model: completions, decisions,
//! counters.

use crate::Target;
use crate::drawn::draw;
use crate::targets::generate::{Caches, Ftls, interface_vector, vector, vector_with_map_cache};
use destage_conform::emit;
use destage_reference::ssd::{INTERFACE_COUNTERS, simulate};
use destage_replay::control::Control;
use proptest::strategy::{BoxedStrategy, Strategy};
use serde_json::Value;
use std::io::Write;

pub const PAGE: Target = Target {
    name: "drives",
    takes: "a byte that chooses the cache; what drive and load follow from",
    holds: "the drive does what its reference model does, to the nanosecond",
    run: |data| run(data, |caches| vector(caches, Ftls::Page).boxed()),
    samples: Vec::new,
};

pub const OTHER: Target = Target {
    name: "drives-ftl",
    takes: "the same, over one of the other FTLs",
    holds: "the drive does what its reference model does, to the nanosecond",
    run: |data| run(data, |caches| vector(caches, Ftls::Other).boxed()),
    samples: Vec::new,
};

pub const INTERFACE: Target = Target {
    name: "drives-interface",
    takes: "the same, of a drive with a host interface",
    holds: "the drive does what its reference model does, to the nanosecond",
    run: |data| run(data, |caches| interface_vector(caches).boxed()),
    samples: Vec::new,
};

pub const MAP: Target = Target {
    name: "drives-map",
    takes: "the same, of a drive with a map cache",
    holds: "the drive does what its reference model does, to the nanosecond",
    run: |data| run(data, |caches| vector_with_map_cache(caches).boxed()),
    samples: Vec::new,
};

/// Any sort of cache that the generator knows.
const CACHES: &[Caches] = &[
    Caches::None,
    Caches::Device,
    Caches::Page,
    Caches::Block,
    Caches::Admission,
    Caches::DeviceBlock,
    Caches::Over,
    Caches::Ahead,
];

fn run(data: &[u8], vectors: fn(Caches) -> BoxedStrategy<Value>) {
    let Some((&chosen, rest)) = data.split_first() else { return };
    let caches = CACHES[usize::from(chosen) % CACHES.len()];
    if let Some(vector) = draw(&vectors(caches), rest) {
        compare(&vector);
    }
}

fn compare(vector: &Value) {
    let mut file = tempfile::NamedTempFile::new().expect("room for a small file");
    writeln!(file, "{vector}").expect("room for a small file");
    let mut written = Vec::new();
    let ours = emit(file.path(), &mut written, &Control::default()).map_err(|e| e.to_string());
    let model = match (simulate(vector), ours) {
        (Ok(model), Ok(())) => model,
        // An FTL may run out of blocks; then it does for both.
        (Err(model), Err(ours)) if model == "device full" && ours.contains("device full") => return,
        (model, ours) => panic!("{vector}: the reference model: {:?}; ours: {ours:?}", model.err()),
    };
    let ours: Value = serde_json::from_slice(&written).expect("a line of JSON");
    assert!(ours.get("skipped").is_none(), "{vector}: it was skipped");
    for list in ["decisions", "written", "completions_ns"] {
        let empty = Value::Array(Vec::new());
        let (model, ours) = (model.get(list).unwrap_or(&empty), ours.get(list).unwrap_or(&empty));
        assert_eq!(ours, model, "{vector}: {list}");
    }
    // Who counts commands counts all of the interface.
    let counts_interface = ours["counters"].get("commands").is_some();
    for (counter, counted) in model["counters"].as_object().expect("counters") {
        let counts = counts_interface || !INTERFACE_COUNTERS.contains(&counter.as_str());
        if counter != "ftl" && counts {
            assert_eq!(&ours["counters"][counter], counted, "{vector}: {counter}");
        }
    }
}
