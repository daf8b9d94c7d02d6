//! The part of a run that was measured.

use serde::{Deserialize, Serialize};

/// The part of a run that was measured, after the warm-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// First request, from 1; one past the last if nothing was measured.
    pub first_request: u64,
    /// Last request.
    pub last_request: u64,
    /// First page access, from 0.
    pub first_access: u64,
    /// With a device: instant of the first request, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// From the arrival of the first request to that of the last, nanoseconds; absent if the trace
    /// has no times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals_ns: Option<u64>,
    /// After a warm-up `auto`: the cache had been filled by then; a cache that takes longer than
    /// half of the requests is not full, and its numbers are not those of the steady state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_full: Option<bool>,
}
