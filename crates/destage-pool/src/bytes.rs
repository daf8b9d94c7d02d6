//! The bytes of a page: aligned as the store asks, zero at first.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Length and alignment of pages, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageLayout {
    length: u32,
    alignment: u32,
}

impl PageLayout {
    /// Pages of `length` bytes, which is at least 1. Pages that need no alignment get that of any
    /// allocation: were all aligned to their length, their first bytes would share one set of the
    /// processor's caches.
    pub(crate) fn new(length: usize, alignment: usize) -> PageLayout {
        let layout = Layout::from_size_align(length, alignment.max(16));
        let layout = layout.expect("a page is far smaller than memory; alignment: a power of two");
        assert!(length > 0, "a page has a byte");
        let small = |bytes: usize| u32::try_from(bytes).expect("pages are smaller than 4 GiB");
        PageLayout { length: small(layout.size()), alignment: small(layout.align()) }
    }

    fn layout(self) -> Layout {
        Layout::from_size_align(self.length as usize, self.alignment as usize)
            .expect("checked in `new`")
    }
}

/// Memory of one page.
pub(crate) struct PageBytes {
    start: NonNull<u8>,
    layout: PageLayout,
}

// SAFETY: it owns its memory, as a `Box<[u8]>` does.
unsafe impl Send for PageBytes {}
// SAFETY: shared references only read.
unsafe impl Sync for PageBytes {}

impl PageBytes {
    /// The page that this thread freed last, with its bytes.
    pub(crate) fn spare(layout: PageLayout) -> Option<PageBytes> {
        Spare::take(layout)
    }

    /// Keeps the page for this thread's next [`spare`](PageBytes::spare), unless it has one.
    pub(crate) fn keep(self) -> Option<PageBytes> {
        match SPARE.try_with(|spare| spare.0.get().is_some()) {
            Ok(false) => None, // where it goes when it is dropped
            _ => Some(self),
        }
    }

    /// Zeros.
    pub(crate) fn new(layout: PageLayout) -> PageBytes {
        // SAFETY: the layout has a size: no page is empty.
        let start = unsafe { alloc_zeroed(layout.layout()) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout.layout()));
        PageBytes { start, layout }
    }

    /// Where they are.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The processor fetches the first bytes, which are used soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self.start.as_ptr());
    }
}

/// Asks the processor to bring the bytes there near. Paid for by the `pool` bench: a page that is
/// used again after a while is in no cache of the processor.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults and reads nothing architecturally, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The same of a value that this thread changes next: in one step, where a look at it and then a
/// change would be two.
#[inline(always)]
pub(crate) fn prefetch_to_change<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

impl std::ops::Deref for PageBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` was allocated with these bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.length as usize) }
    }
}

impl std::ops::DerefMut for PageBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.length as usize) }
    }
}

impl Drop for PageBytes {
    fn drop(&mut self) {
        Spare::keep(self.start, self.layout);
    }
}

thread_local! {
    static SPARE: Spare = const { Spare(Cell::new(None)) };
}

/// The page that a thread freed last: a miss frees one and takes one, and to ask the system's
/// allocator for an aligned page costs as much as the rest of the miss.
struct Spare(Cell<Option<(NonNull<u8>, PageLayout)>>);

impl Spare {
    fn take(layout: PageLayout) -> Option<PageBytes> {
        let spare = SPARE.try_with(|spare| match spare.0.get() {
            Some((_, found)) if found == layout => spare.0.take(),
            _ => None,
        });
        let (start, layout) = spare.ok()??;
        Some(PageBytes { start, layout })
    }

    fn keep(start: NonNull<u8>, layout: PageLayout) {
        // Where the thread has ended, nothing is kept.
        let kept = SPARE.try_with(|spare| spare.0.replace(Some((start, layout))));
        if let Some((start, layout)) = kept.unwrap_or(Some((start, layout))) {
            free(start, layout);
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some((start, layout)) = self.0.take() {
            free(start, layout);
        }
    }
}

fn free(start: NonNull<u8>, layout: PageLayout) {
    // SAFETY: allocated in `new` with this layout, and the caller owned it.
    unsafe { dealloc(start.as_ptr(), layout.layout()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_freed_comes_back_to_those_of_its_layout() {
        let [small, large] = [512, 1024].map(|length| PageLayout::new(length, 1));
        let mut page = PageBytes::new(small);
        assert!(page.iter().all(|byte| *byte == 0));
        page.fill(7);
        drop(page);
        assert!(PageBytes::spare(large).is_none());
        assert_eq!(PageBytes::spare(small).map(|page| page[511]), Some(7));
    }

    #[test]
    fn a_page_has_the_alignment_that_it_was_asked_for() {
        let pages: Vec<PageBytes> =
            (0..8).map(|_| PageBytes::new(PageLayout::new(512, 4096))).collect();
        assert!(pages.iter().all(|page| page.as_ptr().addr().is_multiple_of(4096)));
        drop(pages);
        let page = PageBytes::new(PageLayout::new(512, 1024));
        assert!(page.as_ptr().addr().is_multiple_of(1024));
    }
}
