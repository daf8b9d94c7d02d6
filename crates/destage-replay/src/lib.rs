//! Replay loops: a policy over a decoded trace, without a device or in front of one.
//!
//! Every policy is compiled here once, for unobserved runs; a change in the crates above,
//! which make results of what is counted, compiles none again.
//!
//! ```text
//!  replay            one policy, one trace, no device: the hot loop
//!  timed             the host side of a run with a device
//!  shared            a policy at several sizes in one pass
//!  steps             fio's jobs on a device without a cache
//!  tiers             a flash tier below the cache
//!  kv                requests of a language model: a hit is a cached prefix
//!  ttl               a time to live of cached pages
//!  pinned            pages that never leave a cache
//!  observe           the interface of those who see what a run decides
//!  accesses          requests of a decoded trace -> a block of page accesses with look-ahead
//!  control_commands  trims and flushes between the accesses
//!  input             all that a run reads            warmup   requests that do not count
//!  fill              the request at which caches are full
//!  counters          counts of a run                 timing   counts of a run with a device
//!  windows           counts of each sixtieth of a run
//!  distribution      many values in a few numbers    coarse_histogram   in fewer
//!  control           how a long call is followed and stopped
//!  error             why a run gave no result
//! ```

pub mod accesses;
mod coarse_histogram;
pub mod control;
pub mod control_commands;
pub mod counters;
pub mod distribution;
pub mod error;
pub mod fill;
pub mod input;
pub mod kv;
pub mod observe;
pub mod pinned;
pub mod replay;
pub mod shared;
pub mod steps;
pub mod tiers;
pub mod timed;
pub mod timing;
pub mod ttl;
pub mod warmup;
pub mod windows;

pub use accesses::{Columns, Extent};
pub use control::Control;
pub use counters::Counters;
pub use error::RunError;
pub use fill::Filled;
pub use input::{Input, NextUses};
pub use observe::{Completed, Observer, Unobserved};
pub use replay::Replay;
pub use warmup::Warmup;
