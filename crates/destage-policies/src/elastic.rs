//! Policies whose number of frames may change: each manages the pages of one unit in `ecr_over.rs`.

use crate::params::Params;
use destage_core::{Page, Policy};

/// A policy with as many frames as it has pages.
pub(crate) trait Elastic: Policy {
    /// From now on it has so many frames; `params` are its parameters.
    fn resize(&mut self, frames: u32, params: &Params);

    /// The page that an eviction for this miss would give up.
    fn candidate(&self, miss: &Self::Miss) -> Option<Page>;

    /// A resident page leaves without being evicted, and its frame with it.
    fn leave(&mut self, page: Page, params: &Params) {
        self.forget(page);
        self.resize(self.resident(), params);
    }
}
