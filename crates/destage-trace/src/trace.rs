//! A decoded trace: columns of requests over dense page ids, mapped into memory.

use std::sync::{Arc, Mutex};

use crate::columns::{Columns, Kind};
use crate::error::Result;
use crate::hooks::{Hooks, NoHooks};
use crate::meta::TraceMeta;
use crate::next_use::NextUse;
use crate::open::Place;

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

/// A decoded trace. Shared between threads behind an [`Arc`]; the columns are mapped, so it costs
/// memory only where it is read.
///
/// Rows are in the order of the run. Accesses are the pages of the rows, in order, counted from 0.
pub struct Trace {
    columns: Columns,
    meta: TraceMeta,
    /// Where next uses are kept; `None` for a trace outside the cache.
    place: Option<Place>,
    next_use: Mutex<Option<Arc<NextUse>>>,
    from_cache: bool,
}

impl Trace {
    /// `None` if the file has not what a trace has (which its checksums make a stale layout).
    pub(crate) fn new(columns: Columns, place: Option<Place>, from_cache: bool) -> Option<Self> {
        let meta: TraceMeta = serde_json::from_slice(columns.bytes(Kind::Meta)?).ok()?;
        let rows = meta.counts.rows;
        let long = |kind, width: u64, rows: u64| {
            columns.bytes(kind).is_some_and(|bytes| bytes.len() as u64 == rows * width)
        };
        let whole = long(Kind::FirstIds, 4, rows)
            && long(Kind::PagesOps, 4, rows)
            && long(Kind::Arrivals, 8, rows)
            && long(Kind::Lpns, 8, meta.counts.unique_pages)
            && (columns.bytes(Kind::Responses).is_none() || long(Kind::Responses, 8, rows));
        let next_use = Mutex::new(None);
        whole.then_some(Trace { columns, meta, place, next_use, from_cache })
    }

    /// Counts, devices, sizes, sources, fingerprint.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// Number of different pages; ids are `0..pages()`.
    pub fn pages(&self) -> u32 {
        self.meta.counts.unique_pages as u32
    }

    /// Read and write requests.
    pub fn requests(&self) -> u64 {
        self.meta.counts.requests
    }

    /// Rows of the columns. One for each request; more than that only if a request was cut
    /// ([`continuations`](Self::continuations)).
    pub fn rows(&self) -> u64 {
        self.meta.counts.rows
    }

    /// Page accesses: the pages of all rows.
    pub fn accesses(&self) -> u64 {
        self.meta.counts.accesses
    }

    /// Page size, bytes.
    pub fn page_bytes(&self) -> u64 {
        self.meta.page_bytes
    }

    /// Dense id of each row's first page; the ids of its other pages follow.
    pub fn first_ids(&self) -> &[u32] {
        self.columns.column(Kind::FirstIds)
    }

    /// [`Extent`] of each row.
    pub fn pages_ops(&self) -> &[u32] {
        self.columns.column(Kind::PagesOps)
    }

    /// Arrival of each row, ns after the origin; not decreasing. All 0 in a trace without times.
    pub fn arrivals_ns(&self) -> &[u64] {
        self.columns.column(Kind::Arrivals)
    }

    /// Measured response of each row, ns, [`NO_RESPONSE`](crate::NO_RESPONSE) where it is unknown;
    /// `None` if the format has none. For comparison only.
    pub fn responses_ns(&self) -> Option<&[u64]> {
        self.columns.bytes(Kind::Responses)?;
        Some(self.columns.column(Kind::Responses))
    }

    /// Logical page number of each dense id, in the run's one address space; ascending.
    pub fn lpns(&self) -> &[u64] {
        self.columns.column(Kind::Lpns)
    }

    /// Rows that go on with the request of the row before them, ascending. Empty unless wrapping
    /// cut a request at the end of the drive, or one has more than [`Extent::MAX_PAGES`] pages.
    pub fn continuations(&self) -> &[u64] {
        self.columns.column(Kind::Continuations)
    }

    /// Whether it came from the cache, decoded by an earlier run.
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }

    /// Length of the decoded file, bytes.
    pub fn file_bytes(&self) -> u64 {
        self.columns.file_bytes()
    }

    /// Next use of every access: made at the first call, or mapped from the cache.
    ///
    /// # Errors
    ///
    /// `Write` if neither the cache nor a temporary file can be written.
    pub fn next_uses(&self) -> Result<Arc<NextUse>> {
        self.next_uses_with(&mut NoHooks)
    }

    /// As [`next_uses`](Self::next_uses), with progress and interruption.
    ///
    /// # Errors
    ///
    /// Also `Interrupted`.
    pub fn next_uses_with(&self, hooks: &mut dyn Hooks) -> Result<Arc<NextUse>> {
        let mut kept = self.next_use.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(next_use) = &*kept {
            return Ok(next_use.clone());
        }
        let made = Arc::new(NextUse::of(self, self.place.as_ref(), hooks)?);
        *kept = Some(made.clone());
        Ok(made)
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = &self.meta.counts;
        f.debug_struct("Trace")
            .field("fingerprint", &self.meta.fingerprint)
            .field("requests", &counts.requests)
            .field("accesses", &counts.accesses)
            .field("pages", &counts.unique_pages)
            .finish_non_exhaustive()
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
