//! Traces of language models: a request is a chain of blocks, and only a cached prefix is a hit
//! (`docs/spec/tiers.md` 7).
//!
//! ```text
//!  request ─▶ look-up: prefix that is cached, in whichever tier ─▶ touches: a read of each block
//! ```
//!
//! ```text
//!  chains      requests of a decoded trace        counters    counts of a run
//!  lookup      step 1                             replay      step 2, and the loop
//!  prefix_min  the bound of all policies          decision    what is shown of a request
//!  compute     times of computing blocks
//! ```

pub mod chains;
pub mod compute;
pub mod counters;
pub mod decision;
mod lookup;
pub mod prefix_min;
pub mod replay;

pub use chains::Chains;
pub use compute::TokenTime;
pub use counters::KvCounters;
pub use decision::KvDecision;
pub use replay::{KvReplay, KvReplayed, Touch, page_counters};
