//! The record that every reader produces (`docs/spec/trace-formats.md` section 1), and the batch
//! that carries records from a reader to the decoder.

use destage_keys::words;

words! {
    /// What a record asks of the device.
    #[derive(Hash, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    RecordOp {
        /// Read an extent.
        Read = "read",
        /// Write an extent.
        Write = "write",
        /// The extent's content is no longer wanted.
        Trim = "trim",
        /// Make earlier writes durable; no extent.
        Flush = "flush",
    }
}

/// One request of a trace, as read: not yet sorted, rebased or split into pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Arrival at the traced layer, nanoseconds on the format's own clock (epoch or start of
    /// trace).
    pub time_ns: u64,
    /// Byte address within the device.
    pub offset_bytes: u64,
    /// Above 0 for read, write and trim; 0 for flush.
    pub length_bytes: u64,
    /// Measured service time, nanoseconds; [`NO_RESPONSE`] where the format has none.
    pub response_ns: u64,
    /// Index into the reader's table of device names.
    pub device: u32,
    /// What is asked.
    pub op: RecordOp,
}

/// `response_ns` of a record whose format measures none.
pub const NO_RESPONSE: u64 = u64::MAX;
