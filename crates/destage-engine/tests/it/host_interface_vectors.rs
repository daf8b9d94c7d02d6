//! The conformance vectors of every kind of drive, with and without a cache: those of
//! `docs/spec/device-today.md` 12, and those that nothing of it may change. A file of its own: it
//! builds in a fraction of the time that all tests of the engine take.

use destage_conform::{Difference, conform};
use destage_replay::control::Control;
use std::path::{Path, PathBuf};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(name)
}

fn all_pass(names: &[&str], vectors: u64) {
    let paths: Vec<PathBuf> = names.iter().map(|name| shipped(name)).collect();
    let report = conform(&paths, &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files.iter().flat_map(|f| f.differences.iter().map(Difference::to_string)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (vectors, 0, 0));
    assert!(report.files.iter().all(|file| file.not_compared.is_empty()), "{report:?}");
}

#[test]
fn every_vector_of_a_current_drive_passes() {
    all_pass(&["device-today.jsonl"], 42);
}

#[test]
fn every_vector_of_a_collector_passes() {
    all_pass(&["collectors.jsonl"], 48);
}

#[test]
fn every_vector_of_staging_pages_passes() {
    all_pass(&["staged.jsonl"], 24);
}

#[test]
fn every_vector_of_collection_in_steps_passes() {
    all_pass(&["gc-steps.jsonl"], 24);
}

#[test]
fn every_vector_of_combinations_passes() {
    all_pass(&["combinations.jsonl"], 16);
}

#[test]
fn every_vector_of_a_map_cache_passes() {
    all_pass(&["map-cache.jsonl"], 30);
}

#[test]
fn every_vector_of_another_ftl_on_several_units_passes() {
    all_pass(&["ftl-device.jsonl"], 33);
}

#[test]
fn every_vector_of_a_writer_over_another_ftl_passes() {
    all_pass(&["writer-ftls.jsonl"], 9);
}

#[test]
fn every_vector_of_choices_by_unit_passes() {
    all_pass(&["choices.jsonl"], 15);
}

#[test]
fn every_vector_of_gcar_over_bplru_passes() {
    all_pass(&["gcar-bplru.jsonl"], 11);
}

#[test]
fn every_vector_of_the_papers_drives_passes() {
    let names = ["device.jsonl", "device-policies.jsonl", "ace-device.jsonl", "writer.jsonl"];
    all_pass(&names, 27 + 30 + 8 + 13);
}
