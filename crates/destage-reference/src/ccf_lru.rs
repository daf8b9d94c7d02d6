//! CCF-LRU: evict in the order cold clean, cold dirty, hot clean, hot dirty.
//!
//! Li et al. IEEE TCE 55(3), 2009. Mirrors `docs/spec/page-policies.md` 3.13.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, bit, show, state, take, take_page};

struct Entry {
    page: u64,
    cold: bool,
}

pub(crate) struct CcfLru {
    buffer: Buffer,
    cold_clean: VecDeque<u64>, // clean pages with cold = 1, MRU to LRU
    mixed: VecDeque<Entry>,    // everything else, MRU to LRU
}

impl CcfLru {
    pub(crate) fn new(frames: usize) -> CcfLru {
        CcfLru { buffer: Buffer::new(frames), cold_clean: VecDeque::new(), mixed: VecDeque::new() }
    }

    fn victim(&mut self) -> u64 {
        if let Some(last) = self.cold_clean.pop_back() {
            return last;
        }
        while let Some(last) = self.mixed.pop_back() {
            if last.cold {
                return last.page;
            }
            if self.buffer.dirty(last.page) {
                self.mixed.push_front(Entry { page: last.page, cold: true });
            } else {
                self.cold_clean.push_front(last.page);
            }
        }
        self.cold_clean.pop_back().expect("all of mixed was hot and clean, and moved here")
    }
}

impl Model for CcfLru {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            if !take_page(&mut self.cold_clean, page) {
                take(&mut self.mixed, |entry| entry.page == page);
            }
            self.mixed.push_front(Entry { page, cold: false });
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
            Op::Read => self.cold_clean.push_front(page),
            Op::Write => self.mixed.push_front(Entry { page, cold: true }),
        }
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take_page(&mut self.cold_clean, page);
        take(&mut self.mixed, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let entry =
            |e: &Entry| format!("{}/{}/{}", e.page, state(self.buffer.dirty(e.page)), bit(e.cold));
        let mixed = show("mixed", self.mixed.iter().map(entry));
        format!("{} {mixed}", show("cold_clean", &self.cold_clean))
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
