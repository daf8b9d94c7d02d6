//! Hit-ratio curves: what a policy misses, reads and writes over cache sizes.
//!
//! * LRU: all sizes at once in one pass, exact ([`LruCurve`]).
//! * Any other policy: one run per size, side by side, exact.
//! * With [`Sampling`]: the same over a sample of the pages, with a standard error.
//!
//! ```text
//!  recency   stack distances                 lru    every size in one pass
//!  sample    a trace of some of the pages    tasks  passes and runs, side by side
//!  estimate  from the sample to the trace
//! ```
//!
//! # Sampling
//!
//! With the sampled rate R, `c` frames become `c * R`: between two whole numbers for LRU, which
//! knows both, rounded (at least one) for the others. Counts of the sample are divided by R, and
//! hits are what is left of the trace's accesses, which are known. For LRU this is SHARDS-adj: a
//! very hot page that is or is not in the sample moves hits, hardly misses.
//!
//! The error is estimated by random groups (Wolter, Introduction to Variance Estimation, 2007,
//! chapter 2): the sample's pages fall into [`GROUPS`] groups by another part of the hash, each a
//! sample of rate R / groups, run like the whole. With the groups' estimates e_j, the standard
//! error is `sqrt((1 - R) * sum((e_j - mean)^2) / (groups * (groups - 1)))`. It says how much
//! another sample would differ. It does not see what all samples of this rate have in common: with
//! few frames in the sample the curve's finest steps are lost, so below one frame a group no error
//! is given, and a warning says which sizes are rough.

mod estimate;
mod lru;
mod recency;
mod sample;
mod tasks;
#[cfg(test)]
mod tests;

pub use lru::LruCurve;
pub use sample::Sampling;

use crate::accesses::Columns;
use crate::cost::Cost;
use crate::replay::NextUses;
use crate::result::Warmup;
use crate::run::{Hooks, Input, RunError, RunOptions, needs_next_use, to_json};
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use destage_policies::info;
use destage_policies::params::{Params, Value};
use estimate::{Estimate, Totals, point};
use sample::Sample;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::{Task, Trace, in_parallel};

/// Random groups that the error is estimated from.
pub const GROUPS: u64 = 10;

/// Frames in the sample below which a size is called rough: a step of the curve is wider than a
/// sixteenth of the size.
const ROUGH_FRAMES: f64 = 16.0;

/// How curves are made.
#[derive(Clone, Debug)]
pub struct MrcOptions {
    /// Options of every run.
    pub run: RunOptions,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// The whole trace if `None`.
    pub sampling: Option<Sampling>,
    /// Threads, at least 1. The result does not depend on them.
    pub jobs: usize,
}

/// Curves of some policies over one trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mrc {
    /// The sample, if there is one.
    pub sample: Option<SampleSize>,
    /// One per policy, in the order given.
    pub curves: Vec<Curve>,
    /// What a reader of these numbers must know.
    pub warnings: Vec<String>,
}

/// What was sampled.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampleSize {
    /// R, the rate that was used.
    pub rate: f64,
    /// Seed of the hash.
    pub seed: u64,
    /// Distinct pages.
    pub pages: u64,
    /// Accesses to them, warm-up included.
    pub accesses: u64,
    /// Groups that the errors come from.
    pub groups: u64,
}

/// How a curve was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All sizes in one pass over stack distances.
    OnePass,
    /// One run per size.
    Runs,
}

/// A policy over cache sizes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the policy.
    pub policy: String,
    /// As in a table: `cflru[window_fraction=0.75]`.
    pub label: String,
    /// All parameters, after defaults.
    pub params: BTreeMap<String, serde_json::Value>,
    /// How it was made.
    pub method: Method,
    /// One per size, in the order given.
    pub points: Vec<Point>,
}

/// One size of a curve. Counts start after the warm-up; in a sample they are estimates, rounded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Frames of the cache.
    pub frames: u32,
    /// The size as the user gave it.
    pub cache: String,
    /// The size in bytes.
    pub cache_bytes: u64,
    /// Page accesses; exact in a sample too, unless the warm-up lasts until the cache is full.
    pub accesses: u64,
    /// Accesses whose page was not resident.
    pub misses: u64,
    /// Those that read.
    pub read_misses: u64,
    /// Those that wrote.
    pub write_misses: u64,
    /// Misses / accesses, 0..1; 0 if nothing was counted.
    pub miss_ratio: f64,
    /// Pages read from flash.
    pub physical_reads: u64,
    /// Pages written to flash.
    pub physical_writes: u64,
    /// Pages that left the cache because of a miss.
    pub evictions: u64,
    /// What stands behind it, if it comes from a sample; `None`: it is exact.
    pub sampled: Option<SampledPoint>,
}

/// What stands behind a sampled point.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampledPoint {
    /// Frames that the sample had; with LRU between two whole numbers.
    pub frames: f64,
    /// Standard error of `miss_ratio`; `None` where a group would have less than one frame.
    pub miss_ratio_error: Option<f64>,
    /// Standard error of `physical_writes`, pages.
    pub physical_writes_error: Option<f64>,
}

/// Page accesses that [`mrc`] will have done at its end, for a progress bar: exact without
/// sampling, expected with it. `accesses` are those of the trace.
pub fn planned_accesses(
    accesses: u64,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
) -> u64 {
    let passes: u64 = specs.iter().map(|spec| passes(spec, sizes, options) as u64).sum();
    let each = match options.sampling {
        None => accesses,
        // Every access of the sample once in the whole of it and once in its group.
        Some(sampling) => (2.0 * sampling.rounded_rate() * accesses as f64) as u64,
    };
    passes * each
}

/// All sizes in one pass? A warm-up that ends when the cache is full ends elsewhere at each size,
/// and checking the policy's laws takes a policy that runs.
fn in_one_pass(spec: &PolicySpec, options: &MrcOptions) -> bool {
    spec.name == "lru" && options.run.warmup != Warmup::Full && !options.run.check
}

fn passes(spec: &PolicySpec, sizes: &[Frames], options: &MrcOptions) -> usize {
    if in_one_pass(spec, options) { 1 } else { sizes.len() }
}

/// Makes the curves of `specs` over `sizes`.
///
/// `input.next_uses` are needed if a policy asks for them and there is no sampling.
///
/// # Errors
///
/// As [`run`](crate::run::run()); also [`RunError::Impossible`] for a sample without a page, for a
/// policy with a parameter in pages or accesses, which a sample of single pages does not scale, and
/// for one that clusters by erase block, which it takes apart.
pub fn mrc(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
    hooks: &Hooks,
) -> Result<Mrc, RunError> {
    let params = specs
        .iter()
        .map(|spec| spec.params(&Cost::policy_defaults(options.run.cost)))
        .collect::<Result<Vec<_>, _>>()?;
    let warmup_requests = options.run.warmup.rows(input.columns.first_ids.len(), input.arrivals_ns);

    let mut warnings = Vec::new();
    let samples = match options.sampling {
        None => Vec::new(),
        Some(sampling) => {
            for (spec, params) in specs.iter().zip(&params) {
                refuse_absolute_parameters(spec, params)?;
            }
            warn_of_rough_sizes(sampling, sizes, &mut warnings);
            samples(input.columns, sampling, warmup_requests.unwrap_or(0), hooks)?
        }
    };
    let next_uses: Vec<Vec<u64>> = match needs_next_use(specs) {
        true => samples.iter().map(Sample::next_uses).collect(),
        false => samples.iter().map(|_| Vec::new()).collect(),
    };
    let traces = match options.sampling {
        None => vec![Trace { input: *input, rate: 1.0, warmup_requests }],
        Some(sampling) => samples
            .iter()
            .zip(&next_uses)
            .enumerate()
            .map(|(i, (sample, next_uses))| Trace {
                input: Input {
                    continuations: &[],
                    columns: sample.columns(),
                    next_uses: NextUses::Long(next_uses),
                    arrivals_ns: &[],
                },
                rate: sampling.rounded_rate() / if i == 0 { 1.0 } else { GROUPS as f64 },
                warmup_requests: warmup_requests.map(|_| sample.warmup_requests),
            })
            .collect(),
    };

    // One list for all threads; the whole sample, the longest, before its groups.
    let tasks: Vec<Task<'_>> = traces
        .iter()
        .flat_map(|trace| specs.iter().map(move |spec| (trace, spec)))
        .flat_map(|(trace, spec)| {
            let one_pass = in_one_pass(spec, options);
            let sizes: Vec<_> =
                if one_pass { vec![None] } else { sizes.iter().map(Some).collect() };
            sizes.into_iter().map(move |size| Task { trace, spec, size })
        })
        .collect();
    let outcomes = in_parallel(&tasks, options, hooks)?;

    // Outcomes lie by trace, then policy, then size.
    let totals = warmup_requests.map(|warm| Totals::of(input.columns, warm));
    let stride = tasks.len() / traces.len();
    let mut first = 0;
    let mut curves = Vec::new();
    for (spec, params) in specs.iter().zip(&params) {
        let passes = passes(spec, sizes, options);
        let points = sizes.iter().enumerate().map(|(k, size)| {
            let task = first + if passes == 1 { 0 } else { k };
            let estimates: Vec<Estimate> = traces
                .iter()
                .zip(outcomes.chunks(stride))
                .map(|(trace, outcomes)| outcomes[task].estimate(size, trace))
                .collect();
            point(size, &estimates, totals, options)
        });
        let points: Vec<Point> = points.collect();
        if let Some(point) = points.iter().find(|point| point.accesses == 0) {
            warnings.push(format!(
                "{} at {}: nothing was counted after the warm-up",
                spec.label(),
                point.cache
            ));
        }
        curves.push(Curve {
            policy: spec.name.to_string(),
            label: spec.label(),
            params: params.iter().map(|(k, v)| (k.to_string(), to_json(v))).collect(),
            method: if in_one_pass(spec, options) { Method::OnePass } else { Method::Runs },
            points,
        });
        first += passes;
    }
    let sample = options.sampling.map(|sampling| SampleSize {
        rate: sampling.rounded_rate(),
        seed: sampling.seed,
        pages: samples[0].lpns.len() as u64,
        accesses: samples[0].first_ids.len() as u64,
        groups: GROUPS,
    });
    Ok(Mrc { sample, curves, warnings })
}

/// The sample, then its groups.
fn samples(
    columns: Columns<'_>,
    sampling: Sampling,
    warmup_requests: usize,
    hooks: &Hooks,
) -> Result<Vec<Sample>, RunError> {
    let take = |columns, warmup, keep: &dyn Fn(u64) -> bool| {
        Sample::new(columns, warmup, hooks, keep).ok_or(RunError::Interrupted)
    };
    let whole = take(columns, warmup_requests, &|lpn| sampling.holds(lpn))?;
    if whole.lpns.is_empty() {
        return Err(RunError::Impossible(format!(
            "the sample is empty: rate {} of {} pages with seed {}; choose a higher rate",
            sampling.rounded_rate(),
            columns.lpns.len(),
            sampling.seed
        )));
    }
    let groups = (0..GROUPS)
        .map(|group| {
            let keep = |lpn| sampling.group(lpn, GROUPS) == group;
            take(whole.columns(), whole.warmup_requests, &keep)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(std::iter::once(whole).chain(groups).collect())
}

/// A sample scales frames and what is a share of them. It does not scale a number of accesses, and
/// it takes the neighbours away from pages that are counted in clusters.
fn refuse_absolute_parameters(spec: &PolicySpec, params: &Params) -> Result<(), RunError> {
    if info(spec.name)?.clusters {
        return Err(RunError::Impossible(format!(
            "{}: it clusters by erase block, and a sample of single pages takes blocks apart; \
             leave sampling out for this policy",
            spec.label()
        )));
    }
    for (key, value) in params.iter() {
        let unit = info(spec.name)?.params.iter().find(|p| p.name == key).map_or("", |p| p.unit);
        if ["pages", "accesses"].contains(&unit) && matches!(value, Value::Int(n) if *n > 0) {
            return Err(RunError::Impossible(format!(
                "{}: {key} = {value} counts {unit}, which a sample of the pages does not scale; \
                 leave sampling out for this policy",
                spec.label()
            )));
        }
    }
    Ok(())
}

fn warn_of_rough_sizes(sampling: Sampling, sizes: &[Frames], warnings: &mut Vec<String>) {
    let rate = sampling.rounded_rate();
    let rough: Vec<&str> = sizes
        .iter()
        .filter(|size| f64::from(size.frames) * rate < ROUGH_FRAMES)
        .map(|size| size.given.as_str())
        .collect();
    if !rough.is_empty() {
        warnings.push(format!(
            "fewer than {ROUGH_FRAMES} frames in the sample at {}: rough; a higher rate helps",
            rough.join(", ")
        ));
    }
}
