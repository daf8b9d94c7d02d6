//! Runs policies over decoded traces.
//!
//! ```text
//!  accesses  requests of a decoded trace -> a block of page accesses with look-ahead
//!  replay    the hot loop: one policy, one trace, no device
//!  counters  what a run counts
//! ```

pub mod accesses;
pub mod counters;
pub mod replay;

pub use accesses::{Columns, Extent};
pub use counters::Counters;
pub use replay::{Observer, Replay, Unobserved};
