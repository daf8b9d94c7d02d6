//! Conformance vectors, through built-in policies or one written in Python.

use crate::errors::{ErrorClass, IntoPyErr, error, raise};
use crate::interruptible::{Watch, follow};
use crate::policy::{Failure, PyPolicy};
use destage_conform as engine;
use destage_conform::{ConformError, Fault, Outcome, PageVector, Report, run_vector};
use destage_engine::spec::json_of;
use destage_policies::Setup;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

impl IntoPyErr for ConformError {
    fn into_py_err(self, py: Python<'_>) -> PyErr {
        let kind = match &self {
            ConformError::Open { source, .. } if source.kind() != ErrorKind::IsADirectory => {
                ErrorClass::Missing
            }
            ConformError::Open { .. } | ConformError::File { .. } | ConformError::Line { .. } => {
                ErrorClass::Data
            }
            ConformError::Output(_) => ErrorClass::Output,
            ConformError::Bug { .. } => ErrorClass::Internal,
            ConformError::Interrupted => return PyKeyboardInterrupt::new_err(()),
        };
        error(py, kind, self.to_string())
    }
}

/// The report as JSON, and each difference as a sentence.
type Found = (String, Vec<String>);

fn found(report: &Report) -> Found {
    let sentence =
        |file: &engine::FileReport, d: &engine::Difference| format!("{}: {d}", file.path);
    let sentences =
        report.files.iter().flat_map(|f| f.differences.iter().map(move |d| sentence(f, d)));
    (serde_json::json!(report).to_string(), sentences.collect())
}

/// Runs the vectors of these files through the built-in policies.
#[pyfunction]
pub fn conform(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<Found> {
    let watch = Watch::default();
    let report = follow(py, None, &watch, |watch| engine::conform(&files, &watch.control))?;
    Ok(found(&raise(py, report)?))
}

/// Runs the page vectors of these files through `factory(frames, params)`, which makes a policy.
#[pyfunction]
#[pyo3(signature = (files, factory, only = None))]
pub fn conform_own(
    py: Python<'_>,
    files: Vec<PathBuf>,
    factory: Py<PyAny>,
    only: Option<String>,
) -> PyResult<Found> {
    let watch = Watch::default();
    let failure = Failure::default();
    // Python code runs in it, so it stays on this thread and keeps the GIL.
    let report = engine::conform_own(&files, only.as_deref(), &watch.control, |vector| {
        let outcome = run_own(py, &factory, vector, &failure);
        if let Err(e) = py.check_signals() {
            failure.set(e);
        }
        if failure.is_set() {
            watch.control.stop.store(true, Ordering::Relaxed);
        }
        outcome
    });
    match failure.take() {
        Some(raised) => Err(raised),
        None => Ok(found(&raise(py, report)?)),
    }
}

fn run_own(
    py: Python<'_>,
    factory: &Py<PyAny>,
    vector: &PageVector,
    failure: &Failure,
) -> Result<Outcome, Fault> {
    let stopped = || Fault { access: None, message: "it raised an exception".into() };
    let params: serde_json::Map<_, _> =
        vector.params.iter().map(|(k, v)| (k.clone(), json_of(v))).collect();
    let params = serde_json::Value::from(params).to_string();
    let bound = (|| {
        let partial = py.import("functools")?.getattr("partial")?;
        Ok::<_, PyErr>(partial.call1((factory, params))?.unbind())
    })();
    let policy = bound
        .and_then(|f| {
            let (frames, block) = (vector.frames, Setup::new(vector.frames).pages_per_block);
            PyPolicy::make(py, &f, None, frames, block, None, false, failure.clone())
        })
        .map_err(|e| failure.set(e));
    let outcome = policy.map_err(|()| stopped()).and_then(|p| run_vector(p, vector));
    if failure.is_set() { Err(stopped()) } else { outcome }
}

/// Decisions of every line of the file, as JSON lines.
#[pyfunction]
pub fn conform_emit<'py>(py: Python<'py>, file: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
    let watch = Watch::default();
    let lines = follow(py, None, &watch, |watch| {
        let mut lines = Vec::new();
        engine::emit(&file, &mut lines, &watch.control).map(|()| lines)
    })?;
    Ok(PyBytes::new(py, &raise(py, lines)?))
}
