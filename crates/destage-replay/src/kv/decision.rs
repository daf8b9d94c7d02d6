//! Decision on a request of a language model (`docs/spec/tiers.md` 9).

use crate::tiers::events::TierDecision;
use destage_core::Page;

/// Decision on a request.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KvDecision {
    /// Blocks of its prompt.
    pub blocks: u64,
    /// The tier of each block of the cached prefix at arrival.
    pub tiers: Vec<u8>,
    /// Blocks that tier 1 took in, in order.
    pub inserted: Vec<Page>,
    /// Blocks evicted from tier 1, in order.
    pub evicted: Vec<Page>,
    /// Decision below tier 1; `None` with one tier.
    pub below: Option<TierDecision>,
}
