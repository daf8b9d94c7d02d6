//! Runs: one policy at one cache size over a trace; and many side by side.
//!
//! ```text
//!  setup     from the options of a call to what a policy is built from
//!  requirements  what a policy requires, and whether a run supplies it
//!  runner    the loop that a run takes             outcome   what it counted
//!  record    from that to a result
//!  warnings  what a reader of a run's numbers must know
//!  tiered    runs with a flash tier, and of a language model's requests
//!  one       one run                               many      runs side by side
//! ```

mod many;
mod one;
mod outcome;
mod record;
mod requirements;
mod runner;
mod setup;
#[cfg(test)]
mod tests;
mod tiered;
mod warnings;

pub use crate::mounted::Mounted;
pub use crate::options::RunOptions;
pub use many::{can_share, in_threads};
pub use many::{compare, compare_each};
pub use one::{run, run_own};
pub use record::Named;
pub use requirements::{needs_next_use, own_suits, requirements, suits, supplies};
