//! Pages of a run by name: where they are on the drive, and what is kept of those in the cache.
//! A trace numbers its pages and has tables of them; a live run has the drive's pages, hashed.

use super::CachedPage;
use super::noted::Noted;
use destage_core::pages::prefetch;
use destage_core::{Op, Page, huge};
use destage_ssd::{DriveLpn, PendingTime, Settled, WriteHint};
use std::collections::HashMap;

/// The instants of pages without an access.
const UNTOUCHED: CachedPage = CachedPage { frame: PendingTime::at(0), ready: PendingTime::at(0) };

/// Pages of a run.
pub(in crate::timed) trait Pages {
    /// LPN of a page of the run.
    fn lpn(&self, page: Page) -> DriveLpn;

    /// The same for a hint, whose page may be none of the run.
    fn hinted_lpn(&self, page: u64) -> Option<DriveLpn>;

    /// Frame and data of a page in the cache.
    fn held(&mut self, page: Page) -> &mut CachedPage;

    /// The page has left the cache.
    fn left(&mut self, _: Page) {}

    /// A page that is or comes into the cache was accessed by a request of so many bytes.
    fn accessed(&mut self, page: Page, op: Op, bytes: u64);

    /// The hint that goes to the drive with a page that is written back.
    fn written_back(&self, page: Page, label: u8) -> WriteHint;

    /// Hint: `held` is asked for soon.
    fn prefetch_held(&self, _page: u64) {}

    /// Hint: `lpn` and `held` are asked for soon.
    fn prefetch(&self, _page: u64) {}

    /// Names of instants become instants.
    fn settle(&mut self, settled: &Settled);

    /// Pages of which instants are kept.
    fn len(&self) -> usize;
}

/// The numbered pages of a trace.
pub(in crate::timed) struct Numbered<'a> {
    lpns: &'a [u64],
    held: Vec<CachedPage>,
    noted: Noted,
}

impl<'a> Numbered<'a> {
    pub(in crate::timed) fn new(lpns: &'a [u64], looks_at_sizes: bool) -> Self {
        let noted = Noted::new(lpns.len(), looks_at_sizes);
        Numbered { lpns, held: huge::table(UNTOUCHED, lpns.len()), noted }
    }
}

impl Pages for Numbered<'_> {
    #[inline(always)]
    fn lpn(&self, page: Page) -> DriveLpn {
        DriveLpn(self.lpns[page.0 as usize] as u32) // pages of the drive: fewer than 2^32
    }

    #[inline(always)]
    fn hinted_lpn(&self, page: u64) -> Option<DriveLpn> {
        self.lpns.get(page as usize).map(|&lpn| DriveLpn(lpn as u32))
    }

    #[inline(always)]
    fn held(&mut self, page: Page) -> &mut CachedPage {
        &mut self.held[page.0 as usize]
    }

    #[inline(always)]
    fn accessed(&mut self, page: Page, op: Op, bytes: u64) {
        self.noted.accessed(page, op, bytes);
    }

    #[inline(always)]
    fn written_back(&self, page: Page, label: u8) -> WriteHint {
        self.noted.written_back(page, label)
    }

    #[inline(always)]
    fn prefetch_held(&self, page: u64) {
        prefetch(&self.held, page as usize);
    }

    #[inline(always)]
    fn prefetch(&self, page: u64) {
        prefetch(self.lpns, page as usize);
        prefetch(&self.held, page as usize);
    }

    fn settle(&mut self, settled: &Settled) {
        self.held.iter_mut().for_each(|held| held.settle(settled));
    }

    fn len(&self) -> usize {
        self.held.len()
    }
}

/// Pages that are LPNs of the drive; what is kept grows with the cache.
#[derive(Default)]
pub(in crate::timed) struct Addressed {
    held: HashMap<Page, CachedPage>,
    write_bytes: Option<HashMap<Page, u64>>, // of all pages written, if the drive looks at it
}

impl Addressed {
    pub(in crate::timed) fn new(looks_at_sizes: bool) -> Self {
        Addressed { write_bytes: looks_at_sizes.then(HashMap::new), ..Addressed::default() }
    }
}

impl Pages for Addressed {
    fn lpn(&self, page: Page) -> DriveLpn {
        DriveLpn(page.0 as u32) // pages of the drive: fewer than 2^32
    }

    fn hinted_lpn(&self, _: u64) -> Option<DriveLpn> {
        None
    }

    fn held(&mut self, page: Page) -> &mut CachedPage {
        self.held.entry(page).or_insert(UNTOUCHED)
    }

    fn left(&mut self, page: Page) {
        self.held.remove(&page);
    }

    fn accessed(&mut self, page: Page, op: Op, bytes: u64) {
        if let (Op::Write, Some(write_bytes)) = (op, &mut self.write_bytes) {
            write_bytes.insert(page, bytes);
        }
    }

    fn written_back(&self, page: Page, label: u8) -> WriteHint {
        let bytes = self.write_bytes.as_ref().and_then(|bytes| bytes.get(&page));
        WriteHint { bytes: bytes.copied().unwrap_or(0), label }
    }

    fn settle(&mut self, settled: &Settled) {
        self.held.values_mut().for_each(|held| held.settle(settled));
    }

    fn len(&self) -> usize {
        self.held.len()
    }
}
