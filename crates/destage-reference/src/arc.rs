//! ARC: balance recency and frequency by the hits on two ghost lists.
//!
//! Megiddo, Modha. FAST 2003, figure 4 (the complete listing). Mirrors `docs/spec/page-policies.md`
//! 3.6.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, show, take_page};

pub(crate) struct Arc {
    buffer: Buffer,
    t1: VecDeque<u64>,
    t2: VecDeque<u64>,
    b1: VecDeque<u64>,
    b2: VecDeque<u64>,
    p: f64, // target size of T1
    c: usize,
    label: u64, // of the last victim: 0 if it left T1, 1 if it left T2
}

impl Arc {
    pub(crate) fn new(frames: usize) -> Arc {
        Arc {
            buffer: Buffer::new(frames),
            t1: VecDeque::new(),
            t2: VecDeque::new(),
            b1: VecDeque::new(),
            b2: VecDeque::new(),
            p: 0.0,
            c: frames,
            label: 0,
        }
    }

    /// T1 and T2, each from its LRU end.
    pub(crate) fn tails_first(&self) -> [Vec<u64>; 2] {
        [&self.t1, &self.t2].map(|list| list.iter().rev().copied().collect())
    }

    fn replace(&mut self, in_b2: bool) -> Decision {
        if !self.buffer.full() {
            return Decision::miss(); // a trim has left a frame free
        }
        let t1 = self.t1.len() as f64;
        if !self.t1.is_empty() && (t1 > self.p || (in_b2 && t1 == self.p)) {
            let victim = self.t1.pop_back().expect("T1 is not empty");
            self.b1.push_front(victim);
            self.label = 0;
            self.buffer.evict(victim)
        } else {
            let victim = self.t2.pop_back().expect("REPLACE always finds a page");
            self.b2.push_front(victim);
            self.label = 1;
            self.buffer.evict(victim)
        }
    }

    fn hit(&mut self, page: u64) {
        if !take_page(&mut self.t1, page) {
            take_page(&mut self.t2, page);
        }
        self.t2.push_front(page);
    }

    fn miss_in_b1(&mut self, op: Op, page: u64) -> Decision {
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let d = if b1 >= b2 { 1.0 } else { b2 / b1 };
        self.p = (self.c as f64).min(self.p + d);
        let decision = self.replace(false);
        take_page(&mut self.b1, page);
        self.buffer.install(op, page);
        self.t2.push_front(page);
        decision
    }

    fn miss_in_b2(&mut self, op: Op, page: u64) -> Decision {
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let d = if b2 >= b1 { 1.0 } else { b1 / b2 };
        self.p = 0.0_f64.max(self.p - d);
        let decision = self.replace(true);
        take_page(&mut self.b2, page);
        self.buffer.install(op, page);
        self.t2.push_front(page);
        decision
    }

    fn miss_otherwise(&mut self, op: Op, page: u64) -> Decision {
        let l1 = self.t1.len() + self.b1.len();
        let l2 = self.t2.len() + self.b2.len();
        let mut decision = Decision::miss();
        if l1 == self.c {
            if self.t1.len() < self.c {
                self.b1.pop_back();
                decision = self.replace(false);
            } else {
                let victim = self.t1.pop_back().expect("T1 holds c pages");
                self.label = 0;
                decision = self.buffer.evict(victim);
            }
        } else if l1 + l2 >= self.c {
            if l1 + l2 == 2 * self.c {
                self.b2.pop_back();
            }
            decision = self.replace(false);
        }
        self.buffer.install(op, page);
        self.t1.push_front(page);
        decision
    }
}

impl Model for Arc {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            self.hit(page);
            Decision::hit()
        } else if self.b1.contains(&page) {
            self.miss_in_b1(op, page)
        } else if self.b2.contains(&page) {
            self.miss_in_b2(op, page)
        } else {
            self.miss_otherwise(op, page)
        }
    }

    fn label(&self) -> u64 {
        self.label
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for list in [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2] {
            take_page(list, page);
        }
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        [
            show("T1", &self.t1),
            show("T2", &self.t2),
            show("B1", &self.b1),
            show("B2", &self.b2),
            format!("p={}", self.p),
        ]
        .join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
