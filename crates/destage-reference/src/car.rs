//! CAR: ARC's adaptation with CLOCK's cheap hits.
//!
//! Bansal, Modha. FAST 2004, figure 2. Mirrors
//! `docs/spec/further-policies.md`, 3.4.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, bit, show, take, take_page};

struct Entry {
    page: u64,
    referenced: bool, // ref
}

pub(crate) struct Car {
    buffer: Buffer,
    t1: VecDeque<Entry>, // clocks, and the only lists here that run the other way: the front is the
    t2: VecDeque<Entry>, // head, under the hand, the back the tail
    b1: VecDeque<u64>,
    b2: VecDeque<u64>,
    p: f64,
    c: usize,
}

impl Car {
    pub(crate) fn new(frames: usize) -> Car {
        Car {
            buffer: Buffer::new(frames),
            t1: VecDeque::new(),
            t2: VecDeque::new(),
            b1: VecDeque::new(),
            b2: VecDeque::new(),
            p: 0.0,
            c: frames,
        }
    }

    fn replace(&mut self) -> Decision {
        loop {
            let from_t1 = self.t1.len() as f64 >= 1.0_f64.max(self.p);
            let clock = if from_t1 { &mut self.t1 } else { &mut self.t2 };
            let head = clock.pop_front().expect("replace always finds a page");
            if head.referenced {
                self.t2.push_back(Entry { page: head.page, referenced: false });
                continue;
            }
            let ghosts = if from_t1 { &mut self.b1 } else { &mut self.b2 };
            ghosts.push_front(head.page);
            return self.buffer.evict(head.page);
        }
    }

    fn miss(&mut self, op: Op, page: u64) -> Decision {
        let (in_b1, in_b2) = (self.b1.contains(&page), self.b2.contains(&page));
        let mut decision = Decision::miss();
        if self.buffer.full() {
            decision = self.replace();
        }
        // Of a cache that was never full the directory is not either; one that a trim has left with
        // a free frame keeps to the paper's bounds as well.
        if !in_b1 && !in_b2 {
            let l1 = self.t1.len() + self.b1.len();
            if l1 == self.c {
                self.b1.pop_back();
            } else if l1 + self.t2.len() + self.b2.len() == 2 * self.c {
                self.b2.pop_back();
            }
        }
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let entry = Entry { page, referenced: false };
        if in_b1 {
            self.p = (self.p + 1.0_f64.max(b2 / b1)).min(self.c as f64);
            take_page(&mut self.b1, page);
            self.t2.push_back(entry);
        } else if in_b2 {
            self.p = (self.p - 1.0_f64.max(b1 / b2)).max(0.0);
            take_page(&mut self.b2, page);
            self.t2.push_back(entry);
        } else {
            self.t1.push_back(entry);
        }
        self.buffer.install(op, page);
        decision
    }
}

impl Model for Car {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            for entry in self.t1.iter_mut().chain(&mut self.t2) {
                if entry.page == page {
                    entry.referenced = true;
                }
            }
            return Decision::hit();
        }
        let decision = self.miss(op, page);
        let (t1, t2) = (self.t1.len(), self.t2.len());
        let (b1, b2) = (self.b1.len(), self.b2.len());
        assert!(t1 + b1 <= self.c && t1 + t2 + b1 + b2 <= 2 * self.c, "Checks: {}", self.lists());
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.t1, |entry| entry.page == page);
        take(&mut self.t2, |entry| entry.page == page);
        take_page(&mut self.b1, page);
        take_page(&mut self.b2, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let clock = |name, clock: &VecDeque<Entry>| {
            show(name, clock.iter().map(|e| format!("{}/{}", e.page, bit(e.referenced))))
        };
        [
            clock("T1", &self.t1),
            clock("T2", &self.t2),
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
