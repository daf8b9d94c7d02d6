//! Tables with an entry per page, in huge pages of memory where the system has them.
//!
//! A trace touches its pages in no order, so each access to such a table misses the processor's
//! caches, and with 4-KiB pages of memory its address translation misses too: a walk through four
//! levels of tables, eight under virtualization. In pages of 2 MiB the translations of a table of
//! 1 GiB fit into the processor.

/// A table of `len` entries of one value.
pub fn table<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut table = room(len);
    table.resize(len, value);
    table
}

/// Room for `capacity` entries that are still to come. What is never used costs nothing.
pub fn room<T>(capacity: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(capacity);
    advise(table.as_mut_ptr(), capacity);
    table
}

/// Smaller tables stay in the processor's caches, or would waste most of a huge page.
#[cfg(target_os = "linux")]
const WORTH_BYTES: usize = 4 << 20;

#[cfg(target_os = "linux")]
fn advise<T>(start: *mut T, len: usize) {
    const PAGE_BYTES: usize = 4096; // the least that all systems have; others refuse, harmlessly
    let bytes = len * size_of::<T>();
    if bytes < WORTH_BYTES {
        return;
    }
    let skipped = start.cast::<u8>().align_offset(PAGE_BYTES);
    // SAFETY: `start` points to an allocation of at least `bytes` bytes, of which the range named
    // is a part; the advice changes how the system backs the memory and never its content. It may
    // be refused, which is as good as not asking. Paid for by the `timed` bench: LRU in front of
    // the `ecr` drive, random writes, 1.5 times the page operations per second.
    unsafe {
        let first = start.cast::<u8>().wrapping_add(skipped);
        libc::madvise(first.cast(), bytes - skipped, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: *mut T, _: usize) {}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn a_table_is_what_a_vector_is_whatever_its_size() {
        for len in [0, 1, 5000, 3 << 20] {
            assert_eq!(table(7_u32, len), vec![7; len]);
        }
    }
}
