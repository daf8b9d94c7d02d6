//! Text that looks like a trace and is none that Destage reads, called by its name.

use serde_json::Value;

use crate::format::Sample;
use crate::text::never_written;

/// Lines that are looked at.
const LINES: usize = 50;

/// Name of the text, and advice; none if it may be a table of requests.
pub(super) fn other(sample: &Sample) -> Option<(String, String)> {
    json_lines(sample).or_else(|| memory(sample)).or_else(|| cut_text(sample))
}

/// Lines of text, then NUL bytes: blocks of a file that were allocated and never written.
fn cut_text(sample: &Sample) -> Option<(String, String)> {
    let at = memchr::memchr(0, sample.bytes)?;
    let text = Sample { bytes: &sample.bytes[..at], ..*sample };
    let lines = memchr::memchr_iter(b'\n', text.bytes).count();
    if lines < 2 || !super::is_prose(&text) {
        return None;
    }
    Some((
        format!("this is text with NUL bytes from byte {at} on, behind {lines} whole lines"),
        never_written(lines as u64),
    ))
}

/// Objects of JSON, one a line.
fn json_lines(sample: &Sample) -> Option<(String, String)> {
    let lines = sample.lines(LINES);
    let objects: Vec<Value> =
        lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let keys: Vec<&str> = match objects.first()? {
        Value::Object(object) => object.keys().map(String::as_str).collect(),
        _ => return None,
    };
    if objects.len() * 2 <= lines.len() {
        return None;
    }
    let message = format!("these are JSON lines with the keys {}", keys.join(", "));
    let hint = format!(
        "key-value blocks (hash_ids) and experts (topk_ids) are read from JSON lines; write others \
         as a table, for example\n    jq -r '[{}] | @csv' FILE > FILE.csv",
        keys.iter().map(|key| format!(".{}", quoted(key))).collect::<Vec<_>>().join(", ")
    );
    Some((message, hint))
}

/// A key as jq has it behind a point.
fn quoted(key: &str) -> String {
    let plain = key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    if plain { key.to_owned() } else { format!("\"{key}\"") }
}

/// Accesses of a program to its memory: Valgrind's lackey, Pin and others print an address in
/// hexadecimal, with a letter before or behind it.
fn memory(sample: &Sample) -> Option<(String, String)> {
    let lines = sample.lines(LINES);
    let fits = lines.iter().filter(|line| is_access(line)).count();
    (fits * 2 > lines.len()).then(|| {
        (
            "these are memory accesses of a program, not requests to a device".to_owned(),
            "record the requests of the device (`destage record`, blktrace), or those of the page \
             cache"
                .to_owned(),
        )
    })
}

fn is_access(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(line) else { return false };
    let mut words = text.split([' ', '\t', ',', ':']).filter(|word| !word.is_empty()).peekable();
    let is_letter = |word: &&str| matches!(*word, "I" | "L" | "S" | "M" | "R" | "W" | "r" | "w");
    let is_hex = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let letters = word.len() > digits.len() || digits.bytes().any(|c| c.is_ascii_alphabetic());
        letters && digits.len() >= 4 && digits.bytes().all(|c| c.is_ascii_hexdigit())
    };
    let mut letters = usize::from(words.next_if(is_letter).is_some());
    // Pin prints the address of the instruction first.
    let mut addresses = 0;
    for word in words {
        if is_hex(word) {
            addresses += 1;
        } else if is_letter(&word) {
            letters += 1;
        } else if word.parse::<u64>().is_ok_and(|bytes| bytes > 64) || word.parse::<u64>().is_err()
        {
            return false;
        }
    }
    letters == 1 && matches!(addresses, 1 | 2)
}
