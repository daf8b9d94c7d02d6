//! Catalogue entry of an admission filter.

use crate::params::Param;
use std::sync::Arc;

/// Catalogue entry of an admission filter.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionInfo {
    /// Name, as users write it.
    pub name: &'static str,
    /// Name in full.
    pub title: &'static str,
    /// Author, title, venue, year; empty if it has no paper.
    pub source: &'static str,
    /// Purpose, in a sentence.
    pub about: &'static str,
    /// It reads the arrival times of requests.
    pub reads_time: bool,
    /// It reads the times of computing blocks of prompts.
    pub reads_compute_time: bool,
    /// Parameters; empty if it has none.
    pub params: &'static [Param],
}

/// Times of the blocks of prompts, for a filter that weighs reading against computing.
#[derive(Clone, Debug)]
pub struct BlockTimes {
    /// Time of computing each block, nanoseconds, by page.
    pub compute_ns: Arc<[u64]>,
    /// Time of reading a block from the tier, nanoseconds, if the run has it.
    pub read_ns: Option<u64>,
}
