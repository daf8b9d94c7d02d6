//! Arbitrary bytes as a file on the command line: compressions and archives are peeled off, the
//! format is told, and the records are sorted and merged, as a run does it. Errors are fine, panics
//! are not.

#![no_main]

use std::io::Write;

use destage_trace::{ReaderOptions, with_stream};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
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
});
