//! One run with everything recorded, and policies written in Python.

use crate::arguments::{Spec, frames_of, policy_spec, run_options};
use crate::compare::{Failed, ahead, check_pages, looked_ahead, mount};
use crate::drive::Drive;
use crate::errors::{raise, usage};
use crate::interruptible::{Watch, follow};
use crate::policy::{Failure, PyPolicy};
use crate::recorders::{Ended, RecordOptions, Recorders, looked_at};
use crate::sets::set_json;
use crate::trace::Trace;
use destage_core::{Nanos, Page, Plan, Request};
use destage_engine::options::RunOptions;
use destage_engine::result::RunResult;
use destage_engine::run::{Named, run, run_own};
use destage_engine::sizes::Frames;
use destage_policies::params::Params;
use destage_replay::Observer;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

fn one_size(py: Python<'_>, trace: &Trace, size: &str) -> PyResult<Frames> {
    let mut sizes = frames_of(py, trace, size)?;
    match (sizes.pop(), sizes.is_empty()) {
        (Some(size), true) => Ok(size),
        _ => Err(usage(py, "cache: expected one size, such as 32MiB, 8192p or 10%")),
    }
}

/// Runs one policy at one size; returns the result set as JSON, with the series if one was asked
/// for.
#[pyfunction]
#[pyo3(signature = (
    trace, spec, size, options, decisions = None, period = None, progress = None, drive = None,
    timeline = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn run_one(
    py: Python<'_>,
    trace: &Trace,
    spec: Spec,
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
    let options = run_options(py, trace, options, drive)?;
    if options.tiers.tier2.is_none() {
        check_pages(py, trace, drive)?;
    }
    if timeline.is_some() && drive.is_none() {
        return Err(usage(py, "timeline: there is none without a device (--device)"));
    }
    let wanted = RecordOptions {
        decisions: decisions.as_deref(),
        period,
        timeline: timeline.as_deref(),
        drive,
        has_tier3: options.tiers.tier3.is_some(),
    };
    let watch = Watch::default();
    let outcome = follow(py, progress.as_ref(), &watch, |mut watch| {
        let trim = options.trims(drive.map(|drive| &drive.drive.host));
        let uses = looked_ahead(trace, std::slice::from_ref(&spec), trim, &mut watch)
            .map_err(Failed::Trace)?;
        let options = mount(drive, &options, watch).map_err(Failed::Run)?;
        watch.enter("replaying", trace.trace.accesses());
        let input = Input::new(&trace.trace, uses.as_deref());
        let hooks = &watch.control;
        looked_at(trace, &wanted, |lookers| run(&input, &spec, &frames, &options, hooks, lookers))
            .map_err(|failure| match failure {
                Ended::Log(e) => Failed::Trace(e),
                Ended::Run(e) => Failed::Run(e),
            })
    })?;
    Ok(set_json(trace, drive, vec![raise(py, outcome)?]))
}

/// Calls Python in between: looks for signals, and reports progress.
struct Listener<'a, 'l, 'py> {
    py: Python<'py>,
    lookers: &'a mut Recorders<'l>,
    watch: &'a Watch,
    progress: Option<&'a Py<PyAny>>,
    failure: Failure,
}

impl Observer for Listener<'_, '_, '_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        self.lookers.access(r, hit, plan);
    }

    fn refused(&mut self, r: &Request, plan: &Plan) {
        self.lookers.refused(r, plan);
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        self.lookers.idle_write(at_ns, page);
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
    let options = run_options(py, trace, options, drive)?;
    if options.tiers.tier2.is_none() {
        check_pages(py, trace, drive)?;
    }
    let params: std::collections::BTreeMap<String, Value> =
        serde_json::from_str(params).map_err(|e| usage(py, format!("{name}: parameters: {e}")))?;
    let own = OwnPolicyRun {
        named: Named { policy: name, given: params.clone(), params },
        factory,
        frames,
        options,
        decisions,
        period,
        progress,
    };
    own.run(py, trace, needs_next_use, drive)
}

struct OwnPolicyRun {
    named: Named,
    factory: Py<PyAny>,
    frames: Frames,
    options: RunOptions,
    decisions: Option<PathBuf>,
    period: Option<u64>,
    progress: Option<Py<PyAny>>,
}

impl OwnPolicyRun {
    fn run(
        mut self,
        py: Python<'_>,
        trace: &Trace,
        needs_next_use: bool,
        drive: Option<&Drive>,
    ) -> PyResult<String> {
        let watch = Watch::default();
        let uses = if needs_next_use {
            let uses = follow(py, self.progress.as_ref(), &watch, |mut watch| {
                let host = drive.map(|drive| &drive.drive.host);
                ahead(trace, self.options.trims(host), &mut watch)
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
        let (factory, name) = (&self.factory, Some(self.named.policy.as_str()));
        let block = self.options.setup(frames, Params::default(), None).pages_per_block;
        let kept = failure.clone();
        let made = PyPolicy::make(py, factory, name, frames, block, units, needs_next_use, kept);
        let input = Input::new(&trace.trace, uses.as_deref());
        let outcome = self.replay(py, trace, drive, made?, &input, &watch, &failure);
        if let Some(raised) = failure.take() {
            return Err(raised);
        }
        match outcome {
            Ok(run) => Ok(set_json(trace, drive, vec![run])),
            Err(Ended::Log(e)) => raise(py, Err(e)),
            Err(Ended::Run(e)) => raise(py, Err(e)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all that the listener needs")]
    fn replay(
        &self,
        py: Python<'_>,
        trace: &Trace,
        drive: Option<&Drive>,
        policy: PyPolicy,
        input: &Input<'_>,
        watch: &Watch,
        failure: &Failure,
    ) -> Result<RunResult, Ended<RunError>> {
        let wanted = RecordOptions {
            decisions: self.decisions.as_deref(),
            period: self.period,
            timeline: None,
            drive,
            has_tier3: false, // a policy written in Python is of one tier
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
