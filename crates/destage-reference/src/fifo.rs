//! FIFO: evict the page loaded longest ago.
//!
//! Folklore. Mirrors `docs/spec/page-policies.md` 3.2.

use std::collections::VecDeque;

use crate::ace::Base;
use crate::{Buffer, Decision, Model, Op, show, take_page};

#[derive(Clone)]
pub(crate) struct Fifo {
    buffer: Buffer,
    fifo: VecDeque<u64>, // all resident pages, newest to oldest
}

impl Fifo {
    pub(crate) fn new(frames: usize) -> Fifo {
        Fifo { buffer: Buffer::new(frames), fifo: VecDeque::new() }
    }
}

impl Base for Fifo {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Model for Fifo {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.fifo.pop_back().expect("a full cache has an oldest page");
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.fifo.push_front(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take_page(&mut self.fifo, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        show("fifo", &self.fifo)
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
