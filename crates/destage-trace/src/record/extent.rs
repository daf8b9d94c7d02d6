//! One row of a decoded trace: how many pages, which operation, what of the ends.

/// Pages, operation and partial ends of one row.
///
/// ```text
///  31 ............ 3 | 2 | 1 | 0
///  pages, 1..2^29    | e | s | w      w  write, else read
///                                     s  starts inside its first page
///                                     e  ends inside its last page
/// ```
///
/// The first page is covered only in part if `s`, the last if `e`, the only one if either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent(pub u32);

impl Extent {
    /// Most pages of a row; a longer request has several.
    pub const MAX_PAGES: u32 = (1 << 29) - 1;

    /// Packs a row of 1..=[`MAX_PAGES`](Self::MAX_PAGES) pages.
    #[inline(always)]
    pub fn new(pages: u32, write: bool, starts_inside: bool, ends_inside: bool) -> Self {
        Extent(
            pages << 3
                | u32::from(ends_inside) << 2
                | u32::from(starts_inside) << 1
                | u32::from(write),
        )
    }

    /// Number of pages.
    #[inline(always)]
    pub fn pages(self) -> u32 {
        self.0 >> 3
    }

    /// Write, else read.
    #[inline(always)]
    pub fn is_write(self) -> bool {
        self.0 & 1 != 0
    }

    /// The request starts inside the first page.
    #[inline(always)]
    pub fn starts_inside(self) -> bool {
        self.0 & 2 != 0
    }

    /// The request ends inside the last page.
    #[inline(always)]
    pub fn ends_inside(self) -> bool {
        self.0 & 4 != 0
    }

    /// Pages that the request covers only in part, 0..=2.
    #[inline(always)]
    pub fn partial_pages(self) -> u32 {
        let ends = (self.0 >> 1 & 1) + (self.0 >> 2 & 1);
        ends.min(self.pages())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_comes_back_as_packed() {
        for pages in [1, 2, 1000, Extent::MAX_PAGES] {
            for bits in 0..8u32 {
                let e = Extent::new(pages, bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
                assert_eq!((e.pages(), e.is_write()), (pages, bits & 1 != 0));
                assert_eq!((e.starts_inside(), e.ends_inside()), (bits & 2 != 0, bits & 4 != 0));
            }
        }
    }

    #[test]
    fn a_lone_page_is_partial_once_however_many_ends_lie_inside() {
        assert_eq!(Extent::new(1, true, true, true).partial_pages(), 1);
        assert_eq!(Extent::new(2, true, true, true).partial_pages(), 2);
        assert_eq!(Extent::new(2, true, false, true).partial_pages(), 1);
        assert_eq!(Extent::new(1, true, false, false).partial_pages(), 0);
    }
}
