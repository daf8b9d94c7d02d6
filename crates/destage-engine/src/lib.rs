//! Runs policies over decoded traces.
//!
//! ```text
//!  accesses      requests of a decoded trace -> a block of page accesses with look-ahead
//!  asides        trims and flushes between the accesses
//!  input         what a run reads
//!  observe       who sees what a run decides
//!  replay        the hot loop: one policy, one trace, no device
//!  timed         the host side of a run with a device
//!  counters      what a run counts                    distribution  many values in a few numbers
//!                                                       spread        the same, coarsely
//!  run           one run after defaults, and many side by side
//!  result        what a run leaves behind: one schema, one table of metrics
//!  checked       wraps a policy and asserts the laws
//!  decisions     every decision of a run, as JSON lines
//!  series        how a run develops over time
//!  windows       what was counted in each sixtieth of a run
//!  padding       pages that a policy adds to complete blocks, destage by destage
//!  conform       conformance vectors
//!  mrc           hit ratio over cache size
//!  shared        a policy at several sizes in one pass
//!  control       how a long call is followed and stopped    error  why a run gave no result
//!  sizes, spec, cost, warmup   what people write: 32MiB, cflru[window_fraction=0.75],
//!                read=1,write=118, 10%
//! ```

pub mod accesses;
pub mod checked;
mod coarse_histogram;
pub mod conform;
pub mod control;
pub mod control_commands;
pub mod cost;
pub mod counters;
pub mod decisions;
pub mod distribution;
pub mod error;
pub mod input;
pub mod mounted;
pub mod mrc;
pub mod observe;
pub mod options;
pub mod padding;
pub mod replay;
pub mod result;
pub mod run;
pub mod series;
mod shared;
pub mod sizes;
pub mod spec;
pub mod timed;
pub mod warmup;
pub mod windows;

pub use accesses::{Columns, Extent};
pub use counters::Counters;
pub use input::NextUses;
pub use observe::{Completed, Observer, Unobserved};
pub use replay::Replay;
