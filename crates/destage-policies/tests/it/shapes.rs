//! Random runs: traces of many shapes, sizes of the cache, parameters; shared by the tests that
//! compare with the reference models.

use destage_core::Op;
use destage_policies::params::{Kind, Param, Value};
use destage_policies::{ORDERED, info};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A property's runner: `PROPTEST_CASES` cases, or `usual` if that is not set.
pub fn runner(usual: u32) -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(usual);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Accesses of a run.
pub type Trace = Vec<(Op, u64)>;

/// Pages of a trace, by shape.
fn pages() -> impl Strategy<Value = Vec<u64>> {
    let length = 1..1200_usize;
    prop_oneof![
        uniform(length.clone()),
        zipf(length.clone()),
        looped(length.clone()),
        scans_over_a_hot_set(length.clone()),
        runs(length),
    ]
}

fn uniform(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    (1..300_u64).prop_flat_map(move |n| prop::collection::vec(0..n, length.clone()))
}

/// Page k is about 1/k as likely as the first.
fn zipf(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    (2..300_u64).prop_flat_map(move |n| {
        let page =
            (0.0..1.0_f64).prop_map(move |u| ((n as f64).powf(u) - 1.0) as u64 * 7919 % 4096);
        prop::collection::vec(page, length.clone())
    })
}

/// One loop, with a page out of turn now and then.
fn looped(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    (1..250_u64).prop_flat_map(move |n| {
        prop::collection::vec((0..20_u8, 0..n), length.clone()).prop_map(move |steps| {
            let page = |(i, (turn, other)): (usize, (u8, u64))| {
                if turn == 0 { other } else { i as u64 % n }
            };
            steps.into_iter().enumerate().map(page).collect()
        })
    })
}

/// Pages that are never seen again between those of a small set.
fn scans_over_a_hot_set(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    (1..40_u64, 1..10_u8).prop_flat_map(move |(hot, tenths)| {
        prop::collection::vec((0..10_u8, 0..hot), length.clone()).prop_map(move |steps| {
            let page = |(i, (kind, hot_page)): (usize, (u8, u64))| {
                if kind < tenths { hot_page } else { 1000 + i as u64 }
            };
            steps.into_iter().enumerate().map(page).collect()
        })
    })
}

/// Runs of neighbouring pages, and the same page several times.
fn runs(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    (20..300_u64).prop_flat_map(move |n| {
        let run = (0..n, 1..12_u64, any::<bool>());
        prop::collection::vec(run, 1..240).prop_map({
            let longest = length.end;
            move |runs| {
                let page = |(first, length, same): (u64, u64, bool)| {
                    (0..length).map(move |i| if same { first } else { first + i })
                };
                runs.into_iter().flat_map(page).take(longest).collect()
            }
        })
    })
}

/// Some traces only read, some only write, most do both.
pub fn trace() -> impl Strategy<Value = Trace> {
    let percent = prop_oneof![Just(0_u8), Just(100), 1..100_u8];
    (pages(), percent).prop_flat_map(|(pages, written)| {
        let draws = prop::collection::vec(0..100_u8, pages.len());
        draws.prop_map(move |draws| {
            let op = |draw| if draw < written { Op::Write } else { Op::Read };
            draws.into_iter().map(op).zip(pages.iter().copied()).collect()
        })
    })
}

/// Few frames, some, many.
pub fn frames() -> impl Strategy<Value = u32> {
    prop_oneof![1..12_u32, 12..60_u32, 60..=200_u32]
}

/// The default of a parameter, an end of its range, or something between.
fn value(param: &'static Param) -> BoxedStrategy<Option<Value>> {
    // What lies beyond behaves like the largest value that a short trace can tell from it.
    let int = |min: u64, max: u64| {
        let most = max.min(600);
        prop_oneof![min..=most.min(min + 8), min..=most].prop_map(|i| Value::Int(i.into()))
    };
    let given = match param.kind {
        Kind::Int { min, max } => int(min, max).boxed(),
        Kind::OptionalInt { min, max } => {
            prop_oneof![Just(Value::None), int(min, max), int(min, max)].boxed()
        }
        Kind::Real { min, max } => {
            prop_oneof![Just(min), Just(max.min(4.0)), min..=max.min(1.0), min..=max.min(4.0)]
                .prop_map(Value::Real)
                .boxed()
        }
        Kind::Form(_) => bases().boxed(),
        Kind::RealAbove { .. }
        | Kind::OptionalReal { .. }
        | Kind::Ints { .. }
        | Kind::OptionalBool
        | Kind::Bytes
        | Kind::OptionalBytes
        | Kind::Duration => {
            unreachable!("no page policy has {}, of this kind", param.name)
        }
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Choice(words) => {
            prop::sample::select(words).prop_map(|word| Value::Text(word.to_string())).boxed()
        }
    };
    prop_oneof![Just(None), given.prop_map(Some)].boxed()
}

/// A policy on which another one stands, half of them with parameters.
fn bases() -> impl Strategy<Value = Value> {
    prop::sample::select(ORDERED).prop_flat_map(|info| {
        params(info.name).prop_map(|given| {
            let pair = |(key, value): &(String, Value)| format!("{key}={}", value.spelled());
            let given: Vec<String> = given.iter().map(pair).collect();
            let given =
                if given.is_empty() { String::new() } else { format!("[{}]", given.join(";")) };
            Value::Text(format!("{}{given}", info.name))
        })
    })
}

/// Parameters of a policy, each given or not.
pub fn params(policy: &str) -> impl Strategy<Value = Vec<(String, Value)>> + use<> {
    let declared: &'static [Param] = info(policy).expect("a policy of the table").params;
    let values: Vec<_> = declared.iter().map(value).collect();
    values.prop_map(|values| {
        let given = declared.iter().zip(values);
        given.filter_map(|(param, value)| Some((param.name.to_string(), value?))).collect()
    })
}

/// Parameters as a reference model takes them.
pub fn json(params: &[(String, Value)]) -> serde_json::Map<String, serde_json::Value> {
    let value = |value| serde_json::to_value(value).expect("small in these tests");
    params.iter().map(|(key, given)| (key.clone(), value(given))).collect()
}

/// An operation as a reference model has it.
pub fn model_op(op: Op) -> destage_reference::Op {
    match op {
        Op::Read => destage_reference::Op::Read,
        Op::Write => destage_reference::Op::Write,
    }
}
