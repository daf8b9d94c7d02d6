//! Runs with a device: the host side of `docs/spec/device.md` 7. Any policy in front of any drive.
//!
//! Everything that decides happens at the instant of a request; only completions lie in the future.
//! When reads go first, some of them are not known for a while, hence
//! [`PendingTime`](destage_ssd::PendingTime).
//!
//! ```text
//!  workload   requests of a vector as columns (a decoded trace has them already)
//!  host       a trace's requests, one after the other                    7.5, 7.6
//!  live       requests that come one by one     `docs/spec/pool.md` 10.3
//!  request    the steps of a request, for both
//!  control_commands  trims and flushes          `docs/spec/device-today.md` 4, 6.4
//!  course     the request that is being served, and what was counted
//!  frontend   what stands between host and drive, or nothing             7.2
//!  cache_frontend  a cache                                               7.3, 7.4
//!  tier_frontend  two caches, the drive behind the second  `docs/spec/tiers.md` 6
//!  disk       the store below these         `docs/spec/tiers.md` 6.1
//!  chains     requests of a language model over these     `docs/spec/tiers.md` 7
//!  ledger     what is counted while a run goes on
//!  profile    how a run develops over time
//!  timeline   every operation, for Perfetto
//! ```

mod cache_frontend;
mod chains;
mod control_commands;
mod course;
mod disk;
mod frontend;
mod host;
mod ledger;
mod live;
mod profile;
mod request;
#[cfg(test)]
mod tests;
mod tier_frontend;
mod timeline;
mod workload;

pub use crate::timing::{ControlCounters, EraseSpread, TimedCounters, Timing, max_deviation};
pub use course::TimedOutcome;
pub use disk::{DiskCounters, DiskTimes};
pub use host::TimedReplay;
pub use live::LiveRun;
pub use profile::{Period, Profile, Profiler};
pub use tier_frontend::{BackingStore, BackingTimes, StoreTimes};
pub use timeline::Timeline;
pub use workload::{Ask, Workload};
