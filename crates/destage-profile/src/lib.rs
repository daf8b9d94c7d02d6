//! Statistics of a decoded trace.
//!
//! ```text
//!  info     sizes, gaps, sequential streams, stack distances, skew
//!  profile  workload figures of papers: block heat, reuse distances, hot blocks
//! ```

pub mod info;
pub mod profile;

pub use info::TraceInfo;
pub use profile::{ProfileOptions, TraceProfile};
