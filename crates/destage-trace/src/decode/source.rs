//! Where records come from.

use crate::error::Result;
use crate::record::{DeviceTable, Record};

/// Source of records: a reader's stream, or a synthetic workload.
pub trait RecordSource {
    /// Puts the next records into `batch`, which is empty; `false` when there are none left.
    /// Records come in the order of the run, with times that do not decrease.
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool>;

    /// The devices that records named so far.
    fn devices(&self) -> &DeviceTable;

    /// Report of the reading, for the result; called after the last batch.
    fn summary(&self) -> serde_json::Value;

    /// Page size that the trace itself counts in, bytes (page-reference traces).
    fn page_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether records carry times; called after the last batch.
    fn has_times(&self) -> bool {
        true
    }

    /// Position of the reading, and its total, in the source's own unit.
    fn position(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}
