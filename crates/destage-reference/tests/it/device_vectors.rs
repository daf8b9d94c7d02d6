//! The conformance vectors of the device, of its policies and of current SSDs: every completion,
//! decision and counter.

use destage_reference::ssd::{DEVICE_POLICIES, simulate};
use serde_json::{Value, json};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors");

fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{DIRECTORY}/{file}");
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
}

/// The first element of a list that differs, or the two values.
fn first_difference(what: &str, expected: &Value, got: &Value) -> Option<String> {
    if expected == got {
        return None;
    }
    if let (Some(expected), Some(got)) = (expected.as_array(), got.as_array()) {
        for (index, pair) in expected.iter().zip(got).enumerate() {
            if pair.0 != pair.1 {
                return Some(format!("{what} {index}: expected {}, got {}", pair.0, pair.1));
            }
        }
        return Some(format!("{what}: expected {}, got {}", expected.len(), got.len()));
    }
    Some(format!("{what}: expected {expected}, got {got}"))
}

fn differences(vector: &Value) -> Vec<String> {
    let got = match simulate(vector) {
        Ok(got) => got,
        Err(error) => return vec![format!("{}: {error}", vector["name"])],
    };
    let mut differences = Vec::new();
    for list in ["completions_ns", "decisions"] {
        differences.extend(first_difference(list, &vector[list], &got[list]));
    }
    let expected = vector["counters"].as_object().expect("counters");
    let counters = got["counters"].as_object().expect("counters");
    // Every run has commands; vectors of the papers' drives do not count them.
    let counted = counters.keys().filter(|counter| *counter != "commands");
    for counter in expected.keys().chain(counted) {
        let zero = json!(0);
        let expected = expected.get(counter).unwrap_or(&zero);
        let got = counters.get(counter).unwrap_or(&Value::Null);
        differences.extend(first_difference(counter, expected, got));
    }
    differences.iter().map(|difference| format!("{}: {difference}", vector["name"])).collect()
}

fn all_agree(file: &str, lines: usize) {
    let vectors = vectors(file);
    assert_eq!(vectors.len(), lines);
    let differences: Vec<String> = vectors.iter().flat_map(differences).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_device_vector_is_timed_and_counted_as_written() {
    all_agree("device.jsonl", 27);
}

#[test]
fn every_policy_vector_is_timed_decided_and_counted_as_written() {
    all_agree("device-policies.jsonl", 30);
}

#[test]
fn every_vector_of_a_current_drive_is_timed_decided_and_counted_as_written() {
    all_agree("device-today.jsonl", 42);
}

#[test]
fn every_vector_of_a_collector_is_timed_decided_and_counted_as_written() {
    all_agree("collectors.jsonl", 48);
}

#[test]
fn every_vector_of_staging_pages_is_timed_decided_and_counted_as_written() {
    all_agree("staged.jsonl", 24);
}

#[test]
fn every_vector_of_collection_in_steps_is_timed_decided_and_counted_as_written() {
    all_agree("gc-steps.jsonl", 24);
}

#[test]
fn every_vector_of_combinations_is_timed_decided_and_counted_as_written() {
    all_agree("combinations.jsonl", 16);
}

#[test]
fn every_vector_of_a_map_cache_is_timed_decided_and_counted_as_written() {
    all_agree("map-cache.jsonl", 30);
}

#[test]
fn every_vector_of_another_ftl_on_several_units_is_timed_and_counted_as_written() {
    all_agree("ftl-device.jsonl", 33);
}

#[test]
fn every_device_policy_has_vectors() {
    let vectors = [vectors("device-policies.jsonl"), vectors("choices.jsonl")].concat();
    for policy in DEVICE_POLICIES {
        assert!(vectors.iter().any(|vector| vector["cache"]["policy"] == **policy), "{policy}");
    }
}
