//! From bytes to pages.

/// Divides byte addresses by the page size.
#[derive(Clone, Copy)]
pub(super) struct Splitter {
    page_bytes: u64,
    /// Set if the page size is a power of two.
    shift: Option<u32>,
}

impl Splitter {
    pub(super) fn new(page_bytes: u64) -> Self {
        let shift = page_bytes.is_power_of_two().then(|| page_bytes.trailing_zeros());
        Splitter { page_bytes, shift }
    }

    /// Page of a byte, and the byte's place in it.
    #[inline(always)]
    fn page(&self, byte: u64) -> (u64, u64) {
        match self.shift {
            Some(shift) => (byte >> shift, byte & (self.page_bytes - 1)),
            None => (byte / self.page_bytes, byte % self.page_bytes),
        }
    }

    /// First and last page of a request, and whether it starts or ends inside a page.
    #[inline(always)]
    pub(super) fn pages(&self, offset_bytes: u64, length_bytes: u64) -> (u64, u64, bool, bool) {
        let (first, start) = self.page(offset_bytes);
        let (last, end) = self.page(offset_bytes + (length_bytes - 1));
        (first, last, start != 0, end != self.page_bytes - 1)
    }
}
