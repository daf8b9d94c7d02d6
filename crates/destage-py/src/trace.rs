//! Decoded traces: opened, made, described, converted; and the folder they are kept in.

use crate::errors::{raise, raise_usage, usage};
use crate::interruptible::{Watch, follow};
use destage_engine::result::TraceIdentity;
use destage_engine::sizes;
use destage_keys::Field;
use destage_profile::info::TraceInfo;
use destage_profile::profile::{ProfileOptions, TraceProfile};
use destage_synth::{KINDS, PARAMETERS, PRESETS, Workload, open_workload, takes};
use destage_trace::convert as export;
use destage_trace::convert::{ConvertOptions, TARGETS};
use destage_trace::options::{TimeOrigin, TimeUnit};
use destage_trace::stream::with_stream;
use destage_trace::{Cache, CacheOptions, DecodeOptions, Extent, NO_RESPONSE, ReaderOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// A decoded trace, mapped into memory, and what it was made from.
#[pyclass(frozen, module = "destage._destage")]
pub struct Trace {
    /// Columns.
    pub trace: Arc<destage_trace::Trace>,
    /// Source files, in the user's spelling.
    pub sources: Vec<String>,
    /// Decoding options.
    pub options: Value,
}

impl Trace {
    /// Identity of the trace, for results.
    pub fn identity(&self) -> TraceIdentity {
        let identity = TraceIdentity::of(&self.trace, self.options.clone());
        // As they were given, so that `rerun` finds them; the trace keeps names only.
        TraceIdentity { sources: self.sources.clone(), ..identity }
    }
}

#[pymethods]
impl Trace {
    /// Identity, as JSON.
    #[pyo3(name = "identity")]
    fn identity_json(&self) -> String {
        text_of(&self.identity())
    }

    /// Everything but the columns, as JSON.
    fn meta(&self) -> String {
        text_of(self.trace.meta())
    }

    /// The same as JSON with the number of volumes, the first one's name and the sum of their spans
    /// in place of the volumes: little, however many there are.
    fn overview(&self) -> String {
        let meta = self.trace.meta();
        let volumes = json!({
            "count": meta.devices.len(),
            "first": meta.devices.first().map(|volume| &volume.name),
            "span_bytes": meta.devices.iter().map(|volume| volume.span_bytes).sum::<u64>(),
        });
        text_of(&json!({
            "page_bytes": meta.page_bytes,
            "sources": meta.sources,
            "volumes": volumes,
            "counts": meta.counts,
            "clock": meta.clock,
            "wrap": meta.wrap,
            "summary": meta.summary,
            "fingerprint": meta.fingerprint,
        }))
    }

    /// The page behind the highest one: what a drive has to have.
    #[getter]
    fn end_page(&self) -> u64 {
        self.trace.lpns().last().map_or(0, |last| last + 1)
    }

    /// Whether it was decoded by an earlier run.
    #[getter(from_cache)]
    fn is_from_cache(&self) -> bool {
        self.trace.from_cache()
    }

    /// Columns of `count` rows from `start` on, in the machine's bytes: arrivals (u64, ns), first
    /// pages (u64), pages (u32), whether it is a write (u8).
    fn rows<'py>(&self, py: Python<'py>, start: usize, count: usize) -> [Bound<'py, PyBytes>; 4] {
        let trace = &self.trace;
        let end = start.saturating_add(count).min(trace.first_ids().len());
        let rows = start.min(end)..end;
        let extents = || trace.pages_ops()[rows.clone()].iter().map(|&packed| Extent(packed));
        let lpns = trace.lpns();
        let firsts = trace.first_ids()[rows.clone()].iter();
        let bytes = |list: Vec<u8>| PyBytes::new(py, &list);
        [
            bytes(trace.arrivals_ns()[rows.clone()].iter().flat_map(|t| t.to_ne_bytes()).collect()),
            bytes(firsts.flat_map(|&id| lpns[id as usize].to_ne_bytes()).collect()),
            bytes(extents().flat_map(|extent| extent.pages().to_ne_bytes()).collect()),
            bytes(extents().map(|extent| u8::from(extent.is_write())).collect()),
        ]
    }

    /// Statistics of the trace, as JSON; reads every access.
    #[pyo3(signature = (progress = None))]
    fn info(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<String> {
        let watch = Watch::default();
        let info = follow(py, progress.as_ref(), &watch, |mut watch| {
            TraceInfo::of(&self.trace, &mut watch)
        })?;
        Ok(text_of(&raise(py, info)?))
    }

    /// The papers' pictures of it, as JSON; looks at every access.
    #[pyo3(signature = (options, progress = None))]
    fn profile(
        &self,
        py: Python<'_>,
        options: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let options: ProfileOptions = serde_json::from_str(options)
            .map_err(|e| usage(py, format!("options of a profile: {e}")))?;
        let watch = Watch::default();
        let profile = follow(py, progress.as_ref(), &watch, |mut watch| {
            TraceProfile::of(&self.trace, &options, &mut watch)
        })?;
        Ok(text_of(&raise(py, profile)?))
    }
}

/// As JSON, without a tree of values in between: of many volumes it takes a kilobyte each.
fn text_of(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("plain data becomes JSON")
}

fn object(py: Python<'_>, text: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(text).map_err(|e| usage(py, format!("options: {e}")))
}

/// Where decoded traces and prepared drives are kept, if they are.
pub fn cache_options(keep: bool) -> CacheOptions {
    if keep { CacheOptions::default() } else { CacheOptions::off() }
}

/// Bytes of a size such as `4096` or `4KiB`.
#[pyfunction]
pub fn page_bytes(py: Python<'_>, text: &str) -> PyResult<u64> {
    raise_usage(py, sizes::parse_bytes(text).map_err(|e| format!("page size: {e}")))
}

/// Page size, and what a drive asks for: page numbers modulo its pages, spans of whole blocks.
pub fn decode_options(
    py: Python<'_>,
    page_size: Option<&str>,
    wrap_pages: Option<u64>,
    span_align_bytes: Option<u64>,
) -> PyResult<DecodeOptions> {
    let page_bytes = page_size.map(|text| page_bytes(py, text)).transpose()?;
    let mut options = DecodeOptions { page_bytes, wrap_pages, ..DecodeOptions::default() };
    options.span_align_bytes = span_align_bytes.unwrap_or(options.span_align_bytes);
    raise(py, options.check())?;
    Ok(options)
}

/// Options to decode the trace again.
pub fn decoded_with(
    mut options: Value,
    trace: &destage_trace::Trace,
    decode: &DecodeOptions,
) -> Value {
    options["page_bytes"] = trace.page_bytes().into();
    if let Some(pages) = decode.wrap_pages {
        options["wrap_pages"] = pages.into();
    }
    if decode.span_align_bytes != DecodeOptions::default().span_align_bytes {
        options["span_align_bytes"] = decode.span_align_bytes.into();
    }
    options
}

/// Reads and decodes files as one trace, or maps it from the cache; also returns notes.
#[pyfunction]
#[pyo3(signature = (
    paths, options, page_size, keep, progress = None, wrap_pages = None, span_align_bytes = None
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn open_trace(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    options: &str,
    page_size: Option<&str>,
    keep: bool,
    progress: Option<Py<PyAny>>,
    wrap_pages: Option<u64>,
    span_align_bytes: Option<u64>,
) -> PyResult<(Trace, Vec<String>)> {
    let reader = raise(py, ReaderOptions::from_map(&object(py, options)?))?;
    let decode = decode_options(py, page_size, wrap_pages, span_align_bytes)?;
    let watch = Watch::default();
    let cache = cache_options(keep);
    let opened = follow(py, progress.as_ref(), &watch, |mut watch| {
        destage_trace::open_trace(&paths, &reader, &decode, &cache, &mut watch)
    })?;
    let trace = raise(py, opened)?;
    let sources = paths.iter().map(|p| p.display().to_string()).collect();
    let files = trace.meta().summary.get("files").and_then(Value::as_array);
    let formats = files.into_iter().flatten().filter_map(|file| file.get("format")?.as_str());
    let applied = reader.applied_to(formats);
    let options = decoded_with(json!({ "reader": applied }), &trace, &decode);
    Ok((Trace { trace, sources, options }, watch.take_notes()))
}

/// Makes and decodes a workload, or maps it from the cache; also returns notes.
#[pyfunction]
#[pyo3(signature = (workload, page_size, keep, progress = None, wrap_pages = None))]
pub fn synth(
    py: Python<'_>,
    workload: &str,
    page_size: Option<&str>,
    keep: bool,
    progress: Option<Py<PyAny>>,
    wrap_pages: Option<u64>,
) -> PyResult<(Trace, Vec<String>)> {
    let workload = raise(py, Workload::from_map(&object(py, workload)?))?;
    let mut decode = decode_options(py, page_size, wrap_pages, None)?;
    decode.page_bytes.get_or_insert(workload.page_bytes);
    let watch = Watch::default();
    let cache = cache_options(keep);
    let made = follow(py, progress.as_ref(), &watch, |mut watch| {
        open_workload(&workload, &decode, &cache, &mut watch)
    })?;
    let trace = raise(py, made)?;
    let sources = vec![format!("synth {}", workload.kind.name())];
    let options = decoded_with(json!({ "synth": workload.to_map() }), &trace, &decode);
    Ok((Trace { trace, sources, options }, watch.take_notes()))
}

/// Kinds, presets and parameters of workloads, as JSON.
#[pyfunction]
pub fn workloads() -> String {
    let kinds: Vec<Value> =
        KINDS.iter().map(|(name, _, about)| json!({ "name": name, "about": about })).collect();
    let describe = |parameter: &Field<Workload>| {
        let key = &parameter.key;
        json!({
            "key": key.name,
            "unit": key.unit,
            "range": takes(key),
            "default": key.default.to_string(),
            "about": key.about,
            "source": key.source,
            "kinds": key.of,
        })
    };
    let parameters: Vec<Value> = PARAMETERS.iter().map(describe).collect();
    json!({ "kinds": kinds, "presets": PRESETS, "parameters": parameters }).to_string()
}

/// The cache folder and what is in it, as JSON.
#[pyfunction]
pub fn trace_cache(py: Python<'_>) -> PyResult<String> {
    let cache = raise(py, Cache::new(&CacheOptions::default()))?;
    let entries = raise(py, cache.entries())?;
    let dir = cache.dir().display().to_string();
    Ok(json!({ "dir": dir, "limit_bytes": cache.limit_bytes(), "entries": entries }).to_string())
}

/// Empties the cache folder; returns files and bytes removed.
#[pyfunction]
pub fn trace_cache_clear(py: Python<'_>) -> PyResult<(u64, u64)> {
    let removed = raise(py, raise(py, Cache::new(&CacheOptions::default()))?.clear())?;
    Ok((removed.files, removed.bytes))
}

/// The first requests, as JSON: in the order of the run, on the clock that the options choose.
#[pyfunction]
pub fn trace_head(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    options: &str,
    count: usize,
) -> PyResult<String> {
    let reader = raise(py, ReaderOptions::from_map(&object(py, options)?))?;
    let absolute = reader.time_origin == TimeOrigin::Absolute;
    let watch = Watch::default();
    let head = follow(py, None, &watch, |watch| {
        with_stream(&paths, &reader, watch.reading(), |stream| {
            let (mut rows, mut batch, mut origin_ns) = (Vec::new(), Vec::new(), None);
            while rows.len() < count && stream.next_batch(&mut batch)? {
                for record in batch.iter().take(count - rows.len()) {
                    let origin =
                        *origin_ns.get_or_insert(if absolute { 0 } else { record.time_ns });
                    rows.push(json!({
                        "time_ns": record.time_ns - origin,
                        "volume": stream.devices().name(record.device),
                        "op": record.op,
                        "offset_bytes": record.offset_bytes,
                        "length_bytes": record.length_bytes,
                        "response_ns":
                            (record.response_ns != NO_RESPONSE).then_some(record.response_ns),
                    }));
                }
            }
            Ok(Value::from(rows).to_string())
        })
    })?;
    raise(py, head)
}

/// Formats that can be written, as JSON.
#[pyfunction]
pub fn convert_targets() -> String {
    json!(TARGETS).to_string()
}

/// Writes a trace in another format; returns what was written, as JSON.
#[pyfunction]
#[pyo3(signature = (paths, options, to, destination, lossy, time_unit = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python, one layer up")]
pub fn convert(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    options: &str,
    to: &str,
    destination: PathBuf,
    lossy: bool,
    time_unit: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let reader = raise(py, ReaderOptions::from_map(&object(py, options)?))?;
    let target = raise(py, export::find(to))?;
    let convert_options = ConvertOptions {
        lossy,
        absolute_time: reader.time_origin == TimeOrigin::Absolute,
        time_unit: time_unit.map(|text| time_unit_of(py, text)).transpose()?,
        ..ConvertOptions::default()
    };
    let watch = Watch::default();
    let written = follow(py, progress.as_ref(), &watch, |mut watch| {
        with_stream(&paths, &reader, watch.reading(), |stream| {
            let formats: Vec<&str> = stream.formats().iter().map(|f| f.1.name).collect();
            let source_format = formats.first().map(|f| (*f).to_owned());
            let options = ConvertOptions { source_format, ..convert_options.clone() };
            export::convert(stream, target, &destination, &options, &mut watch)
        })
    })?;
    Ok(json!(raise(py, written)?).to_string())
}

fn time_unit_of(py: Python<'_>, text: &str) -> PyResult<TimeUnit> {
    let mut reader = ReaderOptions::default();
    raise(py, reader.set_text("time_unit", text))?;
    reader.time_unit.ok_or_else(|| usage(py, "time_unit: expected ns, us or ps"))
}

/// Writes a workload in a format; returns what was written, as JSON.
#[pyfunction]
#[pyo3(signature = (workload, to, destination, progress = None))]
pub fn convert_workload(
    py: Python<'_>,
    workload: &str,
    to: &str,
    destination: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let workload = raise(py, Workload::from_map(&object(py, workload)?))?;
    let target = raise(py, export::find(to))?;
    let options =
        ConvertOptions { source_format: Some("synth".into()), ..ConvertOptions::default() };
    let watch = Watch::default();
    let written = follow(py, progress.as_ref(), &watch, |mut watch| {
        export::convert(&mut workload.source()?, target, &destination, &options, &mut watch)
    })?;
    Ok(json!(raise(py, written)?).to_string())
}

/// Lets this process end with a sentence and status 65 where a decoded trace that it reads is cut
/// by somebody, in place of SIGBUS. For the command line.
#[pyfunction]
pub fn report_shrunk_files() -> PyResult<()> {
    destage_trace::report_shrunk_files().map_err(PyErr::from)
}
