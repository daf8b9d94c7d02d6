//! The conformance vectors of a drive of today, with and without a cache
//! (`docs/spec/device-today.md` 12). A file of its own, since it builds in a fraction of the time
//! that all tests of the engine take.

use destage_engine::conform::{Difference, conform};
use destage_engine::control::Control;
use std::path::Path;

#[test]
fn every_vector_of_a_drive_of_today_passes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/device-today.jsonl");
    let report = conform(&[path], &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files.iter().flat_map(|f| f.differences.iter().map(Difference::to_string)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (40, 0, 0));
    assert!(report.files.iter().all(|file| file.not_compared.is_empty()), "{report:?}");
}
