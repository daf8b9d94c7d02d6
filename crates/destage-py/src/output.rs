//! A file of a trace that Python writes line by line: compressed by its name, whole at the end.

use crate::errors::{ErrorClass, error, raise};
use destage_trace::convert::Output;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// See the module.
#[pyclass(frozen, module = "destage._destage")]
pub struct TraceOutput(Mutex<Option<Output>>);

impl TraceOutput {
    fn with<T>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Output) -> destage_trace::Result<T>,
    ) -> PyResult<T> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = || error(py, ErrorClass::Internal, "the output is closed");
        raise(py, act(output.as_mut().ok_or_else(ended)?))
    }
}

#[pymethods]
impl TraceOutput {
    /// A file under a temporary name beside `path`.
    #[new]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(TraceOutput(Mutex::new(Some(raise(py, Output::create(&path))?))))
    }

    /// Writes bytes.
    fn put(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        self.with(py, |output| output.put(bytes))
    }

    /// Hands everything over to the system; the size of the file so far.
    fn sync(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, Output::sync)
    }

    /// Writes the last bytes and gives the file its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let output = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        output.map_or(Ok(()), |output| raise(py, output.finish()))
    }

    /// Removes what was written.
    fn discard(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
