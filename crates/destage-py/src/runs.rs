//! Runs: many side by side, or one with everything recorded.

use crate::convert::value_of;
use crate::drive::Drive;
use crate::errors::{Kind, error, raise, raise_usage, usage};
use crate::follow::{Watch, follow};
use crate::trace::Trace;
use destage_engine::cost::Cost;
use destage_engine::error::RunError;
use destage_engine::input::Input;
use destage_engine::mrc::{MrcOptions, Sampling, planned_accesses};
use destage_engine::padding::Padding;
use destage_engine::result::{METRICS, ResultSet, RunResult, SCHEMA_VERSION};
use destage_engine::run::{RunOptions, compare_each, needs_next_use, runs_of, supplies};
use destage_engine::sizes::{CacheSize, Frames};
use destage_engine::spec::{PolicySpec, json_of};
use destage_engine::warmup::Warmup;
use destage_policies::MOST_PAGES_PER_BLOCK;
use destage_policies::params::Value as Param;
use destage_trace::TraceError;
use destage_trace::next_use::NextUse;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A policy's name and the parameters given, as JSON.
type Spec = (String, String);

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
    let params: Map<String, Value> =
        serde_json::from_str(params).map_err(|e| usage(py, format!("{name}: parameters: {e}")))?;
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
    options_of(py, options).map(|_| ())
}

/// Raises if a run with or without a device does not supply what a policy needs.
#[pyfunction]
pub fn check_needs(py: Python<'_>, name: &str, params: &str, has_device: bool) -> PyResult<()> {
    raise(py, supplies(&policy_spec(py, name, params)?, has_device))
}

/// Cache sizes made definite for this trace, as JSON; raises if one is none.
#[pyfunction]
pub fn resolve_sizes(py: Python<'_>, trace: &Trace, sizes: &str) -> PyResult<String> {
    Ok(json!(frames_of(py, trace, sizes)?).to_string())
}

/// Options of a run out of JSON.
pub fn run_options(py: Python<'_>, trace: &Trace, text: &str) -> PyResult<RunOptions> {
    let options = options_of(py, text)?;
    if matches!(options.warmup, Warmup::Nanos(_)) && !trace.trace.meta().clock.timed {
        return Err(usage(
            py,
            "warm-up by time: the trace has no times; give per cent or requests (10%, 100000r)",
        ));
    }
    Ok(options)
}

fn options_of(py: Python<'_>, text: &str) -> PyResult<RunOptions> {
    let map: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| usage(py, format!("options: {e}")))?;
    let flag = |key: &str| map.get(key).and_then(Value::as_bool).unwrap_or(false);
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    let whole = |key: &str, max: u64| match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(found) => match found.as_u64().filter(|pages| (1..=max).contains(pages)) {
            Some(pages) => Ok(Some(pages)),
            None => {
                let range = if max == u64::MAX { ">= 1".into() } else { format!("1..{max}") };
                Err(usage(py, format!("{key}: expected an integer {range}, pages, got {found}")))
            }
        },
    };
    let warmup = match map.get("warmup") {
        // An earlier result has it as the schema does.
        Some(Value::Object(o)) => serde_json::from_value(Value::Object(o.clone()))
            .map_err(|e| usage(py, format!("warmup: {e}")))?,
        _ => raise_usage(py, text("warmup").map_or(Ok(Warmup::None), Warmup::parse))?,
    };
    Ok(RunOptions {
        warmup,
        fetch_on_write_miss: flag("fetch_on_write_miss"),
        flush_at_end: flag("flush_at_end"),
        check: flag("check"),
        cost: text("cost").map(|c| raise_usage(py, Cost::parse(c))).transpose()?,
        pages_per_block: whole("pages_per_block", MOST_PAGES_PER_BLOCK.into())?
            .map(|pages| pages as u32), // it is in range
        device_pages: whole("device_pages", u64::MAX)?,
        profile: flag("profile"),
        drive: None,
    })
}

/// The run as JSON, its metrics with it.
fn run_json(run: &RunResult) -> Value {
    let metrics: Map<String, Value> =
        METRICS.iter().map(|m| (m.name.to_owned(), json!((m.value)(run)))).collect();
    let mut run = json!(run);
    run["metrics"] = metrics.into();
    run
}

/// A result set as JSON.
pub fn set_json(trace: &Trace, drive: Option<&Drive>, runs: &[RunResult]) -> Value {
    let mut set = json!(ResultSet::new(trace.identity(), Vec::new()));
    if let Some(drive) = drive {
        set["device"] = drive.drive.to_json();
    }
    // What reading counted belongs to the result: malformed lines that were skipped, and the like.
    set["reading"] = trace.trace.meta().summary.clone();
    set["runs"] = runs.iter().map(run_json).collect();
    set
}

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
            "the trace was opened with pages of {found} bytes, those of the drive {} have \
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
    let options = run_options(py, trace, options)?;
    check_pages(py, trace, drive)?;
    let watch = Watch::default();
    let finished = std::sync::Mutex::new(Vec::new());
    let outcome = follow(py, progress.as_ref(), &watch, |mut watch| {
        let uses = looked_ahead(trace, &specs, &mut watch).map_err(Failed::Trace)?;
        let options = mount(drive, &options, watch).map_err(Failed::Run)?;
        let input = Input::new(&trace.trace, uses.as_deref());
        let runs: usize = specs.iter().map(|spec| runs_of(spec, sizes.len())).sum();
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
                partial.call1(py, (set_json(trace, drive, &runs).to_string(),))?;
            }
            return Err(raised);
        }
    }
    Ok(set_json(trace, drive, &runs).to_string())
}

/// Next uses, if a policy of the run needs them.
pub fn looked_ahead(
    trace: &Trace,
    specs: &[PolicySpec],
    watch: &mut &Watch,
) -> Result<Option<Arc<NextUse>>, TraceError> {
    needs_next_use(specs).then(|| trace.trace.next_uses_with(watch)).transpose()
}

/// Reads a result set and gives it back with the metrics of its runs made again.
#[pyfunction]
pub fn read_result(py: Python<'_>, text: &str, name: &str) -> PyResult<String> {
    let wrong = |what: String| error(py, Kind::Data, format!("{name}: {what}"));
    let set: Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    if set["schema"] != "destage.results" {
        return Err(wrong("expected results of destage (\"schema\": \"destage.results\")".into()));
    }
    if set["schema_version"] != SCHEMA_VERSION {
        let version = &set["schema_version"];
        return Err(wrong(format!(
            "schema version {version}: this destage reads {SCHEMA_VERSION}"
        )));
    }
    let mut json = set.clone();
    let set: ResultSet = serde_json::from_value(set).map_err(|e| wrong(e.to_string()))?;
    json["runs"] = set.runs.iter().map(run_json).collect();
    Ok(json.to_string())
}

/// Curves of hit ratio over cache size, as JSON: `{"trace": ..., "mrc": ...}`.
#[pyfunction]
#[pyo3(signature = (trace, specs, sizes, options, sample, seed, jobs, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn mrc(
    py: Python<'_>,
    trace: &Trace,
    specs: Vec<Spec>,
    sizes: &str,
    options: &str,
    sample: Option<f64>,
    seed: u64,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let specs: Vec<PolicySpec> = specs
        .iter()
        .map(|(name, params)| policy_spec(py, name, params))
        .collect::<PyResult<_>>()?;
    let sizes = frames_of(py, trace, sizes)?;
    let options = MrcOptions {
        run: run_options(py, trace, options)?,
        page_bytes: trace.trace.page_bytes(),
        sampling: sample.map(|rate| raise_usage(py, Sampling::new(rate, seed))).transpose()?,
        jobs,
    };
    let watch = Watch::default();
    let curves = follow(py, progress.as_ref(), &watch, |mut watch| {
        let uses = match options.sampling {
            None => looked_ahead(trace, &specs, &mut watch).map_err(Failed::Trace)?,
            Some(_) => None,
        };
        let accesses = trace.trace.accesses();
        watch.enter("replaying", planned_accesses(accesses, &specs, &sizes, &options));
        let input = Input::new(&trace.trace, uses.as_deref());
        destage_engine::mrc::mrc(&input, &specs, &sizes, &options, &watch.control)
            .map_err(Failed::Run)
    })?;
    Ok(json!({ "trace": trace.identity(), "mrc": raise(py, curves)? }).to_string())
}

/// What padding does, of one policy at one cache size without a device, as JSON.
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
        let uses = looked_ahead(trace, specs, &mut watch).map_err(Failed::Trace)?;
        watch.enter("replaying", trace.trace.accesses());
        let input = Input::new(&trace.trace, uses.as_deref());
        Padding::of(&input, &spec, frames, pages_per_block, &watch.control).map_err(Failed::Run)
    })?;
    Ok(json!(raise(py, found)?).to_string())
}
