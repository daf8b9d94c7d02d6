//! Statistics that a surrogate trace is generated from.

use destage_trace::{Result, TraceError};
use serde::{Deserialize, Serialize};

/// Longest request, in multiples of the mean length.
const LONGEST_MEANS: f64 = 64.0;

/// Model by which requests are generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecipeKind {
    /// By depth in a stack.
    Recency,
    /// By popularity.
    Independent,
    /// Reads and writes with hot pages of their own.
    Apart,
}

/// All that a load is made of, but for the seed. What a kind does not take is 0.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Model by which requests are generated.
    pub kind: RecipeKind,
    /// Requests, from 1.
    pub requests: u64,
    /// Pages that are touched, from 1; `apart`: of the footprint.
    pub unique_pages: u64,
    /// Bytes of a page, from 1.
    pub page_bytes: u64,
    /// Share of requests that write, 0..=1.
    pub write_ratio: f64,
    /// Correlation (phi) of successive operations on a page, 0..=1; 0: each is drawn by itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub affinity: f64,
    /// Mean length, pages, from 1.
    #[serde(default = "one")]
    pub mean_pages: f64,
    /// Pages of new extents that lie side by side, on average, from 1.
    #[serde(default = "one")]
    pub cluster_pages: f64,
    /// Share of requests that write the log, 0..=1.
    #[serde(default)]
    pub log_share: f64,
    /// Share of the pages that the log goes round in, 0..=1.
    #[serde(default)]
    pub log_page_share: f64,
    /// Mean gap inside a burst, ns.
    pub gap_ns: u64,
    /// Requests of a burst on average; 1: no bursts.
    #[serde(default = "one")]
    pub burst: f64,
    /// Mean silence after a burst, ns.
    #[serde(default)]
    pub off_ns: u64,
    /// `independent`: the k-th extent in proportion to k^-alpha.
    #[serde(default)]
    pub alpha: f64,
    /// `recency`: share of depths that are among the latest few, 0..=1.
    #[serde(default)]
    pub near: f64,
    /// `recency`: the other depths are n * u^(1/depth) of the n extents so far, u even in 0..1.
    #[serde(default = "one")]
    pub depth: f64,
    /// `recency`: share of requests that go on where the last one ended, 0..=1.
    #[serde(default)]
    pub sequential: f64,
    /// `recency`: streams on which new extents are born side by side.
    #[serde(default = "one")]
    pub streams: f64,
    /// `recency`: phases, early in each of which most new extents come; `apart`: phases, in every
    /// second of which reads and writes exchange their shares.
    #[serde(default = "one")]
    pub phases: f64,
    /// `apart`: share of reads, and of writes, that go to their hot pages, 0..=1.
    #[serde(default)]
    pub access_share: f64,
    /// `apart`: share of pages that are hot for reads, and as many for writes, 0..=1.
    #[serde(default)]
    pub page_share: f64,
    /// `apart`: reads keep to the first half of the pages, writes to the second; `page_share` is
    /// of a half.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub halves: bool,
}

fn one() -> f64 {
    1.0
}

/// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Recipe {
    /// # Errors
    ///
    /// `Usage` for a value out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(TraceError::usage(message));
        let counts = [
            ("requests", self.requests),
            ("unique_pages", self.unique_pages),
            ("page_bytes", self.page_bytes),
        ];
        for (name, count) in counts {
            if !(1..=1 << 40).contains(&count) {
                return wrong(format!("{name}: expected 1 to 2^40, found {count}"));
            }
        }
        if self.unique_pages >= u64::from(u32::MAX) {
            return wrong(format!(
                "unique_pages: expected below 2^32, found {}",
                self.unique_pages
            ));
        }
        let shares = [
            ("write_ratio", self.write_ratio),
            ("affinity", self.affinity),
            ("log_share", self.log_share),
            ("log_page_share", self.log_page_share),
            ("near", self.near),
            ("sequential", self.sequential),
            ("access_share", self.access_share),
            ("page_share", self.page_share),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return wrong(format!("{name}: expected a share, 0 to 1, found {share}"));
            }
        }
        let from_one = [
            ("mean_pages", self.mean_pages),
            ("cluster_pages", self.cluster_pages),
            ("burst", self.burst),
            ("streams", self.streams),
            ("phases", self.phases),
        ];
        for (name, value) in from_one {
            if !(1.0..1e9).contains(&value) {
                return wrong(format!("{name}: expected a number from 1, found {value}"));
            }
        }
        if !(self.depth > 0.0 && self.depth < 1e3) {
            return wrong(format!("depth: expected a number above 0, found {}", self.depth));
        }
        if !(0.0..=20.0).contains(&self.alpha) {
            return wrong(format!("alpha: expected a number, 0 to 20, found {}", self.alpha));
        }
        Ok(())
    }

    /// The longest request over so many pages.
    pub(super) fn longest(&self, pages: u64) -> u64 {
        let means = (LONGEST_MEANS * self.mean_pages).round() as u64;
        (pages / 4).min(means).max(1)
    }
}
