//! Hit-ratio curves: what a policy misses, reads and writes over cache sizes.
//!
//! * LRU: all sizes at once in one pass, exact ([`LruCurve`]), flash writes as well.
//! * MIN, where every size is asked for: all at once, exact, what it hits ([`MinCurve`]).
//! * FIFO, CLOCK and SIEVE: up to eight sizes in one pass, where that wins, exact.
//! * Any other policy: one run per size, side by side, exact.
//! * With [`Sampling`]: the same over a sample of the pages, with a standard error.
//!
//! ```text
//!  curve     what a curve is, and how one is made
//!  recency   stack distances                 lru    every size in one pass
//!  halving   frames that MIN needs           min    every size of MIN
//!  shared    several sizes in one pass
//!  sample    a trace of some of the pages    tasks  passes and runs, side by side
//!  estimate  from the sample to the trace    draw   all of it together
//! ```
//!
//! # Sampling
//!
//! With the sampled rate R, `c` frames become `c * R`: between two whole numbers for LRU, which
//! knows both, rounded (at least one) for the others. Counts of the sample are divided by R, and
//! hits are what is left of the trace's accesses, which are known. For LRU this is SHARDS-adj: a
//! very hot page that is or is not in the sample moves hits, hardly misses.
//!
//! The error is estimated by random groups (Wolter, Introduction to Variance Estimation, 2007,
//! chapter 2): the sample's pages fall into [`GROUPS`] groups by another part of the hash, each a
//! sample of rate R / groups, run like the whole. With the groups' estimates e_j, the standard
//! error is `sqrt((1 - R) * sum((e_j - mean)^2) / (groups * (groups - 1)))`. It says how much
//! another sample would differ. It does not see what all samples of this rate have in common: with
//! few frames in the sample the curve's finest steps are lost, so below one frame a group no error
//! is given, and a warning says which sizes are rough.

mod curve;
mod draw;
mod estimate;
mod halving;
mod lru;
mod min;
#[cfg(test)]
mod naive;
mod recency;
mod sample;
mod shared;
mod tasks;
#[cfg(test)]
mod tests;

pub use curve::{
    Curve, EverySize, GROUPS, Method, Mrc, MrcOptions, Point, SampleSize, SampledPoint,
};
pub use draw::{mrc, one_pass, planned_accesses};
pub use lru::LruCurve;
pub use min::MinCurve;
pub use sample::Sampling;
