//! LRU-WSR: give dirty pages that are not cold a second chance.
//!
//! Jung et al. IEEE TCE 54(3), 2008. Mirrors `docs/spec/page-policies.md` 3.12.

use std::collections::VecDeque;

use crate::ace::Base;
use crate::{Buffer, Decision, Model, Op, bit, show, state, take};

#[derive(Clone)]
struct Entry {
    page: u64,
    cold: bool,
}

#[derive(Clone)]
pub(crate) struct LruWsr {
    buffer: Buffer,
    lru: VecDeque<Entry>, // all resident pages, MRU to LRU
}

impl LruWsr {
    pub(crate) fn new(frames: usize) -> LruWsr {
        LruWsr { buffer: Buffer::new(frames), lru: VecDeque::new() }
    }

    fn victim(&mut self) -> u64 {
        loop {
            let last = self.lru.pop_back().expect("a full cache has an LRU page");
            if !self.buffer.dirty(last.page) || last.cold {
                return last.page;
            }
            self.lru.push_front(Entry { page: last.page, cold: true });
        }
    }
}

impl Base for LruWsr {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Model for LruWsr {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            take(&mut self.lru, |entry| entry.page == page);
            self.lru.push_front(Entry { page, cold: false });
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.lru.push_front(Entry { page, cold: false });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.lru, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let entry =
            |e: &Entry| format!("{}/{}/{}", e.page, state(self.buffer.dirty(e.page)), bit(e.cold));
        show("lru", self.lru.iter().map(entry))
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
