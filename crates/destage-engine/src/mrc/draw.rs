//! Makes curves: samples, tasks, estimates.

use super::apart::{Found as Placed, apart};
use super::curve::{Curve, EverySize, GROUPS, Method, Mrc, MrcOptions, Point, SampleSize};
use super::estimate::{Estimate, Estimated, Totals, point};
use super::ranks::ranks;
use super::sample::{Sample, Sampling};
use super::tasks::{Outcome, Sizes, Task, Trace, in_parallel};
use super::uncertain::{beside, is_shown};
use super::within;
use crate::accesses::Columns;
use crate::asides::Asides;
use crate::control::Control;
use crate::cost::Cost;
use crate::error::RunError;
use crate::input::{Input, NextUses};
use crate::options::RunOptions;
use crate::run::needs_next_use;
use crate::shared;
use crate::sizes::Frames;
use crate::spec::{PolicySpec, json_of};
use crate::warmup::Warmup;
use destage_policies::info;
use destage_policies::params::{Params, Value};
use std::collections::BTreeMap;

/// Page accesses that [`mrc`] will have done at its end, for a progress bar: exact without
/// sampling, expected with it. `accesses` are those of the trace.
pub fn planned_accesses(
    accesses: u64,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
) -> u64 {
    if let Some(within) = options.within {
        return within::planned_accesses(accesses, specs, sizes, options, within);
    }
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
pub(super) fn in_one_pass(spec: &PolicySpec, options: &MrcOptions) -> bool {
    let is_whole = options.sampling.is_none() && options.within.is_none();
    let asked = spec.name == "lru" || options.every_size && is_whole;
    asked && one_pass(spec, &options.run).is_ok()
}

pub(super) fn passes(spec: &PolicySpec, sizes: &[Frames], options: &MrcOptions) -> usize {
    if in_one_pass(spec, options) { 1 } else { sizes.len() }
}

/// Makes the curves of `specs` over `sizes`. If it is told to stop meanwhile, those points that
/// were known by then, if there are any; [`Mrc::unfinished`] says how much is missing.
///
/// `input.next_uses` are needed if a policy asks for them and there is no [`Sampling`].
///
/// # Errors
///
/// As [`run`](crate::run::run()); also [`RunError::Impossible`] for a sample without a page, for a
/// policy with a parameter in pages or accesses, which a sample of single pages does not scale, and
/// for one that clusters by erase block, which it takes apart; and for a sample of a run with
/// trims. With [`MrcOptions::within`] these run over the whole trace.
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
    let asked = Asked { input, specs, params: &params, sizes, options, control };
    if let Some(within) = options.within {
        return within::mrc(&asked, within);
    }
    let warmup_requests = asked.warmup_requests();
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
                is_scaled(spec, params)?.map_err(RunError::Impossible)?;
            }
            samples(input.columns, sampling, warmup_requests.unwrap_or(0), control)?
        }
    };
    let next_uses = next_uses(&samples, specs);
    let traces = match options.sampling {
        None => vec![asked.whole()],
        Some(sampling) => sampled_traces(&samples, &next_uses, sampling, warmup_requests.is_some()),
    };
    let drawn = draw(&asked, &traces, options.sampling)?;
    let sample = options.sampling.map(|sampling| SampleSize::of(&samples[0], sampling));
    let is_sampled = sample.is_some();
    asked.told(drawn, sample, Vec::new(), is_sampled)
}

/// What is asked of [`mrc`].
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) specs: &'a [PolicySpec],
    /// Of each policy, after defaults.
    pub(super) params: &'a [Params],
    pub(super) sizes: &'a [Frames],
    pub(super) options: &'a MrcOptions,
    pub(super) control: &'a Control,
}

impl<'a> Asked<'a> {
    /// Requests of the trace before counting begins; `None`: until the cache is full.
    pub(super) fn warmup_requests(&self) -> Option<usize> {
        let Input { columns, arrivals_ns, .. } = self.input;
        self.options.run.warmup.rows(columns.first_ids.len(), arrivals_ns)
    }

    /// What the trace has to count; `None` if that is another number at each size.
    pub(super) fn totals(&self) -> Option<Totals> {
        self.warmup_requests().map(|warm| Totals::of(self.input.columns, warm))
    }

    /// The trace, unsampled.
    pub(super) fn whole(&self) -> Trace<'a> {
        Trace { input: *self.input, rate: 1.0, warmup_requests: self.warmup_requests() }
    }

    /// The curves of what was drawn, policy by policy.
    pub(super) fn told(
        &self,
        drawn: Drawn,
        sample: Option<SampleSize>,
        samples: Vec<SampleSize>,
        is_sampled: bool,
    ) -> Result<Mrc, RunError> {
        let Drawn { mut cells, mut every_size, unfinished, tasks } = drawn;
        cells.sort_by_key(|cell| (cell.spec, cell.size));
        let mut warnings = Vec::new();
        let mut curves = Vec::new();
        for (k, (spec, params)) in self.specs.iter().zip(self.params).enumerate() {
            let of_spec = cells.iter().filter(|cell| cell.spec == k);
            let points: Vec<Point> = of_spec.map(|cell| cell.point.clone()).collect();
            if points.is_empty() && !self.sizes.is_empty() {
                continue;
            }
            if let Some(point) = points.iter().find(|point| point.accesses == 0) {
                warnings.push(format!(
                    "{} at {}: nothing was counted after the warm-up",
                    spec.label(),
                    point.cache
                ));
            }
            let one_pass = in_one_pass(spec, self.options);
            curves.push(Curve {
                policy: spec.name.to_string(),
                label: spec.label(),
                params: params.iter().map(|(k, v)| (k.to_string(), json_of(v))).collect(),
                method: if one_pass { Method::OnePass } else { Method::Runs },
                points,
                every_size: every_size.remove(&k),
            });
        }
        if unfinished > 0 && curves.is_empty() {
            return Err(RunError::Interrupted);
        }
        let placed: Vec<Placed> = cells.into_iter().map(|cell| cell.placed).collect();
        let differences = is_sampled.then(|| apart(&placed, self.totals(), self.options));
        let error = self.options.within.map(|within| within.error);
        Ok(Mrc { sample, error, samples, curves, differences, warnings, unfinished, tasks })
    }
}

/// A policy at a size.
pub(super) struct Cell {
    /// Its place among the policies.
    pub(super) spec: usize,
    /// Its place among the sizes.
    pub(super) size: usize,
    pub(super) point: Point,
    pub(super) placed: Placed,
}

/// What passes and runs gave.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) cells: Vec<Cell>,
    /// By policy, what a pass over the whole trace tells of every size.
    pub(super) every_size: BTreeMap<usize, EverySize>,
    /// Passes and runs that had not ended when it was told to stop.
    pub(super) unfinished: usize,
    /// Passes and runs in all.
    pub(super) tasks: usize,
}

/// Does all passes and runs over a trace, or over a sample (first) and its groups (the rest).
pub(super) fn draw(
    asked: &Asked<'_>,
    traces: &[Trace<'_>],
    sampling: Option<Sampling>,
) -> Result<Drawn, RunError> {
    let Asked { specs, sizes, options, control, .. } = *asked;
    let tasks = tasks(traces, specs, sizes, options);
    let outcomes = in_parallel(&tasks, options, control)?;
    let unfinished = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let of_traces: Vec<&[Option<Outcome>]> =
        outcomes.chunks((outcomes.len() / traces.len()).max(1)).collect();
    let totals = asked.totals();
    let mut drawn = Drawn { unfinished, tasks: outcomes.len(), ..Drawn::default() };
    let mut first = 0;
    let mut found = Vec::new();
    for (k, spec) in specs.iter().enumerate() {
        let passes = passes(spec, sizes, options);
        if let Some(every) = of_traces.first().and_then(|found| found.get(first)) {
            let every = every.as_ref().filter(|_| sampling.is_none());
            drawn.every_size.extend(every.and_then(|e| e.every_size(&options.run)).map(|e| (k, e)));
        }
        for (place, size) in sizes.iter().enumerate() {
            let task = first + if passes == 1 { 0 } else { place };
            let each = traces.iter().zip(&of_traces);
            let estimates: Option<Vec<Estimate>> = each
                .map(|(trace, found)| Some(found[task].as_ref()?.estimate(size, trace)))
                .collect();
            let Some((&whole, groups)) = estimates.as_deref().and_then(|e| e.split_first()) else {
                continue;
            };
            let estimated = Estimated { whole, groups: groups.to_vec(), beside: Vec::new() };
            found.push(Known { spec: k, size: place, task, estimated });
        }
        first += passes;
    }
    if let Some(sampling) = sampling {
        let known = found.len();
        look_beside(asked, traces, sampling, of_traces[0], &mut found)?;
        drawn.unfinished += known - found.len();
    }
    for Known { spec, size, estimated, .. } in found {
        let policy = specs[spec].name;
        let point = point(policy, &sizes[size], &estimated, totals, sampling, options);
        let placed = Placed::of(&point, estimated, traces[0].rate);
        drawn.cells.push(Cell { spec, size, point, placed });
    }
    Ok(drawn)
}

/// What is known of a policy at a size, and which task of the first trace told it.
struct Known {
    spec: usize,
    size: usize,
    task: usize,
    estimated: Estimated,
}

/// Runs the whole sample with a few frames less, and with a few more, where a step of a curve may
/// be near; what did not end, since it was told to stop, is no longer known.
fn look_beside(
    asked: &Asked<'_>,
    traces: &[Trace<'_>],
    sampling: Sampling,
    outcomes: &[Option<Outcome>],
    found: &mut Vec<Known>,
) -> Result<(), RunError> {
    let Some(accesses) = asked.totals().map(Totals::accesses) else { return Ok(()) };
    let Asked { specs, sizes, options, control, .. } = *asked;
    let (trace, rate) = (&traces[0], sampling.rounded_rate());
    let ends = |known: &Known| {
        let size = &sizes[known.size];
        let end = |frames| Frames { frames, given: size.given.clone() };
        let has_interval = is_shown(specs[known.spec].name, f64::from(size.frames) * rate, rate);
        let wanted = has_interval && known.estimated.is_steep(accesses, options);
        wanted.then(|| beside(size.frames, rate).map(end))
    };
    let ends: Vec<Option<[Frames; 2]>> = found.iter().map(ends).collect();
    let runs =
        found.iter().zip(&ends).filter(|(known, _)| !in_one_pass(&specs[known.spec], options));
    let tasks: Vec<Task<'_>> = runs
        .filter_map(|(known, ends)| Some((known, ends.as_ref()?)))
        .flat_map(|(known, ends)| ends.iter().map(|end| (&specs[known.spec], end)))
        .map(|(spec, end)| Task { trace, spec, sizes: Sizes::These(std::slice::from_ref(end)) })
        .collect();
    let mut ran = in_parallel(&tasks, options, control)?.into_iter();
    let mut looked = ends.iter();
    found.retain_mut(|known| {
        let Some(Some(ends)) = looked.next() else { return true };
        let curve = outcomes[known.task].as_ref();
        let of_end = |end: &Frames| match in_one_pass(&specs[known.spec], options) {
            true => curve.map(|curve| curve.estimate(end, trace)),
            false => ran.next().flatten().map(|run| run.estimate(end, trace)),
        };
        let both: Vec<Option<Estimate>> = ends.iter().map(of_end).collect();
        known.estimated.beside = both.iter().flatten().copied().collect();
        known.estimated.beside.len() == ends.len()
    });
    Ok(())
}

/// Next uses of each sample, if a policy asks for them.
pub(super) fn next_uses(samples: &[Sample], specs: &[PolicySpec]) -> Vec<Vec<u64>> {
    match needs_next_use(specs) {
        true => samples.iter().map(Sample::next_uses).collect(),
        false => samples.iter().map(|_| Vec::new()).collect(),
    }
}

/// Each sample as a trace of its own; the first is the whole sample, the others are its groups.
pub(super) fn sampled_traces<'a>(
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
    let at_once = shared::at_once(sizes.len(), traces.len() * runs, options.jobs);
    let mut tasks = Vec::new();
    for trace in traces {
        for spec in specs {
            if in_one_pass(spec, options) {
                tasks.push(Task { trace, spec, sizes: Sizes::Every });
                continue;
            }
            let pages = trace.input.columns.lpns.len();
            let shares = shared::can_share(spec, &options.run, pages);
            let some = sizes.chunks(if shares { at_once } else { 1 });
            tasks.extend(some.map(|sizes| Task { trace, spec, sizes: Sizes::These(sizes) }));
        }
    }
    tasks
}

/// The sample of a rate, then its groups.
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
    Ok(with_groups(whole, sampling))
}

/// The sample, then its groups.
pub(super) fn with_groups(whole: Sample, sampling: Sampling) -> Vec<Sample> {
    let groups = whole.groups(sampling);
    std::iter::once(whole).chain(groups).collect()
}

/// Whether a sample runs a policy as the whole trace does. It scales frames and what is a share of
/// them. It does not scale a number of accesses, and it takes the neighbours away from pages that
/// are counted in clusters.
///
/// # Errors
///
/// For an unknown policy. The inner error is the reason why not.
pub(super) fn is_scaled(
    spec: &PolicySpec,
    params: &Params,
) -> Result<Result<(), String>, RunError> {
    if info(spec.name)?.clusters {
        return Ok(Err(format!(
            "{}: it clusters by erase block, and a sample of single pages takes blocks apart; \
             leave sampling out for this policy",
            spec.label()
        )));
    }
    for (key, value) in params.iter() {
        let unit = info(spec.name)?.params.iter().find(|p| p.name == key).map_or("", |p| p.unit);
        if ["pages", "accesses"].contains(&unit) && matches!(value, Value::Int(n) if *n > 0) {
            return Ok(Err(format!(
                "{}: {key} = {value} counts {unit}, which a sample of the pages does not scale; \
                 leave sampling out for this policy",
                spec.label()
            )));
        }
    }
    Ok(Ok(()))
}
