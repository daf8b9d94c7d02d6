//! Conformance vectors: tiny traces with every decision written out, run and compared.
//!
//! Layout of the files: `docs/spec/README.md`. Page vectors run twice, over the hashed directory
//! with the vector's own page numbers and over dense ids through the replay loop; both must decide
//! and count as the vector says; so do block vectors. [`emit`] writes what we decide instead of
//! comparing it, so that anyone can compare it with anything.
//!
//! ```text
//!  json    one line of JSON, no key twice
//!  read    what a line says, by serde, with the path of what is wrong
//!  vector  page vectors, and which kind a line is of
//!  lines   the lines of a file, and why one is no vector
//!  compare, emit   what becomes of every line
//!  built_in  a vector through what it names
//!  run     a page vector through a policy, over either directory
//!  block   vectors of block policies: what they say, and their runs
//!  device  vectors of kind device: what they say, and their runs
//!  ftl     the same of kind FTL
//!  tiers   the same of two tiers     kv       of language models
//!  tiers_device  of two tiers with a device behind
//!  objects decisions that are compared key by key
//!  report  where vectors differ
//! ```

mod block;
mod built_in;
mod compare;
mod device;
mod emit;
mod ftl;
mod json;
mod kv;
mod lines;
mod objects;
mod read;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod tiers;
mod tiers_device;
mod vector;

pub use block::{BlockOutcome, BlockVector};
pub use compare::{conform, conform_own};
pub use device::{DeviceOutcome, DeviceVector};
pub use emit::emit;
pub use ftl::{FtlOutcome, FtlVector};
pub use lines::ConformError;
pub use report::{Difference, FileReport, Found, Over, Report};
pub use run::{Fault, Outcome, run_vector};
pub use vector::{AccessDecision, COUNTERS, Decision, Expected, PageCounters, PageVector};
