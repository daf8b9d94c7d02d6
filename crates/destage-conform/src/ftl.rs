//! Vectors of kind *FTL*: pages read and written, and what that costs the flash (`docs/spec/ftl.md`
//! 1.7).

use super::read::{
    Direction, List, Malformed, Named, Text, malformed, one_for_each, present, read, row, worded,
};
use super::report::{Found, counter_difference, note_missing};
use destage_ssd::config::{Info, Table, Value};
use destage_ssd::ftl::block_ftl::CountOnly;
use destage_ssd::ftl::{Common, named};
use destage_ssd::{Untimed, UntimedError};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// A conformance vector of an FTL.
pub struct FtlVector {
    /// Its name; empty if it has none.
    pub name: String,
    /// The FTL.
    pub ftl: &'static Info,
    start: Untimed,
    ops: Vec<(bool, u64)>, // whether it is a write, page
    steps: Option<Vec<[u64; 3]>>,
    counters: Option<Map<String, Json>>,
    unknown_keys: Vec<String>,
}

/// Outcome of a run of a vector, in the format of the vectors.
#[derive(Clone, PartialEq, Debug)]
pub struct FtlOutcome {
    /// After each operation, pages read, pages programmed, blocks erased.
    pub steps: Vec<[u64; 3]>,
    /// The counters that the FTL has.
    pub counters: Map<String, Json>,
}

/// Most pages of a vector's flash: vectors are small, and a wrong size is not.
const MOST_PAGES: u64 = 1 << 26;

worded!(
    /// A parameter of an FTL.
    Entry(Value), "a number, a string, true, false or null", |found| match found {
        Json::Object(_) => None,
        plain => serde_json::from_value(plain.clone()).ok(),
    }
);
worded!(
    /// A page; which there are is the FTL's to say.
    FtlPage(u64), "a page number", |found| found.as_u64()
);
worded!(
    /// Flash operations of one operation.
    Step([u64; 3]), "a list of reads, programs and erases",
    |found| serde_json::from_value(found.clone()).ok()
);
row!(
    /// An operation.
    Row(op: Direction, page: FtlPage), "a list [\"r\" or \"w\", page]"
);

/// An FTL vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    ftl: Text,
    params: BTreeMap<String, Entry>,
    ops: List<Row>,
    #[serde(default, deserialize_with = "present")]
    steps: Option<List<Step>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Named>,
}

/// Reads a line of kind *FTL*.
pub(super) fn ftl_vector(line: &Json) -> Result<FtlVector, Malformed> {
    let (line, unknown_keys) = read::<Line>(line)?;
    let ftl = named(&line.ftl.0).map_err(|what| malformed("ftl", what))?;
    let params = table(line.params)?;
    let start = Untimed::new(ftl, &params).map_err(|error| malformed("", error.to_string()))?;
    let op = |Row(Direction(op), FtlPage(page))| (op.is_write(), page);
    let ops: Vec<(bool, u64)> = line.ops.0.into_iter().map(op).collect();
    let steps = one_for_each("steps", line.steps, ("operation", ops.len()))?;
    let steps = steps.map(|steps| steps.into_iter().map(|Step(step)| step).collect());
    let (name, counters) = (line.name.0, line.counters);
    Ok(FtlVector { name, ftl, start, ops, steps, counters, unknown_keys })
}

/// An FTL takes memory for all its pages before the first operation.
fn table(params: BTreeMap<String, Entry>) -> Result<Table, Malformed> {
    for name in ["logical_pages", "pages_per_block", "physical_blocks", "spare_blocks"] {
        if let Some(Entry(Value::Int(pages))) = params.get(name)
            && *pages > MOST_PAGES.into()
        {
            let what = format!("{pages}: too many for a vector");
            return Err(malformed(format!("params.{name}"), what));
        }
    }
    Ok(params.into_iter().map(|(name, Entry(value))| (name, value)).collect())
}

impl FtlVector {
    /// Runs the vector.
    ///
    /// # Errors
    ///
    /// [`UntimedError`] at the first operation that cannot be done.
    pub(super) fn run(&self) -> Result<FtlOutcome, UntimedError> {
        let mut ftl = self.start.clone();
        let mut steps = Vec::with_capacity(self.ops.len());
        for &(is_write, page) in &self.ops {
            ftl.operate(is_write, page, &mut CountOnly)?;
            let Common { flash_reads, flash_programs, erases, .. } = ftl.counters().common;
            steps.push([flash_reads, flash_programs, erases]);
        }
        let counters = ftl.counters();
        let listed = ftl.listed_counters().into_iter();
        let listed = listed.map(|name| (name.to_string(), counters.get(name).into()));
        Ok(FtlOutcome { steps, counters: listed.collect() })
    }

    /// Where an outcome first differs: steps tell most, then counters. A counter that is not listed
    /// is 0.
    pub(super) fn first_difference(&self, outcome: &FtlOutcome) -> Option<Found> {
        let expected = self.steps.iter().flatten();
        let mut pairs = expected.zip(&outcome.steps).enumerate();
        if let Some((at, (&expected, &got))) = pairs.find(|(_, (expected, got))| expected != got) {
            let (is_write, page) = self.ops[at];
            let op = if is_write { 'w' } else { 'r' };
            return Some(Found::Step { operation: at as u64, op, page, expected, got });
        }
        counter_difference(self.counters.as_ref(), &outcome.counters, PartialEq::eq)
    }

    /// Keys that are compared with nothing, counters of unknown names among them.
    pub(super) fn not_compared(&self, outcome: &FtlOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        note_missing(&mut keys, "counters", self.counters.as_ref(), &outcome.counters);
        keys
    }
}
