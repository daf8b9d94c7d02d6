//! PGDSF: evicts the block of a prompt that is cheapest to compute again.
//!
//! Jin, Zhang, Jiang, Liu, Liu, Liu, Jin. RAGCache: efficient knowledge caching for
//! retrieval-augmented generation. arXiv 2404.12457, 2024. GreedyDual: Young, SODA 1991.
//!
//! Rules (`docs/spec/tiers.md` 7.6). Priority = Clock + Frequency x Cost. A touch counts one use;
//! the priority is the largest of this, of the block's own before, and of that of the block that
//! the same request touched before: tail first, that is its successor. The smallest priority
//! leaves, among equals the least recently used, and Clock is its priority.
//!
//! Interpretations. The paper evicts leaves of its tree only. Here no tree is kept: a block is
//! worth at least as much as its successors, and more recent than they are, so that the least block
//! is a leaf. All blocks have one size. Cost is the time of computing the block (`value = block`),
//! or of it and all after it in the request (`suffix`).
//!
//! Without times of computing (a run of page accesses) a page costs 1, and every access is a
//! request: this is LFU-DA.
//!
//! Cost. O(log s). Six words and a byte per page.

use crate::params::{IfAbsent, Kind, Param};
use crate::ranks::Ranks;
use crate::{Gauge, Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, PerSlot, Plan, Policy, Request, Slot, Table,
};
use std::sync::Arc;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "pgdsf",
    title: "Prefix-aware GreedyDual-Size-Frequency",
    source: "Jin, Zhang, Jiang, Liu, Liu, Liu, Jin, RAGCache, arXiv 2404.12457, 2024",
    about: "Evict the block of a prompt that is cheapest to compute again.",
    time: "O(log s)",
    tail_first: true,
    params: &[Param {
        name: "value",
        kind: Kind::Choice(&["block", "suffix"]),
        default: IfAbsent::Word("block"),
        about: "Cost of a block: its own, or with all after it in the request.",
        ..Param::BLANK
    }],
    gauges: &[Gauge { name: "clock", title: "Clock: priority of the last victim", unit: "ns" }],
    ..Info::BLANK
};

/// The policy.
pub struct Pgdsf<D> {
    pages: Table<D, Brief>, // every resident block
    uses: PerSlot<u64>,     // Frequency
    priorities: Ranks,
    clock: u64,
    costs: Option<Arc<[u64]>>, // by page
    with_suffix: bool,
    suffix: u64, // cost of the blocks that the request has touched
    after: u64,  // priority of the block that it touched last
    frames: u32,
}

impl<D: Directory> Pgdsf<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Table::new(directory);
        Pgdsf {
            uses: PerSlot::with_slots(pages.slots()),
            priorities: Ranks::new(pages.slots()),
            pages,
            clock: 0,
            costs: setup.compute_ns.clone(),
            with_suffix: setup.params.word("value") == "suffix",
            suffix: 0,
            after: 0,
            frames: setup.frames,
        }
    }

    /// Cost of the touched block.
    #[inline]
    fn cost(&mut self, r: &Request) -> u64 {
        let Some(costs) = &self.costs else { return 1 };
        if r.first_of_request {
            (self.suffix, self.after) = (0, 0);
        }
        let own = costs[r.page.0 as usize];
        self.suffix = self.suffix.saturating_add(own);
        if self.with_suffix { self.suffix } else { own }
    }

    /// Priority of a block with so many uses, which was `before`.
    #[inline]
    fn priority(&mut self, before: u64, uses: u64, cost: u64) -> u64 {
        let own = self.clock.saturating_add(uses.saturating_mul(cost));
        let priority = own.max(before).max(self.after);
        if self.costs.is_some() {
            self.after = priority;
        }
        priority
    }
}

impl<D: Directory> Policy for Pgdsf<D> {
    type Miss = u64; // cost of the block

    fn request(&mut self, r: &Request) -> Lookup<u64> {
        let cost = self.cost(r);
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(cost) };
        self.pages[slot].access(r.op.is_write());
        self.uses[slot] += 1;
        let priority = self.priority(self.priorities.rank(slot), self.uses[slot], cost);
        self.priorities.remove(slot);
        self.priorities.push(slot, priority);
        Lookup::Hit(slot)
    }

    fn evict(&mut self, _: &mut u64, _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.priorities.least().expect("evict is only called on a full buffer");
        self.clock = self.priorities.rank(victim);
        self.priorities.remove(victim);
        self.priorities.raise_floor(self.clock);
        let dirty = self.pages[victim].dirty();
        plan.evict(self.pages.remove(victim), dirty);
    }

    fn admit(&mut self, r: &Request, cost: u64) -> Slot {
        let slot = self.pages.insert(r.page, Brief::new(r.op.is_write(), 0));
        self.uses.set(slot, 1);
        let priority = self.priority(0, 1, cost);
        self.priorities.push(slot, priority);
        slot
    }

    counted! { self: self.priorities.len(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.priorities.order() {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        self.priorities.remove(slot);
        self.pages.remove(slot);
        Some(dirty)
    }

    hints! { self.pages: prefetch; beside: self.uses, self.priorities }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("clock", self.clock as f64);
    }

    fn check(&self) {
        self.priorities.check();
        assert!(self.resident() <= self.frames);
        for slot in self.priorities.order() {
            assert_eq!(self.pages.find(self.pages.page(slot)), Some(slot));
            assert!(self.uses[slot] > 0 && self.clock <= self.priorities.rank(slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, show, victims};
    use destage_core::{Blind, Dense, Lpn, Op};

    fn policy(frames: u32, value: &str, costs: &[u64]) -> Pgdsf<Dense> {
        let value = Value::Text(value.into());
        let params = check_params("pgdsf", [("value", &value)]).expect("a word of the list");
        let compute_ns = (!costs.is_empty()).then(|| costs.into());
        Pgdsf::new(&Setup { params, compute_ns, ..Setup::new(frames) }, Dense::new(8))
    }

    /// Serves prompts, tail first; the blocks that leave.
    fn serve(p: &mut Pgdsf<Dense>, prompts: &[&[u64]]) -> Vec<u64> {
        let mut plan = Plan::new();
        for chain in prompts {
            for (touch, &block) in chain.iter().rev().enumerate() {
                let r = Request::new(Page(block), Lpn(block), Op::Read);
                let r = Request { first_of_request: touch == 0, ..r };
                if let Lookup::Miss(mut miss) = p.request(&r) {
                    while p.resident() >= p.frames() {
                        p.evict(&mut miss, &Blind, &mut plan);
                    }
                    p.admit(&r, miss);
                }
            }
        }
        plan.evicted().iter().map(|evicted| evicted.page.0).collect()
    }

    /// `3/1/30 2/1/30 C=0`: block, uses and priority, the next victim first.
    fn order(p: &Pgdsf<Dense>) -> String {
        p.check();
        let entry = |s: Slot| format!("{}/{}/{}", s.0, p.uses[s], p.priorities.rank(s));
        format!("{} C={}", show(p.priorities.order().into_iter().map(entry)), p.clock)
    }

    #[test]
    fn a_head_is_worth_what_its_successors_are() {
        let mut p = policy(4, "block", &[10, 20, 30, 25, 5]);
        assert!(serve(&mut p, &[&[0, 1, 2], &[3]]).is_empty());
        assert_eq!(order(&p), "3/1/25 2/1/30 1/1/30 0/1/30 C=0");
        assert_eq!(serve(&mut p, &[&[4], &[3]]), [3, 2], "a chain dies from its end");
        assert_eq!(order(&p), "1/1/30 0/1/30 4/1/30 3/1/55 C=30");
    }

    #[test]
    fn with_its_suffix_a_head_is_worth_the_whole_chain() {
        let mut p = policy(4, "suffix", &[10, 20, 30, 25, 5]);
        serve(&mut p, &[&[0, 1, 2], &[3], &[3]]);
        assert_eq!(order(&p), "2/1/30 1/1/50 3/2/50 0/1/60 C=0");
    }

    #[test]
    fn without_costs_it_is_lfu_da() {
        let mut p = policy(3, "block", &[]);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3, 4]))), [2]);
        assert_eq!(order(&p), "3/1/1 1/2/2 4/1/2 C=1");
    }
}
