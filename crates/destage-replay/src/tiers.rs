//! A flash tier below the DRAM cache: tier 1 over tier 2 over a backing store
//! (`docs/spec/tiers.md` 3 to 5).
//!
//! ```text
//!  accesses ─▶ tier 1 (compiled for its policy) ─┬─ misses ─▶ look-up ─▶ tier 2 ─▶ backing store
//!                                                └─ evicted pages ─▶ admission ─▶ tier 2
//! ```
//!
//! ```text
//!  rules     offers, promotion                 counters  counts of tier 2
//!  tier2     what happens below tier 1         events    who sees it happen
//!  untimed   the loops without a device        slots     pages of tier 2 on a device
//!  behind    tier 2 behind a block of tier 1       through  no tier 1 above it
//! ```

mod behind;
pub mod counters;
pub mod events;
pub mod rules;
pub mod slots;
pub mod through;
pub mod tier2;
pub mod untimed;

pub use counters::TierCounters;
pub use events::TierDecision;
pub use rules::{AdmitDirty, Offer, Promote, TierRules};
pub use slots::Slots;
pub use tier2::{Tier2, Tier2Parts};
