//! Hyperbolic caching: rank pages by uses per time in the cache.
//!
//! Blankstein, Sen, Freedman. USENIX ATC 2017. Mirrors
//! `docs/spec/further-policies.md`, 3.9.

use crate::frames::{Draws, Frames, Sample};
use crate::{Buffer, Decision, Model, Op, Params, show};

#[derive(Clone, Copy)]
struct Entry {
    page: u64,
    n: u64,    // uses
    born: u64, // index of the access that brought it in
}

pub(crate) struct Hyperbolic {
    buffer: Buffer,
    frames: Frames,
    entries: Vec<Entry>, // of the resident pages
    index: u64,
    sample: Sample,
    draws: Draws,
    s: usize,
}

impl Hyperbolic {
    pub(crate) fn new(frames: usize, params: &Params) -> Hyperbolic {
        Hyperbolic {
            buffer: Buffer::new(frames),
            frames: Frames::new(frames),
            entries: Vec::new(),
            index: 0,
            sample: Sample::of(params, 64),
            draws: Draws::of(params),
            s: frames,
        }
    }

    fn entry(&self, page: u64) -> Entry {
        *self.entries.iter().find(|entry| entry.page == page).expect("a resident page")
    }

    /// Whether `a` goes rather than `b`.
    fn worse(&self, a: Entry, b: Entry) -> bool {
        let t = |entry: Entry| u128::from(self.index - entry.born);
        let (left, right) = (u128::from(a.n) * t(b), u128::from(b.n) * t(a));
        left < right || (left == right && a.born < b.born)
    }

    fn victim(&mut self) -> u64 {
        let mut worst: Option<Entry> = None;
        for frame in self.sample.frames(&mut self.draws, self.s) {
            let candidate = self.entry(self.frames.page(frame));
            if worst.is_none_or(|worst| self.worse(candidate, worst)) {
                worst = Some(candidate);
            }
        }
        worst.expect("there are candidates").page
    }
}

impl Model for Hyperbolic {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let mut decision = Decision::hit();
        if self.buffer.hit(op, page) {
            for entry in &mut self.entries {
                if entry.page == page {
                    entry.n += 1;
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
            self.entries.push(Entry { page, n: 1, born: self.index });
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
        show(
            "frames",
            self.frames.show(|page| {
                let Entry { n, born, .. } = self.entry(page);
                format!("{page}/{n}/{born}")
            }),
        )
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
