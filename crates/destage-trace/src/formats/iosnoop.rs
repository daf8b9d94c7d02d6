//! `iosnoop`: the tool of perf-tools, which reads the kernel's block events from tracefs.
//!
//! ```text
//! Tracing block I/O... Ctrl-C to end.
//! STARTs          ENDs            COMM         PID    TYPE DEV      BLOCK        BYTES     LATms
//! 5982800.302061  5982800.302679  supervise    1809   W    202,1    17039600     4096       0.62
//! ```
//! STARTs (`-s`) is the arrival; with ENDs alone (`-t`) it is ENDs minus LATms; without both there
//! are no times. COMM may hold blanks, so columns are counted from the right. BLOCK counts 512
//! bytes; TYPE is rwbs of the kernel (see `blkparse`).

use super::biosnoop::asked;
use super::text_format::*;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    layered: true,
    has_response: true,
    confirmed: false,
    ..Format::text(
        "iosnoop",
        "iosnoop (perf-tools)",
        "[STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES LATms; sectors of 512 bytes",
        detect,
        |input, opening| {
            let parser = IoSnoop { starts: false, ends: false, met: false };
            TextReader::boxed(input, opening, parser)
        },
    )
};

/// Columns from DEV on, and those before it that have no blanks.
const BEHIND_TYPE: usize = 4;

fn detect(sample: &Sample) -> Verdict {
    if !sample.lines(20).iter().any(|line| is_header(line)) {
        return Verdict::No;
    }
    most_lines(sample, "iosnoop's header or COMM PID TYPE DEV BLOCK BYTES LATms", |line| {
        is_header(line) || is_frame(line) || fits(line)
    })
}

fn is_header(line: &[u8]) -> bool {
    let f = Fields::<9>::blanks(line);
    f.count >= 7 && line.trim_ascii_end().ends_with(b"LATms")
}

/// Lines of the tool before and after the table.
fn is_frame(line: &[u8]) -> bool {
    line.starts_with(b"Tracing ") || line.starts_with(b"Ending tracing")
}

fn fits(line: &[u8]) -> bool {
    let columns = blank_columns(line);
    let text = |i: usize| &line[columns[columns.len() - i].clone()];
    columns.len() >= 7
        && parse_decimal(text(1), 1).is_ok()
        && parse_u64(text(2)).is_ok()
        && parse_u64(text(3)).is_ok()
        && memchr::memchr(b',', text(4)).is_some()
}

#[derive(Clone)]
struct IoSnoop {
    /// The columns before COMM, as the header says.
    starts: bool,
    ends: bool,
    /// A header was there.
    met: bool,
}

impl LineParser for IoSnoop {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if is_header(line) {
            let has = |name: &[u8]| memchr::memmem::find(line, name).is_some();
            (self.starts, self.ends, self.met) = (has(b"STARTs"), has(b"ENDs"), true);
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if is_frame(line) {
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        let columns = blank_columns(line);
        let times = usize::from(self.starts) + usize::from(self.ends);
        let least = times + 3 + BEHIND_TYPE;
        if columns.len() < least {
            return Err(Fault::line(
                Category::TooFewFields,
                format!("expected at least {least} fields, got {}", columns.len()),
            ));
        }
        let right = |i: usize| columns[columns.len() - i].clone();
        let response_ns = time(line, right(1), "LATms", "milliseconds", MILLISECOND_NS)?;
        let op = match asked(line, right(5)) {
            Ok(op) => op,
            Err(other) => return other,
        };
        let time_ns = match (self.starts, self.ends) {
            (true, _) => time(line, columns[0].clone(), "STARTs", "seconds", SECOND_NS)?,
            (false, true) => time(line, columns[0].clone(), "ENDs", "seconds", SECOND_NS)?
                .saturating_sub(response_ns),
            (false, false) => 0,
        };
        let device: Vec<u8> =
            line[right(4)].iter().map(|&c| if c == b',' { b':' } else { c }).collect();
        let mut record = Record {
            time_ns,
            offset_bytes: 0,
            length_bytes: 0,
            response_ns,
            device: context.devices.index(&device),
            op,
            ..Record::EMPTY
        };
        if op != RecordOp::Flush {
            record.offset_bytes = whole_bytes(line, right(3), "BLOCK", "sectors", SECTOR_BYTES)?;
            record.length_bytes = whole(line, right(2), "BYTES", "bytes", Category::BadNumber)?;
            context.extent_field = right(2);
        }
        Ok(record.into())
    }

    fn facts(&self) -> Facts {
        let timeless = self.met && !self.starts && !self.ends;
        Facts { has_times: timeless.then_some(false), ..Facts::default() }
    }
}
