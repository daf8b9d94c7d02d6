//! One request of a trace (`docs/spec/trace-formats.md` section 1), and its encoded forms.
//!
//! ```text
//!  (here)           the record that every reader produces
//!  device_table     device names behind the records' indices
//!  chain            place of a block in the prompt of a language model
//!  extent           pages, operation and partial ends of a decoded row
//!  control_command  decoded trims and flushes, between the rows
//! ```

mod chain;
mod control_command;
mod device_table;
mod extent;

use destage_keys::words;

pub use chain::ChainMark;
pub use control_command::{ControlCommand, ControlKind};
pub use device_table::{DeviceTable, natural_cmp};
pub use extent::Extent;

words! {
    /// Operation of a record.
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
    /// Operation.
    pub op: RecordOp,
    /// Position in a chain of blocks; [`ChainMark::NONE`] where the format has no chains.
    pub chain: ChainMark,
}

impl Record {
    /// A read of nothing at time 0: what a format does not say of a record.
    pub const EMPTY: Record = Record {
        time_ns: 0,
        offset_bytes: 0,
        length_bytes: 0,
        response_ns: NO_RESPONSE,
        device: 0,
        op: RecordOp::Read,
        chain: ChainMark::NONE,
    };
}

/// `response_ns` of a record whose format measures none.
pub const NO_RESPONSE: u64 = u64::MAX;
