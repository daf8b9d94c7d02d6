//! A building block of policies written in Python: pages that were resident, by their numbers.

use crate::blocks::empty;
use crate::py_views::Number;
use destage_core::{List, Near, Page, Pages};
use pyo3::prelude::*;

/// Numbers of pages that were evicted, newest at the front; the oldest are forgotten.
#[pyclass(unsendable, module = "destage")]
pub struct GhostList {
    pages: Pages<Near>,
    list: List,
    #[pyo3(get)]
    capacity: u32,
}

impl GhostList {
    fn shorten(&mut self) {
        while self.list.len() > self.capacity {
            self.pop();
        }
    }

    fn pop(&mut self) -> Option<u64> {
        let slot = self.list.pop_lru(&mut self.pages)?;
        Some(self.pages.remove(slot).0)
    }
}

#[pymethods]
impl GhostList {
    #[new]
    fn new(capacity: u32) -> Self {
        let pages = Pages::new(Near::new(), 1);
        let list = List::new(&pages, 1);
        GhostList { pages, list, capacity }
    }

    #[setter]
    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.shorten();
    }

    /// Remembers a page as the newest, also one that was remembered already.
    fn push(&mut self, page: Number) {
        let page = Page(page.0);
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
    fn discard(&mut self, page: Number) -> bool {
        let Some(slot) = self.pages.find(Page(page.0)) else { return false };
        self.list.unlink(&mut self.pages, slot);
        self.pages.remove(slot);
        true
    }

    fn pop_back(&mut self, py: Python<'_>) -> PyResult<u64> {
        self.pop().ok_or_else(|| empty(py))
    }

    fn __contains__(&self, page: Number) -> bool {
        self.pages.find(Page(page.0)).is_some()
    }

    fn __len__(&self) -> usize {
        self.list.len() as usize
    }

    fn __repr__(&self) -> String {
        format!("<GhostList of {} pages, at most {}>", self.list.len(), self.capacity)
    }
}
