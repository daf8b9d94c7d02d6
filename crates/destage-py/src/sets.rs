//! Result sets: what the engine writes of a call, with what the trace says of itself.

use crate::drive::Drive;
use crate::errors::{ErrorClass, error};
use crate::trace::Trace;
use destage_engine::result::{ResultSet, RunResult};
use pyo3::prelude::*;

/// The commit that this was built from; empty where the build did not know it.
pub const COMMIT: &str = match option_env!("DESTAGE_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "",
};

/// A result set as JSON.
pub fn set_json(trace: &Trace, drive: Option<&Drive>, runs: Vec<RunResult>) -> String {
    let set = ResultSet {
        device: drive.map(|drive| drive.drive.to_json()),
        reading: Some(trace.trace.meta().summary.clone()),
        commit: Some(COMMIT.to_owned()).filter(|commit| !commit.is_empty()),
        ..ResultSet::new(trace.identity(), runs)
    };
    set.to_json()
}

/// Reads a result set and gives it back with all that follows from its runs made again.
#[pyfunction]
pub fn read_result(py: Python<'_>, text: &str, name: &str) -> PyResult<String> {
    let set = ResultSet::from_json(text);
    Ok(set.map_err(|what| error(py, ErrorClass::Data, format!("{name}: {what}")))?.to_json())
}

/// A set that was put together from several, with all that follows from its runs made again.
#[pyfunction]
pub fn assembled(py: Python<'_>, text: &str) -> PyResult<String> {
    let set = ResultSet::from_json(text);
    Ok(set.map_err(|what| error(py, ErrorClass::Internal, what))?.to_json())
}
