//! Which trace was replayed.

use destage_trace::Trace;
use serde::{Deserialize, Deserializer, Serialize};

/// Which trace was replayed, and how it was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceIdentity {
    /// The files as they were given; or what made the trace, if it was synthetic.
    pub sources: Vec<String>,
    /// Hash of the decoded accesses, trims and flushes, 32 hexadecimal digits: equal for equal
    /// content.
    pub fingerprint: String,
    /// Format that the records were read from.
    pub format: String,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// Requests that read or write.
    pub requests: u64,
    /// Page accesses.
    pub accesses: u64,
    /// Distinct pages.
    pub unique_pages: u64,
    /// First to last arrival, nanoseconds; `None` if the trace has no times.
    pub duration_ns: Option<u64>,
    /// How the trace was read and decoded: what `rerun` needs to read it again.
    #[serde(deserialize_with = "object")]
    pub options: serde_json::Value,
}

/// An object of any content.
fn object<'de, D: Deserializer<'de>>(given: D) -> Result<serde_json::Value, D::Error> {
    serde_json::Map::deserialize(given).map(serde_json::Value::Object)
}

impl TraceIdentity {
    /// Of this trace; `options` is what it was opened with, as the caller writes it.
    pub fn of(trace: &Trace, options: serde_json::Value) -> Self {
        let meta = trace.meta();
        let format = meta.summary.pointer("/files/0/format").and_then(|f| f.as_str());
        TraceIdentity {
            sources: meta.sources.iter().map(|s| s.name.clone()).collect(),
            fingerprint: meta.fingerprint.clone(),
            format: format.unwrap_or("synthetic").to_string(),
            page_bytes: meta.page_bytes,
            requests: meta.counts.requests,
            accesses: meta.counts.accesses,
            unique_pages: meta.counts.unique_pages,
            duration_ns: meta.clock.timed.then(|| meta.clock.duration_ns()),
            options,
        }
    }
}
