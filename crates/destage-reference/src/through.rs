//! A tier 1 without frames. Mirrors `docs/spec/tiers.md`, 3.

use crate::{Decision, Model, Op};

/// No tier 1: the page of each access leaves at once.
pub(crate) struct Through;

impl Model for Through {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let flushed = if op == Op::Write { vec![vec![page]] } else { vec![] };
        Decision { hit: false, evicted: vec![page], flushed }
    }

    fn forget(&mut self, _: u64) -> Option<bool> {
        None
    }

    fn lists(&self) -> String {
        String::new()
    }

    fn dirty_pages(&self) -> Vec<u64> {
        vec![]
    }
}
