//! Miss-ratio curves: their options and results.

use super::sample::{GROUPS, Sample, Sampling};
use destage_engine::options::RunOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How curves are made.
#[derive(Clone, Debug)]
pub struct MrcOptions {
    /// Options of every run.
    pub run: RunOptions,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// MIN at every size in one go, what it hits, instead of a run per size.
    pub every_size: bool,
    /// The whole trace if `None`.
    pub sampling: Option<Sampling>,
    /// In place of one rate, the rate for each policy and size that such an error needs; the whole
    /// trace where no sample serves.
    pub within: Option<Within>,
    /// Policy that also runs over the whole trace, as control variate of the samples.
    pub control: Option<ControlVariate>,
    /// Threads, at least 1. The result does not depend on them.
    pub jobs: usize,
}

/// A policy that is known over the whole trace: what a sample is off for it is taken out of the
/// other policies' estimates, as far as they share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlVariate {
    /// Known at every size after one pass.
    Lru,
}

impl MrcOptions {
    /// Whether LRU over the whole trace is to put samples right.
    pub(super) fn puts_right(&self) -> bool {
        self.control.is_some() && (self.sampling.is_some() || self.within.is_some())
    }
}

/// An error that is wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Within {
    /// Half the width of the 95 % interval of hit ratios, above 0 and below 1.
    pub error: f64,
    /// Seed of the samples.
    pub seed: u64,
}

impl Within {
    /// Checks the error.
    pub fn new(error: f64, seed: u64) -> Result<Within, String> {
        if error > 0.0 && error < 1.0 {
            Ok(Within { error, seed })
        } else {
            Err(format!("error {error}: expected a share above 0 and below 1, such as 0.5%"))
        }
    }
}

/// Curves of some policies over one trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mrc {
    /// The sample, if there is one.
    pub sample: Option<SampleSize>,
    /// Half the width of the intervals that was wanted, in place of one rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Policy that ran over the whole trace as control variate of the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlVariate>,
    /// The samples that it took, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampleSize>,
    /// One per policy, in the order given.
    pub curves: Vec<Curve>,
    /// How far the points of a sample are apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differences: Option<PairedDifferences>,
    /// Warnings for the reader of these numbers.
    pub warnings: Vec<String>,
    /// Passes and runs that had not ended when it was told to stop.
    #[serde(skip)]
    pub unfinished: usize,
    /// Passes and runs in all.
    #[serde(skip)]
    pub tasks: usize,
}

/// Rate and size of a sample.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampleSize {
    /// R, the rate that was used.
    pub rate: f64,
    /// Seed of the ranks.
    pub seed: u64,
    /// Distinct pages.
    pub pages: u64,
    /// Accesses to them, warm-up included.
    pub accesses: u64,
    /// Groups that the errors come from.
    pub groups: u64,
}

impl SampleSize {
    pub(super) fn of(sample: &Sample, sampling: Sampling) -> SampleSize {
        SampleSize {
            rate: sampling.rounded_rate(),
            seed: sampling.seed,
            pages: sample.lpns.len() as u64,
            accesses: sample.first_ids.len() as u64,
            groups: GROUPS,
        }
    }
}

/// How far policies are apart on the same sample, in the form of a comparison's differences: they
/// are off together, so that a difference is mostly surer than its two ends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PairedDifferences {
    /// One per cache size.
    pub groups: Vec<SizeDifferences>,
}

/// Paired differences of the policies at one cache size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SizeDifferences {
    /// Numbers of the points, which are counted curve by curve.
    pub runs: Vec<usize>,
    /// By metric, for the pairs (0, 1), (0, 2) .. (1, 2) ..: where the second's number less the
    /// first's lies, with 95 % confidence; `None` where this sample does not tell.
    pub metrics: BTreeMap<String, Vec<Option<[f64; 2]>>>,
}

/// How a curve was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All sizes in one pass over stack distances.
    OnePass,
    /// One run per size.
    Runs,
}

/// A policy over cache sizes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the policy.
    pub policy: String,
    /// Label in tables: `cflru[window_fraction=0.75]`.
    pub label: String,
    /// All parameters, after defaults.
    pub params: BTreeMap<String, serde_json::Value>,
    /// How it was made.
    pub method: Method,
    /// One per size, in the order given.
    pub points: Vec<Point>,
    /// Results of one pass at all sizes, those not requested included.
    #[serde(skip)]
    pub every_size: Option<EverySize>,
}

/// A policy at every cache size, a column for each number. Index k: a cache of k + 1 frames; one
/// that is larger than the last counts what the last counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EverySize {
    /// Page accesses that were counted.
    pub accesses: u64,
    /// Accesses whose page was resident.
    pub hits: Vec<u64>,
    /// Pages read from flash, as the run's options count them.
    pub physical_reads: Vec<u64>,
    /// Pages written to flash, as the run's options count them; `None` of MIN, whose hits do not
    /// say which of the pages that are never used again go first.
    pub physical_writes: Option<Vec<u64>>,
}

/// One size of a curve. Counts start after the warm-up; in a sample they are estimates, rounded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Frames of the cache.
    pub frames: u32,
    /// The size as the user gave it.
    pub cache: String,
    /// The size in bytes.
    pub cache_bytes: u64,
    /// Page accesses; exact in a sample too, unless the warm-up lasts until the cache is full.
    pub accesses: u64,
    /// Accesses whose page was not resident.
    pub misses: u64,
    /// Read accesses whose page was not resident.
    pub read_misses: u64,
    /// Write accesses whose page was not resident.
    pub write_misses: u64,
    /// Misses / accesses, 0..1; 0 if nothing was counted.
    pub miss_ratio: f64,
    /// Pages read from flash.
    pub physical_reads: u64,
    /// Pages written to flash; `None` where one pass does not tell.
    pub physical_writes: Option<u64>,
    /// Pages that left the cache because of a miss.
    pub evictions: u64,
    /// Sample behind an estimated point; `None` for an exact one.
    pub sampled: Option<SampledPoint>,
}

/// Sample and intervals behind an estimated point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SampledPoint {
    /// Frames that the sample had; with LRU between two whole numbers.
    pub frames: f64,
    /// Standard error of `miss_ratio`; `None` where no interval is known.
    pub miss_ratio_error: Option<f64>,
    /// Standard error of `physical_writes`, pages.
    pub physical_writes_error: Option<f64>,
    /// `misses_low`, `misses_high` and so on: the 95 % intervals of the point's numbers; none where
    /// none has been shown to hold.
    #[serde(flatten)]
    pub intervals: BTreeMap<String, f64>,
}
