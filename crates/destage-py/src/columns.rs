//! Long columns of counts as a Parquet file in memory.

use crate::errors::{ErrorClass, error};
use destage_table::{Counts, counts_bytes};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;

/// Curves under each other as the bytes of a file: `curves` has each curve's label and its number
/// of sizes, from one page on. Columns: `policy`, `cache_pages`, then those given (64 bits a count,
/// lowest byte first).
#[pyfunction]
pub fn counts_parquet<'py>(
    py: Python<'py>,
    curves: Vec<(String, usize)>,
    columns: Vec<Counts<PyBackedBytes>>,
    metadata: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| counts_bytes(&curves, &columns, metadata));
    let bytes = bytes.map_err(|e| error(py, ErrorClass::Internal, e.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}
