//! LRU: evict the page unused for longest.
//!
//! Folklore; Belady, IBM Systems Journal 5(2), 1966. Mirrors `docs/spec/page-policies.md` 3.1.

use std::collections::VecDeque;

use crate::ace::Base;
use crate::{Buffer, Decision, Model, Op, show, take_page};

#[derive(Clone)]
pub(crate) struct Lru {
    buffer: Buffer,
    lru: VecDeque<u64>, // all resident pages, MRU to LRU
}

impl Lru {
    pub(crate) fn new(frames: usize) -> Lru {
        Lru { buffer: Buffer::new(frames), lru: VecDeque::new() }
    }
}

impl Base for Lru {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Model for Lru {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            take_page(&mut self.lru, page);
            self.lru.push_front(page);
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.lru.pop_back().expect("a full cache has an LRU page");
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.lru.push_front(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take_page(&mut self.lru, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        show("lru", &self.lru)
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
