//! The product's side: one vector through what `conform` runs vectors with.

use destage_conform::emit;
use destage_replay::control::Control;
use serde_json::Value;
use std::path::Path;

/// `{completions_ns, decisions, counters}` of a vector's input, or why it is refused.
pub fn run(vector: &Value) -> Result<Value, String> {
    // Properties run side by side, in threads and in processes.
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let name = format!("device-reference model-{process}-{thread:?}.jsonl");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, format!("{vector}\n")).expect("the target directory takes files");
    let mut output = Vec::new();
    let emitted = emit(&file, &mut output, &Control::default());
    std::fs::remove_file(&file).expect("it was written above");
    emitted.map_err(|error| error.to_string())?;
    let line: Value = serde_json::from_slice(&output).expect("one line of JSON");
    match line.get("skipped") {
        None => Ok(line),
        Some(why) => Err(why.to_string()),
    }
}
