//! What a run leaves behind: enough to read it, and enough to make it again.
//!
//! One schema for JSON, CSV, Parquet, Python and the report. Every derived number is listed in
//! [`METRICS`], once; the tables' columns, their units and which way is better come from there.

use crate::cost::Cost;
use crate::counters::Counters;
use destage_trace::Trace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the schema below; a change that a reader could trip over raises it.
pub const SCHEMA_VERSION: u32 = 1;

/// Which trace was replayed, and how it was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceIdentity {
    /// The files as they were given; or what made the trace, if it was synthetic.
    pub sources: Vec<String>,
    /// Hash of the decoded accesses, 32 hexadecimal digits: equal for equal content.
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
    pub options: serde_json::Value,
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

/// Requests before which nothing counts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// Everything counts.
    #[default]
    None,
    /// So many per cent of the requests, 0..100.
    Percent(f64),
    /// So many requests.
    Requests(u64),
    /// Requests that arrive within so many nanoseconds of the trace's first.
    Nanos(u64),
    /// Until the cache is full, to the end of the request that fills it.
    Full,
}

impl Warmup {
    /// Reads `10%`, `100000r`, `60s` (also `ms`, `m`, `h`), `full`, `none`.
    pub fn parse(text: &str) -> Result<Warmup, String> {
        let text = text.trim();
        let wrong = || format!("warm-up {text:?}: expected e.g. 10%, 100000r, 60s, full or none");
        match text {
            "full" => return Ok(Warmup::Full),
            "none" | "0" => return Ok(Warmup::None),
            _ => {}
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = (&text[..digits], text[digits..].trim());
        let value: f64 = number.parse().map_err(|_| wrong())?;
        let seconds = match unit {
            "%" if value <= 100.0 => return Ok(Warmup::Percent(value)),
            "r" => return number.parse().map(Warmup::Requests).map_err(|_| wrong()),
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let nanos = value * seconds * 1e9;
        if nanos < u64::MAX as f64 { Ok(Warmup::Nanos(nanos as u64)) } else { Err(wrong()) }
    }
}

/// What a run was asked to do, after defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunConfig {
    /// Name of the policy.
    pub policy: String,
    /// Only the parameters that the user gave: what distinguishes two runs of one policy.
    pub given: BTreeMap<String, serde_json::Value>,
    /// All parameters, after defaults.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Frames of the cache.
    pub frames: u32,
    /// The cache size as the user gave it.
    pub cache: String,
    /// What was not counted.
    pub warmup: Warmup,
    /// A write miss reads the page from flash first.
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last access.
    pub flush_at_end: bool,
    /// Every law was checked at every access (`--check`).
    pub check: bool,
    /// Cost model, if one was given.
    pub cost: Option<Cost>,
}

/// The outcome of one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// What was asked.
    pub config: RunConfig,
    /// Requests that were replayed before counting began.
    pub warmup_requests: u64,
    /// What was counted.
    pub counters: Counters,
    /// Cost model's running time, in the unit of the costs.
    pub running_time: Option<u64>,
    /// What a reader of these numbers must know.
    pub warnings: Vec<String>,
}

impl RunResult {
    /// As in a table: `cflru[window_fraction=0.75]`.
    pub fn label(&self) -> String {
        if self.config.given.is_empty() {
            return self.config.policy.clone();
        }
        let pairs: Vec<String> =
            self.config.given.iter().map(|(k, v)| format!("{k}={v}").replace('"', "")).collect();
        format!("{}[{}]", self.config.policy, pairs.join(";"))
    }
}

/// A set of runs over one trace, with all that is needed to make it again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResultSet {
    /// `destage.results`.
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of Destage.
    pub version: String,
    /// The trace.
    pub trace: TraceIdentity,
    /// The runs, in the order of policies, then sizes, as asked.
    pub runs: Vec<RunResult>,
}

impl ResultSet {
    /// The runs of one call over one trace.
    pub fn new(trace: TraceIdentity, runs: Vec<RunResult>) -> Self {
        ResultSet {
            schema: "destage.results".into(),
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            trace,
            runs,
        }
    }
}

/// Which way of a number is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it describes.
    Neither,
}

/// A number of a result.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A count.
    Count(u64),
    /// A ratio or a mean.
    Real(f64),
}

/// One column that a result gives.
#[derive(Clone, Copy, Serialize)]
pub struct Metric {
    /// Column name, unit last where it has one.
    pub name: &'static str,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// What it counts.
    pub about: &'static str,
    /// Its value in a result; `None` where the run has none.
    #[serde(skip)]
    pub value: fn(&RunResult) -> Option<Number>,
}

fn ratio(part: u64, whole: u64) -> Option<Number> {
    (whole > 0).then(|| Number::Real(part as f64 / whole as f64))
}

macro_rules! counter {
    ($name:ident, $unit:literal, $better:ident, $about:literal) => {
        Metric {
            name: stringify!($name),
            unit: $unit,
            better: Better::$better,
            about: $about,
            value: |r| Some(Number::Count(r.counters.$name)),
        }
    };
}

/// Every metric, in the order of the columns.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "hit_ratio",
        unit: "",
        better: Better::Higher,
        about: "hits / accesses, reads and writes together",
        value: |r| ratio(r.counters.hits(), r.counters.accesses()),
    },
    Metric {
        name: "read_hit_ratio",
        unit: "",
        better: Better::Higher,
        about: "read hits / read accesses",
        value: |r| ratio(r.counters.read_hits, r.counters.read_hits + r.counters.read_misses),
    },
    Metric {
        name: "write_hit_ratio",
        unit: "",
        better: Better::Higher,
        about: "write hits / write accesses",
        value: |r| ratio(r.counters.write_hits, r.counters.write_hits + r.counters.write_misses),
    },
    Metric {
        name: "misses",
        unit: "accesses",
        better: Better::Lower,
        about: "accesses whose page was not resident",
        value: |r| Some(Number::Count(r.counters.misses())),
    },
    counter!(physical_reads, "pages", Lower, "pages read from flash"),
    counter!(physical_writes, "pages", Lower, "pages written to flash"),
    Metric {
        name: "running_time",
        unit: "cost units",
        better: Better::Lower,
        about: "physical_reads * C_r + physical_writes * C_w (ACR, section IV)",
        value: |r| r.running_time.map(Number::Count),
    },
    counter!(destages, "groups", Lower, "flush groups: what went to flash in one piece"),
    counter!(destaged_pages, "pages", Lower, "pages in flush groups, without padding"),
    Metric {
        name: "mean_destage_pages",
        unit: "pages",
        better: Better::Neither,
        about: "destaged_pages / destages",
        value: |r| ratio(r.counters.destaged_pages, r.counters.destages),
    },
    counter!(evictions, "pages", Lower, "pages that left the cache because of a miss"),
    counter!(read_hits, "accesses", Higher, "read accesses that found their page"),
    counter!(read_misses, "accesses", Lower, "read accesses that did not"),
    counter!(write_hits, "accesses", Higher, "write accesses that found their page"),
    counter!(write_misses, "accesses", Lower, "write accesses that did not"),
    counter!(bypasses, "accesses", Neither, "misses that were not admitted"),
    counter!(padding_reads, "pages", Lower, "pages read only to complete a block"),
    counter!(padding_writes, "pages", Lower, "pages written only to complete a block"),
    counter!(end_flushes, "pages", Neither, "dirty pages written after the last access"),
    Metric {
        name: "accesses",
        unit: "accesses",
        better: Better::Neither,
        about: "page accesses that were counted",
        value: |r| Some(Number::Count(r.counters.accesses())),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_read_as_written() {
        assert_eq!(Warmup::parse("10%"), Ok(Warmup::Percent(10.0)));
        assert_eq!(Warmup::parse("100000r"), Ok(Warmup::Requests(100_000)));
        assert_eq!(Warmup::parse("1.5s"), Ok(Warmup::Nanos(1_500_000_000)));
        assert_eq!(Warmup::parse("full"), Ok(Warmup::Full));
        for text in ["", "10", "101%", "-1s", "r", "1.5r", "ten%"] {
            assert!(Warmup::parse(text).unwrap_err().contains("expected e.g. 10%"), "{text}");
        }
    }

    #[test]
    fn metrics_have_names_of_their_own() {
        let mut names: Vec<_> = METRICS.iter().map(|m| m.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
