//! Destage in a browser: a trace is read, curves are drawn and policies are stepped by the same
//! code as on the command line, compiled to WebAssembly.
//!
//! ```text
//!  question    what may be asked, and the trace that is open
//!  catalogue   policies and trace formats
//!  opened      a trace: read, decoded, described
//!  curves      a policy over cache sizes; the sentence "policy or working set?"
//!  steps       a policy access by access, with its lists
//! ```
//!
//! The interface is that of C: the caller writes at the address that [`destage_input`] returns,
//! calls, and reads the answer at [`destage_answer`]. `destage_put` keeps a file in memory,
//! [`destage_ask`] answers a question. One thread calls.

mod catalogue;
mod curves;
mod opened;
mod question;
mod steps;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use question::answer;

/// Bytes that the caller writes.
static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The last answer.
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn bytes_of(place: &'static Mutex<Vec<u8>>) -> MutexGuard<'static, Vec<u8>> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for `bytes` bytes, which the caller fills before the next call; its address.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn destage_input(bytes: usize) -> *mut u8 {
    let mut input = bytes_of(&INPUT);
    input.clear();
    input.resize(bytes, 0);
    input.as_mut_ptr()
}

/// Takes a file: the input is its name, of `name_bytes` bytes, and then its content. Only in a
/// browser; elsewhere questions name files of the system.
#[cfg(target_family = "wasm")]
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn destage_put(name_bytes: usize) {
    let input = std::mem::take(&mut *bytes_of(&INPUT));
    let (name, content) = input.split_at(name_bytes.min(input.len()));
    destage_trace::in_memory::put(String::from_utf8_lossy(name).into_owned().into(), content);
}

/// Drops the files that were put.
#[cfg(target_family = "wasm")]
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn destage_clear() {
    destage_trace::in_memory::clear();
}

/// Answers the question in the input, JSON; the length of the answer, bytes.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn destage_ask() -> usize {
    // A panic ends the module, and its message is the answer.
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| {
        let told = serde_json::json!({ "error": format!("internal error: {panic}") });
        *bytes_of(&ANSWER) = told.to_string().into_bytes();
    }));
    let input = std::mem::take(&mut *bytes_of(&INPUT));
    let answer = answer(&input).into_bytes();
    let length = answer.len();
    *bytes_of(&ANSWER) = answer;
    length
}

/// Address of the last answer.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn destage_answer() -> *const u8 {
    bytes_of(&ANSWER).as_ptr()
}

/// Length of the last answer, bytes: after a panic the one way to know it.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn destage_answer_bytes() -> usize {
    bytes_of(&ANSWER).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_goes_in_and_its_answer_comes_out_by_address() {
        let question = br#"{"ask":"steps","policy":"lru","cache":"2p","accesses":"r1"}"#;
        let at = destage_input(question.len());
        // SAFETY: there is room for the question at this address, and no one else writes there.
        unsafe { std::slice::from_raw_parts_mut(at, question.len()) }.copy_from_slice(question);
        let length = destage_ask();
        assert_eq!(destage_answer_bytes(), length);
        // SAFETY: the answer is of this length, and stays until the next question.
        let told = unsafe { std::slice::from_raw_parts(destage_answer(), length) };
        assert_eq!(told, answer(question).as_bytes());
        assert!(told.starts_with(b"{\"ok\":"), "{}", String::from_utf8_lossy(told));
    }
}
