//! Dirty pages of a flash tier above a threshold: vectors are what the reference model says
//! (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/tiers.md` 4.9), and laws.

use crate::common::{accesses, holds, letter, object};
use crate::tiers_device::{Input, input};
use crate::tiers_disk::over_a_disk;
use destage_reference::{Op, Step, TierDecision, TierOutcome, run_tiers, ssd};
use serde_json::{Value, json};

fn without_a_device(seed: u64, tier1: (&str, u64), tier2: Value, params: Value) -> Input {
    let tier2 = object(tier2);
    let name = format!(
        "{} over {}, at most {} dirty",
        tier1.0,
        tier2["policy"].as_str().expect("a name"),
        tier2["most_dirty"]
    );
    let trace = accesses(seed, 150, 40, 60);
    let accesses: Vec<Value> = trace.iter().map(|&(op, page)| json!([letter(op), page])).collect();
    object(json!({
        "name": name, "policy": tier1.0, "params": params, "frames": tier1.1, "tier2": tier2,
        "accesses": accesses,
    }))
}

fn untimed() -> Vec<Input> {
    let mut inputs = Vec::new();
    let below = [("lru", 3), ("fifo", 0), ("clock", 5), ("clock-sweep", 2), ("lru-wsr", 4)];
    for (seed, (policy, most)) in (1..).zip(below) {
        let tier2 = json!({"policy": policy, "frames": 12, "most_dirty": most});
        inputs.push(without_a_device(seed, ("lru", 4), tier2, json!({})));
    }
    let cflru = json!({"policy": "cflru", "frames": 14, "most_dirty": 4, "promote": "move"});
    inputs.push(without_a_device(6, ("arc", 5), cflru, json!({"flush_at_end": true})));
    let nth = json!({"policy": "lru", "frames": 10, "most_dirty": 2, "admit": "nth"});
    inputs.push(without_a_device(7, ("none", 1), nth, json!({"fetch_on_write_miss": true})));
    inputs
}

fn with_a_device() -> Vec<Input> {
    let tier2 = |policy: &str| json!({"policy": policy, "frames": 18, "most_dirty": 4});
    let name = || json!({"name": "at most 4 dirty"});
    let first = json!({"name": "at most 4 dirty", "device": {"sched": "read_first"}});
    vec![
        input(8, ("lru", 7), tier2("lru"), name()),
        over_a_disk(9, ("lru", 7), tier2("cflru"), name()),
        over_a_disk(10, ("2q", 7), tier2("lru"), first),
    ]
}

pub(crate) fn steps(input: &Input) -> Vec<Step> {
    let accesses = input["accesses"].as_array().expect("a list").iter();
    let step = |access: &Value| {
        let op = if access[0] == "w" { Op::Write } else { Op::Read };
        Step::Access(op, access[1].as_u64().expect("a page"))
    };
    accesses.map(step).collect()
}

fn run(input: &Input) -> TierOutcome {
    let policy = input["policy"].as_str().expect("a policy");
    let frames = input["frames"].as_u64().expect("frames") as usize;
    let (params, tier2) = (object(input["params"].clone()), object(input["tier2"].clone()));
    run_tiers(policy, frames, &params, &tier2, &steps(input)).expect("a known policy")
}

/// Decisions as vectors of two tiers have them.
pub(crate) fn decisions(outcome: &TierOutcome) -> Vec<Value> {
    let decision = |d: &TierDecision| {
        json!({
            "hit": d.hit, "tier": d.tier, "evicted": d.evicted, "flushed": d.flushed,
            "admitted": d.admitted, "tier2_evicted": d.tier2_evicted,
            "written_back": d.written_back,
        })
    };
    outcome.decisions.iter().map(decision).collect()
}

fn line(mut input: Input) -> String {
    let outcome = match input.contains_key("device") {
        true => ssd::simulate_tiers(&Value::Object(input.clone())).expect("a run"),
        false => {
            let outcome = run(&input);
            json!({"decisions": decisions(&outcome), "counters": outcome.counters})
        }
    };
    input.extend(object(outcome));
    Value::Object(input).to_string()
}

#[test]
fn vectors_are_what_the_model_says() {
    let lines: Vec<String> = untimed().into_iter().chain(with_a_device()).map(line).collect();
    holds("tiers-clean.jsonl", &lines);
}

#[test]
fn pages_are_cleaned_in_the_order_of_their_addresses_from_the_last_on() {
    let write = |page| Step::Access(Op::Write, page);
    let tier2 = object(json!({"policy": "lru", "frames": 9, "most_dirty": 1}));
    let params = object(json!({}));
    // Each page is in tier 2 once the next is written.
    let pages = [5, 9, 7, 1, 3, 8, 8];
    let steps: Vec<Step> = pages.map(write).to_vec();
    let outcome = run_tiers("none", 1, &params, &tier2, &steps).expect("a known policy");
    let cleaned: Vec<u64> = outcome.decisions.iter().flat_map(|d| d.written_back.clone()).collect();
    // 5 of 5 9; 7 of 7 9; 9 of 1 9; 1 of 1 3, none is ahead; 3 of 3 8; 8 is written over.
    assert_eq!(cleaned, [5, 7, 9, 1, 3]);
    assert_eq!(outcome.counters["tier2_cleaned"], 5);
    assert_eq!(outcome.counters["backing_writes"], 5);
    assert_eq!(outcome.dirty.iter().copied().collect::<Vec<_>>(), [8]);
}

#[test]
fn no_more_pages_are_dirty_than_may_be_and_a_high_threshold_changes_nothing() {
    for mut input in untimed() {
        let outcome = run(&input);
        let most = input["tier2"]["most_dirty"].as_u64().expect("pages");
        assert!(outcome.counters["pending_tier2"] <= most, "{}", input["name"]);
        assert!(outcome.counters["tier2_cleaned"] > 10, "{}", input["name"]);
        input["tier2"]["most_dirty"] = 99.into();
        let all = run(&input);
        input["tier2"].as_object_mut().expect("one").remove("most_dirty");
        let plain = run(&input);
        assert_eq!(all.decisions, plain.decisions);
        assert!(!all.counters.contains_key("tier2_cleaned"));
    }
}
