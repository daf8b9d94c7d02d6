//! `by-cache`: the list that a dirty page leaves in the cache in front names its handle
//! (`docs/spec/device-today.md` 8.4).
//!
//! A policy states the label of a victim beside it; without one it is 0. It is the policy's
//! guess whether the page is hot: ARC's T2 and 2Q's Am have label 1.

use super::{Assigns, WriteHint};

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ByCache {
    last: u32, // handle
}

impl ByCache {
    pub(super) fn new(handles: u32) -> Self {
        ByCache { last: handles - 1 }
    }

    #[inline]
    pub(super) fn class(&self, label: u8) -> u32 {
        u32::from(label).min(self.last)
    }
}

impl Assigns for ByCache {
    #[inline]
    fn written(&mut self, _: u32, hint: WriteHint, _: u64) -> u32 {
        self.class(hint.label)
    }
}
