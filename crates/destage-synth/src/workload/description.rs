//! Description of a workload: kind, parameters, and the rules between them.

use destage_trace::{Result, TraceError};

use super::arrivals::Arrivals;
use super::sizes::Sizes;

/// Kind of a workload: the popularity of its pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WorkloadKind {
    /// Every page alike.
    Uniform,
    /// Bell-shaped around a centre.
    Normal,
    /// The k-th most popular page with a probability in proportion to k^-alpha.
    Zipf,
    /// A share of the requests goes to a share of the pages.
    Locality,
    /// One after another, with a jump now and then.
    Sequential,
    /// One stretch of pages, over and over.
    Loop,
    /// A hot set, and a scan over everything else.
    Scan,
    /// Zipf pages whose requests come in bursts.
    Bursts,
    /// Skewed reads and writes of a database, and its log.
    Oltp,
}

/// Name, kind and one line about it.
pub const KINDS: &[(&str, WorkloadKind, &str)] = &[
    ("uniform", WorkloadKind::Uniform, "every page alike"),
    ("normal", WorkloadKind::Normal, "pages bell-shaped around a centre"),
    ("zipf", WorkloadKind::Zipf, "the k-th most popular page in proportion to k^-alpha"),
    (
        "locality",
        WorkloadKind::Locality,
        "x % of the requests go to y % of the pages, the others to the rest",
    ),
    ("sequential", WorkloadKind::Sequential, "one page after another, with a jump now and then"),
    ("loop", WorkloadKind::Loop, "the same stretch of pages over and over"),
    ("scan", WorkloadKind::Scan, "a hot set, mixed with a scan over all other pages"),
    ("bursts", WorkloadKind::Bursts, "zipf pages; requests come in bursts with silence between"),
    ("oltp", WorkloadKind::Oltp, "a database: skewed reads and writes of several pages, and a log"),
];

impl WorkloadKind {
    /// As in a description.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|k| k.1 == self).map_or("", |k| k.0)
    }
}

/// A workload's description. Units, ranges and defaults are in [`PARAMETERS`](crate::PARAMETERS).
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)] // each is described under its key in `PARAMETERS`
pub struct Workload {
    pub kind: WorkloadKind,
    pub requests: u64,
    pub pages: u64,
    pub page_bytes: u64,
    pub seed: u64,
    pub read_ratio: f64,
    pub size: Sizes,
    pub arrivals: Arrivals,
    pub gap_ns: u64,
    pub on_ns: u64,
    pub off_ns: u64,
    pub alpha: f64,
    pub permuted: bool,
    pub cluster_pages: u64,
    pub mean: f64,
    pub deviation: f64,
    pub access_share: f64,
    pub page_share: f64,
    pub run_requests: u64,
    pub loop_pages: u64,
    pub log_share: f64,
    pub log_page_share: f64,
}

impl Workload {
    /// Rules between parameters; ranges were checked as they were set.
    ///
    /// # Errors
    ///
    /// `Usage`.
    pub fn check(&self) -> Result<()> {
        if self.size.longest() > self.pages {
            return Err(usage(format!(
                "size: requests of {} pages do not fit a footprint of {} pages",
                self.size.longest(),
                self.pages
            )));
        }
        if self.pages.checked_mul(self.page_bytes).is_none_or(|bytes| bytes > 1 << 62) {
            return Err(usage(format!(
                "pages: {} pages of {} bytes lie past 2^62 bytes",
                self.pages, self.page_bytes
            )));
        }
        if self.kind == WorkloadKind::Oltp && self.read_ratio > 1.0 - self.log_share {
            return Err(usage(format!(
                "read_ratio: the log is written only, so that with log_share = {} at most {} can \
                 be reads, found {}",
                self.log_share,
                1.0 - self.log_share,
                self.read_ratio
            )));
        }
        if self.kind == WorkloadKind::Oltp && self.pages < 2 * self.size.longest() {
            return Err(usage(format!(
                "pages: data and log each need room for a request of {} pages, found {} pages for \
                 both",
                self.size.longest(),
                self.pages
            )));
        }
        if self.kind == WorkloadKind::Loop && self.loop_pages > self.pages {
            return Err(usage(format!(
                "loop_pages: expected at most the footprint of {} pages, found {}",
                self.pages, self.loop_pages
            )));
        }
        self.check_unread()
    }

    /// Parameters that another one switches off, given a value.
    fn check_unread(&self) -> Result<()> {
        let default = Workload::new(self.kind);
        let periods = |of: &Workload| (of.on_ns, of.off_ns);
        if self.arrivals != Arrivals::OnOff && periods(self) != periods(&default) {
            return Err(usage(format!(
                "on_ns, off_ns: only arrivals = onoff has bursts and silences, found arrivals = {}",
                self.arrivals.name()
            )));
        }
        if !self.permuted && self.cluster_pages != default.cluster_pages {
            return Err(usage(format!(
                "cluster_pages: clusters are scattered with permuted = true, found permuted = \
                 false and cluster_pages = {}",
                self.cluster_pages
            )));
        }
        Ok(())
    }
}

pub(super) fn usage(message: String) -> TraceError {
    TraceError::usage(message)
}
