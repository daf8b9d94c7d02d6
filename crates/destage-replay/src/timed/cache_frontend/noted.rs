//! Notes of the run itself on the pages in a cache: what a drive with placement handles looks at
//! (`docs/spec/device-today.md` 8.1).

use destage_core::{Op, Page};
use destage_ssd::WriteHint;

/// Notes by page; empty unless used.
pub(super) struct Noted {
    bytes: Vec<u64>, // length of the last write request that touched it
}

impl Noted {
    pub(super) fn new(pages: usize, looks_at_sizes: bool) -> Self {
        Noted { bytes: vec![0; if looks_at_sizes { pages } else { 0 }] }
    }

    /// A page that is or comes into the cache was accessed by a request of so many bytes.
    #[inline(always)]
    pub(super) fn accessed(&mut self, page: Page, op: Op, bytes: u64) {
        if op.is_write()
            && let Some(kept) = self.bytes.get_mut(page.0 as usize)
        {
            *kept = bytes;
        }
    }

    /// The hint that goes to the drive with a page that is written back.
    #[inline(always)]
    pub(super) fn written_back(&self, page: Page, label: u8) -> WriteHint {
        WriteHint { bytes: self.bytes.get(page.0 as usize).copied().unwrap_or(0), label }
    }
}
