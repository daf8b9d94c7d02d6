//! Helpers of the tests that write vectors: draws, traces, and lines of the device layout.

use destage_reference::{Op, ssd};
use serde_json::{Map, Value, json};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/");

pub type Trace = Vec<(Op, u64)>;

/// Draws that are the same on every machine.
pub struct Draws(u64);

impl Draws {
    /// From this seed, which is not 0.
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % n
    }
}

/// Accesses to `pages` pages, some of them more often, `written` of 100 writes.
pub fn accesses(seed: u64, length: usize, pages: u64, written: u64) -> Trace {
    let mut draws = Draws(seed * 0x9E37_79B9 + 1);
    let access = |_| {
        let op = if draws.below(100) < written { Op::Write } else { Op::Read };
        let among = if draws.below(3) == 0 { pages } else { pages.div_ceil(4) };
        (op, draws.below(among))
    };
    (0..length).map(access).collect()
}

pub fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

pub fn letter(op: Op) -> &'static str {
    if op == Op::Write { "w" } else { "r" }
}

/// Input of the device layout: bursts of requests on four chips.
pub fn device_input(name: &str, seed: u64, device: Value, cache: Value) -> Map<String, Value> {
    let mut shape = object(json!({
        "channels": 2, "chips_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 12,
        "pages_per_block": 8, "logical_pages": 256, "gc_low_pages": 8, "precondition": "random",
        "precondition_writes": 200, "precondition_seed": seed, "page_bytes": 4096,
        "read_ns": [25000], "program_ns": [200000], "erase_ns": 1500000, "bus_ps_per_byte": 25000,
    }));
    shape.extend(object(device));
    let mut draws = Draws(seed * 77 + 5);
    let mut now = 0;
    let mut request = |(op, page): (Op, u64)| {
        now += if draws.below(6) == 0 { 900_000 } else { draws.below(40_000) };
        json!([now, letter(op), page * 4096, 4096 * (1 + draws.below(3))])
    };
    let requests: Vec<Value> = accesses(seed, 120, 250, 65).into_iter().map(&mut request).collect();
    object(json!({"name": name, "device": shape, "cache": cache, "requests": requests}))
}

/// A line of a vector file: the input, and what the reference model makes of it.
pub fn line(mut vector: Map<String, Value>) -> String {
    let mut outcome = ssd::simulate(&Value::Object(vector.clone())).expect("a run");
    // Drives of these vectors are older than what the reference model counts of current SSDs.
    let counters = outcome["counters"].as_object_mut().expect("counters");
    counters.retain(|counter, _| !ssd::INTERFACE_COUNTERS.contains(&counter.as_str()));
    vector.extend(object(outcome));
    Value::Object(vector).to_string()
}

/// The file holds these lines, or is rewritten if that is requested.
pub fn holds(file: &str, lines: &[String]) {
    let path = format!("{VECTORS}{file}");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("DESTAGE_WRITE_VECTORS").is_some() {
        std::fs::write(&path, &text).expect("the vectors can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the vectors are in the repository");
    for (number, (found, line)) in (1..).zip(found.lines().zip(lines)) {
        assert!(found == line, "{file}:{number}: expected {line}");
    }
    assert_eq!(found.lines().count(), lines.len(), "{file}");
}
