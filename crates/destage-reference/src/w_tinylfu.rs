//! W-TinyLFU: admit to the main cache only what is more popular than the victim.
//!
//! Einziger, Friedman, Manes. ACM TOS 13(4), 2017, with exact counts in place of the sketch.
//! Mirrors `docs/spec/page-policies.md` 3.19.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, share, show, take_page};

pub(crate) struct WTinyLfu {
    buffer: Buffer,
    window: VecDeque<u64>,
    probation: VecDeque<u64>,
    protected: VecDeque<u64>,
    wmax: usize,
    pmax: usize,
    counts: Vec<(u64, u8)>, // every page seen and its count, 0..=15
    seen: u64,
    sample: u64, // accesses between two halvings
}

impl WTinyLfu {
    pub(crate) fn new(frames: usize, params: &Params) -> WTinyLfu {
        let wmax = share(params.fraction("window_fraction", 0.01), frames).max(1).min(frames);
        WTinyLfu {
            buffer: Buffer::new(frames),
            window: VecDeque::new(),
            probation: VecDeque::new(),
            protected: VecDeque::new(),
            wmax,
            pmax: share(params.fraction("protected_fraction", 0.8), frames - wmax),
            counts: Vec::new(),
            seen: 0,
            sample: params.integer("sample_factor").unwrap_or(10) * frames as u64,
        }
    }

    fn count(&self, page: u64) -> u8 {
        let counted = self.counts.iter().find(|&&(other, _)| other == page);
        counted.map_or(0, |&(_, count)| count)
    }

    fn record(&mut self, page: u64) {
        match self.counts.iter_mut().find(|(other, _)| *other == page) {
            Some((_, count)) => *count = 15.min(*count + 1),
            None => self.counts.push((page, 1)),
        }
        self.seen += 1;
        if self.seen == self.sample {
            for (_, count) in &mut self.counts {
                *count /= 2;
            }
            self.seen /= 2;
        }
    }

    fn hit(&mut self, page: u64) {
        if take_page(&mut self.window, page) {
            self.window.push_front(page);
        } else if take_page(&mut self.protected, page) {
            self.protected.push_front(page);
        } else {
            take_page(&mut self.probation, page);
            self.protected.push_front(page);
            if self.protected.len() > self.pmax {
                let last = self.protected.pop_back().expect("protected is too long");
                self.probation.push_front(last);
            }
        }
    }

    /// The candidate of the window against the victim of the main part; ties go to the latter.
    fn victim(&mut self) -> u64 {
        let c = self.window.pop_back().expect("a full cache has a full window");
        let v = self.probation.back().or(self.protected.back()).copied();
        match v {
            Some(v) if self.count(c) > self.count(v) => {
                if self.probation.pop_back().is_none() {
                    self.protected.pop_back();
                }
                self.probation.push_front(c);
                v
            }
            _ => c,
        }
    }
}

impl Model for WTinyLfu {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        self.record(page);
        if self.buffer.hit(op, page) {
            self.hit(page);
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            if self.window.len() == self.wmax {
                let last = self.window.pop_back().expect("the window is full");
                self.probation.push_front(last);
            }
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.window.push_front(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        // The counts stay, as a sketch would.
        for list in [&mut self.window, &mut self.probation, &mut self.protected] {
            take_page(list, page);
        }
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let mut counts = self.counts.clone();
        counts.sort_unstable();
        [
            show("window", &self.window),
            show("probation", &self.probation),
            show("protected", &self.protected),
            show("counts", counts.iter().map(|(page, count)| format!("{page}:{count}"))),
        ]
        .join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
