//! Vectors of block policies: whole files, doctored ones, wrong options; and every policy against
//! its reference model on random ones.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

#[test]
fn every_block_vector_passes_in_decisions_counters_and_lists() {
    let files = ["block-policies.jsonl", "further-block-policies.jsonl"].map(shipped);
    let report = conform(&files, &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files.iter().flat_map(|f| f.differences.iter().map(Difference::to_string)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (66 + 16, 0, 0));
    assert!(report.files.iter().all(|file| file.not_compared.is_empty()), "{report:?}");
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

/// Pages as block policies like and dislike them: streams, loops, hot pages in cold blocks, noise.
fn accesses() -> impl Strategy<Value = Vec<(models::Op, u64)>> {
    let stream = (0..160_u64, 1..24_u64).prop_map(|(first, n)| (first..first + n).collect());
    let again = (0..160_u64, 2..10_u64, 2..4_usize)
        .prop_map(|(first, n, times)| (first..first + n).collect::<Vec<_>>().repeat(times));
    let hot = (0..20_u64, 1..9_usize).prop_map(|(page, times)| vec![page * 8 + 3; times]);
    let noise = vec(0..160_u64, 1..20);
    let pages = prop_oneof![3 => stream, 2 => again, 2 => hot, 3 => noise];
    // Some traces only write, most also read.
    (vec(pages, 1..40), 0..60_u8).prop_flat_map(|(pages, read_percent)| {
        let pages: Vec<u64> = pages.concat();
        vec(0..100_u8, pages.len()).prop_map(move |draws| {
            let op = |draw| if draw < read_percent { models::Op::Read } else { models::Op::Write };
            draws.into_iter().map(op).zip(pages.iter().copied()).collect()
        })
    })
}

/// Some parameters of a policy, `frames` frames.
fn params(policy: &'static str, frames: u64) -> BoxedStrategy<serde_json::Map<String, Json>> {
    let flag = || any::<bool>().prop_map(Json::from).boxed();
    let int = |range: std::ops::RangeInclusive<u64>| range.prop_map(Json::from).boxed();
    let values: Vec<(&str, BoxedStrategy<Json>)> = match policy {
        "fab" | "lb-clock" => vec![("read_recency", flag())],
        "bplru" => {
            vec![("padding", flag()), ("compensation", flag()), ("read_recency", flag())]
        }
        "clc" => {
            let alpha = prop_oneof![Just(0.0), Just(1.0), Just(0.29), 0.0..1.0];
            vec![("alpha", alpha.prop_map(Json::from).boxed()), ("read_recency", flag())]
        }
        "bpac" => vec![
            ("sampling_period", prop_oneof![int(1..=6), int(1..=90)].boxed()),
            ("initial_pird_thd", int(0..=60)),
            ("initial_bird_thd", int(0..=60)),
            ("seq_min_pages", int(2..=5)),
            ("seq_expiry", flag()),
            ("pird_sampling", select(vec!["all_hits", "p_list"]).prop_map(Json::from).boxed()),
        ],
        _ => vec![
            ("period", int(1..=40)),
            ("beta", (1.01..6.0).prop_map(Json::from).boxed()),
            ("page_read_ns", int(1..=200)),
            ("page_write_ns", int(1..=400)),
            ("initial_tau", (0.0..=frames as f64).prop_map(Json::from).boxed()),
        ],
    };
    let common = [("flush_at_end", flag()), ("device_pages", int(1..=200))];
    let all = values.into_iter().chain(common);
    let maybe = all.map(|(key, value)| {
        prop::option::of(value).prop_map(move |value| value.map(|value| (key.to_string(), value)))
    });
    maybe.collect::<Vec<_>>().prop_map(|given| given.into_iter().flatten().collect()).boxed()
}

fn case(policy: &'static str) -> impl Strategy<Value = models::block::Case> {
    let frames = prop_oneof![1..6_u64, 6..40_u64, 40..120_u64];
    let pages_per_block = prop_oneof![Just(4_u64), Just(8), 1..20_u64];
    let times = || prop_oneof![Just(Vec::new()), vec(0..900_u64, 1..5)];
    (frames, pages_per_block, accesses(), times(), times()).prop_flat_map(
        move |(frames, pages_per_block, accesses, read_ns, write_ns)| {
            params(policy, frames).prop_map(move |params| models::block::Case {
                policy: policy.to_string(),
                params,
                frames,
                pages_per_block,
                accesses: accesses.clone(),
                read_ns: read_ns.clone(),
                write_ns: write_ns.clone(),
            })
        },
    )
}

/// Cases of a property: `PROPTEST_CASES`, or few enough for a test that runs every time.
fn runner() -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(120);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// The reference model's outcome as a vector, through everything that a vector goes through.
fn decides_counts_and_ends_as_its_model(policy: &'static str) {
    let verdict = runner().run(&case(policy), |case| {
        let outcome = models::block::run(&case).expect("every block policy has a reference model");
        let op = |op| if op == models::Op::Read { "r" } else { "w" };
        let accesses = case.accesses.iter().map(|&(o, page)| json!([op(o), page]));
        let feedback = match (&case.read_ns[..], &case.write_ns[..]) {
            ([], []) => Json::Null,
            (read_ns, write_ns) => json!({"read_ns": read_ns, "write_ns": write_ns}),
        };
        let vector = json!({
            "policy": case.policy,
            "params": case.params,
            "frames": case.frames,
            "pages_per_block": case.pages_per_block,
            "accesses": accesses.collect::<Json>(),
            "feedback": feedback,
            "decisions": outcome.decisions,
            "counters": outcome.counters,
            "final": outcome.last,
        });
        let report = conform_text(&vector.to_string()).expect("a vector");
        let differences = &report.files[0].differences;
        prop_assert!(differences.is_empty(), "{}\n{vector}", differences[0]);
        prop_assert!(report.files[0].not_compared.is_empty(), "{report:?}");
        Ok(())
    });
    verdict.unwrap_or_else(|failure| panic!("{policy}: {failure}"));
}

macro_rules! models {
    ($($test:ident: $policy:literal;)*) => {
        $(#[test]
        fn $test() {
            decides_counts_and_ends_as_its_model($policy);
        })*

        #[test]
        fn every_policy_that_clusters_is_compared() {
            // That which needs a drive is compared in front of one (`tests/it/device_reference`).
            let blind = |name| !destage_policies::requirements(name).expect("a policy").device();
            let clusters =
                POLICIES.iter().filter(|policy| policy.clusters && blind(policy.name));
            assert_eq!(clusters.map(|policy| policy.name).collect::<Vec<_>>(), [$($policy),*]);
            assert_eq!(models::block::NAMES, [$($policy),*]);
        }
    };
}

models! {
    fab_is_its_model: "fab";
    bplru_is_its_model: "bplru";
    clc_is_its_model: "clc";
    bpac_is_its_model: "bpac";
    aalru_is_its_model: "aalru";
    lb_clock_is_its_model: "lb-clock";
}
