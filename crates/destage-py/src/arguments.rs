//! Arguments of a call: policies, cache sizes, options of its runs.

use crate::convert::value_of;
use crate::drive::Drive;
use crate::errors::{ErrorClass, error, raise, raise_usage, usage};
use crate::trace::Trace;
use destage_engine::option_table::RUN_OPTIONS;
use destage_engine::options::RunOptions;
use destage_engine::pin::{Addresses, Volume};
use destage_engine::run::{own_suits, suits, supplies};
use destage_engine::sizes::{CacheSize, Frames};
use destage_engine::spec::{PolicySpec, json_of, label, spelled};
use destage_policies::params::Value as Param;
use destage_replay::fill::Filled;
use destage_replay::input::Input;
use destage_replay::warmup::Warmup;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// A policy's name and the parameters given, as JSON.
pub type Spec = (String, String);

fn given(spec: &PolicySpec) -> Spec {
    let params: Map<String, Value> =
        spec.given.iter().map(|(k, v)| (k.clone(), json_of(v))).collect();
    (spec.name.to_owned(), Value::from(params).to_string())
}

/// Reads `lru,cflru[window_fraction=0.75]`.
#[pyfunction]
pub fn parse_policies(py: Python<'_>, text: &str) -> PyResult<Vec<Spec>> {
    Ok(raise(py, PolicySpec::parse_list(text))?.iter().map(given).collect())
}

/// Checks a policy's name and parameters, which are JSON.
#[pyfunction]
pub fn check_policy(py: Python<'_>, name: &str, params: &str) -> PyResult<Spec> {
    Ok(given(&policy_spec(py, name, params)?))
}

/// A policy out of its name and its parameters, which are JSON.
pub fn policy_spec(py: Python<'_>, name: &str, params: &str) -> PyResult<PolicySpec> {
    let params = params_of(py, name, params)?;
    let pairs: Result<Vec<(String, Param)>, String> = params
        .iter()
        .map(|(k, v)| Ok((k.clone(), value_of(v).map_err(|e| format!("{name}: {k}: {e}"))?)))
        .collect();
    raise(py, PolicySpec::new(name, raise_usage(py, pairs)?))
}

/// Cache sizes out of JSON: texts, or sizes of an earlier result (`{"frames": 8, "given": "10%"}`).
pub fn frames_of(py: Python<'_>, trace: &Trace, sizes: &str) -> PyResult<Vec<Frames>> {
    let sizes: Vec<Value> =
        serde_json::from_str(sizes).map_err(|e| usage(py, format!("cache: {e}")))?;
    let meta = trace.trace.meta();
    let mut all: Vec<Frames> = Vec::new();
    for size in sizes {
        match size {
            Value::String(text) => {
                let size = raise_usage(py, CacheSize::parse(&text))?;
                let frames = size.resolve(meta.page_bytes, meta.counts.unique_pages);
                all.extend(raise_usage(py, frames)?);
            }
            other => all
                .push(serde_json::from_value(other).map_err(|e| usage(py, format!("cache: {e}")))?),
        }
    }
    Ok(all)
}

/// Raises if sizes or options can be of no trace: known before one is opened.
#[pyfunction]
pub fn check_run(py: Python<'_>, sizes: &str, options: &str) -> PyResult<()> {
    let sizes: Vec<String> =
        serde_json::from_str(sizes).map_err(|e| usage(py, format!("cache: {e}")))?;
    for size in sizes {
        raise_usage(py, CacheSize::parse(&size))?;
    }
    raise_usage(py, RunOptions::from_json(options)).map(|_| ())
}

/// Raises if a run with or without a device does not supply what a policy needs.
#[pyfunction]
pub fn check_needs(py: Python<'_>, name: &str, params: &str, has_device: bool) -> PyResult<()> {
    raise(py, supplies(&policy_spec(py, name, params)?, has_device))
}

/// Raises if a policy, or one of one's own (of no name), and the drive exclude each other.
#[pyfunction]
pub fn check_suits(py: Python<'_>, spec: Option<Spec>, drive: &Drive) -> PyResult<()> {
    let device = &drive.drive.device;
    let suited = match &spec {
        None => own_suits(device),
        Some((name, params)) => {
            let params = raise(py, policy_spec(py, name, params)?.params(&[]))?;
            suits(name, &params, device)
        }
    };
    suited.map_err(|e| error(py, ErrorClass::Excluded, e.to_string()))
}

/// Cache sizes made definite for this trace, as JSON; raises if one is none.
#[pyfunction]
pub fn resolve_sizes(py: Python<'_>, trace: &Trace, sizes: &str) -> PyResult<String> {
    Ok(json!(frames_of(py, trace, sizes)?).to_string())
}

/// Requests before measurement with a warm-up `auto`, at least so many, and the pages of the
/// largest cache that is full by then (`Filled::of`), for runs with caches of so many frames.
#[pyfunction]
pub fn caches_full(
    py: Python<'_>,
    trace: &Trace,
    frames: Vec<u32>,
    drops_trims: bool,
    least_requests: u64,
) -> (u64, u64) {
    let input = Input::new(&trace.trace, None);
    let found = py.detach(|| Filled::of(&input, drops_trims, &frames, least_requests));
    (found.requests, found.pages)
}

/// Label of a policy with these parameters (JSON), as in tables and on the command line.
#[pyfunction]
#[pyo3(name = "label")]
pub fn label_of(py: Python<'_>, name: &str, params: &str) -> PyResult<String> {
    let params = params_of(py, name, params)?;
    Ok(label(name, params.iter().map(|(key, value)| (key.as_str(), spelled(value)))))
}

/// Parameters out of JSON.
pub fn params_of(py: Python<'_>, name: &str, params: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(params).map_err(|e| usage(py, format!("{name}: parameters: {e}")))
}

/// Every option of a run, as a JSON array.
#[pyfunction]
#[pyo3(name = "run_options")]
pub fn run_option_rows() -> String {
    json!(RUN_OPTIONS).to_string()
}

/// The addresses of a trace.
fn addresses_of(trace: &Trace) -> Addresses {
    let meta = trace.trace.meta();
    let volumes = meta.devices.iter().map(|device| Volume {
        name: device.name.clone(),
        base_lpn: device.base_lpn,
        span_pages: device.span_pages,
    });
    Addresses {
        volumes: volumes.collect(),
        page_bytes: meta.page_bytes,
        wrapped: meta.wrap.as_ref().map_or(0, |wrap| wrap.accesses),
    }
}

/// Options of a run over this trace, in front of this device, out of JSON.
pub fn run_options(
    py: Python<'_>,
    trace: &Trace,
    text: &str,
    drive: Option<&Drive>,
) -> PyResult<RunOptions> {
    let mut options = raise_usage(py, RunOptions::from_json(text))?;
    if matches!(options.warmup, Warmup::Nanos(_)) && !trace.trace.meta().clock.timed {
        return Err(usage(
            py,
            "warm-up by time: the trace has no times; give per cent or requests (10%, 100000r)",
        ));
    }
    options.tiers.page_bytes = Some(trace.trace.page_bytes());
    let found = options.tiers.find_pins(&addresses_of(trace), trace.trace.lpns());
    raise_usage(py, found)?;
    let frames = |key: &str, size: &Option<String>| -> PyResult<Option<u32>> {
        let Some(size) = size else { return Ok(None) };
        match frames_of(py, trace, &json!([size]).to_string())?.as_slice() {
            [size] => Ok(Some(size.frames)),
            _ => Err(usage(py, format!("{key}: expected one size, got {size}"))),
        }
    };
    options.tiers.tier2_frames = frames("tier2_cache", &options.tiers.tier2_cache)?;
    options.tiers.tier3_frames = frames("tier3_cache", &options.tiers.tier3_cache)?;
    if let Some(Drive { drive, .. }) = drive.filter(|_| options.tiers.tier2.is_some()) {
        let slot = trace.trace.page_bytes().div_ceil(drive.device.page_bytes.into());
        let slots = u64::from(drive.device.logical_pages) / slot;
        // At most the pages of a device, fewer than 2^32; a page of the trace may be larger.
        options.tiers.slot_pages = u32::try_from(slot).ok();
        let whole = u32::try_from(slots).ok().filter(|&slots| slots > 0);
        if options.tiers.slot_pages.is_none() || whole.is_none() {
            let page_bytes = trace.trace.page_bytes();
            return Err(usage(
                py,
                format!(
                    "tier2: the device {} is smaller than a page of {page_bytes} bytes",
                    drive.name
                ),
            ));
        }
        options.tiers.tier2_frames = options.tiers.tier2_frames.or(whole);
    }
    Ok(options)
}
