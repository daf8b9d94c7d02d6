//! CFLRU: evict clean pages first, within a window of cold pages.
//!
//! Park, Jung, Kang, Kim, Lee. CASES 2006; described in ACR section II.B and figure 2, and in ECR
//! section 4.1. Mirrors `docs/spec/page-policies.md` 3.11.

use std::collections::VecDeque;

use crate::ace::Base;
use crate::{Buffer, Decision, Model, Op, Params, share, show, take_page};

#[derive(Clone)]
pub(crate) struct Cflru {
    buffer: Buffer,
    lru: VecDeque<u64>, // all resident pages, MRU to LRU
    window: usize,      // w, pages
}

impl Cflru {
    pub(crate) fn new(frames: usize, params: &Params) -> Cflru {
        Cflru {
            buffer: Buffer::new(frames),
            lru: VecDeque::new(),
            window: share(params.fraction("window_fraction", 0.5), frames),
        }
    }

    fn victim(&mut self) -> u64 {
        let mut coldest = self.lru.iter().copied().rev().take(self.window);
        if let Some(clean) = coldest.find(|&page| !self.buffer.dirty(page)) {
            take_page(&mut self.lru, clean);
            return clean;
        }
        self.lru.pop_back().expect("a full cache has an LRU page")
    }
}

impl Base for Cflru {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Model for Cflru {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            take_page(&mut self.lru, page);
            self.lru.push_front(page);
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
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
