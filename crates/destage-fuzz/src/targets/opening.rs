//! Any bytes as a file on the command line: compressed files and archives are unpacked, the format
//! is told, and the records are sorted and merged, as a run does it.

use crate::{Target, files, root};
use destage_trace::{ReaderOptions, with_stream};
use std::io::Write;

pub const TARGET: Target = Target {
    name: "opening",
    takes: "a file on the command line, packed or not",
    holds: "times do not decrease",
    run,
    samples,
};

fn run(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("room for a small file");
    file.write_all(data).expect("room for a small file");
    let options = ReaderOptions { sort_window_records: 4, ..ReaderOptions::default() };
    let _ = with_stream(&[file.path().to_owned()], &options, Default::default(), |stream| {
        let (mut batch, mut last_ns) = (Vec::new(), 0);
        while stream.next_batch(&mut batch)? {
            for record in &batch {
                assert!(record.time_ns >= last_ns, "times do not decrease");
                last_ns = record.time_ns;
            }
        }
        Ok(())
    });
}

/// The samples of all formats; `fuzz/samples` has packed ones.
fn samples() -> Vec<Vec<u8>> {
    files::of(&root().join("tests/data")).into_iter().map(|(_, bytes)| bytes).collect()
}
