//! Workload pictures against slow and obvious definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use destage_profile::profile::{
    Counted, Distribution, FrequencyCell, ProfileOptions, TraceProfile,
};
use destage_synth::Workload;
use destage_trace::{
    DeviceTable, Extent, Record, RecordOp, Result, Trace, TraceError,
    decode::{DecodeOptions, NoHooks, RecordSource},
    decode_records,
};
use proptest::prelude::*;
use serde_json::json;

fn synthetic(description: serde_json::Value) -> Arc<Trace> {
    let workload: Workload = serde_json::from_value(description).expect("a good description");
    let mut source = workload.source().expect("a good workload");
    decode_records(&mut source, "made", &DecodeOptions::default(), &mut NoHooks).expect("decodes")
}

fn profile(trace: &Trace, options: &ProfileOptions) -> TraceProfile {
    TraceProfile::of(trace, options, &mut NoHooks).expect("looks")
}

/// Page accesses: LPN, and whether it is a write.
fn accesses(trace: &Trace) -> Vec<(u64, bool)> {
    let rows = trace.first_ids().iter().zip(trace.pages_ops());
    rows.flat_map(|(first, ops)| {
        let extent = Extent(*ops);
        (*first..first + extent.pages()).map(move |id| (id, extent.is_write()))
    })
    .map(|(id, write)| (trace.lpns()[id as usize], write))
    .collect()
}

/// The profile's numbers, by definition: every sequence in full.
struct Naive {
    references: Vec<u64>,
    pages_per_block: u64,
    pird: BTreeMap<u64, Vec<u64>>,
    bird: BTreeMap<u64, Vec<u64>>,
}

impl Naive {
    fn new(trace: &Trace, options: &ProfileOptions) -> Self {
        let all = options.counted == Counted::All;
        let counted = accesses(trace).into_iter().filter(|(_, write)| all || *write);
        let references: Vec<u64> = counted.map(|(lpn, _)| lpn).collect();
        let pages_per_block = u64::from(options.pages_per_block);
        let (mut pird, mut bird) = (BTreeMap::new(), BTreeMap::new());
        for (at, &page) in references.iter().enumerate() {
            let before = &references[..at];
            let distances: &mut Vec<u64> = pird.entry(page).or_default();
            if let Some(last) = before.iter().rposition(|p| *p == page) {
                distances.push((at - last - 1) as u64);
            }
            let block = page / pages_per_block;
            let distances: &mut Vec<u64> = bird.entry(block).or_default();
            if let Some(last) = before.iter().rposition(|p| p / pages_per_block == block)
                && before[last] != page
            {
                distances.push((at - last - 1) as u64);
            }
        }
        Naive { references, pages_per_block, pird, bird }
    }

    fn block_distance(&self, at: usize) -> Option<u64> {
        let block = self.references[at] / self.pages_per_block;
        let last = self.references[..at].iter().rposition(|p| p / self.pages_per_block == block)?;
        Some((at - last - 1) as u64)
    }
}

fn mean(distances: &[u64]) -> f64 {
    distances.iter().sum::<u64>() as f64 / distances.len() as f64
}

fn deviation(distances: &[u64]) -> f64 {
    let mean = mean(distances);
    let squares = distances.iter().map(|d| (*d as f64 - mean).powi(2));
    (squares.sum::<f64>() / distances.len() as f64).sqrt()
}

/// The inflection point to the letter of the specification.
fn knee(cover: &[i64]) -> (u32, u64) {
    let depth = |p: i64| {
        let y = |p: i64| cover[p as usize - 1];
        (y(100) - y(1)) * (p - 1) - (y(p) - y(1)) * 99
    };
    let largest = (1..=100).map(depth).max().expect("there are a hundred");
    let p = (1..=100).rev().find(|p| depth(*p) == largest).expect("one has it");
    (p as u32, cover[p as usize - 1] as u64)
}

fn same_distribution(found: &Distribution, sequences: &BTreeMap<u64, Vec<u64>>) {
    let mut all: Vec<u64> = sequences.values().flatten().copied().collect();
    all.sort_unstable();
    let n = all.len();
    assert_eq!(found.samples, n as u64);
    for (from, to, count) in &found.buckets {
        assert_eq!(*count, all.iter().filter(|d| (from..to).contains(d)).count() as u64);
    }
    assert_eq!(found.buckets.iter().map(|b| b.2).sum::<u64>(), n as u64);
    if n == 0 {
        assert!(found.cover.is_empty() && found.inflection.is_none());
        return;
    }
    let cover: Vec<u64> = (1..=100).map(|p| all[(p * n).div_ceil(100) - 1]).collect();
    assert_eq!(found.cover, cover);
    let signed: Vec<i64> = cover.iter().map(|y| *y as i64).collect();
    let inflection = found.inflection.expect("there are distances");
    assert_eq!((inflection.percent, inflection.threshold), knee(&signed));
}

fn same_as_naive(trace: &Trace, options: &ProfileOptions) {
    let found = profile(trace, options);
    let naive = Naive::new(trace, options);
    let n = naive.references.len();
    assert_eq!(found.references, n as u64);
    assert_eq!((found.pages, found.blocks), (naive.pird.len() as u64, naive.bird.len() as u64));
    same_distribution(&found.pird, &naive.pird);
    same_distribution(&found.bird, &naive.bird);

    for (found, sequences) in
        [(&found.pird_deviations, &naive.pird), (&found.bird_deviations, &naive.bird)]
    {
        let long: Vec<f64> =
            sequences.values().filter(|s| s.len() > 1).map(|s| deviation(s)).collect();
        assert_eq!(found.sequences, long.len() as u64);
        assert_eq!(found.too_short, sequences.values().filter(|s| s.len() == 1).count() as u64);
        assert_eq!(found.buckets.iter().map(|b| b.2).sum::<u64>(), found.sequences);
        for (from, to, count) in &found.buckets {
            // The sums of squares are of other roundings: a bound may go either way.
            let air = 1e-6 * (*to as f64);
            let within = |air: f64| {
                let inside = (*from as f64 - air)..(*to as f64 + air);
                long.iter().filter(|d| inside.contains(d)).count() as u64
            };
            assert!((within(-air)..=within(air)).contains(count), "{from}..{to}: {count}");
        }
    }

    same_heat(&found, &naive, options, n);
    same_ranks(&found, &naive);

    let mut cells = BTreeMap::new();
    for (page, distances) in naive.pird.iter().filter(|(_, d)| !d.is_empty()) {
        let references = naive.references.iter().filter(|p| *p == page).count() as u64;
        let mean = distances.iter().sum::<u64>() / distances.len() as u64;
        let holds = |c: &&FrequencyCell| {
            (c.references_from..c.references_to).contains(&references)
                && (c.pird_from..c.pird_to).contains(&mean)
        };
        let at = found.frequency.iter().position(|c| holds(&c)).expect("a cell holds it");
        *cells.entry(at).or_insert(0) += 1;
    }
    let counts: Vec<u64> = found.frequency.iter().map(|c| c.pages).collect();
    assert_eq!(counts, cells.into_values().collect::<Vec<u64>>());
}

fn same_heat(found: &TraceProfile, naive: &Naive, options: &ProfileOptions, n: usize) {
    let blocks: Vec<u64> = naive.bird.keys().copied().collect();
    let rows = blocks.len().min(options.rows as usize);
    let mut cells: BTreeMap<(u32, u32), Vec<Option<u64>>> = BTreeMap::new();
    for (at, page) in naive.references.iter().enumerate() {
        let rank = blocks.binary_search(&(page / naive.pages_per_block)).expect("it is one");
        let place =
            ((at * options.epochs as usize / n) as u32, (rank * rows / blocks.len()) as u32);
        cells.entry(place).or_default().push(naive.block_distance(at));
    }
    assert_eq!(found.heat.rows.len(), rows);
    let bounds: Vec<u64> = found.heat.rows.iter().flat_map(|r| [r.0, r.1]).collect();
    assert!(bounds.is_sorted());
    assert_eq!(found.heat.cells.len(), cells.len());
    for (cell, ((epoch, row), distances)) in found.heat.cells.iter().zip(&cells) {
        assert_eq!((cell.epoch, cell.row), (*epoch, *row));
        assert_eq!(cell.references, distances.len() as u64);
        let known: Vec<u64> = distances.iter().flatten().copied().collect();
        assert_eq!(cell.mean_distance, (!known.is_empty()).then(|| mean(&known)));
    }
}

fn same_ranks(found: &TraceProfile, naive: &Naive) {
    let count = |page: u64| naive.references.iter().filter(|p| **p == page).count();
    let mut by_frequency: Vec<u64> = naive.pird.keys().copied().collect();
    let mut by_distance = by_frequency.clone();
    by_frequency.sort_by_key(|page| std::cmp::Reverse(count(*page)));
    let heat = |page: u64| match naive.pird[&page].as_slice() {
        [] => f64::INFINITY,
        distances => mean(distances),
    };
    by_distance.sort_by(|a, b| heat(*a).total_cmp(&heat(*b)).then(count(*b).cmp(&count(*a))));
    let blocks = |pages: &[u64]| {
        pages.iter().map(|page| page / naive.pages_per_block).collect::<BTreeSet<_>>().len() as u64
    };
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    by_frequency.iter().for_each(|p| *sizes.entry(p / naive.pages_per_block).or_default() += 1);
    let mut sizes: Vec<usize> = sizes.into_values().collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(found.ranked.last().map_or(0, |p| p.pages), by_distance.len() as u64);
    for point in &found.ranked {
        let pages = point.pages as usize;
        assert_eq!(point.blocks_by_distance, blocks(&by_distance[..pages]));
        assert_eq!(point.blocks_by_frequency, blocks(&by_frequency[..pages]));
        let enough = (1..=sizes.len()).find(|k| sizes[..*k].iter().sum::<usize>() >= pages);
        assert_eq!(Some(point.blocks_at_least as usize), enough);
    }
}

#[test]
fn the_distances_are_those_of_the_papers_example() {
    // BPAC 4.3: page 10 has a PIRD of 7, page 13 of 0; block 0 (pages 0 to 63) has BIRDs of 0, 0,
    // 0, 0 and 2, block 1 of 0 and 1.
    let trace = of_pages(&[10, 13, 13, 4, 5, 8, 70, 75, 10, 64]);
    let found = profile(&trace, &ProfileOptions::default());
    assert_eq!(found.pird.buckets, [(0, 1, 1), (7, 8, 1)]);
    assert_eq!(found.bird.buckets, [(0, 1, 5), (1, 2, 1), (2, 3, 1)]);
    same_as_naive(&trace, &ProfileOptions::default());
}

/// Writes to these pages, one a request.
struct Writes<'a>(&'a [u64], DeviceTable);

impl RecordSource for Writes<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        batch.extend(self.0.iter().map(|page| Record {
            time_ns: 0,
            offset_bytes: page * 4096,
            length_bytes: 4096,
            device: 0,
            op: RecordOp::Write,
            ..Record::EMPTY
        }));
        Ok(false)
    }

    fn devices(&self) -> &DeviceTable {
        &self.1
    }

    fn summary(&self) -> serde_json::Value {
        json!(null)
    }
}

fn of_pages(pages: &[u64]) -> Arc<Trace> {
    let mut devices = DeviceTable::new();
    devices.index(b"d");
    let mut source = Writes(pages, devices);
    decode_records(&mut source, "given", &DecodeOptions::default(), &mut NoHooks).expect("decodes")
}

#[test]
fn every_kind_of_workload_looks_as_by_definition() {
    for kind in ["uniform", "zipf", "oltp", "loop", "scan", "sequential"] {
        let trace = synthetic(json!({
            "kind": kind, "requests": 1500, "pages": 600, "read_ratio": 0.4, "size": "1-5",
        }));
        for counted in [Counted::Writes, Counted::All] {
            let options = ProfileOptions {
                counted,
                pages_per_block: 16,
                epochs: 7,
                rows: 11,
                ..ProfileOptions::default()
            };
            same_as_naive(&trace, &options);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn any_workload_looks_as_by_definition(
        requests in 1u32..400,
        pages in 1u32..300,
        seed in 0u64..1000,
        pages_per_block in 1u32..70,
        epochs in 1u32..30,
        rows in 1u32..30,
        all in any::<bool>(),
    ) {
        let trace = synthetic(json!({
            "kind": "zipf", "requests": requests, "pages": pages + 8, "read_ratio": 0.3,
            "size": "1:60,2:20,8:20", "seed": seed,
        }));
        let counted = if all { Counted::All } else { Counted::Writes };
        let options =
            ProfileOptions { counted, pages_per_block, epochs, rows, ..ProfileOptions::default() };
        same_as_naive(&trace, &options);
    }
}

#[test]
fn periods_hold_the_reads_of_their_requests() {
    let trace = synthetic(json!({
        "kind": "uniform", "requests": 1050, "pages": 64, "read_ratio": 0.5, "size": "3",
    }));
    let options = ProfileOptions { period_requests: 100, ..ProfileOptions::default() };
    let found = profile(&trace, &options);
    let reads: Vec<bool> = trace.pages_ops().iter().map(|ops| !Extent(*ops).is_write()).collect();
    let want: Vec<(u64, u64)> = reads
        .chunks(100)
        .map(|some| (some.len() as u64, some.iter().filter(|read| **read).count() as u64))
        .collect();
    assert_eq!(found.read_ratio, want);
    assert_eq!(found.read_ratio.len(), 11);
}

#[test]
fn the_hottest_blocks_hold_hot_warm_cold_and_untouched_pages() {
    // Block 2: a page written 9 times, one 4 times, one once; block 0: a page twice.
    let mut pages = vec![2 * 8; 9];
    pages.extend([2 * 8 + 3; 4]);
    pages.extend([2 * 8 + 7, 0, 0]);
    let trace = of_pages(&pages);
    let options = ProfileOptions {
        pages_per_block: 8,
        hot_accesses: 5,
        cold_accesses: 3,
        hottest_blocks: 2,
        ..ProfileOptions::default()
    };
    let found = profile(&trace, &options).hottest;
    let lists: Vec<_> =
        found.iter().map(|b| (b.block, b.accesses, b.hot, b.warm, b.cold, b.untouched)).collect();
    assert_eq!(lists, [(2, 14, 1, 1, 1, 5), (0, 2, 0, 0, 1, 7)]);
}

#[test]
fn a_trace_that_only_reads_has_no_references_unless_all_count() {
    let trace = synthetic(json!({
        "kind": "uniform", "requests": 300, "pages": 64, "read_ratio": 1.0,
    }));
    let found = profile(&trace, &ProfileOptions::default());
    assert_eq!((found.references, found.pages, found.blocks), (0, 0, 0));
    assert!(found.heat.cells.is_empty() && found.ranked.is_empty() && found.pird.cover.is_empty());
    assert_eq!(found.read_ratio, [(300, 300)]);
    let all = ProfileOptions { counted: Counted::All, ..ProfileOptions::default() };
    assert_eq!(profile(&trace, &all).references, 300);
}

#[test]
fn what_cannot_be_looked_for_is_refused_by_its_name() {
    let trace = of_pages(&[1]);
    let usual = ProfileOptions::default;
    for (options, said) in [
        (
            ProfileOptions { pages_per_block: 0, ..usual() },
            "pages_per_block: expected 1..1048576, found 0",
        ),
        (ProfileOptions { epochs: 2001, ..usual() }, "epochs: expected 1..2000, found 2001"),
        (
            ProfileOptions { period_requests: 0, ..usual() },
            "period_requests: expected 1 or more, found 0",
        ),
        (
            ProfileOptions { hot_accesses: 5, cold_accesses: 7, ..usual() },
            "cold_accesses: expected at most 6, found 7: a page accessed 6 times would be hot and \
             cold",
        ),
    ] {
        let error = TraceProfile::of(&trace, &options, &mut NoHooks).expect_err("refused");
        assert!(matches!(error, TraceError::Usage { .. }));
        assert_eq!(error.to_string(), said);
    }
}
