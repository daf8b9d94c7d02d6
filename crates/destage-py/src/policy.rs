//! A policy written in Python, driven as one written in Rust.
//!
//! The class has `request`, `evict` and `admit`, as [`Policy`] has; which pages are resident, and
//! which of them are dirty, is kept here from what it answers. An exception in one of the three
//! cannot go through the replay loop: it is kept, the policy answers "bypass" from then on, and the
//! caller raises it ([`Failure::take`]) when the loop has come back.

use crate::errors::usage;
use destage_core::{DeviceView, Lookup, Lpn, Nanos, Needs, Page, Plan, Policy, Slot, UnitId};
use pyo3::exceptions::{PyIndexError, PyOverflowError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// What the policy is told of an access.
#[pyclass(frozen, module = "destage")]
pub struct Request {
    r: destage_core::Request,
    /// Unit of the page's copy on flash, in front of a drive.
    unit_if_clean: Option<u32>,
    /// Unit that a write-back will go to, in front of a drive where that is known beforehand.
    unit_if_dirty: Option<u32>,
}

impl Request {
    /// An access of a run in front of a drive of so many units, or of none.
    fn of(r: destage_core::Request, units: Option<u32>) -> Self {
        Request {
            r,
            unit_if_clean: units.map(|_| r.units.clean.0),
            // One past the last unit: nobody knows before the page is written.
            unit_if_dirty: units.and_then(|n| Some(r.units.dirty.0).filter(|&unit| unit < n)),
        }
    }
}

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (
        page, op = "read", *, lpn = None, first_of_request = true, next_use = None,
        unit_if_clean = None, unit_if_dirty = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        page: u64,
        op: &str,
        lpn: Option<u64>,
        first_of_request: bool,
        next_use: Option<u64>,
        unit_if_clean: Option<u32>,
        unit_if_dirty: Option<u32>,
    ) -> PyResult<Self> {
        let op = match op {
            "read" => destage_core::Op::Read,
            "write" => destage_core::Op::Write,
            other => return Err(usage(py, format!("op: expected read or write, got {other:?}"))),
        };
        let mut r = destage_core::Request::new(Page(page), Lpn(lpn.unwrap_or(page)), op);
        r.first_of_request = first_of_request;
        r.next_use = next_use.unwrap_or(destage_core::NEVER);
        Ok(Request { r, unit_if_clean, unit_if_dirty })
    }

    #[getter]
    fn page(&self) -> u64 {
        self.r.page.0
    }

    #[getter]
    fn lpn(&self) -> u64 {
        self.r.lpn.0
    }

    #[getter]
    fn op<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        if self.r.op.is_write() { intern!(py, "write") } else { intern!(py, "read") }
    }

    #[getter]
    fn is_write(&self) -> bool {
        self.r.op.is_write()
    }

    #[getter]
    fn first_of_request(&self) -> bool {
        self.r.first_of_request
    }

    #[getter]
    fn next_use(&self) -> Option<u64> {
        Some(self.r.next_use).filter(|&next| next != destage_core::NEVER)
    }

    #[getter]
    fn unit_if_clean(&self) -> Option<u32> {
        self.unit_if_clean
    }

    #[getter]
    fn unit_if_dirty(&self) -> Option<u32> {
        self.unit_if_dirty
    }

    fn __repr__(&self) -> String {
        let op = if self.r.op.is_write() { "write" } else { "read" };
        format!("Request(page={}, op='{op}')", self.r.page.0)
    }
}

/// The look-up found the page.
#[pyclass(frozen, module = "destage")]
pub struct Hit;

#[pymethods]
impl Hit {
    #[new]
    fn new() -> Self {
        Hit
    }

    fn __repr__(&self) -> &'static str {
        "HIT"
    }
}

/// The page is not resident and is not taken in.
#[pyclass(frozen, module = "destage")]
pub struct Bypass;

#[pymethods]
impl Bypass {
    #[new]
    fn new() -> Self {
        Bypass
    }

    fn __repr__(&self) -> &'static str {
        "BYPASS"
    }
}

/// The page is not resident; `value` goes on to `evict` and `admit`.
#[pyclass(frozen, module = "destage")]
pub struct Miss {
    #[pyo3(get)]
    value: Py<PyAny>,
}

#[pymethods]
impl Miss {
    #[new]
    #[pyo3(signature = (value = None))]
    fn new(py: Python<'_>, value: Option<Py<PyAny>>) -> Self {
        Miss { value: value.unwrap_or_else(|| py.None()) }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Miss({})", self.value.bind(py).repr()?))
    }
}

/// What a policy may ask the drive when it must evict. A copy: Python may keep it, and it then says
/// how the drive was.
#[pyclass(name = "DeviceView", frozen, module = "destage")]
pub struct PyDeviceView {
    backlogs_ns: Vec<Nanos>,
    in_gc: Vec<bool>,
}

impl PyDeviceView {
    fn of(device: &dyn DeviceView) -> Self {
        let units = device.units();
        let mut backlogs_ns = vec![0; units as usize];
        device.backlogs_ns(&mut backlogs_ns);
        PyDeviceView {
            backlogs_ns,
            in_gc: (0..units).map(|unit| device.in_gc(UnitId(unit))).collect(),
        }
    }

    fn at<T: Copy>(&self, values: &[T], unit: usize) -> PyResult<T> {
        let units = values.len();
        let beyond =
            || PyIndexError::new_err(format!("unit {unit}: the drive has {units}, from 0"));
        values.get(unit).copied().ok_or_else(beyond)
    }
}

#[pymethods]
impl PyDeviceView {
    #[new]
    fn new(py: Python<'_>, backlogs_ns: Vec<Nanos>, in_gc: Vec<bool>) -> PyResult<Self> {
        if backlogs_ns.len() != in_gc.len() {
            return Err(usage(py, "device: expected as many backlogs as states of collection"));
        }
        Ok(PyDeviceView { backlogs_ns, in_gc })
    }

    fn units(&self) -> usize {
        self.backlogs_ns.len()
    }

    fn backlog_ns(&self, unit: usize) -> PyResult<Nanos> {
        self.at(&self.backlogs_ns, unit)
    }

    fn backlogs_ns(&self) -> Vec<Nanos> {
        self.backlogs_ns.clone()
    }

    fn in_gc(&self, unit: usize) -> PyResult<bool> {
        self.at(&self.in_gc, unit)
    }

    fn __repr__(&self) -> String {
        format!("<DeviceView of {} units>", self.backlogs_ns.len())
    }
}

/// What one eviction gives up, step by step.
#[derive(Clone, Copy)]
enum Step {
    Evict(Page, bool),
    OpenGroup,
    FlushAndEvict(Page),
    FlushAndKeep(Page),
    Pad(Lpn, bool),
}

/// The number of a page, as the plan takes it.
struct Number(u64);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    /// A number that no page has is told of in our words, not as an overflow.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Number> {
        given.extract::<u64>().map(Number).map_err(|e| {
            let py = given.py();
            if e.is_instance_of::<PyOverflowError>(py) {
                let last = u64::MAX;
                return usage(py, format!("page: expected 0..={last}, got {}", given.as_any()));
            }
            e
        })
    }
}

/// What the policy gives up.
#[pyclass(name = "Plan", module = "destage")]
#[derive(Default)]
pub struct PyPlan {
    steps: Vec<Step>,
    open: bool,
}

impl PyPlan {
    fn in_group(&mut self, py: Python<'_>, step: Step) -> PyResult<()> {
        if !self.open {
            return Err(usage(py, "plan: open_group comes before the pages of a group"));
        }
        self.steps.push(step);
        Ok(())
    }
}

#[pymethods]
impl PyPlan {
    #[new]
    fn new() -> Self {
        PyPlan::default()
    }

    fn evict(&mut self, page: Number, dirty: bool) {
        self.open = false;
        self.steps.push(Step::Evict(Page(page.0), dirty));
    }

    fn open_group(&mut self) {
        self.open = true;
        self.steps.push(Step::OpenGroup);
    }

    fn flush_and_evict(&mut self, py: Python<'_>, page: Number) -> PyResult<()> {
        self.in_group(py, Step::FlushAndEvict(Page(page.0)))
    }

    fn flush_and_keep(&mut self, py: Python<'_>, page: Number) -> PyResult<()> {
        self.in_group(py, Step::FlushAndKeep(Page(page.0)))
    }

    #[pyo3(signature = (lpn, in_buffer = false))]
    fn pad(&mut self, py: Python<'_>, lpn: Number, in_buffer: bool) -> PyResult<()> {
        self.in_group(py, Step::Pad(Lpn(lpn.0), in_buffer))
    }

    #[getter]
    fn evicted(&self) -> Vec<(u64, bool)> {
        let leaves = |step: &Step| match *step {
            Step::Evict(page, dirty) => Some((page.0, dirty)),
            Step::FlushAndEvict(page) => Some((page.0, true)),
            _ => None,
        };
        self.steps.iter().filter_map(leaves).collect()
    }
}

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

#[derive(Clone, Copy)]
struct Resident {
    slot: Slot,
    dirty: bool,
}

/// An object with `request`, `evict` and `admit`; needs the next uses if `NEXT_USE`.
pub struct PyPolicy<const NEXT_USE: bool> {
    object: Py<PyAny>,
    plan: Py<PyPlan>,
    frames: u32,
    /// Units of the drive behind the cache, if there is one.
    units: Option<u32>,
    /// Its class says that a write answered with `BYPASS` goes through to flash.
    writes_through: bool,
    /// It has a method `forget`.
    forgets: bool,
    resident: HashMap<u64, Resident>,
    /// Slots that were used and are free.
    free: Vec<Slot>,
    failure: Failure,
}

impl<const NEXT_USE: bool> PyPolicy<NEXT_USE> {
    /// Makes one by calling `factory(frames)`.
    pub fn make(
        py: Python<'_>,
        factory: &Py<PyAny>,
        frames: u32,
        units: Option<u32>,
        failure: Failure,
    ) -> PyResult<Self> {
        let object = factory.call1(py, (frames,))?;
        for method in ["request", "evict", "admit"] {
            if !object.bind(py).getattr(method).is_ok_and(|m| m.is_callable()) {
                let name = object.bind(py).get_type().qualname()?;
                return Err(usage(py, format!("policy {name}: it has no method {method}")));
            }
        }
        let writes_through = match object.bind(py).getattr_opt("WRITES_THROUGH")? {
            Some(declared) => declared.is_truthy()?,
            None => false,
        };
        let forgets = object.bind(py).getattr_opt("forget")?.is_some_and(|m| m.is_callable());
        Ok(PyPolicy {
            object,
            plan: Py::new(py, PyPlan::default())?,
            frames,
            units,
            writes_through,
            forgets,
            resident: HashMap::new(),
            free: Vec::new(),
            failure,
        })
    }

    /// Runs `call` unless the policy has failed; keeps its exception.
    fn guarded<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.failure.is_set() {
            return None;
        }
        Python::attach(|py| call(py).map_err(|e| self.failure.set(e)).ok())
    }

    fn remove(&mut self, page: Page) {
        self.free.extend(self.resident.remove(&page.0).map(|r| r.slot));
    }

    fn apply(&mut self, step: Step, plan: &mut Plan) {
        match step {
            Step::Evict(page, dirty) => {
                self.remove(page);
                plan.evict(page, dirty);
            }
            Step::OpenGroup => plan.open_group(),
            Step::FlushAndEvict(page) => {
                self.remove(page);
                plan.flush_and_evict(page);
            }
            Step::FlushAndKeep(page) => {
                if let Some(resident) = self.resident.get_mut(&page.0) {
                    resident.dirty = false;
                }
                plan.flush_and_keep(page);
            }
            Step::Pad(lpn, in_buffer) => plan.pad(lpn, in_buffer),
        }
    }
}

impl<const NEXT_USE: bool> Policy for PyPolicy<NEXT_USE> {
    type Miss = Py<PyAny>;
    // Units where there is a drive; without one they are not looked at.
    const NEEDS: Needs = if NEXT_USE { Needs::NEXT_USE.and(Needs::UNITS) } else { Needs::UNITS };

    fn writes_through(&self) -> bool {
        self.writes_through
    }

    fn request(&mut self, r: &destage_core::Request) -> Lookup<Py<PyAny>> {
        let answer = self.guarded(|py| {
            let request = Py::new(py, Request::of(*r, self.units))?;
            let answer = self.object.call_method1(py, intern!(py, "request"), (request,))?;
            let answer = answer.bind(py);
            if answer.is_exact_instance_of::<Hit>() {
                // A hit on a page that is not here gets a slot that none has: `Checked` tells.
                let slot = self.resident.get(&r.page.0).map_or(Slot(u32::MAX), |here| here.slot);
                return Ok(Lookup::Hit(slot));
            }
            if let Ok(miss) = answer.cast_exact::<Miss>() {
                return Ok(Lookup::Miss(miss.get().value.clone_ref(py)));
            }
            if answer.is_exact_instance_of::<Bypass>() {
                return Ok(Lookup::Bypass);
            }
            let got = answer.repr()?;
            Err(usage(py, format!("request: expected HIT, MISS, Miss(value) or BYPASS, got {got}")))
        });
        if let Some(Lookup::Hit(_)) = answer
            && let Some(here) = self.resident.get_mut(&r.page.0)
        {
            here.dirty |= r.op.is_write();
        }
        answer.unwrap_or(Lookup::Bypass)
    }

    fn evict(&mut self, miss: &mut Py<PyAny>, device: &dyn DeviceView, plan: &mut Plan) {
        let steps = self.guarded(|py| {
            let given = self.plan.clone_ref(py);
            // Without a device the policy sees None.
            let view = self.units.map(|_| Py::new(py, PyDeviceView::of(device))).transpose()?;
            self.object.call_method1(py, intern!(py, "evict"), (&*miss, view, given))?;
            let mut filled = self.plan.borrow_mut(py);
            filled.open = false;
            Ok(std::mem::take(&mut filled.steps))
        });
        for step in steps.unwrap_or_default() {
            self.apply(step, plan);
        }
    }

    fn admit(&mut self, r: &destage_core::Request, miss: Py<PyAny>) -> Slot {
        let admitted = self.guarded(|py| {
            let request = Py::new(py, Request::of(*r, self.units))?;
            self.object.call_method1(py, intern!(py, "admit"), (request, miss))
        });
        if admitted.is_none() {
            return Slot(u32::MAX);
        }
        let slot = self.free.pop().unwrap_or(Slot(self.resident.len() as u32));
        self.resident.insert(r.page.0, Resident { slot, dirty: r.op.is_write() });
        slot
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        self.guarded(|py| self.object.call_method1(py, intern!(py, "forget"), (page.0,)))?;
        let held = self.resident.get(&page.0).map(|here| here.dirty);
        self.remove(page);
        held
    }

    fn forgets(&self) -> bool {
        self.forgets
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    /// None once it has failed, so that the loop asks for no further eviction.
    fn resident(&self) -> u32 {
        if self.failure.is_set() { 0 } else { self.resident.len() as u32 }
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for (&page, here) in &self.resident {
            visit(Page(page), here.dirty);
        }
    }
}
