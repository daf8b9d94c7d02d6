//! Results of runs: enough to read them, and enough to rerun them.
//!
//! One schema for JSON, CSV, Parquet, Python and the report. Every derived number is listed in
//! [`METRICS`], once; the tables' columns, their units and which way is better come from there.
//!
//! ```text
//!  identity  which trace was replayed       config   what was asked for
//!  run       the outcome of one run         metric   a derived number, declared
//!  tier_metrics  those of a flash tier and of cached prefixes
//!  metrics, host_interface  every derived number
//!  set       the runs of one call over one trace
//!  schema    every key and metric, for docs/reference/results.md and metrics.md
//!  measured  the part of a run after its warm-up
//!  pending_writes  dirty pages at its ends  steady   what its halves counted
//!  queue     requests outstanding in an open loop
//!  draws     a bootstrap over its windows   differences  between runs, with intervals
//!  phases    how long windows are alike     pin   pinned pages
//! ```

mod config;
mod differences;
mod draws;
mod host_interface;
mod identity;
mod measured;
mod metric;
mod metrics;
mod pending_writes;
mod phases;
mod pin;
mod queue;
mod run;
pub mod schema;
mod set;
mod steady;
#[cfg(test)]
mod tests;
mod tier_metrics;

pub use config::RunConfig;
pub use destage_policies::Shown;
pub use differences::{Differences, Group};
pub use identity::TraceIdentity;
pub use measured::Measured;
pub use metric::{Better, METRIC_GROUPS, Metric, MetricGroup, MetricKind, Number};
pub use metrics::METRICS;
pub use pending_writes::PendingWrites;
pub use pin::PinCounters;
pub use queue::Queue;
pub use run::RunResult;
pub use set::{ResultSet, SCHEMA_VERSION};
pub use steady::{Half, Steady};
