//! Steps of requests on a device: what fio does to one (`docs/spec/fit.md` 10).

use crate::drive::Drive;
use crate::errors::{ErrorClass, error, raise, usage};
use crate::interruptible::{Watch, follow};
use destage_replay::steps::{Step, play};
use pyo3::prelude::*;

/// Plays steps, a JSON array, on a copy of the device at time 0; their latencies as a JSON array.
#[pyfunction]
#[pyo3(signature = (device, steps, progress = None))]
pub fn play_steps(
    py: Python<'_>,
    device: &Drive,
    steps: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let steps: Result<Vec<Step>, _> = serde_json::from_str(steps);
    let steps = steps.map_err(|e| usage(py, format!("steps of requests: {e}")))?;
    let watch = Watch::default();
    let played = follow(py, progress.as_ref(), &watch, |watch| {
        let mounted = device.mounted(watch)?;
        let mut simulated = mounted.device.lend();
        watch.enter("measuring", steps.iter().map(|step| step.requests).sum());
        play(&mut simulated, &steps, &watch.control)
    })?;
    // A value of serde_json has no numbers of 128 bits.
    let json = serde_json::to_string(&raise(py, played)?);
    json.map_err(|e| error(py, ErrorClass::Internal, format!("steps of requests: {e}")))
}
