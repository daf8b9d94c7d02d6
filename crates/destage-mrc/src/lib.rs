//! Hit-ratio curves: what a policy misses, reads and writes over cache sizes.
//!
//! * LRU: all sizes at once in one pass, exact ([`LruCurve`]), flash writes as well.
//! * MIN, where every size is asked for: all at once, exact, what it hits ([`MinCurve`]).
//! * FIFO, CLOCK and SIEVE: up to eight sizes in one pass, where that wins, exact.
//! * Any other policy: one run per size, side by side, exact.
//! * With [`Sampling`]: the same over a sample of the pages, with 95 % intervals; optionally
//!   corrected with exact LRU as a control variate ([`ControlVariate`]).
//!
//! ```text
//!  curve     a curve, and the options of one   curves             curves of several policies
//!  lru       every size of LRU in one pass
//!  min_bisection   frames that MIN needs       min                every size of MIN
//!  sample    a trace of some of the pages      tasks              passes and runs, side by side
//!  stratified_sample  pages sampled first      confidence         how far a number may be off
//!  estimate  from the sample to the trace      paired_difference  how far two are
//!  control_variate  LRU's error, taken out     adaptive_rate      a rate for each size
//!  request   a request for curves              draw               points of a request
//! ```
//!
//! # Sampling
//!
//! With the sampled rate R, `c` frames become `c * R`: between two whole numbers for LRU, which
//! knows both, rounded (at least one) for the others. Counts of the sample are divided by R, and
//! hits are what is left of the trace's accesses, which are known. For LRU this is SHARDS-adj: a
//! very hot page that is or is not in the sample moves hits, hardly misses.
//!
//! Which pages a sample has is no plain chance (`stratified_sample.rs`). Groups of a sample say how
//! far its numbers may be off (`confidence.rs`), where that has been measured.

mod adaptive_rate;
mod confidence;
mod control_variate;
mod curve;
mod curves;
mod draw;
mod estimate;
mod lru;
mod min;
mod min_bisection;
#[cfg(test)]
mod naive;
mod paired_difference;
mod request;
mod sample;
mod stratified_sample;
mod tasks;
#[cfg(test)]
mod tests;

pub use curve::{
    ControlVariate, Curve, EverySize, Method, Mrc, MrcOptions, PairedDifferences, Point,
    SampleSize, SampledPoint, SizeDifferences, Within,
};
pub use curves::{mrc, planned_accesses};
pub use lru::LruCurve;
pub use min::MinCurve;
pub use request::one_pass;
pub use sample::{GROUPS, Sampling};
