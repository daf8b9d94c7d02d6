//! Surrogate traces: requests generated to match the published statistics of a trace that is not
//! available.
//!
//! A [`Recipe`] says how many requests access how many pages, how pages come again and when.
//! [`generate`] makes requests for *extents*, stretches of pages that are requested as a whole,
//! without addresses; [`place`] gives every extent its pages, so that one workload can lie on the
//! channels of several drives; [`SurrogateSource`] makes records of both. Three models:
//!
//! * `recency`: a repeated request takes its extent from a stack of all extents, the latest on top,
//!   at a random depth.
//! * `independent`: every request takes an extent by its popularity, k^-alpha for the k-th,
//!   whatever came before.
//! * `apart`: single pages, of which reads and writes have hot ones of their own.
//!
//! In the first two, a share of the requests writes a log, round and round; a page's successive
//! operations may be correlated; and requests come in bursts of a given mean length, with silence
//! between.
//!
//! The same recipe and seed give the same workload: the generator is PCG64. Lengths, depths, ranks
//! and gaps go through the mathematical library of the platform.

mod affinity;
mod apart;
mod generate;
mod independent;
mod load;
mod place;
mod recency;
mod recipe;
mod source;
mod stack;

pub use generate::generate;
pub use load::{Extents, Request, RequestTarget, SurrogateTrace};
pub use place::{Channels, Placement, place, shares_of};
pub use recipe::{Recipe, RecipeKind};
pub use source::SurrogateSource;
