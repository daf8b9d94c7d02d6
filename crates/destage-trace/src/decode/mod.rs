//! From records to columns: splits requests into page accesses and numbers the pages.
//!
//! ```text
//!  records ──pass 1──▶ rows in a spool, arrivals in the file, pages marked in a bitmap
//!                      [wrapping: rows of the drive's pages, which are marked instead]
//!          ──pass 2──▶ LPN of each id, operations, ids
//! ```
//!
//! ```text
//!  source      where records come from       options        page size, wrapping, alignment
//!  splitter    bytes to pages                rows           requests on their way into the spool
//!  read_pass   pass 1                        chunk_sink     full chunks of rows, on a thread
//!  page_set    touched pages, numbered       row_spool      rows between the passes
//!  wrap        pages modulo a drive          address_space  devices, one after another
//!  column_pass pass 2                        finish         both passes, and the metadata
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

mod address_space;
mod chunk_sink;
mod column_pass;
mod finish;
mod options;
mod page_set;
mod read_pass;
mod row_spool;
mod rows;
mod source;
mod splitter;
mod wrap;

use read_pass::Reading;

use crate::columns::{ColumnWriter, meta::SourceMeta};
use crate::error::Result;
use crate::files::disk::File;
use crate::files::write_behind;

pub use crate::hooks::{Hooks, NoHooks, Progress, Stage};
pub use options::{DEFAULT_PAGE_BYTES, DecodeOptions};
pub use source::RecordSource;

/// Decodes `source` into `writer`; returns the file, whole.
///
/// # Errors
///
/// Errors of the source; `Usage` for options out of range and for more different pages than can
/// be numbered; `Write` if a file cannot be written; `Interrupted`.
pub(crate) fn decode<S: RecordSource + ?Sized>(
    source: &mut S,
    options: &DecodeOptions,
    sources: Vec<SourceMeta>,
    writer: ColumnWriter,
    hooks: &mut dyn Hooks,
) -> Result<File> {
    options.check()?;
    let threads = hooks.threads().unwrap_or_else(write_behind::threads);
    let mut reading = Reading::new(options, writer, threads)?;
    reading.read(source, hooks)?;
    finish::finish(reading, source, sources, hooks)
}
