//! A binary min-heap of resident pages, from which any page can be taken.
//!
//! Its keys may be older, hence smaller, than those of the pages; a caller that takes the least one
//! puts its key right first.

use super::Key;
use destage_core::{Places, Slot};

/// Pages by key.
#[derive(Debug)]
pub(super) struct Heap {
    entries: Vec<(Key, Slot)>,
}

impl Heap {
    pub(super) fn new() -> Self {
        Heap { entries: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The page with the least key, and that key.
    pub(super) fn least(&self) -> Option<(Key, Slot)> {
        self.entries.first().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> {
        self.entries.iter().map(|&(_, slot)| slot)
    }

    pub(super) fn push(&mut self, key: Key, slot: Slot, places: &mut Places) {
        places.set(slot, 0);
        self.entries.push((key, slot));
        self.up(self.entries.len() - 1, (key, slot), places);
    }

    /// Gives the page at the top a larger key.
    pub(super) fn raise_least(&mut self, key: Key, places: &mut Places) {
        let slot = self.entries[0].1;
        self.down(0, (key, slot), places);
    }

    /// Takes a page of this heap out.
    pub(super) fn remove(&mut self, slot: Slot, places: &mut Places) {
        let at = places[slot] as usize;
        debug_assert_eq!(self.entries[at].1, slot, "the page is in this heap");
        let last = self.entries.pop().expect("the page is in this heap");
        if at == self.entries.len() {
            return;
        }
        if at > 0 && last.0 < self.entries[(at - 1) / 2].0 {
            self.up(at, last, places);
        } else {
            self.down(at, last, places);
        }
    }

    /// Puts an entry into a free place, or above it.
    fn up(&mut self, mut at: usize, entry: (Key, Slot), places: &mut Places) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.entries[parent].0 <= entry.0 {
                break;
            }
            self.put(at, self.entries[parent], places);
            at = parent;
        }
        self.put(at, entry, places);
    }

    /// Puts an entry into a free place, or below it.
    fn down(&mut self, mut at: usize, entry: (Key, Slot), places: &mut Places) {
        loop {
            let mut child = 2 * at + 1;
            if child >= self.entries.len() {
                break;
            }
            if child + 1 < self.entries.len() && self.entries[child + 1].0 < self.entries[child].0 {
                child += 1;
            }
            if entry.0 <= self.entries[child].0 {
                break;
            }
            self.put(at, self.entries[child], places);
            at = child;
        }
        self.put(at, entry, places);
    }

    fn put(&mut self, at: usize, entry: (Key, Slot), places: &mut Places) {
        self.entries[at] = entry;
        places[entry.1] = at as u32;
    }

    /// Asserts the order of the heap, that pages know their places, and that no key is ahead of
    /// its page's.
    pub(super) fn check(&self, places: &Places, key: impl Fn(Slot) -> Key) {
        for (at, &(noted, slot)) in self.entries.iter().enumerate() {
            assert!(at == 0 || self.entries[(at - 1) / 2].0 <= noted, "a parent is no larger");
            assert_eq!(places[slot] as usize, at, "a page knows its place in the heap");
            assert!(noted <= key(slot), "keys only grow");
        }
    }
}
