//! Rules that no conformance vector reaches, each worked out by hand from the specification.
//!
//! Found by changing one rule at a time in the reference models and running the vectors: these were
//! the changes that went unnoticed.

use destage_reference::{Decision, Op, model};
use serde_json::{Value, json};

/// The decision of the last access of `trace` (such as `r1 w2`), and the lists after it.
fn last(policy: &str, frames: usize, params: Value, trace: &str) -> (Decision, String) {
    let trace: Vec<(Op, u64)> = trace
        .split_whitespace()
        .map(|access| {
            let (op, page) = access.split_at(1);
            (if op == "w" { Op::Write } else { Op::Read }, page.parse().expect("a page"))
        })
        .collect();
    let params = params.as_object().expect("parameters are an object");
    let mut model = model(policy, frames, params, &trace).expect("a known policy");
    let decisions: Vec<Decision> = trace.iter().map(|&(op, page)| model.access(op, page)).collect();
    (decisions.last().expect("a trace with accesses").clone(), model.lists())
}

/// 3.6: `|B2| / |B1|` is a real division, and p is not rounded.
#[test]
fn arc_target_moves_by_three_halves_when_b2_holds_three_pages_and_b1_two() {
    // T1[10] T2[7 6 5 4] B1[9 8] B2[3 2 1] p=0 before the last access; T1 is then within p.
    let trace = "r1 r2 r3 r4 r5 r1 r2 r3 r4 r5 r6 r6 r7 r7 r8 r9 r10 r8";
    let (_, lists) = last("arc", 5, json!({}), trace);
    assert_eq!(lists, "T1[10] T2[8 7 6 5] B1[9] B2[4 3 2 1] p=1.5");
}

/// 3.4, open point 4.
#[test]
fn lru_k_correlation_term_of_an_unused_slot_stays_0() {
    let params = json!({"k": 3, "correlated_period": 2});
    let (_, lists) = last("lru-k", 4, params, "r1 r1 r2 r3 r1");
    assert_eq!(lists, "resident[1(5,2,0) 2(3,0,0) 3(4,0,0)]");
}

/// 3.4: `t - LAST <= RIP`.
#[test]
fn lru_k_history_lasts_for_the_retained_period_and_not_longer() {
    let (_, lists) = last("lru-k", 1, json!({"retained_period": 2}), "r1 r2 r1");
    assert_eq!(lists, "resident[1(3,1)]");
    let (_, lists) = last("lru-k", 1, json!({"retained_period": 2}), "r1 r2 r3 r1");
    assert_eq!(lists, "resident[1(4,0)]");
}

/// 3.15: "ties: the smaller timestamp, then the smaller cluster number".
#[test]
fn cfdc_clusters_alike_in_priority_and_timestamp_go_by_number() {
    // #1{6} gets its timestamp by the hit on page 5, #0{1} by the demotion that follows.
    let params = json!({"priority_fraction": 0.67, "cluster_size": 4});
    let (_, lists) = last("cfdc", 3, params.clone(), "w5 w6 w1 r5");
    assert_eq!(lists, "working[5] clean[] clusters[#0{1}@2 #1{6}@2] globaltime=3");
    let (decision, lists) = last("cfdc", 3, params, "w5 w6 w1 r5 w9");
    assert_eq!(decision.evicted, [1]);
    assert_eq!(lists, "working[9] clean[] clusters[#1{6 5}@2] globaltime=4");
}

/// 3.19: counts have four bits.
#[test]
fn w_tinylfu_counts_stop_at_15() {
    let trace = "r1 ".repeat(20);
    let (_, lists) = last("w-tinylfu", 4, json!({}), &trace);
    assert_eq!(lists, "window[1] probation[] protected[] counts[1:15]");
}

/// 3.19: v is the LRU page of `protected` if `probation` is empty.
#[test]
fn w_tinylfu_candidate_meets_a_protected_page_when_probation_is_empty() {
    let params = json!({"window_fraction": 0.5, "protected_fraction": 1});
    let (decision, lists) = last("w-tinylfu", 2, params, "r1 r2 r1 r2 r2 r2 r3");
    assert_eq!(decision.evicted, [1]);
    assert_eq!(lists, "window[3] probation[2] protected[] counts[1:2 2:4 3:1]");
}
