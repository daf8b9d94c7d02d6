//! A trace: read, decoded and described.

use destage_engine::sizes::parse_bytes;
use destage_trace::{CacheOptions, DecodeOptions, Extent, Hooks, ReaderOptions, Trace, open_trace};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// No thread beside this one.
struct Alone;

impl Hooks for Alone {
    fn threads(&self) -> Option<usize> {
        Some(0)
    }
}

/// Opens files as one trace; also its facts.
pub(crate) fn open(
    files: &[String],
    options: &Map<String, Value>,
    page_size: Option<&str>,
) -> Result<(Arc<Trace>, Value), String> {
    if files.is_empty() {
        return Err("expected at least one file, found none".to_owned());
    }
    let reader = ReaderOptions::from_map(options).map_err(|e| e.to_string())?;
    let size = page_size.map(parse_bytes).transpose().map_err(|e| format!("page size: {e}"))?;
    let decode = DecodeOptions { page_bytes: size, ..DecodeOptions::default() };
    let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let trace = open_trace(&paths, &reader, &decode, &CacheOptions::off(), &mut Alone)
        .map_err(|e| e.to_string())?;
    let facts = facts(&trace);
    Ok((trace, facts))
}

fn facts(trace: &Trace) -> Value {
    let meta = trace.meta();
    let counts = &meta.counts;
    json!({
        "files": meta.summary["files"],
        "warnings": meta.summary["warnings"],
        "notes": meta.summary["notes"],
        "fingerprint": meta.fingerprint,
        "page_bytes": meta.page_bytes,
        "requests": counts.requests,
        "reads": counts.reads,
        "accesses": counts.accesses,
        "write_accesses": counts.write_accesses,
        "unique_pages": counts.unique_pages,
        "seconds": seconds(trace),
    })
}

/// Time from the first to the last request; none in a trace without times.
fn seconds(trace: &Trace) -> Option<f64> {
    let arrivals = trace.arrivals_ns();
    let (first, last) = (arrivals.first()?, arrivals.last()?);
    trace.meta().clock.timed.then(|| (last - first) as f64 / 1e9)
}

/// The first accesses, `r12 w3`, by the trace's page numbers.
pub(crate) fn head(trace: &Trace, accesses: usize) -> String {
    let rows = trace.first_ids().iter().zip(trace.pages_ops());
    let pages = rows.flat_map(|(&first, &packed)| {
        let extent = Extent(packed);
        let letter = if extent.is_write() { 'w' } else { 'r' };
        (first..first + extent.pages()).map(move |id| (letter, trace.lpns()[id as usize]))
    });
    let words: Vec<String> =
        pages.take(accesses).map(|(letter, page)| format!("{letter}{page}")).collect();
    words.join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A sample that the tests of readers have.
    pub(crate) fn sample(name: &str) -> Result<(Arc<Trace>, Value), String> {
        let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
        open(&[path], &Map::new(), None)
    }

    #[test]
    fn a_trace_is_described_as_its_file_is() {
        let (trace, facts) = sample("msr.csv").expect("it is read");
        assert_eq!(facts["files"][0]["format"], "msr");
        assert_eq!(facts["page_bytes"], 4096);
        assert_eq!(facts["requests"].as_u64(), Some(trace.requests()));
        let head = head(&trace, 5);
        assert_eq!(head.split(' ').count(), 5);
        let first = trace.lpns()[trace.first_ids()[0] as usize];
        assert!(head[1..].starts_with(&first.to_string()), "{head}");
        assert!(facts["seconds"].as_f64() > Some(0.0));
        let (_, pages) = sample("pages.trc").expect("it is read");
        assert_eq!(pages["seconds"], Value::Null, "unknown, not 0");
    }

    #[test]
    fn options_are_those_of_the_command_line() {
        let path = format!("{}/../../tests/data/msr.csv", env!("CARGO_MANIFEST_DIR"));
        let told = |options: Value, size: Option<&str>| {
            open(std::slice::from_ref(&path), options.as_object().unwrap(), size)
                .map(|(trace, _)| trace.page_bytes())
                .map_err(|why| why.to_string())
        };
        assert_eq!(told(json!({ "format": "msr" }), Some("16KiB")), Ok(16384));
        assert!(told(json!({}), Some("4KB")).unwrap_err().contains("did you mean 4KiB?"));
        assert!(told(json!({ "fromat": "msr" }), None).unwrap_err().contains("fromat"));
        assert!(open(&[], &Map::new(), None).unwrap_err().contains("at least one file"));
    }
}
