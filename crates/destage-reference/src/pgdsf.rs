//! PGDSF: evicts the block of a prompt that is cheapest to compute again.
//!
//! Mirrors `docs/spec/tiers.md`, 7.6.

use std::collections::BTreeMap;

use crate::{Buffer, Decision, Model, Op, Params, show};

struct Block {
    page: u64,
    uses: u64,
    priority: u64,
    last_touch: u64,
}

pub(crate) struct Pgdsf {
    buffer: Buffer,
    blocks: Vec<Block>, // resident, in no order
    clock: u64,
    touches: u64,
    /// Cost by page; empty: a page costs 1.
    costs: BTreeMap<u64, u64>,
    with_suffix: bool,
    /// The accesses are touches of requests; else each is a request.
    of_requests: bool,
    /// Cost and priority of each block that the request has touched.
    touched: Vec<(u64, u64)>,
}

impl Pgdsf {
    pub(crate) fn new(frames: usize, params: &Params) -> Pgdsf {
        Pgdsf::of_prompts(frames, params, BTreeMap::new(), false)
    }

    /// Over blocks with these costs.
    pub(crate) fn of_prompts(
        frames: usize,
        params: &Params,
        costs: BTreeMap<u64, u64>,
        of_requests: bool,
    ) -> Pgdsf {
        Pgdsf {
            buffer: Buffer::new(frames),
            blocks: Vec::new(),
            clock: 0,
            touches: 0,
            costs,
            with_suffix: params.text("value") == Some("suffix"),
            of_requests,
            touched: Vec::new(),
        }
    }

    /// The blocks, the next victim first.
    fn order(&self) -> Vec<&Block> {
        let mut order: Vec<&Block> = self.blocks.iter().collect();
        order.sort_by_key(|block| (block.priority, block.last_touch));
        order
    }
}

impl Model for Pgdsf {
    fn begins_request(&mut self) {
        self.touched.clear();
    }

    fn access(&mut self, op: Op, page: u64) -> Decision {
        if !self.of_requests {
            self.touched.clear();
        }
        self.touches += 1;
        let own = self.costs.get(&page).copied().unwrap_or(1);
        let suffix: u64 = own + self.touched.iter().map(|(cost, _)| cost).sum::<u64>();
        let cost = if self.with_suffix { suffix } else { own };
        let mut decision = Decision::hit();
        if !self.buffer.hit(op, page) {
            decision = Decision::miss();
            if self.buffer.full() {
                let (victim, priority) = (self.order()[0].page, self.order()[0].priority);
                self.blocks.retain(|block| block.page != victim);
                self.clock = priority;
                decision = self.buffer.evict(victim);
            }
            self.buffer.install(op, page);
            self.blocks.push(Block { page, uses: 0, priority: 0, last_touch: 0 });
        }
        let successor = self.touched.last().map_or(0, |(_, priority)| *priority);
        let block = self.blocks.iter_mut().find(|block| block.page == page).expect("resident");
        block.uses += 1;
        block.last_touch = self.touches;
        let by_rule = self.clock + block.uses * cost;
        block.priority = by_rule.max(block.priority).max(successor);
        self.touched.push((own, block.priority));
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.blocks.retain(|block| block.page != page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let order = self.order();
        let entries = order.iter().map(|b| format!("{}/{}/{}", b.page, b.uses, b.priority));
        format!("{} Clock={}", show("order", entries), self.clock)
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
