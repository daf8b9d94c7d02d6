//! Names in messages: what a terminal would take for a command stays out of them.

/// Bytes as text for a message: printable UTF-8 stays, everything else becomes `\xNN`.
///
/// ```
/// assert_eq!(destage_keys::printable(b"a\x1b[31m\xff\n"), r"a\x1b[31m\xff\x0a");
/// ```
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                text.extend(c.to_string().bytes().map(|b| format!("\\x{b:02x}")));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().map(|b| format!("\\x{b:02x}")));
    }
    text
}
