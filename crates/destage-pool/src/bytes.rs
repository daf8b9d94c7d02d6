//! The bytes of a page: aligned for direct I/O, zero at first.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment that every block device accepts for direct I/O, bytes.
const ALIGNMENT: usize = 4096;

/// Memory of one page.
pub(crate) struct PageBytes {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it owns its memory, as a `Box<[u8]>` does.
unsafe impl Send for PageBytes {}
// SAFETY: shared references only read.
unsafe impl Sync for PageBytes {}

impl PageBytes {
    /// `length` zeros; `length` is at least 1.
    pub(crate) fn zeroed(length: usize) -> PageBytes {
        let layout = Self::layout(length);
        // SAFETY: the layout has a size: no page is empty.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        PageBytes { start, length }
    }

    fn layout(length: usize) -> Layout {
        assert!(length > 0, "a page has a byte");
        Layout::from_size_align(length, ALIGNMENT).expect("a page is far smaller than memory")
    }
}

impl std::ops::Deref for PageBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` was allocated with `length` bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl std::ops::DerefMut for PageBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for PageBytes {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.length)) }
    }
}
