//! Dual Queue: two CLOCK queues, the first of which filters correlated accesses.
//!
//! SAC, section 2.1 (description), figure 6 (listing) and section 4.4, case 1.
//! Mirrors `docs/spec/page-policies.md` 3.10.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, bit, share, show, take};

struct Entry {
    page: u64,
    reused: bool,
}

pub(crate) struct DualQueue {
    buffer: Buffer,
    first: VecDeque<Entry>,
    second: VecDeque<Entry>,
    cap1: usize,
}

impl DualQueue {
    pub(crate) fn new(frames: usize, params: &Params) -> DualQueue {
        DualQueue {
            buffer: Buffer::new(frames),
            first: VecDeque::new(),
            second: VecDeque::new(),
            cap1: share(params.fraction("first_fraction", 1.0 / 3.0), frames).min(frames - 1),
        }
    }

    fn balance(&mut self) {
        while self.first.len() > self.cap1 {
            let mut tail = self.first.pop_back().expect("the first queue is too long");
            if tail.reused {
                tail.reused = false;
                self.first.push_front(tail);
            } else {
                self.second.push_front(tail);
            }
        }
    }

    fn victim(&mut self) -> u64 {
        loop {
            let mut tail = self.second.pop_back().expect("balancing keeps the second queue");
            if !tail.reused {
                return tail.page;
            }
            tail.reused = false;
            self.first.push_front(tail);
            self.balance();
        }
    }
}

impl Model for DualQueue {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            for entry in self.first.iter_mut().chain(&mut self.second) {
                if entry.page == page {
                    entry.reused = true;
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
        self.first.push_front(Entry { page, reused: false });
        self.balance();
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for queue in [&mut self.first, &mut self.second] {
            take(queue, |entry| entry.page == page);
        }
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let entry = |e: &Entry| format!("{}/{}", e.page, bit(e.reused));
        let first = show("first", self.first.iter().map(entry));
        let second = show("second", self.second.iter().map(entry));
        format!("{first} {second}")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
