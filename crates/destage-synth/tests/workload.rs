//! Workloads against what their descriptions promise, within statistical bounds, and against
//! themselves.

use destage_synth::{Arrivals, KINDS, PARAMETERS, PRESETS, Workload, WorkloadKind};
use destage_trace::{Record, RecordOp, decode::RecordSource};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

fn workload(description: Value) -> Workload {
    serde_json::from_value(description).expect("a good description")
}

fn records(workload: &Workload) -> Vec<Record> {
    let mut source = workload.source().expect("a good workload");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch).expect("synthetic records do not fail");
        all.append(&mut batch);
        if !more {
            return all;
        }
    }
}

fn pages(w: &Workload) -> Vec<u64> {
    records(w).iter().map(|r| r.offset_bytes / w.page_bytes).collect()
}

/// Whether `count` successes of `trials` agree with a probability: within 4.5 standard deviations,
/// which chance exceeds once in 150,000 times.
fn agrees(count: u64, trials: u64, probability: f64) -> bool {
    let deviation = (trials as f64 * probability * (1.0 - probability)).sqrt();
    (count as f64 - trials as f64 * probability).abs() <= 4.5 * deviation
}

#[test]
fn acr_traces_have_the_figures_of_table_ii() {
    // Requests, pages, bytes, reads, share of the requests to share of the pages.
    let table: [(&str, f64, f64, f64); 4] = [
        ("t1", 0.9, 0.6, 0.4),
        ("t2", 0.8, 0.5, 0.5),
        ("t3", 0.6, 0.6, 0.4),
        ("t4", 0.8, 0.8, 0.2),
    ];
    assert_eq!(PRESETS.iter().map(|p| p.name).collect::<Vec<_>>(), table.map(|t| t.0));
    for (name, reads, accesses, share) in table {
        let w = workload(json!({ "preset": name }));
        assert_eq!((w.requests, w.pages, w.page_bytes), (3_000_000, 32_768, 2048));
        let all = records(&w);
        assert_eq!(all.len(), 3_000_000);
        assert!(all.iter().all(|r| r.length_bytes == 2048 && r.offset_bytes < 64 << 20));
        let read = all.iter().filter(|r| r.op == RecordOp::Read).count() as u64;
        assert!(agrees(read, 3_000_000, reads), "{name}: {read} reads");
        let hot_bytes = (share * 32_768.0).round() as u64 * 2048;
        let hot = all.iter().filter(|r| r.offset_bytes < hot_bytes).count() as u64;
        assert!(agrees(hot, 3_000_000, accesses), "{name}: {hot} to the hot pages");
        // Each half is asked for alike: no page gets much more than its part.
        let mut counts = vec![0u32; 32_768];
        for record in &all {
            counts[(record.offset_bytes / 2048) as usize] += 1;
        }
        let hot_pages = (hot_bytes / 2048) as usize;
        for (part, probability) in
            [(&counts[..hot_pages], accesses), (&counts[hot_pages..], 1.0 - accesses)]
        {
            let mean = 3_000_000.0 * probability / part.len() as f64;
            let chi: f64 = part.iter().map(|c| (f64::from(*c) - mean).powi(2) / mean).sum();
            let freedom = part.len() as f64 - 1.0;
            assert!(
                (chi - freedom).abs() < 4.5 * (2.0 * freedom).sqrt(),
                "{name}: {chi} of {freedom}"
            );
        }
    }
}

#[test]
fn zipf_ranks_come_as_often_as_theory_says() {
    for alpha in [0.0, 0.5, 0.99, 1.0, 1.5] {
        let n = 1000;
        let w = workload(json!({
            "kind": "zipf", "requests": 400_000, "pages": n, "alpha": alpha, "permuted": false,
        }));
        let mut counts = vec![0u64; n];
        for page in pages(&w) {
            counts[page as usize] += 1;
        }
        let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-alpha)).collect();
        let total: f64 = weights.iter().sum();
        for rank in [1usize, 2, 3, 10, 100, 500] {
            let probability = weights[rank - 1] / total;
            assert!(agrees(counts[rank - 1], 400_000, probability), "alpha {alpha}, rank {rank}");
        }
        // All ranks at once: Pearson's statistic over cells of at least five expected.
        let mut cells: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        for (count, weight) in counts.iter().zip(&weights) {
            if cells.last().is_some_and(|c| c.1 >= 5.0) {
                cells.push((0.0, 0.0));
            }
            let cell = cells.last_mut().expect("one cell at least");
            cell.0 += *count as f64;
            cell.1 += 400_000.0 * weight / total;
        }
        let cells: Vec<_> = cells.into_iter().filter(|c| c.1 >= 5.0).collect();
        let chi: f64 = cells.iter().map(|(got, want)| (got - want).powi(2) / want).sum();
        let freedom = cells.len() as f64 - 1.0;
        assert!(
            (chi - freedom).abs() < 4.5 * (2.0 * freedom).sqrt(),
            "alpha {alpha}: {chi} of {freedom}"
        );
    }
}

#[test]
fn permuting_moves_the_popular_pages_and_nothing_else() {
    let base = json!({ "kind": "zipf", "requests": 50_000, "pages": 500, "permuted": false });
    let mut moved = base.clone();
    moved["permuted"] = json!(true);
    let popularity = |w: &Workload| {
        let mut counts = vec![0u32; 500];
        for page in pages(w) {
            counts[page as usize] += 1;
        }
        let first = counts[0];
        counts.sort_unstable();
        (first, counts)
    };
    let (in_order, moved) = (popularity(&workload(base)), popularity(&workload(moved)));
    assert_eq!(in_order.0, *in_order.1.last().expect("pages"));
    assert_ne!(moved.0, in_order.0);
    // The most popular page takes about as much of either.
    assert!(agrees(u64::from(moved.1[499]), 50_000, f64::from(in_order.1[499]) / 50_000.0));
}

#[test]
fn uniform_and_normal_pages_lie_where_they_should() {
    let w = workload(json!({ "kind": "uniform", "requests": 100_000, "pages": 10 }));
    let mut counts = [0u64; 10];
    pages(&w).iter().for_each(|p| counts[*p as usize] += 1);
    assert!(counts.iter().all(|c| agrees(*c, 100_000, 0.1)), "{counts:?}");

    let w = workload(json!({
        "kind": "normal", "requests": 100_000, "pages": 100_000, "mean": 0.4, "deviation": 0.05,
    }));
    let all = pages(&w);
    let within = |deviations: f64| {
        let reach = deviations * 5000.0;
        all.iter().filter(|p| (**p as f64 + 0.5 - 40_000.0).abs() <= reach).count() as u64
    };
    assert!(agrees(within(1.0), 100_000, 0.682_689));
    assert!(agrees(within(2.0), 100_000, 0.954_500));
}

#[test]
fn sequential_pages_follow_each_other_until_a_jump() {
    let w = workload(json!({ "kind": "sequential", "requests": 25, "pages": 10, "size": "2" }));
    assert_eq!(pages(&w), (0..25).map(|k| k % 5 * 2).collect::<Vec<_>>());
    let w = workload(json!({
        "kind": "sequential", "requests": 100_000, "pages": 1_000_000_000, "run_requests": 20,
    }));
    let jumps = pages(&w).windows(2).filter(|p| p[1] != p[0] + 1).count() as u64;
    assert!(agrees(jumps, 99_999, 0.05), "{jumps}");
}

#[test]
fn a_loop_comes_round_in_its_length() {
    let w = workload(json!({ "kind": "loop", "requests": 1000, "pages": 500, "loop_pages": 7 }));
    assert!(pages(&w).into_iter().eq((0..1000).map(|k| k % 7)));
}

#[test]
fn a_scan_walks_past_the_hot_set() {
    let w = workload(json!({
        "kind": "scan", "requests": 100_000, "pages": 1000, "access_share": 0.6, "page_share": 0.25,
    }));
    let all = pages(&w);
    let hot = all.iter().filter(|p| **p < 250).count() as u64;
    assert!(agrees(hot, 100_000, 0.6), "{hot}");
    let scan: Vec<u64> = all.into_iter().filter(|p| *p >= 250).collect();
    assert!(scan.iter().enumerate().all(|(k, page)| *page == 250 + k as u64 % 750));
}

#[test]
fn bursts_come_in_on_periods_by_default() {
    let w = workload(json!({ "kind": "bursts", "requests": 100_000 }));
    assert_eq!(w.arrivals, Arrivals::OnOff);
    let times: Vec<u64> = records(&w).iter().map(|r| r.time_ns).collect();
    let gaps: Vec<u64> = times.windows(2).map(|t| t[1] - t[0]).collect();
    // A gap of 1 ms on average within a burst, about 1,000 silences of 0.9 s.
    let silences = gaps.iter().filter(|g| **g > 20_000_000).count();
    assert!((800..1150).contains(&silences), "{silences}");
    assert_eq!(times[0], 0);
}

#[test]
fn an_oltp_log_is_written_in_order_and_the_ratio_holds_over_all() {
    let w = workload(json!({
        "kind": "oltp", "requests": 200_000, "pages": 10_000, "read_ratio": 0.6, "log_share": 0.2,
        "log_page_share": 0.1, "size": "1:50,4:50",
    }));
    let all = records(&w);
    let reads = all.iter().filter(|r| r.op == RecordOp::Read).count() as u64;
    assert!(agrees(reads, 200_000, 0.6), "{reads}");
    let log_from = 9000 * 4096;
    let log: Vec<&Record> = all.iter().filter(|r| r.offset_bytes >= log_from).collect();
    assert!(agrees(log.len() as u64, 200_000, 0.2), "{}", log.len());
    assert!(log.iter().all(|r| r.op == RecordOp::Write));
    let on = |a: &Record, b: &Record| {
        let end = a.offset_bytes + a.length_bytes;
        b.offset_bytes == end
            || (b.offset_bytes == log_from && end + b.length_bytes > 10_000 * 4096)
    };
    assert!(log.windows(2).all(|pair| on(pair[0], pair[1])));
    let long = all.iter().filter(|r| r.length_bytes == 4 * 4096).count() as u64;
    assert!(agrees(long, 200_000, 0.5), "{long}");
    assert!(
        all.iter()
            .all(|r| r.offset_bytes >= log_from || r.offset_bytes + r.length_bytes <= log_from)
    );
}

/// Every kind with its defaults, small.
fn small(kind: &str) -> Workload {
    workload(json!({ "kind": kind, "requests": 20_000, "pages": 5000, "seed": 42 }))
}

fn fingerprint(w: &Workload) -> u64 {
    let mut bytes = Vec::new();
    for r in records(w) {
        for number in
            [r.time_ns, r.offset_bytes, r.length_bytes, u64::from(r.op == RecordOp::Write)]
        {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    xxh3_64(&bytes)
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let golden: Map<String, Value> =
        serde_json::from_str(include_str!("synth_golden.json")).expect("JSON");
    let mut got = Map::new();
    for (name, ..) in KINDS {
        let w = small(name);
        let hash = fingerprint(&w);
        assert_eq!(hash, fingerprint(&w), "{name}");
        assert_ne!(hash, fingerprint(&Workload { seed: 43, ..w }), "{name}");
        got.insert(name.to_string(), json!(format!("{hash:016x}")));
    }
    assert_eq!(
        got, golden,
        "synthetic traces changed: results made from them are no longer comparable"
    );
}

#[test]
fn requests_stay_inside_the_footprint_whatever_the_kind_and_size() {
    for (name, ..) in KINDS {
        for size in ["1", "1-7", "~5", "1:1,40:1"] {
            let mut w = workload(json!({ "kind": name, "requests": 3000, "pages": 97 }));
            w.set("size", &json!(size)).expect("a good size");
            let all = records(&w);
            assert_eq!(all.len(), 3000);
            assert!(
                all.iter().all(|r| r.offset_bytes + r.length_bytes <= 97 * 4096),
                "{name} {size}"
            );
            assert!(all.windows(2).all(|r| r[0].time_ns <= r[1].time_ns));
        }
    }
}

#[test]
fn the_arrival_process_does_not_change_the_pages() {
    let poisson = small("zipf");
    let constant = Workload { arrivals: Arrivals::Constant, ..poisson.clone() };
    assert_eq!(pages(&poisson), pages(&constant));
}

#[test]
fn a_description_comes_back_as_it_was_written() {
    for (name, kind, _) in KINDS {
        let w = Workload::new(*kind);
        let map = w.to_map();
        assert_eq!(map["kind"], json!(name));
        assert_eq!(Workload::from_map(&map).expect("its own map"), w);
    }
}

#[test]
fn wrong_descriptions_are_refused_with_what_would_be_right() {
    let error = |description: Value| {
        serde_json::from_value::<Workload>(description).expect_err("refused").to_string()
    };
    for (description, part) in [
        (json!({}), "either kind or preset"),
        (json!({ "kind": "zipf", "preset": "t1" }), "either kind or preset"),
        (json!({ "kind": "zipff" }), "did you mean zipf?"),
        (json!({ "preset": "t9" }), "did you mean t"),
        (json!({ "kind": "zipf", "alpa": 1 }), "did you mean alpha?"),
        (json!({ "kind": "uniform", "alpha": 1 }), "it belongs to zipf, bursts, oltp"),
        (json!({ "kind": "zipf", "requests": 0 }), "requests: expected a whole number from 1"),
        (json!({ "kind": "zipf", "requests": -3 }), "found -3"),
        (json!({ "kind": "zipf", "read_ratio": 1.5 }), "read_ratio: expected a number from 0 to 1"),
        (json!({ "kind": "zipf", "alpha": "much" }), "found \"much\""),
        (json!({ "kind": "zipf", "size": "8-1" }), "size: expected a length"),
        (json!({ "kind": "zipf", "arrivals": "often" }), "poisson, constant, onoff"),
        (json!({ "kind": "uniform", "pages": 4, "size": 8 }), "do not fit"),
        (json!({ "kind": "loop", "pages": 4, "loop_pages": 5 }), "loop_pages"),
        (json!({ "kind": "oltp", "read_ratio": 0.9 }), "at most 0.85 can be reads"),
        (json!({ "kind": "uniform", "pages": 1u64 << 40, "page_bytes": 1 << 30 }), "past 2^62"),
        (json!({ "kind": "zipf", "on_ns": 1000 }), "found arrivals = poisson"),
        (json!({ "preset": "t1", "off_ns": 0 }), "only arrivals = onoff has"),
        (json!({ "kind": "zipf", "permuted": false, "cluster_pages": 8 }), "permuted = true"),
    ] {
        let message = error(description.clone());
        assert!(message.contains(part), "{description}: {message}");
    }
}

#[test]
fn every_parameter_is_described_and_belongs_to_a_kind() {
    for parameter in PARAMETERS {
        let key = &parameter.key;
        assert!(!key.about.is_empty() && !key.source.is_empty());
        assert!(KINDS.iter().any(|k| key.applies_to(k.0)), "{}", key.name);
    }
    for kind in [WorkloadKind::Zipf, WorkloadKind::Oltp] {
        let keys = PARAMETERS.iter().map(|p| p.key).filter(|key| key.applies_to(kind.name()));
        let keys: Vec<&str> = keys.map(|key| key.name).collect();
        let mut once = keys.clone();
        once.dedup();
        assert_eq!(keys, once, "one default a kind");
    }
}
