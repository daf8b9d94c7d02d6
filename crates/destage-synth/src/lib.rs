//! Block-I/O workloads made from a seed.
//!
//! ```text
//!  random     uniform numbers and a permutation, from integers alone
//!  workload   a described workload: page popularity, lengths, operations, arrivals
//!  surrogate  requests generated to match the published statistics of a trace
//! ```

mod random;
pub mod surrogate;
pub mod workload;

pub use workload::{
    Arrivals, KINDS, PARAMETERS, PRESETS, Preset, Sizes, SynthSource, Workload, WorkloadKind,
    open_workload, takes,
};
