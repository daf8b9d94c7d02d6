//! The runs of one call over one trace: the whole schema, as it is written and read.

use super::differences::Differences;
use super::identity::TraceIdentity;
use super::metrics::METRICS;
use super::run::RunResult;
use super::steady::Steady;
use crate::series::Period;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Version of the schema below; incremented on incompatible changes.
pub const SCHEMA_VERSION: u32 = 1;

/// Key that identifies a result set among other JSON.
const SCHEMA: &str = "destage.results";

/// A set of runs over one trace, with everything that `rerun` needs.
///
/// As JSON each run has its label and its metrics as well: what follows from the others is written
/// for readers, and not read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResultSet {
    /// `destage.results`.
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of Destage.
    pub version: String,
    /// Commit that the engine was built from, where the build knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Command line that made the results, without what changes no number: threads, outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The trace.
    pub trace: TraceIdentity,
    /// The runs, in the order of policies, then sizes, as asked.
    #[serde(serialize_with = "written")]
    pub runs: Vec<RunResult>,
    /// The drive behind the cache, as it was given and after defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Value>,
    /// Counts of the trace reader, such as skipped malformed lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Value>,
    /// Label of the run that others are marked against; absent: the first of each cache size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Marks of the runs, as tables have them: for readers, made by the caller.
    #[serde(default, skip_serializing)] // comes last
    pub marks: Option<Value>,
}

impl ResultSet {
    /// The runs of one call over one trace.
    pub fn new(trace: TraceIdentity, mut runs: Vec<RunResult>) -> Self {
        for pending in runs.iter_mut().filter_map(|run| run.pending.as_mut()) {
            pending.end_bytes = Some(pending.end_pages * trace.page_bytes);
        }
        sized(&mut runs, trace.page_bytes);
        ResultSet {
            schema: SCHEMA.into(),
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            commit: None,
            command: None,
            trace,
            runs,
            device: None,
            reading: None,
            baseline: None,
            marks: None,
        }
    }

    /// The whole set as JSON.
    pub fn to_json(&self) -> String {
        let (differences, marks) = (Differences::of(&self.runs), self.marks.as_ref());
        let whole = WrittenSet { set: self, differences, marks };
        serde_json::to_string(&whole).expect("names, numbers and lists of them are JSON")
    }

    /// Reads a set, also one of an earlier version or one that was put together from several.
    ///
    /// # Errors
    ///
    /// A sentence that says what was expected.
    pub fn from_json(text: &str) -> Result<ResultSet, String> {
        let set: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if set["schema"] != SCHEMA {
            return Err(format!("expected results of destage (\"schema\": \"{SCHEMA}\")"));
        }
        if set["schema_version"] != SCHEMA_VERSION {
            let version = &set["schema_version"];
            return Err(format!("schema version {version}: this destage reads {SCHEMA_VERSION}"));
        }
        let mut set: ResultSet =
            serde_path_to_error::deserialize(set).map_err(|e| e.to_string())?;
        sized(&mut set.runs, set.trace.page_bytes);
        Ok(set)
    }
}

/// Gives runs the page size of their trace.
fn sized(runs: &mut [RunResult], page_bytes: u64) {
    for run in runs {
        run.page_bytes = page_bytes;
    }
}

/// A run as it is written: what follows from it stands beside it.
#[derive(Serialize)]
struct Written<'a> {
    label: String,
    #[serde(flatten)]
    run: &'a RunResult,
    metrics: Metrics<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<Steady>,
    #[serde(skip_serializing_if = "<[Period]>::is_empty")]
    series: &'a [Period],
}

/// A set as it is written.
#[derive(Serialize)]
struct WrittenSet<'a> {
    #[serde(flatten)]
    set: &'a ResultSet,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<Differences>,
    #[serde(skip_serializing_if = "Option::is_none")]
    marks: Option<&'a Value>,
}

fn written<S: Serializer>(runs: &[RunResult], serializer: S) -> Result<S::Ok, S::Error> {
    let mut all = serializer.serialize_seq(Some(runs.len()))?;
    for run in runs {
        let (label, metrics) = (run.label(), Metrics(run));
        let steady = run.windows.as_ref().map(|windows| Steady::of(windows, run.kv.is_some()));
        all.serialize_element(&Written { label, run, metrics, steady, series: &run.series })?;
    }
    all.end()
}

/// Every metric of a run, by name.
struct Metrics<'a>(&'a RunResult);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_map(Some(METRICS.len()))?;
        for metric in METRICS.iter() {
            all.serialize_entry(metric.name, &metric.value(self.0))?;
        }
        all.end()
    }
}
