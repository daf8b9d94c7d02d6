//! Report on conformance vectors: counts per file, and the first difference of each failed vector.

use super::read::note;
use super::run::{Fault, Outcome};
use super::vector::{AccessDecision, COUNTERS, Decision, Expected, PageVector};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt;

/// Report on the vectors of some files.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Report {
    /// One per file, in the order given.
    pub files: Vec<FileReport>,
}

/// Report on the vectors of one file.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FileReport {
    /// The file, as it was named.
    pub path: String,
    /// Vectors that agreed in all that they list.
    pub passed: u64,
    /// Vectors that differed.
    pub failed: u64,
    /// Vectors that were not run, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Where each failed vector differs first, in the order of the file.
    pub differences: Vec<Difference>,
    /// Keys that are not part of the layout and were not compared, with the number of vectors
    /// that have them: a mistyped `decisions` shows here.
    pub not_compared: BTreeMap<String, u64>,
}

impl Report {
    /// Vectors that agreed.
    pub fn passed(&self) -> u64 {
        self.files.iter().map(|file| file.passed).sum()
    }

    /// Vectors that differed.
    pub fn failed(&self) -> u64 {
        self.files.iter().map(|file| file.failed).sum()
    }

    /// Vectors that were not run.
    pub fn skipped(&self) -> u64 {
        self.files.iter().flat_map(|file| file.skipped.values()).sum()
    }
}

/// Which run of a vector differed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Pages named by dense ids, through the replay loop.
    Dense,
    /// Pages named by their numbers, through a hash map.
    Hashed,
    /// Both, in the same way.
    Both,
    /// A policy of the user's own, pages named by their numbers.
    Own,
    /// In front of the device, pages named by dense ids.
    Device,
    /// An FTL alone, without times.
    Ftl,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Over::Dense => "dense ids",
            Over::Hashed => "hashed pages",
            Over::Both => "dense ids and hashed pages",
            Over::Own => "own policy",
            Over::Device => "with the device",
            Over::Ftl => "the FTL alone",
        })
    }
}

/// The first place where a vector differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// Line of the vector, from 1.
    pub line: u64,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its policy, or its FTL.
    pub policy: String,
    /// Which run differs.
    pub over: Over,
    /// The first difference.
    #[serde(flatten)]
    pub found: Found,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { &self.policy } else { &self.name };
        write!(f, "line {} ({name}), {}: {}", self.line, self.over, self.found)
    }
}

/// The first difference.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "differs", rename_all = "snake_case")]
pub enum Found {
    /// The decision of an access.
    Decision {
        /// Number of the access, from 0.
        access: u64,
        /// `r` or `w`.
        op: char,
        /// Its page.
        page: u64,
        /// Expected by the vector.
        expected: Expected,
        /// Decision of the policy.
        got: Decision,
    },
    /// The decision of an access or a request, as an object.
    Object {
        /// Step of the decision: `access` or `request`.
        step: &'static str,
        /// Its number, from 0.
        number: u64,
        /// Expected by the vector.
        expected: Json,
        /// Decision found.
        got: Json,
    },
    /// A counter; looked at when all decisions and completions agree.
    Counter {
        /// Its name.
        counter: String,
        /// Expected by the vector: a number, or a list of numbers.
        expected: Json,
        /// Counted in the run.
        got: Json,
    },
    /// The completion of a request; looked at when all decisions agree.
    Completion {
        /// Number of the request, from 0.
        request: u64,
        /// Expected by the vector, nanoseconds.
        expected: u64,
        /// When it completed, nanoseconds.
        got: u64,
    },
    /// A background write; compared when all decisions agree.
    Idle {
        /// Number of the page among them, from 0.
        write: u64,
        /// Expected by the vector: instant, nanoseconds, and page; none if there are no more.
        expected: Option<[u64; 2]>,
        /// Background write of the run.
        got: Option<[u64; 2]>,
    },
    /// The counts after an operation of an FTL.
    Step {
        /// Number of the operation, from 0.
        operation: u64,
        /// `r` or `w`.
        op: char,
        /// Its page.
        page: u64,
        /// Expected by the vector: pages read, pages programmed, blocks erased.
        expected: [u64; 3],
        /// Counted in the run.
        got: [u64; 3],
    },
    /// A list of the policy's at the end; looked at when all decisions and counters agree.
    Final {
        /// Its name.
        list: String,
        /// Expected by the vector.
        expected: Json,
        /// List that the policy shows.
        got: Json,
    },
    /// The policy could not go on.
    Fault {
        /// Number of the access, from 0, if it happened in one.
        access: Option<u64>,
        /// The fault, as a sentence.
        message: String,
    },
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Decision { access, op, page, expected, got } => {
                write!(f, "access {access} ({op} {page}): expected {expected}, got {got}")
            }
            Found::Object { step, number, expected, got } => {
                write!(f, "{step} {number}: expected {expected}, got {got}")
            }
            Found::Counter { counter, expected, got } => {
                write!(f, "{counter}: expected {expected}, got {got}")
            }
            Found::Final { list, expected, got } => {
                write!(f, "final {list}: expected {expected}, got {got}")
            }
            Found::Completion { request, expected, got } => {
                write!(f, "request {request}: expected to complete at {expected} ns, got {got} ns")
            }
            Found::Idle { write, expected, got } => {
                let told = |page: &Option<[u64; 2]>| match page {
                    Some([at, page]) => format!("page {page} at {at} ns"),
                    None => "none".into(),
                };
                write!(f, "idle write {write}: expected {}, got {}", told(expected), told(got))
            }
            Found::Step { operation, op, page, expected, got } => write!(
                f,
                "operation {operation} ({op} {page}): expected {} reads, {} programs and {} \
                 erases after it, got {}, {} and {}",
                expected[0], expected[1], expected[2], got[0], got[1], got[2]
            ),
            Found::Fault { access: Some(access), message } => {
                write!(f, "access {access}: {message}")
            }
            Found::Fault { access: None, message } => f.write_str(message),
        }
    }
}

impl Found {
    /// A counter that differs.
    pub(super) fn counter(name: &str, expected: &Json, got: &Json) -> Found {
        Found::Counter { counter: name.into(), expected: expected.clone(), got: got.clone() }
    }
}

impl From<&Fault> for Found {
    fn from(fault: &Fault) -> Self {
        Found::Fault { access: fault.access, message: fault.message.clone() }
    }
}

/// Where an outcome first differs from what the vector says, decisions before counters.
pub(super) fn first_difference(vector: &PageVector, outcome: &Outcome) -> Option<Found> {
    let expected = vector.decisions.iter().flatten();
    let mut pairs = expected.zip(&outcome.decisions).enumerate();
    if let Some((i, (expected, got))) = pairs.find(|(_, (expected, got))| !expected.agrees(got)) {
        let (op, page) = vector.accesses[i];
        return Some(Found::Decision {
            access: i as u64,
            op: if op.is_write() { 'w' } else { 'r' },
            page,
            expected: expected.clone(),
            got: got.clone(),
        });
    }
    let expected = vector.counters?.0;
    let got = outcome.counters.0;
    let at = (0..COUNTERS.len()).find(|&k| expected[k] != got[k])?;
    Some(Found::Counter {
        counter: COUNTERS[at].into(),
        expected: expected[at].into(),
        got: got[at].into(),
    })
}

/// First access whose decision differs.
pub(super) fn decision_difference(
    expected: Option<&[Expected]>,
    got: &[AccessDecision],
) -> Option<Found> {
    let mut pairs = expected?.iter().zip(got);
    let (expected, got) = pairs.find(|(expected, got)| !expected.agrees(&got.decision))?;
    let AccessDecision { index: access, op, page, decision } = got.clone();
    Some(Found::Decision { access, op, page, expected: expected.clone(), got: decision })
}

/// First counter that is not the `same`. A counter that the vector does not list is 0.
pub(super) fn counter_difference(
    expected: Option<&Map<String, Json>>,
    got: &Map<String, Json>,
    same: impl Fn(&Json, &Json) -> bool,
) -> Option<Found> {
    let (expected, zero) = (expected?, Json::from(0));
    got.iter().find_map(|(name, got)| {
        let expected = expected.get(name).unwrap_or(&zero);
        (!same(expected, got)).then(|| Found::counter(name, expected, got))
    })
}

/// Notes expected names that the outcome does not have.
pub(super) fn note_missing(
    keys: &mut Vec<String>,
    set: &str,
    expected: Option<&Map<String, Json>>,
    got: &Map<String, Json>,
) {
    for name in expected.iter().flat_map(|names| names.keys()) {
        if !got.contains_key(name) {
            note(keys, format!("{set}.{name}"));
        }
    }
}
