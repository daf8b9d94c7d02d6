//! Random: the baseline that a policy must beat.
//!
//! Mirrors
//! `docs/spec/further-policies.md`, 3.11.

use crate::frames::{Draws, Frames};
use crate::{Buffer, Decision, Model, Op, Params, show};

pub(crate) struct Random {
    buffer: Buffer,
    frames: Frames,
    draws: Draws,
    s: usize,
}

impl Random {
    pub(crate) fn new(frames: usize, params: &Params) -> Random {
        Random {
            buffer: Buffer::new(frames),
            frames: Frames::new(frames),
            draws: Draws::of(params),
            s: frames,
        }
    }
}

impl Model for Random {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            return Decision::hit();
        }
        let mut decision = Decision::miss();
        if self.buffer.full() {
            let victim = self.frames.page(self.draws.draw(self.s));
            self.frames.free(victim);
            decision = self.buffer.evict(victim);
        }
        self.buffer.install(op, page);
        self.frames.place(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let dirty = self.buffer.forget(page)?;
        self.frames.free(page);
        Some(dirty)
    }

    fn lists(&self) -> String {
        show("frames", self.frames.show(|page| page.to_string()))
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
