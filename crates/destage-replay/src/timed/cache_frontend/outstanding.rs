//! Host operations of a run that have not ended, for a policy that is told of their ends.

use destage_core::{Nanos, Op, Page};
use std::collections::VecDeque;

/// A host operation, for when the policy is told of its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submitted {
    pub(super) page: Option<Page>, // a padding page may have no name in the run
    pub(super) op: Op,
    pub(super) at_ns: Nanos,
}

/// A window over a growing sequence: numbers come in order, and leave in any.
#[derive(Default)]
pub(super) struct Outstanding {
    first: u64,
    ops: VecDeque<Option<Submitted>>,
}

impl Outstanding {
    pub(super) fn push(&mut self, op: Submitted) {
        self.ops.push_back(Some(op));
    }

    pub(super) fn take(&mut self, submission: u64) -> Option<Submitted> {
        let at = submission.checked_sub(self.first)?;
        let op = self.ops.get_mut(usize::try_from(at).ok()?)?.take();
        while let Some(None) = self.ops.front() {
            self.ops.pop_front();
            self.first += 1;
        }
        op
    }
}
