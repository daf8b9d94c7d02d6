//! `biosnoop`: the tool of bcc.
//!
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)
//! 0.001400    my db          1950   nvme0n1 W 2048       4096       0.40
//! ```
//! A line is printed on completion: arrival is TIME minus LAT, and minus QUE where that column
//! (`-Q`) stands before it. COMM may hold blanks, so columns are counted from the right. Sectors
//! are of 512 bytes; T other than R and W is an ignored event. `Possibly lost N samples` becomes a
//! warning.

use super::text_format::*;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    has_response: true,
    confirmed: false,
    ..Format::text(
        "biosnoop",
        "biosnoop (bcc)",
        "TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms); arrival = TIME - LAT - QUE",
        detect,
        |input, opening| TextReader::boxed(input, opening, BioSnoop { queue: None }),
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "biosnoop's header or TIME COMM PID DISK T SECTOR BYTES LAT", |line| {
        is_header(line) || [false, true].iter().any(|&queue| fits(line, queue))
    })
}

fn is_header(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"TIME(s)")
}

/// Whether a line can be read with (or without) a QUE column.
fn fits(line: &[u8], queue: bool) -> bool {
    let columns = blank_columns(line);
    let tail = 3 + usize::from(queue);
    let Some(op) = columns.len().checked_sub(tail + 1).filter(|&op| op >= 4) else { return false };
    let text = |i: usize| &line[columns[i].clone()];
    text(op).len() == 1
        && text(op)[0].is_ascii_uppercase()
        && text(0).contains(&b'.')
        && (op + 3..columns.len()).chain([0]).all(|i| parse_decimal(text(i), 1).is_ok())
}

#[derive(Clone)]
struct BioSnoop {
    /// Whether there is a QUE column; `None` before the header or the first line.
    queue: Option<bool>,
}

impl LineParser for BioSnoop {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if is_header(line) {
            self.queue = Some(memchr::memmem::find(line, b"QUE(ms)").is_some());
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if memchr::memmem::find(line, b"ossibly lost").is_some() {
            let text = destage_keys::printable(line.trim_ascii());
            context.tally.warn(format!("biosnoop lost events: {text}"));
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        let queue = match self.queue {
            Some(queue) => queue,
            None => *self.queue.insert(!fits(line, false) && fits(line, true)),
        };
        let columns = blank_columns(line);
        let least = 8 + usize::from(queue);
        if columns.len() < least {
            return Err(Fault::line(
                Category::TooFewFields,
                format!("expected at least {least} fields, got {}", columns.len()),
            ));
        }
        let right = |i: usize| columns[columns.len() - i].clone();
        let shift = usize::from(queue);
        let latency_ns = time(line, right(1), "LAT", "milliseconds", MILLISECOND_NS)?;
        let queued_ns =
            if queue { time(line, right(2), "QUE", "milliseconds", MILLISECOND_NS)? } else { 0 };
        let done_ns = time(line, columns[0].clone(), "TIME", "seconds", SECOND_NS)?;
        let op_at = right(4 + shift);
        let op = match &line[op_at.clone()] {
            b"R" => RecordOp::Read,
            b"W" => RecordOp::Write,
            other if other.len() == 1 && other[0].is_ascii_alphabetic() => {
                return Ok(Parsed::Skip(Skipped::Event(format!("T = {}", other[0] as char))));
            }
            _ => return Err(unexpected(line, op_at, Category::UnknownOp, "T", "one letter")),
        };
        let offset_bytes = whole_bytes(line, right(3 + shift), "SECTOR", "sectors", SECTOR_BYTES)?;
        let length_bytes = whole(line, right(2 + shift), "BYTES", "bytes", Category::BadNumber)?;
        let response_ns = latency_ns.saturating_add(queued_ns);
        if response_ns > done_ns {
            context
                .tally
                .note("biosnoop: requests issued before the first event are put at time 0");
        }
        let device = context.devices.index(&line[right(5 + shift)]);
        context.extent_field = right(2 + shift);
        let time_ns = done_ns.saturating_sub(response_ns);
        Ok(Record { time_ns, offset_bytes, length_bytes, response_ns, device, op, ..Record::EMPTY }
            .into())
    }
}
