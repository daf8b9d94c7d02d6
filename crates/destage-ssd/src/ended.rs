//! Operations whose end was not known when they were decided: news for the host and the counts.

use crate::pending_time::PendingTime;
use crate::timing::OperationKind;
use destage_core::Nanos;

/// A host operation has entered its queue, or what it waited for is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Released {
    /// R or W; `None` for zeros of a page that was never written.
    pub(crate) kind: Option<OperationKind>,
    pub(crate) submission: u64,
    /// Its end.
    pub(crate) end: PendingTime,
    /// Name of that.
    pub(crate) name: PendingTime,
    /// Its ready time: a page that comes in is in the drive then.
    pub(crate) ready: Nanos,
}

/// A host operation of which it is not known yet when the host sees it done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undone {
    pub(crate) submission: u64,
    pub(crate) is_read: bool,
    pub(crate) service_ns: Nanos,
    pub(crate) decided: Nanos,
    pub(crate) counts: bool, // its latency
}
