//! Runs with trims (`docs/spec/device-today.md` 4.2).

use crate::{Decision, Op, model_with_trims};
use serde_json::{Map, Value};

/// One step of a run with trims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A page access.
    Access(Op, u64),
    /// The page is trimmed (`docs/spec/device-today.md` 4.2): no access.
    Trim(u64),
}

impl Step {
    /// The page that it is about.
    pub fn page(&self) -> u64 {
        match *self {
            Step::Access(_, page) | Step::Trim(page) => page,
        }
    }
}

/// The outcome of a run with trims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trimmed {
    /// One decision per access.
    pub decisions: Vec<Decision>,
    /// For each trim, the dirty bit of its page if that was resident.
    pub dropped: Vec<Option<bool>>,
}

/// Runs a trace with trims through a reference model; `None` if there is no such policy.
///
/// # Panics
///
/// As [`model`](crate::model).
pub fn run_with_trims(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    trace: &[Step],
) -> Option<Trimmed> {
    let mut model = model_with_trims(policy, frames, params, trace)?;
    let mut run = Trimmed { decisions: Vec::new(), dropped: Vec::new() };
    for &step in trace {
        match step {
            Step::Access(op, page) => run.decisions.push(model.access(op, page)),
            Step::Trim(page) => run.dropped.push(model.forget(page)),
        }
    }
    Some(run)
}
