//! A list of pages that are not resident, by their numbers.

use destage_core::{List, Near, Page, Pages};

/// Pages that were evicted, newest at the front; beyond the capacity the oldest are forgotten.
pub struct Ghosts {
    pages: Pages<Near>,
    list: List,
    capacity: u32,
}

impl Ghosts {
    /// An empty list of at most `capacity` pages.
    pub fn new(capacity: u32) -> Ghosts {
        let pages = Pages::new(Near::new(), 1);
        let list = List::new(&pages, 1);
        Ghosts { pages, list, capacity }
    }

    /// Most pages.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Sets the most pages; the oldest beyond them are forgotten.
    pub fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.shorten();
    }

    /// Remembers a page as the newest; a page that is remembered moves to the front.
    pub fn push(&mut self, page: Page) {
        match self.pages.find(page) {
            Some(slot) => self.list.touch(&mut self.pages, slot),
            None => {
                let slot = self.pages.insert(page);
                self.list.push_mru(&mut self.pages, slot);
                self.shorten();
            }
        }
    }

    /// Forgets a page; whether it was remembered.
    pub fn discard(&mut self, page: Page) -> bool {
        let Some(slot) = self.pages.find(page) else { return false };
        self.list.unlink(&mut self.pages, slot);
        self.pages.remove(slot);
        true
    }

    /// Forgets the oldest page.
    pub fn pop(&mut self) -> Option<Page> {
        let slot = self.list.pop_lru(&mut self.pages)?;
        Some(self.pages.remove(slot))
    }

    /// Whether a page is remembered.
    pub fn contains(&self, page: Page) -> bool {
        self.pages.find(page).is_some()
    }

    /// Pages that are remembered.
    pub fn len(&self) -> u32 {
        self.list.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shorten(&mut self) {
        while self.len() > self.capacity {
            self.pop();
        }
    }
}
