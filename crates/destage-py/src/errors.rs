//! Errors of the crates below as exceptions of `destage.errors`, by exit status.

use destage_policies::BuildError;
use destage_replay::error::RunError;
use destage_trace::TraceError;
use pyo3::exceptions::{PyBrokenPipeError, PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exceptions of `destage.errors`.
#[derive(Clone, Copy)]
pub enum ErrorClass {
    /// Status 2.
    Usage,
    /// Status 2: two arguments that exclude each other.
    Excluded,
    /// Status 65.
    Data,
    /// Status 66.
    Missing,
    /// Status 74.
    Output,
    /// Status 1.
    Check,
    /// Status 70.
    Internal,
}

/// The exception of this kind.
pub fn error(py: Python<'_>, kind: ErrorClass, message: impl Into<String>) -> PyErr {
    static USAGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static EXCLUDED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static DATA: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static MISSING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static OUTPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static CHECK: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static INTERNAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (cell, name) = match kind {
        ErrorClass::Usage => (&USAGE, "UsageError"),
        ErrorClass::Excluded => (&EXCLUDED, "ExcludedError"),
        ErrorClass::Data => (&DATA, "DataError"),
        ErrorClass::Missing => (&MISSING, "MissingFile"),
        ErrorClass::Output => (&OUTPUT, "OutputError"),
        ErrorClass::Check => (&CHECK, "CheckFailed"),
        ErrorClass::Internal => (&INTERNAL, "InternalError"),
    };
    match cell.import(py, "destage.base.errors", name) {
        Ok(class) => PyErr::from_type(class.clone(), (message.into(),)),
        Err(broken_installation) => broken_installation,
    }
}

/// `UsageError`: an argument that cannot be used.
pub fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    error(py, ErrorClass::Usage, message)
}

/// Whether an exception is one of [`usage`].
pub fn is_usage(py: Python<'_>, raised: &PyErr) -> bool {
    let class = py.import("destage.base.errors").and_then(|errors| errors.getattr("UsageError"));
    class.is_ok_and(|class| raised.matches(py, class).unwrap_or(false))
}

/// An error that crosses the boundary.
pub trait IntoPyErr {
    /// The exception for it.
    fn into_py_err(self, py: Python<'_>) -> PyErr;
}

impl IntoPyErr for BuildError {
    fn into_py_err(self, py: Python<'_>) -> PyErr {
        usage(py, self.to_string())
    }
}

impl IntoPyErr for TraceError {
    fn into_py_err(self, py: Python<'_>) -> PyErr {
        let kind = match &self {
            TraceError::Interrupted => return PyKeyboardInterrupt::new_err(()),
            TraceError::Io { source, .. } if source.kind() == std::io::ErrorKind::OutOfMemory => {
                return PyMemoryError::new_err(self.to_string());
            }
            TraceError::Write { path, source }
                if path.as_os_str() == "-" && source.kind() != std::io::ErrorKind::BrokenPipe =>
            {
                return error(py, ErrorClass::Output, format!("standard output: {source}"));
            }
            // The reader has gone, of a pipe or of standard output: nothing is wrong with the
            // output.
            TraceError::Write { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe => {
                return PyBrokenPipeError::new_err(self.to_string());
            }
            TraceError::Usage { .. } => ErrorClass::Usage,
            TraceError::Data { .. }
            | TraceError::Truncated { .. }
            | TraceError::TooManyErrors { .. } => ErrorClass::Data,
            TraceError::Missing { .. } | TraceError::Io { .. } => ErrorClass::Missing,
            TraceError::Write { .. } => ErrorClass::Output,
            TraceError::BeyondWindow => ErrorClass::Internal,
        };
        error(py, kind, self.to_string())
    }
}

impl IntoPyErr for RunError {
    fn into_py_err(self, py: Python<'_>) -> PyErr {
        match self {
            RunError::Build(inner) => inner.into_py_err(py),
            RunError::Impossible(message) => usage(py, message),
            bug @ RunError::Bug(_) => error(py, ErrorClass::Internal, bug.to_string()),
            RunError::Broken(message) => error(py, ErrorClass::Check, message),
            RunError::Interrupted => PyKeyboardInterrupt::new_err(()),
        }
    }
}

/// `result` with its error as an exception.
pub fn raise<T, E: IntoPyErr>(py: Python<'_>, result: Result<T, E>) -> PyResult<T> {
    result.map_err(|e| e.into_py_err(py))
}

/// `result`, whose error is a message about what the user asked for.
pub fn raise_usage<T>(py: Python<'_>, result: Result<T, String>) -> PyResult<T> {
    result.map_err(|message| usage(py, message))
}
