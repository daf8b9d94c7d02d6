//! Runs: one policy at one cache size over a trace; and many side by side.
//!
//! ```text
//!  options   what holds for all runs of a call     mounted   a drive that is ready to run
//!  needs     what a policy needs, and whether a run supplies it
//!  runner    the loop that a run takes             outcome   from what it counted to a result
//!  warnings  what a reader of a run's numbers must know
//!  one       one run                               many      runs side by side
//! ```

mod many;
mod mounted;
mod needs;
mod one;
mod options;
mod outcome;
mod runner;
mod warnings;

pub use many::{compare, compare_each, runs_of};
pub use mounted::Mounted;
pub(crate) use mounted::{nominal_times, on_drive};
pub use needs::{needs, needs_next_use, supplies};
pub use one::{run, run_own};
pub use options::RunOptions;
pub use outcome::Named;
