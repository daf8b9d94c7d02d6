//! Options as a user types them on the command line.

use destage_keys::printable;

/// Keys and values as flags: `--time-unit us --offset-unit byte`.
pub(crate) fn flags<'a>(settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let flag = |(key, value): (&str, &str)| format!("--{} {}", key.replace('_', "-"), shell(value));
    settings.into_iter().map(flag).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub(crate) fn shell(text: &str) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"_-./=,:%+@".contains(&c);
    let text = printable(text.as_bytes());
    let is_plain = !text.is_empty() && text.bytes().all(plain);
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
