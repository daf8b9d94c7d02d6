//! The first run of `fk`: every page has handle 0, and what the host writes and trims is written
//! down (`docs/spec/device-today.md` 8.6).

use super::{Assigns, Future, WriteHint};

#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Recorder {
    writes: Vec<u32>,       // slots
    trims: Vec<(u64, u32)>, // clock, slot
}

impl Recorder {
    pub(super) fn future(&self) -> Future {
        Future::of(&self.writes, &self.trims)
    }
}

impl Assigns for Recorder {
    fn written(&mut self, slot: u32, _: WriteHint, _: u64) -> u32 {
        assert!(self.writes.len() < u32::MAX as usize, "fk knows 2^32 - 2 writes, and no more");
        self.writes.push(slot);
        0
    }

    fn trimmed(&mut self, slot: u32, clock: u64) {
        self.trims.push((clock, slot));
    }
}
