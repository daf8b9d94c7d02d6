//! A policy written in Python, driven as one written in Rust.
//!
//! The class has `request`, `evict` and `admit`, as [`Policy`] has. Which pages are resident, and
//! which of them are dirty, is kept on lists here ([`Lists`]): on one list from what a plain policy
//! answers; on its own lists of a policy that is made of building blocks (`destage.ListPolicy`),
//! whose hits are then found and done here, without a call of Python.
//!
//! An exception in one of the three cannot go through the replay loop: it is kept, the policy
//! answers "bypass" from then on, and the caller raises it ([`Failure::take`]) when the loop has
//! come back. It says of which policy it is, in which call, and at which access.

use crate::blocks::{PageList, Shelf, or_raise};
use crate::errors::{is_usage, usage};
use crate::py_views::{Bypass, Hit, Miss, PyDeviceView, PyPlan, Request, Step};
use destage_cache::Lists;
use destage_core::{DeviceView, Lookup, Page, Part, Plan, Policy, Requirements, Slot, UnitId};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// The exception that ended a policy's work, if one did; shared with the caller.
#[derive(Clone, Default)]
pub struct Failure {
    error: Rc<RefCell<Option<PyErr>>>,
    failed: Rc<Cell<bool>>,
}

impl Failure {
    /// True from the first exception on.
    pub fn is_set(&self) -> bool {
        self.failed.get()
    }

    /// The exception.
    pub fn take(&self) -> Option<PyErr> {
        self.error.borrow_mut().take()
    }

    /// Keeps the first.
    pub fn set(&self, error: PyErr) {
        if !self.failed.replace(true) {
            *self.error.borrow_mut() = Some(error);
        }
    }
}

/// Which calls of a policy with lists are those of `ListPolicy`.
#[derive(Clone, Copy, Default)]
struct Native {
    request: bool,
    evict: bool,
    admit: bool,
    forget: bool,
}

impl Native {
    /// The methods of `ListPolicy` say so of themselves.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Native> {
        let is_native = |method: &str| -> PyResult<bool> {
            Ok(object.getattr(method)?.getattr_opt("native")?.is_some())
        };
        Ok(Native {
            request: is_native("request")?,
            evict: is_native("evict")?,
            admit: is_native("admit")?,
            forget: is_native("forget")?,
        })
    }
}

/// An object with `request`, `evict` and `admit`.
pub struct PyPolicy {
    object: Py<PyAny>,
    name: String,
    plan: Py<PyPlan>,
    frames: u32,
    /// Units of the drive behind the cache, if there is one.
    units: Option<u32>,
    /// The class declares that a bypassed write goes through to flash.
    writes_through: bool,
    /// It has a method `forget`.
    forgets: bool,
    /// Units in front of a device, next uses if the class asks for them, idle instants if it has a
    /// method `idle`.
    requirements: Requirements,
    /// Resident pages: the policy's own lists, or one that follows from its answers.
    lists: Rc<RefCell<Lists>>,
    /// Where a plain policy's pages are; `None` for one with lists of its own.
    plain: Option<PageList>,
    /// Methods of a policy with lists that are `ListPolicy`'s own, run natively.
    native: Native,
    /// The access that is going on, from 1.
    accesses: u64,
    failure: Failure,
}

impl PyPolicy {
    /// Makes one by calling `factory(frames, pages_per_block)`; errors call it `name`, or by its
    /// class.
    #[expect(clippy::too_many_arguments, reason = "what a run knows of a policy")]
    pub fn make(
        py: Python<'_>,
        factory: &Py<PyAny>,
        name: Option<&str>,
        frames: u32,
        pages_per_block: u32,
        units: Option<u32>,
        needs_next_use: bool,
        failure: Failure,
    ) -> PyResult<Self> {
        let made = factory.call1(py, (frames, pages_per_block))?;
        let object = made.bind(py);
        let name = match name {
            Some(name) => name.to_owned(),
            None => object.get_type().qualname()?.to_string(),
        };
        for method in ["request", "evict", "admit"] {
            if !object.getattr(method).is_ok_and(|m| m.is_callable()) {
                return Err(usage(py, format!("policy {name}: it has no method {method}")));
            }
        }
        let writes_through = match object.getattr_opt("WRITES_THROUGH")? {
            Some(declared) => declared.is_truthy()?,
            None => false,
        };
        let shelf = match object.getattr_opt("shelf")? {
            Some(shelf) => shelf.extract::<PyRef<'_, Shelf>>().ok(),
            None => None,
        };
        let (lists, plain) = match shelf {
            Some(shelf) => (shelf.lists.clone(), None),
            None => {
                let shelf = Shelf::new();
                (shelf.lists.clone(), Some(shelf.plain_list(py)?))
            }
        };
        let native = if plain.is_some() { Native::default() } else { Native::of(object)? };
        let forgets = object.getattr_opt("forget")?.is_some_and(|m| m.is_callable());
        let mut requirements = Requirements::UNITS;
        if needs_next_use {
            requirements = requirements.and(Requirements::NEXT_USE);
        }
        if object.getattr_opt("idle")?.is_some_and(|m| m.is_callable()) {
            requirements = requirements.and(Requirements::IDLE);
        }
        let plan = Py::new(py, PyPlan::default())?;
        Ok(PyPolicy {
            object: made,
            name,
            plan,
            frames,
            units,
            writes_through,
            forgets,
            requirements,
            lists,
            plain,
            native,
            accesses: 0,
            failure,
        })
    }

    /// Its lists by the names of its attributes, newest first; the resident pages of one that has
    /// none.
    pub fn lists(&self) -> Vec<(&'static str, Part)> {
        if self.plain.is_some() {
            let mut pages = Vec::new();
            self.lists.borrow().for_each(&mut |page, _| pages.push(page));
            return vec![("pages", Part::pages(pages))];
        }
        let mut lists = Vec::new();
        // Attributes that cannot be read are not shown.
        _ = Python::attach(|py| {
            let all = self.object.bind(py).getattr("__dict__")?.cast_into::<PyDict>()?;
            for (name, value) in all {
                if let Ok(list) = value.cast::<PageList>() {
                    lists.push((
                        kept_name(name.extract()?),
                        Part::pages(list.try_borrow()?.shown()),
                    ));
                }
            }
            Ok::<_, PyErr>(())
        });
        lists
    }

    /// Runs `work` for a call unless the policy has failed; keeps its exception.
    fn guarded<T>(
        &self,
        call: &str,
        page: Option<Page>,
        work: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> Option<T> {
        if self.failure.is_set() {
            return None;
        }
        Python::attach(|py| {
            work(py).map_err(|e| self.failure.set(self.located(py, e, call, page))).ok()
        })
    }

    /// The exception with policy, call and access.
    #[cold]
    fn located(&self, py: Python<'_>, raised: PyErr, call: &str, page: Option<Page>) -> PyErr {
        let of = page.map(|page| format!(" (page {})", page.0)).unwrap_or_default();
        let at = self.accesses.saturating_sub(1);
        let place = format!("policy {}: access {at}, {call}{of}", self.name);
        if is_usage(py, &raised) {
            // Ours: what a building block, or the plan, was given.
            let located = usage(py, format!("{place}: {}", raised.value(py)));
            located.set_cause(py, Some(raised));
            return located;
        }
        if raised.is_instance_of::<PyException>(py) {
            let blame =
                py.import("destage.lab.user_policies.files").and_then(|m| m.getattr("blame"));
            // An exception that takes no notes comes out without.
            let _ = blame.and_then(|blame| blame.call1((raised.value(py), place)));
        }
        raised
    }

    /// Takes the steps that the policy has added to the plan since the last call.
    fn steps(&self, py: Python<'_>) -> Vec<Step> {
        self.plan.borrow_mut(py).take()
    }

    fn apply(&self, step: Step, plan: &mut Plan) {
        // A policy with lists of its own has taken the page off them.
        let leaves = |page| {
            if self.plain.is_some() {
                self.lists.borrow_mut().remove(page);
            }
        };
        match step {
            Step::Evict(page, dirty) => {
                leaves(page);
                plan.evict(page, dirty);
            }
            Step::OpenGroup => plan.open_group(),
            Step::FlushAndEvict(page) => {
                leaves(page);
                plan.flush_and_evict(page);
            }
            Step::FlushAndKeep(page) => {
                self.lists.borrow_mut().clean(page);
                plan.flush_and_keep(page);
            }
            Step::Pad(lpn, in_buffer) => plan.pad(lpn, in_buffer),
        }
    }

    /// Answer of the policy to an access; `None` if it has failed.
    fn ask(&mut self, r: &destage_core::Request) -> Option<Lookup<Option<Py<PyAny>>>> {
        self.guarded("request", Some(r.page), |py| {
            let request = Py::new(py, Request::of(*r, self.units))?;
            let answer = self.object.call_method1(py, intern!(py, "request"), (request,))?;
            let answer = answer.bind(py);
            if answer.is_exact_instance_of::<Hit>() {
                // A hit on a page that is not here gets a slot that none has: `Checked` tells.
                let slot = self.lists.borrow_mut().hit(r.page, r.op.is_write());
                return Ok(Lookup::Hit(slot.unwrap_or(Slot(u32::MAX))));
            }
            if let Ok(miss) = answer.cast_exact::<Miss>() {
                return Ok(Lookup::Miss(Some(miss.get().value.clone_ref(py))));
            }
            if answer.is_exact_instance_of::<Bypass>() {
                return Ok(Lookup::Bypass);
            }
            let got = answer.repr()?;
            Err(usage(py, format!("expected HIT, MISS, Miss(value) or BYPASS, got {got}")))
        })
    }
}

/// The name of a list for as long as the process: one for all that are called so.
fn kept_name(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}

impl Policy for PyPolicy {
    /// The value of the policy's `Miss`; `None` where it was not asked.
    type Miss = Option<Py<PyAny>>;

    fn requirements(&self) -> Requirements {
        self.requirements
    }

    fn writes_through(&self) -> bool {
        self.writes_through
    }

    fn request(&mut self, r: &destage_core::Request) -> Lookup<Self::Miss> {
        self.accesses += 1;
        if self.plain.is_none() && !self.failure.is_set() {
            if let Some(slot) = self.lists.borrow_mut().hit(r.page, r.op.is_write()) {
                return Lookup::Hit(slot);
            }
            if self.native.request {
                return Lookup::Miss(None);
            }
        }
        self.ask(r).unwrap_or(Lookup::Bypass)
    }

    fn evict(&mut self, miss: &mut Self::Miss, device: &dyn DeviceView, plan: &mut Plan) {
        if self.native.evict && !self.failure.is_set() {
            if let Ok((page, dirty)) = self.lists.borrow_mut().evict() {
                plan.evict(page, dirty);
            }
            return;
        }
        let steps = self.guarded("evict", None, |py| {
            let given = self.plan.clone_ref(py);
            // Without a device the policy sees None.
            let view = self.units.map(|_| Py::new(py, PyDeviceView::of(device))).transpose()?;
            self.object.call_method1(py, intern!(py, "evict"), (&*miss, view, given))?;
            Ok(self.steps(py))
        });
        for step in steps.unwrap_or_default() {
            self.apply(step, plan);
        }
    }

    fn idle(&mut self, unit: UnitId, device: &dyn DeviceView, plan: &mut Plan) {
        let steps = self.guarded("idle", None, |py| {
            let view = Py::new(py, PyDeviceView::of(device))?;
            let given = (unit.0, view, self.plan.clone_ref(py));
            self.object.call_method1(py, intern!(py, "idle"), given)?;
            Ok(self.steps(py))
        });
        for step in steps.unwrap_or_default() {
            self.apply(step, plan);
        }
    }

    fn admit(&mut self, r: &destage_core::Request, miss: Self::Miss) -> Slot {
        if self.native.admit && !self.failure.is_set() {
            let admitted = self.lists.borrow_mut().admit(r.page, r.op.is_write());
            let raised = |error| self.guarded("admit", Some(r.page), |py| or_raise(py, Err(error)));
            return admitted.map_or_else(raised, Some).unwrap_or(Slot(u32::MAX));
        }
        let admitted = self.guarded("admit", Some(r.page), |py| {
            let request = Py::new(py, Request::of(*r, self.units))?;
            self.object.call_method1(py, intern!(py, "admit"), (request, miss))?;
            if let Some(plain) = &self.plain {
                plain.push_back(py, r.page, r.op.is_write())?;
            }
            let nowhere = || usage(py, "the page is on none of the policy's lists after it");
            self.lists.borrow().find(r.page).ok_or_else(nowhere)
        });
        admitted.unwrap_or(Slot(u32::MAX))
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    /// None once it has failed, so that the loop asks for no further eviction.
    fn resident(&self) -> u32 {
        if self.failure.is_set() { 0 } else { self.lists.borrow().len() }
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.lists.borrow().for_each(visit);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let held = self.lists.borrow().is_dirty(page);
        if !self.native.forget {
            self.guarded("forget", Some(page), |py| {
                self.object.call_method1(py, intern!(py, "forget"), (page.0,))
            })?;
        }
        self.lists.borrow_mut().remove(page);
        held
    }

    fn forgets(&self) -> bool {
        self.forgets
    }

    fn check(&self) {
        self.lists.borrow().check();
    }
}
