//! Whole vector files, doctored vectors, malformed lines, and pages at the end of the 64-bit range.

use super::*;
use destage_core::{Directory, Hashed, Lookup, Page, Plan, Policy, Request, Slot};
use destage_policies::{POLICIES, Setup, lru::Lru};
use destage_reference as models;
use destage_replay::control::Control;
use serde_json::{Value as Json, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

mod block;
mod device;
mod ftl;
mod tiers;

const MICRO: &str = concat!(
    r#"{"name":"lru/three","policy":"lru","params":{},"frames":1,"#,
    r#""accesses":[["w",7],["r",7],["r",8]],"#,
    r#""decisions":[{"hit":false,"evicted":[],"flushed":[]},"#,
    r#"{"hit":true,"evicted":[],"flushed":[]},{"hit":false,"evicted":[7],"flushed":[[7]]}],"#,
    r#""counters":{"read_hits":1,"read_misses":1,"write_hits":0,"write_misses":1,"#,
    r#""physical_reads":1,"physical_writes":1,"evictions":1,"end_flushes":0}}"#
);

/// A file of its own, gone when dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(content: impl AsRef<[u8]>) -> TempFile {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "destage-conform-{}-{}.jsonl",
            std::process::id(),
            NUMBER.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("the temporary folder can be written");
        TempFile(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(name)
}

/// The files of page vectors.
const PAGE_FILES: [&str; 3] = ["page-policies.jsonl", "further-policies.jsonl", "ace.jsonl"];

/// The page vectors, one a line.
fn page_vectors() -> Vec<String> {
    let read = |name| std::fs::read_to_string(shipped(name)).expect("a shipped file");
    PAGE_FILES.map(read).concat().lines().map(str::to_string).collect()
}

fn conform_text(content: &str) -> Result<Report, ConformError> {
    let file = TempFile::new(content);
    conform(std::slice::from_ref(&file.0), &Control::default())
}

fn emit_text(content: &str) -> Result<Vec<Json>, ConformError> {
    let file = TempFile::new(content);
    let mut output = Vec::new();
    emit(&file.0, &mut output, &Control::default())?;
    let text = String::from_utf8(output).expect("UTF-8");
    Ok(text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// The vector above, changed.
fn doctored(change: impl FnOnce(&mut Json)) -> String {
    let mut vector: Json = serde_json::from_str(MICRO).expect("JSON");
    change(&mut vector);
    vector.to_string()
}

fn only_difference(content: &str) -> Difference {
    let report = conform_text(content).expect("a vector");
    assert_eq!((report.passed(), report.failed()), (0, 1));
    report.files[0].differences[0].clone()
}

#[test]
fn every_page_vector_of_every_policy_passes_over_both_directories() {
    let vectors = page_vectors();
    for policy in models::NAMES.iter().chain(models::WRAPPERS) {
        let of_policy = format!("\"policy\":\"{policy}\"");
        assert!(vectors.iter().any(|line| line.contains(&of_policy)), "{policy}");
    }
    let report = conform(&PAGE_FILES.map(shipped), &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files.iter().flat_map(|f| f.differences.iter().map(Difference::to_string)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (206 + 143 + 23, 0, 0));
}

#[test]
fn what_is_emitted_is_what_the_vectors_expect() {
    let vectors = page_vectors();
    let emitted = emit_text(&vectors.join("\n")).expect("vectors");
    assert_eq!(emitted.len(), vectors.len());
    for (i, (vector, emitted)) in vectors.iter().zip(&emitted).enumerate() {
        let vector: Json = serde_json::from_str(vector).expect("JSON");
        assert_eq!(emitted["line"], i + 1);
        assert_eq!(emitted["decisions"], vector["decisions"], "{}", vector["name"]);
        assert_eq!(emitted["counters"], vector["counters"], "{}", vector["name"]);
    }
}

#[test]
fn emitting_needs_no_expectations_and_keeps_the_layout() {
    let bare = concat!(
        r#"{"policy":"lru","params":{"flush_at_end":true,"fetch_on_write_miss":true},"#,
        r#""frames":4294967295,"accesses":[["w",18446744073709551615]]}"#
    );
    let file = TempFile::new(format!("{bare}\r\n"));
    let mut output = Vec::new();
    emit(&file.0, &mut output, &Control::default()).expect("a vector");
    assert_eq!(
        String::from_utf8(output).expect("UTF-8"),
        concat!(
            r#"{"line":1,"decisions":[{"hit":false,"evicted":[],"flushed":[]}],"#,
            r#""counters":{"read_hits":0,"read_misses":0,"write_hits":0,"write_misses":1,"#,
            r#""physical_reads":1,"physical_writes":1,"evictions":0,"end_flushes":1}}"#,
            "\n"
        )
    );
}

/// The vectors again with their pages at the other end of the range and in reverse order, so that
/// ties break the other way; what is right then is the reference models' word.
#[test]
fn pages_at_the_end_of_the_range_are_decided_as_by_the_models() {
    let mut vectors = Vec::new();
    let mut expected = Vec::new();
    for line in page_vectors() {
        let mut vector: Json = serde_json::from_str(&line).expect("JSON");
        let mut trace = Vec::new();
        for access in vector["accesses"].as_array_mut().expect("a list") {
            let page = u64::MAX - access[1].as_u64().expect("a page");
            access[1] = page.into();
            trace.push((if access[0] == "r" { models::Op::Read } else { models::Op::Write }, page));
        }
        let (policy, frames) = (vector["policy"].as_str(), vector["frames"].as_u64());
        let params = vector["params"].as_object().expect("an object");
        let outcome = models::run(
            policy.expect("a name"),
            frames.expect("an integer") as usize,
            params,
            &trace,
        );
        expected.push(outcome.expect("a known policy"));
        vectors.push(vector.to_string());
    }
    for (emitted, expected) in emit_text(&vectors.join("\n")).expect("vectors").iter().zip(expected)
    {
        let decisions: Vec<Json> = expected
            .decisions
            .iter()
            .map(|d| json!({"hit": d.hit, "evicted": d.evicted, "flushed": d.flushed}))
            .collect();
        let line = emitted["line"].as_u64().expect("a line") as usize;
        assert_eq!(emitted["decisions"], Json::Array(decisions), "{}", vectors[line - 1]);
        for (counter, count) in expected.counters {
            assert_eq!(emitted["counters"][counter], count, "{counter}: {}", vectors[line - 1]);
        }
    }
}

#[test]
fn every_policy_takes_the_largest_cache_and_an_empty_trace() {
    for policy in POLICIES {
        if destage_policies::requirements(policy.name).expect("in the table").device() {
            continue; // they have device vectors
        }
        for accesses in [json!([]), json!([["r", 3], ["w", 0], ["r", 3]])] {
            let length = accesses.as_array().map_or(0, Vec::len);
            let vector = json!({
                "policy": policy.name, "params": {}, "frames": u32::MAX, "accesses": accesses,
            });
            let emitted = emit_text(&vector.to_string()).expect(policy.name);
            assert_eq!(emitted[0]["decisions"].as_array().map(Vec::len), Some(length));
            assert_eq!(emitted[0]["counters"]["evictions"], 0, "{}", policy.name);
        }
    }
}

#[test]
fn a_doctored_decision_is_found_at_its_access() {
    let difference = only_difference(&doctored(|vector| {
        vector["decisions"][2]["flushed"] = json!([]);
        vector["counters"]["evictions"] = json!(5);
    }));
    assert_eq!(difference.over, Over::Both);
    assert_eq!(
        difference.to_string(),
        "line 1 (lru/three), dense ids and hashed pages: access 2 (r 8): \
         expected {\"hit\":false,\"evicted\":[7],\"flushed\":[]}, \
         got {\"hit\":false,\"evicted\":[7],\"flushed\":[[7]]}"
    );
}

#[test]
fn a_doctored_counter_is_found_and_one_that_is_not_listed_is_0() {
    let difference =
        only_difference(&doctored(|vector| vector["counters"]["evictions"] = json!(2)));
    assert_eq!(difference.found.to_string(), "evictions: expected 2, got 1");

    let unlisted = doctored(|vector| vector["counters"] = json!({"read_hits": 1}));
    assert_eq!(only_difference(&unlisted).found.to_string(), "read_misses: expected 0, got 1");
}

fn without(vector: &mut Json, key: &str) {
    vector.as_object_mut().expect("an object").remove(key);
}

#[test]
fn a_vector_that_expects_nothing_does_not_pass() {
    let nothing = doctored(|v| {
        without(v, "decisions");
        without(v, "counters");
    });
    let report = conform_text(&nothing).expect("a vector");
    assert_eq!((report.passed(), report.failed()), (0, 0));
    assert_eq!(report.files[0].skipped["nothing is expected of it"], 1);
}

#[test]
fn what_is_not_expected_is_not_compared() {
    let silent: [fn(&mut Json); 5] = [
        |v| without(v, "decisions"),
        |v| without(v, "counters"),
        |v| without(v, "name"),
        |v| v["decisions"][2] = json!({"index": 2, "op": "r", "page": 8}),
        |v| v["decisions"][2] = json!({"evicted": [7]}),
    ];
    for change in silent {
        let report = conform_text(&doctored(change)).expect("a vector");
        assert_eq!((report.passed(), report.failed()), (1, 0));
        assert!(report.files[0].not_compared.is_empty());
    }
    let report = conform_text(&doctored(|v| v["decisoins"] = v["decisions"].take())).err();
    assert!(report.is_some(), "null is no list of decisions");
    let report = conform_text(&doctored(|v| {
        v["counters"]["destages"] = json!(77);
        v["decisoins"] = json!([]);
    }));
    let not_compared = &report.expect("a vector").files[0].not_compared;
    assert_eq!(not_compared.keys().collect::<Vec<_>>(), ["counters.destages", "decisoins"]);
}

#[test]
fn parameters_are_taken_in_every_form_that_json_has_for_them() {
    let lines = page_vectors();
    let with_params = |policy: &str, params: Json| {
        let line = lines.iter().find(|l| l.contains(&format!("\"policy\":\"{policy}\"")));
        let mut vector: Json = serde_json::from_str(line.expect("vectors")).expect("JSON");
        vector["params"] = params;
        emit_text(&vector.to_string())
    };
    let decisions = |policy: &str, params: Json| {
        with_params(policy, params).expect("good parameters")[0]["decisions"].clone()
    };
    let whole = decisions("cflru", json!({"window_fraction": 1}));
    assert_eq!(whole, decisions("cflru", json!({"window_fraction": 1.0})));
    let none = decisions("lru-k", json!({"retained_period": null}));
    assert_eq!(none, decisions("lru-k", json!({})));
    for (params, part) in [
        (json!({"k": 2.0}), "params: lru-k: k = 2.0: expected integer 1..16"),
        (json!({"k": 17}), "params: lru-k: k = 17: expected integer 1..16"),
        (json!({"k": "2"}), "params: lru-k: k = \"2\": expected integer 1..16"),
        (json!({"k": true}), "params: lru-k: k = true: expected integer 1..16"),
        (json!({"kk": 2}), "did you mean k?"),
        (json!({"k": [2]}), "params.k: expected a number, a string, true, false or null"),
    ] {
        let error = with_params("lru-k", params).expect_err("a bad parameter").to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Each line, after one that is right, is refused with its message, by the reader of expectations
/// and by the one that makes them.
fn each_is_an_error_of_line_2<const N: usize>(lines: [(String, &str); N]) {
    for (line, message) in lines {
        let content = format!("{MICRO}\n{line}\n");
        for error in [conform_text(&content).err(), emit_text(&content).err()] {
            let error = error.expect(&line);
            assert!(matches!(error, ConformError::Line { line: 2, .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(".jsonl:2: ") && text.contains(message), "{text}\n{message}");
        }
    }
}

#[test]
fn a_line_that_is_no_vector_is_an_error_with_file_line_and_key() {
    let bad = |change: fn(&mut Json)| doctored(change);
    each_is_an_error_of_line_2([
        ("".to_string(), "expected a JSON object, found an empty line"),
        ("[]".to_string(), "expected a JSON object, found []"),
        ("{\"policy\":\"lru\"".to_string(), "not JSON: EOF while parsing an object (column 15)"),
        ("{\"frames\":1}".to_string(), "expected one of the keys policy, ftl, device"),
        (bad(|v| v["ftl"] = json!("bast")), "found policy and ftl"),
        (bad(|v| without(v, "params")), "params: the key is missing"),
        (bad(|v| without(v, "frames")), "frames: the key is missing"),
        (bad(|v| without(v, "accesses")), "accesses: the key is missing"),
        (bad(|v| v["name"] = json!(7)), "name: expected a string, found 7"),
        (bad(|v| v["policy"] = json!(null)), "policy: expected a string, found null"),
        (
            bad(|v| v["policy"] = json!("lrru")),
            "policy: unknown policy \"lrru\", did you mean lru?",
        ),
        (bad(|v| v["params"] = json!([])), "params: expected an object, found []"),
        (bad(|v| v["params"]["k"] = json!(2)), "params: lru: unknown parameter \"k\""),
        (
            bad(|v| v["params"]["flush_at_end"] = json!(1)),
            "params.flush_at_end: expected true or false, found 1",
        ),
        (bad(|v| v["frames"] = json!(0)), "frames: expected an integer 1..4294967295, found 0"),
        (bad(|v| v["frames"] = json!(2.0)), "frames: expected an integer 1..4294967295, found 2.0"),
        (bad(|v| v["frames"] = json!(1u64 << 32)), "found 4294967296"),
        (bad(|v| v["accesses"][1] = json!(["r"])), "accesses[1]: expected a list"),
        (
            bad(|v| v["accesses"][1][0] = json!("R")),
            "accesses[1][0]: expected \"r\" or \"w\", found \"R\"",
        ),
        (bad(|v| v["accesses"][2][1] = json!(-1)), "accesses[2][1]: expected a page number 0.."),
        (
            MICRO.replace("[\"r\",8]", "[\"r\",18446744073709551616]"),
            "accesses[2][1]: expected a page number 0..18446744073709551615",
        ),
        (
            MICRO.replace("\"frames\":1", "\"frames\":1,\"frames\":2"),
            "not JSON: key \"frames\" is given twice",
        ),
    ]);
}

#[test]
fn an_expectation_that_is_none_is_an_error_with_file_line_and_key() {
    let bad = |change: fn(&mut Json)| doctored(change);
    each_is_an_error_of_line_2([
        (
            bad(|v| v["decisions"] = json!([])),
            "decisions: expected one per access (3), found 0 of them",
        ),
        (bad(|v| v["decisions"][0] = json!(true)), "decisions[0]: expected an object, found true"),
        (bad(|v| v["decisions"][0]["hit"] = json!(0)), "decisions[0].hit: expected true or false"),
        (bad(|v| v["decisions"][0]["evicted"] = json!(7)), "decisions[0].evicted: expected a list"),
        (
            bad(|v| v["decisions"][2]["flushed"] = json!([7])),
            "decisions[2].flushed[0]: expected a list, found 7",
        ),
        (bad(|v| v["counters"] = json!(0)), "counters: expected an object, found 0"),
        (
            bad(|v| v["counters"]["evictions"] = json!(-1)),
            "counters.evictions: expected an integer >= 0, found -1",
        ),
    ]);
}

#[test]
fn a_file_that_is_not_there_or_empty_or_not_text_is_an_error() {
    let missing = conform(&[shipped("no-such-file.jsonl")], &Control::default());
    assert!(matches!(missing, Err(ConformError::Open { .. })));
    assert!(matches!(conform_text(""), Err(ConformError::File { .. })));
    let file = TempFile::new([0xff, 0xfe, b'\n']);
    let binary = conform(std::slice::from_ref(&file.0), &Control::default());
    assert!(matches!(binary, Err(ConformError::Line { line: 1, .. })));
    let folder = conform(&[std::env::temp_dir()], &Control::default());
    assert!(matches!(folder, Err(ConformError::File { .. })));
}

#[test]
fn an_output_that_takes_nothing_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let file = TempFile::new(MICRO);
    let error = emit(&file.0, &mut Full, &Control::default());
    assert!(matches!(error, Err(ConformError::Output(_))), "{error:?}");
}

#[test]
fn it_stops_when_it_is_told_to() {
    let control = Control::default();
    control.stop.store(true, Relaxed);
    let file = TempFile::new(MICRO);
    let stopped = conform(std::slice::from_ref(&file.0), &control);
    assert!(matches!(stopped, Err(ConformError::Interrupted)));
}

/// A user's LRU, with a fault to order.
struct Mine<D> {
    lru: Lru<D>,
    keeps_victims: bool,
}

impl<D: Directory> Policy for Mine<D> {
    type Miss = ();
    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.lru.request(r)
    }
    fn evict(&mut self, miss: &mut (), device: &dyn destage_core::DeviceView, plan: &mut Plan) {
        if !self.keeps_victims {
            self.lru.evict(miss, device, plan);
        }
    }
    fn admit(&mut self, r: &Request, miss: ()) -> Slot {
        self.lru.admit(r, miss)
    }
    fn frames(&self) -> u32 {
        self.lru.frames()
    }
    fn resident(&self) -> u32 {
        self.lru.resident()
    }
    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.lru.for_each_resident(visit);
    }
}

fn run_mine(keeps_victims: bool) -> Report {
    let run = |vector: &PageVector| {
        let lru = Lru::new(&Setup::new(vector.frames), Hashed::new());
        run_vector(Mine { lru, keeps_victims }, vector)
    };
    let file = shipped("page-policies.jsonl");
    conform_own(&[file], Some("lru"), &Control::default(), run).expect("vectors")
}

#[test]
fn a_policy_of_the_users_own_answers_to_the_vectors_of_one_name() {
    let report = run_mine(false);
    assert_eq!((report.passed(), report.failed(), report.skipped()), (10, 0, 196));
    assert_eq!(report.files[0].skipped["not a vector of lru"], 196);
}

#[test]
fn an_eviction_that_frees_no_frame_is_a_fault_at_its_access_and_not_an_endless_loop() {
    let report = run_mine(true);
    let micro = &report.files[0].differences[0];
    assert_eq!(
        micro.to_string(),
        "line 1 (lru/micro), own policy: \
         access 4: evict freed no frame: 3 pages resident before it, 3 after"
    );
}
