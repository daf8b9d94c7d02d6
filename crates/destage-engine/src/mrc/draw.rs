//! Makes curves: samples, tasks, estimates.

use super::apart::{Found as Placed, apart};
use super::curve::{Curve, EverySize, GROUPS, Method, Mrc, MrcOptions, Point, SampleSize};
use super::estimate::{Estimate, Totals, point};
use super::ranks::ranks;
use super::sample::{Sample, Sampling};
use super::shared::{self, LANES};
use super::tasks::{Outcome, Sizes, Task, Trace, in_parallel};
use crate::accesses::Columns;
use crate::asides::Asides;
use crate::control::Control;
use crate::cost::Cost;
use crate::error::RunError;
use crate::input::{Input, NextUses};
use crate::options::RunOptions;
use crate::run::needs_next_use;
use crate::sizes::Frames;
use crate::spec::{PolicySpec, json_of};
use crate::warmup::Warmup;
use destage_policies::info;
use destage_policies::params::{Params, Value};

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

/// Says why one pass does not tell of all sizes, where it does not.
///
/// # Errors
///
/// The reason, as a sentence that goes on after the policy's label.
pub fn one_pass(spec: &PolicySpec, run: &RunOptions) -> Result<(), String> {
    let why = if !["lru", "min"].contains(&spec.name) {
        "runs once per size, and only lru and min are known at every size: name sizes (or auto) \
         for it"
    } else if run.warmup == Warmup::Full {
        "begins to count when its cache is full, elsewhere at each size: give the warm-up in \
         requests or per cent"
    } else if run.check {
        "has its laws checked while it runs, at one size at a time: leave out check"
    } else if run.drops_trims() {
        // A trim leaves a free frame in every cache that held the page.
        "no longer holds in a small cache what a large one holds where trims drop pages: ignore \
         trims"
    } else {
        return Ok(());
    };
    Err(why.into())
}

/// MIN is only if every size is asked for: a few runs are quicker, and tell what is written.
fn in_one_pass(spec: &PolicySpec, options: &MrcOptions) -> bool {
    let asked = spec.name == "lru" || options.every_size && options.sampling.is_none();
    asked && one_pass(spec, &options.run).is_ok()
}

fn passes(spec: &PolicySpec, sizes: &[Frames], options: &MrcOptions) -> usize {
    if in_one_pass(spec, options) { 1 } else { sizes.len() }
}

/// Makes the curves of `specs` over `sizes`. If it is told to stop meanwhile, those points that
/// were known by then, if there are any; [`Mrc::unfinished`] says how much is missing.
///
/// `input.next_uses` are needed if a policy asks for them and there is no sampling.
///
/// # Errors
///
/// As [`run`](crate::run::run()); also [`RunError::Impossible`] for a sample without a page, for a
/// policy with a parameter in pages or accesses, which a sample of single pages does not scale, and
/// for one that clusters by erase block, which it takes apart; and for a sample of a run with
/// trims.
pub fn mrc(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
    control: &Control,
) -> Result<Mrc, RunError> {
    let params = specs
        .iter()
        .map(|spec| spec.params(&Cost::says(options.run.cost)))
        .collect::<Result<Vec<_>, _>>()?;
    let warmup_requests = options.run.warmup.rows(input.columns.first_ids.len(), input.arrivals_ns);

    let mut warnings = Vec::new();
    let samples = match options.sampling {
        None => Vec::new(),
        Some(sampling) => {
            if options.run.drops_trims() {
                return Err(RunError::Impossible(
                    "trim = drop and a sampling rate exclude each other: a sample keeps no trims"
                        .into(),
                ));
            }
            for (spec, params) in specs.iter().zip(&params) {
                refuse_absolute_parameters(spec, params)?;
            }
            samples(input.columns, sampling, warmup_requests.unwrap_or(0), control)?
        }
    };
    let next_uses: Vec<Vec<u64>> = match needs_next_use(specs) {
        true => samples.iter().map(Sample::next_uses).collect(),
        false => samples.iter().map(|_| Vec::new()).collect(),
    };
    let traces = match options.sampling {
        None => vec![Trace { input: *input, rate: 1.0, warmup_requests }],
        Some(sampling) => sampled_traces(&samples, &next_uses, sampling, warmup_requests.is_some()),
    };
    let tasks = tasks(&traces, specs, sizes, options);
    let outcomes = in_parallel(&tasks, options, control)?;
    let unfinished = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let found = Found {
        outcomes: outcomes.chunks((outcomes.len() / traces.len()).max(1)).collect(),
        traces: &traces,
        totals: warmup_requests.map(|warm| Totals::of(input.columns, warm)),
    };
    let (curves, placed) = found.curves(specs, &params, sizes, options, &mut warnings);
    if unfinished > 0 && curves.is_empty() {
        return Err(RunError::Interrupted);
    }
    let sample = options.sampling.map(|sampling| SampleSize {
        rate: sampling.rounded_rate(),
        seed: sampling.seed,
        pages: samples[0].lpns.len() as u64,
        accesses: samples[0].first_ids.len() as u64,
        groups: GROUPS,
    });
    let differences = options.sampling.map(|_| apart(&placed, found.totals, options));
    let tasks = outcomes.len();
    Ok(Mrc { sample, curves, differences, warnings, unfinished, tasks })
}

/// Each sample as a trace of its own; the first is the whole sample, the others are its groups.
fn sampled_traces<'a>(
    samples: &'a [Sample],
    next_uses: &'a [Vec<u64>],
    sampling: Sampling,
    has_warmup_in_requests: bool,
) -> Vec<Trace<'a>> {
    let trace = |(i, (sample, next_uses)): (usize, (&'a Sample, &'a Vec<u64>))| Trace {
        input: Input {
            continuations: &[],
            request_bytes: &[],
            asides: Asides::NONE,
            columns: sample.columns(),
            next_uses: NextUses::Long(next_uses),
            arrivals_ns: &[],
        },
        rate: sampling.rounded_rate() / if i == 0 { 1.0 } else { GROUPS as f64 },
        warmup_requests: has_warmup_in_requests.then_some(sample.warmup_requests),
    };
    samples.iter().zip(next_uses).enumerate().map(trace).collect()
}

/// One list for all threads; the whole sample, the longest, before its groups. By trace, then
/// policy, then size.
fn tasks<'a>(
    traces: &'a [Trace<'a>],
    specs: &'a [PolicySpec],
    sizes: &'a [Frames],
    options: &MrcOptions,
) -> Vec<Task<'a>> {
    let runs: usize = specs.iter().map(|spec| passes(spec, sizes, options)).sum();
    // A task for every thread at least: one that has nothing to do wins nothing.
    let lanes = (traces.len() * runs / options.jobs.max(1)).clamp(1, LANES);
    let mut tasks = Vec::new();
    for trace in traces {
        for spec in specs {
            if in_one_pass(spec, options) {
                tasks.push(Task { trace, spec, sizes: Sizes::Every });
                continue;
            }
            let pages = trace.input.columns.lpns.len();
            let at_once = match shared::can_share(spec, &options.run, pages) {
                true => sizes.len().div_ceil(sizes.len().div_ceil(lanes).max(1)).max(1),
                false => 1,
            };
            let some = sizes.chunks(at_once);
            tasks.extend(some.map(|sizes| Task { trace, spec, sizes: Sizes::These(sizes) }));
        }
    }
    tasks
}

/// What the tasks found.
struct Found<'a> {
    /// One list for each trace, by policy, then size; `None` where it was told to stop.
    outcomes: Vec<&'a [Option<Outcome>]>,
    traces: &'a [Trace<'a>],
    totals: Option<Totals>,
}

impl Found<'_> {
    /// What the pass over the whole trace tells; `None` of a run, and of a sample.
    fn every_size(&self, task: usize, options: &MrcOptions) -> Option<EverySize> {
        match self.outcomes.first()?.get(task)? {
            Some(Outcome::OnePass(curve)) if options.sampling.is_none() => {
                Some(curve.every_size(&options.run))
            }
            Some(Outcome::Min(curve)) => Some(curve.every_size(&options.run)),
            _ => None,
        }
    }

    fn curves(
        &self,
        specs: &[PolicySpec],
        params: &[Params],
        sizes: &[Frames],
        options: &MrcOptions,
        warnings: &mut Vec<String>,
    ) -> (Vec<Curve>, Vec<Placed>) {
        let mut first = 0;
        let (mut curves, mut placed) = (Vec::new(), Vec::new());
        for (spec, params) in specs.iter().zip(params) {
            let passes = passes(spec, sizes, options);
            let points = sizes.iter().enumerate().filter_map(|(k, size)| {
                let task = first + if passes == 1 { 0 } else { k };
                let of_traces = self.traces.iter().zip(&self.outcomes);
                let estimates: Option<Vec<Estimate>> = of_traces
                    .map(|(trace, found)| Some(found[task].as_ref()?.estimate(size, trace)))
                    .collect();
                let estimates = estimates?;
                let point = point(spec.name, size, &estimates, self.totals, options);
                placed.push(Placed::of(&point, estimates));
                Some(point)
            });
            let points: Vec<Point> = points.collect();
            if points.is_empty() && !sizes.is_empty() {
                first += passes;
                continue;
            }
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
                params: params.iter().map(|(k, v)| (k.to_string(), json_of(v))).collect(),
                method: if in_one_pass(spec, options) { Method::OnePass } else { Method::Runs },
                points,
                every_size: self.every_size(first, options),
            });
            first += passes;
        }
        (curves, placed)
    }
}

/// The sample, then its groups.
fn samples(
    columns: Columns<'_>,
    sampling: Sampling,
    warmup_requests: usize,
    control: &Control,
) -> Result<Vec<Sample>, RunError> {
    let ranks = ranks(columns, sampling.seed, control).ok_or(RunError::Interrupted)?;
    let whole = Sample::new(columns, &ranks, sampling, warmup_requests, control)
        .ok_or(RunError::Interrupted)?;
    if whole.lpns.is_empty() {
        return Err(RunError::Impossible(format!(
            "the sample is empty: rate {} of {} pages with seed {}; choose a higher rate",
            sampling.rounded_rate(),
            columns.lpns.len(),
            sampling.seed
        )));
    }
    let groups = whole.groups(sampling);
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
