//! The parameters of a workload, listed once: reading, help and documentation come from here.

use destage_keys::IfAbsent::{Bool, Int, Real, Word};
use destage_keys::{AsValue, Field, Key, Kind, Typing, Unknown, Value, field, find};

use super::arrivals::Arrivals;
use super::description::{KINDS, Workload, WorkloadKind, usage};
use super::sizes::Sizes;
use destage_trace::{Result, TraceError};
use serde::Deserialize;

const CHOSEN: &str = "chosen";
const SHARE: Kind = Kind::real(0.0, 1.0);
const LENGTHS: Kind = Kind::Form("a length, from-to, ~mean, or length:weight,...");
const LONGEST_NS: u64 = 1_000_000_000_000_000;

/// Every parameter, in the order of help and documentation. A key may stand here several times,
/// for different kinds.
#[rustfmt::skip] // one parameter, three or four lines: it is a table
pub static PARAMETERS: &[Field<Workload>] = &[
    field!(Workload.requests, Kind::int(1, 1_000_000_000_000), Int(1_000_000))
        .unit("requests").source(CHOSEN)
        .about("number of requests"),
    field!(Workload.pages, Kind::int(1, 1 << 40), Int(262_144))
        .unit("pages").source("chosen: 1 GiB")
        .about("footprint: number of pages"),
    field!(Workload.page_bytes, Kind::int(1, 1 << 30), Int(4096))
        .unit("bytes").source("the usual page of file systems and FTLs")
        .about("page size"),
    field!(Workload.seed, Kind::int(0, u64::MAX), Int(1))
        .source(CHOSEN)
        .about("same seed, same records"),
    field!(Workload.read_ratio, SHARE, Real(0.7))
        .source(CHOSEN)
        .about("share of reads; requests are independent"),
    field!(Workload.size, LENGTHS, Word("1"))
        .unit("pages").source(CHOSEN)
        .of(&["uniform", "normal", "zipf", "locality", "sequential", "loop", "scan", "bursts"])
        .about("length: 8, 1-8, ~4 (a mean) or 1:60,2:20 (weights)"),
    field!(Workload.size, LENGTHS, Word("1:60,2:20,4:10,8:10"))
        .unit("pages").source("chosen: mostly single pages, as in our recordings of PostgreSQL")
        .of(&["oltp"])
        .about("length: 8, 1-8, ~4 (a mean) or 1:60,2:20 (weights)"),
    field!(Workload.arrivals, Kind::Choice(Arrivals::NAMES), Word("poisson"))
        .source("the usual model of independent clients")
        .of(&["uniform", "normal", "zipf", "locality", "sequential", "loop", "scan", "oltp"])
        .about("gaps: poisson, constant, or onoff (bursts with silences)"),
    field!(Workload.arrivals, Kind::Choice(Arrivals::NAMES), Word("onoff"))
        .source("what the kind is for").of(&["bursts"])
        .about("gaps: poisson, constant, or onoff (bursts with silences)"),
    field!(Workload.gap_ns, Kind::int(0, LONGEST_NS), Int(1_000_000))
        .unit("ns").source("chosen: 1,000 requests/s")
        .about("mean gap between arrivals (onoff: within a burst)"),
    field!(Workload.on_ns, Kind::int(1, LONGEST_NS), Int(100_000_000))
        .unit("ns").source("chosen: 100 requests a burst")
        .about("onoff: mean length of a burst"),
    field!(Workload.off_ns, Kind::int(0, LONGEST_NS), Int(900_000_000))
        .unit("ns").source("chosen: on a tenth of the time")
        .about("onoff: mean length of a silence"),
    field!(Workload.alpha, Kind::real(0.0, 20.0), Real(1.0))
        .source("Zipf's law").of(&["zipf", "bursts"])
        .about("skew: k-th page in proportion to k^-alpha; 0 is uniform"),
    field!(Workload.alpha, Kind::real(0.0, 20.0), Real(0.9))
        .source(CHOSEN).of(&["oltp"])
        .about("skew of the data pages: k^-alpha for the k-th; 0 is uniform"),
    field!(Workload.permuted, Kind::Bool, Bool(true))
        .source("popular pages are seldom neighbours").of(&["zipf", "bursts", "oltp"])
        .about("scatter popular pages; else page number = rank"),
    field!(Workload.permuted, Kind::Bool, Bool(false))
        .source("reading of ACR, table II").of(&["locality"])
        .about("scatter the hot pages; else they are the first pages"),
    field!(Workload.cluster_pages, Kind::int(1, 1 << 30), Int(1))
        .unit("pages").source("chosen: popular pages are scattered one by one")
        .of(&["zipf", "bursts", "oltp"])
        .about("pages of similar popularity in a row (with permuted)"),
    field!(Workload.mean, SHARE, Real(0.5))
        .unit("share of the footprint").source(CHOSEN).of(&["normal"])
        .about("centre of the bell curve"),
    field!(Workload.deviation, Kind::real(0.0, 100.0), Real(0.125))
        .unit("share of the footprint").source(CHOSEN).of(&["normal"])
        .about("standard deviation of the bell curve"),
    field!(Workload.access_share, SHARE, Real(0.8))
        .source("the 80/20 rule").of(&["locality"])
        .about("share of requests to the hot pages"),
    field!(Workload.page_share, SHARE, Real(0.2))
        .source("the 80/20 rule").of(&["locality"])
        .about("share of hot pages (at least one page)"),
    field!(Workload.access_share, SHARE, Real(0.7))
        .source(CHOSEN).of(&["scan"])
        .about("share of requests to the hot set; the others scan"),
    field!(Workload.page_share, SHARE, Real(0.1))
        .source(CHOSEN).of(&["scan"])
        .about("share of pages in the hot set (the first ones)"),
    field!(Workload.run_requests, Kind::int(0, 1_000_000_000), Int(0))
        .unit("requests").source(CHOSEN).of(&["sequential"])
        .about("mean requests before a jump to any page; 0 = never"),
    field!(Workload.loop_pages, Kind::int(0, 1 << 40), Int(0))
        .unit("pages").source(CHOSEN).of(&["loop"])
        .about("length of the loop; 0 = the footprint"),
    field!(Workload.log_share, SHARE, Real(0.15))
        .source(CHOSEN).of(&["oltp"])
        .about("share of requests that append to the log"),
    field!(Workload.log_page_share, SHARE, Real(0.05))
        .source(CHOSEN).of(&["oltp"])
        .about("share of pages for the circular log (the last ones)"),
];

impl AsValue for Sizes {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Sizes::parse(text),
            other => Sizes::parse(&other.as_whole()?.to_string()),
        }
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

/// The parameters of workloads of this kind.
pub(super) fn of(kind: WorkloadKind) -> impl Iterator<Item = &'static Field<Workload>> {
    PARAMETERS.iter().filter(move |parameter| parameter.key.applies_to(kind.name()))
}

/// A kind by name.
pub(super) fn kind(name: &str) -> Result<WorkloadKind> {
    if let Some(found) = KINDS.iter().find(|k| k.0.eq_ignore_ascii_case(name)) {
        return Ok(found.1);
    }
    let known = Unknown { name: name.into(), known: KINDS.iter().map(|k| k.0).collect() };
    Err(usage(format!("kind: there is no workload {name:?}; {}", known.hint())))
}

/// The values that a parameter takes, as an error message names them.
pub fn takes(key: &Key) -> String {
    match key.kind {
        Kind::Int { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Real { min, max } => format!("a number from {min} to {max}"),
        other => other.to_string(),
    }
}

/// Error of a key that this kind does not have: another kind's, or a mistake.
fn elsewhere(kind: WorkloadKind, unknown: &Unknown) -> TraceError {
    let Unknown { name, .. } = unknown;
    let hint = match find(PARAMETERS, name) {
        Ok(field) => {
            let fields = PARAMETERS.iter().filter(|other| other.key.name == field.key.name);
            let kinds: Vec<&str> = fields.flat_map(|one| one.key.of).copied().collect();
            format!("it belongs to {}", kinds.join(", "))
        }
        Err(_) => unknown.hint(),
    };
    usage(format!("{name}: a {} workload has no such parameter; {hint}", kind.name()))
}

impl Workload {
    /// A workload of a kind, everything else at its default.
    pub fn new(kind: WorkloadKind) -> Self {
        let mut workload = Workload {
            kind,
            requests: 0,
            pages: 0,
            page_bytes: 0,
            seed: 0,
            read_ratio: 0.0,
            size: Sizes::Fixed(1),
            arrivals: Arrivals::Poisson,
            gap_ns: 0,
            on_ns: 0,
            off_ns: 0,
            alpha: 0.0,
            permuted: false,
            cluster_pages: 1,
            mean: 0.0,
            deviation: 0.0,
            access_share: 0.0,
            page_share: 0.0,
            run_requests: 0,
            loop_pages: 0,
            log_share: 0.0,
            log_page_share: 0.0,
        };
        of(kind).for_each(|parameter| parameter.reset(&mut workload));
        workload
    }

    /// Sets one parameter.
    ///
    /// # Errors
    ///
    /// Errors of [`from_map`](Self::from_map).
    pub fn set(&mut self, key: &str, value: &serde_json::Value) -> Result<()> {
        let kind = self.kind;
        let field = find(of(kind), key).map_err(|unknown| elsewhere(kind, &unknown))?;
        let given = Value::deserialize(value).expect("every JSON value is a value");
        field.set(self, &given, Typing::Loose).ok_or_else(|| {
            let text = || value.as_str().map(|text| format!("{text:?}"));
            let found = text().unwrap_or_else(|| value.to_string());
            usage(format!("{key}: expected {}, found {found}", takes(&field.key)))
        })
    }
}
