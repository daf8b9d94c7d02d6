//! 2Q: keep pages that come back after their first burst; let the rest pass a short queue.
//!
//! Johnson, Shasha. VLDB 1994, "full version". Mirrors `docs/spec/page-policies.md` 3.5.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, remember, share, show, take_page};

pub(crate) struct TwoQ {
    buffer: Buffer,
    a1in: VecDeque<u64>,  // FIFO of resident pages
    am: VecDeque<u64>,    // LRU list of resident pages
    a1out: VecDeque<u64>, // FIFO of ghosts
    kin: usize,
    kout: usize,
    label: u64, // of the last victim: 0 if it left A1in, 1 if it left Am
}

impl TwoQ {
    pub(crate) fn new(frames: usize, params: &Params) -> TwoQ {
        TwoQ {
            buffer: Buffer::new(frames),
            a1in: VecDeque::new(),
            am: VecDeque::new(),
            a1out: VecDeque::new(),
            kin: share(params.fraction("in_fraction", 0.25), frames),
            kout: share(params.fraction("out_fraction", 0.5), frames),
            label: 0,
        }
    }

    fn victim(&mut self) -> u64 {
        if self.a1in.len() > self.kin || self.am.is_empty() {
            let victim = self.a1in.pop_back().expect("A1in is all there is, or too long");
            remember(&mut self.a1out, victim, self.kout);
            self.label = 0;
            victim
        } else {
            self.label = 1;
            self.am.pop_back().expect("Am is not empty")
        }
    }
}

impl Model for TwoQ {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            // Hit in A1in: nothing.
            if take_page(&mut self.am, page) {
                self.am.push_front(page);
            }
            return Decision::hit();
        }
        let ghost = take_page(&mut self.a1out, page);
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        if ghost {
            self.am.push_front(page);
        } else {
            self.a1in.push_front(page);
        }
        decision
    }

    fn label(&self) -> u64 {
        self.label
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for list in [&mut self.a1in, &mut self.am, &mut self.a1out] {
            take_page(list, page);
        }
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        [show("A1in", &self.a1in), show("Am", &self.am), show("A1out", &self.a1out)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
