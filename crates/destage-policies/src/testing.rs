//! Drives a policy access by access; for the unit tests beside the policies.

use crate::params::Value;
use crate::{Setup, check_params};
use destage_core::{Blind, Lookup, Lpn, NEVER, Op, Page, Plan, Policy, Request};
use std::fmt::Display;

/// What one access did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) hit: bool,
    /// Evicted pages and whether they were dirty.
    pub(crate) evicted: Vec<(u64, bool)>,
}

/// A read of each page.
pub(crate) fn reads(pages: &[u64]) -> Vec<(Op, u64)> {
    pages.iter().map(|&page| (Op::Read, page)).collect()
}

/// Reads and writes of pages `0..pages`, in no order but always the same.
pub(crate) fn mixed(accesses: usize, pages: u64) -> Vec<(Op, u64)> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let op = if state >> 63 == 0 { Op::Read } else { Op::Write };
        (op, (state >> 32) % pages * ((state >> 20) % 4) / 3)
    };
    std::iter::repeat_with(next).take(accesses).collect()
}

/// A buffer of `frames` frames with these parameters, the others at their defaults.
pub(crate) fn setup(policy: &str, frames: u32, params: &[(&str, Value)]) -> Setup {
    let given = params.iter().map(|(key, value)| (*key, value));
    let params = check_params(policy, given).expect("parameters in range");
    Setup { params, ..Setup::new(frames) }
}

/// Parts of a list, as a failure message shows them: `3 1 7`.
pub(crate) fn show(parts: impl IntoIterator<Item = impl Display>) -> String {
    parts.into_iter().map(|part| part.to_string()).collect::<Vec<_>>().join(" ")
}

/// Runs all accesses, checks the policy's invariants after each, and returns what each did.
pub(crate) fn drive<P: Policy>(policy: &mut P, accesses: &[(Op, u64)]) -> Vec<Step> {
    let mut plan = Plan::new();
    let step = |(i, &(op, page)): (usize, &(Op, u64))| {
        let next = accesses[i + 1..].iter().position(|&(_, p)| p == page);
        let mut r = Request::new(Page(page), Lpn(page), op);
        r.next_use = next.map_or(NEVER, |ahead| (i + 1 + ahead) as u64);
        plan.clear();
        let hit = match policy.request(&r) {
            Lookup::Hit(_) => true,
            Lookup::Bypass => false,
            Lookup::Miss(miss) => {
                while policy.resident() == policy.frames() {
                    policy.evict(&miss, &Blind, &mut plan);
                }
                policy.admit(&r, miss);
                false
            }
        };
        policy.check();
        Step { hit, evicted: plan.evicted().iter().map(|e| (e.page.0, e.dirty)).collect() }
    };
    accesses.iter().enumerate().map(step).collect()
}

/// The evicted pages of all accesses, in order.
pub(crate) fn victims(steps: &[Step]) -> Vec<u64> {
    steps.iter().flat_map(|s| s.evicted.iter().map(|&(page, _)| page)).collect()
}
