//! Pinned pages against their reference model, in one tier and in several
//! (`docs/spec/tiers.md` 4.13).

use super::ttl::{arriving, gaps};
use super::*;
use destage_core::AnyPolicy;
use destage_replay::pinned::{self, PINNED_HITS, PinnedPages};
use std::sync::Arc;

/// The reference model of a case whose tier 1 has these pinned pages.
pub(super) fn model(
    case: &Case,
    pinned: &BTreeSet<u64>,
    times: (&[u64], Option<u64>),
) -> models::TierOutcome {
    let given = |given: &[(String, destage_policies::params::Value)]| -> Map<String, Json> {
        given
            .iter()
            .map(|(key, value)| (key.clone(), serde_json::to_value(value).expect("JSON")))
            .collect()
    };
    let tier = |tier: &LowerTierSpec| -> Map<String, Json> {
        let LowerTierSpec { policy, frames, admit, rules, .. } = tier;
        let params = with_pages(policy.name, given(&policy.given), 0);
        let json = json!({
            "policy": policy.name, "frames": frames, "params": params,
            "admit": admit.name, "admit_params": given(&admit.given), "offer": rules.offer,
            "promote": rules.promote, "admit_dirty": rules.admit_dirty,
        });
        between::with_keys(json, tier)
    };
    let fetches = case.lower.tier2.rules.fetch_on_write_miss;
    let options = json!({"fetch_on_write_miss": fetches, "flush_at_end": case.flush_at_end});
    let options = options.as_object().expect("one").clone();
    let options = with_pages(&case.tier1, options, pinned.len() as u64);
    let (tier2, tier3) = (tier(&case.lower.tier2), case.lower.tier3.as_ref().map(tier));
    let tier1 = (case.frames as usize, pinned);
    let lower = (&tier2, tier3.as_ref());
    models::run_tiers_pinned(&case.tier1, tier1, &options, lower, &case.steps, times)
        .expect("a known policy")
}

/// The trace has more pages than are accessed, which a model does not know.
fn with_pages(policy: &str, mut params: Map<String, Json>, pinned: u64) -> Map<String, Json> {
    if policy == "acr-h" {
        params.insert("file_pages".into(), (PAGES - pinned).into());
    }
    params
}

fn accessed(steps: &[Step], mut is_pinned: impl FnMut(u64) -> bool) -> BTreeSet<u64> {
    let accesses = steps.iter().filter(|step| matches!(step, Step::Access(..)));
    accesses.map(Step::page).filter(|&page| is_pinned(page)).collect()
}

fn pins_of(pages: &BTreeSet<u64>) -> Option<Arc<PinnedPages>> {
    let lpns: Vec<u64> = (0..PAGES).collect();
    (!pages.is_empty()).then(|| Arc::new(PinnedPages::of(&lpns, |lpn| pages.contains(&lpn))))
}

/// The accessed ones of some pages, pinned; `None` if there are none.
pub(super) fn of_accessed(
    steps: &[Step],
    is_pinned: impl FnMut(u64) -> bool,
) -> Option<Arc<PinnedPages>> {
    pins_of(&accessed(steps, is_pinned))
}

/// Pages that are pinned in tier 1, of half of the cases.
pub(super) fn above() -> impl Strategy<Value = BTreeSet<u64>> {
    let some = prop::collection::btree_set(0..PAGES, 1..9);
    prop_oneof![Just(BTreeSet::new()), some]
}

/// The case with a frame of tier 1 more for each of these pages that it accesses, and these.
pub(super) fn with_frames_for(case: Case, above: &BTreeSet<u64>) -> (Case, BTreeSet<u64>) {
    let above = accessed(&case.steps, |page| above.contains(&page));
    let frames = case.frames + above.len() as u32;
    (Case { frames, ..case }, above)
}

/// Tier 1 of a case, in which these pages are pinned.
pub(super) fn tier1(case: &Case, above: &BTreeSet<u64>) -> AnyPolicy {
    let (setup, pins) = (setup(&case.tier1, case.frames), pins_of(above));
    pinned::dense(&case.tier1, &setup, PAGES as u32, pins.as_ref()).expect("a policy")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn pinned_pages_stay_in_one_tier_as_in_its_model(
        policy in select(models::NAMES), others in 1..12u32,
        steps in any::<bool>().prop_flat_map(steps),
        pinned in prop::collection::btree_set(0..PAGES, 0..9),
    ) {
        let pinned = accessed(&steps, |page| pinned.contains(&page));
        let frames = others + pinned.len() as u32;
        let trace = Trace::of(&steps);
        let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
        let pins = pins_of(&pinned);
        let tier1 = pinned::dense(policy, &setup(policy, frames), PAGES as u32, pins.as_ref());
        let replayed = trace.replay().run(&mut tier1.expect("a policy"), &mut recorder);
        let replayed = replayed.expect("no stop");
        let params = with_pages(policy, Map::new(), pinned.len() as u64);
        let outcome = models::run_pinned(policy, frames as usize, &params, &steps, &pinned);
        let outcome = outcome.expect("a known policy");
        let decisions = recorder.decisions.iter().zip(&outcome.decisions);
        for (index, (ours, theirs)) in decisions.enumerate() {
            let ours = (ours.hit, &ours.evicted, &ours.flushed);
            prop_assert_eq!(ours, (theirs.hit, &theirs.evicted, &theirs.flushed), "{}", index);
            prop_assert!(theirs.evicted.iter().all(|page| !pinned.contains(page)));
        }
        let hits = replayed.own.by_name().get(PINNED_HITS).copied();
        prop_assert_eq!(hits, pins.map(|_| outcome.pinned_hits));
        prop_assert_eq!(replayed.dirty_left, outcome.dirty.len() as u64);
        let dropped: Vec<bool> = outcome.dropped.iter().copied().flatten().collect();
        prop_assert_eq!(replayed.counters.trims.trim_cache_drops, dropped.len() as u64);
        let dirty = dropped.iter().filter(|&&dirty| dirty).count();
        prop_assert_eq!(replayed.counters.trims.trim_dirty_drops, dirty as u64);
    }

    #[test]
    fn pinned_pages_stay_in_several_tiers_as_in_their_model(
        case in case(), above in above(), gaps in gaps(),
    ) {
        let (case, above) = with_frames_for(Case { flush_at_end: false, ..case }, &above);
        let arrivals_ns = arriving(&gaps, case.steps.len());
        let trace = Trace { arrivals_ns: arrivals_ns.clone(), ..Trace::of(&case.steps) };
        let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
        let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
        let (replay, mut tier1) = (trace.replay(), tier1(&case, &above));
        let replayed = untimed::run(&replay, &mut tier1, lower, &mut recorder).expect("no stop");
        let outcome = model(&case, &above, (&arrivals_ns, None));
        let decisions = recorder.decisions.iter().zip(&outcome.decisions);
        for (index, (ours, theirs)) in decisions.enumerate() {
            prop_assert_eq!(ours, theirs, "access {}", index);
        }
        let tiers = &replayed.counters.tiers;
        let of_model = |counter: &str| outcome.counters.get(counter).copied().unwrap_or(0);
        for (counter, got) in tiers.of_tier2().iter() {
            prop_assert_eq!(got, of_model(counter), "{}", counter);
        }
        for (counter, got) in tiers.of_tier3().iter() {
            prop_assert_eq!(got, of_model(counter), "{}", counter);
        }
        prop_assert_eq!(replayed.dirty_left, outcome.dirty.len() as u64);
        if let Some(pins) = &case.lower.tier2.pins {
            for decision in &recorder.decisions {
                prop_assert!(decision.tier2_evicted.iter().all(|&page| !pins.has(Page(page))));
            }
        }
    }

    #[test]
    fn a_feed_passes_pinned_pages_of_tier_1_over(
        case in between::with_a_feed(), above in above(), gaps in gaps(),
    ) {
        let (case, above) = with_frames_for(Case { flush_at_end: false, ..case }, &above);
        let arrivals_ns = arriving(&gaps, case.steps.len());
        let trace = Trace { arrivals_ns: arrivals_ns.clone(), ..Trace::of(&case.steps) };
        let mut recorder = Recorder { lpns: trace.lpns.clone(), ..Recorder::default() };
        let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
        let (replay, mut tier1) = (trace.replay(), tier1(&case, &above));
        untimed::run(&replay, &mut tier1, lower, &mut recorder).expect("no stop");
        let outcome = model(&case, &above, (&arrivals_ns, None));
        prop_assert_eq!(&recorder.decisions, &outcome.decisions);
        let admitted = recorder.decisions.iter().flat_map(|decision| &decision.admitted);
        prop_assert!(admitted.into_iter().all(|page| !above.contains(page)));
    }
}
