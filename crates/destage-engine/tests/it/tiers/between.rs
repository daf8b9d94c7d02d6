//! The work of tier 2 between two requests, against its reference model on random traces with
//! pauses (`docs/spec/tiers.md` 4.11 and 4.12).

use super::ttl::{arriving, gaps};
use super::*;
use destage_replay::tiers::{AlruRule, FeedLists, FeedRule};

/// A vector's tier with the keys of its rules of write-back, and its pinned pages.
pub(super) fn with_keys(
    tier: Json,
    LowerTierSpec { rules, pins, .. }: &LowerTierSpec,
) -> Map<String, Json> {
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
    if let Some(pins) = pins {
        let pinned: Vec<u64> = (0..PAGES).filter(|&page| pins.has(Page(page))).collect();
        tier.insert("pinned".into(), pinned.into());
    }
    if let Some(feed) = rules.feed {
        let feed = json!({
            "interval_ns": feed.interval_ns, "min_interval_ns": feed.min_interval_ns,
            "warm_pages": feed.warm_pages, "cold_pages": feed.cold_pages,
            "headroom": feed.headroom, "lists": feed.lists,
        });
        tier.insert("feed".into(), feed);
    }
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

fn feed() -> impl Strategy<Value = FeedRule> {
    let intervals = (1..200u64, 1..60u64);
    let lists = select(vec![FeedLists::All, FeedLists::All, FeedLists::Mfu]);
    (intervals, 1..7u64, 0..5u64, 0..4u64, lists).prop_map(
        |((interval_ns, min_interval_ns), warm_pages, more, headroom, lists)| FeedRule {
            interval_ns,
            min_interval_ns,
            warm_pages,
            cold_pages: warm_pages + more,
            headroom,
            lists,
        },
    )
}

/// A case whose tier 2 is fed.
pub(super) fn with_a_feed() -> impl Strategy<Value = Case> {
    let ordered = ORDERED.iter().map(|info| info.name);
    let above: Vec<_> = ordered.chain(std::iter::repeat_n("arc", 6)).collect();
    (case(), select(above), feed()).prop_map(|(mut case, above, mut rule)| {
        let LowerTiersSpec { tier2: given, tier3 } = &mut case.lower;
        *tier3 = None;
        given.admit = AdmissionSpec::parse("always").expect("a filter");
        given.pins = None;
        if above != "arc" {
            rule.lists = FeedLists::All;
        }
        let fetch_on_write_miss = given.rules.fetch_on_write_miss;
        let rules = TierRules { fetch_on_write_miss, ..TierRules::default() };
        given.rules = TierRules { offer: Offer::Feed, feed: Some(rule), ..rules };
        Case { tier1: above.into(), ..case }
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

    #[test]
    fn pages_are_fed_as_in_their_model(
        case in with_a_feed(), gaps in gaps(), ttl_ns in 1..3000u64, of in 0..10u8,
    ) {
        let case = Case { flush_at_end: false, ..case };
        let lru = PolicySpec::parse(&case.tier1).expect("a policy");
        prop_assert!(case.lower.suits(&lru).is_ok());
        let times = arriving(&gaps, accesses(&case.steps));
        agree(&case, (&times, (of == 9).then_some(ttl_ns)))?;
    }

    #[test]
    fn a_fed_tier_has_clean_pages_alone_and_a_feed_that_does_not_begin_none(
        case in with_a_feed(), gaps in gaps(),
    ) {
        let mut case = case;
        let arrivals = arriving(&gaps, accesses(&case.steps));
        let (_, fed) = observed(&case, (&arrivals, None));
        let counts = fed.counters.tiers.tier2;
        prop_assert_eq!(counts.pending_tier2, 0);
        prop_assert_eq!(counts.offers, counts.admitted);
        prop_assert_eq!(counts.tier2_writes, counts.admitted);
        case.lower.tier2.rules.feed.as_mut().expect("a feed").interval_ns = u64::MAX / 2;
        let (decisions, idle) = observed(&case, (&arrivals, None));
        prop_assert_eq!(idle.counters.tiers.tier2.admitted, 0);
        let written: usize = decisions.iter().map(|d| d.written_back.len()).sum();
        prop_assert_eq!(written as u64, idle.counters.tiers.tier2.backing_writes);
        prop_assert_eq!(idle.counters.hits(), fed.counters.hits(), "tier 1 sees nothing of it");
    }
}
