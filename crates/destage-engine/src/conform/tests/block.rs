//! Vectors of block policies: whole files, doctored ones, wrong options.

use super::*;

#[test]
fn every_block_vector_passes_in_decisions_counters_and_lists() {
    let report = conform(&[shipped("block-policies.jsonl")], &Hooks::default()).expect("vectors");
    let differences: Vec<String> =
        report.files[0].differences.iter().map(Difference::to_string).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (66, 0, 0));
    assert!(report.files[0].not_compared.is_empty(), "{report:?}");
}

#[test]
fn what_is_emitted_of_a_block_policy_is_what_its_vectors_expect() {
    let text = std::fs::read_to_string(shipped("block-policies.jsonl")).expect("a shipped file");
    let emitted = emit_text(&text).expect("vectors");
    for (i, (vector, emitted)) in text.lines().zip(&emitted).enumerate() {
        let vector: Json = serde_json::from_str(vector).expect("JSON");
        assert_eq!(emitted["line"], i + 1);
        for key in ["decisions", "counters", "final"] {
            assert_eq!(emitted[key], vector[key], "{} {}: {key}", vector["policy"], vector["name"]);
        }
    }
}

/// The micro-trace of BPLRU, changed.
fn doctored_block(change: impl FnOnce(&mut Json)) -> String {
    let text = std::fs::read_to_string(shipped("block-policies.jsonl")).expect("a shipped file");
    let line = text.lines().find(|line| line.contains("\"bplru\"")).expect("a vector of BPLRU");
    let mut vector: Json = serde_json::from_str(line).expect("JSON");
    change(&mut vector);
    vector.to_string()
}

#[test]
fn a_doctored_decision_counter_or_list_of_a_block_policy_is_found() {
    let found = |change: fn(&mut Json)| only_difference(&doctored_block(change)).to_string();
    let padding = found(|v| v["decisions"][12]["padded"][0][0] = 15.into());
    assert!(padding.contains("access 12 (w 2)") && padding.contains("padded"), "{padding}");
    let counter = found(|v| v["counters"]["padding_reads"] = 4.into());
    assert!(counter.ends_with("padding_reads: expected 4, got 5"), "{counter}");
    let missing = found(|v| {
        v["counters"].as_object_mut().expect("an object").remove("evictions");
    });
    assert!(missing.ends_with("evictions: expected 0, got 4"), "{missing}");
    let last = found(|v| v["final"]["clusters"][0][1] = json!([20]));
    assert!(last.contains("final clusters: expected [[5,[20]"), "{last}");
}

#[test]
fn wrong_options_of_a_block_vector_are_refused_by_name() {
    let refused = |change: fn(&mut Json)| {
        conform_text(&doctored_block(change)).expect_err("refused").to_string()
    };
    for (change, expected) in [
        (
            (|v| v["params"]["fetch_on_write_miss"] = true.into()) as fn(&mut Json),
            "params.fetch_on_write_miss: block policies do not have this option",
        ),
        (
            |v| v["params"]["device_pages"] = 0.into(),
            "params.device_pages: expected none or an integer >= 1, found 0",
        ),
        (
            |v| v["pages_per_block"] = 0.into(),
            "pages_per_block: expected an integer 1..1048576, found 0",
        ),
        (
            |v| v["feedback"] = json!({"read_ns": [1, -1]}),
            "feedback.read_ns[1]: expected an integer >= 0, found -1",
        ),
        (|v| v["params"]["padding"] = 1.into(), "padding = 1: expected true or false"),
        (|v| v["params"]["alpha"] = 1.into(), "unknown parameter \"alpha\""),
    ] {
        let error = refused(change);
        assert!(error.contains(expected), "{error}");
    }
}
