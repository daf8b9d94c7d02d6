//! Emits the decisions of every vector of a file instead of comparing them.

use super::block::{BlockOutcome, BlockRuns};
use super::built_in::{Runs, run_both, run_built_in, run_ftl, run_objects, run_on_device};
use super::lines::{ConformError, Entry, for_each_line};
use super::objects::ObjectOutcome;
use super::report::first_difference;
use super::run::Outcome;
use super::vector::{AccessDecision, Decision, Expected, PageCounters, PageVector};
use destage_replay::control::Control;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Runs every vector of a file and writes what was decided, in the vectors' own layout, one line
/// per line; compares nothing, so that expectations may be absent.
///
/// # Errors
///
/// [`ConformError`] at the first line that is not a vector; what came before it has been written.
pub fn emit(input: &Path, output: &mut dyn Write, control: &Control) -> Result<(), ConformError> {
    let mut write = |line: &Emitted<'_>| {
        serde_json::to_writer(&mut *output, line)
            .map_err(io::Error::from)
            .and_then(|()| output.write_all(b"\n"))
            .map_err(ConformError::Output)
    };
    for_each_line(input, control, |place, entry, _| match entry {
        Entry::Block(vector) => {
            let BlockRuns { dense, hashed } = run_both(&vector, place, control)?;
            if let Some(differs) = vector.claim(&dense).first_difference(&hashed) {
                let what = format!("dense ids (expected) and hashed pages (got): {differs}");
                return Err(place.bug(what));
            }
            write(&Emitted::Block { line: place.line, outcome: &dense })
        }
        Entry::Device(vector) => {
            let outcome = run_on_device(&vector, place, control)?;
            write(&Emitted::Device {
                line: place.line,
                decisions: &outcome.decisions,
                completions_ns: &outcome.completions_ns,
                written: outcome.written.as_deref(),
                counters: &outcome.counters,
            })
        }
        Entry::Objects(vector) => {
            let [dense, hashed] = run_objects(&*vector, place, control)?;
            if dense != hashed {
                return Err(
                    place.bug("tier 1 decides otherwise over dense ids than over a hash map")
                );
            }
            write(&Emitted::Objects { line: place.line, outcome: &dense })
        }
        Entry::Ftl(vector) => {
            let outcome = run_ftl(&vector, place, control)?;
            write(&Emitted::Ftl {
                line: place.line,
                steps: &outcome.steps,
                counters: &outcome.counters,
            })
        }
        Entry::Page(vector) => {
            let Runs { dense, hashed } = run_built_in(&vector, place, control)?;
            if let Some(differs) = first_difference(&claim(*vector, &dense), &hashed) {
                let what = format!("dense ids (expected) and hashed pages (got): {differs}");
                return Err(place.bug(what));
            }
            let Outcome { decisions, counters } = &dense;
            write(&Emitted::Run { line: place.line, decisions, counters: *counters })
        }
    })?;
    output.flush().map_err(ConformError::Output)
}

/// A line as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum Emitted<'a> {
    Run {
        line: u64,
        decisions: &'a [Decision],
        counters: PageCounters,
    },
    Block {
        line: u64,
        #[serde(flatten)]
        outcome: &'a BlockOutcome,
    },
    Objects {
        line: u64,
        #[serde(flatten)]
        outcome: &'a ObjectOutcome,
    },
    Device {
        line: u64,
        decisions: &'a [AccessDecision],
        completions_ns: &'a [u64],
        #[serde(skip_serializing_if = "Option::is_none")]
        written: Option<&'a [[u64; 2]]>,
        counters: &'a serde_json::Map<String, serde_json::Value>,
    },
    Ftl {
        line: u64,
        steps: &'a [[u64; 3]],
        counters: &'a serde_json::Map<String, serde_json::Value>,
    },
}

/// The vector with what one run made of it as its expectation.
fn claim(vector: PageVector, outcome: &Outcome) -> PageVector {
    let decisions = outcome.decisions.iter().cloned().map(Expected::from).collect();
    PageVector { decisions: Some(decisions), counters: Some(outcome.counters), ..vector }
}
