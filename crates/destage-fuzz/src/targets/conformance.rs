//! Any line as a conformance vector.

use crate::{Target, files, root};
use destage_conform::{conform, emit};
use destage_replay::control::Control;
use std::io::Write;

pub const TARGET: Target = Target {
    name: "conformance",
    takes: "a file of conformance vectors",
    holds: "it is run or refused, and what it gives is written as lines of JSON",
    run,
    samples,
};

fn run(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("room for a small file");
    file.write_all(data).expect("room for a small file");
    let mut written = Vec::new();
    if emit(file.path(), &mut written, &Control::default()).is_ok() {
        for line in written.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).expect("a line of JSON");
        }
    }
    let _ = conform(&[file.path().to_owned()], &Control::default());
}

/// The short vectors of every file.
fn samples() -> Vec<Vec<u8>> {
    let files = files::of(&root().join("tests/vectors"));
    let names = files.into_iter().map(|(name, _)| root().join("tests/vectors").join(name));
    names.flat_map(|file| files::short_lines(&file, 4000)).collect()
}
