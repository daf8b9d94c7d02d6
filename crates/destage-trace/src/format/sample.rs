//! The beginning of a trace, from which its format is detected.

use crate::error::Result;
use crate::input::Input;

/// Bytes that detection looks at.
pub const SAMPLE_BYTES: usize = 64 * 1024;

/// Verdict of a format on the first bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// This format, with the reason.
    Yes(String),
    /// Possibly this format, with the reason.
    Maybe(String),
    /// Another format.
    No,
}

/// The beginning of a trace, for detection.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Up to `SAMPLE_BYTES` bytes, decompressed.
    pub bytes: &'a [u8],
    /// Whether that is the whole file.
    pub whole: bool,
    /// Bytes of the whole file, decompressed, if known.
    pub size: Option<u64>,
    /// Name of the file in messages; only breaks ties.
    pub name: &'a str,
}

impl<'a> Sample<'a> {
    /// The sample of an input that has consumed nothing yet.
    pub fn of(input: &'a mut Input) -> Result<Sample<'a>> {
        input.ensure(SAMPLE_BYTES)?;
        let input = &*input;
        let window = input.window();
        let bytes = &window[..window.len().min(SAMPLE_BYTES)];
        let whole = input.at_end() && bytes.len() == window.len();
        let size = input.size().or(whole.then_some(bytes.len() as u64));
        Ok(Sample { bytes, whole, size, name: input.name() })
    }

    /// Complete lines of the sample without their ends, blank ones and a byte-order mark left out;
    /// at most `count`. The last line counts as complete if the sample is the whole file.
    pub fn lines(&self, count: usize) -> Vec<&'a [u8]> {
        let mut lines = Vec::new();
        let mut rest = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.bytes);
        while lines.len() < count {
            let line = match memchr::memchr(b'\n', rest) {
                Some(end) => {
                    let line = &rest[..end];
                    rest = &rest[end + 1..];
                    line
                }
                None if self.whole && !rest.is_empty() => std::mem::take(&mut rest),
                None => break,
            };
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.trim_ascii().is_empty() {
                lines.push(line);
            }
        }
        lines
    }

    /// Number of the line, from 1 on, that one of [`Self::lines`] is.
    pub fn line_number(&self, line: &[u8]) -> usize {
        let at = (line.as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        memchr::memchr_iter(b'\n', &self.bytes[..at.min(self.bytes.len())]).count() + 1
    }

    /// Whether it can be text at all: no NUL byte.
    pub fn is_text(&self) -> bool {
        !self.bytes.is_empty() && memchr::memchr(0, self.bytes).is_none()
    }
}

/// Counts, among the first hundred lines, those that `fits`; a text format is recognised if more
/// than half do, so that one bad line does not hide it.
pub(crate) fn most_lines(sample: &Sample, what: &str, fits: impl Fn(&[u8]) -> bool) -> Verdict {
    if !sample.is_text() {
        return Verdict::No;
    }
    let lines = sample.lines(100);
    let fitting = lines.iter().filter(|line| fits(line)).count();
    if fitting * 2 > lines.len() {
        Verdict::Yes(format!("{fitting} of the first {} lines are {what}", lines.len()))
    } else {
        Verdict::No
    }
}
