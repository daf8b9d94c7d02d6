//! SLRU: LRU in levels that a page climbs hit by hit.
//!
//! Karedla, Love, Wherry. IEEE Computer 27(3), 1994. Mirrors
//! `docs/spec/further-policies.md`, 3.8.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, share, show, take_page};

pub(crate) struct Slru {
    buffer: Buffer,
    s: Vec<VecDeque<u64>>, // S_0 (lowest) .. S_(n-1)
    u: usize,              // bound of every segment but S_0
}

impl Slru {
    pub(crate) fn new(frames: usize, params: &Params) -> Slru {
        let n = params.integer("segments").unwrap_or(4) as usize;
        let protected = share(params.fraction("protected_fraction", 0.75), frames);
        Slru {
            buffer: Buffer::new(frames),
            s: (0..n).map(|_| VecDeque::new()).collect(),
            u: if n == 1 { 0 } else { protected / (n - 1) },
        }
    }

    fn hit(&mut self, page: u64) {
        let i = self.s.iter().position(|list| list.contains(&page)).expect("a resident page");
        let j = (i + 1).min(self.s.len() - 1);
        take_page(&mut self.s[i], page);
        self.s[j].push_front(page);
        for k in (1..=j).rev() {
            if self.s[k].len() > self.u {
                let lru = self.s[k].pop_back().expect("it is over its bound");
                self.s[k - 1].push_front(lru);
            }
        }
    }
}

impl Model for Slru {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            self.hit(page);
            return Decision::hit();
        }
        let mut decision = Decision::miss();
        if self.buffer.full() {
            let victim = self.s.iter_mut().find_map(VecDeque::pop_back);
            decision = self.buffer.evict(victim.expect("a full cache has a page"));
        }
        self.buffer.install(op, page);
        self.s[0].push_front(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for segment in &mut self.s {
            take_page(segment, page);
        }
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let segments = self.s.iter().enumerate().rev();
        segments.map(|(k, list)| show(&format!("S{k}"), list)).collect::<Vec<_>>().join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
