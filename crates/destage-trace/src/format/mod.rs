//! A trace format: its row of the table, its reader, and the words they share.
//!
//! ```text
//!  (here)  the row, the reader, the outcome of one record
//!  sample  the first bytes, for detection
//!  dates   dates as text
//!  fields  fields of a text line: splitting, numbers, times, messages
//!  tally   counts of what was read, skipped and rejected
//! ```

pub mod dates;
pub mod fields;
mod sample;
mod tally;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::error::{Category, Result};
use crate::input::Input;
use crate::options::{OnError, ReaderOptions};
use crate::record::{DeviceTable, Record};

pub(crate) use sample::most_lines;
pub use sample::{SAMPLE_BYTES, Sample, Verdict};
pub(crate) use tally::add_once;
pub use tally::{Limits, Ruling, Skips, Tally};

/// Records that one call of [`RecordReader::fill`] adds at most, about: they stay in the cache.
pub const BATCH_RECORDS: usize = 4096;

/// Why one record was not taken; the shared readers add file, place and excerpt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Category, for the counts.
    pub category: Category,
    /// Byte range of the field within the line (text); empty if the whole line is meant.
    pub field: std::ops::Range<usize>,
    /// `Offset: expected a whole number of bytes, found "9x437184"`.
    pub message: String,
}

impl Fault {
    /// A fault of the whole line.
    pub fn line(category: Category, message: impl Into<String>) -> Self {
        Fault { category, field: 0..0, message: message.into() }
    }
}

/// Outcome of a line or a binary record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    /// A request.
    Record(Record),
    /// Several requests of one line, at least one; all are taken, or none.
    Records(Vec<Record>),
    /// Nothing to replay, and no error: counted by this name (`header`, `comment`, or the name of
    /// an ignored event such as `no response`, which goes into the table of ignored events).
    Skip(Skipped),
}

impl From<Record> for Parsed {
    fn from(record: Record) -> Self {
        Parsed::Record(record)
    }
}

/// Why something that is no error is not a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Skipped {
    /// A header line.
    Header,
    /// A comment or marker.
    Comment,
    /// Zero length read, write or trim.
    ZeroLength,
    /// An event that is no request, by its name.
    Event(String),
}

/// A format and why it is, or could be, the one.
pub type Candidate = (&'static Format, String);

/// Names the formats nearest to a sample, but for the one of the name given.
pub type Closest = fn(&Sample, &str) -> Vec<Candidate>;

/// Proposes columns and units of a table from a sample of it, if it is a table of requests; what
/// the options say already holds.
pub type Draft = fn(&Sample, &ReaderOptions) -> Option<String>;

/// Inputs of a reader when it is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Options of the reader.
    pub options: Arc<ReaderOptions>,
    /// Format to read as.
    pub format: &'static Format,
    /// Found out, not given.
    pub detected: bool,
    /// Names the two formats nearest to a sample, but for the one named: asked when most of
    /// the first lines are malformed. `None` where the format is not doubted, as when it is only
    /// tried on a sample.
    pub closest: Option<Closest>,
    /// Drafts the mapping of a table without column names.
    pub draft: Option<Draft>,
    /// Threads that may parse beside the reader's; 0: none. Set when all files are open.
    pub threads: Arc<AtomicUsize>,
}

impl Opening {
    /// The last line of a message about a malformed record.
    pub fn hint(&self) -> String {
        let how = if self.detected { "detected" } else { "given" };
        let read = format!("format {} ({how})", self.format.name);
        if self.options.on_error == OnError::Skip {
            return read;
        }
        let kind = if self.format.kind == FormatKind::Text { "lines" } else { "records" };
        format!("{read}; --on-error skip would skip such {kind} and count them")
    }
}

/// Bytes become records.
pub trait RecordReader: Send {
    /// Appends the next records, about [`BATCH_RECORDS`] at most; returns whether more may come
    /// (`false` once, with or after the last). Devices are named through `devices`; everything that
    /// is not a record is counted in `tally`, which also decides (`take`, `reject`) what a bad
    /// record does.
    ///
    /// # Errors
    ///
    /// Unreadable input, a malformed record under `on_error = "stop"`, or too many of them.
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool>;

    /// Facts of the file beyond its format's row in the table, once all of it was read.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}

/// Facts of a file; `None` where the format's row holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether its records carry times.
    pub has_times: Option<bool>,
    /// Whether they carry operations.
    pub has_ops: Option<bool>,
    /// Bytes of one page reference, in a page-reference trace.
    pub page_bytes: Option<u64>,
    /// Whether units are those of the program that wrote it ([`Format::exact`]).
    pub exact: bool,
    /// Most digits behind the point of the first times; 0 where the format has no use for them.
    pub time_digits: usize,
    /// Why columns of the first lines can hardly be what the format has there.
    pub odd_columns: Option<&'static str>,
}

/// Storage of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FormatKind {
    /// Lines.
    Text,
    /// Fixed or self-describing binary records.
    Binary,
    /// Column files.
    Columnar,
}

/// One format: the row of the table.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Format {
    /// Name in `--format`.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Storage of its records.
    pub kind: FormatKind,
    /// One line: columns or what to know.
    pub about: &'static str,
    /// Records carry times.
    pub has_times: bool,
    /// Records tell reads from writes.
    pub has_ops: bool,
    /// Records name a device; otherwise the file is the device.
    pub has_volumes: bool,
    /// Records carry a measured response time.
    pub has_response: bool,
    /// Tick of a clock so coarse that many requests share a stamp, nanoseconds.
    pub coarse_ns: Option<u64>,
    /// Checked against real files.
    pub confirmed: bool,
    /// Parts of a file's name, in lower case, that decide between formats that fit alike;
    /// beside the format's own name.
    #[serde(skip)]
    pub name_parts: &'static [&'static str],
    /// Requests of a volume and of the disks beneath it may come in one file; devices are called
    /// `major:minor`.
    #[serde(skip)]
    pub layered: bool,
    /// Looks at the first bytes.
    #[serde(skip)]
    pub detect: fn(&Sample) -> Verdict,
    /// Makes the reader.
    #[serde(skip)]
    pub open: fn(Input, &Opening) -> Result<Box<dyn RecordReader>>,
    /// The recorder writes the units itself: none can be another than the format's.
    #[serde(skip)]
    pub exact: bool,
    /// Its requests are those of a block device, in whole sectors.
    #[serde(skip)]
    pub blocks: bool,
    /// Times count from an epoch: the clock's value, in ns, at the beginning of the year 2000.
    #[serde(skip)]
    pub year_2000_ns: Option<u64>,
    /// Options of `csv` that read the same columns, to be changed where a file has them in other
    /// units; empty where no mapping does.
    #[serde(skip)]
    pub as_csv: &'static [(&'static str, &'static str)],
    /// Other files that belong to a given one (blktrace's CPUs); `None` for most formats.
    #[serde(skip)]
    pub siblings: Option<fn(&Path) -> Vec<PathBuf>>,
}

impl Format {
    /// [`Format::year_2000_ns`] of a clock that counts from 1970.
    pub const UNIX_2000_NS: Option<u64> = Some(946_684_800_000_000_000);

    /// A binary format with times, operations and devices; rows change what differs.
    pub const fn binary(
        name: &'static str,
        title: &'static str,
        about: &'static str,
        detect: fn(&Sample) -> Verdict,
        open: fn(Input, &Opening) -> Result<Box<dyn RecordReader>>,
    ) -> Format {
        Format { kind: FormatKind::Binary, ..Format::text(name, title, about, detect, open) }
    }

    /// A text format with times, operations and devices, the usual case; rows change what differs.
    pub const fn text(
        name: &'static str,
        title: &'static str,
        about: &'static str,
        detect: fn(&Sample) -> Verdict,
        open: fn(Input, &Opening) -> Result<Box<dyn RecordReader>>,
    ) -> Format {
        Format {
            name,
            title,
            kind: FormatKind::Text,
            about,
            has_times: true,
            has_ops: true,
            has_volumes: true,
            has_response: false,
            coarse_ns: None,
            confirmed: true,
            name_parts: &[],
            layered: false,
            exact: false,
            blocks: true,
            year_2000_ns: None,
            as_csv: &[],
            detect,
            open,
            siblings: None,
        }
    }
}
