//! Pinned pages of tiers 1 and 2: vectors are what the reference model says
//! (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/tiers.md` 4.13), and a trace by hand.

use crate::common::{accesses, holds, letter, object};
use crate::tiers_clean::{decisions, steps};
use crate::tiers_device::Input;
use destage_reference::{Op, Step, TierOutcome, run_pinned, run_tiers_pinned};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn numbers(value: Option<&Value>) -> Vec<u64> {
    let numbers = value.and_then(Value::as_array).into_iter().flatten();
    numbers.map(|number| number.as_u64().expect("a number")).collect()
}

fn input(seed: u64, tier1: (&str, u64, &[u64]), tier2: Value, params: Value) -> Input {
    let (policy, frames, pinned) = tier1;
    let below = tier2["policy"].as_str().expect("a name");
    let trace = accesses(seed, 150, 40, 50);
    let accesses: Vec<Value> = trace.iter().map(|&(op, page)| json!([letter(op), page])).collect();
    let arrivals: Vec<u64> = (0..150).map(|k| 1000 + 20 * k + 300 * (k / 40)).collect();
    let mut input = object(json!({
        "name": format!("{policy} over {below}, pinned pages"), "policy": policy, "params": params,
        "frames": frames, "tier2": tier2, "accesses": accesses, "arrivals_ns": arrivals,
    }));
    if !pinned.is_empty() {
        input.insert("pinned".into(), pinned.into());
    }
    input
}

fn inputs() -> Vec<Input> {
    let plain = |policy: &str| json!({"policy": policy, "frames": 12});
    let pinned = |of: Value| {
        let mut tier = object(json!({"frames": 15, "pinned": [2, 5, 7, 17, 30, 38]}));
        tier.extend(object(of));
        Value::Object(tier)
    };
    let alru = json!({
        "wake_up_ns": 40, "staleness_ns": 200, "flush_max_buffers": 3, "activity_ns": 30,
        "page_ns": 10,
    });
    let rate = json!({"bytes_per_day": 1_769_472_000_000_000u64, "window": "400ns"});
    vec![
        input(41, ("lru", 6, &[1, 3]), plain("lru"), json!({})),
        input(42, ("arc", 9, &[0, 7, 8, 20, 33]), plain("fifo"), json!({"flush_at_end": true})),
        input(43, ("min", 7, &[2, 4, 39]), plain("s3-fifo"), json!({})),
        input(44, ("none", 1, &[]), pinned(json!({"policy": "lru", "admit": "nth"})), json!({})),
        input(45, ("2q", 5, &[]), pinned(json!({"policy": "clock", "admit": "larc"})), json!({})),
        input(
            46,
            ("lru", 5, &[0, 2]),
            pinned(json!({"policy": "lru", "offer": "inserted", "admit": "tinylfu"})),
            json!({"fetch_on_write_miss": true}),
        ),
        input(47, ("lru", 4, &[]), pinned(json!({"policy": "lru", "most_dirty": 2})), json!({})),
        input(48, ("cflru", 4, &[9]), pinned(json!({"policy": "fifo", "alru": alru})), json!({})),
        input(
            49,
            ("lru", 4, &[]),
            pinned(json!({"policy": "arc", "admit": "rate", "admit_params": rate})),
            json!({}),
        ),
    ]
}

fn run(input: &Input) -> TierOutcome {
    let policy = input["policy"].as_str().expect("a policy");
    let frames = input["frames"].as_u64().expect("frames") as usize;
    let pinned: BTreeSet<u64> = numbers(input.get("pinned")).into_iter().collect();
    let (params, tier2) = (object(input["params"].clone()), object(input["tier2"].clone()));
    let arrivals = numbers(input.get("arrivals_ns"));
    let (tiers, times) = ((&tier2, None), (&arrivals[..], None));
    let outcome = run_tiers_pinned(policy, (frames, &pinned), &params, tiers, &steps(input), times);
    outcome.expect("a known policy")
}

#[test]
fn vectors_are_what_the_model_says() {
    let mut lines = Vec::new();
    for mut input in inputs() {
        let mut outcome = run(&input);
        let pinned = numbers(input.get("pinned"));
        let accesses = steps(&input).into_iter().zip(&outcome.decisions);
        let hits = accesses.filter(|(step, d)| d.hit && pinned.contains(&step.page())).count();
        if !pinned.is_empty() {
            assert!(hits > 10, "{}", input["name"]);
            outcome.counters.insert("pinned_hits", hits as u64);
        }
        let below = input["tier2"].get("pinned").is_some();
        let of_tier2 = outcome.counters.get("tier2_pinned_hits");
        assert_eq!(of_tier2.is_some_and(|&hits| hits > 0), below, "{}", input["name"]);
        let found = json!({"decisions": decisions(&outcome), "counters": outcome.counters});
        input.extend(object(found));
        lines.push(Value::Object(input).to_string());
    }
    holds("tiers-pin.jsonl", &lines);
}

#[test]
fn a_pinned_page_comes_once_and_takes_no_frame_of_another() {
    let (read, write) = (Op::Read, Op::Write);
    // Three frames, one of them of page 9: the others are of an LRU of two.
    let trace = [
        Step::Access(read, 1),
        Step::Access(read, 2),
        Step::Access(read, 3), // evicts 1, though the frame of 9 is free
        Step::Access(read, 9),
        Step::Access(write, 9),
        Step::Access(read, 4), // evicts 2
        Step::Access(read, 9),
        Step::Trim(9),
        Step::Access(read, 5), // evicts 3
        Step::Access(read, 9),
    ];
    let pinned = BTreeSet::from([9, 77]); // 77 is not accessed: it has no frame
    let run = run_pinned("lru", 3, &object(json!({})), &trace, &pinned).expect("a known policy");
    let evicted: Vec<&[u64]> = run.decisions.iter().map(|d| &d.evicted[..]).collect();
    assert_eq!(evicted, [&[][..], &[], &[1], &[], &[], &[2], &[], &[3], &[]]);
    let hits: Vec<bool> = run.decisions.iter().map(|d| d.hit).collect();
    assert_eq!(hits, [false, false, false, false, true, false, true, false, false]);
    assert_eq!((run.dropped, run.pinned_hits, run.dirty), (vec![Some(true)], 2, vec![]));
}
