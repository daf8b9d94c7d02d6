//! One small value per page, for policies whose pages hang on no [`List`](crate::List).
//!
//! FIFO, CLOCK and their kin keep their order in a ring of slots; what they look up per access is a
//! few bits. A byte instead of a [`Node`](crate::Node) and its links puts twelve times as many
//! pages into the processor's caches.

use crate::huge;
use crate::pages::{Directory, prefetch};
use crate::types::{Page, Slot};
use std::ops::{Index, IndexMut};

/// State of a page in a [`Table`]. The default stands for a page that is not known.
pub trait Entry: Copy + Default {
    /// The page is known, resident or ghost.
    fn known(&self) -> bool;
}

/// All known pages: the directory, and one `T` per slot.
#[derive(Clone, Debug)]
pub struct Table<D, T> {
    directory: D,
    entries: Vec<T>,
}

impl<D: Directory, T: Entry> Table<D, T> {
    /// No page known yet.
    pub fn new(directory: D) -> Self {
        let entries = huge::table(T::default(), directory.initial_slots() as usize);
        Table { directory, entries }
    }

    /// The slot of a known page.
    #[inline(always)]
    pub fn find(&self, page: Page) -> Option<Slot> {
        let slot = self.directory.slot(page)?;
        self.entries[slot.index()].known().then_some(slot)
    }

    /// Makes a page known that is not.
    #[inline(always)]
    pub fn insert(&mut self, page: Page, entry: T) -> Slot {
        debug_assert!(entry.known(), "the default stands for an unknown page");
        let slot = self.directory.insert(page);
        if slot.index() == self.entries.len() {
            self.entries.push(entry);
        } else {
            debug_assert!(!self.entries[slot.index()].known(), "the page is known already");
            self.entries[slot.index()] = entry;
        }
        slot
    }

    /// The page is unknown from now on. Returns it.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) -> Page {
        let page = self.directory.page(slot);
        self.entries[slot.index()] = T::default();
        self.directory.remove(slot);
        page
    }

    /// The page of a slot.
    #[inline(always)]
    pub fn page(&self, slot: Slot) -> Page {
        self.directory.page(slot)
    }

    /// Slots that exist: the length that a column beside this one needs.
    pub fn slots(&self) -> usize {
        self.entries.len()
    }

    /// All known pages, in any order. Looks at every slot.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        let known = self.entries.iter().enumerate().filter(|(_, entry)| entry.known());
        known.map(|(slot, _)| Slot(slot as u32))
    }

    /// State of a page, known or not, for a hint that follows it; `None` where finding it
    /// costs more than the hint hides, and for a page that a run does not have.
    #[inline(always)]
    pub fn near(&self, page: Page) -> Option<&T> {
        if D::DENSE { self.entries.get(page.0 as usize) } else { None }
    }

    /// Prefetches the page's entry. Only dense pages: a hash look-up costs more than it hides.
    #[inline(always)]
    pub fn prefetch(&self, page: Page) {
        if D::DENSE {
            prefetch(&self.entries, page.0 as usize);
        }
    }

    /// Prefetches the entry of a slot.
    #[inline(always)]
    pub fn prefetch_slot(&self, slot: Slot) {
        prefetch(&self.entries, slot.index());
    }
}

impl<D, T> Index<Slot> for Table<D, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, slot: Slot) -> &T {
        &self.entries[slot.index()]
    }
}

impl<D, T> IndexMut<Slot> for Table<D, T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.entries[slot.index()]
    }
}

/// A page in one byte: known (bit 0), dirty (bit 1), and six bits of the policy's own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Brief(u8);

impl Brief {
    const KNOWN: u8 = 1;
    const DIRTY: u8 = 2;
    const MARK: u32 = 2;

    /// A known page with this mark, 0..=63.
    #[inline(always)]
    pub fn new(dirty: bool, mark: u8) -> Self {
        Brief(Brief::KNOWN | u8::from(dirty) << 1 | mark << Brief::MARK)
    }

    /// Newer than flash.
    #[inline(always)]
    pub fn dirty(self) -> bool {
        self.0 & Brief::DIRTY != 0
    }

    /// A write makes the page dirty, a read leaves its state.
    #[inline(always)]
    pub fn access(&mut self, write: bool) {
        self.0 |= u8::from(write) << 1;
    }

    /// The page has been written to flash.
    pub fn clean(&mut self) {
        self.0 &= !Brief::DIRTY;
    }

    /// The policy's own bits.
    #[inline(always)]
    pub fn mark(self) -> u8 {
        self.0 >> Brief::MARK
    }

    /// Sets the policy's own bits, 0..=63.
    #[inline(always)]
    pub fn set_mark(&mut self, mark: u8) {
        self.0 = self.0 & (Brief::KNOWN | Brief::DIRTY) | mark << Brief::MARK;
    }
}

impl Entry for Brief {
    #[inline(always)]
    fn known(&self) -> bool {
        self.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Dense, Hashed};

    #[test]
    fn a_removed_page_is_unknown_and_its_slot_is_used_again() {
        let mut table = Table::new(Hashed::new());
        let slot = table.insert(Page(1 << 60), Brief::new(true, 5));
        assert_eq!(table.find(Page(1 << 60)), Some(slot));
        assert!(table[slot].dirty());
        assert_eq!(table.remove(slot), Page(1 << 60));
        assert_eq!(table.find(Page(1 << 60)), None);
        assert_eq!(table.insert(Page(7), Brief::new(false, 0)), slot);
    }

    #[test]
    fn a_dense_page_is_its_own_slot() {
        let mut table = Table::new(Dense::new(4));
        assert_eq!(table.find(Page(3)), None);
        assert_eq!(table.insert(Page(3), Brief::new(false, 0)), Slot(3));
        assert_eq!(table.find(Page(3)), Some(Slot(3)));
    }

    #[test]
    fn mark_and_dirty_bit_do_not_touch_each_other() {
        let mut brief = Brief::new(false, 63);
        brief.access(true);
        assert_eq!((brief.dirty(), brief.mark()), (true, 63));
        brief.set_mark(0);
        brief.access(false);
        assert_eq!((brief.dirty(), brief.mark(), brief.known()), (true, 0, true));
    }
}
