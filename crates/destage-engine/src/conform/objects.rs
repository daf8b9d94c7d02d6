//! Decisions and counters as JSON objects: compared key by key, of vectors of two tiers and of
//! language models.

use super::read::note;
use super::report::Found;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// Keys of a decision that repeat its access for the human reader.
const REPEATED: [&str; 3] = ["index", "op", "page"];

/// Outcome of a run of a vector, in the format of the vectors.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ObjectOutcome {
    /// One per access or request.
    pub decisions: Vec<Map<String, Json>>,
    /// Every counter of the document.
    pub counters: Map<String, Json>,
}

/// Expected outcome of a vector; absent parts are not compared.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expectation {
    pub(super) decisions: Option<Vec<Map<String, Json>>>,
    pub(super) counters: Option<Map<String, Json>>,
    /// Keys that are not part of the layout.
    pub(super) unknown_keys: Vec<String>,
}

impl Expectation {
    /// Where an outcome first differs, decisions before counters. A counter that is not listed is
    /// 0. `step` is what a decision is about.
    pub(super) fn first_difference(
        &self,
        outcome: &ObjectOutcome,
        step: &'static str,
    ) -> Option<Found> {
        let expected = self.decisions.iter().flatten();
        for (number, (expected, got)) in expected.zip(&outcome.decisions).enumerate() {
            let differs = |(key, value): (&String, &Json)| got.get(key).is_some_and(|g| g != value);
            if expected.iter().any(differs) {
                return Some(Found::Object {
                    step,
                    number: number as u64,
                    expected: expected.clone().into(),
                    got: got.clone().into(),
                });
            }
        }
        let counters = self.counters.as_ref()?;
        let zero = Json::from(0);
        let expects = |name: &str| counters.get(name).unwrap_or(&zero);
        let (counter, got) = outcome.counters.iter().find(|(name, got)| expects(name) != *got)?;
        let (counter, expected, got) = (counter.clone(), expects(counter).clone(), got.clone());
        Some(Found::Counter { counter, expected, got })
    }

    /// Keys that were compared with nothing.
    pub(super) fn not_compared(&self, outcome: &ObjectOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        for (expected, got) in self.decisions.iter().flatten().zip(&outcome.decisions) {
            let known = |key: &str| got.contains_key(key) || REPEATED.contains(&key);
            let unknown = expected.keys().filter(|key| !known(key));
            unknown.for_each(|key| note(&mut keys, format!("decisions[].{key}")));
        }
        let counters = self.counters.iter().flatten().map(|(name, _)| name);
        let unknown = counters.filter(|name| !outcome.counters.contains_key(*name));
        unknown.for_each(|name| note(&mut keys, format!("counters.{name}")));
        keys
    }
}
