//! SAC: evict pages that the device returns fast.
//!
//! Chen, Xiao, Liu 2013. Mirrors `docs/spec/device-policies.md` 5. Queues run from the
//! head, the front, to the tail, the back.

use std::collections::VecDeque;

use super::policies::{Answer, Cache};
use super::queue::Ssd;
use crate::{Op, take};

struct Entry {
    page: u64,
    dirty: bool,
    marked: bool,
    /// The read that fills the page.
    read: Option<usize>,
    n: u64,
}

pub(crate) struct Sac {
    frames: usize,
    t0: usize,
    t: usize, // target size of pq
    starve_limit: u64,
    resize_step: u64,
    starved: u64,
    pq: VecDeque<Entry>,
    q: Vec<VecDeque<Entry>>, // by priority
    /// Host page operations that have not ended, in the order of their stamps.
    waiting: Vec<(u64, usize)>,
    stamps: u64,
}

impl Sac {
    pub(crate) fn new(frames: usize, t0: usize, starve_limit: u64, resize_step: u64) -> Sac {
        Sac {
            frames,
            t0,
            t: t0,
            starve_limit,
            resize_step,
            starved: 0,
            pq: VecDeque::new(),
            q: (0..64).map(|_| VecDeque::new()).collect(),
            waiting: Vec::new(),
            stamps: 0,
        }
    }

    fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.pq.iter_mut().chain(self.q.iter_mut().flatten())
    }

    /// Takes all completions up to now, in order of (end, stamp) (5.1); what ends for SAC is what
    /// the host sees done (`docs/spec/device-today.md` 5.3).
    fn complete(&mut self, ssd: &Ssd) {
        let ends = |&(stamp, operation): &(u64, usize)| {
            let done = ssd.operations[operation].done_by(ssd.now);
            done.map(|done| (done, stamp, operation))
        };
        let mut ended: Vec<_> = self.waiting.iter().filter_map(ends).collect();
        ended.sort_unstable();
        for (_, k, operation) in ended {
            let smallest = self.waiting.iter().map(|&(stamp, _)| stamp).min();
            let n = k - smallest.expect("k itself is waiting");
            self.waiting.retain(|&(stamp, _)| stamp != k);
            for entry in self.entries().filter(|entry| entry.read == Some(operation)) {
                entry.n = n;
            }
        }
    }

    fn demote(&mut self) {
        let mut tail = self.pq.pop_back().expect("a page to demote");
        if tail.marked {
            tail.marked = false;
            self.pq.push_front(tail);
        } else {
            let priority = if tail.n == 0 { 0 } else { tail.n.ilog2() as usize };
            self.q[priority].push_front(tail);
        }
    }

    fn balance(&mut self) {
        while self.pq.len() > self.t {
            self.demote();
        }
    }

    fn replace(&mut self) -> Entry {
        loop {
            while self.q.iter().all(VecDeque::is_empty) {
                self.demote();
            }
            let j = self.q.iter().rposition(|queue| !queue.is_empty()).expect("one is not empty");
            let mut tail = self.q[j].pop_back().expect("not empty");
            if !tail.marked {
                self.resize(j);
                return tail;
            }
            tail.marked = false;
            self.pq.push_front(tail);
            self.balance();
        }
    }

    /// After a victim from Q[j] (5.3).
    fn resize(&mut self, j: usize) {
        if j == 0 {
            self.starved = 0;
            self.t = self.t0;
        } else if self.q[0].is_empty() {
            self.starved = 0;
        } else {
            self.starved += 1;
            if self.starved == self.starve_limit {
                self.starved = 0;
                let larger = (self.t as u64).saturating_add(self.resize_step);
                self.t = usize::try_from(larger).expect("few frames").min(self.frames - 1);
            }
        }
    }
}

impl Cache for Sac {
    fn access(&mut self, op: Op, page: u64, read: Option<usize>, ssd: &Ssd) -> Answer {
        self.complete(ssd);
        let written = op == Op::Write;
        if let Some(entry) = self.entries().find(|entry| entry.page == page) {
            entry.marked = true;
            entry.dirty |= written;
            return Answer::hit();
        }
        let mut evicted = None;
        if self.entries().count() == self.frames {
            let victim = self.replace();
            evicted = Some((victim.page, victim.dirty));
        }
        self.pq.push_front(Entry { page, dirty: written, marked: false, read, n: 0 });
        self.balance();
        Answer::miss(evicted)
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let queues = std::iter::once(&mut self.pq).chain(&mut self.q);
        let mut left = queues.filter_map(|queue| take(queue, |entry| entry.page == page));
        left.next().map(|entry| entry.dirty)
    }

    fn submitted(&mut self, operation: usize) {
        self.waiting.push((self.stamps, operation));
        self.stamps += 1;
    }
}
