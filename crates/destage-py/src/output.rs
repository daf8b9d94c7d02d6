//! A file of a recording that Python writes line by line: compressed by its name, whole at the end.

use crate::errors::{ErrorClass, error, raise};
use destage_trace::convert::Output;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// See the module.
#[pyclass(frozen, module = "destage._destage")]
pub struct TraceOutput(Mutex<Option<Output>>, Vec<PathBuf>);

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
    /// A file with the name `path.part` until it is finished.
    #[new]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let (output, left) = raise(py, Output::create_recording(&path))?;
        Ok(TraceOutput(Mutex::new(Some(output)), left))
    }

    /// Files that recordings to this path have left which were killed.
    #[getter]
    fn left(&self) -> Vec<PathBuf> {
        self.1.clone()
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

    /// After an error: gives the file its name with the part of it that can be read. Its bytes; 0
    /// if there is no such part, and then no file.
    fn keep_whole(&self, py: Python<'_>) -> PyResult<u64> {
        let output = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        output.map_or(Ok(0), |output| raise(py, output.keep_whole()))
    }

    /// Removes what was written.
    fn discard(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
