//! Sampled LRU and sampled LFU: of a few random pages, evict the worst.
//!
//! Psounis, Prabhakar 2002; Redis. Mirrors `docs/spec/further-policies.md`, 3.13 and 3.14.

use crate::frames::{Draws, Frames, Sample};
use crate::{Buffer, Decision, Model, Op, Params, show};

/// Which of two pages goes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    Recency,
    Frequency,
}

#[derive(Clone, Copy)]
struct Entry {
    page: u64,
    count: u64, // uses since it came in
    last: u64,  // index of its last access
}

pub(crate) struct Sampled {
    rule: Rule,
    buffer: Buffer,
    frames: Frames,
    entries: Vec<Entry>, // of the resident pages
    index: u64,
    sample: Sample,
    draws: Draws,
    s: usize,
}

impl Sampled {
    pub(crate) fn new(rule: Rule, frames: usize, params: &Params) -> Sampled {
        Sampled {
            rule,
            buffer: Buffer::new(frames),
            frames: Frames::new(frames),
            entries: Vec::new(),
            index: 0,
            sample: Sample::new(params.integer("k").unwrap_or(5)),
            draws: Draws::of(params),
            s: frames,
        }
    }

    fn entry(&self, page: u64) -> Entry {
        *self.entries.iter().find(|entry| entry.page == page).expect("a resident page")
    }

    fn victim(&mut self) -> u64 {
        let frames = self.sample.frames(&mut self.draws, self.s);
        let mut candidates: Vec<Entry> =
            frames.into_iter().map(|frame| self.entry(self.frames.page(frame))).collect();
        candidates.sort_by_key(|entry| entry.last);
        if self.rule == Rule::Frequency {
            candidates.sort_by_key(|entry| entry.count); // stable: among equals, by recency
        }
        candidates[0].page
    }
}

impl Model for Sampled {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let mut decision = Decision::hit();
        if self.buffer.hit(op, page) {
            for entry in &mut self.entries {
                if entry.page == page {
                    entry.count += 1;
                    entry.last = self.index;
                }
            }
        } else {
            decision = Decision::miss();
            if self.buffer.full() {
                let victim = self.victim();
                self.entries.retain(|entry| entry.page != victim);
                self.frames.free(victim);
                decision = self.buffer.evict(victim);
            }
            self.buffer.install(op, page);
            self.frames.place(page);
            self.entries.push(Entry { page, count: 1, last: self.index });
        }
        self.index += 1;
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let dirty = self.buffer.forget(page)?;
        self.entries.retain(|entry| entry.page != page);
        self.frames.free(page);
        Some(dirty)
    }

    fn lists(&self) -> String {
        let shown = |page| {
            let Entry { count, last, .. } = self.entry(page);
            match self.rule {
                Rule::Recency => format!("{page}/{last}"),
                Rule::Frequency => format!("{page}/{count}/{last}"),
            }
        };
        show("frames", self.frames.show(shown))
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
