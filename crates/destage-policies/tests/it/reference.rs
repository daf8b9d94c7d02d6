//! Every policy of the table against its reference model, on random traces of many shapes, over
//! both directories; and the laws that hold for all of them (`docs/spec/page-policies.md` 4).

use crate::common::{Outcome, Over, run};
use crate::shapes::{Trace, frames, json, model_op, params, runner, trace};
use destage_core::Op;
use destage_policies::params::{Kind, Typing, Value};
use destage_policies::{Info, POLICIES, requirements};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn decides_as_its_model(policy: &'static str) {
    let case = (frames(), params(policy), trace());
    let verdict = runner(150).run(&case, |(frames, params, trace)| {
        let ops: Vec<_> = trace.iter().map(|&(op, page)| (model_op(op), page)).collect();
        let model = destage_reference::run(policy, frames as usize, &json(&params), &ops)
            .expect("every policy has a reference model");
        let dense = run(policy, frames, &params, &trace, Over::Dense, true);
        for (index, (ours, theirs)) in dense.decisions.iter().zip(&model.decisions).enumerate() {
            prop_assert!(
                ours.hit == theirs.hit
                    && ours.evicted == theirs.evicted
                    && ours.flushed == theirs.flushed,
                "{policy}, access {index}: the model decides {theirs:?}, the policy {ours:?}"
            );
        }
        let hashed = run(policy, frames, &params, &trace, Over::Hashed, true);
        prop_assert_eq!(&dense, &hashed, "dense and hashed decide alike");
        obeys_the_laws(policy, frames, &trace, &dense)
    });
    if let Err(failure) = verdict {
        panic!("{policy}: {failure}");
    }
}

/// Section 4: at most s pages are resident; hit if and only if resident; exactly one eviction on a
/// miss with a full cache, none otherwise; a victim is flushed if and only if it was dirty. A page
/// that an admission policy refuses changes nothing, and is written through. What a policy over
/// another one writes with a dirty victim was dirty, and stays.
fn obeys_the_laws(
    policy: &str,
    frames: u32,
    trace: &Trace,
    outcome: &Outcome,
) -> Result<(), TestCaseError> {
    let mut resident = BTreeSet::new();
    let mut dirty = BTreeSet::new();
    let decided = trace.iter().zip(&outcome.decisions).enumerate();
    for (index, (&(op, page), decision)) in decided {
        prop_assert_eq!(decision.hit, resident.contains(&page), "{}: hit", policy);
        if outcome.bypasses.contains(&index) {
            prop_assert!(
                destage_reference::ADMISSION.contains(&policy),
                "{policy} takes every page"
            );
            let through: &[Vec<u64>] = if op == Op::Write { &[vec![page]] } else { &[] };
            prop_assert!(!decision.hit && decision.evicted.is_empty(), "{policy}: bypass");
            prop_assert_eq!(&decision.flushed, through, "{}: written through", policy);
            continue;
        }
        let must_evict = !decision.hit && resident.len() == frames as usize;
        prop_assert_eq!(decision.evicted.len(), usize::from(must_evict), "{}: evictions", policy);
        let mut flushed = Vec::new();
        for victim in &decision.evicted {
            prop_assert!(resident.remove(victim), "{policy}: a victim was resident");
            flushed.extend(dirty.remove(victim).then(|| vec![*victim]));
        }
        if destage_reference::WRAPPERS.contains(&policy) && !flushed.is_empty() {
            for group in decision.flushed.iter().skip(1) {
                prop_assert!(group.iter().all(|page| dirty.remove(page)), "{policy}: {group:?}");
                flushed.push(group.clone());
            }
        }
        prop_assert_eq!(&decision.flushed, &flushed, "{}: flushes", policy);
        resident.insert(page);
        if op == Op::Write {
            dirty.insert(page);
        }
    }
    let left: Vec<_> = resident.iter().map(|page| (*page, dirty.contains(page))).collect();
    prop_assert_eq!(&outcome.resident, &left, "{}: what is left", policy);
    Ok(())
}

macro_rules! models {
    ($($test:ident: $policy:literal;)*) => {
        $(#[test]
        fn $test() {
            decides_as_its_model($policy);
        })*

        #[test]
        fn every_policy_of_the_table_is_compared() {
            let compared = [$($policy),*];
            let (alone, over) = compared.split_at(destage_reference::NAMES.len());
            assert_eq!((alone, over), (destage_reference::NAMES, destage_reference::WRAPPERS));
            // The models of policies that came with the device run in front of the device's.
            let all = alone.iter().chain(destage_reference::ssd::DEVICE_POLICIES).chain(over);
            let mut all: Vec<&str> = all.copied().collect();
            // Those that cluster by erase block are compared in `blocks.rs`.
            let mut table: Vec<&str> = page_granular().map(|policy| policy.name).collect();
            all.sort_unstable();
            table.sort_unstable();
            assert_eq!(table, all);
        }
    };
}

models! {
    lru_decides_as_its_model: "lru";
    fifo_decides_as_its_model: "fifo";
    clock_decides_as_its_model: "clock";
    lru_k_decides_as_its_model: "lru-k";
    two_q_decides_as_its_model: "2q";
    arc_decides_as_its_model: "arc";
    lirs_decides_as_its_model: "lirs";
    mq_decides_as_its_model: "mq";
    min_decides_as_its_model: "min";
    dual_queue_decides_as_its_model: "dual-queue";
    cflru_decides_as_its_model: "cflru";
    lru_wsr_decides_as_its_model: "lru-wsr";
    ccf_lru_decides_as_its_model: "ccf-lru";
    ad_lru_decides_as_its_model: "ad-lru";
    cfdc_decides_as_its_model: "cfdc";
    acr_c_decides_as_its_model: "acr-c";
    acr_o_decides_as_its_model: "acr-o";
    acr_h_decides_as_its_model: "acr-h";
    s3_fifo_decides_as_its_model: "s3-fifo";
    sieve_decides_as_its_model: "sieve";
    w_tinylfu_decides_as_its_model: "w-tinylfu";
    casa_decides_as_its_model: "casa";
    watt_decides_as_its_model: "watt";
    larc_decides_as_its_model: "larc";
    car_decides_as_its_model: "car";
    clock_sweep_decides_as_its_model: "clock-sweep";
    lfu_decides_as_its_model: "lfu";
    lfu_da_decides_as_its_model: "lfu-da";
    slru_decides_as_its_model: "slru";
    hyperbolic_decides_as_its_model: "hyperbolic";
    lecar_decides_as_its_model: "lecar";
    random_decides_as_its_model: "random";
    clock_pro_decides_as_its_model: "clock-pro";
    sampled_lru_decides_as_its_model: "sampled-lru";
    sampled_lfu_decides_as_its_model: "sampled-lfu";
    pgdsf_decides_as_its_model: "pgdsf";
    ace_decides_as_its_model: "ace";
}

/// The policies that give up one page at a time.
fn page_granular() -> impl Iterator<Item = &'static Info> {
    POLICIES.iter().copied().filter(|policy| !policy.clusters)
}

#[test]
fn the_policies_that_look_into_the_device_say_so() {
    let look = |policy: &&str| requirements(policy).expect("a policy of the table").device();
    let mut device_policies = destage_reference::ssd::DEVICE_POLICIES.to_vec();
    let after = device_policies.iter().position(|policy| *policy == "gcar-cflru");
    device_policies.insert(after.expect("a device policy") + 1, "gcar-bplru"); // in `blocks.rs`
    device_policies.retain(|policy| *policy != "cflru-e");
    let asking: Vec<_> = POLICIES.iter().map(|policy| policy.name).filter(look).collect();
    assert_eq!(asking, device_policies);
}

fn misses(outcome: &Outcome) -> usize {
    outcome.decisions.iter().filter(|decision| !decision.hit).count()
}

#[test]
fn no_policy_has_fewer_misses_than_min() {
    let verdict = runner(150).run(&(frames(), trace()), |(frames, trace)| {
        let least = misses(&run("min", frames, &[], &trace, Over::Dense, false));
        // An admission policy may miss less: MIN must admit every page.
        let admits_all = |policy: &&Info| !destage_reference::ADMISSION.contains(&policy.name);
        for policy in page_granular().filter(admits_all) {
            let others = misses(&run(policy.name, frames, &[], &trace, Over::Dense, false));
            prop_assert!(others >= least, "{} misses {others} times, MIN {least}", policy.name);
        }
        Ok(())
    });
    verdict.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn what_hits_lru_with_s_frames_hits_it_with_one_more() {
    let verdict = runner(150).run(&(frames(), trace()), |(frames, trace)| {
        let fewer = run("lru", frames, &[], &trace, Over::Dense, false);
        let more = run("lru", frames + 1, &[], &trace, Over::Dense, false);
        for (index, (fewer, more)) in fewer.decisions.iter().zip(&more.decisions).enumerate() {
            prop_assert!(!fewer.hit || more.hit, "access {index}");
        }
        Ok(())
    });
    verdict.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn policies_that_are_not_flash_aware_never_look_at_the_operation() {
    let verdict = runner(150).run(&(frames(), trace()), |(frames, trace)| {
        let reads: Trace = trace.iter().map(|&(_, page)| (Op::Read, page)).collect();
        for policy in POLICIES.iter().filter(|policy| !policy.flash_aware) {
            let mixed = run(policy.name, frames, &[], &trace, Over::Dense, false);
            let read = run(policy.name, frames, &[], &reads, Over::Dense, false);
            for (mixed, read) in mixed.decisions.iter().zip(&read.decisions) {
                prop_assert_eq!(mixed.hit, read.hit, "{}", policy.name);
                prop_assert_eq!(&mixed.evicted, &read.evicted, "{}", policy.name);
            }
        }
        Ok(())
    });
    verdict.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The "Checks" of section 3: with these parameters one policy is another.
#[test]
fn policies_with_extreme_parameters_are_simpler_policies() {
    let real = |key: &str, r| (key.to_string(), Value::Real(r));
    let int = |key: &str, i| (key.to_string(), Value::Int(i));
    let pairs = [
        ("lru-k", vec![int("k", 1), int("correlated_period", 0)], "lru"),
        ("2q", vec![real("in_fraction", 1.0), real("out_fraction", 0.0)], "fifo"),
        ("mq", vec![int("queues", 1)], "lru"),
        ("dual-queue", vec![real("first_fraction", 0.0)], "clock"),
        ("cflru", vec![real("window_fraction", 0.0)], "lru"),
        ("cfdc", vec![real("priority_fraction", 0.0)], "lru"),
        // Without a device, nothing waits and nothing collects.
        ("ecr", vec![], "cflru-e"),
        ("ecr-e", vec![], "lru"),
        ("ecr-over", vec![], "lru"),
        ("ecr-over", vec![("base".to_string(), Value::from("cflru"))], "cflru"),
        ("ecr-over", vec![("base".to_string(), Value::from("2q"))], "2q"),
        ("ecr-over", vec![("base".to_string(), Value::from("arc"))], "arc"),
        ("gcar-lru", vec![], "lru"),
        ("gcar-cflru", vec![], "cflru"),
        ("sac", vec![], "dual-queue"),
        ("watt", last_access_only(), "lru"),
        ("clock-sweep", vec![int("max_usage", 1), int("initial_usage", 0)], "clock"),
        ("ace", vec![int("writes", 0)], "lru"),
        ("ace", vec![("base".to_string(), Value::from("clock")), int("writes", 0)], "clock"),
        ("slru", vec![int("segments", 1)], "lru"),
        ("slru", vec![real("protected_fraction", 0.0)], "lru"),
        ("lecar", vec![real("history_fraction", 0.0), real("initial_weight", 1.0)], "lru"),
        ("lecar", vec![real("history_fraction", 0.0), real("initial_weight", 0.0)], "lfu"),
    ];
    let verdict = runner(150).run(&(frames(), trace()), |(frames, trace)| {
        for (policy, params, simpler) in &pairs {
            let outcome = run(policy, frames, params, &trace, Over::Dense, false);
            let same = run(simpler, frames, &[], &trace, Over::Dense, false);
            prop_assert_eq!(outcome, same, "{} is {}", policy, simpler);
        }
        let whole = [real("window_fraction", 1.0)];
        let cflru = run("cflru", frames, &whole, &trace, Over::Dense, false);
        prop_assert_eq!(run("cflru-e", frames, &[], &trace, Over::Dense, false), cflru);
        let reads: Trace = trace.iter().map(|&(_, page)| (Op::Read, page)).collect();
        let lru = run("lru", frames, &[], &reads, Over::Dense, false);
        for policy in ["cflru", "lru-wsr", "casa"] {
            let outcome = run(policy, frames, &[], &reads, Over::Dense, false);
            prop_assert_eq!(&outcome, &lru, "{} without writes is LRU", policy);
        }
        Ok(())
    });
    verdict.unwrap_or_else(|failure| panic!("{failure}"));
}

/// WATT with one epoch per access, of which it keeps the last.
fn last_access_only() -> Vec<(String, Value)> {
    [
        ("access_slots", Value::Int(1)),
        ("first_value", Value::Int(1)),
        ("write_cost", Value::Int(0)),
        ("epoch_fraction", Value::Int(0)),
        ("epoch_on_hits", Value::Bool(true)),
        ("sample", Value::None),
    ]
    .map(|(key, value)| (key.to_string(), value))
    .to_vec()
}

/// A trace with hits, evictions from small caches, reads and writes.
fn mixed_trace() -> Trace {
    let op = |i: u64| if i.is_multiple_of(3) { Op::Write } else { Op::Read };
    (0..600).map(|i| (op(i), if i % 2 == 0 { i % 7 } else { i * i % 97 })).collect()
}

#[test]
fn a_cache_larger_than_the_trace_evicts_nothing_and_takes_no_memory_for_its_frames() {
    let trace = mixed_trace();
    let distinct = trace.iter().map(|&(_, page)| page).collect::<BTreeSet<_>>().len();
    for policy in page_granular() {
        for over in [Over::Dense, Over::Hashed] {
            let filling = ("admit_while_filling".to_string(), Value::Bool(true));
            let refuses = destage_reference::ADMISSION.contains(&policy.name);
            let params = if refuses { vec![filling] } else { vec![] };
            let outcome = run(policy.name, u32::MAX, &params, &trace, over, true);
            assert_eq!(misses(&outcome), distinct, "{}", policy.name);
            assert_eq!(outcome.resident.len(), distinct, "{}", policy.name);
        }
    }
}

#[test]
fn the_ends_of_every_range_are_taken() {
    let trace = mixed_trace();
    for policy in POLICIES {
        for param in policy.params {
            let ends = match param.kind {
                Kind::Int { min, max } | Kind::OptionalInt { min, max } => {
                    [Value::Int(min.into()), Value::Int(max.into())]
                }
                Kind::Real { min, max } => [Value::Real(min), Value::Real(max)],
                Kind::RealAbove { above } => [Value::Real(above.next_up()), Value::Real(f64::MAX)],
                // The largest depends on the frames.
                Kind::OptionalReal { min, .. } => [Value::Real(min), Value::None],
                Kind::Bool => [Value::Bool(false), Value::Bool(true)],
                Kind::Choice(words) => {
                    [words[0], words[words.len() - 1]].map(|word| Value::Text(word.to_string()))
                }
                Kind::Form(_) if policy.bases.contains(&"arc") => {
                    ["arc", "2q[in_fraction=1.0;out_fraction=16.0]"]
                        .map(|base| Value::Text(base.to_string()))
                }
                Kind::Form(_) => ["lru", "clock-sweep[max_usage=255;initial_usage=0]"]
                    .map(|base| Value::Text(base.to_string())),
                Kind::Ints { .. }
                | Kind::OptionalBool
                | Kind::Bytes
                | Kind::OptionalBytes
                | Kind::Duration => {
                    unreachable!("{} has {}, of this kind", policy.name, param.name)
                }
            };
            for end in ends {
                for frames in [1, 2, 30] {
                    let given = [(param.name.to_string(), end.clone())];
                    let dense = run(policy.name, frames, &given, &trace, Over::Dense, true);
                    let hashed = run(policy.name, frames, &given, &trace, Over::Hashed, true);
                    assert_eq!(dense, hashed, "{}: {} = {end}", policy.name, param.name);
                }
            }
        }
    }
}

#[test]
fn every_default_is_in_its_range() {
    for policy in POLICIES {
        for param in policy.params {
            let inside = match (param.kind, param.default.value()) {
                (Kind::OptionalInt { .. } | Kind::OptionalReal { .. }, Some(Value::None)) => true,
                (_, Some(default)) => param.read(&default, Typing::Exact) == Some(default),
                _ => false,
            };
            assert!(inside, "{}: {}", policy.name, param.name);
        }
    }
}
