//! LFU: evict the page used least often while in the cache.
//!
//! Folklore. Mirrors
//! `docs/spec/further-policies.md`, 3.6.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, show, take};

struct Entry {
    page: u64,
    count: u64,
}

pub(crate) struct Lfu {
    buffer: Buffer,
    recency: VecDeque<Entry>, // resident pages, most recent first
}

impl Lfu {
    pub(crate) fn new(frames: usize) -> Lfu {
        Lfu { buffer: Buffer::new(frames), recency: VecDeque::new() }
    }

    /// The pages, the next victim first.
    fn order(&self) -> Vec<&Entry> {
        let mut order: Vec<&Entry> = self.recency.iter().rev().collect();
        order.sort_by_key(|entry| entry.count); // stable: among equals, least recently used first
        order
    }
}

impl Model for Lfu {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            let entry = take(&mut self.recency, |entry| entry.page == page);
            let count = entry.expect("a resident page").count + 1;
            self.recency.push_front(Entry { page, count });
            return Decision::hit();
        }
        let mut decision = Decision::miss();
        if self.buffer.full() {
            let victim = self.order()[0].page;
            take(&mut self.recency, |entry| entry.page == victim);
            decision = self.buffer.evict(victim);
        }
        self.buffer.install(op, page);
        self.recency.push_front(Entry { page, count: 1 });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.recency, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        show("order", self.order().iter().map(|e| format!("{}/{}", e.page, e.count)))
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
