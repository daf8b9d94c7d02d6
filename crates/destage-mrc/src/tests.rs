//! Curves against runs, samples against whole traces.

use super::*;
use destage_engine::run::{RunOptions, run};
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_replay::accesses::{Columns, Extent};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::{Input, NextUses};
use destage_replay::observe::Unobserved;
use destage_replay::warmup::Warmup;
use std::sync::atomic::Ordering::Relaxed;

/// A decoded trace that owns its columns.
#[derive(Default)]
pub(super) struct Owned {
    first_ids: Vec<u32>,
    extents: Vec<u32>,
    lpns: Vec<u64>,
}

impl Owned {
    pub(super) fn input(&self) -> Input<'_> {
        let Owned { first_ids, extents, lpns } = self;
        let columns = Columns { first_ids, extents, lpns };
        Input::of(columns)
    }

    fn request(&mut self, first_id: u32, pages: u32, write: bool) {
        self.first_ids.push(first_id);
        self.extents.push(Extent::new(pages, write, false, false).0);
    }
}

/// Numbers 0..1 from a linear congruential generator (Knuth's constants), high bits only.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Requests of 1 to 4 pages over a hot and a cold part; every page is used at least once.
pub(super) fn mixed(pages: u32, requests: usize, seed: u64) -> Owned {
    let mut next = random(seed);
    let mut trace = Owned { lpns: (0..pages.into()).collect(), ..Owned::default() };
    for _ in 0..requests {
        let reach = if next() < 0.7 { f64::from(pages).sqrt() } else { f64::from(pages) };
        let first = (next() * reach) as u32;
        let length = (1 + (next() * 4.0) as u32).min(pages - first);
        trace.request(first, length, next() < 0.4);
    }
    for page in 0..pages {
        trace.request(page, 1, next() < 0.4);
    }
    trace
}

/// Single pages by Zipf's law with exponent 0.9, ranks scattered over so many pages at most.
pub(super) fn zipf(pages: u32, accesses: usize, seed: u64) -> Owned {
    let mut next = random(seed);
    let mut weights: Vec<f64> = (1..=pages).map(|rank| f64::from(rank).powf(-0.9)).collect();
    let mut sum = 0.0;
    for weight in &mut weights {
        sum += *weight;
        *weight = sum;
    }
    let mut scattered: Vec<u32> = (0..pages).collect();
    for i in (1..pages as usize).rev() {
        scattered.swap(i, (next() * (i + 1) as f64) as usize);
    }
    let mut trace = Owned { lpns: (0..pages.into()).collect(), ..Owned::default() };
    for _ in 0..accesses {
        let at = next() * sum;
        let rank = weights.partition_point(|&weight| weight <= at);
        trace.request(scattered[rank], 1, next() < 0.3);
    }
    // As decoded traces are: no page that nothing uses.
    let mut ids = vec![u32::MAX; pages as usize];
    trace.first_ids.iter().for_each(|&page| ids[page as usize] = 0);
    let used: Vec<u32> = (0..pages).filter(|&page| ids[page as usize] == 0).collect();
    (0..).zip(&used).for_each(|(id, &page)| ids[page as usize] = id);
    trace.first_ids.iter_mut().for_each(|page| *page = ids[*page as usize]);
    trace.lpns = used.into_iter().map(u64::from).collect();
    trace
}

pub(super) fn sizes(frames: impl IntoIterator<Item = u32>) -> Vec<Frames> {
    frames.into_iter().map(|frames| Frames { frames, given: format!("{frames}p") }).collect()
}

pub(super) fn specs(text: &str) -> Vec<PolicySpec> {
    PolicySpec::parse_list(text).expect("policies of the table")
}

pub(super) fn options(run: RunOptions, sampling: Option<Sampling>) -> MrcOptions {
    MrcOptions {
        run,
        page_bytes: 4096,
        every_size: false,
        sampling,
        within: None,
        control: None,
        jobs: 2,
    }
}

pub(super) fn exact(trace: &Owned, policies: &str, sizes: &[Frames], run: RunOptions) -> Mrc {
    mrc(&trace.input(), &specs(policies), sizes, &options(run, None), &Control::default())
        .expect("curves")
}

/// The point equals a separate run at its size.
fn assert_is_a_run(point: &Point, trace: &Owned, policy: &str, options: &RunOptions) {
    let size = &sizes([point.frames])[0];
    let spec = &specs(policy)[0];
    let result = run(&trace.input(), spec, size, options, &Control::default(), &mut Unobserved);
    let counters = result.expect("a run").counters;
    let context = format!("{policy}, {} frames, {options:?}", point.frames);
    assert_eq!(point.accesses, counters.accesses(), "accesses: {context}");
    assert_eq!(point.read_misses, counters.read_misses, "read_misses: {context}");
    assert_eq!(point.write_misses, counters.write_misses, "write_misses: {context}");
    assert_eq!(point.misses, counters.misses(), "misses: {context}");
    assert_eq!(point.physical_reads, counters.physical_reads, "physical_reads: {context}");
    assert_eq!(point.physical_writes, Some(counters.physical_writes), "physical_writes: {context}");
    assert_eq!(point.evictions, counters.evictions, "evictions: {context}");
    assert_eq!(point.cache_bytes, u64::from(point.frames) * 4096);
    assert_eq!(point.sampled, None);
}

pub(super) fn run_options(warmup: Warmup, both: bool) -> RunOptions {
    RunOptions { warmup, fetch_on_write_miss: both, flush_at_end: both, ..RunOptions::default() }
}

#[test]
fn one_pass_of_lru_counts_what_a_run_at_every_size_counts() {
    for (pages, requests, seed) in [(1, 30, 1), (2, 60, 2), (60, 700, 3), (300, 500, 4)] {
        let trace = mixed(pages, requests, seed);
        let all = sizes(1..pages + 3);
        let half = (requests / 2) as u64;
        for warmup in [Warmup::None, Warmup::Requests(half), Warmup::Percent(100.0)] {
            for both in [false, true] {
                let options = run_options(warmup, both);
                let curve = &exact(&trace, "lru", &all, options.clone()).curves[0];
                assert_eq!(curve.method, Method::OnePass);
                let every = curve.every_size.as_ref().expect("one pass tells of every size");
                assert_eq!(every.hits.len(), pages as usize);
                for point in &curve.points {
                    let hits = every.hits[(point.frames.min(pages) - 1) as usize];
                    assert_eq!(every.accesses, point.accesses);
                    assert_eq!(hits, point.accesses - point.misses, "{} frames", point.frames);
                    let at = (point.frames.min(pages) - 1) as usize;
                    assert_eq!(every.physical_reads[at], point.physical_reads);
                    let writes = every.physical_writes.as_ref().expect("LRU tells");
                    assert_eq!(Some(writes[at]), point.physical_writes);
                }
                for point in &curve.points {
                    assert_is_a_run(point, &trace, "lru", &options);
                }
            }
        }
    }
}

#[test]
fn every_size_of_min_hits_what_a_run_at_every_size_hits() {
    for (pages, requests, seed) in [(1, 30, 1), (60, 700, 3), (300, 900, 4)] {
        let trace = mixed(pages, requests, seed);
        let accesses: u32 = trace.extents.iter().map(|&extent| Extent(extent).pages()).sum();
        let next = next_uses(&trace);
        let input = Input { next_uses: NextUses::Long(&next), ..trace.input() };
        let all = sizes((1..pages + 3).step_by(if pages > 100 { 7 } else { 1 }));
        for warmup in [Warmup::None, Warmup::Requests(requests as u64 / 2)] {
            let run = run_options(warmup, false);
            let with = |every_size| {
                let options = MrcOptions { every_size, ..options(run.clone(), None) };
                let control = Control::default();
                let found = mrc(&input, &specs("min,lru"), &all, &options, &control);
                let done = control.accesses_done.load(Relaxed);
                let planned = planned_accesses(accesses.into(), &specs("min,lru"), &all, &options);
                assert_eq!(done, planned);
                found.expect("curves")
            };
            let (every, runs) = (with(true), with(false));
            assert_eq!(every.curves[0].method, Method::OnePass);
            assert_eq!(runs.curves[0].method, Method::Runs);
            assert!(runs.curves[0].every_size.is_none());
            for (every, run) in every.curves[0].points.iter().zip(&runs.curves[0].points) {
                assert_eq!(every, &Point { physical_writes: None, ..run.clone() });
            }
            assert_eq!(every.curves[1], runs.curves[1], "LRU is the same either way");
        }
    }
}

/// The next use of every access.
fn next_uses(trace: &Owned) -> Vec<u64> {
    let pages = trace.first_ids.iter().zip(&trace.extents);
    let ids: Vec<u32> = pages.flat_map(|(&first, &e)| first..first + Extent(e).pages()).collect();
    let mut next = vec![u64::MAX; trace.lpns.len()];
    let mut found = vec![u64::MAX; ids.len()];
    for (at, &id) in ids.iter().enumerate().rev() {
        found[at] = std::mem::replace(&mut next[id as usize], at as u64);
    }
    found
}

#[test]
fn a_warm_up_until_the_cache_is_full_is_run_at_each_size() {
    let trace = mixed(50, 400, 5);
    let options = run_options(Warmup::Full, true);
    let curve = &exact(&trace, "lru", &sizes([1, 7, 50, 51]), options.clone()).curves[0];
    assert_eq!(curve.method, Method::Runs);
    assert!(curve.every_size.is_none(), "it ends elsewhere at each size");
    for point in &curve.points {
        assert_is_a_run(point, &trace, "lru", &options);
    }
}

#[test]
fn curves_of_other_policies_are_runs_in_the_order_given() {
    let trace = mixed(80, 600, 6);
    let options = run_options(Warmup::Percent(10.0), false);
    let policies = "cflru,lru,cflru[window_fraction=1]";
    let found = exact(&trace, policies, &sizes([40, 3, 11]), options.clone());
    assert_eq!(found.sample, None);
    let labels: Vec<_> = found.curves.iter().map(|curve| curve.label.as_str()).collect();
    assert_eq!(labels, ["cflru", "lru", "cflru[window_fraction=1]"]);
    for curve in &found.curves {
        assert_eq!(curve.points.iter().map(|p| p.frames).collect::<Vec<_>>(), [40, 3, 11]);
        for point in &curve.points {
            assert_is_a_run(point, &trace, &curve.label, &options);
        }
    }
    assert_ne!(found.curves[0].points, found.curves[2].points, "the parameter matters");
}

#[test]
fn sizes_that_are_shared_are_told_in_the_order_given_for_any_number_of_threads() {
    let trace = mixed(80, 600, 6);
    let options = run_options(Warmup::Percent(10.0), true);
    let sizes = sizes([40, 3, 11, 80, 1, 2, 60, 25, 7, 90]);
    let policies = "clock,cflru,fifo,sieve";
    let accesses = trace.extents.iter().map(|&extent| u64::from(Extent(extent).pages())).sum();
    let with = |jobs| {
        let options = MrcOptions { jobs, ..self::options(options.clone(), None) };
        let control = Control::default();
        let found = mrc(&trace.input(), &specs(policies), &sizes, &options, &control);
        let planned = planned_accesses(accesses, &specs(policies), &sizes, &options);
        assert_eq!(control.accesses_done.load(Relaxed), planned);
        found.expect("curves")
    };
    let found = with(1);
    for (curve, policy) in found.curves.iter().zip(policies.split(',')) {
        assert_eq!((curve.label.as_str(), curve.method), (policy, Method::Runs));
        for (point, size) in curve.points.iter().zip(&sizes) {
            assert_eq!(point.frames, size.frames);
            assert_is_a_run(point, &trace, policy, &options);
        }
    }
    assert_eq!(found.tasks, 40);
    for jobs in [2, 3, 7, 100] {
        assert_eq!(with(jobs), found);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let trace = zipf(3_000, 60_000, 7);
    let sampling = Some(Sampling::new(0.3, 1).expect("a rate"));
    for sampling in [None, sampling] {
        let with = |jobs| {
            let options = MrcOptions { jobs, ..options(RunOptions::default(), sampling) };
            let sizes = sizes([30, 300, 1_000]);
            mrc(&trace.input(), &specs("lru,cflru"), &sizes, &options, &Control::default())
                .expect("curves")
        };
        assert_eq!(with(1), with(2));
        assert_eq!(with(1), with(5));
    }
}

#[test]
fn a_sample_of_everything_is_exact_and_says_so() {
    let trace = mixed(200, 900, 8);
    let run = run_options(Warmup::Requests(100), true);
    let sizes = sizes([20, 57, 199]);
    let policies = "lru,cflru";
    let everything = Some(Sampling::new(1.0, 3).expect("a rate"));
    let options = options(run.clone(), everything);
    let sampled = mrc(&trace.input(), &specs(policies), &sizes, &options, &Control::default());
    let sampled = sampled.expect("curves");
    let accesses = trace.extents.iter().map(|&extent| u64::from(Extent(extent).pages())).sum();
    let size = SampleSize { rate: 1.0, seed: 3, pages: 200, accesses, groups: GROUPS };
    assert_eq!(sampled.sample, Some(size));
    let exact = exact(&trace, policies, &sizes, run);
    for (sampled, exact) in sampled.curves.iter().zip(&exact.curves) {
        for (sampled, exact) in sampled.points.iter().zip(&exact.points) {
            let behind = sampled.sampled.as_ref().expect("from a sample");
            assert_eq!(behind.frames, f64::from(exact.frames));
            assert_eq!(behind.miss_ratio_error, Some(0.0));
            let ends = ["misses_low", "misses_high"].map(|end| behind.intervals[end]);
            assert_eq!(ends, [exact.misses as f64; 2]);
            assert_eq!(&Point { sampled: None, ..sampled.clone() }, exact);
        }
    }
}

/// The numbers of a point, and whether its intervals hold them.
fn held(sampled: &Point, exact: &Point) -> [bool; 2] {
    let behind = sampled.sampled.as_ref().expect("from a sample");
    let holds = |name: &str, exact: u64| {
        let [low, high] = ["low", "high"].map(|end| behind.intervals[&format!("{name}_{end}")]);
        assert!(low <= high);
        (low..=high).contains(&(exact as f64))
    };
    let written = exact.physical_writes.expect("a run tells");
    [holds("misses", exact.misses), holds("physical_writes", written)]
}

/// 480 intervals of 95 %. If they hold as often as they say, 456 do, and fewer than 432 (90 %)
/// with a probability below one in 10,000 even if the twelve of a seed hold or fail together in
/// pairs; an error that is stated at three quarters of what it is brings them below.
#[test]
fn intervals_hold_as_often_as_they_say_and_no_oftener_than_useful() {
    let trace = zipf(30_000, 200_000, 9);
    let sizes = sizes([6_000, 10_000, 15_000]);
    let exact = exact(&trace, "lru,fifo", &sizes, RunOptions::default());
    let (mut within, mut of, mut widths, mut offs) = (0, 0, 0.0, 0.0);
    for seed in 0..40 {
        let sampling = Some(Sampling::new(0.09, seed).expect("a rate"));
        let options = options(RunOptions::default(), sampling);
        let found = mrc(&trace.input(), &specs("lru,fifo"), &sizes, &options, &Control::default());
        for (curve, exact) in found.expect("curves").curves.iter().zip(&exact.curves) {
            for (sampled, exact) in curve.points.iter().zip(&exact.points) {
                assert_eq!(sampled.accesses, exact.accesses, "accesses are known");
                let holds = held(sampled, exact);
                within += holds.into_iter().map(u32::from).sum::<u32>();
                of += 2;
                let behind = sampled.sampled.as_ref().expect("from a sample");
                widths += behind.intervals["miss_ratio_high"] - behind.intervals["miss_ratio_low"];
                offs += (sampled.miss_ratio - exact.miss_ratio).abs();
            }
        }
    }
    assert_eq!(of, 480);
    assert!(within >= 432, "{within} of {of} intervals hold");
    // Of a normal variable, the interval is 4.9 times as wide as it is off on average.
    assert!(widths < 12.0 * offs, "{widths} wide for {offs} off");
}

/// Every page is used once a round, in another order each time; three uses in ten write. What is
/// written differs between pages that the strata hold for alike.
#[test]
fn intervals_of_what_is_written_hold_where_all_pages_are_used_equally_often() {
    let (mut next, mut trace) = (random(5), Owned::default());
    let mut pages: Vec<u32> = (0..40_000).collect();
    trace.lpns = pages.iter().map(|&page| page.into()).collect();
    for _ in 0..5 {
        for i in (1..pages.len()).rev() {
            pages.swap(i, (next() * (i + 1) as f64) as usize);
        }
        pages.iter().for_each(|&page| trace.request(page, 1, next() < 0.3));
    }
    let sizes = sizes([6_000, 12_000]);
    let exact = exact(&trace, "lru,fifo", &sizes, RunOptions::default());
    let (mut within, mut of) = (0, 0);
    for seed in 0..100 {
        let sampling = Some(Sampling::new(0.09, seed).expect("a rate"));
        let options = options(RunOptions::default(), sampling);
        let found = mrc(&trace.input(), &specs("lru,fifo"), &sizes, &options, &Control::default());
        for (curve, exact) in found.expect("curves").curves.iter().zip(&exact.curves) {
            for (sampled, exact) in curve.points.iter().zip(&exact.points) {
                within += u32::from(held(sampled, exact)[1]);
                of += 1;
            }
        }
    }
    assert!(100 * within >= 93 * of, "{within} of {of} intervals hold");
}

/// A loop over 10,000 pages fits or does not; an eighth of it has 1,250 pages, and an eighth of the
/// frames beside it rounds to as many.
#[test]
fn an_interval_beside_a_step_holds_both_of_its_sides() {
    let mut trace = Owned { lpns: (0..10_000).collect(), ..Owned::default() };
    for access in 0..80_000 {
        trace.request(access % 10_000, 1, access % 3 == 0);
    }
    let sizes = sizes([9_996, 10_000]);
    let exact = exact(&trace, "fifo,lru", &sizes, RunOptions::default());
    let all: Vec<u64> = exact.curves[0].points.iter().map(|point| point.misses).collect();
    assert_eq!(all, [80_000, 10_000]);
    for seed in 0..10 {
        let options = options(RunOptions::default(), Sampling::new(0.125, seed).ok());
        let found = mrc(&trace.input(), &specs("fifo,lru"), &sizes, &options, &Control::default());
        for (curve, exact) in found.expect("curves").curves.iter().zip(&exact.curves) {
            for (sampled, exact) in curve.points.iter().zip(&exact.points) {
                let at = format!("{} at {}, seed {seed}", curve.label, exact.frames);
                assert_eq!(held(sampled, exact), [true, true], "{at}: {sampled:?}");
            }
        }
    }
}

/// Every page is used four times, each time after the same number of other pages: ARC and CAR begin
/// to hit within a few frames, the sample elsewhere than the trace. Its groups agree on the wrong
/// place: without the neighbouring sizes 26 of 48 intervals hold.
#[test]
fn arc_and_car_have_intervals_that_hold_only_where_neighbouring_sizes_agree() {
    let (pages, depth) = (60_000_u32, 12_000);
    let mut trace = Owned { lpns: (0..pages.into()).collect(), ..Owned::default() };
    for at in 0..pages + 3 * depth {
        let used = (0..4).filter_map(|k: u32| at.checked_sub(k * depth));
        used.filter(|&page| page < pages).for_each(|page| trace.request(page, 1, page % 3 == 0));
    }
    let sizes = sizes([12_000, 12_100, 12_300, 12_600]);
    let exact = exact(&trace, "arc,car", &sizes, RunOptions::default());
    let (mut within, mut of) = (0, [0; 4]);
    for seed in 0..6 {
        let options = options(RunOptions::default(), Sampling::new(0.2, seed).ok());
        let found = mrc(&trace.input(), &specs("arc,car"), &sizes, &options, &Control::default());
        for (curve, exact) in found.expect("curves").curves.iter().zip(&exact.curves) {
            for (k, (sampled, exact)) in curve.points.iter().zip(&exact.points).enumerate() {
                let behind = sampled.sampled.as_ref().expect("from a sample");
                assert_eq!(behind.intervals.is_empty(), behind.miss_ratio_error.is_none());
                if !behind.intervals.is_empty() {
                    of[k] += 1;
                    within += u32::from(held(sampled, exact)[0]);
                }
            }
        }
    }
    let all: u32 = of.iter().sum();
    assert!(10 * within >= 9 * all, "{within} of {all} intervals hold");
    assert_eq!(of[0], 0, "at the turn the sizes disagree");
    assert!(of[1] >= 9 && of[3] >= 9, "{of:?} of 12 have intervals beside it");
}

#[test]
fn what_policies_are_apart_on_one_sample_is_surer_than_both_ends() {
    let trace = zipf(30_000, 200_000, 9);
    let sizes = sizes([6_000, 15_000]);
    let exact = exact(&trace, "lru,lru-wsr,sieve", &sizes, RunOptions::default());
    let (mut within, mut narrower) = (0, 0);
    for seed in 0..20 {
        let sampling = Some(Sampling::new(0.09, seed).expect("a rate"));
        let options = options(RunOptions::default(), sampling);
        let policies = specs("lru,lru-wsr,sieve");
        let found = mrc(&trace.input(), &policies, &sizes, &options, &Control::default());
        let found = found.expect("curves");
        let groups = found.differences.expect("of a sample").groups;
        for (k, group) in groups.iter().enumerate() {
            // Points are numbered curve by curve: lru, lru-wsr and sieve at this size.
            assert_eq!(group.runs, [k, 2 + k, 4 + k]);
            let hits = &group.metrics["hit_ratio"];
            assert_eq!(hits[1..], [None, None], "of sieve no interval is known");
            let [low, high] = hits[0].expect("of both policies it is");
            let [lru, wsr] = [0, 1].map(|curve| exact.curves[curve].points[k].miss_ratio);
            within += u32::from((low..=high).contains(&(lru - wsr)));
            let width = |curve: usize| {
                let behind = found.curves[curve].points[k].sampled.as_ref().expect("sampled");
                behind.intervals["miss_ratio_high"] - behind.intervals["miss_ratio_low"]
            };
            narrower += u32::from(high - low < width(0) + width(1));
        }
    }
    assert!(within >= 36, "{within} of 40 differences hold");
    assert!(narrower >= 36, "{narrower} of 40 are narrower than both ends together");
}

#[test]
fn an_offline_policy_gets_the_next_uses_of_its_sample() {
    let trace = zipf(2_000, 40_000, 10);
    let sampling = Some(Sampling::new(0.5, 1).expect("a rate"));
    let options = options(RunOptions::default(), sampling);
    let sizes = sizes([100, 400]);
    let found = mrc(&trace.input(), &specs("min,lru"), &sizes, &options, &Control::default());
    let curves = found.expect("curves").curves;
    for (min, lru) in curves[0].points.iter().zip(&curves[1].points) {
        assert!(min.misses < lru.misses, "{} against {}", min.misses, lru.misses);
    }
}

#[test]
fn no_interval_is_given_where_none_has_been_shown_to_hold() {
    let trace = zipf(20_000, 20_000, 11);
    let with = |policies: &str, run: RunOptions| {
        let sampling = Some(Sampling::new(0.0625, 1).expect("a rate"));
        let (specs, sizes) = (specs(policies), sizes([20, 8_191, 8_192, 15_000]));
        let options = options(run, sampling);
        let found = mrc(&trace.input(), &specs, &sizes, &options, &Control::default());
        let known = |point: &Point| {
            let behind = point.sampled.as_ref().expect("from a sample");
            assert_eq!(behind.miss_ratio_error.is_some(), !behind.intervals.is_empty());
            !behind.intervals.is_empty()
        };
        let curves = found.expect("curves").curves;
        let each = curves.iter().map(|curve| curve.points.iter().map(known).collect());
        each.collect::<Vec<Vec<bool>>>()
    };
    let known = with("lru,fifo,arc,sieve", RunOptions::default());
    let (enough, never) = ([false, false, true, true], [false; 4]);
    assert_eq!(known, [enough, enough, never, never], "512, 2,048 of arc, none of sieve");
    // Each group begins to count elsewhere.
    assert_eq!(with("lru", run_options(Warmup::Full, false)), [never]);
}

#[test]
fn it_stops_when_it_is_told_to_and_counts_what_it_has_done() {
    let trace = mixed(500, 4_000, 13);
    let accesses: u64 = trace.extents.iter().map(|&extent| u64::from(Extent(extent).pages())).sum();
    let options = options(RunOptions::default(), None);
    let (specs, sizes) = (specs("lru,cflru"), sizes([10, 50, 100]));
    let control = Control::default();
    mrc(&trace.input(), &specs, &sizes, &options, &control).expect("curves");
    let planned = planned_accesses(accesses, &specs, &sizes, &options);
    assert_eq!(planned, 4 * accesses, "one pass of LRU, three runs of CFLRU");
    assert_eq!(control.accesses_done.load(Relaxed), planned);

    control.stop.store(true, Relaxed);
    let stopped = mrc(&trace.input(), &specs, &sizes, &options, &control);
    assert!(matches!(stopped, Err(RunError::Interrupted)), "{stopped:?}");
    let sampling = Some(Sampling::new(0.9, 0).expect("a rate"));
    let options = MrcOptions { sampling, ..options };
    let stopped = mrc(&trace.input(), &specs, &sizes, &options, &control);
    assert!(matches!(stopped, Err(RunError::Interrupted)), "{stopped:?}");
}

#[test]
fn a_trace_without_accesses_and_a_call_without_sizes_give_curves_without_counts() {
    let empty = Owned::default();
    let found = exact(&empty, "lru,cflru", &sizes([3]), RunOptions::default());
    for curve in &found.curves {
        assert_eq!((curve.points[0].accesses, curve.points[0].miss_ratio), (0, 0.0));
    }
    assert_eq!(found.warnings[1], "cflru at 3p: nothing was counted after the warm-up");
    let trace = mixed(30, 100, 14);
    let found = exact(&trace, "lru,cflru", &[], RunOptions::default());
    assert!(found.curves.iter().all(|curve| curve.points.is_empty()));
}
