//! ACE: its vectors equal the reference model (`DESTAGE_WRITE_VECTORS=1` writes them),
//! and the checks of `docs/spec/ace.md`, 6.

use std::collections::BTreeSet;

use crate::common::{Trace, accesses, device_input, holds, letter, line, object};
use destage_reference::{Decision, Op, model, run};
use serde_json::{Map, Value, json};

/// The bases of section 2, some with parameters.
const BASES: [&str; 8] = [
    "lru",
    "fifo",
    "clock",
    "cflru",
    "cflru[window_fraction=0.5]",
    "lru-wsr",
    "clock-sweep",
    "clock-sweep[max_usage=2;initial_usage=0]",
];

/// A line of the page layout.
fn page_vector(case: &str, frames: usize, params: Value, trace: &Trace) -> String {
    let outcome =
        run("ace", frames, &object(params.clone()), trace).expect("it has a reference model");
    let decision = |d: &Decision| json!({"hit": d.hit, "evicted": d.evicted, "flushed": d.flushed});
    let decisions: Vec<Value> = outcome.decisions.iter().map(decision).collect();
    let accesses: Vec<Value> = trace.iter().map(|&(op, page)| json!([letter(op), page])).collect();
    json!({
        "name": format!("ace/{case}"),
        "policy": "ace",
        "params": params,
        "frames": frames,
        "accesses": accesses,
        "decisions": decisions,
        "counters": outcome.counters,
    })
    .to_string()
}

/// The micro-trace of section 6.
fn micro() -> Trace {
    use Op::{Read, Write};
    vec![
        (Write, 1),
        (Write, 2),
        (Write, 3),
        (Read, 4),
        (Write, 2),
        (Read, 5),
        (Write, 6),
        (Read, 1),
    ]
}

fn page_vectors() -> Vec<String> {
    let mut lines = vec![page_vector("micro", 3, json!({"base": "lru", "writes": 1}), &micro())];
    for (seed, base) in (1..).zip(BASES) {
        let trace = accesses(seed, 80, 30, 60);
        lines.push(page_vector(
            &format!("{base}, three"),
            7,
            json!({"base": base, "writes": 3}),
            &trace,
        ));
        let trace = accesses(seed + 20, 80, 24, 40);
        lines.push(page_vector(&format!("{base}, default"), 12, json!({"base": base}), &trace));
    }
    let all = accesses(50, 60, 20, 100);
    lines.push(page_vector("defaults", 6, json!({}), &accesses(51, 60, 20, 50)));
    lines.push(page_vector("one-frame", 1, json!({"base": "clock", "writes": 4}), &all));
    lines.push(page_vector(
        "two-frames",
        2,
        json!({"base": "cflru[window_fraction=1]", "writes": 1}),
        &all,
    ));
    lines.push(page_vector("all-writes", 6, json!({"base": "lru-wsr", "writes": 2}), &all));
    lines.push(page_vector("none-with-it", 6, json!({"base": "cflru", "writes": 0}), &all));
    let options =
        json!({"base": "cflru", "writes": 2, "fetch_on_write_miss": true, "flush_at_end": true});
    lines.push(page_vector("options", 5, options, &accesses(52, 60, 20, 50)));
    lines
}

/// A line of the device layout.
fn device_vector(name: &str, seed: u64, device: Value, cache: Value) -> String {
    line(device_input(name, seed, device, cache))
}

fn device_vectors() -> Vec<String> {
    let cache = |base: &str, more: Value| {
        let mut cache = object(json!({"policy": "ace", "base": base, "frames": 20}));
        cache.extend(object(more));
        Value::Object(cache)
    };
    let plain = || json!({});
    vec![
        device_vector(
            "ace over lru, writes of the drive's units",
            1,
            plain(),
            cache("lru", plain()),
        ),
        device_vector(
            "ace over cflru",
            2,
            plain(),
            cache("cflru[window_fraction=0.5]", json!({"writes": 8})),
        ),
        device_vector(
            "ace over lru-wsr",
            3,
            plain(),
            cache("lru-wsr", json!({"writes": 2, "hit_ns": 500})),
        ),
        device_vector(
            "ace over clock, waiting for transfers",
            4,
            plain(),
            cache("clock", json!({"evict_wait": "transfer", "writes": 6})),
        ),
        device_vector(
            "ace over clock-sweep, waiting for nothing",
            5,
            plain(),
            cache("clock-sweep", json!({"evict_wait": "none"})),
        ),
        device_vector(
            "ace over fifo, reads wait for data",
            6,
            plain(),
            cache("fifo", json!({"read_wait": "data", "writes": 3})),
        ),
        device_vector(
            "ace over lru, reads first",
            7,
            json!({"sched": "read_first"}),
            cache("lru", json!({"writes": 5})),
        ),
        device_vector(
            "ace over lru, a batch that stays until its pages leave",
            8,
            plain(),
            cache("lru", json!({"writes": 4, "frames": 5})),
        ),
    ]
}

#[test]
fn page_vectors_are_what_the_model_says() {
    holds("ace.jsonl", &page_vectors());
}

#[test]
fn device_vectors_are_what_the_model_says() {
    holds("ace-device.jsonl", &device_vectors());
}

/// The list, and the pages that are dirty, evicted and flushed.
type Row = (&'static str, &'static [u64], &'static [u64], &'static [u64]);

/// The table of section 6, row by row.
#[test]
fn the_micro_trace_goes_as_the_table_has_it() {
    let params = object(json!({"base": "lru", "writes": 1}));
    let mut ace = model("ace", 3, &params, &[]).expect("it has a reference model");
    let rows: [Row; 8] = [
        ("lru[1]", &[1], &[], &[]),
        ("lru[2 1]", &[1, 2], &[], &[]),
        ("lru[3 2 1]", &[1, 2, 3], &[], &[]),
        ("lru[4 3 2]", &[3], &[1], &[1, 2]),
        ("lru[2 4 3]", &[2, 3], &[], &[]),
        ("lru[5 2 4]", &[], &[3], &[3, 2]),
        ("lru[6 5 2]", &[6], &[4], &[]),
        ("lru[1 6 5]", &[6], &[2], &[]),
    ];
    for (row, ((op, page), (lists, dirty, evicted, flushed))) in
        micro().into_iter().zip(rows).enumerate()
    {
        let decision = ace.access(op, page);
        assert_eq!(ace.lists(), lists, "row {row}");
        assert_eq!(ace.dirty_pages(), dirty, "row {row}");
        assert_eq!(decision.evicted, evicted, "row {row}");
        assert_eq!(decision.flushed.concat(), flushed, "row {row}");
    }
}

fn cases() -> impl Iterator<Item = (&'static str, u64, usize, Trace)> {
    let each = |(seed, base)| {
        [(1, 1, 30), (3, 7, 60), (8, 20, 50), (60, 12, 100)].map(|(writes, frames, written)| {
            (base, writes, frames, accesses(seed + writes, 400, 50, written))
        })
    };
    (100..).zip(BASES).flat_map(each)
}

fn base_alone(base: &str, frames: usize, trace: &Trace) -> destage_reference::Outcome {
    let ace = object(json!({"base": base, "writes": 0}));
    run("ace", frames, &ace, trace).expect("it has a reference model")
}

/// The common model, with what is written beside a dirty victim.
#[test]
fn a_batch_was_dirty_is_clean_and_stays() {
    let mut batches = 0;
    for (base, writes, frames, trace) in cases() {
        let params = object(json!({"base": base, "writes": writes}));
        let mut ace = model("ace", frames, &params, &trace).expect("it has a reference model");
        let (mut resident, mut dirty) = (BTreeSet::new(), BTreeSet::new());
        for &(op, page) in &trace {
            let decision = ace.access(op, page);
            assert_eq!(decision.hit, resident.contains(&page), "{base}");
            let victims = usize::from(!decision.hit && resident.len() == frames);
            assert_eq!(decision.evicted.len(), victims, "{base}");
            let was_dirty = decision.evicted.iter().any(|victim| dirty.contains(victim));
            assert_eq!(
                !decision.flushed.is_empty(),
                was_dirty,
                "{base}: a clean victim takes none"
            );
            assert!(decision.flushed.len() as u64 <= 1 + writes, "{base}");
            for (at, group) in decision.flushed.iter().enumerate() {
                let [written] = group[..] else { panic!("a group of one page: {group:?}") };
                assert!(dirty.remove(&written), "{base}: {written} was dirty");
                assert_eq!(
                    at == 0,
                    decision.evicted.contains(&written),
                    "{base}: the victim first"
                );
                assert!(resident.contains(&written), "{base}");
                batches += usize::from(at == 1);
            }
            for victim in &decision.evicted {
                assert!(resident.remove(victim), "{base}");
            }
            let whole = decision.flushed.len() as u64 == 1 + writes;
            assert!(!was_dirty || whole || dirty.is_empty(), "{base}: all that there are");
            resident.insert(page);
            dirty.extend((op == Op::Write).then_some(page));
            assert!(ace.dirty_pages().iter().eq(&dirty), "{base}");
        }
    }
    assert!(batches > 500, "{batches} batches");
}

#[test]
fn hits_and_victims_are_those_of_a_base_that_does_not_look_at_clean_and_dirty() {
    let blind = ["lru", "fifo", "clock", "clock-sweep"];
    for (base, writes, frames, trace) in cases() {
        if !blind.contains(&base) {
            continue;
        }
        let params = object(json!({"base": base, "writes": writes}));
        let ace = run("ace", frames, &params, &trace).expect("it has a reference model");
        let alone = run(base, frames, &Map::new(), &trace).expect("it has a reference model");
        for (ace, alone) in ace.decisions.iter().zip(&alone.decisions) {
            assert_eq!((ace.hit, &ace.evicted), (alone.hit, &alone.evicted), "{base}");
        }
        let written =
            |counters: &std::collections::BTreeMap<&str, u64>| counters["physical_writes"];
        assert!(written(&ace.counters) >= written(&alone.counters), "{base}");
    }
}

#[test]
fn without_writes_or_over_reads_alone_it_is_its_base() {
    for (base, writes, frames, trace) in cases() {
        if base.contains('[') {
            continue;
        }
        let alone = run(base, frames, &Map::new(), &trace).expect("it has a reference model");
        assert_eq!(base_alone(base, frames, &trace), alone, "{base}");
        let reads: Trace = trace.iter().map(|&(_, page)| (Op::Read, page)).collect();
        let params = object(json!({"base": base, "writes": writes}));
        assert_eq!(run("ace", frames, &params, &reads), run(base, frames, &Map::new(), &reads));
    }
}
