//! One line of a text format.

use crate::format::{Facts, Fault, Parsed, Tally};
use crate::record::{DeviceTable, Record};

/// Longest line, in bytes, without its end.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A text format: one line becomes a record.
pub trait LineParser: Clone + Send + 'static {
    /// Takes one ordinary line, its end included, from the head of `window`: the record and the
    /// bytes used. `None` leaves the line to [`LineParser::line`]; a line that `line` would not
    /// take must not be taken here either.
    #[inline(always)]
    fn quick(&mut self, _window: &[u8]) -> Option<(Record, usize)> {
        None
    }

    /// Parses one line without its end. It is neither blank nor does it hold NUL or CR.
    fn line(&mut self, line: &[u8], context: &mut Context) -> std::result::Result<Parsed, Fault>;

    /// Whether lines can be parsed on several threads: no line's meaning, nor the file's in the
    /// end, depends on the lines before it.
    const PARALLEL: bool = false;

    /// A parser for other lines of the same file on another thread, which has met no device yet.
    fn parallel(&self) -> Option<Self> {
        Self::PARALLEL.then(|| self.clone())
    }

    /// As [`RecordReader::facts`](crate::RecordReader::facts).
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// The end of the file: warnings that need all of it.
    fn finish(&mut self, _context: &mut Context) {}
}

/// State that a line parser uses beside the line.
pub struct Context<'a> {
    /// Names become indices.
    pub devices: &'a mut DeviceTable,
    /// Notes and warnings.
    pub tally: &'a mut Tally,
    /// Device name for formats without one.
    pub file_device: &'a str,
    /// Set to the field that an oversized or out-of-range extent is blamed on.
    pub extent_field: std::ops::Range<usize>,
}

/// Asserts that the quick path of a parser takes a line, with what follows it, as the careful one
/// does, which teaches it the devices; and that it takes a `plain` line if the careful one does.
#[cfg(test)]
pub(crate) fn assert_paths_agree(mut parser: impl LineParser, line: &str, tail: &str, plain: bool) {
    let window = format!("{line}\n{tail}\0\0\0\0\0\0\0\0");
    assert_eq!(parser.quick(window.as_bytes()), None, "no device is known");
    let (mut devices, mut tally) = (DeviceTable::new(), Tally::default());
    let mut context =
        Context { devices: &mut devices, tally: &mut tally, file_device: "x", extent_field: 0..0 };
    let text = line.strip_suffix('\r').unwrap_or(line);
    let careful = parser.line(text.as_bytes(), &mut context);
    match parser.quick(window.as_bytes()) {
        Some((record, used)) => {
            assert_eq!(careful, Ok(Parsed::Record(record)));
            assert_eq!(used, line.len() + 1);
        }
        None => assert!(!plain || careful.is_err(), "an ordinary line takes the quick path"),
    }
}
