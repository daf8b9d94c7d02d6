//! Pages that are dirty in the cache when measurement begins and ends.

use serde::{Deserialize, Serialize};

/// Pages that were dirty in the cache when measurement began and when it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingWrites {
    /// Dirty pages at the beginning; `None` in results of earlier versions.
    #[serde(default)]
    pub start_pages: Option<u64>,
    /// Dirty pages at the end; 0 if they were written there.
    #[serde(alias = "dirty_left")]
    pub end_pages: u64,
    /// Their size, bytes; known where the page size is, in a result set.
    #[serde(default, alias = "dirty_left_bytes")]
    pub end_bytes: Option<u64>,
}
