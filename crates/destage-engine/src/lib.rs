//! Runs policies over decoded traces.
//!
//! ```text
//!  accesses  requests of a decoded trace -> a block of page accesses with look-ahead
//!  replay    the hot loop: one policy, one trace, no device
//!  timed     the host side of a run with a device
//!  counters  what a run counts
//!  run       one run after defaults, and many side by side
//!  result    what a run leaves behind: one schema, one table of metrics
//!  checked   wraps a policy and asserts the laws
//!  decisions every decision of a run, as JSON lines
//!  series    how a run develops over time
//!  warnings  what a reader of a run's numbers must know
//!  padding   pages that a policy adds to complete blocks, destage by destage
//!  conform   conformance vectors
//!  mrc       hit ratio over cache size
//!  sizes, spec, cost   what people write: 32MiB, cflru[window_fraction=0.75], read=1,write=118
//! ```

pub mod accesses;
pub mod checked;
pub mod conform;
pub mod cost;
pub mod counters;
pub mod decisions;
pub mod mrc;
pub mod padding;
pub mod replay;
pub mod result;
pub mod run;
pub mod series;
pub mod sizes;
pub mod spec;
pub mod timed;
mod warnings;

pub use accesses::{Columns, Extent};
pub use counters::Counters;
pub use replay::{Completed, NextUses, Observer, Replay, Unobserved};
