//! Counts of a reading: the numbers of its summary, and the rule of when
//! too many bad records end the run (`docs/spec/trace-formats.md` section 3).

use std::collections::BTreeMap;

use crate::error::{Category, Location, Result, TraceError};
use crate::options::{OnError, ReaderOptions};
use crate::record::{Record, RecordOp};

/// Bad records of one category that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Skips {
    /// Number of skipped records.
    pub count: u64,
    /// Messages of the first three, with their places.
    pub first: Vec<String>,
}

/// Counts over all files of a run, filled in by the readers.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Lines, or records of a binary format, that were looked at; blank lines too.
    pub lines: u64,
    /// Header lines.
    pub header: u64,
    /// Blank lines.
    pub blank: u64,
    /// Comment and marker lines.
    pub comment: u64,
    /// Reads, writes and trims without length.
    pub zero_length: u64,
    /// Events that are no requests, by name.
    pub ignored_events: BTreeMap<String, u64>,
    /// Bad records that `on_error = "skip"` left out.
    pub errors: BTreeMap<Category, Skips>,
    /// A compressed stream or file ended early and `allow_truncated` took what came.
    pub truncated: bool,
    /// Assumptions worth a line, each once.
    pub notes: Vec<String>,
    /// Findings that may make the result wrong, each once.
    pub warnings: Vec<String>,
    /// Limits that `reject` and `check` apply.
    #[serde(skip)]
    pub limits: Limits,
}

/// The options that decide which records are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longer reads and writes are `oversized`.
    pub max_request_bytes: u64,
    /// Effect of a bad record.
    pub on_error: OnError,
    /// Bad records allowed under `skip`; `None` is the default rule.
    pub max_errors: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits::new(&ReaderOptions::default())
    }
}

impl Limits {
    /// As the options say.
    pub fn new(options: &ReaderOptions) -> Self {
        Limits {
            max_request_bytes: options.max_request_bytes,
            on_error: options.on_error,
            max_errors: options.max_errors,
        }
    }
}

/// Ruling of the common rules about a record's extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ruling {
    /// Take it.
    Fine,
    /// No length: skip and count in [`Tally::zero_length`].
    ZeroLength,
    /// Longer than `max_request_bytes`.
    Oversized,
    /// `offset + length` past 2^63.
    OutOfRange,
}

impl Limits {
    /// Applies the rules of `docs/spec/trace-formats.md` section 1 that every format shares. Trims
    /// may have any length; flushes have no extent.
    #[inline]
    pub fn extent(&self, record: &Record) -> Ruling {
        if record.op == RecordOp::Flush {
            return Ruling::Fine;
        }
        if record.length_bytes == 0 {
            return Ruling::ZeroLength;
        }
        if record.length_bytes > self.max_request_bytes && record.op != RecordOp::Trim {
            return Ruling::Oversized;
        }
        match record.offset_bytes.checked_add(record.length_bytes) {
            Some(end) if end <= 1 << 63 => Ruling::Fine,
            _ => Ruling::OutOfRange,
        }
    }

    /// Message for an extent that is no good.
    pub fn extent_message(&self, extent: Ruling, record: &Record) -> (Category, String) {
        match extent {
            Ruling::Oversized => (
                Category::Oversized,
                format!(
                    "length: {} bytes is more than max_request_bytes = {} (a wrong unit or a \
                     wrong column?)",
                    record.length_bytes, self.max_request_bytes
                ),
            ),
            _ => (
                Category::OutOfRange,
                format!(
                    "offset {} plus length {} lies past 2^63 bytes (a wrong unit or a wrong \
                     column?)",
                    record.offset_bytes, record.length_bytes
                ),
            ),
        }
    }
}

impl Tally {
    /// Empty, with the options' limits.
    pub fn new(options: &ReaderOptions) -> Self {
        Tally { limits: Limits::new(options), ..Tally::default() }
    }

    /// Counts an event that is no request.
    pub fn ignore(&mut self, event: &str) {
        match self.ignored_events.get_mut(event) {
            Some(count) => *count += 1,
            None => drop(self.ignored_events.insert(event.to_owned(), 1)),
        }
    }

    /// Adds a note, once.
    pub fn note(&mut self, text: impl Into<String>) {
        add_once(&mut self.notes, text.into());
    }

    /// Adds a warning, once.
    pub fn warn(&mut self, text: impl Into<String>) {
        add_once(&mut self.warnings, text.into());
    }

    /// All bad records skipped so far.
    pub fn error_count(&self) -> u64 {
        self.errors.values().map(|s| s.count).sum()
    }

    /// A bad record: under `stop` the error itself, under `skip` counted, and an error only when
    /// there are too many.
    pub fn reject(&mut self, category: Category, error: TraceError) -> Result<()> {
        if self.limits.on_error == OnError::Stop {
            return Err(error);
        }
        let skips = self.errors.entry(category).or_default();
        skips.count += 1;
        if skips.first.len() < 3 {
            skips.first.push(error.to_string());
        }
        self.check_error_share(&error)
    }

    /// A bad record of a binary format.
    pub fn reject_record(
        &mut self,
        file: &str,
        place: Location,
        category: Category,
        message: impl Into<String>,
        hint: Option<String>,
    ) -> Result<()> {
        self.reject(
            category,
            TraceError::Data { file: file.to_owned(), place, message: message.into(), hint },
        )
    }

    /// Applies the common rules to a record: keeps it, counts it, or returns its fault.
    #[inline]
    pub fn keep(
        &mut self,
        record: Record,
        out: &mut Vec<Record>,
    ) -> std::result::Result<(), (Category, String)> {
        match self.limits.extent(&record) {
            Ruling::Fine => out.push(record),
            Ruling::ZeroLength => self.zero_length += 1,
            bad => return Err(self.limits.extent_message(bad, &record)),
        }
        Ok(())
    }

    /// Whether more bad records were skipped than allowed; `last` is the latest of them.
    fn check_error_share(&self, last: &TraceError) -> Result<()> {
        let Some(message) = self.too_many() else { return Ok(()) };
        Err(TraceError::TooManyErrors { message, last: last.to_string() })
    }

    /// The end of a file or run: the share is judged again, over all lines read.
    pub fn finish(&self) -> Result<()> {
        let Some(message) = self.too_many() else { return Ok(()) };
        let last = self
            .errors
            .values()
            .flat_map(|s| s.first.last())
            .next_back()
            .cloned()
            .unwrap_or_default();
        Err(TraceError::TooManyErrors { message, last })
    }

    fn too_many(&self) -> Option<String> {
        let (errors, lines) = (self.error_count(), self.lines);
        let (allowed, rule) = match self.limits.max_errors {
            Some(count) => (count, format!("max_errors = {count}")),
            None if lines > 100_000 => (lines / 100, "1 % of the records".to_owned()),
            None => (10_000, "max_errors = 10000".to_owned()),
        };
        (errors > allowed).then(|| {
            format!(
                "{errors} malformed records among {lines} are more than {rule}: a result would \
                 mean nothing"
            )
        })
    }
}

/// Adds a text, once.
pub(crate) fn add_once(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}
