//! Clock sweep: what a PostgreSQL buffer pool does.
//!
//! PostgreSQL, `freelist.c` and `bufmgr.c`. Mirrors
//! `docs/spec/further-policies.md`, 3.5.

use crate::ace::Base;
use crate::frames::Frames;
use crate::{Buffer, Decision, Model, Op, Params, show};

#[derive(Clone)]
pub(crate) struct ClockSweep {
    buffer: Buffer,
    frames: Frames,
    usage: Vec<u64>, // of each frame
    hand: usize,
    max_usage: u64,
    initial_usage: u64,
    s: usize,
}

impl ClockSweep {
    pub(crate) fn new(frames: usize, params: &Params) -> ClockSweep {
        ClockSweep {
            buffer: Buffer::new(frames),
            frames: Frames::new(frames),
            usage: vec![0; frames],
            hand: 0,
            max_usage: params.integer("max_usage").unwrap_or(5),
            initial_usage: params.integer("initial_usage").unwrap_or(1),
            s: frames,
        }
    }

    fn victim(&mut self) -> u64 {
        loop {
            let f = self.hand;
            self.hand = (self.hand + 1) % self.s;
            if self.usage[f] == 0 {
                return self.frames.page(f);
            }
            self.usage[f] -= 1;
        }
    }
}

impl Base for ClockSweep {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Model for ClockSweep {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            let frame = self.frames.of(page);
            self.usage[frame] = self.max_usage.min(self.usage[frame] + 1);
            return Decision::hit();
        }
        let mut decision = Decision::miss();
        if self.buffer.full() {
            let victim = self.victim();
            self.frames.free(victim);
            decision = self.buffer.evict(victim);
        }
        self.buffer.install(op, page);
        let frame = self.frames.place(page);
        self.usage[frame] = self.initial_usage;
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let dirty = self.buffer.forget(page)?;
        if self.hand == self.frames.of(page) {
            self.hand = (self.hand + 1) % self.s;
        }
        self.frames.free(page);
        Some(dirty)
    }

    fn lists(&self) -> String {
        let frames =
            self.frames.show(|page| format!("{page}/{}", self.usage[self.frames.of(page)]));
        [show("frames", frames), format!("hand={}", self.hand)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
