//! Decisions and counters as JSON objects: compared key by key, of vectors of two tiers and of
//! language models.

use super::read::note;
use super::report::{Found, counter_difference, note_missing};
use destage_core::Nanos;
use destage_replay::error::RunError;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// Keys of a decision that repeat its access for the human reader.
const REPEATED: [&str; 3] = ["index", "op", "page"];

/// Outcome of a run of a vector, in the format of the vectors.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ObjectOutcome {
    /// One per access or request.
    pub decisions: Vec<Map<String, Json>>,
    /// One per request, with a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions_ns: Option<Vec<Nanos>>,
    /// Every counter of the document.
    pub counters: Map<String, Json>,
}

/// A vector whose decisions are objects.
pub(super) trait ObjectVector {
    /// Name of the vector; empty if it has none.
    fn name(&self) -> &str;

    /// Subject of the vector, for messages: `two tiers`, `a language model`.
    fn of(&self) -> &'static str;

    /// The policies of its tiers.
    fn policies(&self) -> String;

    /// Number of page accesses.
    fn accesses(&self) -> u64;

    /// Expected outcome.
    fn expected(&self) -> &Expectation;

    /// Runs it with tier 1 over dense ids, then over a hash map.
    fn run(&self) -> Result<[ObjectOutcome; 2], RunError>;
}

/// Expected outcome of a vector; absent parts are not compared.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expectation {
    /// Step that a decision belongs to: `access` or `request`.
    pub(super) step: &'static str,
    pub(super) decisions: Option<Vec<Map<String, Json>>>,
    pub(super) completions_ns: Option<Vec<Nanos>>,
    pub(super) counters: Option<Map<String, Json>>,
    /// Keys that are not part of the layout.
    pub(super) unknown_keys: Vec<String>,
}

impl Expectation {
    /// Where an outcome first differs: decisions, completions, counters. A counter that is not
    /// listed is 0.
    pub(super) fn first_difference(&self, outcome: &ObjectOutcome) -> Option<Found> {
        let expected = self.decisions.iter().flatten();
        for (number, (expected, got)) in expected.zip(&outcome.decisions).enumerate() {
            let differs = |(key, value): (&String, &Json)| got.get(key).is_some_and(|g| g != value);
            if expected.iter().any(differs) {
                return Some(Found::Object {
                    step: self.step,
                    number: number as u64,
                    expected: expected.clone().into(),
                    got: got.clone().into(),
                });
            }
        }
        let expected = self.completions_ns.iter().flatten();
        let mut pairs = expected.zip(outcome.completions_ns.iter().flatten()).enumerate();
        if let Some((request, (&expected, &got))) = pairs.find(|(_, (e, got))| e != got) {
            return Some(Found::Completion { request: request as u64, expected, got });
        }
        counter_difference(self.counters.as_ref(), &outcome.counters, PartialEq::eq)
    }

    /// Keys that were compared with nothing.
    pub(super) fn not_compared(&self, outcome: &ObjectOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        for (expected, got) in self.decisions.iter().flatten().zip(&outcome.decisions) {
            let known = |key: &str| got.contains_key(key) || REPEATED.contains(&key);
            let unknown = expected.keys().filter(|key| !known(key));
            unknown.for_each(|key| note(&mut keys, format!("decisions[].{key}")));
        }
        note_missing(&mut keys, "counters", self.counters.as_ref(), &outcome.counters);
        keys
    }
}
