//! SIEVE: CLOCK without moving survivors.
//!
//! Zhang et al. NSDI 2024, section 3, Algorithm 1. Mirrors `docs/spec/page-policies.md` 3.18.

use crate::{Buffer, Decision, Model, Op, bit, show};

struct Entry {
    page: u64,
    visited: bool,
}

pub(crate) struct Sieve {
    buffer: Buffer,
    queue: Vec<Entry>, // head (newest) to tail
    hand: Option<u64>, // the page under the hand
}

impl Sieve {
    pub(crate) fn new(frames: usize) -> Sieve {
        Sieve { buffer: Buffer::new(frames), queue: Vec::new(), hand: None }
    }

    fn victim(&mut self) -> u64 {
        let tail = self.queue.len() - 1;
        let mut at = match self.hand {
            Some(page) => {
                let at = self.queue.iter().position(|entry| entry.page == page);
                at.expect("the hand is at a resident page")
            }
            None => tail,
        };
        while self.queue[at].visited {
            self.queue[at].visited = false;
            at = if at == 0 { tail } else { at - 1 };
        }
        self.hand = if at == 0 { None } else { Some(self.queue[at - 1].page) };
        self.queue.remove(at).page
    }
}

impl Model for Sieve {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            for entry in &mut self.queue {
                if entry.page == page {
                    entry.visited = true;
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
        self.queue.insert(0, Entry { page, visited: false });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        if let Some(at) = self.queue.iter().position(|entry| entry.page == page) {
            if self.hand == Some(page) {
                self.hand = if at == 0 { None } else { Some(self.queue[at - 1].page) };
            }
            self.queue.remove(at);
        }
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let queue =
            show("queue", self.queue.iter().map(|e| format!("{}/{}", e.page, bit(e.visited))));
        let hand = self.hand.map_or("tail".to_string(), |page| page.to_string());
        format!("{queue} hand={hand}")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
