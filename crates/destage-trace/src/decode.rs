//! From records to columns: splits requests into page accesses and numbers the pages.
//!
//! ```text
//!  records ──pass 1──▶ rows in a spool, arrivals in the file, pages marked in a bitmap
//!                      [wrapping: rows of the drive's pages, which are marked instead]
//!          ──pass 2──▶ LPN of each id, operations, ids
//! ```
//!
//! ```text
//!  source    where records come from        options   how they become accesses
//!  splitter  bytes to pages                  rows      requests on their way into the spool
//!  read      pass 1                          kept      chunks of them, beside pass 1
//!  place     devices in one address space    wrap      pages modulo a drive
//!  columns   pass 2                          number    what the trace says of itself
//! ```
//!
//! The pages of one request follow each other, and no untouched page lies between two of them, so
//! their ids follow each other too: a request is kept as the id of its first page and a count, and
//! no column has an entry per access. The bits of a row are those of [`Extent`](crate::Extent).
//!
//! Readings. A device's span is the end of its highest read or write; trims do not stretch it. A
//! span is rounded up to the alignment and then to a whole page, so that no page lies on two
//! devices when the page size does not divide the alignment. The time origin is the smallest time
//! of all records, trims and flushes included.

mod columns;
mod kept;
mod number;
mod options;
mod place;
mod read;
mod rows;
mod source;
mod splitter;
mod wrap;

use std::fs::File;

use read::Reading;

use crate::behind;
use crate::columns::ColumnWriter;
use crate::error::Result;
use crate::meta::SourceMeta;

pub use crate::hooks::{Hooks, NoHooks, Progress, Stage};
pub use options::{DEFAULT_PAGE_BYTES, DecodeOptions};
pub use source::RecordSource;

/// Decodes `source` into `writer`; returns the file, whole.
///
/// # Errors
///
/// What the source returns; `Usage` for options out of range and for more different pages than can
/// be numbered; `Write` if a file cannot be written; `Interrupted`.
pub(crate) fn decode<S: RecordSource + ?Sized>(
    source: &mut S,
    options: &DecodeOptions,
    sources: Vec<SourceMeta>,
    writer: ColumnWriter,
    hooks: &mut dyn Hooks,
) -> Result<File> {
    options.check()?;
    let threads = hooks.threads().unwrap_or_else(behind::threads);
    let mut reading = Reading::new(options, writer, threads)?;
    reading.read(source, hooks)?;
    number::number(reading, source, sources, hooks)
}
