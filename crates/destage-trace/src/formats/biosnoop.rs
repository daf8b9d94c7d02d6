//! `biosnoop`: the tool of bcc, and of its libbpf-tools.
//!
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)
//! 0.001400    my db          1950   nvme0n1 W 2048       4096       0.40
//! 0.002000    mount          163467 sde     WSM 41944043 524288    1.422
//! ```
//! A line is printed on completion: arrival is TIME minus LAT, and minus QUE where that column
//! (`-Q`) stands before it. Behind BYTES may stand P, whether the access is random or sequential
//! (`-P`). COMM may hold blanks, so columns are counted from the right. Sectors are of 512 bytes. T
//! is a letter, or rwbs of the kernel (see `blkparse`): a flush has no extent. `Possibly lost N
//! samples` and `Lost N events` become a warning.

use super::blkparse::{Rwbs, rwbs};
use super::text_format::*;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    has_response: true,
    confirmed: false,
    ..Format::text(
        "biosnoop",
        "biosnoop (bcc, libbpf-tools)",
        "TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms); arrival = TIME - LAT - QUE",
        detect,
        |input, opening| TextReader::boxed(input, opening, BioSnoop { tail: None }),
    )
};

/// Columns behind BYTES.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tail {
    pattern: bool,
    queue: bool,
}

impl Tail {
    const ALL: [Tail; 4] = [
        Tail { pattern: false, queue: false },
        Tail { pattern: false, queue: true },
        Tail { pattern: true, queue: false },
        Tail { pattern: true, queue: true },
    ];

    /// As the header says.
    fn of_header(line: &[u8]) -> Tail {
        let mut names = line.split(|&c| is_blank(c)).skip_while(|name| *name != b"BYTES");
        let pattern = names.clone().any(|name| name == b"P");
        Tail { pattern, queue: names.any(|name| name == b"QUE(ms)") }
    }

    /// Columns behind BYTES, LAT among them.
    fn count(self) -> usize {
        1 + usize::from(self.pattern) + usize::from(self.queue)
    }
}

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "biosnoop's header or TIME COMM PID DISK T SECTOR BYTES LAT", |line| {
        is_header(line) || Tail::ALL.iter().any(|&tail| fits(line, tail))
    })
}

fn is_header(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"TIME(s)")
}

/// Whether a line can be read with these columns at its end.
fn fits(line: &[u8], tail: Tail) -> bool {
    let columns = blank_columns(line);
    let Some(op) = columns.len().checked_sub(tail.count() + 3).filter(|&op| op >= 4) else {
        return false;
    };
    let text = |i: usize| &line[columns[i].clone()];
    let times = columns.len() - 1 - usize::from(tail.queue)..columns.len();
    // A letter of one's own is an event that is ignored.
    let is_op = text(op).len() == 1 && text(op)[0].is_ascii_uppercase();
    (is_op || rwbs(text(op)).is_some())
        && text(0).contains(&b'.')
        && (!tail.pattern || text(op + 3).iter().all(u8::is_ascii_alphabetic))
        && parse_u64(text(op + 1)).is_ok()
        && parse_u64(text(op + 2)).is_ok()
        && times.chain([0]).all(|i| parse_decimal(text(i), 1).is_ok())
}

#[derive(Clone)]
struct BioSnoop {
    /// Columns behind BYTES; `None` before the header or the first line.
    tail: Option<Tail>,
}

/// The operation of a T column; an event by its name for other letters.
pub(super) fn asked(
    line: &[u8],
    at: std::ops::Range<usize>,
) -> std::result::Result<RecordOp, Line> {
    let text = &line[at.clone()];
    match rwbs(text) {
        Some(Rwbs::Op { op, .. }) => Ok(op),
        Some(Rwbs::Flush) => Ok(RecordOp::Flush),
        Some(_) => Err(Ok(Parsed::Skip(Skipped::Event(format!("T = {}", printable(text)))))),
        _ if text.len() == 1 && text[0].is_ascii_uppercase() => {
            Err(Ok(Parsed::Skip(Skipped::Event(format!("T = {}", printable(text))))))
        }
        _ => Err(Err(unexpected(line, at, Category::UnknownOp, "T", "letters such as R or WS"))),
    }
}

impl LineParser for BioSnoop {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if is_header(line) {
            self.tail = Some(Tail::of_header(line));
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if line.starts_with(b"Tracing ") || line.trim_ascii() == b"^C" {
            return Ok(Parsed::Skip(Skipped::Comment)); // what the tool and its terminal print
        }
        let lost = memchr::memmem::find(line, b"ossibly lost").is_some();
        if lost || line.starts_with(b"Lost ") && line.ends_with(b" events") {
            let text = printable(line.trim_ascii());
            context.tally.warn(format!("biosnoop lost events: {text}"));
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        let tail = match self.tail {
            Some(tail) => tail,
            None => {
                let found = Tail::ALL.into_iter().find(|&tail| fits(line, tail));
                *self.tail.insert(found.unwrap_or(Tail::ALL[0]))
            }
        };
        let columns = blank_columns(line);
        let least = 7 + tail.count();
        if columns.len() < least {
            return Err(Fault::line(
                Category::TooFewFields,
                format!("expected at least {least} fields, got {}", columns.len()),
            ));
        }
        let right = |i: usize| columns[columns.len() - i].clone();
        let shift = tail.count() - 1;
        let latency_ns = time(line, right(1), "LAT", "milliseconds", MILLISECOND_NS)?;
        let queued_ns = match tail.queue {
            true => time(line, right(2), "QUE", "milliseconds", MILLISECOND_NS)?,
            false => 0,
        };
        let done_ns = time(line, columns[0].clone(), "TIME", "seconds", SECOND_NS)?;
        let op = match asked(line, right(4 + shift)) {
            Ok(op) => op,
            Err(other) => return other,
        };
        let response_ns = latency_ns.saturating_add(queued_ns);
        if response_ns > done_ns {
            context
                .tally
                .note("biosnoop: requests issued before the first event are put at time 0");
        }
        let mut record = Record {
            time_ns: done_ns.saturating_sub(response_ns),
            offset_bytes: 0,
            length_bytes: 0,
            response_ns,
            device: context.devices.index(&line[right(5 + shift)]),
            op,
            ..Record::EMPTY
        };
        if op != RecordOp::Flush {
            let sector = right(3 + shift);
            record.offset_bytes = whole_bytes(line, sector, "SECTOR", "sectors", SECTOR_BYTES)?;
            let bytes = right(2 + shift);
            record.length_bytes = whole(line, bytes, "BYTES", "bytes", Category::BadNumber)?;
            context.extent_field = right(2 + shift);
        }
        Ok(record.into())
    }
}
