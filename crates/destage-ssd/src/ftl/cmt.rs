//! A cached mapping table: which logical pages have their entry in memory, in which order they
//! leave, and which entries are newer than flash (`docs/spec/ftl.md` 6,
//! `docs/spec/map-cache.md` 4).
//!
//! Where a page is, this table does not say: an entry outside it equals the one on flash, so that
//! one map of all pages serves both.

use crate::ftl::lists::Lists;
use crate::geometry::DriveLpn;

/// Parameters of the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sizes {
    /// C: most entries, at least 1.
    pub entries: u32,
    /// Q: most entries of the protected segment; 0 makes it a plain LRU.
    pub protected: u32,
    /// Logical pages.
    pub pages: u32,
    /// E: entries of a translation page.
    pub per_page: u32,
}

/// Segments of the recency order.
const PROBATIONARY: u32 = 0;
const PROTECTED: u32 = 1;

/// An entry in memory.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Entry {
    pub lpn: DriveLpn,
    pub dirty: bool,
    pub protected: bool,
}

/// The table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cmt {
    entries: Vec<Entry>, // as many as have been used at a time
    of_page: Vec<u32>,   // logical page -> its entry + 1; 0 if it has none
    unused: Vec<u32>,
    recency: Lists,
    protected: u32, // entries in the protected segment
    dirty: Lists,   // by translation page, its dirty entries
    sizes: Sizes,
}

impl Cmt {
    pub(super) fn new(sizes: Sizes) -> Self {
        // There are no more entries than pages.
        let entries = sizes.entries.min(sizes.pages);
        Cmt {
            entries: vec![Entry::default(); entries as usize],
            of_page: vec![0; sizes.pages as usize],
            unused: (0..entries).rev().collect(),
            recency: Lists::new(entries, 2),
            protected: 0,
            dirty: Lists::new(entries, sizes.pages.div_ceil(sizes.per_page)),
            sizes,
        }
    }

    /// The entry of a page.
    #[inline(always)]
    pub(super) fn find(&self, lpn: DriveLpn) -> Option<u32> {
        self.of_page[lpn.index()].checked_sub(1)
    }

    /// For a hint.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: DriveLpn) {
        destage_core::pages::prefetch(&self.of_page, lpn.index());
    }

    /// An entry is looked up: it becomes the newest of the protected segment, whose oldest may have
    /// to leave for the probationary one.
    #[inline]
    pub(super) fn touch(&mut self, entry: u32) {
        self.recency.remove(entry);
        let known = &mut self.entries[entry as usize];
        if !std::mem::replace(&mut known.protected, true) {
            self.protected += 1;
        }
        self.recency.push(PROTECTED, entry);
        if self.protected > self.sizes.protected
            && let Some(oldest) = self.recency.oldest(PROTECTED)
        {
            self.recency.remove(oldest);
            self.recency.push(PROBATIONARY, oldest);
            self.entries[oldest as usize].protected = false;
            self.protected -= 1;
        }
    }

    /// The entry that has to leave before another one comes in.
    #[inline]
    pub(super) fn victim(&self) -> Option<u32> {
        if !self.unused.is_empty() {
            return None;
        }
        self.recency.oldest(PROBATIONARY).or_else(|| self.recency.oldest(PROTECTED))
    }

    /// Takes a clean entry out.
    #[inline]
    pub(super) fn remove(&mut self, entry: u32) {
        let Entry { lpn, dirty, protected } = self.entries[entry as usize];
        debug_assert!(!dirty, "a dirty entry is written back first");
        self.recency.remove(entry);
        self.protected -= u32::from(protected);
        self.of_page[lpn.index()] = 0;
        self.unused.push(entry);
    }

    /// Puts a clean entry in, the newest of the probationary segment. There is room.
    #[inline]
    pub(super) fn insert(&mut self, lpn: DriveLpn) -> u32 {
        let entry = self.unused.pop().expect("there is room");
        self.entries[entry as usize] = Entry { lpn, dirty: false, protected: false };
        self.of_page[lpn.index()] = entry + 1;
        self.recency.push(PROBATIONARY, entry);
        entry
    }

    /// The page of an entry.
    #[inline(always)]
    pub(super) fn lpn(&self, entry: u32) -> DriveLpn {
        self.entries[entry as usize].lpn
    }

    #[inline(always)]
    pub(super) fn is_dirty(&self, entry: u32) -> bool {
        self.entries[entry as usize].dirty
    }

    /// The translation page that has the entry of a page.
    #[inline(always)]
    pub(super) fn tvpn(&self, lpn: DriveLpn) -> u32 {
        lpn.0 / self.sizes.per_page
    }

    /// An entry is newer than flash.
    #[inline]
    pub(super) fn make_dirty(&mut self, entry: u32) {
        let known = &mut self.entries[entry as usize];
        if !std::mem::replace(&mut known.dirty, true) {
            let tvpn = known.lpn.0 / self.sizes.per_page;
            self.dirty.push(tvpn, entry);
        }
    }

    /// An entry has been written to flash.
    #[inline]
    pub(super) fn make_clean(&mut self, entry: u32) {
        self.entries[entry as usize].dirty = false;
        self.dirty.remove(entry);
    }

    /// A dirty entry of a translation page.
    #[inline]
    pub(super) fn any_dirty(&self, tvpn: u32) -> Option<u32> {
        self.dirty.oldest(tvpn)
    }

    /// All entries in the order in which they leave.
    pub(super) fn in_order(&self) -> impl Iterator<Item = Entry> {
        let segments = [PROBATIONARY, PROTECTED].into_iter();
        segments.flat_map(|segment| self.recency.iter(segment)).map(|at| self.entries[at as usize])
    }

    /// Puts the next one of [that order](Cmt::in_order) into a table that is being filled again.
    /// False if it cannot stand there.
    pub(super) fn put_back(&mut self, entry: Entry) -> bool {
        let Entry { lpn, dirty, protected } = entry;
        let is_known = self.of_page.get(lpn.index()).is_none_or(|&at| at != 0);
        let fits = !protected || self.protected < self.sizes.protected;
        if is_known || !fits || self.unused.is_empty() {
            return false;
        }
        let at = self.insert(lpn);
        if dirty {
            self.make_dirty(at);
        }
        if protected {
            self.touch(at);
        }
        true
    }

    /// Asserts that look-up, segments and dirty lists agree.
    pub(super) fn check(&self) {
        let (mut all, mut protected) = (0, 0);
        for segment in [PROBATIONARY, PROTECTED] {
            for entry in self.recency.iter(segment) {
                let known = self.entries[entry as usize];
                assert_eq!(self.find(known.lpn), Some(entry), "an entry is found by its page");
                assert_eq!(known.protected, segment == PROTECTED, "an entry knows its segment");
                all += 1;
                protected += u32::from(known.protected);
            }
        }
        assert_eq!(protected, self.protected, "a segment knows its length");
        assert!(protected <= self.sizes.protected, "the protected segment is no longer than Q");
        assert_eq!(all + self.unused.len(), self.entries.len(), "an entry is used or not");
        assert_eq!(self.of_page.iter().filter(|&&entry| entry != 0).count(), all);
        let mut dirty = 0;
        for tvpn in 0..self.sizes.pages.div_ceil(self.sizes.per_page) {
            for entry in self.dirty.iter(tvpn) {
                let known = self.entries[entry as usize];
                assert!(known.dirty && self.tvpn(known.lpn) == tvpn, "dirty, and of this page");
                dirty += 1;
            }
        }
        let counted = self.of_page.iter().filter_map(|at| at.checked_sub(1));
        assert_eq!(counted.filter(|&entry| self.is_dirty(entry)).count(), dirty);
    }
}
