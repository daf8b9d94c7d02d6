//! How records become page accesses.

use crate::error::{Result, TraceError};

/// Options of the decoder: how records become page accesses.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DecodeOptions {
    /// Page size, bytes, 1..=2^40. `None`, the default, is the trace's own unit in a
    /// page-reference trace, else 4096.
    pub page_bytes: Option<u64>,
    /// `wrap = "modulo"`: page numbers are taken modulo this many logical pages, at least 1.
    pub wrap_pages: Option<u64>,
    /// Alignment of each device's span, bytes: the erase block, or 1 MiB (the default)
    /// without a device model.
    pub span_align_bytes: u64,
    /// Keeps times as the format has them (`time_origin = "absolute"`).
    pub absolute_time: bool,
    /// Rows between the passes stay in memory up to this many bytes. Default 512 MiB; changes
    /// nothing in the result.
    #[serde(skip)]
    pub spool_limit_bytes: usize,
}

/// Page size where neither the user nor the trace says one, bytes.
pub const DEFAULT_PAGE_BYTES: u64 = 4096;

impl Default for DecodeOptions {
    fn default() -> Self {
        DecodeOptions {
            page_bytes: None,
            wrap_pages: None,
            span_align_bytes: 1 << 20,
            absolute_time: false,
            spool_limit_bytes: 512 << 20,
        }
    }
}

impl DecodeOptions {
    /// # Errors
    ///
    /// `Usage` for a value out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(TraceError::usage(message));
        match (self.page_bytes, self.wrap_pages, self.span_align_bytes) {
            (Some(bytes), ..) if !(1..=1 << 40).contains(&bytes) => {
                wrong(format!("page size: expected 1 byte to 1 TiB, found {bytes} bytes"))
            }
            (_, Some(0), _) => wrong("wrapping needs a device of at least one page".into()),
            (.., 0) => wrong("the alignment of spans is at least one byte".into()),
            _ => Ok(()),
        }
    }
}
