//! Where records come from.

use crate::device_table::DeviceTable;
use crate::error::Result;
use crate::record::Record;

/// Where records come from: a reader's stream, or a synthetic workload.
pub trait RecordSource {
    /// Puts the next records into `batch`, which is empty; `false` when there are none left.
    /// Records come in the order of the run, with times that do not decrease.
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool>;

    /// The devices that records named so far.
    fn devices(&self) -> &DeviceTable;

    /// What reading reported, for the result; asked for after the last batch.
    fn summary(&self) -> serde_json::Value;

    /// Page size that the trace itself counts in, bytes (page-reference traces).
    fn page_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether records carry times; asked for after the last batch.
    fn has_times(&self) -> bool {
        true
    }

    /// How far reading has come, and of how much, in the source's own unit.
    fn position(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}
