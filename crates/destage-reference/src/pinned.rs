//! Pinned pages of a cache. Mirrors `docs/spec/tiers.md`, 4.13.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::{Decision, Model, Op, Step, model_with_trims};

/// Pages that are pinned, beside a policy for the others.
pub(crate) struct Pinned {
    others: Box<dyn Model>,
    pinned: BTreeSet<u64>,
    /// Those that are here, and whether each is dirty.
    here: BTreeMap<u64, bool>,
}

/// Those of the pinned pages that the trace accesses: each has a frame.
pub(crate) fn of_trace(pinned: &BTreeSet<u64>, trace: &[Step]) -> BTreeSet<u64> {
    let accessed = |step: &Step| matches!(step, Step::Access(..)).then(|| step.page());
    trace.iter().filter_map(accessed).filter(|page| pinned.contains(page)).collect()
}

impl Pinned {
    /// The policy has the other frames, and sees the other accesses of the trace.
    pub(crate) fn new(
        policy: &str,
        frames: usize,
        params: &Map<String, Value>,
        trace: &[Step],
        pinned: &BTreeSet<u64>,
    ) -> Option<Pinned> {
        let is_other = |step: &&Step| !pinned.contains(&step.page());
        let others: Vec<Step> = trace.iter().filter(is_other).copied().collect();
        let frames = frames - of_trace(pinned, trace).len();
        let others = model_with_trims(policy, frames, params, &others)?;
        Some(Pinned { others, pinned: pinned.clone(), here: BTreeMap::new() })
    }
}

impl Model for Pinned {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if !self.pinned.contains(&page) {
            return self.others.access(op, page);
        }
        let hit = self.here.contains_key(&page);
        *self.here.entry(page).or_insert(false) |= op == Op::Write;
        if hit { Decision::hit() } else { Decision::miss() }
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        if self.pinned.contains(&page) {
            return self.here.remove(&page);
        }
        self.others.forget(page)
    }

    fn lists(&self) -> String {
        format!("{} pinned{:?}", self.others.lists(), self.here)
    }

    fn dirty_pages(&self) -> Vec<u64> {
        let mut dirty = self.others.dirty_pages();
        dirty.extend(self.here.iter().filter(|(_, dirty)| **dirty).map(|(page, _)| page));
        dirty.sort_unstable();
        dirty
    }
}

/// The outcome of a run with pinned pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinnedRun {
    /// One decision per access.
    pub decisions: Vec<Decision>,
    /// For each trim, the dirty bit of its page if that was resident.
    pub dropped: Vec<Option<bool>>,
    /// Hits in pinned pages.
    pub pinned_hits: u64,
    /// Pages that are dirty at the end, ascending.
    pub dirty: Vec<u64>,
}

/// Runs a trace through one tier with pinned pages; `None` if there is no such policy.
///
/// # Panics
///
/// As [`model`](crate::model); if the pinned pages leave no frame.
pub fn run_pinned(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    trace: &[Step],
    pinned: &BTreeSet<u64>,
) -> Option<PinnedRun> {
    let mut model = Pinned::new(policy, frames, params, trace, pinned)?;
    let (mut decisions, mut dropped, mut pinned_hits) = (Vec::new(), Vec::new(), 0);
    for &step in trace {
        match step {
            Step::Access(op, page) => {
                let decision = model.access(op, page);
                pinned_hits += u64::from(decision.hit && pinned.contains(&page));
                decisions.push(decision);
            }
            Step::Trim(page) => dropped.push(model.forget(page)),
        }
    }
    Some(PinnedRun { decisions, dropped, pinned_hits, dirty: model.dirty_pages() })
}
