//! Names that every text format uses.

pub(super) use destage_keys::printable;

pub(super) use crate::error::{Category, Result};
pub(super) use crate::format::fields::{
    self, Fields, Misread, blank_columns, eight, is_blank, letter_op, parse_decimal, parse_hex,
    parse_u64, quick_number, quoted, sum_lanes, time, trim, unexpected, whole, whole_bytes,
    word_op,
};
pub(super) use crate::format::{
    Facts, Fault, Format, Opening, Parsed, RecordReader, Sample, Skipped, Verdict, most_lines,
};
pub(super) use crate::input::Input;
pub(super) use crate::record::{NO_RESPONSE, Record, RecordOp};
pub(super) use crate::text::{Context, LineParser, TextReader};

/// Bytes of a sector, the unit of the block layer.
pub(super) const SECTOR_BYTES: u64 = 512;
/// Nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND_NS: u64 = 1_000_000;
/// Nanoseconds of a microsecond.
pub(super) const MICROSECOND_NS: u64 = 1_000;
/// A Windows FILETIME tick, nanoseconds.
pub(super) const TICK_NS: u64 = 100;

/// Outcome of one line.
pub(super) type Line = std::result::Result<Parsed, Fault>;
