//! Any text as reader options, as flags and `[trace]` give them.

use crate::Target;
use destage_trace::ReaderOptions;
use destage_trace::options::OPTIONS;

pub const TARGET: Target = Target {
    name: "options",
    takes: "lines `key=value` of reader options",
    holds: "what is taken is written and read again as the same",
    run,
    samples,
};

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut options = ReaderOptions::default();
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let _ = options.set_text(key, value);
    }
    let map = options.to_map();
    let again = ReaderOptions::from_map(&map).expect("what it wrote it reads");
    assert_eq!(again.to_map(), map);
}

/// Each key with values that some of them take.
fn samples() -> Vec<Vec<u8>> {
    let values = ["true", "1024", "256MiB", "skip", "us", "R,W", "time=0,op=2", "<u32 page", "a*"];
    let line = |key, value| format!("{key}={value}\n").into_bytes();
    let lines = |value| OPTIONS.iter().flat_map(move |field| line(field.key.name, value)).collect();
    values.into_iter().map(lines).collect()
}
