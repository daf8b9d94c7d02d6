//! Several tiers against their reference model on random traces, and the laws of
//! `docs/spec/tiers.md` 12.

use destage_core::{Page, Plan, Request};
use destage_engine::spec::PolicySpec;
use destage_engine::tiers::{AdmissionSpec, LowerTierSpec, LowerTiersSpec};
use destage_policies::{ORDERED, POLICIES, Setup, dense};
use destage_reference as models;
use destage_replay::accesses::{Columns, Extent};
use destage_replay::control_commands::{ControlCommand, ControlCommands, ControlKind};
use destage_replay::input::NextUses;
use destage_replay::observe::{Observer, Unobserved};
use destage_replay::replay::{Replay, Replayed};
use destage_replay::tiers::through::Through;
use destage_replay::tiers::{AdmitDirty, Clean, Offer, Promote, TierDecision, TierRules, untimed};
use destage_replay::warmup::Warmup;
use models::Step;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

mod between;
mod device;
mod disk;
mod pin;
mod ttl;

/// Pages of the traces.
const PAGES: u64 = 30;

#[derive(Clone, Debug)]
struct Case {
    tier1: String,
    frames: u32,
    lower: LowerTiersSpec,
    flush_at_end: bool,
    steps: Vec<Step>,
}

fn policies(suits: impl Fn(&PolicySpec) -> bool) -> Vec<String> {
    let specs = POLICIES.iter().map(|info| PolicySpec::parse(info.name).expect("a policy"));
    specs.filter(suits).map(|spec| spec.name.to_owned()).collect()
}

fn tier(policy: &str, frames: u32, admit: &str, rules: TierRules) -> LowerTierSpec {
    let policy = PolicySpec::parse(policy).expect("a policy");
    let admit = AdmissionSpec::parse(admit).expect("a filter");
    LowerTierSpec { policy, frames, admit, rules, page_bytes: 4096, pins: None }
}

/// The second of two tiers.
fn tier2(policy: &str, frames: u32, admit: &str, rules: TierRules) -> LowerTiersSpec {
    LowerTiersSpec { tier2: tier(policy, frames, admit, rules), tier3: None }
}

const FILTERS: [&str; 16] = [
    "always",
    "nth",
    "nth[n=3;ghost_fraction=0.3]",
    "nth[n=1]",
    "probability",
    "probability[p=0.2;seed=9]",
    "tinylfu[threshold=2;sample_factor=3]",
    "tinylfu",
    "tinylfu[sample_factor=1]",
    "larc",
    "larc[admit_while_filling=true]",
    // Two pages in 100 ns, which is ten accesses or the gap between two bursts.
    "rate[bytes_per_day=7077888000000000;window=100ns]",
    "rate[bytes_per_day=7077888000000000;window=100ns;catch_up=1;seed=3]",
    "rate[bytes_per_day=3000000000000000;max_bytes_per_day=8000000000000000;window=200ns]",
    "reject-first[window=150ns]",
    "reject-first[window=1h]",
];

/// Accesses come every 10 ns, with a gap after each 37th.
fn arrivals(accesses: usize) -> Vec<u64> {
    (0..accesses as u64).map(|k| 5 + 10 * k + 400 * (k / 37)).collect()
}

fn rules() -> impl Strategy<Value = TierRules> {
    let kinds = select(vec![
        (Offer::Evicted, Promote::Copy),
        (Offer::Evicted, Promote::Move),
        (Offer::Inserted, Promote::Copy),
    ]);
    (kinds, any::<bool>(), any::<bool>()).prop_map(|((offer, promote), always, fetch)| TierRules {
        offer,
        promote,
        admit_dirty: if always { AdmitDirty::Always } else { AdmitDirty::Ask },
        fetch_on_write_miss: fetch,
        ..TierRules::default()
    })
}

fn steps(trims: bool) -> impl Strategy<Value = Vec<Step>> {
    let page = prop_oneof![0..6u64, 0..PAGES];
    let step = (0..20u8, page).prop_map(move |(kind, page)| match kind {
        0 if trims => Step::Trim(page),
        0..8 => Step::Access(models::Op::Write, page),
        _ => Step::Access(models::Op::Read, page),
    });
    prop::collection::vec(step, 1..200)
}

fn case() -> impl Strategy<Value = Case> {
    let plain = TierRules::default();
    let lru = PolicySpec::parse("lru").expect("a policy");
    let above = policies(|spec| tier2("lru", 1, "always", plain).suits(spec).is_ok());
    let below = policies(|spec| tier2(spec.name, 1, "always", plain).suits(&lru).is_ok());
    let lower = |frames| (select(below.clone()), 1..frames, select(&FILTERS[..]), rules());
    let tier3 = prop::option::of(lower(30u32));
    let tiers = (select(above), 1..12u32, lower(20u32), tier3);
    (tiers, any::<bool>(), any::<bool>().prop_flat_map(steps)).prop_filter_map(
        "the tiers suit each other",
        |((tier1, frames, (below, frames2, admit, rules), third), flush_at_end, steps)| {
            // CFLRU-E decides as CFLRU without a device, which has a reference model.
            let is_known = |name: &String| models::NAMES.contains(&name.as_str());
            let known = is_known(&tier1)
                && is_known(&below)
                && third.as_ref().is_none_or(|third| is_known(&third.0));
            let tier3 = third.map(|(policy, frames, admit, of_tier3)| {
                let fetch_on_write_miss = rules.fetch_on_write_miss;
                tier(&policy, frames, admit, TierRules { fetch_on_write_miss, ..of_tier3 })
            });
            // Of each third case that may have it.
            let is_ordered = ORDERED.iter().any(|info| info.name == below);
            let cleans = is_ordered && tier3.is_none() && steps.len() % 3 == 0;
            let most = u64::from(frames2) * (steps.len() as u64 % 5) / 8;
            let rules = TierRules { clean: cleans.then_some(Clean::Above(most)), ..rules };
            // Every third case that may have them.
            let may = rules.promote == Promote::Copy && steps.len() % 3 == 1;
            let pins = may.then(|| pin::of_accessed(&steps, |page| page % 7 == 3)).flatten();
            let pins = pins.filter(|pins| pins.count() < frames2);
            let given = LowerTierSpec { pins, ..tier(&below, frames2, admit, rules) };
            let lower = LowerTiersSpec { tier2: given, tier3 };
            let suited = lower.suits(&PolicySpec::parse(&tier1).expect("a policy"));
            (suited.is_ok() && known).then_some(Case { tier1, frames, lower, flush_at_end, steps })
        },
    )
}

/// Keeps every decision.
#[derive(Default)]
struct Recorder {
    lpns: Vec<u64>,
    below: TierDecision,
    decisions: Vec<models::TierDecision>,
}

impl Observer for Recorder {
    fn tiers(&mut self, decision: &TierDecision) {
        self.below = decision.clone();
    }

    fn access(&mut self, _: &Request, hit: bool, plan: Option<&Plan>) {
        let number = |page: &Page| self.lpns[page.0 as usize];
        let numbers = |pages: &[Page]| pages.iter().map(number).collect::<Vec<_>>();
        self.decisions.push(models::TierDecision {
            hit,
            tier: self.below.tier.into(),
            evicted: plan.map_or_else(Vec::new, |plan| {
                plan.evicted().iter().map(|evicted| number(&evicted.page)).collect()
            }),
            flushed: plan.map_or_else(Vec::new, |plan| {
                plan.groups().map(|(pages, _)| numbers(pages)).collect()
            }),
            admitted: numbers(&self.below.admitted),
            tier2_evicted: numbers(&self.below.tier2_evicted),
            tier3_admitted: numbers(&self.below.tier3_admitted),
            tier3_evicted: numbers(&self.below.tier3_evicted),
            written_back: numbers(&self.below.written_back),
        });
    }
}

/// The accesses of a trace, and a trim before each row that one comes before.
struct Trace {
    lpns: Vec<u64>,
    ids: Vec<u32>,
    extents: Vec<u32>,
    next_uses: Vec<u64>,
    arrivals_ns: Vec<u64>,
    trims: Vec<ControlCommand>,
}

impl Trace {
    fn of(steps: &[Step]) -> Trace {
        let (mut ids, mut extents, mut trims) = (Vec::new(), Vec::new(), Vec::new());
        for &step in steps {
            match step {
                Step::Access(op, page) => {
                    ids.push(page as u32);
                    extents.push(Extent::new(1, op == models::Op::Write, false, false).0);
                }
                Step::Trim(page) => {
                    trims.push(ControlCommand::new(ControlKind::Trim, ids.len() as u64, 0, 0).over(
                        page * 4096,
                        4096,
                        4096,
                    ))
                }
            }
        }
        // A page that is trimmed before its next access has none.
        let mut next = vec![u64::MAX; PAGES as usize];
        let (mut next_uses, mut row) = (vec![0; ids.len()], ids.len());
        for step in steps.iter().rev() {
            match *step {
                Step::Trim(page) => next[page as usize] = u64::MAX,
                Step::Access(_, page) => {
                    row -= 1;
                    next_uses[row] = std::mem::replace(&mut next[page as usize], row as u64);
                }
            }
        }
        let arrivals_ns = arrivals(ids.len());
        Trace { lpns: (0..PAGES).collect(), ids, extents, next_uses, arrivals_ns, trims }
    }

    fn replay(&self) -> Replay<'_> {
        let Trace { lpns, ids, extents, next_uses, arrivals_ns, trims } = self;
        Replay {
            columns: Columns { first_ids: ids, extents, lpns },
            next_uses: NextUses::Long(next_uses),
            warmup: Warmup::None,
            arrivals_ns,
            trims: ControlCommands { list: trims, logical_pages: None },
        }
    }
}

fn setup(policy: &str, frames: u32) -> Setup {
    let params = PolicySpec::parse(policy).expect("a policy").params(&[]).expect("defaults");
    Setup { params, trace_pages: Some(PAGES), ..Setup::new(frames) }
}

/// The product: its decisions, and what it counted; with a flush at the end, if asked for.
fn product(case: &Case) -> (Vec<models::TierDecision>, Replayed) {
    let trace = Trace::of(&case.steps);
    let mut policy = dense(&case.tier1, &setup(&case.tier1, case.frames), PAGES as u32)
        .expect("a policy of the table");
    let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
    let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
    let replayed = untimed::run(&trace.replay(), &mut policy, lower, &mut recorder);
    let mut replayed = replayed.expect("no stop");
    // An unobserved run counts the same.
    let lower = case.lower.parts(&trace.lpns, &[]).expect("tiers");
    let unwatched = untimed::run_unwatched(
        &trace.replay(),
        &case.tier1,
        &setup(&case.tier1, case.frames),
        lower,
        &mut Unobserved,
    );
    let unwatched = unwatched.expect("a policy").expect("no stop");
    assert_eq!(unwatched.counters, replayed.counters);
    if case.flush_at_end {
        replayed.flush();
    }
    (recorder.decisions, replayed)
}

fn model(case: &Case) -> models::TierOutcome {
    model_at(case, &arrivals(case.steps.len()))
}

/// With these arrivals of its accesses.
fn model_at(case: &Case, arrivals_ns: &[u64]) -> models::TierOutcome {
    model_with_ttl(case, (arrivals_ns, None))
}

/// With a time to live, too.
fn model_with_ttl(case: &Case, times: (&[u64], Option<u64>)) -> models::TierOutcome {
    pin::model(case, &BTreeSet::new(), times)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn tiers_decide_and_count_as_their_model(case in case()) {
        let (decisions, replayed) = product(&case);
        let outcome = model(&case);
        for (index, (ours, theirs)) in decisions.iter().zip(&outcome.decisions).enumerate() {
            prop_assert_eq!(ours, theirs, "access {}", index);
        }
        let tiers = &replayed.counters.tiers;
        for (counter, got) in tiers.of_tier2().iter() {
            let expected = outcome.counters.get(counter).copied().unwrap_or(0);
            prop_assert_eq!(got, expected, "{}", counter);
        }
        for (counter, got) in tiers.of_tier3().iter() {
            let expected = outcome.counters.get(counter).copied();
            prop_assert_eq!(got, expected.unwrap_or(0), "{}", counter);
            prop_assert_eq!(expected.is_some(), case.lower.tier3.is_some());
        }
        prop_assert_eq!(replayed.counters.end_flushes, outcome.counters["end_flushes"]);
        laws(&case, &decisions, &replayed, &outcome)?;
    }

    #[test]
    fn without_a_tier_1_the_page_of_each_access_is_offered(mut case in case()) {
        case.tier1 = "none".into();
        let unsuited = case.lower.suits(&PolicySpec::parse("none").expect("a policy"));
        prop_assert_eq!(unsuited.is_err(), case.lower.tier2.rules.promote == Promote::Move);
        case.lower.tier2.rules.promote = Promote::Copy;
        let trace = Trace::of(&case.steps);
        let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
        let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
        let replay = trace.replay();
        let replayed = untimed::run(&replay, &mut Through::default(), lower, &mut recorder);
        let outcome = model(&case);
        prop_assert_eq!(recorder.decisions, outcome.decisions);
        for (counter, got) in replayed.expect("no stop").counters.tiers.of_tier2().iter() {
            let expected = outcome.counters.get(counter).copied().unwrap_or(0);
            let by_flush = ["backing_writes", "pending_tier2"].contains(&counter);
            let is_flushed = case.flush_at_end && by_flush;
            prop_assert!(is_flushed || got == expected, "{}: {} {}", counter, got, expected);
        }
    }

    #[test]
    fn a_rate_above_all_offers_is_always(mut case in case()) {
        let admits = ["always", "rate[bytes_per_day=8000000TB;window=1ns]"];
        let outcomes = admits.map(|admit| {
            case.lower.tier2.admit = AdmissionSpec::parse(admit).expect("a filter");
            product(&case).0
        });
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
    }

    #[test]
    fn filters_that_take_every_offer_are_always(mut case in case()) {
        let admits = ["always", "nth[n=1]", "probability[p=1.0]"];
        let outcomes = admits.map(|admit| {
            case.lower.tier2.admit = AdmissionSpec::parse(admit).expect("a filter");
            product(&case).0
        });
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
        prop_assert_eq!(&outcomes[0], &outcomes[2]);
    }

    #[test]
    fn lru_over_lru_that_moves_is_one_lru(
        steps in steps(false), (s1, s2) in (1..9u32, 1..9u32)
    ) {
        let steps = reads(&steps);
        let rules = TierRules { promote: Promote::Move, ..TierRules::default() };
        let case = Case {
            tier1: "lru".into(),
            frames: s1,
            lower: tier2("lru", s2, "always", rules),
            flush_at_end: false,
            steps: steps.clone(),
        };
        let found: Vec<bool> = product(&case).0.iter().map(|d| d.tier > 0).collect();
        let ops: Vec<_> = steps.iter().map(|step| (models::Op::Read, step.page())).collect();
        let one = models::run("lru", (s1 + s2) as usize, &Map::new(), &ops).expect("lru");
        prop_assert_eq!(found, one.decisions.iter().map(|d| d.hit).collect::<Vec<_>>());
    }

    #[test]
    fn three_lru_that_move_are_one_lru(
        steps in steps(false), (s1, s2, s3) in (1..6u32, 1..6u32, 1..6u32)
    ) {
        let steps = reads(&steps);
        let rules = TierRules { promote: Promote::Move, ..TierRules::default() };
        let of = |frames| tier("lru", frames, "always", rules);
        let case = Case {
            tier1: "lru".into(),
            frames: s1,
            lower: LowerTiersSpec { tier2: of(s2), tier3: Some(of(s3)) },
            flush_at_end: false,
            steps: steps.clone(),
        };
        let found: Vec<bool> = product(&case).0.iter().map(|d| d.tier > 0).collect();
        let ops: Vec<_> = steps.iter().map(|step| (models::Op::Read, step.page())).collect();
        let one = models::run("lru", (s1 + s2 + s3) as usize, &Map::new(), &ops).expect("lru");
        prop_assert_eq!(found, one.decisions.iter().map(|d| d.hit).collect::<Vec<_>>());
    }

    #[test]
    fn the_upper_tiers_decide_as_without_the_third(mut case in case()) {
        let with = product(&case).0;
        case.lower.tier3 = None;
        let without = product(&case).0;
        for (with, without) in with.iter().zip(&without) {
            prop_assert_eq!(&with.admitted, &without.admitted);
            prop_assert_eq!(&with.tier2_evicted, &without.tier2_evicted);
            prop_assert_eq!(with.tier % 3, without.tier);
        }
    }

    #[test]
    fn under_one_frame_tier_2_decides_as_its_policy_alone(
        steps in steps(false), below in select(vec!["lru", "arc", "s3-fifo", "2q", "clock-pro"]),
        s2 in 1..12u32,
    ) {
        let mut steps = reads(&steps);
        steps.dedup_by_key(|step| step.page());
        let rules = TierRules { offer: Offer::Inserted, ..TierRules::default() };
        let ops: Vec<_> = steps.iter().map(|step| (models::Op::Read, step.page())).collect();
        let case = |below: &str, admit: &str| Case {
            tier1: "lru".into(),
            frames: 1,
            lower: tier2(below, s2, admit, rules),
            flush_at_end: false,
            steps: steps.clone(),
        };
        for (below, admit, alone) in [(below, "always", below), ("lru", "larc", "larc")] {
            let tiers = product(&case(below, admit)).0;
            let tiers: Vec<_> =
                tiers.iter().map(|d| (d.tier == 2, d.tier2_evicted.clone())).collect();
            let one = models::run(alone, s2 as usize, &Map::new(), &ops).expect("a policy");
            let one: Vec<_> = one.decisions.iter().map(|d| (d.hit, d.evicted.clone())).collect();
            prop_assert_eq!(tiers, one, "{}", alone);
        }
    }
}

fn reads(steps: &[Step]) -> Vec<Step> {
    steps.iter().map(|step| Step::Access(models::Op::Read, step.page())).collect()
}

/// The laws that hold for every input.
fn laws(
    case: &Case,
    decisions: &[models::TierDecision],
    replayed: &Replayed,
    outcome: &models::TierOutcome,
) -> Result<(), TestCaseError> {
    let counters = &replayed.counters;
    let tiers = &counters.tiers.tier2;
    // Tier 1 decides as without tier 2.
    let trace = Trace::of(&case.steps);
    let mut policy = dense(&case.tier1, &setup(&case.tier1, case.frames), PAGES as u32)
        .expect("a policy of the table");
    let mut alone = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
    trace.replay().run(&mut policy, &mut alone).expect("no stop");
    for (alone, tiers) in alone.decisions.iter().zip(decisions) {
        prop_assert_eq!(alone.hit, tiers.hit);
        prop_assert_eq!(&alone.evicted, &tiers.evicted);
    }
    let fetched = case.lower.tier2.rules.fetch_on_write_miss.then_some(counters.write_misses);
    let must_read = counters.read_misses + fetched.unwrap_or(0);
    prop_assert_eq!(tiers.tier2_hits + tiers.tier2_misses, must_read);
    let has_trims = case.steps.iter().any(|step| matches!(step, Step::Trim(_)));
    if !has_trims {
        let left = outcome.tier2_pages.len() as u64;
        prop_assert_eq!(tiers.admitted, tiers.tier2_evictions + tiers.tier2_drops + left);
        // Every page ever written is dirty in a tier, or was written back.
        let accesses = case.steps.iter().map(|step| match *step {
            Step::Access(op, page) => (op, page),
            Step::Trim(_) => unreachable!("there is none"),
        });
        let written: BTreeSet<u64> =
            accesses.filter(|(op, _)| *op == models::Op::Write).map(|(_, page)| page).collect();
        let mut kept: BTreeSet<u64> = outcome.dirty.clone();
        kept.extend(decisions.iter().flat_map(|d| &d.written_back));
        prop_assert!(written.is_subset(&kept), "{written:?} {kept:?}");
    }
    Ok(())
}

#[test]
fn acr_h_in_a_tier_counts_the_pages_of_the_trace_as_its_model() {
    let op = |write| if write { models::Op::Write } else { models::Op::Read };
    let page = |word: &str| word[1..].parse().expect("a page");
    let access = |word: &str| Step::Access(op(word.starts_with('W')), page(word));
    let words = "R0 W3 W8 W6 R0 W1 W2 W13 W14 W4 W21 R0 R5 R5 R0 W9 R15 W10";
    let (tier1, steps) = ("acr-h".into(), words.split(' ').map(access).collect());
    let lower = tier2("lru", 1, "always", TierRules::default());
    let case = Case { tier1, frames: 11, lower, flush_at_end: false, steps };
    assert_eq!(product(&case).0, model(&case).decisions);
}

#[test]
fn a_run_counts_from_the_end_of_the_warm_up() {
    let steps: Vec<Step> =
        (0..900).map(|k| Step::Access(models::Op::Read, k * 7 % PAGES)).collect();
    let trace = Trace::of(&steps);
    let whole = |warmup| {
        let mut policy = dense("lru", &setup("lru", 4), PAGES as u32).expect("a policy");
        let below = tier2("lru", 8, "always", TierRules::default());
        let below = below.build(&trace.lpns, &[]).expect("a tier");
        let replay = Replay { warmup, ..trace.replay() };
        untimed::run(&replay, &mut policy, below, &mut Unobserved).expect("no stop")
    };
    let (all, half) = (whole(Warmup::None), whole(Warmup::Requests(450)));
    assert_eq!(all.counters.tiers.tier2.admitted, 896, "every page that leaves tier 1");
    assert_eq!(half.counters.tiers.tier2.admitted, 450);
    assert_eq!(half.counters.tiers.tier2.tier2_evictions, 450);
}

/// An unobserved run takes a block of accesses through one tier after the other, an observed one an
/// access through both: with each policy below, and with each filter.
#[test]
fn an_unobserved_run_of_many_blocks_counts_as_an_observed_one() {
    let mut random = destage_core::SplitMix64::new(3);
    let op = |write| if write { models::Op::Write } else { models::Op::Read };
    let mut access = || {
        let page = (random.unit().powi(2) * PAGES as f64) as u64;
        Step::Access(op(random.unit() < 0.3), page)
    };
    let trace = Trace::of(&(0..130_000).map(|_| access()).collect::<Vec<_>>());
    let rules = TierRules { promote: Promote::Move, ..TierRules::default() };
    let lru = PolicySpec::parse("lru").expect("a policy");
    let below = policies(|spec| tier2(spec.name, 1, "always", rules).suits(&lru).is_ok());
    let with_each_policy = below.iter().map(|below| (below.as_str(), "always"));
    for (below, admit) in with_each_policy.chain(FILTERS.map(|filter| ("lru", filter))) {
        let (below, setup) = (tier2(below, 12, admit, rules), setup("lru", 5));
        let parts = || below.parts(&trace.lpns, &[]).expect("a tier");
        let mut policy = dense("lru", &setup, PAGES as u32).expect("a policy");
        let tier2 = parts().erased().expect("a tier");
        let observed = untimed::run(&trace.replay(), &mut policy, tier2, &mut Unobserved);
        let unobserved =
            untimed::run_unwatched(&trace.replay(), "lru", &setup, parts(), &mut Unobserved);
        let unobserved = unobserved.expect("a policy").expect("no stop");
        let observed = observed.expect("no stop");
        assert!(observed.counters.tiers.tier2.admitted > 0, "{below:?}");
        assert_eq!(unobserved.counters, observed.counters, "{below:?}");
        assert_eq!(unobserved.dirty_left, observed.dirty_left, "{below:?}");
    }
}
