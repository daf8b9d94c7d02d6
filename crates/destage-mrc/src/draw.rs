//! Points of curves: tasks over a trace or a sample, and what they estimate.

use super::confidence::{beside, is_shown, needs_neighbours};
use super::control_variate::{Variate, lru_of_samples};
use super::curve::MrcOptions;
use super::estimate::{Estimate, Estimated, Totals};
use super::request::{Drawn, MrcRequest, in_one_pass, is_known, passes};
use super::sample::{GROUPS, Sample, Sampling};
use super::stratified_sample::neighbours_variance;
use super::tasks::{Outcome, Sizes, Task, Trace, in_parallel};
use destage_engine::run::{can_share, needs_next_use};
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_replay::error::RunError;
use destage_replay::input::{Input, NextUses};
use destage_replay::shared;

/// Does all passes and runs over a trace, or over a sample (first) and its groups (the rest).
pub(super) fn draw(
    asked: &MrcRequest<'_>,
    traces: &[Trace<'_>],
    sampling: Option<Sampling>,
) -> Result<Drawn, RunError> {
    let MrcRequest { specs, sizes, options, control, .. } = *asked;
    let tasks = tasks(traces, specs, sizes, options);
    let mut drawn = Drawn { tasks: tasks.iter().map(Task::outcomes).sum(), ..Drawn::default() };
    let lru = match asked.lru.zip(sampling) {
        None => None,
        Some((exact, sampling)) => match lru_of_samples(traces, options, control)? {
            Some(samples) => Some(Variate { exact, samples, rate: sampling.rounded_rate() }),
            None => return Ok(Drawn { unfinished: drawn.tasks, ..drawn }),
        },
    };
    let outcomes = in_parallel(&tasks, options, control)?;
    drawn.unfinished = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let of_traces: Vec<&[Option<Outcome>]> =
        outcomes.chunks((outcomes.len() / traces.len()).max(1)).collect();
    let (totals, mut first, mut found) = (asked.totals(), 0, Vec::new());
    let finer = sampling.map_or(1.0, |_| neighbours_variance(traces[0].input.columns));
    for (k, spec) in specs.iter().enumerate() {
        if let Some(exact) = asked.lru.filter(|_| is_known(spec, options)) {
            drawn.every_size.insert(k, exact.every_size(&options.run));
            drawn.cells.extend((0..sizes.len()).map(|size| asked.known((k, size), exact, totals)));
            continue;
        }
        let passes = passes(spec, sizes, options);
        if let Some(every) = of_traces.first().and_then(|found| found.get(first)) {
            let every = every.as_ref().filter(|_| sampling.is_none());
            drawn.every_size.extend(every.and_then(|e| e.every_size(&options.run)).map(|e| (k, e)));
        }
        found.extend((0..sizes.len()).filter_map(|size| {
            let task = first + if passes == 1 { 0 } else { size };
            let each = traces.iter().zip(&of_traces);
            let estimates: Option<Vec<Estimate>> = each
                .map(|(trace, found)| Some(found[task].as_ref()?.estimate(&sizes[size], trace)))
                .collect();
            let (&whole, groups) = estimates.as_deref()?.split_first()?;
            let estimated = Estimated { groups: groups.to_vec(), finer, ..Estimated::exact(whole) };
            Some(Known { spec: k, size, task, estimated })
        }));
        first += passes;
    }
    if let Some(sampling) = sampling {
        let known = found.len();
        let of_whole = of_traces.first().copied().unwrap_or_default();
        look_beside(asked, traces, sampling, of_whole, &mut found)?;
        drawn.unfinished += known - found.len();
    }
    for Known { spec, size, estimated, .. } in found {
        let estimated = match &lru {
            Some(lru) => lru.put_right(&estimated, (specs[spec].name, sizes[size].frames), options),
            None => estimated,
        };
        drawn.cells.push(asked.cell((spec, size), estimated, totals, sampling));
    }
    Ok(drawn)
}

/// Estimates of a policy at a size, and the task of the first trace that they come from.
struct Known {
    spec: usize,
    size: usize,
    task: usize,
    estimated: Estimated,
}

/// Runs the whole sample with a few frames less, and with a few more, where a step of a curve may
/// be near or a policy's intervals need it; what did not end, since it was told to stop, is no
/// longer known.
fn look_beside(
    asked: &MrcRequest<'_>,
    traces: &[Trace<'_>],
    sampling: Sampling,
    outcomes: &[Option<Outcome>],
    found: &mut Vec<Known>,
) -> Result<(), RunError> {
    let Some(accesses) = asked.totals().map(Totals::accesses) else { return Ok(()) };
    let MrcRequest { specs, sizes, options, control, .. } = *asked;
    let (trace, rate) = (&traces[0], sampling.rounded_rate());
    let ends = |known: &Known| {
        let size = &sizes[known.size];
        let end = |frames| Frames { frames, given: size.given.clone() };
        let policy = specs[known.spec].name;
        let has_interval = is_shown(policy, f64::from(size.frames) * rate, rate);
        let needed = || needs_neighbours(policy) && rate < 1.0;
        let wanted = has_interval && (needed() || known.estimated.is_steep(accesses, options));
        wanted.then(|| beside(policy, size.frames, rate).map(end))
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
        input: Input { next_uses: NextUses::Long(next_uses), ..Input::of(sample.columns()) },
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
        for spec in specs.iter().filter(|spec| !is_known(spec, options)) {
            if in_one_pass(spec, options) {
                tasks.push(Task { trace, spec, sizes: Sizes::Every });
                continue;
            }
            let pages = trace.input.columns.lpns.len();
            let shares = can_share(spec, &options.run, pages);
            let some = sizes.chunks(if shares { at_once } else { 1 });
            tasks.extend(some.map(|sizes| Task { trace, spec, sizes: Sizes::These(sizes) }));
        }
    }
    tasks
}

/// The sample, then its groups.
pub(super) fn with_groups(whole: Sample, sampling: Sampling) -> Vec<Sample> {
    let groups = whole.groups(sampling);
    std::iter::once(whole).chain(groups).collect()
}
