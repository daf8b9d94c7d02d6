//! From a trace file to columns that a replay can run over.
//!
//! ```text
//!  error, hooks  failures; progress and interruption of long work
//!  record/       one request, device names, trims and flushes
//!  options/      how a trace is read: every key, declared once
//!  files/        room on the disk, temporary files, write-behind, mapping
//!  input/        a window of bytes over one file
//!  format/       a format: its row, its reader, and what it says of each record
//!  text/         the reader that all text formats share
//!  formats/      one file a format; one table of all of them
//!  detect        the format of a file, from its first bytes
//!  source/       the traces in a file or archive; decompression
//!  stream/       records of all files in one order, on one clock
//!  columns/      the file of decoded columns
//!  decode/       records -> page accesses with dense ids
//!  cache/        decoded traces between runs: the folder, its limit, its entries
//!  trace/        a decoded trace; opening one; the next use of each access
//!  convert/      records -> other formats
//! ```
//!
//! Imports point upwards in this list.

pub mod cache;
mod columns;
pub mod convert;
pub mod decode;
pub mod detect;
pub mod error;
mod files;
pub mod format;
pub mod formats;
pub mod hooks;
pub mod input;
pub mod options;
pub mod record;
mod source;
pub mod stream;
pub mod text;
pub mod trace;

pub use cache::{Cache, CacheOptions};
pub use columns::meta;
pub use decode::{DecodeOptions, RecordSource};
pub use error::{Category, Location, Result, TraceError};
#[cfg(target_family = "wasm")]
pub use files::in_memory;
pub use files::mapped::report_shrunk_files;
pub use format::{
    Facts, Fault, Format, FormatKind, Limits, Opening, Parsed, RecordReader, Sample, Skipped,
    Tally, Verdict,
};
pub use formats::FORMATS;
pub use hooks::{Hooks, NoHooks, Progress, ReadControls, ReadMeter, Stage, step};
pub use input::Input;
pub use options::ReaderOptions;
pub use record::{
    ChainMark, ControlCommand, ControlKind, DeviceTable, Extent, NO_RESPONSE, Record, RecordOp,
};
pub use stream::summary::{FileSummary, Summary};
pub use stream::{Stream, with_stream};
pub use trace::Trace;
pub use trace::next_use;
pub use trace::open::{decode_records, open_generated, open_trace};
