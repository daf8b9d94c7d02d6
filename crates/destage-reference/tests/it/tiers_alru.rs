//! Stale dirty pages of a flash tier: vectors are what the reference model says
//! (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/tiers.md` 4.11), and a trace by hand.

use crate::common::{Draws, accesses, holds, letter, object};
use crate::tiers_clean::decisions;
use crate::tiers_device::Input;
use destage_reference::{Op, Step, TierOutcome, run_tiers_at};
use serde_json::{Value, json};

/// Accesses with short gaps and pauses between them, `written` of 100 writes.
pub(crate) fn input(
    (seed, written): (u64, u64),
    tier1: (&str, u64),
    tier2: Value,
    params: Value,
) -> Input {
    let tier2 = object(tier2);
    let name = format!("{} over {}, stale pages", tier1.0, tier2["policy"].as_str().expect("one"));
    let (mut draws, mut now) = (Draws::new(seed * 31 + 7), 1000);
    let mut arrival = |_| {
        now += if draws.below(9) == 0 { 100 + draws.below(500) } else { draws.below(20) };
        now
    };
    let arrivals: Vec<u64> = (0..150).map(&mut arrival).collect();
    let trace = accesses(seed, 150, 40, written).into_iter();
    let trace: Vec<Value> = trace.map(|(op, page)| json!([letter(op), page])).collect();
    object(json!({
        "name": name, "policy": tier1.0, "params": params, "frames": tier1.1, "tier2": tier2,
        "accesses": trace, "arrivals_ns": arrivals,
    }))
}

fn inputs() -> Vec<Input> {
    let alru = |[wake_up, staleness, most, activity, page]: [u64; 5]| {
        json!({
            "wake_up_ns": wake_up, "staleness_ns": staleness, "flush_max_buffers": most,
            "activity_ns": activity, "page_ns": page,
        })
    };
    let mut inputs = Vec::new();
    let below = [
        ("lru", [40, 200, 3, 30, 10]),
        ("fifo", [7, 100, 1, 50, 1]),
        ("clock", [100, 50, 10, 20, 30]),
        ("clock-sweep", [25, 1, 2, 1, 60]),
        ("lru-wsr", [300, 400, 4, 100, 5]),
    ];
    for (seed, (policy, keys)) in (21..).zip(below) {
        let tier2 = json!({"policy": policy, "frames": 14, "alru": alru(keys)});
        inputs.push(input((seed, 60), ("lru", 4), tier2, json!({})));
    }
    let keys = alru([50, 150, 3, 40, 10]);
    let cflru = json!({"policy": "cflru", "frames": 14, "alru": keys, "promote": "move"});
    inputs.push(input((26, 60), ("arc", 5), cflru, json!({"flush_at_end": true})));
    let nth = json!({"policy": "lru", "frames": 10, "alru": keys, "admit": "nth"});
    inputs.push(input((27, 60), ("none", 1), nth, json!({"fetch_on_write_miss": true})));
    let inserted = json!({"policy": "lru", "frames": 12, "alru": keys, "offer": "inserted"});
    inputs.push(input((28, 60), ("2q", 6), inserted, json!({})));
    inputs
}

pub(crate) fn run(input: &Input) -> TierOutcome {
    let policy = input["policy"].as_str().expect("a policy");
    let frames = input["frames"].as_u64().expect("frames") as usize;
    let (params, tier2) = (object(input["params"].clone()), object(input["tier2"].clone()));
    let arrivals = input["arrivals_ns"].as_array().expect("a list").iter();
    let arrivals: Vec<u64> = arrivals.map(|ns| ns.as_u64().expect("a time")).collect();
    let steps = crate::tiers_clean::steps(input);
    let tiers = (&tier2, None);
    run_tiers_at(policy, frames, &params, tiers, &steps, &arrivals).expect("a known policy")
}

#[test]
fn vectors_are_what_the_model_says() {
    let mut lines = Vec::new();
    for mut input in inputs() {
        let outcome = run(&input);
        assert!(outcome.counters["tier2_cleaned"] > 10, "{}", input["name"]);
        let found = json!({"decisions": decisions(&outcome), "counters": outcome.counters});
        input.extend(object(found));
        lines.push(Value::Object(input).to_string());
    }
    holds("tiers-alru.jsonl", &lines);
}

#[test]
fn stale_pages_go_in_batches_while_the_tier_is_idle() {
    let tier2 = object(json!({"policy": "lru", "frames": 9, "alru": {
        "wake_up_ns": 10, "staleness_ns": 25, "flush_max_buffers": 2, "activity_ns": 7,
        "page_ns": 3,
    }}));
    // Without a tier 1 each page is in tier 2 at once. Page 8 is read, and is clean there.
    let trace = [
        (0, Op::Write, 5),
        (0, Op::Write, 1),
        (0, Op::Write, 4),
        (0, Op::Write, 3),
        (24, Op::Write, 4),
        (45, Op::Read, 8),
        (100, Op::Read, 8),
    ];
    let steps = trace.map(|(_, op, page)| Step::Access(op, page));
    let arrivals = trace.map(|(ns, ..)| ns);
    let none = object(json!({}));
    let outcome = run_tiers_at("none", 1, &none, (&tier2, None), &steps, &arrivals);
    let outcome = outcome.expect("a known policy");
    let written: Vec<&[u64]> = outcome.decisions.iter().map(|d| &d.written_back[..]).collect();
    // At 30 the tier was accessed 6 ago. At 40 all but 4 are stale, and two of them go. At 46 it
    // was accessed one ago. At 56 it is idle, and 4 is stale, too.
    assert_eq!(written, [&[][..], &[], &[], &[], &[], &[1, 5], &[3, 4]]);
    assert_eq!(outcome.counters["tier2_cleaned"], 4);
    assert_eq!(outcome.counters["backing_writes"], 4);
    assert!(outcome.dirty.is_empty());
}
