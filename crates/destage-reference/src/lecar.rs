//! LeCaR: choose between LRU and LFU at random, with weights learned from regret.
//!
//! Vietri et al. HotStorage 2018. Mirrors
//! `docs/spec/further-policies.md`, 3.10.

use std::collections::VecDeque;

use crate::frames::Draws;
use crate::{Buffer, Decision, Model, Op, Params, share, show, take};

struct Entry {
    page: u64,
    count: u64,
}

/// An evicted page.
struct Past {
    page: u64,
    count: u64,
    time: u64, // of its eviction
}

pub(crate) struct Lecar {
    buffer: Buffer,
    recency: VecDeque<Entry>, // resident pages, most recent first
    h_lru: VecDeque<Past>,    // newest first
    h_lfu: VecDeque<Past>,
    w_lru: f64,
    w_lfu: f64,
    t: u64, // index + 1
    learning_rate: f64,
    discount: f64,
    history: usize, // most entries of each history
    keep_frequency: bool,
    draws: Draws,
    s: usize,
}

impl Lecar {
    pub(crate) fn new(frames: usize, params: &Params) -> Lecar {
        let initial_weight = params.fraction("initial_weight", 0.5);
        Lecar {
            buffer: Buffer::new(frames),
            recency: VecDeque::new(),
            h_lru: VecDeque::new(),
            h_lfu: VecDeque::new(),
            w_lru: initial_weight,
            w_lfu: 1.0 - initial_weight,
            t: 0,
            learning_rate: params.fraction("learning_rate", 0.45),
            discount: params.fraction("discount", 0.005),
            history: share(params.fraction("history_fraction", 1.0), frames),
            keep_frequency: params.flag_or("keep_frequency", true),
            draws: Draws::of(params),
            s: frames,
        }
    }

    /// Step 1: the count of a page that comes in; a page of a history teaches on the way.
    fn recall(&mut self, page: u64) -> u64 {
        let from_lru = take(&mut self.h_lru, |past| past.page == page);
        let from_lfu = take(&mut self.h_lfu, |past| past.page == page);
        let regretted_lru = from_lru.is_some();
        let Some(past) = from_lru.or(from_lfu) else { return 1 };
        self.learn(regretted_lru, past.time);
        if self.keep_frequency { past.count + 1 } else { 1 }
    }

    fn learn(&mut self, regretted_lru: bool, evicted_at: u64) {
        let r = self.discount.powf((self.t - evicted_at) as f64 / self.s as f64);
        let factor = (-self.learning_rate * r).exp();
        if regretted_lru {
            self.w_lru *= factor;
        } else {
            self.w_lfu *= factor;
        }
        let sum = self.w_lru + self.w_lfu;
        self.w_lru /= sum;
        self.w_lfu /= sum;
        if self.w_lru >= 0.99 {
            (self.w_lru, self.w_lfu) = (0.99, 0.01);
        } else if self.w_lfu >= 0.99 {
            (self.w_lru, self.w_lfu) = (0.01, 0.99);
        }
    }

    /// Step 2.
    fn evict(&mut self) -> Decision {
        let u = self.draws.unit();
        let a = self.recency.back().expect("a full cache has a page").page;
        // From the least recently used on: the first of the smallest.
        let b = self.recency.iter().rev().min_by_key(|entry| entry.count);
        let b = b.expect("a full cache has a page").page;
        let victim = if a == b || u < self.w_lru { a } else { b };
        let entry = take(&mut self.recency, |entry| entry.page == victim);
        let Entry { page, count } = entry.expect("it is resident");
        if a != b && self.history > 0 {
            let history = if u < self.w_lru { &mut self.h_lru } else { &mut self.h_lfu };
            if history.len() == self.history {
                history.pop_back();
            }
            history.push_front(Past { page, count, time: self.t });
        }
        self.buffer.evict(victim)
    }
}

impl Model for Lecar {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        self.t += 1;
        if self.buffer.hit(op, page) {
            let entry = take(&mut self.recency, |entry| entry.page == page);
            let count = entry.expect("a resident page").count + 1;
            self.recency.push_front(Entry { page, count });
            return Decision::hit();
        }
        let count = self.recall(page);
        let decision = if self.buffer.full() { self.evict() } else { Decision::miss() };
        self.buffer.install(op, page);
        self.recency.push_front(Entry { page, count });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.recency, |entry| entry.page == page);
        take(&mut self.h_lru, |past| past.page == page);
        take(&mut self.h_lfu, |past| past.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let history = |name, history: &VecDeque<Past>| {
            show(name, history.iter().map(|p| format!("{}/{}/{}", p.page, p.count, p.time)))
        };
        [
            show("lru", self.recency.iter().map(|e| format!("{}/{}", e.page, e.count))),
            history("H_LRU", &self.h_lru),
            history("H_LFU", &self.h_lfu),
            format!("w_LRU={:.6}", self.w_lru), // as many digits as the table shows
        ]
        .join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
