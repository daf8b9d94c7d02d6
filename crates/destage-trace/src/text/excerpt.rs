//! Excerpt of a line, for a message.

use destage_keys::printable;

/// Bytes of a line that a message shows.
const EXCERPT_BYTES: usize = 160;

/// The line cut to [`EXCERPT_BYTES`] around `field`, and the carets under the field (none if the
/// whole line is meant).
pub(super) fn excerpt(line: &[u8], field: std::ops::Range<usize>) -> (String, String) {
    let before = EXCERPT_BYTES.saturating_sub(field.len()) / 2;
    let start = field.start.saturating_sub(before).min(line.len().saturating_sub(EXCERPT_BYTES));
    let end = (start + EXCERPT_BYTES).min(line.len());
    let show = |range: std::ops::Range<usize>| printable(&line[range]).replace("\\x09", " ");
    let shown = show(start..end);
    if field.is_empty() && field.start == 0 {
        return (shown, String::new());
    }
    let (from, to) = (field.start.clamp(start, end), field.end.clamp(start, end));
    let blanks = show(start..from).chars().count();
    let carets = show(from..to).chars().count().max(1);
    (shown, format!("{}{}", " ".repeat(blanks), "^".repeat(carets)))
}
