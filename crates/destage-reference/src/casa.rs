//! CASA: clean and dirty pages share the cache; hits weighted with what they saved move the border.
//!
//! Ou, Härder. IDEAS 2010. Mirrors
//! `docs/spec/further-policies.md`, 3.1.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, show, take_page};

pub(crate) struct Casa {
    buffer: Buffer,
    c: VecDeque<u64>, // clean pages
    d: VecDeque<u64>, // dirty pages
    tau: f64,         // wanted size of C
    c_r: f64,
    c_w: f64,
    s: f64,
}

impl Casa {
    pub(crate) fn new(frames: usize, params: &Params) -> Casa {
        let cost_read = params.integer("cost_read").unwrap_or(1) as f64;
        let cost_write = params.integer("cost_write").unwrap_or(118) as f64;
        Casa {
            buffer: Buffer::new(frames),
            c: VecDeque::new(),
            d: VecDeque::new(),
            tau: params.fraction("tau_fraction", 0.5) * frames as f64,
            c_r: cost_read / (cost_read + cost_write),
            c_w: cost_write / (cost_read + cost_write),
            s: frames as f64,
        }
    }

    fn hit(&mut self, op: Op, page: u64) {
        let (c, d) = (self.c.len() as f64, self.d.len() as f64);
        let was_clean = take_page(&mut self.c, page);
        if !was_clean {
            take_page(&mut self.d, page);
        }
        match (op, was_clean) {
            (Op::Read, true) => {
                self.tau = (self.tau + self.c_r * (d / c)).min(self.s);
                self.c.push_front(page);
            }
            (Op::Write, false) => {
                self.tau = (self.tau - self.c_w * (c / d)).max(0.0);
                self.d.push_front(page);
            }
            (Op::Write, true) | (Op::Read, false) => self.d.push_front(page),
        }
    }

    fn victim(&mut self) -> u64 {
        let from_c = self.c.len() as f64 > self.tau;
        let (chosen, other) =
            if from_c { (&mut self.c, &mut self.d) } else { (&mut self.d, &mut self.c) };
        chosen.pop_back().or_else(|| other.pop_back()).expect("a full cache has a page")
    }
}

impl Model for Casa {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            self.hit(op, page);
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        match op {
            Op::Read => self.c.push_front(page),
            Op::Write => self.d.push_front(page),
        }
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take_page(&mut self.c, page);
        take_page(&mut self.d, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        [show("C", &self.c), show("D", &self.d), format!("tau={}", self.tau)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
