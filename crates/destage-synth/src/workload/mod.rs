//! Workloads made from a seed.
//!
//! One description, [`Workload`], says which pages are accessed (the *kind*), how long requests
//! are, which are reads, and when they come. [`SynthSource`] makes its records in batches, the way
//! a reader does, so that a made trace is decoded, cached and converted like one that was recorded.
//!
//! The same description gives the same records: the generator is PCG64 (a fixed algorithm), and
//! addresses, operations and lengths come from integers. Zipf ranks, normal pages and exponential
//! gaps go through the mathematical library of the platform.

mod arrivals;
mod description;
mod pages;
mod parameters;
mod parse;
mod presets;
mod sizes;
mod source;

pub use arrivals::Arrivals;
pub use description::{KINDS, Workload, WorkloadKind};
pub use parameters::{PARAMETERS, takes};
pub use presets::{PRESETS, Preset};
pub use sizes::Sizes;
pub use source::{SynthSource, open_workload};
