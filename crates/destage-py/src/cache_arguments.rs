//! Arguments of `destage.Cache`: its policy, native or one's own, and the options of a run.

use crate::errors::{raise, raise_usage, usage};
use crate::policy_thread::{Fault, OwnFactory, PolicyThread};
use destage_core::AnyPolicy;
use destage_engine::options::RunOptions;
use destage_engine::spec::PolicySpec;
use destage_policies::params::Params;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A policy of one's own in a cache: its factory, and the fault of the one that was made last.
pub struct Own {
    pub factory: OwnFactory,
    pages_per_block: u32,
    pub fault: Arc<Fault>,
}

impl Own {
    /// A fresh policy.
    pub fn policy(&mut self, py: Python<'_>, frames: u32) -> PyResult<AnyPolicy> {
        let started = PolicyThread::start(py, &self.factory, frames, self.pages_per_block, true)?;
        self.fault = started.1;
        Ok(AnyPolicy::new(started.0))
    }
}

/// A policy as it is written on the command line.
pub fn spec_of(py: Python<'_>, policy: &Bound<'_, PyAny>) -> PyResult<PolicySpec> {
    let Ok(text) = policy.extract::<String>() else {
        let got = policy.repr()?;
        return Err(usage(
            py,
            format!("policy: expected a policy such as \"lru\", or a class of your own, got {got}"),
        ));
    };
    let naming = py.import("destage.model.naming")?;
    let text: String = naming.call_method1("canonical", (text,))?.extract()?;
    raise(py, PolicySpec::parse(&text))
}

/// A policy of one's own: a class, or a class in a file; `None` for one of the table.
pub fn own_of(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    options: &RunOptions,
) -> PyResult<Option<Own>> {
    let Some(factory) = OwnFactory::of(py, policy)? else { return Ok(None) };
    let pages_per_block = options.setup(1, Params::default(), None).pages_per_block;
    Ok(Some(Own { factory, pages_per_block, fault: Arc::default() }))
}

/// Options of a run, of those that are given.
pub fn options_of(
    py: Python<'_>,
    given: [(&str, Option<&Bound<'_, PyAny>>); 3],
) -> PyResult<RunOptions> {
    let options = PyDict::new(py);
    for (name, value) in given {
        if let Some(value) = value {
            options.set_item(name, value)?;
        }
    }
    let dumps = py.import("json")?.getattr("dumps")?;
    let json = dumps.call1((&options,)).and_then(|text| text.extract::<String>());
    let json = json.map_err(|_| usage(py, format!("expected numbers and texts, got {options}")))?;
    raise_usage(py, RunOptions::from_json(&json))
}

/// A number of keys.
pub fn whole(py: Python<'_>, n: i64) -> PyResult<usize> {
    usize::try_from(n).map_err(|_| usage(py, format!("n = {n}: expected an integer >= 0")))
}
