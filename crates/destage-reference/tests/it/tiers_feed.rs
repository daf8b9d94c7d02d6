//! A flash tier that is fed from the tails of tier 1: vectors are what the reference model says
//! (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/tiers.md` 4.12), and traces by hand.

use crate::common::{holds, object};
use crate::tiers_alru::{input, run};
use crate::tiers_clean::decisions;
use crate::tiers_device::Input;
use destage_reference::{Op, Step, TierOutcome, run_tiers_at};
use serde_json::{Map, Value, json};

fn feed([interval, min_interval, warm, cold, headroom]: [u64; 5], lists: &str) -> Value {
    json!({
        "interval_ns": interval, "min_interval_ns": min_interval, "warm_pages": warm,
        "cold_pages": cold, "headroom": headroom, "lists": lists,
    })
}

fn inputs() -> Vec<Input> {
    let over = |seed, tier1, (policy, frames): (&str, u64), feed: Value, params| {
        let tier2 = json!({"policy": policy, "frames": frames, "offer": "feed", "feed": feed});
        let mut input = input((seed, 20), tier1, tier2, params);
        input.insert("name".into(), format!("{} over {policy}, fed", tier1.0).into());
        input
    };
    let (none, fetches) = (json!({}), json!({"fetch_on_write_miss": true}));
    vec![
        over(31, ("arc", 8), ("fifo", 14), feed([40, 10, 2, 4, 2], "all"), none.clone()),
        over(32, ("arc", 8), ("fifo", 14), feed([40, 10, 2, 4, 2], "mfu"), none.clone()),
        over(33, ("arc", 6), ("fifo", 9), feed([25, 25, 3, 3, 0], "all"), fetches),
        over(34, ("lru", 8), ("fifo", 14), feed([40, 10, 2, 4, 2], "all"), none.clone()),
        over(35, ("lru", 8), ("lru", 12), feed([15, 60, 1, 1, 3], "all"), none.clone()),
        over(36, ("clock", 7), ("fifo", 12), feed([30, 10, 2, 5, 1], "all"), none.clone()),
        over(37, ("cflru", 8), ("fifo", 12), feed([30, 10, 3, 3, 2], "all"), none),
        over(
            38,
            ("lru-wsr", 6),
            ("s3-fifo", 12),
            feed([9, 3, 2, 2, 1], "all"),
            json!({
                "flush_at_end": true,
            }),
        ),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let mut lines = Vec::new();
    for mut input in inputs() {
        let outcome = run(&input);
        assert!(outcome.counters["tier2_hits"] > 0, "{}", input["name"]);
        assert!(outcome.counters["admitted"] > 7, "{}", input["name"]);
        assert!(outcome.counters["tier2_drops"] > 0, "{}", input["name"]);
        let found = json!({"decisions": decisions(&outcome), "counters": outcome.counters});
        input.extend(object(found));
        lines.push(Value::Object(input).to_string());
    }
    holds("tiers-feed.jsonl", &lines);
}

/// Four frames of a policy over nine of FIFO.
fn fed(policy: &str, feed: &Value, trace: &[(u64, Op, u64)]) -> TierOutcome {
    let tier2 = object(json!({"policy": "fifo", "frames": 9, "offer": "feed", "feed": feed}));
    let steps: Vec<Step> = trace.iter().map(|&(_, op, page)| Step::Access(op, page)).collect();
    let arrivals: Vec<u64> = trace.iter().map(|&(ns, ..)| ns).collect();
    let outcome = run_tiers_at(policy, 4, &Map::new(), (&tier2, None), &steps, &arrivals);
    outcome.expect("a known policy")
}

fn admitted(outcome: &TierOutcome) -> Vec<&[u64]> {
    outcome.decisions.iter().map(|d| &d.admitted[..]).collect()
}

#[test]
fn a_cold_pass_begins_with_the_newest_page_and_a_warm_one_with_the_oldest() {
    let read = |ns, page| (ns, Op::Read, page);
    let trace = [
        read(0, 1),
        read(0, 2),
        (0, Op::Write, 3),
        // At 10, cold, from the newest on: 3 is dirty; 2 and 1 are two of three pages, so that the
        // next pass is at 14. It has none to feed.
        read(15, 4),
        read(16, 5), // evicts 1, clean
        // At 24, warm, three pages are looked at and one may be fed: 2 is there, 3 is dirty, 4 is
        // fed. At 28 the same three: none is fed, and the next pass is at 38.
        read(30, 6), // evicts 2, clean
        // At 38: 3 is dirty, 4 is there, 5 is fed.
        read(40, 5),
    ];
    let rule = feed([10, 4, 1, 3, 3], "all");
    let outcome = fed("lru", &rule, &trace);
    let expected: [&[u64]; 7] = [&[], &[], &[], &[2, 1], &[], &[4], &[5]];
    assert_eq!(admitted(&outcome), expected);
    assert_eq!(outcome.counters["offers"], 4);
    assert_eq!(outcome.counters["evictions"], 2);
    assert_eq!(outcome.counters["backing_writes"], 0);
}

#[test]
fn a_dirty_page_leaves_for_the_backing_store_and_takes_its_copy_along() {
    let trace = [
        (0, Op::Read, 1),
        (12, Op::Write, 1),
        (13, Op::Read, 2),
        (13, Op::Read, 3),
        (13, Op::Read, 4),
        (13, Op::Read, 5), // evicts 1
        (13, Op::Read, 1), // evicts 2
    ];
    let outcome = fed("lru", &feed([10, 10, 2, 2, 0], "all"), &trace);
    assert_eq!(admitted(&outcome)[1], [1]);
    assert_eq!(outcome.decisions[5].written_back, [1]);
    assert_eq!(outcome.decisions[6].tier, 0, "its copy is gone");
    assert_eq!(outcome.counters["tier2_drops"], 1);
    assert_eq!(outcome.counters["backing_writes"], 1);
    assert!(outcome.dirty.is_empty());
}

#[test]
fn pages_that_arc_has_seen_twice_come_first_or_alone() {
    let trace = [
        (0, Op::Read, 1),
        (0, Op::Read, 2),
        (0, Op::Read, 1), // T1 2, T2 1
        (0, Op::Read, 3),
        (12, Op::Read, 9),
    ];
    let first = fed("arc", &feed([10, 10, 2, 2, 0], "all"), &trace);
    assert_eq!(admitted(&first)[4], [1, 3], "T2, then T1 from its newest page on");
    let alone = fed("arc", &feed([10, 10, 2, 2, 0], "mfu"), &trace);
    assert_eq!(admitted(&alone)[4], [1]);
}
