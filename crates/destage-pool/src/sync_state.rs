//! Syncs so far, and what the next one has to cover.

use crate::sync::{AtomicU64, Mutex, RwLock};
use std::io;
use std::ops::Range;

/// Syncs of a store, one at a time.
#[derive(Default)]
pub(crate) struct SyncState {
    /// Held during a sync.
    pub(crate) last: Mutex<LastSync>,
    /// Syncs begun.
    pub(crate) started: AtomicU64,
    /// Syncs failed. Who marks pages as written reads it, and keeps the lock until it has: so a
    /// sync that fails sees the page, or the page sees the failure.
    pub(crate) failures: RwLock<u64>,
    pub(crate) discards: Mutex<Discards>,
}

/// The syncs that have ended.
#[derive(Default)]
pub(crate) struct LastSync {
    /// Number of the last sync that succeeded, counted as begun.
    pub(crate) succeeded: u64,
    /// Error of the last that failed.
    pub(crate) error: Option<io::Error>,
}

/// Discards that are not known to be durable. A page among them that was written since is in
/// memory: it stays there until a sync has covered both.
#[derive(Default)]
pub(crate) struct Discards {
    /// Done since the last sync began.
    pub(crate) unsynced: Vec<Range<u64>>,
    /// Discards that the sync in progress covers.
    pub(crate) syncing: Vec<Range<u64>>,
    /// A sync failed since: to be done again before the next.
    pub(crate) repeat: Vec<Range<u64>>,
}

impl Discards {
    /// The store may have lost the discard of a page that is not in memory.
    pub(crate) fn may_be_lost(&self, page: u64) -> bool {
        self.syncing.iter().chain(&self.repeat).any(|range| range.contains(&page))
    }
}
