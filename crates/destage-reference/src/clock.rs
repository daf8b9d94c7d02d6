//! CLOCK: LRU's effect without moving pages on a hit.
//!
//! Corbato 1968; described in SAC, section 2.1. Mirrors `docs/spec/page-policies.md` 3.3.

use std::collections::VecDeque;

use crate::ace::Base;
use crate::{Buffer, Decision, Model, Op, bit, show, take};

#[derive(Clone)]
struct Entry {
    page: u64,
    referenced: bool, // ref
}

#[derive(Clone)]
pub(crate) struct Clock {
    buffer: Buffer,
    queue: VecDeque<Entry>, // all resident pages, head to tail
}

impl Clock {
    pub(crate) fn new(frames: usize) -> Clock {
        Clock { buffer: Buffer::new(frames), queue: VecDeque::new() }
    }

    /// Takes the first tail page whose ref is 0; those passed go to the head with ref = 0.
    fn victim(&mut self) -> u64 {
        loop {
            let tail = self.queue.pop_back().expect("a full cache has a tail");
            if !tail.referenced {
                return tail.page;
            }
            self.queue.push_front(Entry { page: tail.page, referenced: false });
        }
    }
}

impl Base for Clock {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Model for Clock {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            for entry in &mut self.queue {
                if entry.page == page {
                    entry.referenced = true;
                }
            }
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.queue.push_front(Entry { page, referenced: false });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.queue, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        show("queue", self.queue.iter().map(|e| format!("{}/{}", e.page, bit(e.referenced))))
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
