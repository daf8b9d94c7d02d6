//! The bytes of a page: aligned for direct I/O, zero at first.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
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
        if let Some(mut spare) = Spare::take(length) {
            spare.fill(0);
            return spare;
        }
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
        Spare::keep(self.start, self.length);
    }
}

thread_local! {
    static SPARE: Spare = const { Spare(Cell::new(None)) };
}

/// The page that a thread freed last: a miss frees one and takes one, and to ask the system's
/// allocator for an aligned page costs as much as the rest of the miss.
struct Spare(Cell<Option<(NonNull<u8>, usize)>>);

impl Spare {
    fn take(length: usize) -> Option<PageBytes> {
        let spare = SPARE.try_with(|spare| match spare.0.get() {
            Some((_, found)) if found == length => spare.0.take(),
            _ => None,
        });
        let (start, length) = spare.ok()??;
        Some(PageBytes { start, length })
    }

    fn keep(start: NonNull<u8>, length: usize) {
        // Where the thread has ended, nothing is kept.
        let kept = SPARE.try_with(|spare| spare.0.replace(Some((start, length))));
        if let Some((start, length)) = kept.unwrap_or(Some((start, length))) {
            free(start, length);
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some((start, length)) = self.0.take() {
            free(start, length);
        }
    }
}

fn free(start: NonNull<u8>, length: usize) {
    // SAFETY: allocated in `zeroed` with this layout, and the caller owned it.
    unsafe { dealloc(start.as_ptr(), PageBytes::layout(length)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_freed_comes_back_as_zeros() {
        let mut page = PageBytes::zeroed(512);
        page.fill(7);
        drop(page);
        let other = PageBytes::zeroed(1024);
        assert!(PageBytes::zeroed(512).iter().all(|byte| *byte == 0));
        drop(other);
        assert!(PageBytes::zeroed(1024).iter().all(|byte| *byte == 0));
    }
}
