//! Vectors of kind *device*: whole files, doctored ones, and lines that are none.

use super::*;

/// The files of device vectors.
const DEVICE_FILES: [&str; 5] = [
    "device.jsonl",
    "device-policies.jsonl",
    "ace-device.jsonl",
    "writer.jsonl",
    "device-today.jsonl",
];

#[test]
fn every_device_vector_passes() {
    let names = DEVICE_FILES.map(shipped);
    let report = conform(&names, &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files.iter().flat_map(|f| f.differences.iter().map(Difference::to_string)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (27 + 30 + 8 + 13 + 42, 0, 0));
    assert!(report.files.iter().all(|file| file.not_compared.is_empty()), "{report:?}");
}

#[test]
fn what_is_emitted_of_a_device_is_what_its_vectors_expect() {
    for name in DEVICE_FILES {
        let text = std::fs::read_to_string(shipped(name)).expect("a shipped file");
        let emitted = emit_text(&text).expect("vectors");
        for (i, (vector, emitted)) in text.lines().zip(&emitted).enumerate() {
            let vector: Json = serde_json::from_str(vector).expect("JSON");
            assert_eq!(emitted["line"], i + 1);
            for key in ["decisions", "completions_ns", "written", "counters"] {
                assert_eq!(emitted[key], vector[key], "{}: {key}", vector["name"]);
            }
        }
    }
}

/// The first vector with a cache, changed.
fn doctored_device(change: impl FnOnce(&mut Json)) -> String {
    let text = std::fs::read_to_string(shipped("device-policies.jsonl")).expect("a shipped file");
    let mut vector: Json =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    change(&mut vector);
    vector.to_string()
}

#[test]
fn a_doctored_completion_decision_or_counter_of_a_device_is_found() {
    for (change, message) in [
        (
            (|v| v["completions_ns"][3] = json!(1)) as fn(&mut Json),
            "with the device: request 3: expected to complete at 1 ns, got ",
        ),
        (|v| v["decisions"][5]["hit"] = json!(true), "with the device: access 5 (w "),
        (|v| v["counters"]["unit_busy_ns"][0] = json!(5), "unit_busy_ns: expected [5,"),
        (|v| v["counters"]["makespan_ns"] = json!(0), "makespan_ns: expected 0, got 36394473"),
    ] {
        let difference = only_difference(&doctored_device(change)).to_string();
        assert!(difference.contains(message), "{difference}\n{message}");
    }
    let text = std::fs::read_to_string(shipped("writer.jsonl")).expect("a shipped file");
    let mut vector: Json =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    vector["written"][2] = json!([5, 6]);
    let difference = only_difference(&vector.to_string()).to_string();
    assert!(
        difference.contains("idle write 2: expected page 6 at 5 ns, got page "),
        "{difference}"
    );
    let file = doctored_device(|v| v["counters"]["erasures"] = json!(1));
    let report = conform_text(&file).expect("a vector");
    assert_eq!(report.files[0].not_compared.keys().collect::<Vec<_>>(), ["counters.erasures"]);
}

#[test]
fn a_device_line_that_is_no_vector_is_an_error_with_its_key() {
    for (change, message) in [
        ((|v| without(v, "requests")) as fn(&mut Json), "requests: the key is missing"),
        (|v| v["device"] = json!(4), "device: expected an object, found 4"),
        (|v| v["device"]["channels"] = json!(0), "channels = 0: expected integer 1.."),
        (|v| v["device"]["chanels"] = json!(1), "did you mean channels?"),
        (|v| v["device"]["read_ns"] = json!({}), "device.read_ns: expected a number, a string"),
        (|v| v["device"]["logical_pages"] = json!(640), "no room for GC"),
        (|v| v["cache"]["policy"] = json!("lrru"), "did you mean lru?"),
        (|v| v["cache"]["k"] = json!(2), "unknown parameter \"k\""),
        (|v| without(&mut v["cache"], "frames"), "the key frames is missing"),
        (|v| v["host"] = json!({"queue_depth": 0}), "queue_depth = 0: expected integer"),
        (
            |v| {
                v["device"]["bus"] = json!("shared");
                v["device"]["sched"] = json!("read_first");
            },
            "sched = read_first excludes bus = shared",
        ),
        (
            |v| {
                v["host"] = json!({"writer": "trickle"});
                v["cache"]["policy"] = json!("arc");
            },
            "host: writer = trickle excludes arc, which has no eviction order",
        ),
        (|v| v["requests"][1] = json!([0, "w", 0, 1]), "requests: request 1: it arrives at 0 ns"),
        (|v| v["requests"][1][3] = json!(-1), "requests[1][3]: expected an integer 0..2^62"),
        (|v| v["requests"][1][3] = json!(1u64 << 61), "too many for a vector"),
        (|v| v["requests"][2][1] = json!("x"), "requests[2][1]: expected \"r\", \"w\", \"t\" or"),
        (|v| v["placement"] = json!({"policy": "sepbit"}), "policy = sepbit excludes handles = 1"),
        (
            |v| {
                v["cache"] = json!({"policy": "ecr", "frames": 14, "cqct": "eq1"});
                v["device"]["slc_blocks"] = json!(2);
            },
            "ecr: cqct = eq1 excludes slc_blocks of the device",
        ),
        (|v| v["completions_ns"] = json!([]), "expected one per request (150), found 0"),
        (|v| v["decisions"] = json!([]), "expected one per access (232), found 0"),
        (|v| v["counters"] = json!(1), "counters: expected an object"),
    ] {
        let line = doctored_device(change);
        for error in [conform_text(&line).err(), emit_text(&line).err()] {
            let text = error.expect(message).to_string();
            assert!(text.contains(".jsonl:1: ") && text.contains(message), "{text}\n{message}");
        }
    }
}
