//! `ms-etw`: Microsoft production and enterprise servers (SNIA 130, 149, 158), text of xperf.
//!
//! ```text
//! BeginHeader
//!             DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr, ...
//! EndHeader
//!             DiskRead,       2310,             demo.exe ( 412),        77, 0x0000fa10b2c0, ...
//! ```
//! The header names the columns of every event; columns are found by name, since newer exports have
//! one for the CPU. Without a header the old order is assumed, and a note says so. Times in
//! microseconds from the start of the file; ByteOffset and IOSize hexadecimal with `0x`; DiskNum is
//! the device. An event is logged on completion: arrival is TimeStamp minus ElapsedTime
//! (`etw_time`). All other events are ignored; DiskFlush becomes a flush if `etw_flush` is set and
//! the header names it.
//!
//! Readings. A line behind the header that holds `Trace Start: <FILETIME>` gives the file its place
//! in absolute time; without it every file starts at 0. FileName is last, quoted and may contain
//! commas: a line is split only as far as the columns need.

use super::text_format::*;
use crate::options::EtwTime;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    has_response: true,
    confirmed: false,
    ..Format::text(
        "ms-etw",
        "Microsoft servers, xperf text",
        "DiskRead|DiskWrite events, columns by header; microseconds, hexadecimal bytes; device \
         DiskNum",
        detect,
        open,
    )
};

/// Columns of the oldest exports, behind the event's name.
const OLD_ORDER: UsedColumns =
    UsedColumns { time: 1, elapsed: Some(7), disk: Some(8), extent: Some([5, 6]) };

type At = std::ops::Range<usize>;

/// Positions of the columns used, from 0, the event's name included.
#[derive(Clone, Copy, Debug)]
struct UsedColumns {
    time: usize,
    elapsed: Option<usize>,
    disk: Option<usize>,
    /// ByteOffset and IOSize.
    extent: Option<[usize; 2]>,
}

impl UsedColumns {
    fn last(&self) -> usize {
        let columns =
            [Some(self.time), self.elapsed, self.disk, self.extent.map(|e| e[0].max(e[1]))];
        columns.into_iter().flatten().max().unwrap_or(0)
    }

    /// Positions named by a line of the header.
    fn named(line: &[u8]) -> Option<UsedColumns> {
        let names: Vec<&[u8]> = line.split(|&c| c == b',').map(<[u8]>::trim_ascii).collect();
        let find = |name: &[u8]| names.iter().position(|n| n.eq_ignore_ascii_case(name));
        Some(UsedColumns {
            time: find(b"TimeStamp")?,
            elapsed: find(b"ElapsedTime"),
            disk: find(b"DiskNum"),
            extent: find(b"ByteOffset").zip(find(b"IOSize")).map(|(offset, size)| [offset, size]),
        })
    }
}

fn detect(sample: &Sample) -> Verdict {
    if !sample.is_text() {
        return Verdict::No;
    }
    if sample.lines(20).iter().any(|l| l.trim_ascii() == b"BeginHeader") {
        return Verdict::Yes("it has xperf's BeginHeader".to_owned());
    }
    most_lines(sample, "events of xperf", |line| {
        let head = line.trim_ascii_start();
        (head.starts_with(b"DiskRead,") || head.starts_with(b"DiskWrite,"))
            && memchr::memmem::find(line, b"0x").is_some()
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let parser = Etw {
        stage: Stage::Before,
        columns: [None; 3],
        start_ns: 0,
        completion: opening.options.etw_time == EtwTime::Completion,
        flushes: opening.options.etw_flush,
    };
    TextReader::boxed(input, opening, parser)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Header,
    Events,
}

#[derive(Clone)]
struct Etw {
    stage: Stage,
    /// Columns of DiskRead, DiskWrite, DiskFlush.
    columns: [Option<UsedColumns>; 3],
    /// Time of `Trace Start`, ns.
    start_ns: u64,
    completion: bool,
    flushes: bool,
}

const EVENTS: [&[u8]; 3] = [b"DiskRead", b"DiskWrite", b"DiskFlush"];

impl LineParser for Etw {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let text = line.trim_ascii();
        if text == b"BeginHeader" {
            self.stage = Stage::Header;
            return Ok(Parsed::Skip(Skipped::Header));
        }
        let first = line.iter().position(|&c| c == b',').unwrap_or(line.len());
        let name = trim(line, 0..first);
        let event = EVENTS.iter().position(|e| *e == &line[name.clone()]);
        if self.stage == Stage::Header {
            if text == b"EndHeader" {
                self.stage = Stage::Events;
            } else if let Some(event) = event {
                self.columns[event] = UsedColumns::named(line);
            }
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if let Some(at) = memchr::memmem::find(line, b"Trace Start:") {
            return self.trace_start(line, at + b"Trace Start:".len());
        }
        let Some(event) = event.filter(|&e| e < 2 || self.flushes && self.columns[2].is_some())
        else {
            return other_event(line, name, first);
        };
        if self.stage == Stage::Before && event < 2 {
            context.tally.note("ms-etw: no header; the oldest order of columns is assumed");
            self.columns = [Some(OLD_ORDER), Some(OLD_ORDER), None];
            self.stage = Stage::Events;
        }
        // Reads and writes have the same columns: a shortened header may name only one of them.
        let other = if event < 2 { self.columns[1 - event] } else { None };
        let Some(wanted) = self.columns[event].or(other) else {
            let message =
                "this event's columns are not named in the header, or lack TimeStamp".to_owned();
            return Err(Fault { category: Category::UnknownOp, field: name, message });
        };
        self.request(line, event, wanted, context)
    }
}

impl Etw {
    fn trace_start(&mut self, line: &[u8], from: usize) -> Line {
        let to = line[from..].iter().position(|&c| c == b',').map_or(line.len(), |n| from + n);
        let at = trim(line, from..to);
        let ticks = whole(line, at.clone(), "Trace Start", "FILETIME ticks", Category::BadTime)?;
        self.start_ns = ticks
            .checked_mul(TICK_NS)
            .ok_or_else(|| unexpected(line, at, Category::BadTime, "Trace Start", "a FILETIME"))?;
        Ok(Parsed::Skip(Skipped::Header))
    }

    /// When a request arrived, and how long it took, ns.
    fn times(
        &self,
        line: &[u8],
        cells: &[std::ops::Range<usize>],
        wanted: &UsedColumns,
        context: &mut Context,
    ) -> std::result::Result<(u64, u64), Fault> {
        let time = |i: usize, name: &str| {
            fields::time(line, cells[i].clone(), name, "microseconds", MICROSECOND_NS)
        };
        let stamp_ns = time(wanted.time, "TimeStamp")?;
        let elapsed_ns = wanted.elapsed.map_or(Ok(0), |i| time(i, "ElapsedTime"))?;
        let done_ns = self.start_ns.checked_add(stamp_ns).ok_or_else(|| {
            let at = cells[wanted.time].clone();
            unexpected(line, at, Category::BadTime, "TimeStamp", "microseconds within 2^64 ns")
        })?;
        if self.completion {
            return Ok((done_ns, elapsed_ns));
        }
        if elapsed_ns > done_ns {
            let note = "ms-etw: requests issued before the trace began are put at its start";
            context.tally.note(note);
        }
        Ok((done_ns.saturating_sub(elapsed_ns), elapsed_ns))
    }

    fn request(
        &self,
        line: &[u8],
        event: usize,
        wanted: UsedColumns,
        context: &mut Context,
    ) -> Line {
        let cells = cells(line, wanted.last() + 1);
        if cells.len() <= wanted.last() {
            return Err(Fault::line(
                Category::TooFewFields,
                format!("expected at least {} fields, got {}", wanted.last() + 1, cells.len()),
            ));
        }
        let (time_ns, elapsed_ns) = self.times(line, &cells, &wanted, context)?;
        let disk = match wanted.disk {
            Some(i) => whole(line, cells[i].clone(), "DiskNum", "the disk", Category::BadDevice)?,
            None => 0,
        };
        let op = [RecordOp::Read, RecordOp::Write, RecordOp::Flush][event];
        let (mut offset_bytes, mut length_bytes) = (0, 0);
        if op != RecordOp::Flush {
            let Some([offset, size]) = wanted.extent else {
                return Err(Fault::line(
                    Category::TooFewFields,
                    "the header names no ByteOffset and IOSize for this event",
                ));
            };
            offset_bytes = hexadecimal(line, cells[offset].clone(), "ByteOffset")?;
            length_bytes = hexadecimal(line, cells[size].clone(), "IOSize")?;
            context.extent_field = cells[size].clone();
        }
        let device = context.devices.index(disk.to_string().as_bytes());
        Ok(Parsed::Record(Record {
            time_ns,
            offset_bytes,
            length_bytes,
            response_ns: elapsed_ns,
            device,
            op,
            ..Record::EMPTY
        }))
    }
}

/// The first `count` cells of a line, the last of them up to its own comma.
fn cells(line: &[u8], count: usize) -> Vec<At> {
    let mut cells = Vec::with_capacity(count);
    let mut start = 0;
    while cells.len() < count && start <= line.len() {
        let end = memchr::memchr(b',', &line[start..]).map_or(line.len(), |n| start + n);
        cells.push(trim(line, start..end));
        start = end + 1;
    }
    cells
}

fn hexadecimal(line: &[u8], at: At, name: &str) -> std::result::Result<u64, Fault> {
    parse_hex(&line[at.clone()], true).map_err(|_| {
        unexpected(line, at, Category::BadNumber, name, "a hexadecimal number with 0x, of bytes")
    })
}

/// Any event but those read. A name is letters, digits and few signs; anything else is no event.
fn other_event(line: &[u8], name: At, first_comma: usize) -> Line {
    let text = &line[name.clone()];
    let plain = |c: &u8| c.is_ascii_alphanumeric() || b"-_/. :()".contains(c);
    if first_comma == line.len() {
        return Err(Fault::line(
            Category::TooFewFields,
            "expected an event's name and its columns, separated by commas",
        ));
    }
    if text.is_empty()
        || !text.iter().all(plain)
        || !text[0].is_ascii_alphabetic()
        || parse_u64(text).is_ok()
    {
        return Err(unexpected(line, name, Category::UnknownOp, "event", "the name of an event"));
    }
    Ok(Parsed::Skip(Skipped::Event(String::from_utf8_lossy(text).into_owned())))
}
