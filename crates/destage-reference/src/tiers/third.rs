//! Tier 3, to which tier 2 is what tier 1 is to tier 2. Mirrors `docs/spec/tiers.md`, 4.8.

use super::{Leaves, Lower};
use crate::Op;

/// An access that missed tier 1, as it comes to tier 3 (4.8).
pub(super) struct Reached {
    /// The page.
    pub(super) page: u64,
    /// The operation.
    pub(super) op: Op,
    /// Tier 2 did not have it.
    pub(super) missed: bool,
    /// And it was looked up.
    pub(super) looked_up: bool,
}

impl Lower {
    /// Tier 3, after tier 2 has done all of an access (4.8).
    pub(super) fn below_tier_2(&mut self, upper: &mut Lower, reached: &Reached) {
        let &Reached { page, op, missed, looked_up } = reached;
        if missed {
            self.missed(page);
        }
        if missed && looked_up {
            self.look_up(page);
        }
        let found = self.decision.tier == 2;
        if op == Op::Write && self.move_up && self.pages.contains_key(&page) {
            self.drop_copy(page);
        }
        self.take_over(upper);
        if op == Op::Read && missed && !found {
            self.inserted(page);
        }
    }

    /// Nothing lies below, or it has been taken over.
    pub(crate) fn forget_what_is_gone(&mut self) {
        self.gone.clear();
    }

    /// Pages that tier 2 gave up or declined reach tier 3; a victim that is written below was read.
    pub(crate) fn take_over(&mut self, upper: &mut Lower) {
        for Leaves { page, dirty, was_in } in std::mem::take(&mut upper.gone) {
            let written =
                |lower: &Lower| lower.counters["tier2_writes"] + lower.counters["backing_writes"];
            let before = written(self);
            self.leaves(page, dirty);
            if was_in && !dirty && written(self) > before {
                upper.count("tier2_reads");
            }
        }
    }
}
