//! A building block of policies written in Python: pages that were resident, by their numbers.

use crate::blocks::or_raise;
use crate::py_views::Number;
use destage_cache::{Ghosts, ListError};
use destage_core::Page;
use pyo3::prelude::*;

/// Numbers of pages that were evicted, newest at the front; the oldest are forgotten.
#[pyclass(unsendable, module = "destage")]
pub struct GhostList(Ghosts);

#[pymethods]
impl GhostList {
    #[new]
    fn new(capacity: u32) -> Self {
        GhostList(Ghosts::new(capacity))
    }

    #[getter]
    fn capacity(&self) -> u32 {
        self.0.capacity()
    }

    #[setter]
    fn set_capacity(&mut self, capacity: u32) {
        self.0.set_capacity(capacity);
    }

    /// Remembers a page as the newest; a page that is remembered moves to the front.
    fn push(&mut self, page: Number) {
        self.0.push(Page(page.0));
    }

    /// Forgets a page; whether it was remembered.
    fn discard(&mut self, page: Number) -> bool {
        self.0.discard(Page(page.0))
    }

    fn pop_back(&mut self, py: Python<'_>) -> PyResult<u64> {
        or_raise(py, self.0.pop().ok_or(ListError::Empty)).map(|page| page.0)
    }

    fn __contains__(&self, page: Number) -> bool {
        self.0.contains(Page(page.0))
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    fn __repr__(&self) -> String {
        format!("<GhostList of {} pages, at most {}>", self.0.len(), self.0.capacity())
    }
}
