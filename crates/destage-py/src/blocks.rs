//! Building blocks of policies written in Python: lists of resident pages.
//!
//! All lists of a policy lie on one [`Shelf`], so that one look-up says whether a page is resident
//! and on which list. What a hit does is a property of its list, and the policy (`PyPolicy`) does
//! it here: Python is called on misses only. What is left to Python is what makes a policy one's
//! own, the order of eviction and what becomes of a page that comes in.

use crate::errors::usage;
use crate::py_views::{Number, PyPlan, Request};
use destage_core::{List, Near, Page, Pages, Plan, Slot};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Most lists of a policy.
const MOST_LISTS: u8 = 32;

/// Move of a page at a hit.
#[derive(Clone, Copy)]
enum OnHit {
    Stay,
    Front,
    Mark,
    To(u8),
}

/// A list, and its rules.
struct Kept {
    list: List,
    on_hit: OnHit,
    marks: u16,
    /// Pages beyond `limit` go, oldest first, to the front of another list.
    overflow: Option<(u32, u8)>,
}

/// All resident pages of a policy, each on one list.
pub(crate) struct State {
    pages: Pages<Near>,
    lists: Vec<Kept>,
}

impl State {
    /// The page's slot if it is on a list.
    pub(crate) fn find(&self, page: Page) -> Option<Slot> {
        self.pages.find(page)
    }

    /// The hit rule of the page's list, if it is on one.
    #[inline]
    pub(crate) fn hit(&mut self, page: Page, write: bool) -> Option<Slot> {
        let slot = self.pages.find(page)?;
        let node = &mut self.pages[slot];
        node.dirty |= write;
        let tag = node.list;
        let kept = &mut self.lists[usize::from(tag) - 1];
        match kept.on_hit {
            OnHit::Stay => {}
            OnHit::Front => kept.list.touch(&mut self.pages, slot),
            OnHit::Mark => node.mark = (node.mark + 1).min(kept.marks),
            OnHit::To(other) => {
                kept.list.unlink(&mut self.pages, slot);
                self.push_front(other, slot);
            }
        }
        Some(slot)
    }

    fn push_front(&mut self, tag: u8, slot: Slot) {
        let kept = &mut self.lists[usize::from(tag) - 1];
        kept.list.push_mru(&mut self.pages, slot);
        // A list overflows into one that was made before it, so that this ends.
        if let Some((limit, to)) = kept.overflow
            && kept.list.len() > limit
            && let Some(oldest) = kept.list.pop_lru(&mut self.pages)
        {
            self.push_front(to, oldest);
        }
    }

    /// Resident pages.
    pub(crate) fn len(&self) -> u32 {
        self.lists.iter().map(|kept| kept.list.len()).sum()
    }

    /// Every resident page with its dirty bit.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Page, bool)) {
        for kept in &self.lists {
            for slot in kept.list.iter(&self.pages) {
                visit(self.pages.page(slot), self.pages[slot].dirty);
            }
        }
    }

    /// The dirty bit of a page that is on a list.
    pub(crate) fn is_dirty(&self, page: Page) -> Option<bool> {
        self.find(page).map(|slot| self.pages[slot].dirty)
    }

    /// `ListPolicy.evict`: evicts the oldest page of the first list that has one.
    pub(crate) fn evict(&mut self, plan: &mut Plan) {
        let pages = &mut self.pages;
        if let Some(slot) = self.lists.iter_mut().find_map(|kept| kept.list.pop_lru(pages)) {
            let dirty = self.pages[slot].dirty;
            plan.evict(self.pages.remove(slot), dirty);
        }
    }

    /// `ListPolicy.admit`: puts the page at the front of the first list. `None` if there is no
    /// list.
    pub(crate) fn admit(&mut self, page: Page, dirty: bool) -> Option<Slot> {
        if self.lists.is_empty() {
            return None;
        }
        let slot = self.pages.insert(page);
        self.pages[slot].dirty = dirty;
        self.push_front(1, slot);
        Some(slot)
    }

    /// The page was written and stays.
    pub(crate) fn clean(&mut self, page: Page) {
        if let Some(slot) = self.pages.find(page) {
            self.pages[slot].dirty = false;
        }
    }

    /// Takes a page off its list; whether it was dirty, and `None` if it is on none.
    pub(crate) fn remove(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let node = self.pages[slot];
        self.lists[usize::from(node.list) - 1].list.unlink(&mut self.pages, slot);
        self.pages.remove(slot);
        Some(node.dirty)
    }

    /// Asserts the invariants of all lists.
    pub(crate) fn check(&self) {
        self.lists.iter().for_each(|kept| kept.list.check(&self.pages));
    }
}

/// Where the lists of a policy are.
#[pyclass(unsendable, module = "destage")]
pub struct Shelf {
    pub(crate) state: Rc<RefCell<State>>,
}

impl Shelf {
    /// The list of a policy that has none of its own: a hit only makes the page dirty.
    pub(crate) fn plain_list(&self) -> PageList {
        let mut state = self.state.borrow_mut();
        let list = List::new(&state.pages, 1);
        state.lists.push(Kept { list, on_hit: OnHit::Stay, marks: 0, overflow: None });
        PageList { state: self.state.clone(), tag: 1 }
    }
}

/// Parses `on_hit`, for the lists of `state`.
fn rule(py: Python<'_>, state: &Rc<RefCell<State>>, given: &Bound<'_, PyAny>) -> PyResult<OnHit> {
    if let Ok(list) = given.extract::<PyRef<'_, PageList>>() {
        let here = Rc::ptr_eq(&list.state, state);
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
        let state = State { pages: Pages::new(Near::new(), MOST_LISTS), lists: Vec::new() };
        Shelf { state: Rc::new(RefCell::new(state)) }
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
        let here = |list: &PageList| Rc::ptr_eq(&list.state, &self.state);
        let rule = rule(py, &self.state, on_hit)?;
        let overflow = match (limit, overflow) {
            (None, None) => None,
            (Some(limit), Some(list)) if here(list) => Some((limit, list.tag)),
            (Some(_), Some(_)) => return Err(elsewhere(py)),
            _ => return Err(usage(py, "new_list: limit and overflow go together")),
        };
        let mut state = self.state.borrow_mut();
        if state.lists.len() == usize::from(MOST_LISTS) {
            return Err(usage(py, format!("new_list: a policy has at most {MOST_LISTS} lists")));
        }
        let tag = state.lists.len() as u8 + 1;
        let list = List::new(&state.pages, tag);
        state.lists.push(Kept { list, on_hit: rule, marks, overflow });
        Ok(PageList { state: self.state.clone(), tag })
    }

    /// The hit rule; false if the page is on no list.
    fn hit(&self, r: &Request) -> bool {
        self.state.borrow_mut().hit(r.r.page, r.r.op.is_write()).is_some()
    }

    /// `ListPolicy.evict`: evicts the oldest page of the first list that has one.
    fn evict(&self, py: Python<'_>, plan: &mut PyPlan) -> PyResult<()> {
        let lists = self.state.borrow().lists.len() as u8;
        let of = |tag| PageList { state: self.state.clone(), tag };
        let (page, dirty) =
            (1..=lists).find_map(|tag| of(tag).pop(false)).ok_or_else(|| empty(py))?;
        plan.evict(Number(page), dirty);
        Ok(())
    }

    /// `ListPolicy.forget`: removes the page; false if it was not resident.
    fn discard(&self, page: Number) -> bool {
        self.state.borrow_mut().remove(Page(page.0)).is_some()
    }

    /// `ListPolicy.admit`: puts the page at the front of the first list.
    fn admit(&self, py: Python<'_>, r: &Request) -> PyResult<()> {
        if self.state.borrow().lists.is_empty() {
            return Err(no_list(py));
        }
        PageList { state: self.state.clone(), tag: 1 }.admit(py, r)
    }

    fn __contains__(&self, page: Number) -> bool {
        self.state.borrow().find(Page(page.0)).is_some()
    }

    fn __len__(&self) -> usize {
        self.state.borrow().len() as usize
    }
}

/// A list of resident pages, newest at the front.
#[pyclass(unsendable, module = "destage")]
pub struct PageList {
    state: Rc<RefCell<State>>,
    tag: u8,
}

impl PageList {
    fn with<T>(&self, work: impl FnOnce(&mut Pages<Near>, &mut List) -> T) -> T {
        let state = &mut *self.state.borrow_mut();
        work(&mut state.pages, &mut state.lists[usize::from(self.tag) - 1].list)
    }

    /// The slot of a page of this list.
    fn slot(&self, py: Python<'_>, page: Number) -> PyResult<Slot> {
        let state = self.state.borrow();
        let here = state.find(Page(page.0)).filter(|&slot| state.pages[slot].list == self.tag);
        here.ok_or_else(|| usage(py, format!("page {} is not on this list", page.0)))
    }

    fn put(&self, py: Python<'_>, page: Page, dirty: bool, front: bool) -> PyResult<()> {
        let mut state = self.state.borrow_mut();
        if state.find(page).is_some() {
            return Err(usage(py, format!("page {} is on a list already", page.0)));
        }
        let slot = state.pages.insert(page);
        state.pages[slot].dirty = dirty;
        if front {
            state.push_front(self.tag, slot);
        } else {
            let State { pages, lists } = &mut *state;
            lists[usize::from(self.tag) - 1].list.push_lru(pages, slot);
        }
        Ok(())
    }

    /// Puts a page that is on no list at the back.
    pub(crate) fn push_back(&self, py: Python<'_>, page: Page, dirty: bool) -> PyResult<()> {
        self.put(py, page, dirty, false)
    }

    /// Its pages, newest first.
    pub(crate) fn shown(&self) -> Vec<Page> {
        self.with(|pages, list| list.iter(pages).map(|slot| pages.page(slot)).collect())
    }

    fn pop(&self, newest: bool) -> Option<(u64, bool)> {
        self.with(|pages, list| {
            let slot = if newest { list.mru(pages) } else { list.lru(pages) }?;
            list.unlink(pages, slot);
            let dirty = pages[slot].dirty;
            Some((pages.remove(slot).0, dirty))
        })
    }
}

/// Error of a policy without lists, which can admit no page.
pub(crate) fn no_list(py: Python<'_>) -> PyErr {
    usage(py, "the policy has no list: make one in __init__ (new_list)")
}

pub(crate) fn empty(py: Python<'_>) -> PyErr {
    usage(py, "the list is empty")
}

#[pymethods]
impl PageList {
    #[setter]
    fn set_on_hit(&self, py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let rule = rule(py, &self.state, given)?;
        self.state.borrow_mut().lists[usize::from(self.tag) - 1].on_hit = rule;
        Ok(())
    }

    fn admit(&self, py: Python<'_>, r: &Request) -> PyResult<()> {
        self.put(py, r.r.page, r.r.op.is_write(), true)
    }

    #[pyo3(signature = (page, dirty = false))]
    fn push_front(&self, py: Python<'_>, page: Number, dirty: bool) -> PyResult<()> {
        self.put(py, Page(page.0), dirty, true)
    }

    #[pyo3(name = "push_back", signature = (page, dirty = false))]
    fn push_number_back(&self, py: Python<'_>, page: Number, dirty: bool) -> PyResult<()> {
        self.push_back(py, Page(page.0), dirty)
    }

    fn evict_back(&self, py: Python<'_>, plan: &mut PyPlan) -> PyResult<u64> {
        let (page, dirty) = self.pop(false).ok_or_else(|| empty(py))?;
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
        self.pop(false).ok_or_else(|| empty(py))
    }

    fn pop_front(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        self.pop(true).ok_or_else(|| empty(py))
    }

    fn remove(&self, py: Python<'_>, page: Number) -> PyResult<bool> {
        let slot = self.slot(py, page)?;
        Ok(self.with(|pages, list| {
            list.unlink(pages, slot);
            let dirty = pages[slot].dirty;
            pages.remove(slot);
            dirty
        }))
    }

    #[getter]
    fn back(&self) -> Option<u64> {
        self.with(|pages, list| list.lru(pages).map(|slot| pages.page(slot).0))
    }

    #[getter]
    fn front(&self) -> Option<u64> {
        self.with(|pages, list| list.mru(pages).map(|slot| pages.page(slot).0))
    }

    fn move_to_front(&self, py: Python<'_>, page: Number) -> PyResult<()> {
        let slot = self.slot(py, page)?;
        self.with(|pages, list| list.touch(pages, slot));
        Ok(())
    }

    /// The oldest page goes to the front of another list.
    fn demote_back(&self, py: Python<'_>, to: &PageList) -> PyResult<u64> {
        if !Rc::ptr_eq(&self.state, &to.state) {
            return Err(usage(
                py,
                "demote_back: expected a list of this policy, got another one's",
            ));
        }
        let slot = self.with(|pages, list| {
            let slot = list.lru(pages)?;
            list.unlink(pages, slot);
            Some(slot)
        });
        let slot = slot.ok_or_else(|| empty(py))?;
        let mut state = self.state.borrow_mut();
        state.push_front(to.tag, slot);
        Ok(state.pages.page(slot).0)
    }

    fn is_dirty(&self, py: Python<'_>, page: Number) -> PyResult<bool> {
        let slot = self.slot(py, page)?;
        Ok(self.with(|pages, _| pages[slot].dirty))
    }

    fn mark(&self, py: Python<'_>, page: Number) -> PyResult<u16> {
        let slot = self.slot(py, page)?;
        Ok(self.with(|pages, _| pages[slot].mark))
    }

    fn set_mark(&self, py: Python<'_>, page: Number, mark: u16) -> PyResult<()> {
        let slot = self.slot(py, page)?;
        self.with(|pages, _| pages[slot].mark = mark);
        Ok(())
    }

    /// Second chances: marked pages at the back lose a mark and go to the front.
    fn spare_marked(&self) -> usize {
        self.with(|pages, list| {
            let mut spared = 0;
            while let Some(slot) = list.lru(pages).filter(|&slot| pages[slot].mark > 0) {
                pages[slot].mark -= 1;
                list.touch(pages, slot);
                spared += 1;
            }
            spared
        })
    }

    /// The oldest clean page among the `within` oldest.
    #[pyo3(signature = (within = None))]
    fn oldest_clean(&self, within: Option<usize>) -> Option<u64> {
        self.with(|pages, list| {
            let mut oldest = list.oldest_first(pages).take(within.unwrap_or(usize::MAX));
            oldest.find(|&slot| !pages[slot].dirty).map(|slot| pages.page(slot).0)
        })
    }

    /// Pages, oldest first, at most `count`.
    #[pyo3(signature = (count = None))]
    fn oldest(&self, count: Option<usize>) -> Vec<u64> {
        self.with(|pages, list| {
            let oldest = list.oldest_first(pages).take(count.unwrap_or(usize::MAX));
            oldest.map(|slot| pages.page(slot).0).collect()
        })
    }

    fn __contains__(&self, page: Number) -> bool {
        let state = self.state.borrow();
        state.find(Page(page.0)).is_some_and(|slot| state.pages[slot].list == self.tag)
    }

    fn __len__(&self) -> usize {
        self.with(|_, list| list.len() as usize)
    }

    fn __repr__(&self) -> String {
        format!("<PageList of {} pages>", self.__len__())
    }
}
