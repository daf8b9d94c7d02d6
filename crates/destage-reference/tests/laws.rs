//! Laws that tie the twins to each other, on random traces: the "Checks" of the specification's
//! sections and the properties at the end of its section 4.

use std::collections::BTreeSet;

use destage_reference::{ADMISSION, Decision, NAMES, Op, Twin, run, twin};
use serde_json::{Map, Value, json};

type Params = Map<String, Value>;
type Trace = Vec<(Op, u64)>;

/// Marsaglia's xorshift64: the same traces on every machine.
struct Random(u64);

impl Random {
    /// A number below `bound`; the slight bias is of no interest here.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Number of frames and a trace: hot pages, cold pages, short loops and runs of one page.
fn case(seed: u64, writes_percent: u64) -> (usize, Trace) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed << 1));
    for _ in 0..8 {
        random.below(2); // seeds that differ in few bits start alike
    }
    let frames = 1 + random.below(14);
    let hot = 1 + random.below(frames + 2);
    let all = hot + 1 + random.below(4 * frames);
    let mut trace = Trace::new();
    while trace.len() < 250 {
        let (start, length, step) = match random.below(10) {
            0 => (random.below(all), 1 + random.below(frames + 3), 1), // a loop or scan
            1 => (random.below(all), 1 + random.below(3), 0),          // a burst
            2..=6 => (random.below(hot), 1, 0),
            _ => (random.below(all), 1, 0),
        };
        for i in 0..length {
            let op = if random.below(100) < writes_percent { Op::Write } else { Op::Read };
            trace.push((op, (start + i * step) % all));
        }
    }
    (usize::try_from(frames).expect("few frames"), trace)
}

/// Sixty cases with writes between none and all.
fn cases() -> impl Iterator<Item = (usize, Trace)> {
    (0..60).map(|seed| case(seed, (seed % 6) * 20))
}

fn read_only_cases() -> impl Iterator<Item = (usize, Trace)> {
    (0..60).map(|seed| case(seed, 0))
}

fn params(value: Value) -> Params {
    value.as_object().expect("parameters are an object").clone()
}

fn decisions(policy: &str, frames: usize, params: &Params, trace: &Trace) -> Vec<Decision> {
    run(policy, frames, params, trace).expect("a known policy").decisions
}

#[track_caller]
fn decides_as(policy: &str, with: Value, other: &str, cases: impl Iterator<Item = (usize, Trace)>) {
    let with = params(with);
    for (frames, trace) in cases {
        let ours = decisions(policy, frames, &with, &trace);
        let theirs = decisions(other, frames, &Params::new(), &trace);
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(
                ours,
                theirs,
                "{policy} and {other}, {frames} frames, access {index} of {:?}",
                &trace[..=index]
            );
        }
    }
}

#[test]
fn lru_k_with_k_1_is_lru() {
    decides_as("lru-k", json!({"k": 1}), "lru", cases());
}

#[test]
fn two_q_of_one_queue_without_ghosts_is_fifo() {
    decides_as("2q", json!({"in_fraction": 1, "out_fraction": 0}), "fifo", cases());
}

#[test]
fn mq_of_one_queue_is_lru() {
    decides_as("mq", json!({"queues": 1}), "lru", cases());
}

#[test]
fn dual_queue_without_a_first_queue_is_clock() {
    decides_as("dual-queue", json!({"first_fraction": 0}), "clock", cases());
}

#[test]
fn cflru_without_a_window_is_lru() {
    decides_as("cflru", json!({"window_fraction": 0}), "lru", cases());
}

#[test]
fn cfdc_without_a_priority_region_is_lru() {
    decides_as("cfdc", json!({"priority_fraction": 0}), "lru", cases());
}

#[test]
fn lru_wsr_on_reads_is_lru() {
    decides_as("lru-wsr", json!({}), "lru", read_only_cases());
}

#[test]
fn cflru_on_reads_is_lru_with_any_window() {
    for window in [0.1, 0.5, 1.0] {
        decides_as("cflru", json!({"window_fraction": window}), "lru", read_only_cases());
    }
}

#[test]
fn casa_of_one_kind_of_access_is_lru() {
    decides_as("casa", json!({}), "lru", read_only_cases());
    decides_as("casa", json!({}), "lru", (0..60).map(|seed| case(seed, 100)));
}

#[test]
fn watt_that_remembers_one_access_in_epochs_of_one_is_lru() {
    let params = json!({
        "access_slots": 1,
        "first_value": 1,
        "write_cost": 0,
        "epoch_fraction": 0,
        "epoch_on_hits": true,
        "sample": null,
    });
    decides_as("watt", params, "lru", cases());
}

#[test]
fn clock_sweep_of_one_use_is_clock() {
    decides_as("clock-sweep", json!({"max_usage": 1, "initial_usage": 0}), "clock", cases());
}

#[test]
fn slru_of_one_segment_or_without_protection_is_lru() {
    decides_as("slru", json!({"segments": 1}), "lru", cases());
    decides_as("slru", json!({"protected_fraction": 0}), "lru", cases());
}

#[test]
fn lecar_that_cannot_learn_is_the_expert_that_it_starts_with() {
    decides_as("lecar", json!({"history_fraction": 0, "initial_weight": 1}), "lru", cases());
    decides_as("lecar", json!({"history_fraction": 0, "initial_weight": 0}), "lfu", cases());
}

/// `docs/spec/further-policies.md`, 2.1 and 6: a page is resident after its access if and only if
/// it hit or was admitted; a miss evicts one page if it is admitted to a full cache and none
/// otherwise; what is not admitted is written through if it is a write.
#[test]
fn larc_keeps_what_it_admits_and_writes_through_what_it_does_not() {
    let cases_of = |params: Params| cases().map(move |case| (params.clone(), case));
    for (params, (frames, trace)) in parameter_sets("larc").into_iter().flat_map(cases_of) {
        let mut twin = twin("larc", frames, &params, &trace).expect("a known policy");
        let mut resident = BTreeSet::new();
        let mut dirty = BTreeSet::new();
        for &(op, page) in &trace {
            let decision = twin.access(op, page);
            let lists = twin.lists();
            assert_eq!(decision.hit, resident.contains(&page), "hit iff resident: {lists}");

            let mut flushed = Vec::new();
            if q(&lists).contains(&page) {
                let victims = usize::from(!decision.hit && resident.len() == frames);
                assert_eq!(decision.evicted.len(), victims, "one victim per full miss: {lists}");
                for victim in &decision.evicted {
                    assert!(resident.remove(victim), "a victim was resident: {lists}");
                    flushed.extend(dirty.remove(victim).then(|| vec![*victim]));
                }
                resident.insert(page);
                dirty.extend((op == Op::Write).then_some(page));
            } else {
                assert!(decision.evicted.is_empty(), "nothing leaves for a page refused: {lists}");
                flushed.extend((op == Op::Write).then(|| vec![page]));
            }
            assert_eq!(decision.flushed, flushed, "{lists}");
            assert_eq!(q(&lists), resident, "Q holds the resident pages");
            assert!(twin.dirty_pages().iter().eq(&dirty), "dirty pages: {lists}");
        }
    }
}

/// The pages of LARC's Q.
fn q(lists: &str) -> BTreeSet<u64> {
    let (q, _) = lists["Q[".len()..].split_once(']').expect("the end of a list");
    q.split_whitespace().map(|page| page.parse().expect("a page")).collect()
}

/// Section 1: what is not flash-aware decides alike when every write is replaced by a read.
#[test]
fn policies_that_are_not_flash_aware_do_not_look_at_the_operation() {
    let flash_aware = [
        "cflru", "lru-wsr", "ccf-lru", "ad-lru", "cfdc", "acr-c", "acr-o", "acr-h", "casa", "watt",
    ];
    for (frames, trace) in cases() {
        let reads: Trace = trace.iter().map(|&(_, page)| (Op::Read, page)).collect();
        for policy in NAMES.iter().filter(|policy| !flash_aware.contains(policy)) {
            let mixed = decisions(policy, frames, &Params::new(), &trace);
            let reads = decisions(policy, frames, &Params::new(), &reads);
            let pairs = mixed.iter().zip(&reads);
            for (index, (mixed, read)) in pairs.enumerate() {
                assert_eq!(
                    (mixed.hit, &mixed.evicted),
                    (read.hit, &read.evicted),
                    "{policy} {index}"
                );
            }
        }
    }
}

#[test]
fn larger_lru_keeps_all_hits_of_a_smaller_one() {
    for (frames, trace) in cases() {
        let small = decisions("lru", frames, &Params::new(), &trace);
        let large = decisions("lru", frames + 1, &Params::new(), &trace);
        assert!(small.iter().zip(&large).all(|(small, large)| !small.hit || large.hit));
    }
}

/// Parameter sets with the corners in: no ghosts, windows of everything or nothing.
fn parameter_sets(policy: &str) -> Vec<Params> {
    let sets = sets_of_page_policies(policy).into_iter().chain(sets_of_further_policies(policy));
    sets.chain([json!({})]).map(params).collect()
}

/// Of those in `docs/spec/page-policies.md`.
fn sets_of_page_policies(policy: &str) -> Vec<Value> {
    match policy {
        "lru-k" => vec![
            json!({"k": 3, "correlated_period": 2}),
            json!({"k": 16, "correlated_period": 1000, "retained_period": 0}),
        ],
        "2q" => vec![
            json!({"in_fraction": 0, "out_fraction": 2}),
            json!({"in_fraction": 1, "out_fraction": 1}),
        ],
        "lirs" => vec![
            json!({"hir_fraction": 0.3, "ghost_max": 3}),
            json!({"hir_fraction": 0.5, "ghost_max": 0}),
            json!({"hir_fraction": 1}),
        ],
        "mq" => vec![
            json!({"queues": 3, "life_time": 2, "out_fraction": 0}),
            json!({"queues": 64, "life_time": 1}),
        ],
        "dual-queue" => vec![json!({"first_fraction": 0}), json!({"first_fraction": 1})],
        "cflru" => vec![json!({"window_fraction": 0}), json!({"window_fraction": 1})],
        "ad-lru" => vec![json!({"min_lc_fraction": 0}), json!({"min_lc_fraction": 1})],
        "cfdc" => vec![
            json!({"priority_fraction": 1, "cluster_size": 1}),
            json!({"priority_fraction": 0.7, "cluster_size": 3}),
            json!({"priority_fraction": 0}),
        ],
        "acr-c" | "acr-o" | "acr-h" => vec![
            json!({"cost_write": 2, "ghost_fraction": 2, "window_fraction": 0}),
            json!({"cost_read": 25, "cost_write": 200, "ghost_fraction": 0}),
            json!({"cost_write": 1, "window_fraction": 16}),
        ],
        "s3-fifo" => vec![
            json!({"small_fraction": 0, "ghost_fraction": 0}),
            json!({"small_fraction": 1}),
            json!({"small_fraction": 0.5, "ghost_fraction": 2}),
        ],
        "w-tinylfu" => vec![
            json!({"window_fraction": 1}),
            json!({"window_fraction": 0.5, "protected_fraction": 0, "sample_factor": 1}),
            json!({"window_fraction": 0, "protected_fraction": 1}),
        ],
        _ => vec![],
    }
}

/// Of those in `docs/spec/further-policies.md`.
fn sets_of_further_policies(policy: &str) -> Vec<Value> {
    match policy {
        "casa" => vec![
            json!({"cost_write": 1, "tau_fraction": 0}),
            json!({"cost_read": 4294967295_u64, "tau_fraction": 1}),
        ],
        "watt" => vec![
            json!({"sample": null, "epoch_fraction": 1, "write_as_read": false}),
            json!({"sample": 1, "access_slots": 1, "write_slots": 1, "epoch_on_hits": true}),
        ],
        "larc" => vec![
            json!({"admit_while_filling": true}),
            json!({"admit_writes": true}),
            json!({"admit_while_filling": true, "admit_writes": true}),
        ],
        "clock-sweep" => vec![json!({"max_usage": 255}), json!({"initial_usage": 0})],
        "slru" => vec![
            json!({"segments": 16, "protected_fraction": 1}),
            json!({"segments": 2, "protected_fraction": 0.8}),
        ],
        "hyperbolic" => vec![json!({"sample": 2}), json!({"sample": null})],
        "lecar" => vec![
            json!({"learning_rate": 100, "discount": 1, "history_fraction": 16}),
            json!({"discount": 0, "keep_frequency": false, "history_fraction": 0.3}),
        ],
        "random" => vec![json!({"seed": 0})],
        "clock-pro" => vec![
            json!({"cold_min_fraction": 1, "ghost_fraction": 0}),
            json!({"cold_max_fraction": 0.5, "ghost_fraction": 2}),
            json!({"cold_min_fraction": 0.3, "ghost_fraction": 0.2}),
        ],
        _ => vec![],
    }
}

/// Calls `check` for every policy, parameter set and case.
fn for_everything(mut check: impl FnMut(&str, &Params, usize, &Trace)) {
    for policy in NAMES {
        for params in parameter_sets(policy) {
            for (frames, trace) in cases() {
                check(policy, &params, frames, &trace);
            }
        }
    }
}

#[test]
fn no_policy_has_fewer_misses_than_min() {
    let fewest: Vec<usize> = cases()
        .map(|(frames, trace)| {
            let min = decisions("min", frames, &Params::new(), &trace);
            min.iter().filter(|decision| !decision.hit).count()
        })
        .collect();
    let mut fewest = fewest.iter().cycle();
    for_everything(|policy, params, frames, trace| {
        let ours = decisions(policy, frames, params, trace);
        let misses = ours.iter().filter(|decision| !decision.hit).count();
        let fewest = *fewest.next().expect("a cycle has no end");
        if ADMISSION.contains(&policy) {
            return; // MIN admits every page, and may miss more for it
        }
        assert!(misses >= fewest, "{policy} {params:?}: {misses} misses, MIN {fewest}");
    });
}

/// Keeps its own books of what is resident and dirty, and holds every decision against them.
#[test]
fn every_decision_follows_the_common_model() {
    for_everything(|policy, params, frames, trace| {
        if ADMISSION.contains(&policy) {
            return; // has a law of its own
        }
        let mut twin: Box<dyn Twin> = twin(policy, frames, params, trace).expect("a known policy");
        let mut resident = BTreeSet::new();
        let mut dirty = BTreeSet::new();
        for (index, &(op, page)) in trace.iter().enumerate() {
            let decision = twin.access(op, page);
            let at =
                || format!("{policy} {params:?}, {frames} frames, access {index} of {trace:?}");

            assert_eq!(decision.hit, resident.contains(&page), "hit iff resident: {}", at());
            let victims = usize::from(!decision.hit && resident.len() == frames);
            assert_eq!(decision.evicted.len(), victims, "one victim per full miss: {}", at());
            let mut flushed = Vec::new();
            for victim in &decision.evicted {
                assert!(resident.remove(victim), "a victim was resident: {}", at());
                if dirty.remove(victim) {
                    flushed.push(vec![*victim]);
                }
            }
            assert_eq!(decision.flushed, flushed, "flushed iff dirty: {}", at());

            resident.insert(page);
            if op == Op::Write {
                dirty.insert(page);
            }
            assert!(resident.len() <= frames, "never over capacity: {}", at());
            assert!(twin.dirty_pages().iter().eq(&dirty), "dirty pages: {}", at());
        }
    });
}

#[test]
fn options_change_counters_and_never_decisions() {
    for policy in NAMES {
        for (frames, trace) in cases() {
            let plain = run(policy, frames, &Params::new(), &trace).expect("a known policy");
            let options = params(json!({"fetch_on_write_miss": true, "flush_at_end": true}));
            let with = run(policy, frames, &options, &trace).expect("a known policy");

            assert_eq!(plain.decisions, with.decisions, "{policy}");
            let (before, after) = (&plain.counters, &with.counters);
            assert_eq!(
                after["physical_reads"],
                before["physical_reads"] + before["write_misses"],
                "{policy}"
            );
            assert_eq!(
                after["physical_writes"],
                before["physical_writes"] + after["end_flushes"],
                "{policy}"
            );
            assert_eq!((before["end_flushes"], before["evictions"]), (0, after["evictions"]));
            let accesses: u64 = ["read_hits", "read_misses", "write_hits", "write_misses"]
                .iter()
                .map(|counter| after[counter])
                .sum();
            assert_eq!(accesses, trace.len() as u64, "{policy}");
        }
    }
}

/// Section 3.16, invariants: clean pages are on one side, dirty ones on the other, and the ghosts
/// keep to their share.
#[test]
fn acr_lists_hold_their_invariants() {
    for policy in ["acr-c", "acr-o", "acr-h"] {
        for (frames, trace) in cases() {
            let mut twin = twin(policy, frames, &Params::new(), &trace).expect("a known policy");
            for &(op, page) in &trace {
                twin.access(op, page);
                let lists = twin.lists();
                let list = |name: &str| -> Vec<u64> {
                    let (_, rest) = lists.split_once(&format!("{name}[")).expect("a list");
                    let (pages, _) = rest.split_once(']').expect("the end of a list");
                    pages.split_whitespace().map(|page| page.parse().expect("a page")).collect()
                };
                let mut dirty = [list("L_DT"), list("L_DB")].concat();
                dirty.sort_unstable();
                assert_eq!(dirty, twin.dirty_pages(), "{lists}");
                let ghosts = [list("L_CH"), list("L_DH")].concat();
                assert!(ghosts.len() <= frames.div_ceil(2), "{lists}");
                let all = [list("L_CT"), list("L_CB"), dirty, ghosts].concat();
                let distinct: BTreeSet<u64> = all.iter().copied().collect();
                assert_eq!(distinct.len(), all.len(), "{lists}");
                let deltas =
                    format!("delta_C={} delta_D={}", list("L_CB").len(), list("L_DB").len());
                assert!(lists.ends_with(&deltas), "{lists}");
            }
        }
    }
}

#[test]
fn unknown_policy_has_no_twin() {
    assert!(twin("lru-2", 4, &Params::new(), &[]).is_none());
    assert!(run("lru-2", 4, &Params::new(), &[]).is_none());
}

#[test]
#[should_panic(expected = "lru has no parameter window")]
fn unknown_parameter_is_named() {
    let _ = twin("lru", 4, &params(json!({"window": 1})), &[]);
}
