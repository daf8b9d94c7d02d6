//! Runs side by side.

use crate::arguments::{Spec, frames_of, policy_spec, run_options};
use crate::drive::Drive;
use crate::errors::{raise, usage};
use crate::interruptible::{Watch, follow};
use crate::sets::set_json;
use crate::trace::Trace;
use destage_engine::options::{RunOptions, Trim};
use destage_engine::run::{compare_each, needs_next_use};
use destage_engine::spec::PolicySpec;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_trace::TraceError;
use destage_trace::next_use::NextUse;
use pyo3::prelude::*;
use std::sync::Arc;

/// Why a comparison gave nothing at all.
pub enum Failed {
    /// Of looking ahead, or of writing.
    Trace(TraceError),
    /// Of a run.
    Run(RunError),
}

impl crate::errors::IntoPyErr for Failed {
    fn into_py_err(self, py: Python<'_>) -> PyErr {
        match self {
            Failed::Trace(e) => e.into_py_err(py),
            Failed::Run(e) => e.into_py_err(py),
        }
    }
}

/// The drive, ready and put into the options, if there is one.
pub fn mount(
    drive: Option<&Drive>,
    options: &RunOptions,
    watch: &Watch,
) -> Result<RunOptions, RunError> {
    let drive = drive.map(|drive| drive.mounted(watch)).transpose()?;
    Ok(RunOptions { drive, ..options.clone() })
}

/// The trace's pages are those of the drive.
pub fn check_pages(py: Python<'_>, trace: &Trace, drive: Option<&Drive>) -> PyResult<()> {
    let Some(drive) = drive else { return Ok(()) };
    let (found, expected) = (trace.trace.page_bytes(), drive.drive.device.page_bytes);
    if found == u64::from(expected) {
        return Ok(());
    }
    Err(usage(
        py,
        format!(
            "the trace was opened with pages of {found} bytes, those of the device {} have \
             {expected}: open it for this drive",
            drive.drive.name
        ),
    ))
}

/// Runs every policy at every size; returns the result set as JSON.
///
/// `partial` is called with the JSON of the runs that had ended if a signal ends the call.
#[pyfunction]
#[pyo3(signature = (
    trace, specs, sizes, options, jobs, progress = None, partial = None, drive = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn compare(
    py: Python<'_>,
    trace: &Trace,
    specs: Vec<Spec>,
    sizes: &str,
    options: &str,
    jobs: usize,
    progress: Option<Py<PyAny>>,
    partial: Option<Py<PyAny>>,
    drive: Option<&Drive>,
) -> PyResult<String> {
    let specs: Vec<PolicySpec> = specs
        .iter()
        .map(|(name, params)| policy_spec(py, name, params))
        .collect::<PyResult<_>>()?;
    let sizes = frames_of(py, trace, sizes)?;
    let options = run_options(py, trace, options, drive)?;
    if options.tiers.tier2.is_none() {
        check_pages(py, trace, drive)?;
    }
    let watch = Watch::default();
    let finished = std::sync::Mutex::new(Vec::new());
    let outcome = follow(py, progress.as_ref(), &watch, |mut watch| {
        let trim = options.trims(drive.map(|drive| &drive.drive.host));
        let uses = looked_ahead(trace, &specs, trim, &mut watch).map_err(Failed::Trace)?;
        let options = mount(drive, &options, watch).map_err(Failed::Run)?;
        let input = Input::new(&trace.trace, uses.as_deref());
        let runs = specs.len() * sizes.len();
        watch.enter("replaying", trace.trace.accesses() * runs as u64);
        let each = compare_each(&input, &specs, &sizes, &options, jobs, &watch.control)
            .map_err(Failed::Run)?;
        let mut runs = Vec::new();
        for result in each {
            match result {
                Ok(run) => runs.push(run),
                Err(RunError::Interrupted) => {}
                Err(e) => return Err(Failed::Run(e)),
            }
        }
        *finished.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = runs;
        Ok(())
    });
    let runs = finished.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match outcome {
        Ok(outcome) => raise(py, outcome)?,
        Err(raised) => {
            if let Some(partial) = partial.filter(|_| !runs.is_empty()) {
                partial.call1(py, (set_json(trace, drive, runs),))?;
            }
            return Err(raised);
        }
    }
    Ok(set_json(trace, drive, runs))
}

/// Next uses, if a policy of the run needs them; an error if the trace's file is not whole any
/// more.
pub fn looked_ahead(
    trace: &Trace,
    specs: &[PolicySpec],
    trim: Trim,
    watch: &mut &Watch,
) -> Result<Option<Arc<NextUse>>, TraceError> {
    trace.trace.check_whole()?;
    needs_next_use(specs).then(|| ahead(trace, trim, watch)).transpose()
}

/// Next uses; where trims are part of the run, data die at them.
pub fn ahead(trace: &Trace, trim: Trim, watch: &mut &Watch) -> Result<Arc<NextUse>, TraceError> {
    match trim {
        Trim::Ignore => trace.trace.next_uses_with(watch),
        Trim::Drop => trace.trace.next_uses_trimmed_with(watch),
    }
}
