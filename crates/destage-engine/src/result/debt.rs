//! What a run owes at its end.

use serde::{Deserialize, Serialize};

/// Dirty pages that were left in the cache, and what writing them would still cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Debt {
    /// Pages that were dirty after the last access; 0 if they were written at the end.
    pub dirty_left: u64,
    /// Their size, bytes; known where the page size is, in a result set.
    pub dirty_left_bytes: Option<u64>,
    /// Pages that writing them would still write, as a flush at the end does: one for each, since
    /// it pads nothing.
    pub physical_writes_owed: u64,
}

impl Debt {
    /// Of so many dirty pages.
    pub fn of(dirty_left: u64) -> Self {
        Debt { dirty_left, dirty_left_bytes: None, physical_writes_owed: dirty_left }
    }
}
