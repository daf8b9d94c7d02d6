//! A policy that Python steps (`docs/spec/tiers.md` 10): any hashable key is a page.
//!
//! Python code can run where a key is compared and where one is dropped: comparing comes before
//! anything is changed, and released keys are dropped when the cache is free again.

use crate::cache_arguments::{Own, options_of, own_of, spec_of, whole};
use crate::errors::{ErrorClass, error, raise, usage};
use destage_cache::{Found, Kept, Keyed, Keys, State};
use destage_core::{Op, Page, Part};
use destage_engine::stepped::{Ended, Stepped};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// One page access: what it found and what left the cache.
#[pyclass(frozen, module = "destage")]
pub struct Access {
    /// The page was resident.
    #[pyo3(get)]
    hit: bool,
    /// This access took it in.
    #[pyo3(get)]
    admitted: bool,
    /// Keys that left the cache, in order.
    #[pyo3(get)]
    evicted: Py<PyTuple>,
    /// Keys that were written to flash, in order.
    #[pyo3(get)]
    destaged: Py<PyTuple>,
    /// Keys that were written to flash, a tuple for each flush group.
    #[pyo3(get)]
    groups: Py<PyTuple>,
}

#[pymethods]
impl Access {
    fn __bool__(&self) -> bool {
        self.hit
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let truth = |value: bool| if value { "True" } else { "False" };
        let keys = |tuple: &Py<PyTuple>| tuple.bind(py).repr().map(|text| text.to_string());
        Ok(format!(
            "Access(hit={}, admitted={}, evicted={}, destaged={}, groups={})",
            truth(self.hit),
            truth(self.admitted),
            keys(&self.evicted)?,
            keys(&self.destaged)?,
            keys(&self.groups)?
        ))
    }
}

impl Access {
    fn plain(py: Python<'_>, hit: bool, admitted: bool) -> PyResult<Py<Access>> {
        let none = || PyTuple::empty(py).unbind();
        let (evicted, destaged, groups) = (none(), none(), none());
        Py::new(py, Access { hit, admitted, evicted, destaged, groups })
    }
}

/// A policy that a program steps, one access at a time: any hashable key is a page. It holds no
/// values. A key is kept alive as long as the policy knows it, resident or remembered; with a
/// policy of one's own, a class or `mine.py:Mine`, until `clear`.
/// `lirs` and `lru-k`, whose papers set no limit, remember 8 times the frames: `policy` shows the
/// parameter, and `lirs[ghost_max=none]` or `lru-k[retained_period=none]` takes the limit away.
#[pyclass(frozen, module = "destage", weakref)]
pub struct Cache {
    inside: Mutex<Inside>,
    hit: Py<Access>,
    miss: Py<Access>,
    bypass: Py<Access>,
}

struct Inside {
    cached: Keyed<Py<PyAny>>,
    own: Option<Own>,
    changes: u64, // calls that may have changed something
}

impl Inside {
    /// The exception of a policy of one's own, if its last call raised one.
    fn check(&self) -> PyResult<()> {
        self.own.as_ref().and_then(|own| own.fault.take()).map_or(Ok(()), Err)
    }

    /// Resets the cache; the keys to drop.
    fn clear(&mut self, py: Python<'_>) -> PyResult<Vec<Kept<Py<PyAny>>>> {
        let frames = self.policy().frames();
        let fresh = self.own.as_mut().map(|own| own.policy(py, frames)).transpose()?;
        Ok(self.cached.clear(fresh))
    }

    fn policy(&self) -> &Stepped {
        self.cached.policy()
    }

    fn key<'py>(&self, py: Python<'py>, page: Page) -> Bound<'py, PyAny> {
        self.cached.keys().kept(page).key.bind(py).clone()
    }

    /// Looks a key up. The key's own `__hash__` and `__eq__` run here and nowhere else.
    fn find(&self, key: &Bound<'_, PyAny>) -> PyResult<Found> {
        let keys = self.cached.keys();
        if let Keys::Integers(_) = keys {
            let number = key.extract::<u64>().map_err(|_| self.no_number(key))?;
            return Ok(keys.find(number, |_| false));
        }
        let mut raised = None;
        let found = keys.find(key.hash()? as u64, |known| {
            raised.is_none()
                && (known.is(key)
                    || known.bind(key.py()).eq(key).unwrap_or_else(|error| {
                        raised = Some(error);
                        false
                    }))
        });
        raised.map_or(Ok(found), Err)
    }

    fn no_number(&self, key: &Bound<'_, PyAny>) -> PyErr {
        let policy = self.policy().info().map_or("the policy", |info| info.name);
        let got = key.repr().map_or_else(|_| "an object".into(), |r| r.to_string());
        PyTypeError::new_err(format!(
            "{policy} looks at page numbers: expected an integer 0..2^64-1 as key, got {got}"
        ))
    }

    fn tuple<'py>(&self, py: Python<'py>, pages: &[Page]) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, pages.iter().map(|&page| self.key(py, page)))
    }

    /// The result of an access at which pages left, or were written.
    fn outcome(&self, py: Python<'_>, ended: Ended) -> PyResult<Py<Access>> {
        let plan = self.policy().plan();
        let evicted = plan.evicted().iter().map(|evicted| self.key(py, evicted.page));
        let evicted = PyTuple::new(py, evicted)?;
        let (destaged, groups) = match (plan.flushed(), plan.evicted()) {
            ([], _) => (PyTuple::empty(py), PyTuple::empty(py)),
            // The one page that most policies evict.
            ([_], [one]) if one.dirty => (evicted.clone(), PyTuple::new(py, [&evicted])?),
            (flushed, _) => {
                let groups = plan.groups().map(|(pages, _)| self.tuple(py, pages));
                let groups = PyTuple::new(py, groups.collect::<PyResult<Vec<_>>>()?)?;
                (self.tuple(py, flushed)?, groups)
            }
        };
        Py::new(
            py,
            Access {
                hit: ended == Ended::Hit,
                admitted: ended == Ended::Admitted,
                evicted: evicted.unbind(),
                destaged: destaged.unbind(),
                groups: groups.unbind(),
            },
        )
    }

    /// The resident keys; the dirty ones only.
    fn resident(&self, py: Python<'_>, dirty_only: bool) -> Vec<Py<PyAny>> {
        let mut keys = Vec::new();
        self.cached.for_each_resident(dirty_only, |key| keys.push(key.clone_ref(py)));
        keys
    }

    /// Content of a policy's list, with keys in place of pages.
    fn part<'py>(&self, py: Python<'py>, part: &Part) -> PyResult<Bound<'py, PyAny>> {
        Ok(match part {
            Part::Count(count) => count.into_pyobject(py)?.into_any(),
            Part::Real(real) => real.into_pyobject(py)?.into_any(),
            Part::Word(word) => word.into_pyobject(py)?.into_any(),
            Part::Page(page) => self.key(py, *page),
            Part::List(parts) => {
                let parts = parts.iter().map(|part| self.part(py, part));
                PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
        })
    }

    /// The first `n` pages of the order of eviction that are not in `protected`.
    fn victims(
        &self,
        py: Python<'_>,
        n: usize,
        protected: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Page>> {
        let mut pages = Vec::new();
        let mut raised = None;
        let shown = self.policy().next_victims(&mut |page| {
            if pages.len() == n {
                return false;
            }
            match protected.map_or(Ok(false), |keys| keys.contains(self.key(py, page))) {
                Ok(true) => {}
                Ok(false) => pages.push(page),
                Err(error) => raised = Some(error),
            }
            pages.len() < n && raised.is_none()
        });
        raise(py, shown)?;
        raised.map_or(Ok(pages), Err)
    }
}

impl Cache {
    fn enter(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Inside>> {
        self.inside.try_lock().map_err(|refused| match refused {
            TryLockError::WouldBlock => PyRuntimeError::new_err(
                "destage.Cache serves one thread at a time, and another call is in it",
            ),
            TryLockError::Poisoned(_) => {
                error(py, ErrorClass::Internal, "destage.Cache: an earlier call has failed inside")
            }
        })
    }
}

#[pymethods]
impl Cache {
    #[new]
    #[pyo3(signature = (
        policy, frames, *, pages_per_block = None, device_pages = None, cost = None
    ))]
    fn new(
        py: Python<'_>,
        policy: &Bound<'_, PyAny>,
        frames: &Bound<'_, PyAny>,
        pages_per_block: Option<&Bound<'_, PyAny>>,
        device_pages: Option<&Bound<'_, PyAny>>,
        cost: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Cache> {
        let Some(frames) = frames.extract::<u32>().ok().filter(|&frames| frames > 0) else {
            let (got, most) = (frames.repr()?, u32::MAX);
            return Err(usage(py, format!("frames = {got}: expected an integer 1..{most}")));
        };
        let options =
            [("pages_per_block", pages_per_block), ("device_pages", device_pages), ("cost", cost)];
        let options = options_of(py, options)?;
        let mut own = own_of(py, policy, &options)?;
        let policy = match &mut own {
            None => raise(py, Stepped::new(spec_of(py, policy)?, frames, options))?,
            Some(own) => Stepped::own(own.factory.name.clone(), own.policy(py, frames)?),
        };
        Ok(Cache {
            inside: Mutex::new(Inside { cached: Keyed::new(policy), own, changes: 0 }),
            hit: Access::plain(py, true, false)?,
            miss: Access::plain(py, false, true)?,
            bypass: Access::plain(py, false, false)?,
        })
    }

    /// One page access: a read, or a write of the whole page. Returns an `Access`.
    #[pyo3(signature = (key, write = false))]
    fn access(&self, key: &Bound<'_, PyAny>, write: bool) -> PyResult<Py<Access>> {
        let py = key.py();
        let mut inside = self.enter(py)?;
        let found = inside.find(key)?;
        let op = if write { Op::Write } else { Op::Read };
        let (page, ended) = inside.cached.access(found, || key.clone().unbind(), op);
        inside.changes += 1;
        inside.check()?;
        let plan = inside.policy().plan();
        let told = if !plan.evicted().is_empty() || plan.group_count() > 0 {
            inside.outcome(py, ended)
        } else {
            let plain = match ended {
                Ended::Hit => &self.hit,
                Ended::Admitted => &self.miss,
                Ended::Bypassed => &self.bypass,
            };
            Ok(plain.clone_ref(py))
        };
        let released = inside.cached.settle(found, page, ended, op);
        drop(inside);
        drop(released);
        told
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.state(key)? != State::Remembered)
    }

    /// `"clean"` or `"dirty"` for a resident key, else the default.
    #[pyo3(signature = (key, default = None))]
    fn get(&self, key: &Bound<'_, PyAny>, default: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let py = key.py();
        Ok(match self.state(key)? {
            State::Clean => pyo3::intern!(py, "clean").clone().into_any().unbind(),
            State::Dirty => pyo3::intern!(py, "dirty").clone().into_any().unbind(),
            State::Remembered => default.unwrap_or_else(|| py.None()),
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.enter(py)?.policy().resident() as usize)
    }

    fn __iter__(this: &Bound<'_, Self>) -> PyResult<CacheIterator> {
        let py = this.py();
        let inside = this.get().enter(py)?;
        let keys = inside.resident(py, false);
        Ok(CacheIterator {
            cache: this.clone().unbind(),
            changes: inside.changes,
            keys: keys.into_iter(),
        })
    }

    /// The resident keys that are dirty, in any order.
    #[getter]
    fn dirty(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        Ok(self.enter(py)?.resident(py, true))
    }

    /// The key leaves without being written. Its dirty bit; None if it was not resident.
    fn forget(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        let py = key.py();
        let mut inside = self.enter(py)?;
        let Some(page) = inside.find(key)?.page else { return Ok(None) };
        if !inside.policy().forgets() {
            let name = inside.policy().given();
            return Err(usage(
                py,
                format!("{name}: forget needs a method forget(page) of the policy"),
            ));
        }
        inside.changes += 1;
        let held = inside.cached.forget(page);
        inside.check()?;
        let released = inside.cached.settle_forgotten(page);
        drop(inside);
        drop(released);
        Ok(held)
    }

    /// The first `n` keys that would leave, one after the other, if only new pages were written.
    fn next_victims(&self, py: Python<'_>, n: i64) -> PyResult<Vec<Py<PyAny>>> {
        let n = whole(py, n)?;
        let inside = self.enter(py)?;
        let pages = inside.victims(py, n, None)?;
        Ok(pages
            .into_iter()
            .map(|page| inside.cached.keys().kept(page).key.clone_ref(py))
            .collect())
    }

    /// Evicts the first `n` of `next_victims` that are not in `protected`, and returns them; None,
    /// and nothing has changed, if there are fewer.
    #[pyo3(signature = (n, protected = None))]
    fn evict(
        &self,
        py: Python<'_>,
        n: i64,
        protected: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Vec<Py<PyAny>>>> {
        let n = whole(py, n)?;
        let mut inside = self.enter(py)?;
        let pages = inside.victims(py, n, protected)?;
        if pages.len() < n {
            return Ok(None);
        }
        inside.changes += u64::from(n > 0);
        let evicted =
            pages.iter().map(|&page| inside.cached.keys().kept(page).key.clone_ref(py)).collect();
        let released = inside.cached.evict(&pages);
        drop(inside);
        drop(released);
        Ok(Some(evicted))
    }

    /// Resets the cache: keys, history, targets, counters and random numbers.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let mut inside = self.enter(py)?;
        let released = inside.clear(py)?;
        inside.changes += 1;
        drop(inside);
        drop(released);
        Ok(())
    }

    /// Counters under the names of a run's result, the policy's own among them.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inside = self.enter(py)?;
        let counters = PyDict::new(py);
        let shared = serde_json::to_value(inside.policy().counters()).unwrap_or_default();
        for (name, count) in shared.as_object().into_iter().flatten() {
            counters.set_item(name, count.as_u64())?;
        }
        let mut own = Vec::new();
        inside.policy().own_counters(&mut |name, count| own.push((name, count)));
        own.into_iter().try_for_each(|(name, count)| counters.set_item(name, count))?;
        Ok(counters)
    }

    /// Values that the policy adapts, such as ARC's `p`, by name.
    #[getter]
    fn gauges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inside = self.enter(py)?;
        let mut shown = Vec::new();
        inside.policy().gauges(&mut |name, value| shown.push((name, value)));
        let gauges = PyDict::new(py);
        shown.into_iter().try_for_each(|(name, value)| gauges.set_item(name, value))?;
        Ok(gauges)
    }

    /// Lists of the policy and other state, by name; newest first, a clock from its hand on.
    #[getter]
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inside = self.enter(py)?;
        let lists = PyDict::new(py);
        for (name, part) in inside.policy().inside() {
            lists.set_item(name, inside.part(py, &part)?)?;
        }
        Ok(lists)
    }

    /// The policy as a user would type it for a run that decides the same.
    #[getter]
    fn policy(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.enter(py)?.policy().label())
    }

    /// The policy as it was given, normalised.
    #[getter]
    fn _given(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.enter(py)?.policy().given().to_string())
    }

    /// Frames of the cache.
    #[getter]
    fn frames(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.enter(py)?.policy().frames())
    }

    /// Keys that are kept alive, resident or remembered.
    #[getter]
    fn _known(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.enter(py)?.cached.keys().len())
    }

    /// Accesses the keys in turn, and shows each with the policy's lists after it. `write`: whether
    /// all of them are writes, or the keys whose accesses are.
    #[pyo3(signature = (keys, write = None))]
    fn steps<'py>(
        this: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        write: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stepper = this.py().import("destage.lab.stepper")?;
        stepper.call_method1("steps", (this, keys, write))
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let stepper = this.py().import("destage.lab.stepper")?;
        stepper.call_method1("card", (this,))?.call_method0("html")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let inside = self.enter(py)?;
        let (policy, frames) = (inside.policy().label(), inside.policy().frames());
        Ok(format!("Cache({policy:?}, frames={frames}, resident={})", inside.policy().resident()))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a destage.Cache cannot be copied or pickled"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.inside
            .try_lock()
            .map_or(Ok(()), |inside| inside.cached.keys().try_for_each(|key| visit.call(key)))
    }

    fn __clear__(&self) {
        let released = self.inside.try_lock().map(|mut inside| inside.cached.clear(None));
        drop(released);
    }
}

impl Cache {
    /// The state of a key; no policy remembers an unknown key.
    fn state(&self, key: &Bound<'_, PyAny>) -> PyResult<State> {
        let inside = self.enter(key.py())?;
        let found = inside.find(key)?;
        Ok(inside.cached.state(found))
    }
}

/// The keys that were resident when the iteration began.
#[pyclass(module = "destage")]
pub struct CacheIterator {
    cache: Py<Cache>,
    changes: u64,
    keys: std::vec::IntoIter<Py<PyAny>>,
}

#[pymethods]
impl CacheIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if self.cache.get().enter(py)?.changes != self.changes {
            return Err(PyRuntimeError::new_err("destage.Cache changed during iteration"));
        }
        Ok(self.keys.next())
    }
}
