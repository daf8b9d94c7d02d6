//! `by-size`: small requests and large ones have handles of their own
//! (`docs/spec/device-today.md` 8.3).
//!
//! The number of thresholds that are at most the size: below the first one it is handle 0.

use super::{Assigns, WriteHint};

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BySize {
    thresholds: Vec<u64>, // bytes, ascending
}

impl BySize {
    pub(super) fn new(thresholds: Vec<u64>) -> Self {
        BySize { thresholds }
    }

    #[inline]
    pub(super) fn class(&self, bytes: u64) -> u32 {
        // At most seven: a walk over all of them has no branch that depends on the size.
        self.thresholds.iter().map(|&threshold| u32::from(threshold <= bytes)).sum()
    }
}

impl Assigns for BySize {
    #[inline]
    fn written(&mut self, _: u32, hint: WriteHint, _: u64) -> u32 {
        self.class(hint.bytes)
    }
}
