//! LFU-DA: LFU that lets old favourites go.
//!
//! Arlitt, Cherkasova, Dilley, Friedrich, Jin. HPL-1999-69. Mirrors
//! `docs/spec/further-policies.md`, 3.7.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, show, take};

struct Entry {
    page: u64,
    count: u64,
    key: u64,
}

pub(crate) struct LfuDa {
    buffer: Buffer,
    recency: VecDeque<Entry>, // resident pages, most recent first
    l: u64,                   // L
}

impl LfuDa {
    pub(crate) fn new(frames: usize) -> LfuDa {
        LfuDa { buffer: Buffer::new(frames), recency: VecDeque::new(), l: 0 }
    }

    /// The pages, the next victim first.
    fn order(&self) -> Vec<&Entry> {
        let mut order: Vec<&Entry> = self.recency.iter().rev().collect();
        order.sort_by_key(|entry| entry.key); // stable: among equals, least recently used first
        order
    }
}

impl Model for LfuDa {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            let entry = take(&mut self.recency, |entry| entry.page == page);
            let count = entry.expect("a resident page").count + 1;
            self.recency.push_front(Entry { page, count, key: count + self.l });
            return Decision::hit();
        }
        let mut decision = Decision::miss();
        if self.buffer.full() {
            let Entry { page: victim, key, .. } = *self.order()[0];
            take(&mut self.recency, |entry| entry.page == victim);
            self.l = key;
            decision = self.buffer.evict(victim);
        }
        self.buffer.install(op, page);
        self.recency.push_front(Entry { page, count: 1, key: 1 + self.l });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.recency, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let order = self.order();
        let entries = order.iter().map(|e| format!("{}/{}/{}", e.page, e.count, e.key));
        [show("order", entries), format!("L={}", self.l)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
