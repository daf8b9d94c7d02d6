//! How a long call is followed and stopped from outside.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// How a long call is followed and stopped from outside.
#[derive(Default)]
pub struct Control {
    /// Set it to stop.
    pub stop: AtomicBool,
    /// Page accesses done so far, over all runs of the call.
    pub accesses_done: AtomicU64,
}
