//! MQ: rank pages by reference count, with ageing; for second-level caches.
//!
//! Zhou, Philbin, Li. USENIX ATC 2001 (the listing of the algorithm). Mirrors
//! `docs/spec/page-policies.md` 3.8.
//!
//! As in that section, queues and `Qout` run oldest first: the front is the oldest page.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, share, show, take};

struct Entry {
    page: u64,
    count: u64,
    expiry: u64,
}

struct Ghost {
    page: u64,
    count: u64,
}

pub(crate) struct Mq {
    buffer: Buffer,
    queues: Vec<VecDeque<Entry>>, // Q0..Q(m-1)
    qout: VecDeque<Ghost>,
    qout_max: usize,
    life_time: u64,
    now: u64,
}

impl Mq {
    pub(crate) fn new(frames: usize, params: &Params) -> Mq {
        let m = params.integer("queues").unwrap_or(8);
        Mq {
            buffer: Buffer::new(frames),
            queues: (0..m).map(|_| VecDeque::new()).collect(),
            qout: VecDeque::new(),
            qout_max: share(params.fraction("out_fraction", 4.0), frames),
            life_time: params.integer("life_time").unwrap_or(frames as u64),
            now: 0,
        }
    }

    /// `now + life_time`; saturating, since any integer is a life time and the end of time is
    /// never.
    fn expiry(&self) -> u64 {
        self.now.saturating_add(self.life_time)
    }

    /// Step 1: takes the page out of its queue and says how often it was referenced.
    fn take_out(&mut self, page: u64) -> u64 {
        for queue in &mut self.queues {
            if let Some(entry) = take(queue, |entry| entry.page == page) {
                return entry.count;
            }
        }
        unreachable!("resident page {page} is in no queue");
    }

    /// Step 2: the oldest page of the lowest non-empty queue leaves for `Qout`.
    fn evict(&mut self) -> Decision {
        let lowest = self.queues.iter_mut().find(|queue| !queue.is_empty());
        let victim = lowest.and_then(VecDeque::pop_front).expect("a full cache has a queue");
        if self.qout_max > 0 {
            if self.qout.len() == self.qout_max {
                self.qout.pop_front();
            }
            self.qout.push_back(Ghost { page: victim.page, count: victim.count });
        }
        self.buffer.evict(victim.page)
    }

    /// Step 4: at most one page per queue sinks by one.
    fn age(&mut self) {
        self.now += 1;
        for k in 1..self.queues.len() {
            if self.queues[k].front().is_some_and(|first| first.expiry < self.now) {
                let mut first = self.queues[k].pop_front().expect("Qk has a first page");
                first.expiry = self.expiry();
                self.queues[k - 1].push_back(first);
            }
        }
    }
}

impl Model for Mq {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let mut count;
        let decision;
        if self.buffer.hit(op, page) {
            count = self.take_out(page);
            decision = Decision::hit();
        } else {
            count = take(&mut self.qout, |ghost| ghost.page == page).map_or(0, |ghost| ghost.count);
            decision = if self.buffer.full() { self.evict() } else { Decision::miss() };
            self.buffer.install(op, page);
        }
        // Step 3.
        count += 1;
        let queue = (count.ilog2() as usize).min(self.queues.len() - 1);
        let expiry = self.expiry();
        self.queues[queue].push_back(Entry { page, count, expiry });
        self.age();
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for queue in &mut self.queues {
            take(queue, |entry| entry.page == page);
        }
        take(&mut self.qout, |ghost| ghost.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let mut lists = Vec::new();
        for (k, queue) in self.queues.iter().enumerate() {
            if !queue.is_empty() {
                lists.push(show(&format!("Q{k}"), queue.iter().map(|entry| entry.page)));
            }
        }
        lists.push(show("Qout", self.qout.iter().map(|ghost| ghost.page)));
        lists.join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
