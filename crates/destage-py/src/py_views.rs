//! Arguments and answers of a policy written in Python: requests, device views, results of a
//! look-up, and eviction plans.

use crate::errors::usage;
use destage_core::{DeviceView, Lpn, Nanos, Page, UnitId};
use pyo3::exceptions::{PyIndexError, PyOverflowError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// An access, as a Python policy sees it.
#[pyclass(frozen, module = "destage")]
pub struct Request {
    pub(crate) r: destage_core::Request,
    /// Unit of the page's copy on flash, in front of a drive.
    unit_if_clean: Option<u32>,
    /// Unit that a write-back will go to, in front of a drive where that is known beforehand.
    unit_if_dirty: Option<u32>,
}

impl Request {
    /// An access of a run in front of a drive of so many units, or of none.
    pub(crate) fn of(r: destage_core::Request, units: Option<u32>) -> Self {
        Request {
            r,
            unit_if_clean: units.map(|_| r.units.clean.0),
            // One past the last unit: unknown until the page is written.
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
    pub(crate) value: Py<PyAny>,
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

/// State of the device for an eviction. A copy: Python may keep it, and it does not change.
#[pyclass(name = "DeviceView", frozen, module = "destage")]
pub struct PyDeviceView {
    backlogs_ns: Vec<Nanos>,
    in_gc: Vec<bool>,
}

impl PyDeviceView {
    pub(crate) fn of(device: &dyn DeviceView) -> Self {
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
            || PyIndexError::new_err(format!("unit {unit}: the device has {units}, from 0"));
        values.get(unit).copied().ok_or_else(beyond)
    }
}

#[pymethods]
impl PyDeviceView {
    #[new]
    fn new(py: Python<'_>, backlogs_ns: Vec<Nanos>, in_gc: Vec<bool>) -> PyResult<Self> {
        if backlogs_ns.len() != in_gc.len() {
            return Err(usage(py, "device: expected as many backlogs as GC states"));
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

/// Step of an eviction plan.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Evict(Page, bool),
    OpenGroup,
    FlushAndEvict(Page),
    FlushAndKeep(Page),
    Pad(Lpn, bool),
}

/// The number of a page, as the plan takes it.
pub(crate) struct Number(pub(crate) u64);

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

/// Eviction plan: pages that leave, in groups.
#[pyclass(name = "Plan", module = "destage")]
#[derive(Default)]
pub struct PyPlan {
    steps: Vec<Step>,
    open: bool,
    ended_by: Option<Page>, // evicted after the group was opened
}

impl PyPlan {
    /// The steps since the last call; a group ends with the call that opened it.
    pub(crate) fn take(&mut self) -> Vec<Step> {
        (self.open, self.ended_by) = (false, None);
        std::mem::take(&mut self.steps)
    }

    fn in_group(&mut self, py: Python<'_>, step: Step) -> PyResult<()> {
        if !self.open {
            let first = match self.ended_by {
                Some(page) => format!("plan.evict({}) ended the group: ", page.0),
                None => String::new(),
            };
            let what = "open_group comes before the pages of a group";
            return Err(usage(py, format!("plan: {first}{what}")));
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

    pub(crate) fn evict(&mut self, page: Number, dirty: bool) {
        if std::mem::take(&mut self.open) {
            self.ended_by = Some(Page(page.0));
        }
        self.steps.push(Step::Evict(Page(page.0), dirty));
    }

    fn open_group(&mut self) {
        (self.open, self.ended_by) = (true, None);
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
