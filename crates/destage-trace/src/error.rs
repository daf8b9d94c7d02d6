//! Errors that a user can cause, each with its place.

use std::path::{Path, PathBuf};

use destage_keys::printable;

/// Why a record was not taken (`docs/spec/trace-formats.md` section 3).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Fewer fields than the format has.
    TooFewFields,
    /// More fields than the format has.
    TooManyFields,
    /// A field that should be a number is not.
    BadNumber,
    /// A time that is no time of this format.
    BadTime,
    /// An operation that the format does not know.
    UnknownOp,
    /// A device name or number that cannot be one.
    BadDevice,
    /// Longer than `max_request_bytes`.
    Oversized,
    /// `offset + length` past 2^63, or a value outside the field's range.
    OutOfRange,
    /// The last record is shorter than a record.
    TruncatedRecord,
}

impl Category {
    /// In a sentence: `unknown operation`.
    pub fn spoken(self) -> &'static str {
        match self {
            Category::TooFewFields => "too few fields",
            Category::TooManyFields => "too many fields",
            Category::BadNumber => "bad number",
            Category::BadTime => "bad time",
            Category::UnknownOp => "unknown operation",
            Category::BadDevice => "bad device",
            Category::Oversized => "oversized",
            Category::OutOfRange => "out of range",
            Category::TruncatedRecord => "truncated record",
        }
    }
}

/// Location in a file, for a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// Text: line from 1 in the decompressed text, byte column of the field from 1.
    Line {
        /// Line, from 1.
        line: u64,
        /// Byte column, from 1; 0 if the whole line is meant.
        column: u32,
        /// The line, cut to 160 bytes around the field, and the caret line under it.
        excerpt: Option<Box<(String, String)>>,
    },
    /// Binary: record number from 0, byte offset in the decompressed stream.
    Record {
        /// Record number, from 0.
        record: u64,
        /// Byte offset.
        byte: u64,
    },
    /// The file as a whole.
    File,
}

/// Error of reading, decoding or writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file is not there (exit status 66).
    #[error("{}: no such file", shown(path))]
    Missing {
        /// User's spelling of the path.
        path: PathBuf,
    },
    /// The file is there but cannot be read.
    #[error("{}: {source}", shown(path))]
    Io {
        /// User's spelling of the path.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The data are wrong (exit status 65). `message` is whole but for the place.
    #[error("{}", self.located())]
    Data {
        /// File, with the member of an archive as `outer.tar!inner.csv.gz`.
        file: String,
        /// Location in the file.
        place: Location,
        /// `Offset: expected a whole number of bytes, found "9x437184"`.
        message: String,
        /// A line that says what would help, e.g. which option.
        hint: Option<String>,
    },
    /// A compressed stream or archive ends early (exit status 65); `allow_truncated` would take it.
    #[error(
        "{file}: the {layer} stream ends early at its byte {offset}{}; \
         --allow-truncated reads what comes before",
        after(*records)
    )]
    Truncated {
        /// File, with the member of an archive.
        file: String,
        /// `gzip`, `xz`, `tar`, ...
        layer: &'static str,
        /// Offset in the compressed bytes of that layer.
        offset: u64,
        /// Records read from this file so far, without the part that is being unpacked.
        records: u64,
    },
    /// More malformed records than `max_errors` allows (exit status 65).
    #[error("{message}\n  the last was {last}")]
    TooManyErrors {
        /// Message with the count, the total and the rule.
        message: String,
        /// Message of the latest.
        last: String,
    },
    /// A record stepped back further than the sorting window holds. Never reaches a user:
    /// [`crate::stream::with_stream`] answers it by starting over with an external sort.
    #[error("a record stepped back by more than the sorting window holds")]
    BeyondWindow,
    /// An option is wrong, or needed and absent (exit status 2).
    #[error("{message}")]
    Usage {
        /// The whole message.
        message: String,
    },
    /// An output could not be written (exit status 74).
    #[error("{}: {source}", shown(path))]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The user asked to stop (exit status 130).
    #[error("interrupted")]
    Interrupted,
}

impl TraceError {
    /// A wrong or missing option.
    pub fn usage(message: impl Into<String>) -> Self {
        TraceError::Usage { message: message.into() }
    }

    /// Wrong data at a place of a file.
    pub fn data(file: impl Into<String>, place: Location, message: impl Into<String>) -> Self {
        TraceError::Data { file: file.into(), place, message: message.into(), hint: None }
    }

    /// Adds a line that says what would help.
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let TraceError::Data { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Exit status of the command line (`docs/reference/command-line.md`).
    pub fn exit_status(&self) -> u8 {
        match self {
            TraceError::Usage { .. } => 2,
            TraceError::Data { .. }
            | TraceError::Truncated { .. }
            | TraceError::TooManyErrors { .. } => 65,
            TraceError::Missing { .. } | TraceError::Io { .. } => 66,
            TraceError::BeyondWindow => 70,
            TraceError::Write { .. } => 74,
            TraceError::Interrupted => 130,
        }
    }

    fn located(&self) -> String {
        let TraceError::Data { file, place, message, hint } = self else { return String::new() };
        let mut text = match place {
            Location::Line { line, column: 0, .. } => format!("{file}:{line}: {message}"),
            Location::Line { line, column, .. } => format!("{file}:{line}:{column}: {message}"),
            Location::Record { record, byte } => {
                format!("{file}: record {record} at byte {byte}: {message}")
            }
            Location::File => format!("{file}: {message}"),
        };
        if let Location::Line { excerpt: Some(excerpt), .. } = place {
            let (line, caret) = &**excerpt;
            text.push_str(&format!("\n  {line}"));
            if !caret.is_empty() {
                text.push_str(&format!("\n  {caret}"));
            }
        }
        if let Some(hint) = hint {
            text.push_str(&format!("\n  {hint}"));
        }
        text
    }
}

fn after(records: u64) -> String {
    if records == 0 { String::new() } else { format!(", after {records} records or more") }
}

/// A path on one line, whatever bytes are in it.
fn shown(path: &Path) -> String {
    match path.as_os_str() {
        empty if empty.is_empty() => "\"\"".to_owned(),
        name => printable(name.as_encoded_bytes()),
    }
}

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, TraceError>;
