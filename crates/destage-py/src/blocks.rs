//! Building blocks of policies written in Python: lists of resident pages.
//!
//! All lists of a policy lie on one [`Shelf`]. A hit's effect is a property of its list, and the
//! policy (`PyPolicy`) has it here: Python is called on misses only. Python decides the order of
//! eviction, and the list of a page that comes in.

use crate::errors::usage;
use crate::py_views::{Number, PyPlan, Request};
use destage_cache::{ListError, Lists, OnHit, Overflow, Tag};
use destage_core::Page;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Where the lists of a policy are.
#[pyclass(unsendable, module = "destage")]
pub struct Shelf {
    pub(crate) lists: Rc<RefCell<Lists>>,
}

impl Shelf {
    /// The list of a policy that has none of its own: a hit only makes the page dirty.
    pub(crate) fn plain_list(&self, py: Python<'_>) -> PyResult<PageList> {
        self.list(py, OnHit::Stay, 0, None)
    }

    fn list(
        &self,
        py: Python<'_>,
        on_hit: OnHit,
        marks: u16,
        overflow: Option<Overflow>,
    ) -> PyResult<PageList> {
        let tag = or_raise(py, self.lists.borrow_mut().new_list(on_hit, marks, overflow))?;
        Ok(PageList { lists: self.lists.clone(), tag })
    }
}

/// The exception of what lists cannot do.
pub(crate) fn or_raise<T>(py: Python<'_>, result: Result<T, ListError>) -> PyResult<T> {
    result.map_err(|e| usage(py, e.to_string()))
}

/// Parses `on_hit`, for the lists of a shelf.
fn rule(py: Python<'_>, lists: &Rc<RefCell<Lists>>, given: &Bound<'_, PyAny>) -> PyResult<OnHit> {
    if let Ok(list) = given.extract::<PyRef<'_, PageList>>() {
        let here = Rc::ptr_eq(&list.lists, lists);
        return if here { Ok(OnHit::To(list.tag)) } else { Err(elsewhere(py)) };
    }
    match given.extract::<String>().as_deref() {
        Ok("front") => Ok(OnHit::Front),
        Ok("stay") => Ok(OnHit::Stay),
        Ok("mark") => Ok(OnHit::Mark),
        _ => {
            let got = given.repr()?;
            Err(usage(
                py,
                format!(
                    "on_hit: expected \"front\", \"stay\", \"mark\" or a list of this policy, got \
                     {got}"
                ),
            ))
        }
    }
}

fn elsewhere(py: Python<'_>) -> PyErr {
    usage(py, "expected a list of this policy, got another one's")
}

#[pymethods]
impl Shelf {
    #[new]
    pub(crate) fn new() -> Self {
        Shelf { lists: Rc::default() }
    }

    /// Another list, with what a hit on it does: `front`, `stay`, `mark`, or a list to go to.
    #[pyo3(signature = (on_hit, marks = 1, limit = None, overflow = None))]
    fn new_list(
        &self,
        py: Python<'_>,
        on_hit: &Bound<'_, PyAny>,
        marks: u16,
        limit: Option<u32>,
        overflow: Option<&PageList>,
    ) -> PyResult<PageList> {
        let here = |list: &PageList| Rc::ptr_eq(&list.lists, &self.lists);
        let rule = rule(py, &self.lists, on_hit)?;
        let overflow = match (limit, overflow) {
            (None, None) => None,
            (Some(limit), Some(list)) if here(list) => Some(Overflow { limit, to: list.tag }),
            (Some(_), Some(_)) => return Err(elsewhere(py)),
            _ => return Err(usage(py, "new_list: limit and overflow go together")),
        };
        self.list(py, rule, marks, overflow)
    }

    /// The hit rule; false if the page is on no list.
    fn hit(&self, r: &Request) -> bool {
        self.lists.borrow_mut().hit(r.r.page, r.r.op.is_write()).is_some()
    }

    /// `ListPolicy.evict`: evicts the oldest page of the first list that has one.
    fn evict(&self, py: Python<'_>, plan: &mut PyPlan) -> PyResult<()> {
        let (page, dirty) = or_raise(py, self.lists.borrow_mut().evict())?;
        plan.evict(Number(page.0), dirty);
        Ok(())
    }

    /// `ListPolicy.forget`: removes the page; false if it was not resident.
    fn discard(&self, page: Number) -> bool {
        self.lists.borrow_mut().remove(Page(page.0)).is_some()
    }

    /// `ListPolicy.admit`: puts the page at the front of the first list.
    fn admit(&self, py: Python<'_>, r: &Request) -> PyResult<()> {
        let first = or_raise(py, self.lists.borrow().first())?;
        PageList { lists: self.lists.clone(), tag: first }.admit(py, r)
    }

    fn __contains__(&self, page: Number) -> bool {
        self.lists.borrow().find(Page(page.0)).is_some()
    }

    fn __len__(&self) -> usize {
        self.lists.borrow().len() as usize
    }
}

/// A list of resident pages, newest at the front.
#[pyclass(unsendable, module = "destage")]
pub struct PageList {
    lists: Rc<RefCell<Lists>>,
    tag: Tag,
}

impl PageList {
    fn with<T>(&self, work: impl FnOnce(&mut Lists, Tag) -> T) -> T {
        work(&mut self.lists.borrow_mut(), self.tag)
    }

    fn doing<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Lists, Tag) -> Result<T, ListError>,
    ) -> PyResult<T> {
        or_raise(py, self.with(work))
    }

    /// Puts a page that is on no list at the back.
    pub(crate) fn push_back(&self, py: Python<'_>, page: Page, dirty: bool) -> PyResult<()> {
        self.doing(py, |lists, tag| lists.push_back(tag, page, dirty)).map(|_| ())
    }

    /// Its pages, newest first.
    pub(crate) fn shown(&self) -> Vec<Page> {
        self.lists.borrow().newest_first(self.tag)
    }

    fn pop(&self, py: Python<'_>, newest: bool) -> PyResult<(u64, bool)> {
        let (page, dirty) = self.doing(py, |lists, tag| lists.pop(tag, newest))?;
        Ok((page.0, dirty))
    }
}

#[pymethods]
impl PageList {
    #[setter]
    fn set_on_hit(&self, py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let rule = rule(py, &self.lists, given)?;
        self.with(|lists, tag| lists.set_on_hit(tag, rule));
        Ok(())
    }

    fn admit(&self, py: Python<'_>, r: &Request) -> PyResult<()> {
        self.push_front(py, Number(r.r.page.0), r.r.op.is_write())
    }

    #[pyo3(signature = (page, dirty = false))]
    fn push_front(&self, py: Python<'_>, page: Number, dirty: bool) -> PyResult<()> {
        self.doing(py, |lists, tag| lists.push_front(tag, Page(page.0), dirty)).map(|_| ())
    }

    #[pyo3(name = "push_back", signature = (page, dirty = false))]
    fn push_number_back(&self, py: Python<'_>, page: Number, dirty: bool) -> PyResult<()> {
        self.push_back(py, Page(page.0), dirty)
    }

    fn evict_back(&self, py: Python<'_>, plan: &mut PyPlan) -> PyResult<u64> {
        let (page, dirty) = self.pop(py, false)?;
        plan.evict(Number(page), dirty);
        Ok(page)
    }

    fn evict(&self, py: Python<'_>, page: Number, plan: &mut PyPlan) -> PyResult<()> {
        let number = page.0;
        let dirty = self.remove(py, page)?;
        plan.evict(Number(number), dirty);
        Ok(())
    }

    fn pop_back(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        self.pop(py, false)
    }

    fn pop_front(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        self.pop(py, true)
    }

    fn remove(&self, py: Python<'_>, page: Number) -> PyResult<bool> {
        self.doing(py, |lists, tag| lists.take(tag, Page(page.0)))
    }

    #[getter]
    fn back(&self) -> Option<u64> {
        self.lists.borrow().back(self.tag).map(|page| page.0)
    }

    #[getter]
    fn front(&self) -> Option<u64> {
        self.lists.borrow().front(self.tag).map(|page| page.0)
    }

    fn move_to_front(&self, py: Python<'_>, page: Number) -> PyResult<()> {
        self.doing(py, |lists, tag| lists.move_to_front(tag, Page(page.0)))
    }

    /// The oldest page goes to the front of another list.
    fn demote_back(&self, py: Python<'_>, to: &PageList) -> PyResult<u64> {
        if !Rc::ptr_eq(&self.lists, &to.lists) {
            return Err(usage(
                py,
                "demote_back: expected a list of this policy, got another one's",
            ));
        }
        self.doing(py, |lists, tag| lists.demote(tag, to.tag)).map(|page| page.0)
    }

    fn is_dirty(&self, py: Python<'_>, page: Number) -> PyResult<bool> {
        self.doing(py, |lists, tag| lists.dirty_here(tag, Page(page.0)))
    }

    fn mark(&self, py: Python<'_>, page: Number) -> PyResult<u16> {
        self.doing(py, |lists, tag| lists.mark(tag, Page(page.0)))
    }

    fn set_mark(&self, py: Python<'_>, page: Number, mark: u16) -> PyResult<()> {
        self.doing(py, |lists, tag| lists.set_mark(tag, Page(page.0), mark))
    }

    /// Second chances: marked pages at the back lose a mark and go to the front.
    fn spare_marked(&self) -> usize {
        self.with(Lists::spare_marked)
    }

    /// The oldest clean page among the `within` oldest.
    #[pyo3(signature = (within = None))]
    fn oldest_clean(&self, within: Option<usize>) -> Option<u64> {
        let lists = self.lists.borrow();
        let mut oldest = lists.oldest_first(self.tag).take(within.unwrap_or(usize::MAX));
        oldest.find(|&(_, dirty)| !dirty).map(|(page, _)| page.0)
    }

    /// Pages, oldest first, at most `count`.
    #[pyo3(signature = (count = None))]
    fn oldest(&self, count: Option<usize>) -> Vec<u64> {
        let lists = self.lists.borrow();
        let oldest = lists.oldest_first(self.tag).take(count.unwrap_or(usize::MAX));
        oldest.map(|(page, _)| page.0).collect()
    }

    fn __contains__(&self, page: Number) -> bool {
        self.lists.borrow().contains(self.tag, Page(page.0))
    }

    fn __len__(&self) -> usize {
        self.lists.borrow().list_len(self.tag) as usize
    }

    fn __repr__(&self) -> String {
        format!("<PageList of {} pages>", self.__len__())
    }
}
