//! Questions: what may be asked, and the trace that is open.

use crate::{catalogue, curves, opened, steps};
use destage_trace::Trace;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// A question. Sizes, policies and reader options are spelled as on the command line.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    /// Policies, trace formats and this program's version.
    Catalogue,
    /// Opens one or several files as one trace; the questions below are about it.
    Open {
        files: Vec<String>,
        #[serde(default)]
        options: Map<String, Value>,
        #[serde(default)]
        page_size: Option<String>,
    },
    /// The frames of cache sizes.
    Sizes { cache: String },
    /// A policy at cache sizes.
    Points { policy: String, cache: String },
    /// LRU or MIN at every size, thinned out to at most `most`.
    Every { policy: String, most: usize },
    /// Hits and flash writes of several policies at a size, and what follows from them.
    Verdict { policies: Vec<String>, cache: String },
    /// A policy access by access.
    Steps { policy: String, cache: String, accesses: String },
    /// The first accesses of the open trace, as [`Question::Steps`] takes them.
    Head { accesses: usize },
}

/// The trace that was opened last.
static OPEN: Mutex<Option<Arc<Trace>>> = Mutex::new(None);

fn open_trace() -> Result<Arc<Trace>, String> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.clone().ok_or_else(|| "no trace is open: open one first".to_owned())
}

/// Answers a question: `{"ok": ...}` or `{"error": "..."}`.
pub fn answer(question: &[u8]) -> String {
    let asked = serde_json::from_slice(question).map_err(|e| format!("question: {e}"));
    match asked.and_then(found) {
        Ok(found) => json!({ "ok": found }).to_string(),
        Err(why) => json!({ "error": why }).to_string(),
    }
}

fn found(question: Question) -> Result<Value, String> {
    match question {
        Question::Catalogue => Ok(catalogue::all()),
        Question::Open { files, options, page_size } => {
            let (trace, facts) = opened::open(&files, &options, page_size.as_deref())?;
            *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(trace);
            Ok(facts)
        }
        Question::Sizes { cache } => {
            let sizes = curves::sizes(&*open_trace()?, &cache)?;
            serde_json::to_value(sizes).map_err(|e| e.to_string())
        }
        Question::Points { policy, cache } => curves::points(&*open_trace()?, &policy, &cache),
        Question::Every { policy, most } => curves::every(&*open_trace()?, &policy, most),
        Question::Verdict { policies, cache } => {
            curves::verdict(&*open_trace()?, &policies, &cache)
        }
        Question::Steps { policy, cache, accesses } => steps::steps(&policy, &cache, &accesses),
        Question::Head { accesses } => Ok(opened::head(&*open_trace()?, accesses).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_answered_is_an_error_with_the_reason() {
        for (question, part) in [
            ("{", "question: EOF"),
            (r#"{"ask":"tune"}"#, "unknown variant `tune`"),
            (r#"{"ask":"every","policy":"lru"}"#, "missing field `most`"),
            (r#"{"ask":"open","files":["gone.csv"]}"#, "gone.csv: no such file"),
            (r#"{"ask":"steps","policy":"min","cache":"4p","accesses":"r1"}"#, "the future"),
        ] {
            let told: Value = serde_json::from_str(&answer(question.as_bytes())).unwrap();
            let why = told["error"].as_str().expect("an error");
            assert!(why.contains(part), "{question}: {why}");
        }
    }
}
