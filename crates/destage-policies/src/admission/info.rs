//! Catalogue entry of an admission filter.

use crate::params::Param;

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
    /// Parameters; empty if it has none.
    pub params: &'static [Param],
}
