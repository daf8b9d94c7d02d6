//! `tracefs`: the kernel's block events as text, from `trace_pipe`, `trace-cmd report` or `perf
//! script`.
//!
//! ```text
//!     fio-1234  [003] d..1.  1234.567890: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [fio]
//!     fio  1234 [003]  1234.577890:  block:block_rq_issue: 259,0 R 16384 () 81920 + 32 [fio]
//! ```
//! Whatever a kernel or tool prints before it, the time in seconds stands in front of the event's
//! name, and behind that `major,minor rwbs`, then `sector + sectors` before the process in
//! brackets. Exactly one event is the request (`event`): block_rq_issue (D), block_bio_queue (Q) or
//! block_rq_complete (C). Other events are ignored by name. Sectors of 512 bytes; rwbs as in
//! `blkparse`. `[LOST n EVENTS]` becomes a warning.

use super::blkparse::{Rwbs, rwbs};
use super::text_format::*;
use crate::options::Event;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    layered: true,
    confirmed: false,
    ..Format::text(
        "tracefs",
        "block events as text (trace_pipe, trace-cmd, perf script)",
        "... seconds: block_rq_issue: maj,min rwbs ... sector + sectors [process]; sectors of 512 \
         bytes; event D, Q or C",
        detect,
        |input, opening| {
            TextReader::boxed(input, opening, BlockEvents { event: opening.options.event })
        },
    )
};

fn detect(sample: &Sample) -> Verdict {
    let is_block =
        |line: &&[u8]| found(line).is_some_and(|event| event.name.starts_with(b"block_"));
    if !sample.is_text() || !sample.lines(100).iter().any(is_block) {
        return Verdict::No;
    }
    most_lines(sample, "events of the kernel, each behind a time in seconds", |line| {
        found(line).is_some() || is_frame(line)
    })
}

/// An event: where its time and name are, and where its values begin.
struct Found<'a> {
    time: std::ops::Range<usize>,
    name: &'a [u8],
    rest: usize,
}

/// The event of a line: a name and a colon, behind a decimal time and a colon.
fn found(line: &[u8]) -> Option<Found<'_>> {
    let columns = blank_columns(line);
    let is_time = |at: &std::ops::Range<usize>| {
        let text = &line[at.clone()];
        text.strip_suffix(b":").is_some_and(|t| t.contains(&b'.') && parse_decimal(t, 1).is_ok())
    };
    let at = columns.iter().position(is_time)?;
    let event = columns.get(at + 1)?.clone();
    let name = line[event.clone()].strip_suffix(b":")?;
    let name = name.rsplit(|&c| c == b':').next().unwrap_or(name);
    let time = columns[at].start..columns[at].end - 1;
    Some(Found { time, name, rest: event.end })
}

/// Lines around the events: comments, and what trace-cmd and the kernel say of buffers.
fn is_frame(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let heads: [&[u8]; 5] = [b"#", b"cpus=", b"version =", b"CPU", b"trace"];
    heads.iter().any(|head| text.starts_with(head))
}

#[derive(Clone)]
struct BlockEvents {
    event: Event,
}

impl BlockEvents {
    /// Name of the event that is the request.
    fn chosen(&self) -> &'static [u8] {
        match self.event {
            Event::D => b"block_rq_issue",
            Event::Q => b"block_bio_queue",
            Event::C => b"block_rq_complete",
        }
    }
}

impl LineParser for BlockEvents {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let Some(event) = found(line) else {
            if is_frame(line) {
                if memchr::memmem::find(line, b"LOST ").is_some() {
                    let text = printable(line.trim_ascii());
                    context.tally.warn(format!("the tracer lost events: {text}"));
                }
                return Ok(Parsed::Skip(Skipped::Comment));
            }
            return Err(Fault::line(
                Category::TooFewFields,
                "expected a time in seconds and an event, such as 1.000250: block_rq_issue:",
            ));
        };
        if event.name != self.chosen() {
            return Ok(Parsed::Skip(Skipped::Event(printable(event.name))));
        }
        let values = &line[event.rest..];
        let f = Fields::<2>::blanks(values);
        let at = |i: usize| f.at[i].start + event.rest..f.at[i].end + event.rest;
        let is_device = |text: &[u8]| {
            let parts: Vec<&[u8]> = text.split(|&c| c == b',').collect();
            parts.len() == 2 && parts.iter().all(|part| parse_u64(part).is_ok())
        };
        if !is_device(f.bytes(0)) {
            return Err(unexpected(line, at(0), Category::BadDevice, "device", "major,minor"));
        }
        let op = match rwbs(f.bytes(1)) {
            Some(Rwbs::Op { op, .. }) => op,
            Some(Rwbs::Flush) => RecordOp::Flush,
            Some(Rwbs::None) => return Ok(Parsed::Skip(Skipped::Event("without data (N)".into()))),
            Some(Rwbs::Zone) => return Ok(Parsed::Skip(Skipped::Event("zone command (Z)".into()))),
            None => {
                let expected = "F, then R, W, D, N or Z, then any of F A S M U E";
                return Err(unexpected(line, at(1), Category::UnknownOp, "rwbs", expected));
            }
        };
        let device: Vec<u8> =
            f.bytes(0).iter().map(|&c| if c == b',' { b':' } else { c }).collect();
        let mut record = Record {
            time_ns: time(line, event.time, "time", "seconds", SECOND_NS)?,
            offset_bytes: 0,
            length_bytes: 0,
            device: 0,
            op,
            ..Record::EMPTY
        };
        if op == RecordOp::Flush {
            record.device = context.devices.index(&device);
            return Ok(record.into());
        }
        // The command in parentheses and the process in brackets may hold anything.
        let columns = blank_columns(line);
        let plus = columns.iter().position(|at| at.start > event.rest && &line[at.clone()] == b"+");
        let extent = plus.filter(|&plus| plus + 1 < columns.len());
        let Some(plus) = extent else {
            return Err(Fault::line(Category::TooFewFields, "expected sector + sectors, got none"));
        };
        let (sector, sectors) = (columns[plus - 1].clone(), columns[plus + 1].clone());
        record.offset_bytes = whole_bytes(line, sector, "sector", "sectors", SECTOR_BYTES)?;
        record.length_bytes =
            whole_bytes(line, sectors.clone(), "length", "sectors", SECTOR_BYTES)?;
        record.device = context.devices.index(&device);
        context.extent_field = sectors;
        if record.length_bytes == 0 && op == RecordOp::Write {
            // FWS 0 + 0: nothing but the pre-flush.
            (record.op, record.offset_bytes) = (RecordOp::Flush, 0);
        }
        Ok(record.into())
    }
}
