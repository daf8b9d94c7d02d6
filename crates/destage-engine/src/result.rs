//! What a run leaves behind: enough to read it, and enough to make it again.
//!
//! One schema for JSON, CSV, Parquet, Python and the report. Every derived number is listed in
//! [`METRICS`], once; the tables' columns, their units and which way is better come from there.

use crate::cost::Cost;
use crate::counters::Counters;
use crate::timed::{Profile, Summary, Timing, max_deviation};
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
    /// Rows of a trace before which nothing counts, if that is known before the run.
    pub(crate) fn rows(self, rows: usize, arrivals_ns: &[u64]) -> Option<usize> {
        let warm = match self {
            Warmup::None => 0,
            Warmup::Percent(p) => (p / 100.0 * rows as f64).round() as usize,
            Warmup::Requests(n) => usize::try_from(n).unwrap_or(rows),
            Warmup::Nanos(ns) => {
                let first = arrivals_ns.first().copied().unwrap_or(0);
                arrivals_ns.partition_point(|&t| t - first < ns)
            }
            Warmup::Full => return None,
        };
        Some(warm.min(rows))
    }

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
    /// Name of the drive behind the cache, if there is one; all of it is in the result set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Pages of an erase block, of a policy that clusters by it, in a run without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_block: Option<u32>,
    /// Pages that may be padded, of such a policy; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_pages: Option<u64>,
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
    /// What only this policy counts, such as hits by list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_counters: BTreeMap<String, u64>,
    /// Where an adaptive policy had adapted to at the end, such as AALRU's tau.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_gauges: BTreeMap<String, f64>,
    /// Pages of the buffer per flush group; absent if no group had more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destage_pages: Option<Summary>,
    /// Cost model's running time, in the unit of the costs.
    pub running_time: Option<u64>,
    /// Times and what the drive did, in a run with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// How the run developed, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
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
    /// The drive behind the cache, as it was given and after defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<serde_json::Value>,
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
            device: None,
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

/// What a number is, and so how it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A share, 0..1; people like it in per cent.
    Ratio,
    /// A whole number of its unit.
    Count,
    /// A number of its unit.
    Real,
    /// A time, nanoseconds; people like it in the unit that leaves few digits.
    Time,
}

/// When a table shows a number unasked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Always.
    Always,
    /// In runs without a device.
    WithoutDevice,
    /// In runs with a device.
    WithDevice,
    /// Only if it is asked for.
    OnRequest,
}

/// One column that a result gives.
#[derive(Clone, Copy, Serialize)]
pub struct Metric {
    /// Column name, unit last where it has one.
    pub name: &'static str,
    /// A few words, as the head of a column.
    pub title: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// When a table shows it.
    pub shown: Shown,
    /// What it counts.
    pub about: &'static str,
    /// Its value in a result; `None` where the run has none.
    #[serde(skip)]
    pub value: fn(&RunResult) -> Option<Number>,
}

impl Metric {
    const fn shown(self, shown: Shown) -> Metric {
        Metric { shown, ..self }
    }
}

fn ratio(part: u64, whole: u64) -> Option<Number> {
    (whole > 0).then(|| Number::Real(part as f64 / whole as f64))
}

macro_rules! metric {
    ($name:literal, $title:literal, $kind:ident $unit:literal, $better:ident, $about:literal,
     $value:expr) => {
        Metric {
            name: $name,
            title: $title,
            kind: Kind::$kind,
            unit: $unit,
            better: Better::$better,
            shown: Shown::OnRequest,
            about: $about,
            value: $value,
        }
    };
}

/// A counter of every run, under its own name.
macro_rules! counter {
    ($name:ident, $title:literal, $unit:literal, $better:ident, $about:literal) => {
        Metric {
            name: stringify!($name),
            title: $title,
            kind: Kind::Count,
            unit: $unit,
            better: Better::$better,
            shown: Shown::OnRequest,
            about: $about,
            value: |r| Some(Number::Count(r.counters.$name)),
        }
    };
}

/// A counter of one policy, under its own name.
macro_rules! own {
    ($name:literal, $title:literal, $unit:literal, $better:ident, $about:literal) => {
        metric!($name, $title, Count $unit, $better, $about,
            |r| r.policy_counters.get($name).copied().map(Number::Count))
    };
}

/// A number of the sizes of flush groups; one page each, if no group had more.
macro_rules! destage {
    ($name:literal, $title:literal, $about:literal, |$d:ident| $value:expr) => {
        metric!($name, $title, Real "pages", Neither, $about, |r| match &r.destage_pages {
            Some($d) => Some(Number::Real($value)),
            None => None,
        })
    };
}

/// A number of runs with a device.
macro_rules! timed {
    ($name:literal, $title:literal, $kind:ident $unit:literal, $better:ident, $about:literal,
     |$t:ident| $value:expr) => {
        metric!($name, $title, $kind $unit, $better, $about, |r| {
            let $t = r.timing.as_ref()?;
            $value
        })
    };
}

/// A counter of an FTL of `docs/spec/ftl.md`.
macro_rules! ftl {
    ($name:literal, $title:literal, $kind:ident $unit:literal, $better:ident, $about:literal,
     |$f:ident| $value:expr) => {
        timed!($name, $title, $kind $unit, $better, $about, |t| {
            let $f = t.counters.device.ftl.as_ref()?;
            Some($value.into())
        })
    };
}

/// A number of a distribution of response times; the distribution is a field of `Timing`.
macro_rules! response {
    ($name:literal, $title:literal, $about:literal, $of:ident.$field:ident) => {
        timed!($name, $title, Time "ns", Lower, $about, |t| t.$of.as_ref().map(|d| d.$field.into()))
    };
}

impl From<u64> for Number {
    fn from(count: u64) -> Number {
        Number::Count(count)
    }
}

impl From<f64> for Number {
    fn from(real: f64) -> Number {
        Number::Real(real)
    }
}

/// Every metric, in the order of the columns.
pub static METRICS: &[Metric] = &[
    metric!("hit_ratio", "Hit ratio", Ratio "", Higher,
        "hits / accesses, reads and writes together",
        |r| ratio(r.counters.hits(), r.counters.accesses()))
    .shown(Shown::Always),
    metric!("read_hit_ratio", "Read hits", Ratio "", Higher, "read hits / read accesses",
        |r| ratio(r.counters.read_hits, r.counters.read_hits + r.counters.read_misses))
    .shown(Shown::WithoutDevice),
    metric!("write_hit_ratio", "Write hits", Ratio "", Higher, "write hits / write accesses",
        |r| ratio(r.counters.write_hits, r.counters.write_hits + r.counters.write_misses))
    .shown(Shown::WithoutDevice),
    response!(
        "response_ns_mean",
        "Mean response",
        "mean response time of all requests",
        response_ns.mean
    )
    .shown(Shown::WithDevice),
    response!(
        "response_ns_p99",
        "p99 response",
        "99 % of all requests took at most so long",
        response_ns.p99
    )
    .shown(Shown::WithDevice),
    timed!("eviction_wait_ns_mean", "Eviction wait", Time "ns", Lower,
        "mean time that a write-back waited in its unit's queue (ECR, section 4)",
        |t| ratio(t.counters.eviction_wait_ns_sum, t.counters.dirty_evictions))
    .shown(Shown::WithDevice),
    counter!(physical_reads, "Flash reads", "pages", Lower, "pages read from flash")
        .shown(Shown::WithoutDevice),
    counter!(
        physical_writes,
        "Flash writes",
        "pages",
        Lower,
        "pages written to flash; with a device without its own collections"
    )
    .shown(Shown::Always),
    timed!("waf", "WAF", Real "", Lower,
    "write amplification: programs of all kinds / programs for the host (docs/spec/device.md 8)",
    |t| {
        let d = &t.counters.device;
        ratio(d.programs_of_all_kinds(), d.flash_programs)
    })
    .shown(Shown::WithDevice),
    timed!("erases", "Erases", Count "blocks", Lower, "erase blocks erased",
        |t| Some(t.counters.device.erases.into()))
    .shown(Shown::WithDevice),
    metric!("running_time", "Running time", Count "cost units", Lower,
        "physical_reads * C_r + physical_writes * C_w (ACR, section IV)",
        |r| r.running_time.map(Number::Count))
    .shown(Shown::WithoutDevice),
    metric!("misses", "Misses", Count "accesses", Lower,
        "accesses whose page was not resident",
        |r| Some(Number::Count(r.counters.misses()))),
    counter!(
        destages,
        "Destages",
        "groups",
        Lower,
        "flush groups: what went to flash in one piece"
    ),
    counter!(destaged_pages, "Destaged", "pages", Lower, "pages in flush groups, without padding"),
    metric!("mean_destage_pages", "Mean destage", Real "pages", Neither,
        "destaged_pages / destages",
        |r| ratio(r.counters.destaged_pages, r.counters.destages)),
    destage!(
        "destage_pages_std",
        "Destage deviation",
        "population standard deviation of the pages \
        in a flush group",
        |d| d.std
    ),
    destage!("destage_pages_p50", "p50 destage", "median of the pages in a flush group", |d| d.p50
        as f64),
    destage!(
        "destage_pages_p90",
        "p90 destage",
        "90 % of flush groups have at most so many pages",
        |d| d.p90 as f64
    ),
    destage!("destage_pages_max", "Max destage", "pages in the largest flush group", |d| d.max
        as f64),
    counter!(evictions, "Evictions", "pages", Lower, "pages that left the cache because of a miss"),
    counter!(
        clean_evictions,
        "Clean evictions",
        "pages",
        Neither,
        "evicted pages that were clean, and so were not written"
    ),
    counter!(read_hits, "Read hits", "accesses", Higher, "read accesses that found their page"),
    counter!(read_misses, "Read misses", "accesses", Lower, "read accesses that did not"),
    counter!(write_hits, "Write hits", "accesses", Higher, "write accesses that found their page"),
    counter!(write_misses, "Write misses", "accesses", Lower, "write accesses that did not"),
    counter!(bypasses, "Bypasses", "accesses", Neither, "misses that were not admitted"),
    counter!(padding_reads, "Padding reads", "pages", Lower, "pages read only to complete a block"),
    counter!(
        padding_writes,
        "Padding writes",
        "pages",
        Lower,
        "pages written only to complete a block"
    ),
    counter!(
        end_flushes,
        "End flushes",
        "pages",
        Neither,
        "dirty pages written after the last access"
    ),
    own!("p_list_hits", "p-list hits", "accesses", Neither, "BPAC: writes that hit a hot page"),
    own!("b_list_hits", "b-list hits", "accesses", Neither, "BPAC: writes that hit a cluster"),
    own!("evictions_full", "Full", "groups", Neither, "BPAC: sequential clusters of a whole block"),
    own!(
        "evictions_done",
        "Done",
        "groups",
        Neither,
        "BPAC: sequential clusters that reached the end of their block"
    ),
    own!(
        "evictions_largest",
        "Largest",
        "groups",
        Neither,
        "BPAC: largest clusters out of lifetime"
    ),
    own!(
        "evictions_fallback",
        "Fallback",
        "groups",
        Neither,
        "BPAC: least recent clusters, with none out of lifetime"
    ),
    own!(
        "evictions_p_list",
        "From the p-list",
        "groups",
        Neither,
        "BPAC: hot pages, with no cluster left"
    ),
    own!("rb_read_hits", "RRH", "accesses", Neither, "AALRU: reads that hit a clean page"),
    own!("rb_write_hits", "RWH", "accesses", Neither, "AALRU: writes that hit a clean page"),
    own!("wb_read_hits", "WRH", "accesses", Neither, "AALRU: reads that hit a dirty page"),
    own!("wb_write_hits", "WWH", "accesses", Neither, "AALRU: writes that hit a dirty page"),
    metric!("accesses", "Accesses", Count "accesses", Neither, "page accesses that were counted",
        |r| Some(Number::Count(r.counters.accesses()))),
    timed!("requests", "Requests", Count "requests", Neither, "requests that were counted",
        |t| Some(t.counters.requests.into())),
    response!(
        "response_ns_std",
        "Response deviation",
        "population standard deviation of response times",
        response_ns.std
    ),
    response!("response_ns_p50", "p50 response", "median response time", response_ns.p50),
    response!("response_ns_p90", "p90 response", "90 % took at most so long", response_ns.p90),
    response!("response_ns_p95", "p95 response", "95 % took at most so long", response_ns.p95),
    response!(
        "response_ns_p999",
        "p99.9 response",
        "99.9 % took at most so long",
        response_ns.p999
    ),
    response!("response_ns_max", "Max response", "longest response time", response_ns.max),
    response!(
        "read_response_ns_mean",
        "Mean read",
        "mean response time of reads",
        read_response_ns.mean
    ),
    response!(
        "read_response_ns_std",
        "Read deviation",
        "its standard deviation",
        read_response_ns.std
    ),
    response!("read_response_ns_p50", "p50 read", "median of reads", read_response_ns.p50),
    response!("read_response_ns_p90", "p90 read", "90 % of reads", read_response_ns.p90),
    response!("read_response_ns_p95", "p95 read", "95 % of reads", read_response_ns.p95),
    response!("read_response_ns_p99", "p99 read", "99 % of reads", read_response_ns.p99),
    response!("read_response_ns_p999", "p99.9 read", "99.9 % of reads", read_response_ns.p999),
    response!("read_response_ns_max", "Max read", "longest read", read_response_ns.max),
    response!(
        "write_response_ns_mean",
        "Mean write",
        "mean response time of writes",
        write_response_ns.mean
    ),
    response!(
        "write_response_ns_std",
        "Write deviation",
        "its standard deviation",
        write_response_ns.std
    ),
    response!("write_response_ns_p50", "p50 write", "median of writes", write_response_ns.p50),
    response!("write_response_ns_p90", "p90 write", "90 % of writes", write_response_ns.p90),
    response!("write_response_ns_p95", "p95 write", "95 % of writes", write_response_ns.p95),
    response!("write_response_ns_p99", "p99 write", "99 % of writes", write_response_ns.p99),
    response!("write_response_ns_p999", "p99.9 write", "99.9 % of writes", write_response_ns.p999),
    response!("write_response_ns_max", "Max write", "longest write", write_response_ns.max),
    timed!("dirty_victim_ratio", "Dirty victims", Ratio "", Lower,
        "probability that a victim is dirty: dirty evictions / evictions",
        |t| ratio(t.counters.dirty_evictions, t.counters.evictions)),
    timed!("victim_in_gc_ratio", "Victims in GC", Ratio "", Lower,
        "probability that a dirty victim's unit is collecting",
        |t| ratio(t.counters.dirty_evictions_in_gc, t.counters.dirty_evictions)),
    timed!("unbalance_rate_mean", "Mean unbalance", Real "", Lower,
        "mean of longest queue * units / all queues at dirty evictions; 1 is even (ECR, figure 4)",
        |t| t.unbalance_permille.as_ref().map(|d| Number::Real(d.mean / 1000.0))),
    timed!("unbalance_gt10_ratio", "Unbalance > 10", Ratio "", Lower,
        "dirty evictions with an unbalance rate over ten, of those with any queue",
        |t| ratio(t.counters.unbalance_gt10, t.counters.unbalance_samples)),
    timed!("max_deviation_reads", "Deviation, reads", Real "", Lower,
        "(max - min) * channels / sum over the channels' reads (SAC, formula 1)",
        |t| Some(max_deviation(t.counters.device.channel_reads.iter().copied()).into())),
    timed!("max_deviation_programs", "Deviation, programs", Real "", Lower,
        "the same of the channels' host programs",
        |t| Some(max_deviation(t.counters.device.channel_programs.iter().copied()).into())),
    timed!("max_deviation", "Deviation", Real "", Lower, "the same of both together",
    |t| {
        let device = &t.counters.device;
        let both = device.channel_reads.iter().zip(&device.channel_programs);
        Some(max_deviation(both.map(|(reads, programs)| reads + programs)).into())
    }),
    timed!("missed_latency_ns", "Missed latency", Time "ns", Lower,
        "mean time of a host read that reached flash, from submission to end (SAC)",
        |t| ratio(t.counters.device.read_miss_latency_ns_sum, t.counters.read_misses)),
    metric!("average_latency_ns", "Average latency", Time "ns", Lower,
    "(1 - hit ratio) * missed latency, of reads (SAC, formula 2)",
    |r| {
        let t = r.timing.as_ref()?;
        let reads = r.counters.read_hits + r.counters.read_misses;
        let missed = r.counters.read_misses as f64 / (reads > 0).then_some(reads as f64)?;
        let latency = t.counters.device.read_miss_latency_ns_sum as f64;
        Some(Number::Real(match t.counters.read_misses {
            0 => 0.0,
            count => missed * latency / count as f64,
        }))
    }),
    timed!("flash_reads", "R", Count "pages", Lower, "host reads that reached flash",
        |t| Some(t.counters.device.flash_reads.into())),
    timed!("flash_programs", "W", Count "pages", Lower, "programs for the host",
        |t| Some(t.counters.device.flash_programs.into())),
    timed!("gc_runs", "Collections", Count "blocks", Lower, "collections",
        |t| Some(t.counters.device.gc_runs.into())),
    timed!("gc_moves", "Moved pages", Count "pages", Lower, "valid pages moved by collections",
        |t| Some(t.counters.device.gc_moves.into())),
    timed!("summary_programs", "Summary pages", Count "pages", Neither, "summary pages programmed",
        |t| Some(t.counters.device.summary_programs.into())),
    timed!("gc_writes", "GC writes", Count "pages", Lower,
    "pages programmed by collections, merges and translation (AALRU, figure 9)",
    |t| {
        let d = &t.counters.device;
        Some(d.ftl.map_or(d.gc_moves, |f| f.flash_programs - f.host_writes).into())
    }),
    ftl!("switch_merges", "Switch merges", Count "merges", Neither,
        "log blocks that became the data block as they were (bast, fast)", |f| f.switch_merges),
    ftl!("partial_merges", "Partial merges", Count "merges", Lower,
        "log blocks that became the data block after copies into them (bast, fast)",
        |f| f.partial_merges),
    ftl!("full_merges", "Full merges", Count "merges", Lower,
        "merges of a data block and log blocks into a free block (bast, fast)", |f| f.full_merges),
    ftl!("merge_copies", "Merge copies", Count "pages", Lower, "pages copied by merges",
        |f| f.merge_programs),
    ftl!("log_blocks_taken", "Log blocks", Count "blocks", Neither,
        "log blocks that were allocated (bast, fast)", |f| f.log_blocks_taken),
    ftl!("log_blocks_used_max", "Log blocks at once", Count "blocks", Neither,
        "most log blocks in use at a time, warm-up included", |f| f.log_blocks_used_max),
    timed!("log_block_pages_mean", "Log block use", Real "pages", Higher,
        "pages written to a log block, on average",
        |t| t.counters.device.ftl.as_ref().and_then(|f| ratio(f.log_pages, f.log_blocks_taken))),
    ftl!("gc_copies", "Collected pages", Count "pages", Lower,
        "data pages that collections copied, within a plane or not (dftl, page-ideal)",
        |f| f.gc_copies),
    ftl!("gc_translation_runs", "Translation collections", Count "blocks", Lower,
        "translation blocks collected (dftl)", |f| f.gc_translation_runs),
    ftl!("translation_reads", "Translation reads", Count "pages", Lower,
        "translation pages read, for whatever reason (dftl)", |f| f.translation_reads),
    ftl!("translation_writes", "Translation writes", Count "pages", Lower,
        "translation pages programmed, for whatever reason (dftl)", |f| f.translation_writes),
    timed!("cmt_hit_ratio", "CMT hits", Ratio "", Higher,
    "look-ups that found their entry in the cached mapping table (dftl)",
    |t| {
        let f = t.counters.device.ftl.as_ref()?;
        ratio(f.cmt_hits, f.cmt_hits + f.cmt_misses)
    }),
    timed!("block_erases_max", "Most worn block", Count "erases", Lower,
        "erases of the most worn block, preconditioning included",
        |t| Some(t.counters.device.block_erases_max.into())),
    timed!("block_erases_min", "Least worn block", Count "erases", Neither,
        "erases of the least worn block",
        |t| Some(t.counters.device.block_erases_min.into())),
    timed!("block_erases_mean", "Mean wear", Real "erases", Lower, "mean erases of a block",
        |t| Some(t.block_erases.mean.into())),
    timed!("block_erases_std", "Wear deviation", Real "erases", Lower,
        "population standard deviation of the blocks' erases",
        |t| Some(t.block_erases.std.into())),
    timed!("utilisation_mean", "Mean utilisation", Ratio "", Neither,
    "busy time / makespan, mean of the units",
    |t| {
        let busy: u128 = t.counters.device.unit_busy_ns.iter().map(|&b| u128::from(b)).sum();
        let units = t.counters.device.unit_busy_ns.len() as f64;
        let all = t.counters.makespan_ns as f64 * units;
        (all > 0.0).then(|| Number::Real(busy as f64 / all))
    }),
    timed!("utilisation_max", "Max utilisation", Ratio "", Neither,
    "busy time / makespan of the busiest unit",
    |t| {
        let busiest = t.counters.device.unit_busy_ns.iter().copied().max()?;
        ratio(busiest, t.counters.makespan_ns)
    }),
    timed!("makespan_ns", "Makespan", Time "ns", Lower,
        "from the start of counting to the last completion",
        |t| Some(t.counters.makespan_ns.into())),
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
