//! The parameters of a workload, listed once: parser, help and documentation come from here.

use serde_json::Value;

use super::arrivals::ARRIVALS;
use super::{KINDS, Kind, Sizes, Workload, usage};
use crate::error::Result;
use crate::options::nearest;

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number from the first to the second.
    Real(f64, f64),
    /// `true` or `false`.
    Truth,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A text of this form.
    Form(&'static str),
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Range::Whole(from, to) => write!(f, "a whole number from {from} to {to}"),
            Range::Real(from, to) => write!(f, "a number from {from} to {to}"),
            Range::Truth => f.write_str("true or false"),
            Range::Words(words) => f.write_str(&words.join(", ")),
            Range::Form(form) => f.write_str(form),
        }
    }
}

impl serde::Serialize for Range {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One parameter.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Parameter {
    /// As in a description.
    pub key: &'static str,
    /// Its unit; empty for a pure number or a word.
    pub unit: &'static str,
    /// What it takes.
    pub range: Range,
    /// Default, as it would be written.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Names of the kinds that have it; empty for all.
    pub kinds: &'static [&'static str],
}

impl Parameter {
    /// Whether workloads of this kind have it.
    pub fn applies_to(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind.name())
    }
}

const fn parameter(
    key: &'static str,
    unit: &'static str,
    range: Range,
    default: &'static str,
    source: &'static str,
    kinds: &'static [&'static str],
    about: &'static str,
) -> Parameter {
    Parameter { key, unit, range, default, about, source, kinds }
}

const CHOSEN: &str = "chosen";
const SHARE: Range = Range::Real(0.0, 1.0);
const PROCESSES: Range = Range::Words(&["poisson", "constant", "onoff"]);
const LONGEST_NS: u64 = 1_000_000_000_000_000;

/// Every parameter, in the order of help and documentation. A key may stand here several times,
/// for different kinds.
pub const PARAMETERS: &[Parameter] = &[
    parameter(
        "requests",
        "requests",
        Range::Whole(1, 1_000_000_000_000),
        "1000000",
        CHOSEN,
        &[],
        "how many requests",
    ),
    parameter(
        "pages",
        "pages",
        Range::Whole(1, 1 << 40),
        "262144",
        "chosen: 1 GiB",
        &[],
        "footprint: page numbers lie below it",
    ),
    parameter(
        "page_bytes",
        "bytes",
        Range::Whole(1, 1 << 30),
        "4096",
        "the usual page of file systems and FTLs",
        &[],
        "page size",
    ),
    parameter("seed", "", Range::Whole(0, u64::MAX), "1", CHOSEN, &[], "same seed, same records"),
    parameter(
        "read_ratio",
        "",
        SHARE,
        "0.7",
        CHOSEN,
        &[],
        "share of requests that read; each is drawn by itself",
    ),
    parameter(
        "size",
        "pages",
        Range::Form("a length, from-to, ~mean, or length:weight,..."),
        "1",
        CHOSEN,
        &["uniform", "normal", "zipf", "locality", "sequential", "loop", "scan", "bursts"],
        "request length: fixed (8), every length alike (1-8), geometric (~4), or weighted (1:60,2:20,8:20)",
    ),
    parameter(
        "size",
        "pages",
        Range::Form("a length, from-to, ~mean, or length:weight,..."),
        "1:60,2:20,4:10,8:10",
        "chosen: mostly single pages, as in our recordings of PostgreSQL",
        &["oltp"],
        "request length: fixed (8), every length alike (1-8), geometric (~4), or weighted (1:60,2:20,8:20)",
    ),
    parameter(
        "arrivals",
        "",
        PROCESSES,
        "poisson",
        "the usual model of independent clients",
        &["uniform", "normal", "zipf", "locality", "sequential", "loop", "scan", "oltp"],
        "exponential gaps, equal gaps, or Poisson bursts with silence between",
    ),
    parameter(
        "arrivals",
        "",
        PROCESSES,
        "onoff",
        "what the kind is for",
        &["bursts"],
        "exponential gaps, equal gaps, or Poisson bursts with silence between",
    ),
    parameter(
        "gap_ns",
        "ns",
        Range::Whole(0, LONGEST_NS),
        "1000000",
        "chosen: 1,000 requests/s",
        &[],
        "mean gap between arrivals, in an on-period with onoff",
    ),
    parameter(
        "on_ns",
        "ns",
        Range::Whole(1, LONGEST_NS),
        "100000000",
        "chosen: 100 requests a burst",
        &[],
        "onoff: mean length of a burst",
    ),
    parameter(
        "off_ns",
        "ns",
        Range::Whole(0, LONGEST_NS),
        "900000000",
        "chosen: on a tenth of the time",
        &[],
        "onoff: mean length of a silence",
    ),
    parameter(
        "alpha",
        "",
        Range::Real(0.0, 20.0),
        "1.0",
        "Zipf's law",
        &["zipf", "bursts"],
        "skew: the k-th page in proportion to k^-alpha; 0 is uniform",
    ),
    parameter(
        "alpha",
        "",
        Range::Real(0.0, 20.0),
        "0.9",
        CHOSEN,
        &["oltp"],
        "skew of the data pages: the k-th in proportion to k^-alpha; 0 is uniform",
    ),
    parameter(
        "permuted",
        "",
        Range::Truth,
        "true",
        "popular pages are seldom neighbours",
        &["zipf", "bursts", "oltp"],
        "scatter the popular pages over the footprint; else page number = rank",
    ),
    parameter(
        "permuted",
        "",
        Range::Truth,
        "false",
        "reading of ACR, table II",
        &["locality"],
        "scatter the hot pages over the footprint; else they are the first pages",
    ),
    parameter(
        "cluster_pages",
        "pages",
        Range::Whole(1, 1 << 30),
        "1",
        "chosen: popular pages are scattered one by one",
        &["zipf", "bursts", "oltp"],
        "scatter pages of neighbouring popularity together, so many in a row (with permuted)",
    ),
    parameter("mean", "of the footprint", SHARE, "0.5", CHOSEN, &["normal"], "centre of the bell"),
    parameter(
        "deviation",
        "of the footprint",
        Range::Real(0.0, 100.0),
        "0.125",
        CHOSEN,
        &["normal"],
        "standard deviation of the bell",
    ),
    parameter(
        "access_share",
        "",
        SHARE,
        "0.8",
        "the 80/20 rule",
        &["locality"],
        "share of requests that go to the hot pages; the others go to the other pages",
    ),
    parameter(
        "page_share",
        "",
        SHARE,
        "0.2",
        "the 80/20 rule",
        &["locality"],
        "share of pages that are hot (rounded, at least one page)",
    ),
    parameter(
        "access_share",
        "",
        SHARE,
        "0.7",
        CHOSEN,
        &["scan"],
        "share of requests that go to the hot set; the others scan",
    ),
    parameter(
        "page_share",
        "",
        SHARE,
        "0.1",
        CHOSEN,
        &["scan"],
        "share of pages in the hot set (the first ones), asked for alike",
    ),
    parameter(
        "run_requests",
        "requests",
        Range::Whole(0, 1_000_000_000),
        "0",
        CHOSEN,
        &["sequential"],
        "mean number of requests before a jump to any page; 0 = never",
    ),
    parameter(
        "loop_pages",
        "pages",
        Range::Whole(0, 1 << 40),
        "0",
        CHOSEN,
        &["loop"],
        "length of the loop; 0 = the footprint",
    ),
    parameter(
        "log_share",
        "",
        SHARE,
        "0.15",
        CHOSEN,
        &["oltp"],
        "share of requests that write the log, one after another",
    ),
    parameter(
        "log_page_share",
        "",
        SHARE,
        "0.05",
        CHOSEN,
        &["oltp"],
        "share of pages (the last ones) that the log goes round in",
    ),
];

/// A kind by name.
pub(super) fn kind(name: &str) -> Result<Kind> {
    if let Some(found) = KINDS.iter().find(|k| k.0.eq_ignore_ascii_case(name)) {
        return Ok(found.1);
    }
    let names = KINDS.iter().map(|k| k.0);
    Err(usage(match nearest(name, names.clone()) {
        Some(near) => format!("kind: there is no workload {name:?}; did you mean {near}?"),
        None => {
            format!(
                "kind: there is no workload {name:?}; expected one of {}",
                names.collect::<Vec<_>>().join(", ")
            )
        }
    }))
}

/// A value in its range, as the fields have it.
enum Checked {
    Whole(u64),
    Real(f64),
    Truth(bool),
    Text(String),
}

pub(super) fn set(workload: &mut Workload, key: &str, value: &Value) -> Result<()> {
    let kind = workload.kind;
    let Some(parameter) = PARAMETERS.iter().find(|p| p.key == key && p.applies_to(kind)) else {
        return Err(unknown(key, kind));
    };
    let wrong = || {
        let found = value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"));
        usage(format!("{key}: expected {}, found {found}", parameter.range))
    };
    let checked = check(parameter.range, value).ok_or_else(wrong)?;
    let w = workload;
    match (key, checked) {
        ("requests", Checked::Whole(v)) => w.requests = v,
        ("pages", Checked::Whole(v)) => w.pages = v,
        ("page_bytes", Checked::Whole(v)) => w.page_bytes = v,
        ("seed", Checked::Whole(v)) => w.seed = v,
        ("gap_ns", Checked::Whole(v)) => w.gap_ns = v,
        ("on_ns", Checked::Whole(v)) => w.on_ns = v,
        ("off_ns", Checked::Whole(v)) => w.off_ns = v,
        ("run_requests", Checked::Whole(v)) => w.run_requests = v,
        ("loop_pages", Checked::Whole(v)) => w.loop_pages = v,
        ("cluster_pages", Checked::Whole(v)) => w.cluster_pages = v,
        ("read_ratio", Checked::Real(v)) => w.read_ratio = v,
        ("alpha", Checked::Real(v)) => w.alpha = v,
        ("mean", Checked::Real(v)) => w.mean = v,
        ("deviation", Checked::Real(v)) => w.deviation = v,
        ("access_share", Checked::Real(v)) => w.access_share = v,
        ("page_share", Checked::Real(v)) => w.page_share = v,
        ("log_share", Checked::Real(v)) => w.log_share = v,
        ("log_page_share", Checked::Real(v)) => w.log_page_share = v,
        ("permuted", Checked::Truth(v)) => w.permuted = v,
        ("size", Checked::Text(v)) => w.size = Sizes::parse(&v).ok_or_else(wrong)?,
        ("arrivals", Checked::Text(v)) => {
            w.arrivals = ARRIVALS.iter().find(|a| a.0 == v).ok_or_else(wrong)?.1;
        }
        _ => unreachable!("every key of the list has a field of its range's type"),
    }
    Ok(())
}

pub(super) fn get(w: &Workload, key: &str) -> Value {
    match key {
        "requests" => w.requests.into(),
        "pages" => w.pages.into(),
        "page_bytes" => w.page_bytes.into(),
        "seed" => w.seed.into(),
        "gap_ns" => w.gap_ns.into(),
        "on_ns" => w.on_ns.into(),
        "off_ns" => w.off_ns.into(),
        "run_requests" => w.run_requests.into(),
        "loop_pages" => w.loop_pages.into(),
        "cluster_pages" => w.cluster_pages.into(),
        "read_ratio" => w.read_ratio.into(),
        "alpha" => w.alpha.into(),
        "mean" => w.mean.into(),
        "deviation" => w.deviation.into(),
        "access_share" => w.access_share.into(),
        "page_share" => w.page_share.into(),
        "log_share" => w.log_share.into(),
        "log_page_share" => w.log_page_share.into(),
        "permuted" => w.permuted.into(),
        "size" => w.size.to_string().into(),
        "arrivals" => {
            ARRIVALS.iter().find(|a| a.1 == w.arrivals).map_or(Value::Null, |a| a.0.into())
        }
        _ => Value::Null,
    }
}

fn check(range: Range, value: &Value) -> Option<Checked> {
    let text = value.as_str().map(str::trim);
    match range {
        Range::Whole(from, to) => {
            let number = match text {
                Some(text) => text.parse().ok()?,
                None => value.as_u64()?,
            };
            (from..=to).contains(&number).then_some(Checked::Whole(number))
        }
        Range::Real(from, to) => {
            let number: f64 = match text {
                Some(text) => text.parse().ok()?,
                None => value.as_f64()?,
            };
            (from..=to).contains(&number).then_some(Checked::Real(number))
        }
        Range::Truth => match (value, text) {
            (Value::Bool(truth), _) => Some(Checked::Truth(*truth)),
            (_, Some("true")) => Some(Checked::Truth(true)),
            (_, Some("false")) => Some(Checked::Truth(false)),
            _ => None,
        },
        Range::Words(words) => {
            let text = text?.to_ascii_lowercase();
            words.contains(&text.as_str()).then_some(Checked::Text(text))
        }
        Range::Form(_) => {
            let number = || value.as_u64().map(|n| n.to_string());
            text.map(str::to_owned).or_else(number).map(Checked::Text)
        }
    }
}

fn unknown(key: &str, kind: Kind) -> crate::error::TraceError {
    if let Some(elsewhere) = PARAMETERS.iter().find(|p| p.key == key) {
        return usage(format!(
            "{key}: a {} workload has no such parameter; it belongs to {}",
            kind.name(),
            elsewhere.kinds.join(", ")
        ));
    }
    let keys = PARAMETERS.iter().filter(|p| p.applies_to(kind)).map(|p| p.key);
    usage(match nearest(key, keys.clone()) {
        Some(near) => {
            format!("{key}: a {} workload has no such parameter; did you mean {near}?", kind.name())
        }
        None => format!(
            "{key}: a {} workload has no such parameter; expected one of {}",
            kind.name(),
            keys.collect::<Vec<_>>().join(", ")
        ),
    })
}
