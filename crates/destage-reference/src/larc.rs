//! LARC: pages that are accessed once stay out of the cache.
//!
//! Huang, Wei, Chen, Chen, Feng. MSST 2013. Mirrors
//! `docs/spec/further-policies.md`, 3.3.

use std::collections::VecDeque;

use crate::frames::bypass;
use crate::{Buffer, Decision, Model, Op, Params, show, take_page};

pub(crate) struct Larc {
    buffer: Buffer,
    q: VecDeque<u64>,  // resident pages
    qr: VecDeque<u64>, // ghosts
    c_r: f64,          // wanted length of Qr
    s: f64,
    admit_while_filling: bool,
    admit_writes: bool,
    refused: bool,
}

impl Larc {
    pub(crate) fn new(frames: usize, params: &Params) -> Larc {
        Larc {
            buffer: Buffer::new(frames),
            q: VecDeque::new(),
            qr: VecDeque::new(),
            c_r: 0.1 * frames as f64,
            s: frames as f64,
            admit_while_filling: params.flag("admit_while_filling"),
            admit_writes: params.flag("admit_writes"),
            refused: false,
        }
    }

    fn hit(&mut self, page: u64) {
        take_page(&mut self.q, page);
        self.q.push_front(page);
        let lo = 0.1 * self.s;
        self.c_r = lo.max(self.c_r - self.s / (self.s - self.c_r));
    }

    fn admit(&mut self, op: Op, page: u64) -> Decision {
        let mut decision = Decision::miss();
        if self.buffer.full() {
            let victim = self.q.pop_back().expect("Q holds the resident pages");
            decision = self.buffer.evict(victim);
        }
        self.buffer.install(op, page);
        self.q.push_front(page);
        decision
    }

    fn decline(&mut self, op: Op, page: u64) -> Decision {
        self.qr.push_front(page);
        if self.qr.len() as f64 > 1.0_f64.max(self.c_r) {
            self.qr.pop_back();
        }
        bypass(op, page)
    }
}

impl Model for Larc {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        self.refused = false;
        if self.buffer.hit(op, page) {
            self.hit(page);
            return Decision::hit();
        }
        let hi = 0.9 * self.s;
        self.c_r = hi.min(self.c_r + self.s / self.c_r);
        let known = take_page(&mut self.qr, page);
        if known
            || (self.admit_writes && op == Op::Write)
            || (self.admit_while_filling && !self.buffer.full())
        {
            self.admit(op, page)
        } else {
            self.refused = true;
            self.decline(op, page)
        }
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take_page(&mut self.q, page);
        take_page(&mut self.qr, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        [show("Q", &self.q), show("Qr", &self.qr), format!("Cr={}", self.c_r)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }

    fn refused(&self) -> bool {
        self.refused
    }
}
