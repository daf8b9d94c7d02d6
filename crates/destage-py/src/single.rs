//! One run with everything recorded: decisions, a series over time, a policy written in Python.

use crate::errors::{raise, usage};
use crate::follow::{Watch, follow};
use crate::policy::{Failure, PyPolicy};
use crate::runs::{Failed, frames_of, looked_ahead, policy_spec, run_options, set_json};
use crate::trace::Trace;
use destage_core::{Plan, Policy, Request};
use destage_engine::Observer;
use destage_engine::decisions::DecisionLog;
use destage_engine::result::RunResult;
use destage_engine::run::{Input, Named, RunOptions, run, run_own};
use destage_engine::series::{Period, Series};
use destage_engine::sizes::Frames;
use destage_trace::TraceError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

type Log<'a> = DecisionLog<'a, BufWriter<Box<dyn Write + Send>>>;

/// Whoever looks on: the decision log, the series, or both.
struct Lookers<'a> {
    log: Option<Log<'a>>,
    series: Option<Series>,
}

impl Observer for Lookers<'_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if let Some(log) = &mut self.log {
            log.access(r, hit, plan);
        }
        if let Some(series) = &mut self.series {
            series.access(r, hit, plan);
        }
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.log.as_mut().is_none_or(|log| log.progress(accesses))
            && self.series.as_mut().is_none_or(|series| series.progress(accesses))
    }
}

impl<'a> Lookers<'a> {
    fn new(trace: &'a Trace, decisions: Option<&Path>, period: Option<u64>) -> io::Result<Self> {
        let open = |path: &Path| -> io::Result<Log<'a>> {
            let out: Box<dyn Write + Send> = if path == Path::new("-") {
                Box::new(io::stdout())
            } else {
                Box::new(File::create(path)?)
            };
            Ok(DecisionLog::new(BufWriter::new(out), trace.trace.lpns()))
        };
        Ok(Lookers { log: decisions.map(open).transpose()?, series: period.map(Series::new) })
    }

    /// Ends the log, and gives the series.
    fn finish(self) -> io::Result<Vec<Period>> {
        if let Some(log) = self.log {
            log.finish()?;
        }
        Ok(self.series.map_or(Vec::new(), Series::finish))
    }
}

/// Runs with lookers; an error of the log comes before the end that it caused.
fn looked_at<E>(
    trace: &Trace,
    decisions: Option<&Path>,
    period: Option<u64>,
    work: impl FnOnce(&mut Lookers<'_>) -> Result<RunResult, E>,
) -> Result<(RunResult, Vec<Period>), Ended<E>> {
    let failed = |source| {
        let path = decisions.unwrap_or(Path::new("-")).to_owned();
        Ended::Log(TraceError::Write { path, source })
    };
    let mut lookers = Lookers::new(trace, decisions, period).map_err(failed)?;
    let result = work(&mut lookers);
    let periods = lookers.finish().map_err(failed)?;
    Ok((result.map_err(Ended::Run)?, periods))
}

/// Why a run with lookers ended early.
enum Ended<E> {
    Log(TraceError),
    Run(E),
}

fn text(trace: &Trace, run: RunResult, periods: &[Period]) -> String {
    let mut set = set_json(trace, &[run]);
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
#[pyo3(signature = (trace, spec, size, options, decisions = None, period = None, progress = None))]
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
) -> PyResult<String> {
    let spec = policy_spec(py, &spec.0, &spec.1)?;
    let frames = one_size(py, trace, size)?;
    let options = run_options(py, trace, options)?;
    let watch = Watch::default();
    let outcome = follow(py, progress.as_ref(), &watch, |mut watch| {
        let uses =
            looked_ahead(trace, std::slice::from_ref(&spec), &mut watch).map_err(Failed::Trace)?;
        watch.enter("replaying", trace.trace.accesses());
        let input = Input::new(&trace.trace, uses.as_deref());
        looked_at(trace, decisions.as_deref(), period, |lookers| {
            run(&input, &spec, &frames, &options, &watch.hooks, lookers)
        })
        .map_err(|failure| match failure {
            Ended::Log(e) => Failed::Trace(e),
            Ended::Run(e) => Failed::Run(e),
        })
    })?;
    let (run, periods) = raise(py, outcome)?;
    Ok(text(trace, run, &periods))
}

/// Calls Python in between: looks for signals, and reports progress.
struct Listener<'a, 'l, 'py> {
    py: Python<'py>,
    lookers: &'a mut Lookers<'l>,
    watch: &'a Watch,
    progress: Option<&'a Py<PyAny>>,
    failure: Failure,
}

impl Observer for Listener<'_, '_, '_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        self.lookers.access(r, hit, plan);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.watch.hooks.accesses_done.store(accesses, Ordering::Relaxed);
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
    decisions = None, period = None, progress = None
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
) -> PyResult<String> {
    let frames = one_size(py, trace, size)?;
    let options = run_options(py, trace, options)?;
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
    if needs_next_use { own.run::<true>(py, trace) } else { own.run::<false>(py, trace) }
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
    fn run<const NEXT_USE: bool>(self, py: Python<'_>, trace: &Trace) -> PyResult<String> {
        let watch = Watch::default();
        let uses = if NEXT_USE {
            let uses = follow(py, self.progress.as_ref(), &watch, |mut watch| {
                trace.trace.next_uses_with(&mut watch)
            })?;
            Some(raise(py, uses)?)
        } else {
            None
        };
        watch.enter("replaying", trace.trace.accesses());
        let failure = Failure::default();
        let policy =
            PyPolicy::<NEXT_USE>::make(py, &self.factory, self.frames.frames, failure.clone())?;
        let input = Input::new(&trace.trace, uses.as_deref());
        let outcome = self.replay(py, trace, policy, &input, &watch, &failure);
        if let Some(raised) = failure.take() {
            return Err(raised);
        }
        match outcome {
            Ok((run, periods)) => Ok(text(trace, run, &periods)),
            Err(Ended::Log(e)) => raise(py, Err(e)),
            Err(Ended::Run(e)) => raise(py, Err(e)),
        }
    }

    fn replay<P: Policy>(
        &self,
        py: Python<'_>,
        trace: &Trace,
        policy: P,
        input: &Input<'_>,
        watch: &Watch,
        failure: &Failure,
    ) -> Result<(RunResult, Vec<Period>), Ended<destage_engine::run::RunError>> {
        looked_at(trace, self.decisions.as_deref(), self.period, |lookers| {
            let mut listener = Listener {
                py,
                lookers,
                watch,
                progress: self.progress.as_ref(),
                failure: failure.clone(),
            };
            let named = self.named.clone();
            run_own(input, named, policy, &self.frames, &self.options, &watch.hooks, &mut listener)
        })
    }
}
