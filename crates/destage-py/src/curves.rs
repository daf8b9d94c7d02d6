//! Curves over cache sizes, and what padding does.

use crate::arguments::{Spec, frames_of, policy_spec, run_options};
use crate::compare::{Failed, looked_ahead};
use crate::errors::{raise, raise_usage, usage};
use crate::interruptible::{Watch, follow};
use crate::trace::Trace;
use destage_engine::options::{RunOptions, Trim};
use destage_engine::padding::Padding;
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_mrc::{ControlVariate, Mrc, MrcOptions, Sampling, Within, planned_accesses};
use destage_replay::input::Input;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::sync::{Mutex, PoisonError};

/// A column over every cache size from one frame on: an unsigned 64-bit number each, lowest byte
/// first.
type Column = Py<PyBytes>;

/// Page accesses that were counted; hits, flash reads and flash writes at every size.
type Every = (u64, Column, Column, Option<Column>);

fn column(py: Python<'_>, counts: &[u64]) -> PyResult<Column> {
    let bytes = PyBytes::new_with(py, 8 * counts.len(), |bytes| {
        for (out, count) in bytes.chunks_exact_mut(8).zip(counts) {
            out.copy_from_slice(&count.to_le_bytes());
        }
        Ok(())
    })?;
    Ok(bytes.unbind())
}

/// Raises if one pass does not tell of every size of a policy, with these options.
#[pyfunction]
pub fn check_every_size(py: Python<'_>, spec: Spec, options: &str) -> PyResult<()> {
    let spec = policy_spec(py, &spec.0, &spec.1)?;
    let options = raise_usage(py, RunOptions::from_json(options))?;
    let why = |why| usage(py, format!("cache all: {} {why}", spec.label()));
    destage_mrc::one_pass(&spec, &options).map_err(why)
}

/// Curves of hit ratio over cache size, as JSON: `{"trace": ..., "mrc": ...}`; and, by the place of
/// the curve, what one pass over the whole trace tells of every size.
///
/// If a signal ends the call, `partial` is called with the same of the points that were known by
/// then, if there are any, how many passes and runs had ended, and how many there were to be.
#[pyfunction]
#[pyo3(signature = (
    trace, specs, sizes, every_size, options, sample, within, has_lru_control, seed, jobs,
    progress = None, partial = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn mrc(
    py: Python<'_>,
    trace: &Trace,
    specs: Vec<Spec>,
    sizes: &str,
    every_size: bool,
    options: &str,
    sample: Option<f64>,
    within: Option<f64>,
    has_lru_control: bool,
    seed: u64,
    jobs: usize,
    progress: Option<Py<PyAny>>,
    partial: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<(usize, Every)>)> {
    let specs: Vec<PolicySpec> = specs
        .iter()
        .map(|(name, params)| policy_spec(py, name, params))
        .collect::<PyResult<_>>()?;
    let sizes = frames_of(py, trace, sizes)?;
    let options = MrcOptions {
        run: run_options(py, trace, options, None)?,
        page_bytes: trace.trace.page_bytes(),
        every_size,
        sampling: sample.map(|rate| raise_usage(py, Sampling::new(rate, seed))).transpose()?,
        within: within.map(|error| raise_usage(py, Within::new(error, seed))).transpose()?,
        control: has_lru_control.then_some(ControlVariate::Lru),
        jobs,
    };
    let watch = Watch::default();
    let found = Mutex::new(None);
    let outcome = follow(py, progress.as_ref(), &watch, |watch| {
        let curves = drawn(trace, &specs, &sizes, &options, watch)?;
        // Not returned: `follow` drops what comes back after a signal.
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(curves);
        Ok::<_, Failed>(())
    });
    let curves = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let raised = match outcome {
        Ok(outcome) => {
            raise(py, outcome)?;
            None
        }
        Err(raised) => Some(raised),
    };
    match (curves, raised) {
        (Some(curves), None) => json_of(py, trace, &curves),
        (curves, Some(raised)) => {
            if let (Some(partial), Some(curves)) = (partial, curves) {
                let (text, every_size) = json_of(py, trace, &curves)?;
                let ended = curves.tasks - curves.unfinished;
                partial.call1(py, (text, every_size, ended, curves.tasks))?;
            }
            Err(raised)
        }
        (None, None) => unreachable!("work that ends without an error has curves"),
    }
}

/// Looks ahead if a policy needs it, and draws the curves.
fn drawn(
    trace: &Trace,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
    mut watch: &Watch,
) -> Result<Mrc, Failed> {
    let uses = match options.sampling {
        None => {
            let trim = options.run.trims(None);
            looked_ahead(trace, specs, trim, &mut watch).map_err(Failed::Trace)?
        }
        Some(_) => None,
    };
    let accesses = trace.trace.accesses();
    watch.enter("replaying", planned_accesses(accesses, specs, sizes, options));
    let input = Input::new(&trace.trace, uses.as_deref());
    destage_mrc::mrc(&input, specs, sizes, options, &watch.control).map_err(Failed::Run)
}

/// Curves as Python takes them.
fn json_of(py: Python<'_>, trace: &Trace, curves: &Mrc) -> PyResult<(String, Vec<(usize, Every)>)> {
    let mut every_size = Vec::new();
    for (place, curve) in curves.curves.iter().enumerate() {
        if let Some(every) = &curve.every_size {
            let [hits, reads] = [&every.hits, &every.physical_reads].map(|c| column(py, c));
            let writes = every.physical_writes.as_ref().map(|c| column(py, c)).transpose()?;
            every_size.push((place, (every.accesses, hits?, reads?, writes)));
        }
    }
    Ok((json!({ "trace": trace.identity(), "mrc": curves }).to_string(), every_size))
}

/// Padding of one policy at one cache size without a device, as JSON.
#[pyfunction]
#[pyo3(signature = (trace, spec, sizes, pages_per_block, progress = None))]
pub fn padding(
    py: Python<'_>,
    trace: &Trace,
    spec: Spec,
    sizes: &str,
    pages_per_block: u32,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let spec = policy_spec(py, &spec.0, &spec.1)?;
    let sizes = frames_of(py, trace, sizes)?;
    let [frames] = &sizes[..] else {
        return Err(usage(py, format!("cache: expected one size, found {}", sizes.len())));
    };
    let watch = Watch::default();
    let found = follow(py, progress.as_ref(), &watch, |mut watch| {
        let specs = std::slice::from_ref(&spec);
        let uses = looked_ahead(trace, specs, Trim::Ignore, &mut watch).map_err(Failed::Trace)?;
        watch.enter("replaying", trace.trace.accesses());
        let input = Input::new(&trace.trace, uses.as_deref());
        Padding::of(&input, &spec, frames, pages_per_block, &watch.control).map_err(Failed::Run)
    })?;
    Ok(json!(raise(py, found)?).to_string())
}
