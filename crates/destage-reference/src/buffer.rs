//! Which pages are resident, and which of them are dirty: `docs/spec/page-policies.md` 2.2.

use crate::{Decision, Op};

/// The frames of section 2.2: which pages are resident, and which of them are dirty.
///
/// Every reference model has one, so that none can differ in what makes a page dirty or what
/// flushes it.
#[derive(Clone)]
pub(crate) struct Buffer {
    frames: usize,
    pages: Vec<Resident>, // in no particular order
}

#[derive(Clone)]
struct Resident {
    page: u64,
    dirty: bool,
}

impl Buffer {
    pub(crate) fn new(frames: usize) -> Buffer {
        Buffer { frames, pages: Vec::new() }
    }

    pub(crate) fn full(&self) -> bool {
        self.pages.len() == self.frames
    }

    /// Whether the access hits; if it does and is a write, the page becomes dirty.
    pub(crate) fn hit(&mut self, op: Op, page: u64) -> bool {
        for resident in &mut self.pages {
            if resident.page == page {
                if op == Op::Write {
                    resident.dirty = true;
                }
                return true;
            }
        }
        false
    }

    pub(crate) fn dirty(&self, page: u64) -> bool {
        let resident = self.pages.iter().find(|resident| resident.page == page);
        resident.expect("only resident pages are clean or dirty").dirty
    }

    /// The decision of a miss that gives up `victim`, which is flushed if it is dirty.
    pub(crate) fn evict(&mut self, victim: u64) -> Decision {
        assert!(self.full(), "page {victim} is evicted while frames are free");
        let at = self.pages.iter().position(|resident| resident.page == victim);
        let resident = self.pages.remove(at.expect("a victim is resident"));
        Decision {
            hit: false,
            evicted: vec![victim],
            flushed: if resident.dirty { vec![vec![victim]] } else { Vec::new() },
        }
    }

    /// A trimmed page leaves without being written. Its dirty bit, if it was resident.
    pub(crate) fn forget(&mut self, page: u64) -> Option<bool> {
        let at = self.pages.iter().position(|resident| resident.page == page)?;
        Some(self.pages.remove(at).dirty)
    }

    /// A resident dirty page is written to flash, and stays.
    pub(crate) fn clean(&mut self, page: u64) {
        let resident = self.pages.iter_mut().find(|resident| resident.page == page);
        let resident = resident.expect("only resident pages are written");
        assert!(resident.dirty, "page {page} is written although it is clean");
        resident.dirty = false;
    }

    /// Installs the page of a miss: clean after a read, dirty after a write.
    pub(crate) fn install(&mut self, op: Op, page: u64) {
        assert!(!self.full(), "page {page} comes in without a free frame");
        assert!(self.pages.iter().all(|resident| resident.page != page), "{page} comes in twice");
        self.pages.push(Resident { page, dirty: op == Op::Write });
    }

    pub(crate) fn resident_pages(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.pages.iter().map(|resident| resident.page).collect();
        pages.sort_unstable();
        pages
    }

    pub(crate) fn dirty_pages(&self) -> Vec<u64> {
        let mut pages = self.resident_pages();
        pages.retain(|&page| self.dirty(page));
        pages
    }
}
