//! The trace formats: one file each, listed once, in [`FORMATS`].
//!
//! Two kinds of readers. A **text** format parses one line; the shared reader (`text.rs`) splits
//! lines, counts, builds messages with their place and applies `on_error`. A **binary** format
//! implements [`RecordReader`] over an [`Input`] itself. Neither sorts, rebases, filters or splits:
//! that is `stream`'s.

pub mod alibaba;
pub mod arc;
pub(crate) mod binary;
pub mod biosnoop;
pub mod blkparse;
pub mod blktrace;
pub mod csv;
pub mod diskmon;
pub mod disksim;
pub mod fio_iolog;
pub mod fiu;
pub mod k5cloud;
pub mod lcs;
pub(crate) mod mapping;
pub mod mqsim;
pub mod ms_etw;
pub mod msr;
pub(crate) mod object;
pub mod oracle_general;
pub mod pages;
pub mod parquet;
mod parquet_column;
pub mod spc;
pub mod srt;
pub mod systor17;
pub mod tencent;
#[cfg(test)]
pub(crate) mod testing;
pub mod vscsi;
pub mod vscsi_text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::device_table::DeviceTable;
use crate::error::{Category, Result};
use crate::input::Input;
use crate::options::ReaderOptions;
use crate::record::Record;
use crate::tally::Tally;

/// Records that one call of [`RecordReader::fill`] adds at most, about: they stay in the cache.
pub const BATCH_RECORDS: usize = 4096;

/// Bytes that detection looks at.
pub const SAMPLE_BYTES: usize = 64 * 1024;

/// What a look at the first bytes says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is this format, because ...
    Yes(String),
    /// It could be, because ...
    Maybe(String),
    /// It is not.
    No,
}

/// Why one record was not taken; the shared readers add file, place and excerpt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// For the counts.
    pub category: Category,
    /// Byte range of the field within the line (text); empty if the whole line is meant.
    pub field: std::ops::Range<usize>,
    /// `Offset: expected a whole number of bytes, found "9x437184"`.
    pub message: String,
}

/// What a line or a binary record turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    /// A request.
    Record(Record),
    /// Nothing to replay, and no error: counted by this name (`header`, `comment`, or the name of
    /// an ignored event such as `no response`, which goes into the table of ignored events).
    Skip(Skipped),
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

/// The beginning of a trace, for detection.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Up to [`SAMPLE_BYTES`] bytes, decompressed.
    pub bytes: &'a [u8],
    /// Whether that is the whole file.
    pub whole: bool,
    /// Bytes of the whole file, decompressed, if known.
    pub size: Option<u64>,
    /// What messages call the file; only breaks ties.
    pub name: &'a str,
}

impl<'a> Sample<'a> {
    /// The sample of an input that has consumed nothing yet.
    pub fn of(input: &'a mut Input) -> Result<Sample<'a>> {
        input.ensure(SAMPLE_BYTES)?;
        let input = &*input;
        let window = input.window();
        let bytes = &window[..window.len().min(SAMPLE_BYTES)];
        let whole = input.at_end() && bytes.len() == window.len();
        let size = input.size().or(whole.then_some(bytes.len() as u64));
        Ok(Sample { bytes, whole, size, name: input.name() })
    }

    /// Complete lines of the sample without their ends, blank ones and a byte-order mark left out;
    /// at most `count`. The last line counts as complete if the sample is the whole file.
    pub fn lines(&self, count: usize) -> Vec<&'a [u8]> {
        let mut lines = Vec::new();
        let mut rest = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.bytes);
        while lines.len() < count {
            let line = match memchr::memchr(b'\n', rest) {
                Some(end) => {
                    let line = &rest[..end];
                    rest = &rest[end + 1..];
                    line
                }
                None if self.whole && !rest.is_empty() => std::mem::take(&mut rest),
                None => break,
            };
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.trim_ascii().is_empty() {
                lines.push(line);
            }
        }
        lines
    }

    /// Whether it can be text at all: no NUL byte.
    pub fn is_text(&self) -> bool {
        !self.bytes.is_empty() && memchr::memchr(0, self.bytes).is_none()
    }
}

/// What a reader is told when it is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// How to read.
    pub options: Arc<ReaderOptions>,
    /// As which format.
    pub format: &'static Format,
    /// Found out, not given.
    pub detected: bool,
    /// Reading only to see how much of a sample fits: the format is not doubted again.
    pub probe: bool,
}

impl Opening {
    /// The last line of a message about a malformed record.
    pub fn hint(&self) -> String {
        let how = if self.detected { "detected" } else { "given" };
        let kind = if self.format.kind == Kind::Text { "lines" } else { "records" };
        format!(
            "format {} ({how}); --on-error skip would skip such {kind} and count them",
            self.format.name
        )
    }
}

/// Bytes become records.
pub trait RecordReader: Send {
    /// Appends the next records, about [`BATCH_RECORDS`] at most; returns whether more may come
    /// (`false` once, with or after the last). Devices are named through `devices`; everything that
    /// is not a record is counted in `tally`, which also decides (`take`, `reject`) what a bad
    /// record does.
    ///
    /// Errors: what cannot be read, a malformed record under `on_error = "stop"`, or too many.
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool>;

    /// What is known of the file, once all of it was read, beyond its format's row in the table.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}

/// What a file turned out to have or lack; `None` where the format's row holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether its records carry times.
    pub has_times: Option<bool>,
    /// Whether they carry operations.
    pub has_ops: Option<bool>,
    /// Bytes of one page reference, in a page-reference trace.
    pub page_bytes: Option<u64>,
}

/// How a format is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
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
    /// As in `--format`.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// How it is stored.
    pub kind: Kind,
    /// One line: columns or what to know.
    pub about: &'static str,
    /// Records carry times.
    pub has_times: bool,
    /// Records tell reads from writes.
    pub has_ops: bool,
    /// Records name a device; otherwise the file is the device.
    pub has_devices: bool,
    /// Records carry a measured response time.
    pub has_response: bool,
    /// Tick of a clock so coarse that many requests share a stamp, nanoseconds.
    pub coarse_ns: Option<u64>,
    /// Checked against real files.
    pub confirmed: bool,
    /// Looks at the first bytes.
    #[serde(skip)]
    pub detect: fn(&Sample) -> Verdict,
    /// Makes the reader.
    #[serde(skip)]
    pub open: fn(Input, &Opening) -> Result<Box<dyn RecordReader>>,
    /// Other files that belong to a given one (blktrace's CPUs); `None` for most formats.
    #[serde(skip)]
    pub siblings: Option<fn(&Path) -> Vec<PathBuf>>,
}

impl Format {
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
            kind: Kind::Text,
            about,
            has_times: true,
            has_ops: true,
            has_devices: true,
            has_response: false,
            coarse_ns: None,
            confirmed: true,
            detect,
            open,
            siblings: None,
        }
    }
}

/// Counts, among the first hundred lines, those that `fits`; a text format is recognised if more
/// than half do, so that one bad line does not hide it.
pub(crate) fn most_lines(sample: &Sample, what: &str, fits: impl Fn(&[u8]) -> bool) -> Verdict {
    if !sample.is_text() {
        return Verdict::No;
    }
    let lines = sample.lines(100);
    let fitting = lines.iter().filter(|line| fits(line)).count();
    if fitting * 2 > lines.len() {
        Verdict::Yes(format!("{fitting} of the first {} lines are {what}", lines.len()))
    } else {
        Verdict::No
    }
}

/// Every format, in the order of help and documentation.
pub static FORMATS: &[&Format] = &[
    &msr::FORMAT,
    &spc::FORMAT,
    &systor17::FORMAT,
    &ms_etw::FORMAT,
    &srt::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &vscsi::FORMAT,
    &vscsi_text::FORMAT,
    &oracle_general::FORMAT,
    &oracle_general::FORMAT_OP,
    &lcs::FORMAT,
    &blkparse::FORMAT,
    &blktrace::FORMAT,
    &fio_iolog::FORMAT,
    &disksim::FORMAT,
    &mqsim::FORMAT,
    &fiu::FORMAT,
    &k5cloud::FORMAT,
    &biosnoop::FORMAT,
    &diskmon::FORMAT,
    &arc::FORMAT,
    &pages::FORMAT,
    &csv::FORMAT,
    &parquet::FORMAT,
];

/// The format of this name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.name.eq_ignore_ascii_case(name)).copied()
}
