//! Key-value metadata of our own export.

/// Version of the layout, [`VERSION`].
pub const TRACE: &str = "destage.trace";
/// Version of the layout read and written here.
pub const VERSION: &str = "1";
/// Device names as a JSON list; the column `device` is an index into it.
pub const DEVICES: &str = "destage.devices";
/// Difference between `time_ns` and the time on the source's own clock, nanoseconds.
pub const ORIGIN_NS: &str = "destage.origin_ns";
/// Format that the records came from.
pub const SOURCE_FORMAT: &str = "destage.source_format";
/// `true` or `false`: whether the source has times.
pub const HAS_TIMES: &str = "destage.has_times";
/// `true` or `false`: whether the source has operations.
pub const HAS_OPS: &str = "destage.has_ops";
/// Bytes of one page reference, if the source is a list of those.
pub const PAGE_BYTES: &str = "destage.page_bytes";
