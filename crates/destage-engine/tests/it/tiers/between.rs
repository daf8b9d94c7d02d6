//! What tier 2 does between two requests, against its reference model on random traces with pauses
//! (`docs/spec/tiers.md` 4.11).

use super::ttl::{arriving, gaps};
use super::*;
use destage_replay::tiers::AlruRule;

/// A vector's tier with the keys of its rules of write-back.
pub(super) fn with_keys(tier: Json, rules: &TierRules) -> Map<String, Json> {
    let keys = match rules.clean {
        None => json!({}),
        Some(Clean::Above(most_dirty)) => json!({"most_dirty": most_dirty}),
        Some(Clean::Stale(alru)) => json!({"alru": {
            "wake_up_ns": alru.wake_up_ns, "staleness_ns": alru.staleness_ns,
            "flush_max_buffers": alru.flush_max_buffers, "activity_ns": alru.activity_ns,
            "page_ns": alru.page_ns,
        }}),
    };
    let [mut tier, keys] = [tier, keys].map(|keys| keys.as_object().expect("keys").clone());
    tier.extend(keys);
    tier
}

fn alru() -> impl Strategy<Value = AlruRule> {
    let times = (1..300u64, 1..2000u64, 1..400u64, prop_oneof![1..4u64, 1..200u64]);
    (times, 1..5u64).prop_map(|((wake_up_ns, staleness_ns, activity_ns, page_ns), most)| AlruRule {
        wake_up_ns,
        staleness_ns,
        flush_max_buffers: most,
        activity_ns,
        page_ns,
    })
}

/// A case whose tier 2 cleans its stale pages.
fn with_alru() -> impl Strategy<Value = Case> {
    let ordered: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
    (case(), select(ordered), alru()).prop_map(|(mut case, below, rule)| {
        let LowerTiersSpec { tier2: given, tier3 } = &mut case.lower;
        *tier3 = None;
        given.policy = PolicySpec::parse(below).expect("a policy");
        given.rules.clean = Some(Clean::Stale(rule));
        case
    })
}

/// Decisions and counts of the product, observed, with these arrivals.
fn observed(
    case: &Case,
    (arrivals_ns, ttl_ns): (&[u64], Option<u64>),
) -> (Vec<models::TierDecision>, Replayed) {
    let trace = Trace { arrivals_ns: arrivals_ns.to_vec(), ..Trace::of(&case.steps) };
    let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
    let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
    let replay = trace.replay();
    let replayed = if case.tier1 == "none" {
        let mut through = Through::default();
        untimed::run_expiring(&replay, &mut through, lower, ttl_ns, &mut recorder)
    } else {
        let tier1 = dense(&case.tier1, &setup(&case.tier1, case.frames), PAGES as u32);
        untimed::run_expiring(&replay, &mut tier1.expect("one"), lower, ttl_ns, &mut recorder)
    };
    (recorder.decisions, replayed.expect("no stop"))
}

/// Counts of the product, unobserved, with these arrivals.
fn unobserved(case: &Case, arrivals_ns: &[u64]) -> Replayed {
    let trace = Trace { arrivals_ns: arrivals_ns.to_vec(), ..Trace::of(&case.steps) };
    let setup = setup(&case.tier1, case.frames);
    let lower = case.lower.parts(&trace.lpns, &[]).expect("tiers");
    let replay = trace.replay();
    let run = untimed::run_unwatched(&replay, &case.tier1, &setup, lower, &mut Unobserved);
    run.expect("a policy").expect("no stop")
}

fn accesses(steps: &[Step]) -> usize {
    steps.iter().filter(|step| matches!(step, Step::Access(..))).count()
}

/// Product and model decide and count the same.
fn agree(case: &Case, times: (&[u64], Option<u64>)) -> Result<(), TestCaseError> {
    let (decisions, replayed) = observed(case, times);
    let outcome = model_with_ttl(case, times);
    for (index, (ours, theirs)) in decisions.iter().zip(&outcome.decisions).enumerate() {
        prop_assert_eq!(ours, theirs, "access {}", index);
    }
    for (counter, got) in replayed.counters.tiers.of_tier2().iter() {
        let expected = outcome.counters.get(counter).copied().unwrap_or(0);
        prop_assert_eq!(got, expected, "{}", counter);
    }
    if times.1.is_none() && case.tier1 != "none" {
        prop_assert_eq!(unobserved(case, times.0).counters, replayed.counters);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn stale_pages_are_written_back_as_in_their_model(
        case in with_alru(), gaps in gaps(), ttl_ns in 1..3000u64, of in 0..10u8,
    ) {
        let mut case = Case { flush_at_end: false, ..case };
        if of < 3 {
            case.tier1 = "none".into();
            case.lower.tier2.rules.promote = Promote::Copy;
        }
        let ttl_ns = (of == 9 && case.tier1 != "min").then_some(ttl_ns);
        agree(&case, (&arriving(&gaps, accesses(&case.steps)), ttl_ns))?;
    }

    #[test]
    fn pages_that_are_never_stale_or_a_tier_that_is_never_idle_change_nothing(
        case in with_alru(), gaps in gaps(), of_staleness in any::<bool>(),
    ) {
        let mut case = case;
        let arrivals = arriving(&gaps, accesses(&case.steps));
        let Some(Clean::Stale(rule)) = &mut case.lower.tier2.rules.clean else { unreachable!() };
        *if of_staleness { &mut rule.staleness_ns } else { &mut rule.activity_ns } = u64::MAX / 2;
        let cleaned = observed(&case, (&arrivals, None));
        case.lower.tier2.rules.clean = None;
        let plain = observed(&case, (&arrivals, None));
        prop_assert_eq!(cleaned.0, plain.0);
        prop_assert_eq!(cleaned.1.counters, plain.1.counters);
    }
}
