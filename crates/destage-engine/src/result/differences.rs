//! Differences between the runs of a comparison, with intervals: what a tie is, is not a matter of
//! a fixed per cent.

use super::draws::{BLOCK, DRAWS, Draws, Interval, LEVEL, SEED, interval};
use super::run::RunResult;
use crate::windows::{WINDOWS, Windows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Numbers of the runs in the result set, from 0.
    pub runs: Vec<usize>,
    /// By metric, for each pair of `runs` in the order (0, 1), (0, 2), .., (1, 2), ..: the interval
    /// of the second's value less the first's; `None` where one of them has none.
    pub metrics: BTreeMap<String, Vec<Option<Interval>>>,
}

impl Differences {
    /// Of these runs; `None` if no two of them can be compared.
    pub fn of(runs: &[RunResult]) -> Option<Self> {
        let mut sizes: Vec<(&RunResult, Vec<usize>)> = Vec::new();
        for (number, run) in runs.iter().enumerate().filter(|(_, run)| run.windows.is_some()) {
            let same = |first: &RunResult| {
                first.config.frames == run.config.frames && first.config.cache == run.config.cache
            };
            match sizes.iter_mut().find(|(first, _)| same(first)) {
                Some((_, numbers)) => numbers.push(number),
                None => sizes.push((run, vec![number])),
            }
        }
        sizes.retain(|(_, numbers)| numbers.len() > 1);
        if sizes.is_empty() {
            return None;
        }
        let draws = Draws::of_runs();
        let groups = sizes.into_iter().map(|(first, numbers)| Group {
            frames: first.config.frames,
            cache: first.config.cache.clone(),
            metrics: compared(&draws, runs, &numbers),
            runs: numbers,
        });
        Some(Differences {
            method: format!(
                "circular block bootstrap of the runs' {WINDOWS} windows, in blocks of {BLOCK}, \
                 the same windows of both runs; {DRAWS} draws, seed {SEED}"
            ),
            level: LEVEL,
            groups: groups.collect(),
        })
    }
}

fn compared(
    draws: &Draws,
    runs: &[RunResult],
    numbers: &[usize],
) -> BTreeMap<String, Vec<Option<Interval>>> {
    let drawn: Vec<_> = numbers.iter().map(|&number| values(draws, &runs[number])).collect();
    let names: Vec<&str> = drawn.iter().flat_map(|values| values.keys().copied()).collect();
    let pairs = |name: &str| {
        let mut intervals = Vec::new();
        for (k, first) in drawn.iter().enumerate() {
            for second in &drawn[k + 1..] {
                let both = first.get(name).zip(second.get(name));
                intervals
                    .push(both.and_then(|(a, b)| interval(b.iter().zip(a).map(|(b, a)| b - a))));
            }
        }
        intervals
    };
    names.into_iter().map(|name| (name.to_string(), pairs(name))).collect()
}

/// The metrics of a run that follow from its windows, in every draw.
fn values(draws: &Draws, run: &RunResult) -> BTreeMap<&'static str, Vec<f64>> {
    let Some(windows) = &run.windows else { return BTreeMap::new() };
    let sums = |list: &[u64]| draws.sums(list);
    let ratio = |part: &[f64], whole: &[f64]| -> Vec<f64> {
        part.iter().zip(whole).map(|(part, whole)| part / whole).collect()
    };
    let minus = |all: &[u64], part: &[u64]| -> Vec<u64> {
        all.iter().zip(part).map(|(all, part)| all.saturating_sub(*part)).collect()
    };
    let Windows { accesses, hits, read_accesses, read_hits, .. } = windows;
    let mut values = BTreeMap::new();
    values.insert("hit_ratio", ratio(&sums(hits), &sums(accesses)));
    values.insert("misses", sums(&minus(accesses, hits)));
    values.insert("read_hit_ratio", ratio(&sums(read_hits), &sums(read_accesses)));
    let writes = (minus(hits, read_hits), minus(accesses, read_accesses));
    values.insert("write_hit_ratio", ratio(&sums(&writes.0), &sums(&writes.1)));
    let reads = sums(&windows.physical_reads);
    // What is written after the last request, and what is owed, is the same in every draw.
    let flushed = run.counters.end_flushes as f64;
    let written: Vec<f64> = sums(&windows.physical_writes).iter().map(|w| w + flushed).collect();
    if let Some(cost) = run.config.options.cost {
        let time = |(r, w): (&f64, &f64)| r * cost.read as f64 + w * cost.write as f64;
        values.insert("running_time", reads.iter().zip(&written).map(time).collect());
    }
    if let Some(debt) = run.debt {
        let owed = debt.physical_writes_owed as f64;
        let both = written.iter().map(|w| w + owed).collect();
        values.insert("physical_writes_incl_owed", both);
    }
    values.insert("physical_reads", reads);
    values.insert("physical_writes", written);
    if let Some(times) = &windows.response_ns_sum {
        values.insert("response_ns_mean", ratio(&sums(times), &sums(&windows.requests)));
        if let (Some(reads), Some(read_times)) =
            (&windows.read_requests, &windows.read_response_ns_sum)
        {
            values.insert("read_response_ns_mean", ratio(&sums(read_times), &sums(reads)));
            let (writes, write_times) = (minus(&windows.requests, reads), minus(times, read_times));
            values.insert("write_response_ns_mean", ratio(&sums(&write_times), &sums(&writes)));
        }
    }
    values
}
