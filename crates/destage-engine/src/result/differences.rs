//! Differences between the runs of a comparison, with intervals: what a tie is, is not a matter of
//! a fixed per cent.

use super::draws::{BLOCK, DRAWS, Draws, Interval, LEVEL, SEED, interval, rounded};
use super::metrics::METRICS;
use super::phases::{block, widened};
use super::run::RunResult;
use destage_replay::timed::Timing;
use destage_replay::windows::{FlashWindows, KvWindows, WINDOWS, Windows};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Every pair of runs at the same cache size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Differences {
    /// How the intervals were made.
    pub method: String,
    /// Share of the draws that an interval holds.
    pub level: f64,
    /// One for each cache size with two runs or more, in the order of the runs.
    pub groups: Vec<Group>,
}

/// Runs at one cache size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Frames of the cache.
    pub frames: u32,
    /// The size as it was given.
    pub cache: String,
    /// Numbers of the runs in the result set, from 0; one without a cache is in several groups.
    pub runs: Vec<usize>,
    /// Independent parts of the trace: windows over the length of a block, the least of the pairs'
    /// hit ratios and mean responses; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// By metric, for each pair of `runs` in the order (0, 1), (0, 2), .., (1, 2), ..: the interval
    /// of the second's value less the first's; `None` where one of them has none.
    pub metrics: BTreeMap<String, Vec<Option<Interval>>>,
}

impl Differences {
    /// Of these runs; `None` if no two of them can be compared.
    pub fn of(runs: &[RunResult]) -> Option<Self> {
        let known = || runs.iter().enumerate().filter(|(_, run)| run.windows.is_some());
        // Windows of other parts of the trace are no pairs.
        let part = |run: &RunResult| run.measured.map(|m| (m.first_request, m.last_request));
        let mut sizes: Vec<(&RunResult, Vec<usize>)> = Vec::new();
        // Only runs without a cache, on several devices, are one group.
        let bare = known().all(|(_, run)| run.config.has_no_cache());
        for (number, run) in known().filter(|(_, run)| bare || !run.config.has_no_cache()) {
            let same = |first: &RunResult| {
                first.config.frames == run.config.frames
                    && first.config.cache == run.config.cache
                    && part(first) == part(run)
            };
            match sizes.iter_mut().find(|(first, _)| same(first)) {
                Some((_, numbers)) => numbers.push(number),
                None => sizes.push((run, vec![number])),
            }
        }
        // The one run without a cache is compared at every size.
        for (first, numbers) in sizes.iter_mut().filter(|_| !bare) {
            let without = |run: &RunResult| run.config.has_no_cache() && part(run) == part(first);
            numbers.extend(known().filter(|(_, run)| without(run)).map(|(number, _)| number));
            numbers.sort_unstable();
        }
        sizes.retain(|(_, numbers)| numbers.len() > 1);
        if sizes.is_empty() {
            return None;
        }
        let draws = [Draws::of_runs(), Draws::without_each()];
        let groups = sizes.into_iter().map(|(first, numbers)| {
            let (metrics, parts) = compared(&draws, runs, &numbers);
            Group {
                frames: first.config.frames,
                cache: first.config.cache.clone(),
                runs: numbers,
                parts: Some(parts),
                metrics,
            }
        });
        Some(Differences {
            method: format!(
                "circular block bootstrap of the runs' {WINDOWS} windows, in blocks of {BLOCK} or \
                 as many as the autocorrelation asks for, the same windows of both runs; {DRAWS} \
                 draws, seed {SEED}; few blocks: Student's t"
            ),
            level: LEVEL,
            groups: groups.collect(),
        })
    }
}

/// Intervals of every pair and metric, and the independent parts of the trace.
fn compared(
    [draws, each]: &[Draws; 2],
    runs: &[RunResult],
    numbers: &[usize],
) -> (BTreeMap<String, Vec<Option<Interval>>>, usize) {
    let of = |draws| numbers.iter().map(|&n| values(draws, &runs[n])).collect::<Vec<Drawn>>();
    let (drawn, without) = (of(draws), of(each));
    let names: BTreeSet<&str> = drawn.iter().flat_map(|values| values.keys().copied()).collect();
    let mut parts = WINDOWS / BLOCK;
    let mut pairs = |name: &str| {
        let minus = |values: &[Drawn], a: usize, b: usize| -> Option<Vec<f64>> {
            let (a, b) = values[a].get(name).zip(values[b].get(name))?;
            Some(b.iter().zip(a).map(|(b, a)| b - a).collect())
        };
        let mut intervals = Vec::new();
        for first in 0..numbers.len() {
            for second in first + 1..numbers.len() {
                let drawn = minus(&drawn, first, second);
                let series = minus(&without, first, second);
                let (found, blocks) = drawn.zip(series).map_or((None, None), between);
                if PARTS_OF.contains(&name) {
                    parts = parts.min(blocks.unwrap_or(parts));
                }
                intervals.push(found);
            }
        }
        intervals
    };
    let metrics = names.into_iter().map(|name| (name.to_string(), pairs(name))).collect();
    (metrics, parts)
}

/// Metrics whose differences say how many independent parts a trace has.
const PARTS_OF: [&str; 3] = ["hit_ratio", "token_hit_ratio", "response_ns_mean"];

/// The interval of a difference, from its draws and from all windows but each; and the blocks that
/// its windows make. A difference that is always the same has no phases.
fn between((drawn, mut series): (Vec<f64>, Vec<f64>)) -> (Option<Interval>, Option<usize>) {
    let centre = series.pop().unwrap_or(f64::NAN);
    let Some(found) = interval(drawn.into_iter()) else { return (None, None) };
    if !centre.is_finite() || series.iter().any(|value| !value.is_finite()) {
        return (None, None);
    }
    match block(&series) {
        Some(block) => {
            let wide = widened(found, centre, &series, block);
            (Some(wide.map(rounded)), Some(WINDOWS / block))
        }
        None => (None, Some(TOO_FEW)),
    }
}

/// Parts of a trace of which no interval is known.
const TOO_FEW: usize = 2;

/// Metrics with their value in every draw.
type Drawn = BTreeMap<&'static str, Vec<f64>>;

/// The metrics of a run that follow from its windows, in every draw.
fn values(draws: &Draws, run: &RunResult) -> Drawn {
    let Some(windows) = &run.windows else { return Drawn::new() };
    let mut values = of_cache(draws, run, windows);
    values.extend(of_responses(draws, windows));
    if let Some((flash, timing)) = windows.flash.as_ref().zip(run.timing.as_ref()) {
        values.extend(of_drive(draws, flash, timing));
        let all = windows.requests_beyond.iter();
        let drawn = |(metric, beyond): (&String, &Vec<f64>)| {
            percentile(draws, windows, timing, metric, beyond)
        };
        values.extend(all.filter_map(drawn));
    }
    values
}

fn ratio(part: &[f64], whole: &[f64]) -> Vec<f64> {
    part.iter().zip(whole).map(|(part, whole)| part / whole).collect()
}

fn minus(all: &[u64], part: &[u64]) -> Vec<u64> {
    all.iter().zip(part).map(|(all, part)| all.saturating_sub(*part)).collect()
}

/// Blocks of prompts.
fn of_prompts(draws: &Draws, windows: &Windows, kv: &KvWindows) -> Drawn {
    let sums = |list: &[u64]| draws.sums(list);
    let (blocks, hits, stranded) =
        (sums(&kv.blocks), sums(&kv.hit_blocks), sums(&kv.stranded_blocks));
    let full = sums(&kv.full_hits);
    Drawn::from([
        ("block_hit_ratio", ratio(&hits, &blocks)),
        ("stranded_ratio", ratio(&stranded, &blocks)),
        ("full_hit_ratio", ratio(&full, &sums(&windows.requests))),
        ("hit_blocks", hits),
        ("stranded_blocks", stranded),
        ("full_hits", full),
        ("insertions", sums(&kv.insertions)),
    ])
}

/// Hits, and pages read and written.
fn of_cache(draws: &Draws, run: &RunResult, windows: &Windows) -> Drawn {
    let sums = |list: &[u64]| draws.sums(list);
    let Windows { accesses, hits, read_accesses, read_hits, .. } = windows;
    let mut values = Drawn::new();
    let hit_ratio = ratio(&sums(hits), &sums(accesses));
    if run.kv.is_some() {
        // The windows of such a run count tokens.
        values.insert("token_hit_ratio", hit_ratio);
        if let Some(kv) = &windows.kv {
            values.extend(of_prompts(draws, windows, kv));
        }
    } else {
        values.insert("hit_ratio", hit_ratio);
        values.insert("misses", sums(&minus(accesses, hits)));
        values.insert("read_hit_ratio", ratio(&sums(read_hits), &sums(read_accesses)));
        let writes = (minus(hits, read_hits), minus(accesses, read_accesses));
        values.insert("write_hit_ratio", ratio(&sums(&writes.0), &sums(&writes.1)));
    }
    // Of prompts, hits are tokens and tier 2 counts blocks.
    if let (Some(overall), Some(misses), None) =
        (&windows.overall_hits, &windows.backing_reads, &run.kv)
    {
        let (below, misses) = (sums(&minus(overall, hits)), sums(misses));
        let look_ups: Vec<f64> = below.iter().zip(&misses).map(|(hit, miss)| hit + miss).collect();
        values.insert("overall_hit_ratio", ratio(&sums(overall), &sums(accesses)));
        // The windows hold the hits of both tiers as one number.
        if run.tier3.is_none() {
            values.insert("tier2_hit_ratio", ratio(&below, &look_ups));
        }
        values.insert("backing_reads", misses);
    }
    if run.tiers.is_some() {
        // Flash is written by tier 2 alone, and read for its dirty victims too.
        values.insert("tier2_writes", sums(&windows.physical_writes));
        return values;
    }
    let reads = sums(&windows.physical_reads);
    // Flushes at the end, and the growth of the pending writes, are the same in every draw.
    let flushed = run.counters.end_flushes as f64;
    let written: Vec<f64> = sums(&windows.physical_writes).iter().map(|w| w + flushed).collect();
    if let Some(growth) = run.pending_growth() {
        let writes: Vec<f64> = written.iter().map(|w| w + growth as f64).collect();
        if let Some(cost) = run.config.options.cost {
            let of = |(r, w): (&f64, &f64)| r * cost.read as f64 + w * cost.write as f64;
            values.insert("cost", reads.iter().zip(&writes).map(of).collect());
        }
        values.insert("flash_writes", writes);
    }
    values.insert("physical_reads", reads);
    values.insert("physical_writes", written);
    values
}

/// Mean response times.
fn of_responses(draws: &Draws, windows: &Windows) -> Drawn {
    let sums = |list: &[u64]| draws.sums(list);
    let mut values = Drawn::new();
    let Some(times) = &windows.response_ns_sum else { return values };
    values.insert("response_ns_mean", ratio(&sums(times), &sums(&windows.requests)));
    if let (Some(reads), Some(read_times)) = (&windows.read_requests, &windows.read_response_ns_sum)
    {
        values.insert("read_response_ns_mean", ratio(&sums(read_times), &sums(reads)));
        let (writes, write_times) = (minus(&windows.requests, reads), minus(times, read_times));
        values.insert("write_response_ns_mean", ratio(&sums(&write_times), &sums(&writes)));
    }
    values
}

/// Resampled metrics of the device and of evictions.
fn of_drive(draws: &Draws, flash: &FlashWindows, timing: &Timing) -> Drawn {
    let counters = &timing.counters;
    // What the drive does after the last request is the same in every draw.
    let all = |list: &[u64], total: u64| -> Vec<f64> {
        let rest = total.saturating_sub(list.iter().sum()) as f64;
        draws.sums(list).iter().map(|sum| sum + rest).collect()
    };
    let programs = all(&flash.programs, counters.device.programs_of_all_kinds());
    let for_host = all(&flash.host_programs, counters.device.flash_programs);
    let written = all(&flash.write_backs, counters.dirty_evictions);
    let waits = all(&flash.eviction_wait_ns_sum, counters.eviction_wait_ns_sum);
    let in_gc = all(&flash.write_backs_in_gc, counters.dirty_evictions_in_gc);
    let victims = draws.sums(&flash.evictions); // none of them after the last request
    let unbalance = draws.sums(&flash.unbalance_permille_sum);
    let unbalanced: Vec<f64> =
        draws.sums(&flash.unbalance_samples).iter().map(|n| n * 1000.0).collect();
    Drawn::from([
        ("waf", ratio(&programs, &for_host)),
        ("gc_writes", programs.iter().zip(&for_host).map(|(all, host)| all - host).collect()),
        ("erases", all(&flash.erases, counters.device.erases)),
        ("flash_programs", for_host),
        ("eviction_wait_ns_mean", ratio(&waits, &written)),
        ("victim_in_gc_ratio", ratio(&in_gc, &written)),
        ("dirty_victim_ratio", ratio(&draws.sums(&flash.dirty_victims), &victims)),
        ("unbalance_rate_mean", ratio(&unbalance, &unbalanced)),
    ])
}

/// Requests beyond a percentile below which nothing is known of it.
const LEAST_BEYOND: f64 = 10.0;

/// A percentile in every draw: where as many requests are beyond it in the whole run as were beyond
/// the run's own in the draw (Woodruff: Confidence intervals for medians and other position
/// measures, 1952). `None` of a metric that is no percentile.
fn percentile(
    draws: &Draws,
    windows: &Windows,
    timing: &Timing,
    metric: &str,
    beyond: &[f64],
) -> Option<(&'static str, Vec<f64>)> {
    let metric = METRICS.iter().find(|known| known.name == metric)?.name;
    let reads = windows.read_requests.as_ref()?;
    let (of, requests) = match metric.split_once("response_ns")?.0 {
        "" => (&timing.response_ns, windows.requests.clone()),
        "read_" => (&timing.read_response_ns, reads.clone()),
        _ => (&timing.write_response_ns, minus(&windows.requests, reads)),
    };
    let curve = of.as_ref()?.curve();
    let longer = draws.sums_of(beyond);
    let is_known = beyond.iter().sum::<f64>() >= LEAST_BEYOND;
    let value = |(longer, all): (&f64, &f64)| {
        if is_known { at(&curve, 1.0 - longer / all) } else { f64::NAN }
    };
    Some((metric, longer.iter().zip(&draws.sums(&requests)).map(value).collect()))
}

/// The value at a share on a curve of (share, value), straight between its points.
fn at(curve: &[(f64, f64)], share: f64) -> f64 {
    if share.is_nan() {
        return share;
    }
    let next = curve.partition_point(|&(s, _)| s < share).clamp(1, curve.len() - 1);
    let ((from, low), (to, high)) = (curve[next - 1], curve[next]);
    let part = if to > from { ((share - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
    low + part * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_straight_between_its_points_and_ends_where_they_end() {
        let curve = [(0.0, 10.0), (0.5, 10.0), (0.9, 50.0), (1.0, 250.0)];
        let found = [-0.1, 0.0, 0.4, 0.5, 0.7, 0.9, 0.95, 1.0, 1.1].map(|share| at(&curve, share));
        let found = found.map(|value| (value * 1e9).round() / 1e9);
        assert_eq!(found, [10.0, 10.0, 10.0, 10.0, 30.0, 50.0, 150.0, 250.0, 250.0]);
        assert!(at(&curve, f64::NAN).is_nan());
    }

    #[test]
    fn a_tail_that_comes_from_a_few_windows_is_known_less_well_than_one_from_all() {
        let draws = Draws::of_runs();
        let width = |beyond: &[f64]| {
            let requests = draws.sums(&[1000; WINDOWS]);
            let share = draws.sums_of(beyond).into_iter().zip(requests).map(|(b, all)| b / all);
            let [low, high] = interval(share).unwrap();
            assert!((low..=high).contains(&0.01));
            high - low
        };
        let mut burst = [0.0; WINDOWS];
        burst[20..26].fill(100.0);
        let spread: Vec<f64> = (0..WINDOWS).map(|k| if k % 2 == 0 { 8.0 } else { 12.0 }).collect();
        assert!(width(&burst) > 5.0 * width(&spread));
    }
}
