//! Vectors of kind *FTL*: whole files, doctored ones, and lines that are none.

use super::*;

#[test]
fn every_ftl_vector_passes_and_is_emitted_as_it_stands() {
    let report = conform(&[shipped("ftl.jsonl")], &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files[0].differences.iter().map(Difference::to_string).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (40, 0, 0));
    assert!(report.files[0].not_compared.is_empty(), "{report:?}");

    let text = std::fs::read_to_string(shipped("ftl.jsonl")).expect("a shipped file");
    for ((i, vector), emitted) in text.lines().enumerate().zip(emit_text(&text).expect("vectors")) {
        let vector: Json = serde_json::from_str(vector).expect("JSON");
        let expected =
            json!({"line": i + 1, "steps": vector["steps"], "counters": vector["counters"]});
        assert_eq!(emitted, expected, "{}", vector["name"]);
    }
}

/// The micro-trace of BAST, changed.
fn doctored_ftl(change: impl FnOnce(&mut Json)) -> String {
    let text = std::fs::read_to_string(shipped("ftl.jsonl")).expect("a shipped file");
    let mut vector: Json =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    change(&mut vector);
    vector.to_string()
}

#[test]
fn a_doctored_step_or_counter_of_an_ftl_is_found() {
    for (change, message) in [
        (
            (|v| v["steps"][16] = json!([3, 20, 3])) as fn(&mut Json),
            "the FTL alone: operation 16 (w 9): expected 3 reads, 20 programs and 3 erases after \
             it, got 3, 20 and 2",
        ),
        (|v| v["counters"]["erases"] = json!(7), "erases: expected 7, got 6"),
        (|v| without(&mut v["counters"], "full_merges"), "full_merges: expected 0, got 2"),
    ] {
        let difference = only_difference(&doctored_ftl(change)).to_string();
        assert!(difference.contains(message), "{difference}\n{message}");
    }
    let text = doctored_ftl(|v| {
        v["counters"]["gc_runs"] = json!(1);
        v["stepps"] = json!([]);
        without(v, "steps");
        without(v, "name");
    });
    let report = conform_text(&text).expect("a vector");
    assert_eq!(report.passed(), 1);
    let not_compared: Vec<_> = report.files[0].not_compared.keys().collect();
    assert_eq!(not_compared, ["counters.gc_runs", "stepps"]);
}

#[test]
fn an_ftl_line_that_is_no_vector_is_an_error_with_its_key() {
    for (change, message) in [
        ((|v| without(v, "ops")) as fn(&mut Json), "ops: the key is missing"),
        (|v| v["ftl"] = json!("basst"), "ftl: unknown FTL \"basst\", did you mean bast? (known:"),
        (|v| v["ftl"] = json!("page"), "without one there is page-ideal"),
        (|v| v["params"] = json!([]), "params: expected an object, found []"),
        (
            |v| v["params"]["log_block"] = json!(1),
            "did you mean log_blocks? (known: logical_pages,",
        ),
        (|v| v["params"]["log_blocks"] = json!(0), "params: log_blocks = 0: expected integer 1.."),
        (|v| v["params"]["log_blocks"] = json!(2.5), "log_blocks = 2.5: expected integer 1.."),
        (|v| v["params"]["victim"] = json!("mru"), "victim = \"mru\": expected lru, fifo"),
        (|v| v["params"]["prefill"] = json!(1), "prefill = 1: expected true or false"),
        (|v| v["params"]["victim"] = json!({}), "params.victim: expected a number, a string"),
        (|v| v["params"]["cmt_entries"] = json!(4), "params: unknown key \"cmt_entries\""),
        (|v| v["params"]["logical_pages"] = json!(1u64 << 40), "too many for a vector"),
        (|v| without(&mut v["params"], "logical_pages"), "the key logical_pages is missing"),
        (|v| v["ops"][3] = json!(["t", 3]), "ops[3][0]: expected \"r\" or \"w\", found \"t\""),
        (|v| v["ops"][3] = json!(["w", -3]), "ops[3][1]: expected a page number, found -3"),
        (
            |v| v["ops"][3] = json!(["w", 16]),
            "ops: operation 3: page 16: expected a page below logical_pages = 16",
        ),
        (|v| v["steps"] = json!([]), "steps: expected one per operation (25), found 0"),
        (|v| v["steps"][2] = json!([1, 2]), "steps[2]: expected a list of reads, programs and"),
        (|v| v["counters"] = json!(1), "counters: expected an object"),
        (
            |v| {
                v["ftl"] = json!("dftl");
                v["params"] = json!({"logical_pages": 16, "pages_per_block": 4,
                    "physical_blocks": 3});
            },
            "physical_blocks = 3: expected integer 11..",
        ),
        (
            |v| {
                v["ftl"] = json!("page-ideal");
                v["params"] = json!({"logical_pages": 16, "over_provisioning": -0.1});
            },
            "over_provisioning = -0.1: expected number >= 0",
        ),
    ] {
        let line = doctored_ftl(change);
        for error in [conform_text(&line).err(), emit_text(&line).err()] {
            let text = error.expect(message).to_string();
            assert!(text.contains(".jsonl:1: ") && text.contains(message), "{text}\n{message}");
        }
    }
}
