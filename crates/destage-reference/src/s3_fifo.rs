//! S3-FIFO: filter one-hit wonders with a small FIFO.
//!
//! Yang et al. SOSP 2023, section 4, Algorithm 1. Mirrors `docs/spec/page-policies.md` 3.17.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, remember, share, show, take, take_page};

struct Entry {
    page: u64,
    freq: u8, // 0..=3
}

pub(crate) struct S3Fifo {
    buffer: Buffer,
    small: VecDeque<Entry>,
    main: VecDeque<Entry>,
    ghost: VecDeque<u64>,
    smax: usize,
    mmax: usize,
    ghost_max: usize,
}

impl S3Fifo {
    pub(crate) fn new(frames: usize, params: &Params) -> S3Fifo {
        let smax = share(params.fraction("small_fraction", 0.1), frames).max(1).min(frames);
        S3Fifo {
            buffer: Buffer::new(frames),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: VecDeque::new(),
            smax,
            mmax: frames - smax,
            ghost_max: share(params.fraction("ghost_fraction", 0.9), frames),
        }
    }

    fn victim(&mut self) -> u64 {
        if self.small.len() < self.smax && !self.main.is_empty() {
            return self.victim_of_main();
        }
        loop {
            let tail = self.small.pop_back().expect("small cannot run empty first");
            if tail.freq >= 2 {
                self.main.push_front(Entry { page: tail.page, freq: 0 });
                if self.main.len() > self.mmax {
                    return self.victim_of_main();
                }
            } else {
                remember(&mut self.ghost, tail.page, self.ghost_max);
                return tail.page;
            }
        }
    }

    fn victim_of_main(&mut self) -> u64 {
        loop {
            let tail = self.main.pop_back().expect("main is not empty");
            if tail.freq == 0 {
                return tail.page;
            }
            self.main.push_front(Entry { page: tail.page, freq: tail.freq - 1 });
        }
    }
}

impl Model for S3Fifo {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            for entry in self.small.iter_mut().chain(&mut self.main) {
                if entry.page == page {
                    entry.freq = 3.min(entry.freq + 1);
                }
            }
            return Decision::hit();
        }
        let ghost = take_page(&mut self.ghost, page);
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        if ghost {
            self.main.push_front(Entry { page, freq: 0 });
        } else {
            self.small.push_front(Entry { page, freq: 0 });
        }
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.small, |entry| entry.page == page);
        take(&mut self.main, |entry| entry.page == page);
        take_page(&mut self.ghost, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let entry = |e: &Entry| format!("{}/{}", e.page, e.freq);
        [
            show("small", self.small.iter().map(entry)),
            show("main", self.main.iter().map(entry)),
            show("ghost", &self.ghost),
        ]
        .join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
