//! The runs of one call over one trace.

use super::identity::TraceIdentity;
use super::run::RunResult;
use serde::{Deserialize, Serialize};

/// Version of the schema below; a change that a reader could trip over raises it.
pub const SCHEMA_VERSION: u32 = 1;

/// A set of runs over one trace, with all that is needed to make it again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResultSet {
    /// `destage.results`.
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of Destage.
    pub version: String,
    /// The trace.
    pub trace: TraceIdentity,
    /// The drive behind the cache, as it was given and after defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<serde_json::Value>,
    /// The runs, in the order of policies, then sizes, as asked.
    pub runs: Vec<RunResult>,
}

impl ResultSet {
    /// The runs of one call over one trace.
    pub fn new(trace: TraceIdentity, runs: Vec<RunResult>) -> Self {
        ResultSet {
            schema: "destage.results".into(),
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            trace,
            device: None,
            runs,
        }
    }
}
