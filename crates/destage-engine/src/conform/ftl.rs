//! Vectors of kind *FTL*: pages read and written, and what that costs the flash (`docs/spec/ftl.md`
//! 1.7).

use super::report::Found;
use super::vector::{Malformed, given, list, malformed, note, text, unexpected};
use destage_ssd::config::{Info, Table, Value};
use destage_ssd::ftl::machine::Nothing;
use destage_ssd::ftl::{Common, named};
use destage_ssd::{Untimed, UntimedError};
use serde_json::{Map, Value as Json};

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

/// What a run made of a vector, in the vectors' own terms.
#[derive(Clone, PartialEq, Debug)]
pub struct FtlOutcome {
    /// After each operation, pages read, pages programmed, blocks erased.
    pub steps: Vec<[u64; 3]>,
    /// The counters that the FTL has.
    pub counters: Map<String, Json>,
}

/// Most pages of a vector's flash: vectors are small, and a wrong size is not.
const MOST_PAGES: u64 = 1 << 26;

/// Reads a line of kind *FTL*.
pub(super) fn ftl_vector(vector: &Map<String, Json>) -> Result<FtlVector, Malformed> {
    let name = vector.get("name").map_or(Ok(String::new()), |name| text("name", name))?;
    let ftl = named(&text("ftl", given(vector, "ftl")?)?);
    let ftl = ftl.map_err(|what| malformed("ftl", what))?;
    let params = params(given(vector, "params")?)?;
    let start = Untimed::new(ftl, &params).map_err(|error| malformed("", error.to_string()))?;
    let ops = list("ops", given(vector, "ops")?)?;
    let ops: Vec<_> =
        ops.iter().enumerate().map(|(i, found)| op(i, found)).collect::<Result<_, _>>()?;

    let known = ["ftl", "name", "params", "ops", "steps", "counters"];
    let unknown_keys = vector.keys().filter(|key| !known.contains(&key.as_str()));
    let unknown_keys = unknown_keys.cloned().collect();
    let steps = vector.get("steps").map(|found| steps(found, ops.len())).transpose()?;
    let counters = vector.get("counters").map(|found| {
        found.as_object().cloned().ok_or_else(|| unexpected("counters", "an object", found))
    });
    let counters = counters.transpose()?;
    Ok(FtlVector { name, ftl, start, ops, steps, counters, unknown_keys })
}

fn params(found: &Json) -> Result<Table, Malformed> {
    let object = found.as_object().ok_or_else(|| unexpected("params", "an object", found))?;
    let mut table = Table::new();
    for (key, found) in object {
        let value: Value = serde_json::from_value(found.clone()).map_err(|_| {
            let expected = "a number, a string, true, false or null";
            unexpected(format!("params.{key}"), expected, found)
        })?;
        // An FTL takes memory for all its pages before the first operation.
        let pages = ["logical_pages", "pages_per_block", "physical_blocks", "spare_blocks"];
        let large = found.as_u64().is_some_and(|number| number > MOST_PAGES);
        if large && pages.contains(&key.as_str()) {
            return Err(malformed(
                format!("params.{key}"),
                format!("{found}: too many for a vector"),
            ));
        }
        table.insert(key.clone(), value);
    }
    Ok(table)
}

fn op(i: usize, found: &Json) -> Result<(bool, u64), Malformed> {
    let Some([op, page]) = found.as_array().map(Vec::as_slice) else {
        return Err(unexpected(format!("ops[{i}]"), "a list [\"r\" or \"w\", page]", found));
    };
    let is_write = match op.as_str() {
        Some("r") => false,
        Some("w") => true,
        _ => return Err(unexpected(format!("ops[{i}][0]"), "\"r\" or \"w\"", op)),
    };
    let number = page.as_u64();
    let number = number.ok_or_else(|| unexpected(format!("ops[{i}][1]"), "a page number", page))?;
    Ok((is_write, number))
}

fn steps(found: &Json, ops: usize) -> Result<Vec<[u64; 3]>, Malformed> {
    let entries = list("steps", found)?;
    if entries.len() != ops {
        let what = format!("expected one per operation ({ops}), found {} of them", entries.len());
        return Err(malformed("steps", what));
    }
    let step = |(i, found): (usize, &Json)| {
        serde_json::from_value(found.clone()).map_err(|_| {
            unexpected(format!("steps[{i}]"), "a list of reads, programs and erases", found)
        })
    };
    entries.iter().enumerate().map(step).collect()
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
            ftl.operate(is_write, page, &mut Nothing)?;
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
        let counters = self.counters.as_ref()?;
        let differs = |(name, got): (&String, &Json)| {
            let expected = counters.get(name).cloned().unwrap_or_else(|| 0.into());
            (expected != *got).then(|| Found::Counter {
                counter: name.clone(),
                expected,
                got: got.clone(),
            })
        };
        outcome.counters.iter().find_map(differs)
    }

    /// Keys that are compared with nothing, counters of unknown names among them.
    pub(super) fn not_compared(&self, outcome: &FtlOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        for name in self.counters.iter().flat_map(|counters| counters.keys()) {
            if !outcome.counters.contains_key(name) {
                note(&mut keys, format!("counters.{name}"));
            }
        }
        keys
    }
}
