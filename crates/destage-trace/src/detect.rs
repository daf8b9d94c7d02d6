//! Which format is this, and why.
//!
//! Every format looks at the first 64 KiB and answers yes, no or maybe with a reason
//! (`docs/spec/trace-formats.md` section 4). One yes decides. The file's name only breaks ties;
//! what is still open then is an error that lists the candidates with their reasons. Some things
//! that look like traces are known and refused with a hint.

mod draft;
mod other;

pub(crate) use draft::draft;

use std::sync::Arc;

use crate::error::{Location, Result, TraceError};
use crate::format::{
    Candidate, Facts, Format, FormatKind, Opening, Sample, Tally, Verdict,
    fields::{Fields, parse_u64},
};
use crate::formats::csv::{is_attached, is_export};
use crate::formats::{FORMATS, tracefs};
use crate::input::Input;
use crate::options::{OnError, ReaderOptions};
use crate::record::{DeviceTable, Record};
use crate::stream::doubts::{About, Sampled, sampled_doubts};
use destage_keys::printable;

/// Verdict of all formats together.
#[derive(Clone, Debug)]
pub enum Detected {
    /// One format.
    Known(&'static Format, String),
    /// Two yeses, or only maybes: best first.
    Open(Vec<Candidate>),
    /// No format fits.
    Unknown,
    /// Known, and not a trace that can be read: a message and a hint.
    Refused(&'static str, &'static str),
}

/// Asks every format.
pub fn detect(sample: &Sample) -> Detected {
    if let Some((message, hint)) = refused(sample) {
        return Detected::Refused(message, hint);
    }
    let (mut yes, mut maybe) = (Vec::new(), Vec::new());
    for format in FORMATS.iter().copied() {
        match (format.detect)(sample) {
            Verdict::Yes(why) => yes.push((format, why)),
            // Whatever its numbers would be: what people can read is not a guess at binary records.
            Verdict::Maybe(_) if format.kind != FormatKind::Text && is_prose(sample) => {}
            Verdict::Maybe(why) => maybe.push((format, why)),
            Verdict::No => {}
        }
    }
    let candidates = if yes.is_empty() { maybe } else { yes };
    let sure = candidates.len() == 1 && candidates.iter().all(|(f, _)| says_yes(f, sample));
    let mut named = candidates.iter().filter(|(format, _)| name_suggests(sample.name, format));
    match (named.next(), named.next()) {
        _ if sure => {
            let (format, why) =
                candidates.into_iter().next().unwrap_or((FORMATS[0], String::new()));
            Detected::Known(format, why)
        }
        (Some((format, why)), None) => {
            Detected::Known(format, format!("{why}, and its name says so"))
        }
        _ if candidates.is_empty() => Detected::Unknown,
        _ => Detected::Open(candidates),
    }
}

/// Only printable characters, tabs and line ends.
fn is_prose(sample: &Sample) -> bool {
    sample.bytes.iter().all(|&c| c >= b' ' && c != 0x7f || matches!(c, b'\t' | b'\r' | b'\n'))
}

fn says_yes(format: &Format, sample: &Sample) -> bool {
    matches!((format.detect)(sample), Verdict::Yes(_))
}

/// [`detect`], with everything but a known format as an error. What the options say already is in
/// the mapping that the error proposes.
pub fn require(sample: &Sample, options: &ReaderOptions) -> Result<Candidate> {
    let refuse = |message: String, hint: &str| {
        Err(TraceError::data(sample.name, Location::File, message).with_hint(hint))
    };
    match detect(sample) {
        Detected::Known(format, why) => match doubted(sample, format) {
            None => Ok((format, why)),
            Some(doubt) => {
                let message = format!(
                    "its format is not clear; it could be {} ({why}), but {doubt}",
                    format.name
                );
                let format = format!("if it is {}: --format {}", format.name, format.name);
                match draft(sample, options) {
                    Some(draft) => refuse(message, &format!("{draft}\n  {format}")),
                    None => refuse(message, &format),
                }
            }
        },
        Detected::Refused(message, hint) => refuse(message.to_owned(), hint),
        Detected::Unknown => {
            let plain = if sample.is_text() || sample.bytes.is_empty() {
                "name it with --format; `destage trace formats` lists all, csv reads any table"
            } else {
                "name it with --format; `destage trace formats` lists all, bin reads any table of \
                 records"
            };
            if let Some((message, hint)) = other::other(sample) {
                return refuse(message, &hint);
            }
            let draft = draft(sample, options);
            refuse(
                format!("no format fits: {}", looks_like(sample)),
                draft.as_deref().unwrap_or(plain),
            )
        }
        Detected::Open(candidates) => {
            let list: Vec<String> =
                candidates.iter().map(|(f, why)| format!("{} ({why})", f.name)).collect();
            let decides = "--format NAME decides";
            let message = format!("its format is not clear; it could be {}", list.join("; or "));
            match draft(sample, options).filter(|_| list.len() == 1) {
                Some(draft) => refuse(message, &format!("{decides}; {draft}")),
                None => refuse(message, decides),
            }
        }
    }
}

/// Why the first requests can hardly be of a format, though its columns fit.
fn doubted(sample: &Sample, format: &'static Format) -> Option<String> {
    if format.kind != FormatKind::Text || format.exact {
        return None;
    }
    let options = ReaderOptions::default();
    let lines = sample.lines(SAMPLE_LINES * 10).join(&b'\n');
    let read = read_lines(sample.name, lines, format, &options)?;
    if read.records.is_empty() {
        return read.why_none;
    }
    let judged = Sampled { devices: read.devices, zero_length: read.zero_length };
    let doubts = sampled_doubts(read.records, judged, format, read.facts, &options);
    let columns = doubts.into_iter().find(|doubt| doubt.about == About::Columns);
    columns.map(|doubt| doubt.cause)
}

/// Whether a file's name names the format or has a part that its files have.
fn name_suggests(name: &str, format: &Format) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.rsplit(['/', '!', '\\']).next().unwrap_or(&name);
    let plain = |text: &str| text.replace(['-', '_'], "");
    plain(name).contains(&plain(format.name))
        || format.name_parts.iter().any(|part| name.contains(part))
}

/// Files that are no traces of ours, though people try them.
fn refused(sample: &Sample) -> Option<(&'static str, &'static str)> {
    let bytes = sample.bytes;
    let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if wide || matches!(bytes, [a, 0, b, 0, ..] if a.is_ascii_graphic() && b.is_ascii_graphic()) {
        return Some((
            "the text is UTF-16; traces are read as ASCII or UTF-8",
            "convert it first, e.g. iconv -f UTF-16 -t UTF-8",
        ));
    }
    if !sample.is_text() {
        return None;
    }
    let lines = sample.lines(20);
    let first = lines.first()?;
    if first.trim_ascii_start().starts_with(b"{")
        && memchr::memmem::find(bytes, b"\"destage.results\"").is_some()
    {
        return Some((
            "these are results of destage, not a trace",
            "`destage report FILE` draws them, `destage rerun FILE` makes them again",
        ));
    }
    if first.starts_with(b"# tracer:") && (tracefs::FORMAT.detect)(sample) == Verdict::No {
        return Some((
            "this is text of tracefs without block events among its first lines",
            "record the events block:block_rq_issue and block:block_rq_complete, or use blktrace",
        ));
    }
    if is_attached(first) && !lines.iter().any(|line| is_export(line)) {
        return Some((
            "this is the output of a bpftrace script, whose columns are what its author prints",
            "record with bcc's biosnoop, or read the table in it with --format csv and columns",
        ));
    }
    if first.trim_ascii_start().starts_with(b"TIME(ms)") {
        return Some((
            "this is the output of bpftrace's biosnoop, whose columns are others than those of \
             bcc's",
            "record with bcc's biosnoop, or read it with --format csv and columns",
        ));
    }
    if first.starts_with(b"device_id,capacity") {
        return Some(("this is a table of device sizes, not a trace", "give the trace beside it"));
    }
    // time, value, direction, block size, offset[, priority]: a blank behind every comma.
    let fio_log = |line: &&[u8]| {
        let f = Fields::<6>::separated(line, b',');
        let blanks = memchr::memmem::find_iter(line, b", ").count();
        (4..=6).contains(&f.count)
            && blanks == f.count - 1
            && (0..4).all(|i| parse_u64(f.bytes(i)).is_ok())
            && matches!(f.bytes(2), b"0" | b"1" | b"2")
    };
    if lines.iter().all(fio_log) {
        return Some((
            "this is a bandwidth or latency log of fio (time, value, direction, ...), not a trace",
            "record the requests with fio --write_iolog=FILE",
        ));
    }
    None
}

/// Description of the beginning, for a message.
fn looks_like(sample: &Sample) -> String {
    if sample.bytes.is_empty() {
        return "the file is empty".to_owned();
    }
    match sample.lines(1).first() {
        Some(line) if sample.is_text() => {
            let shown = &line[..line.len().min(80)];
            format!("its first line is \"{}\"{}", printable(shown), columns_of(line))
        }
        None if sample.is_text() => "its first lines are blank".to_owned(),
        _ => {
            let head: Vec<String> =
                sample.bytes.iter().take(16).map(|b| format!("{b:02x}")).collect();
            format!("it is binary and begins with {}", head.join(" "))
        }
    }
}

/// Number of fields of a line, by the most frequent separator; empty if it has one.
fn columns_of(line: &[u8]) -> String {
    let marks = [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs"), (b'|', "bars")];
    let counted = marks.map(|(mark, word)| (Fields::<1>::separated(line, mark).count, word));
    let (fields, between) =
        counted.into_iter().max_by_key(|&(fields, _)| fields).unwrap_or_default();
    if fields > 1 { format!(" ({fields} fields between {between})") } else { String::new() }
}

/// The two formats nearest to a sample, but for `except`: those that recognise it first, then those
/// whose reader takes most of its records.
pub fn closest(sample: &Sample, except: &str) -> Vec<Candidate> {
    let text = sample.is_text();
    let mut ranked = Vec::new();
    for format in FORMATS.iter().copied().filter(|f| f.name != except && f.name != "csv") {
        let rank = match (format.detect)(sample) {
            Verdict::Yes(why) => Some((0, 0, why)),
            Verdict::Maybe(why) => Some((1, 0, why)),
            Verdict::No if text && format.kind == FormatKind::Text => {
                match share_read(sample, format) {
                    0 => None,
                    percent => {
                        Some((2, 100 - percent, format!("takes {percent} % of the first lines")))
                    }
                }
            }
            Verdict::No => None,
        };
        ranked.extend(rank.map(|(class, misses, why)| (class, misses, format, why)));
    }
    ranked.sort_by_key(|&(class, misses, ..)| (class, misses));
    ranked.into_iter().take(2).map(|(_, _, format, why)| (format, why)).collect()
}

/// Percentage of a text sample's first hundred lines that a format's reader takes as requests.
fn share_read(sample: &Sample, format: &'static Format) -> u64 {
    let count = sample.lines(SAMPLE_LINES).len() as u64;
    let read = try_sample(sample, format, ReaderOptions::default());
    read.map_or(0, |read| read.records.len() as u64) * 100 / count.max(1)
}

/// Lines of a sample that a reader is tried on.
const SAMPLE_LINES: usize = 100;

/// The first lines of a sample as a reader takes them.
fn try_sample(
    sample: &Sample,
    format: &'static Format,
    options: ReaderOptions,
) -> Option<ReadLines> {
    let lines = sample.lines(SAMPLE_LINES).join(&b'\n');
    read_lines(sample.name, lines, format, &options)
}

/// Some lines as a format reads them.
struct ReadLines {
    records: Vec<Record>,
    devices: u64,
    zero_length: u64,
    facts: Facts,
    /// The first malformed line, with its place.
    first: Option<String>,
    /// Why there is no record, though lines look like some.
    why_none: Option<String>,
}

/// Reads lines; `None` if the format needs an option.
fn read_lines(
    name: &str,
    lines: Vec<u8>,
    format: &'static Format,
    options: &ReaderOptions,
) -> Option<ReadLines> {
    let skipping = OnError::Skip;
    let options = Arc::new(ReaderOptions {
        on_error: skipping,
        max_errors: Some(u64::MAX),
        ..options.clone()
    });
    let mut tally = Tally::new(&options);
    let threads = Arc::default();
    let opening = Opening { options, format, detected: true, closest: None, draft: None, threads };
    let mut reader = (format.open)(Input::from_bytes(name, lines), &opening).ok()?;
    let (mut records, mut devices) = (Vec::new(), DeviceTable::new());
    while reader.fill(&mut records, &mut devices, &mut tally).unwrap_or(false) {}
    let malformed: u64 = tally.errors.values().map(|skips| skips.count).sum();
    let first = tally.errors.values().find_map(|skips| skips.first.first().cloned());
    let why_none = match (malformed, &first) {
        (1.., Some(first)) => {
            Some(format!("{malformed} of its first lines are malformed: {first}"))
        }
        _ if tally.zero_length > 0 => Some(format!(
            "{} of its first lines have length 0: is the column of the length another one?",
            tally.zero_length
        )),
        _ => None,
    };
    Some(ReadLines {
        records,
        devices: devices.len() as u64,
        zero_length: tally.zero_length,
        facts: reader.facts(),
        first,
        why_none,
    })
}
