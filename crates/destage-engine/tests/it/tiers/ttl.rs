//! A time to live against its reference model, in one tier and in several
//! (`docs/spec/tiers.md` 4.10).

use super::*;
use destage_replay::ttl;

/// Arrivals by the gaps between them.
pub(super) fn arriving(gaps: &[u64], accesses: usize) -> Vec<u64> {
    let mut now = 0;
    let mut next = |k: usize| {
        now += gaps[k % gaps.len()];
        now
    };
    (0..accesses).map(&mut next).collect()
}

pub(super) fn gaps() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0), 1..10u64, 100..1000u64], 1..20)
        .prop_filter("time passes", |gaps| gaps.iter().any(|&gap| gap > 0))
}

/// Policies that a page may leave at an access: they neither bypass nor foresee.
fn living() -> Vec<&'static str> {
    let suits = |name: &&&str| !["min", "larc"].contains(*name);
    models::NAMES.iter().filter(suits).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn expired_pages_leave_one_tier_as_in_its_model(
        policy in select(living()), frames in 1..12u32, steps in steps(false), gaps in gaps(),
        ttl_ns in 1..3000u64,
    ) {
        let trace = Trace { arrivals_ns: arriving(&gaps, steps.len()), ..Trace::of(&steps) };
        let ops: Vec<(models::Op, u64)> = steps.iter().map(|step| match *step {
            Step::Access(op, page) => (op, page),
            Step::Trim(_) => unreachable!("there are none"),
        }).collect();
        let none = Map::new();
        let (frames_of_model, at) = (frames as usize, &trace.arrivals_ns);
        let model = models::run_with_ttl(policy, frames_of_model, &none, &ops, at, ttl_ns);
        let (decisions, counters) = model.expect("a known policy");
        let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
        let mut tier1 = dense(policy, &setup(policy, frames), PAGES as u32).expect("a policy");
        let replayed = ttl::run(&trace.replay(), &mut tier1, ttl_ns, &mut recorder);
        let counted = replayed.expect("no stop").counters;
        for (index, (ours, theirs)) in recorder.decisions.iter().zip(&decisions).enumerate() {
            let ours = (ours.hit, &ours.evicted, &ours.flushed);
            prop_assert_eq!(ours, (theirs.hit, &theirs.evicted, &theirs.flushed), "{}", index);
        }
        for (name, got) in [
            ("read_hits", counted.read_hits), ("read_misses", counted.read_misses),
            ("write_hits", counted.write_hits), ("write_misses", counted.write_misses),
            ("evictions", counted.evictions), ("destaged_pages", counted.destaged_pages),
            ("expired_hits", counted.expired.expired_hits),
            ("expired_writes", counted.expired.expired_writes),
        ] {
            prop_assert_eq!(got, counters.get(name).copied().unwrap_or(0), "{}", name);
        }
    }

    #[test]
    fn expired_pages_leave_all_tiers_as_in_their_model(
        case in case(), gaps in gaps(), ttl_ns in 1..3000u64, without_tier1 in 0..5u8,
    ) {
        let mut case = case;
        prop_assume!(case.tier1 != "min");
        if without_tier1 == 0 {
            case.tier1 = "none".into();
            case.lower.tier2.rules.promote = Promote::Copy;
        }
        case.flush_at_end = false;
        let accesses = case.steps.iter().filter(|step| matches!(step, Step::Access(..))).count();
        let arrivals_ns = arriving(&gaps, accesses);
        let trace = Trace { arrivals_ns: arrivals_ns.clone(), ..Trace::of(&case.steps) };
        let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
        let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
        let (replay, ttl) = (trace.replay(), Some(ttl_ns));
        let replayed = if case.tier1 == "none" {
            let mut through = Through::default();
            untimed::run_expiring(&replay, &mut through, lower, ttl, &mut recorder)
        } else {
            let tier1 = dense(&case.tier1, &setup(&case.tier1, case.frames), PAGES as u32);
            untimed::run_expiring(&replay, &mut tier1.expect("one"), lower, ttl, &mut recorder)
        };
        let counted = replayed.expect("no stop").counters;
        let outcome = model_with_ttl(&case, (&arrivals_ns, ttl));
        for (index, (ours, theirs)) in
            recorder.decisions.iter().zip(&outcome.decisions).enumerate()
        {
            prop_assert_eq!(ours, theirs, "access {}", index);
        }
        for (counter, got) in counted.tiers.of_tier2().iter() {
            let expected = outcome.counters.get(counter).copied().unwrap_or(0);
            prop_assert_eq!(got, expected, "{}", counter);
        }
        for (counter, got) in counted.tiers.of_tier3().iter() {
            let expected = outcome.counters.get(counter).copied();
            prop_assert_eq!(got, expected.unwrap_or(0), "{}", counter);
        }
        let expected = |name: &str| outcome.counters.get(name).copied().unwrap_or(0);
        prop_assert_eq!(counted.expired.expired_hits, expected("expired_hits"));
        prop_assert_eq!(counted.expired.expired_writes, expected("expired_writes"));
        prop_assert_eq!(counted.evictions, expected("evictions"));
    }

    #[test]
    fn a_time_to_live_beyond_the_trace_changes_nothing(
        policy in select(living()), frames in 1..12u32, steps in steps(true),
    ) {
        let trace = Trace::of(&steps);
        let tier1 = || dense(policy, &setup(policy, frames), PAGES as u32).expect("a policy");
        let (replay, forever) = (trace.replay(), u64::MAX / 2);
        let living = ttl::run(&replay, &mut tier1(), forever, &mut Unobserved).expect("no stop");
        let without = replay.run(&mut tier1(), &mut Unobserved).expect("no stop");
        prop_assert_eq!(living.counters, without.counters);
    }
}
