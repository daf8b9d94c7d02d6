//! The product's side: one vector through what `conform` runs vectors with.

use destage_engine::conform::emit;
use destage_engine::control::Control;
use serde_json::Value;
use std::path::Path;

/// `{completions_ns, decisions, counters}` of a vector's input, or why it is refused.
pub fn run(vector: &Value) -> Result<Value, String> {
    // Properties run side by side, each in its own thread.
    let thread = format!("{:?}.jsonl", std::thread::current().id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("device-twin-{thread}"));
    std::fs::write(&file, format!("{vector}\n")).expect("the target directory takes files");
    let mut output = Vec::new();
    emit(&file, &mut output, &Control::default()).map_err(|error| error.to_string())?;
    let line: Value = serde_json::from_slice(&output).expect("one line of JSON");
    match line.get("skipped") {
        None => Ok(line),
        Some(why) => Err(why.to_string()),
    }
}
