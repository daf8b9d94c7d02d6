//! Tiers below the DRAM cache: tier 1 over tier 2, and tier 3, over a backing store
//! (`docs/spec/tiers.md` 3 to 5).
//!
//! ```text
//!  accesses ─▶ tier 1 (compiled for its policy) ─┬─ misses ─▶ look-up ─▶ tier 2 ─▶ tier 3 ─▶ store
//!                                                └─ evicted pages ─▶ admission ─▶ tier 2
//! ```
//!
//! ```text
//!  rules       offers, promotion                counters  counts of each tier
//!  lower_tier  one tier: policy, admission      events    who sees it happen
//!  below       what an access does below tier 1   slots     pages of tier 2 on a device
//!  untimed     the loops without a device       through   no tier 1 above it
//!  cleaner     dirty pages that are written back and stay
//!  alru        those of them that are stale
//!  feeder      copies of what tier 1 evicts next
//!  behind      the tiers behind a block of tier 1
//! ```

mod alru;
mod behind;
pub mod below;
mod cleaner;
pub mod counters;
pub mod events;
mod feeder;
pub mod lower_tier;
pub mod rules;
pub mod slots;
pub mod through;
pub mod untimed;

pub use below::{LowerTiers, LowerTiersParts};
pub use counters::{LowerCounters, Tier3Counters, TierCounters};
pub use events::TierDecision;
pub use lower_tier::{LowerTier, LowerTierParts};
pub use rules::{AdmitDirty, AlruRule, Clean, FeedLists, FeedRule, Offer, Promote, TierRules};
pub use slots::Slots;
