//! Trace information against slow and obvious definitions.

use std::collections::{BTreeMap, BTreeSet};

use destage_profile::info::TraceInfo;
use destage_synth::Workload;
use destage_trace::{
    Extent, Trace,
    decode::{DecodeOptions, NoHooks},
    decode_records,
};
use serde_json::json;

fn trace(description: serde_json::Value) -> std::sync::Arc<Trace> {
    let workload: Workload = serde_json::from_value(description).expect("a good description");
    let mut source = workload.source().expect("a good workload");
    decode_records(&mut source, "made", &DecodeOptions::default(), &mut NoHooks).expect("decodes")
}

fn info(trace: &Trace) -> TraceInfo {
    TraceInfo::of(trace, &mut NoHooks).expect("looks")
}

fn ids(trace: &Trace) -> Vec<u32> {
    let rows = trace.first_ids().iter().zip(trace.pages_ops());
    rows.flat_map(|(first, ops)| *first..first + Extent(*ops).pages()).collect()
}

#[test]
fn the_rereference_profile_is_that_of_an_lru_list() {
    let trace = trace(json!({ "kind": "oltp", "requests": 3000, "pages": 700, "read_ratio": 0.5 }));
    let info = info(&trace);
    let (mut list, mut histogram, mut counts) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for id in ids(&trace) {
        *counts.entry(id).or_insert(0u64) += 1;
        if let Some(at) = list.iter().rev().position(|x| *x == id) {
            *histogram.entry((at as u64 + 1).next_power_of_two()).or_insert(0u64) += 1;
            list.remove(list.len() - 1 - at);
        }
        list.push(id);
    }
    let got: BTreeMap<u64, u64> =
        info.rereference.distance_histogram.iter().copied().filter(|b| b.1 > 0).collect();
    assert_eq!(got, histogram);
    assert_eq!(info.rereference.repeated_accesses, histogram.values().sum::<u64>());
    assert_eq!(info.rereference.once_pages, counts.values().filter(|c| **c == 1).count() as u64);
    let mut by_count: Vec<u64> = counts.into_values().collect();
    by_count.sort_unstable_by(|a, b| b.cmp(a));
    for (share, taken) in &info.rereference.hottest {
        let top = (share * by_count.len() as f64).ceil() as usize;
        let want = by_count[..top].iter().sum::<u64>() as f64 / trace.accesses() as f64;
        assert_eq!(*taken, want);
    }
}

#[test]
fn counts_sizes_and_times_are_those_of_the_requests() {
    let trace = trace(json!({
        "kind": "uniform", "requests": 10_000, "pages": 1000, "size": "1:50,3:50",
        "arrivals": "constant", "gap_ns": 2_000_000,
    }));
    let info = info(&trace);
    assert_eq!(info.counts.requests, 10_000);
    assert_eq!(info.duration_ns, 9_999 * 2_000_000);
    assert!((info.mean_rate_per_s - 500.05).abs() < 0.01);
    let gaps = info.interarrival.expect("it has times");
    assert_eq!((gaps.count, gaps.min_ns, gaps.max_ns), (9_999, 2_000_000, 2_000_000));
    assert_eq!(gaps.mean_ns, 2e6);
    assert!(info.response.is_none());
    let all = &info.sizes.all;
    assert_eq!((all.min_bytes, all.max_bytes), (4096, 3 * 4096));
    assert_eq!(all.histogram.iter().map(|b| b.0).collect::<Vec<_>>(), [4096, 8192]);
    assert_eq!(all.histogram.iter().map(|b| b.1).sum::<u64>(), 10_000);
    assert_eq!(all.mean_bytes * 10_000.0, trace.accesses() as f64 * 4096.0);
    assert_eq!(info.sizes.reads.count + info.sizes.writes.count, 10_000);
    let unique: BTreeSet<u32> = ids(&trace).into_iter().collect();
    assert_eq!(info.counts.unique_pages, unique.len() as u64);
    assert!(info.span_pages <= 1000);
}

#[test]
fn a_walk_is_sequential_and_a_random_one_is_not() {
    let walk = info(&trace(json!({ "kind": "sequential", "requests": 1000, "pages": 1_000_000 })));
    assert_eq!(walk.sequentiality.with_previous, 0.999);
    assert_eq!(walk.sequentiality.with_any_stream, 0.999);
    let random = info(&trace(json!({ "kind": "uniform", "requests": 1000, "pages": 10_000_000 })));
    assert!(random.sequentiality.with_any_stream < 0.01);
    // A scan between hot accesses: seldom after the previous request, always in a stream.
    let mixed = info(&trace(json!({
        "kind": "scan", "requests": 20_000, "pages": 1_000_000,
        "access_share": 0.5, "page_share": 0.2,
    })));
    assert!((mixed.sequentiality.with_previous - 0.25).abs() < 0.02);
    assert!((mixed.sequentiality.with_any_stream - 0.5).abs() < 0.02);
}

#[test]
fn skew_is_found_again() {
    for alpha in [0.8, 1.0, 1.2] {
        let info = info(&trace(json!({
            "kind": "zipf", "requests": 500_000, "pages": 2000, "alpha": alpha,
        })));
        assert!(
            (info.rereference.zipf_skew - alpha).abs() < 0.02,
            "{}",
            info.rereference.zipf_skew
        );
    }
}

#[test]
fn information_is_data() {
    let info = info(&trace(json!({ "kind": "oltp", "requests": 1000, "pages": 500 })));
    let text = serde_json::to_string(&info).expect("becomes JSON");
    let back: TraceInfo = serde_json::from_str(&text).expect("comes back");
    assert_eq!(back.counts, info.counts);
    assert_eq!(back.rereference.distance_histogram, info.rereference.distance_histogram);
}
