//! One run with everything recorded: decisions, a series over time, a policy written in Python.

use crate::drive::Drive;
use crate::errors::{raise, usage};
use crate::follow::{Watch, follow};
use crate::policy::{Failure, PyPolicy};
use crate::runs::{
    Failed, check_pages, frames_of, looked_ahead, mount, policy_spec, run_options, set_json,
};
use crate::trace::Trace;
use destage_core::{Plan, Policy, Request};
use destage_engine::decisions::DecisionLog;
use destage_engine::input::Input;
use destage_engine::result::RunResult;
use destage_engine::run::{Named, RunOptions, run, run_own};
use destage_engine::series::{Period, Series};
use destage_engine::sizes::Frames;
use destage_engine::timed::Timeline;
use destage_engine::{Completed, Observer};
use destage_ssd::OperationRecord;
use destage_trace::TraceError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Whoever looks on: the decision log, the series, the timeline.
struct Lookers<'a, const TIMELINE: bool> {
    log: Option<DecisionLog<'a, Out>>,
    series: Option<Series>,
    timeline: Option<Timeline<Out>>,
}

/// Where a log goes.
type Out = BufWriter<Box<dyn Write + Send>>;

/// What is to be recorded.
struct Wanted<'a> {
    decisions: Option<&'a Path>,
    period: Option<u64>,
    timeline: Option<&'a Path>,
    drive: Option<&'a Drive>,
}

impl<const TIMELINE: bool> Observer for Lookers<'_, TIMELINE> {
    const SEES_OPERATIONS: bool = TIMELINE;

    fn completed(&mut self, request: &Completed) {
        if let Some(timeline) = &mut self.timeline {
            timeline.completed(request);
        }
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        if let Some(timeline) = &mut self.timeline {
            timeline.operations(operations);
        }
    }

    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if let Some(log) = &mut self.log {
            log.access(r, hit, plan);
        }
        if let Some(series) = &mut self.series {
            series.access(r, hit, plan);
        }
    }

    const SEES_GAUGES: bool = true;

    fn wants_gauges(&self) -> bool {
        self.series.wants_gauges()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.series.gauge(name, value);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.log.as_mut().is_none_or(|log| log.progress(accesses))
            && self.series.as_mut().is_none_or(|series| series.progress(accesses))
            && self.timeline.as_mut().is_none_or(|timeline| timeline.progress(accesses))
    }
}

/// Opens a file for what is recorded; `-` is standard output.
fn open(path: &Path) -> Result<Out, TraceError> {
    if path == Path::new("-") {
        return Ok(BufWriter::new(Box::new(io::stdout())));
    }
    let file = File::create(path).map_err(|source| write_error(path, source))?;
    Ok(BufWriter::new(Box::new(file)))
}

fn write_error(path: &Path, source: io::Error) -> TraceError {
    TraceError::Write { path: path.to_owned(), source }
}

impl<'a, const TIMELINE: bool> Lookers<'a, TIMELINE> {
    fn new(trace: &'a Trace, wanted: &Wanted<'_>) -> Result<Self, TraceError> {
        let lpns = trace.trace.lpns();
        let log = wanted.decisions.map(open).transpose()?.map(|out| DecisionLog::new(out, lpns));
        let timeline = match (wanted.timeline, wanted.drive) {
            (Some(path), Some(drive)) => {
                let (units, channels) = (drive.drive.device.units(), drive.drive.device.channels);
                let of_a_channel = units / channels; // they are numbered channel by channel
                Some(Timeline::new(open(path)?, (0..units).map(|unit| unit / of_a_channel)))
            }
            _ => None,
        };
        Ok(Lookers { log, series: wanted.period.map(Series::new), timeline })
    }

    /// Ends the logs, and gives the series.
    fn finish(self, wanted: &Wanted<'_>) -> Result<Vec<Period>, TraceError> {
        let failed =
            |path: Option<&Path>, source| write_error(path.unwrap_or(Path::new("-")), source);
        if let Some(log) = self.log {
            log.finish().map_err(|source| failed(wanted.decisions, source))?;
        }
        if let Some(timeline) = self.timeline {
            timeline.finish().map_err(|source| failed(wanted.timeline, source))?;
        }
        Ok(self.series.map_or(Vec::new(), Series::finish))
    }
}

/// Runs with lookers; an error of a log comes before the end that it caused.
fn looked_at<E, const TIMELINE: bool>(
    trace: &Trace,
    wanted: &Wanted<'_>,
    work: impl FnOnce(&mut Lookers<'_, TIMELINE>) -> Result<RunResult, E>,
) -> Result<(RunResult, Vec<Period>), Ended<E>> {
    let mut lookers = Lookers::new(trace, wanted).map_err(Ended::Log)?;
    let result = work(&mut lookers);
    let periods = lookers.finish(wanted).map_err(Ended::Log)?;
    Ok((result.map_err(Ended::Run)?, periods))
}

/// Why a run with lookers ended early.
enum Ended<E> {
    Log(TraceError),
    Run(E),
}

fn text(trace: &Trace, drive: Option<&Drive>, run: RunResult, periods: &[Period]) -> String {
    let mut set = set_json(trace, drive, &[run]);
    if !periods.is_empty() {
        set["runs"][0]["series"] = periods.iter().map(|p| json!(p)).collect::<Value>();
    }
    set.to_string()
}

fn one_size(py: Python<'_>, trace: &Trace, size: &str) -> PyResult<Frames> {
    let mut sizes = frames_of(py, trace, size)?;
    match (sizes.pop(), sizes.is_empty()) {
        (Some(size), true) => Ok(size),
        _ => Err(usage(py, "cache: expected one size, such as 32MiB, 8192p or 10%")),
    }
}

/// Runs one policy at one size; returns the result set as JSON, with the series if one was asked for.
#[pyfunction]
#[pyo3(signature = (
    trace, spec, size, options, decisions = None, period = None, progress = None, drive = None,
    timeline = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn run_one(
    py: Python<'_>,
    trace: &Trace,
    spec: (String, String),
    size: &str,
    options: &str,
    decisions: Option<PathBuf>,
    period: Option<u64>,
    progress: Option<Py<PyAny>>,
    drive: Option<&Drive>,
    timeline: Option<PathBuf>,
) -> PyResult<String> {
    let spec = policy_spec(py, &spec.0, &spec.1)?;
    let frames = one_size(py, trace, size)?;
    let options = run_options(py, trace, options)?;
    check_pages(py, trace, drive)?;
    if timeline.is_some() && drive.is_none() {
        return Err(usage(py, "timeline: there is none without a device (--device)"));
    }
    let wanted =
        Wanted { decisions: decisions.as_deref(), period, timeline: timeline.as_deref(), drive };
    let watch = Watch::default();
    let outcome = follow(py, progress.as_ref(), &watch, |mut watch| {
        let uses =
            looked_ahead(trace, std::slice::from_ref(&spec), &mut watch).map_err(Failed::Trace)?;
        let options = mount(drive, &options, watch).map_err(Failed::Run)?;
        watch.enter("replaying", trace.trace.accesses());
        let input = Input::new(&trace.trace, uses.as_deref());
        let hooks = &watch.control;
        match wanted.timeline {
            None => looked_at::<_, false>(trace, &wanted, |lookers| {
                run(&input, &spec, &frames, &options, hooks, lookers)
            }),
            Some(_) => looked_at::<_, true>(trace, &wanted, |lookers| {
                run(&input, &spec, &frames, &options, hooks, lookers)
            }),
        }
        .map_err(|failure| match failure {
            Ended::Log(e) => Failed::Trace(e),
            Ended::Run(e) => Failed::Run(e),
        })
    })?;
    let (run, periods) = raise(py, outcome)?;
    Ok(text(trace, drive, run, &periods))
}

/// Calls Python in between: looks for signals, and reports progress.
struct Listener<'a, 'l, 'py> {
    py: Python<'py>,
    lookers: &'a mut Lookers<'l, false>,
    watch: &'a Watch,
    progress: Option<&'a Py<PyAny>>,
    failure: Failure,
}

impl Observer for Listener<'_, '_, '_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        self.lookers.access(r, hit, plan);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.watch.control.accesses_done.store(accesses, Ordering::Relaxed);
        let listened =
            self.py.check_signals().and_then(|()| self.watch.report(self.py, self.progress));
        if let Err(e) = listened {
            self.failure.set(e);
        }
        !self.failure.is_set() && self.lookers.progress(accesses)
    }
}

/// Runs a policy written in Python, `factory(frames)`, on this thread; always checked.
#[pyfunction]
#[pyo3(signature = (
    trace, name, params, factory, needs_next_use, size, options,
    decisions = None, period = None, progress = None, drive = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn run_own_policy(
    py: Python<'_>,
    trace: &Trace,
    name: String,
    params: &str,
    factory: Py<PyAny>,
    needs_next_use: bool,
    size: &str,
    options: &str,
    decisions: Option<PathBuf>,
    period: Option<u64>,
    progress: Option<Py<PyAny>>,
    drive: Option<&Drive>,
) -> PyResult<String> {
    let frames = one_size(py, trace, size)?;
    let options = run_options(py, trace, options)?;
    check_pages(py, trace, drive)?;
    let params: std::collections::BTreeMap<String, Value> =
        serde_json::from_str(params).map_err(|e| usage(py, format!("{name}: parameters: {e}")))?;
    let own = Own {
        named: Named { policy: name, given: params.clone(), params },
        factory,
        frames,
        options,
        decisions,
        period,
        progress,
    };
    if needs_next_use {
        own.run::<true>(py, trace, drive)
    } else {
        own.run::<false>(py, trace, drive)
    }
}

struct Own {
    named: Named,
    factory: Py<PyAny>,
    frames: Frames,
    options: RunOptions,
    decisions: Option<PathBuf>,
    period: Option<u64>,
    progress: Option<Py<PyAny>>,
}

impl Own {
    fn run<const NEXT_USE: bool>(
        mut self,
        py: Python<'_>,
        trace: &Trace,
        drive: Option<&Drive>,
    ) -> PyResult<String> {
        let watch = Watch::default();
        let uses = if NEXT_USE {
            let uses = follow(py, self.progress.as_ref(), &watch, |mut watch| {
                trace.trace.next_uses_with(&mut watch)
            })?;
            Some(raise(py, uses)?)
        } else {
            None
        };
        let mounted =
            follow(py, self.progress.as_ref(), &watch, |watch| mount(drive, &self.options, watch))?;
        self.options = raise(py, mounted)?;
        watch.enter("replaying", trace.trace.accesses());
        let failure = Failure::default();
        let (frames, units) = (self.frames.frames, drive.map(|drive| drive.drive.device.units()));
        let policy = PyPolicy::<NEXT_USE>::make(py, &self.factory, frames, units, failure.clone())?;
        let input = Input::new(&trace.trace, uses.as_deref());
        let outcome = self.replay(py, trace, drive, policy, &input, &watch, &failure);
        if let Some(raised) = failure.take() {
            return Err(raised);
        }
        match outcome {
            Ok((run, periods)) => Ok(text(trace, drive, run, &periods)),
            Err(Ended::Log(e)) => raise(py, Err(e)),
            Err(Ended::Run(e)) => raise(py, Err(e)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all that the listener needs")]
    fn replay<P: Policy>(
        &self,
        py: Python<'_>,
        trace: &Trace,
        drive: Option<&Drive>,
        policy: P,
        input: &Input<'_>,
        watch: &Watch,
        failure: &Failure,
    ) -> Result<(RunResult, Vec<Period>), Ended<destage_engine::error::RunError>> {
        let wanted = Wanted {
            decisions: self.decisions.as_deref(),
            period: self.period,
            timeline: None,
            drive,
        };
        looked_at(trace, &wanted, |lookers| {
            let mut listener = Listener {
                py,
                lookers,
                watch,
                progress: self.progress.as_ref(),
                failure: failure.clone(),
            };
            let named = self.named.clone();
            run_own(
                input,
                named,
                policy,
                &self.frames,
                &self.options,
                &watch.control,
                &mut listener,
            )
        })
    }
}
