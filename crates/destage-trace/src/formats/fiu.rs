//! `fiu`: the FIU traces (I/O deduplication, SRCMap).
//!
//! ```text
//! 700100200300 4100 my daemon 2048 8 W 6 0 0f1e2d3c4b5a69788796a5b4c3d2e1f0
//! time_ns pid process lba sectors W|R major minor md5
//! ```
//! Times are not an epoch. The process name may hold blanks, so the first two columns are counted
//! from the left and the last six from the right. Conversions that drop the hash, the device
//! numbers or both are accepted; without numbers the device is the file's name.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format::text(
    "fiu",
    "FIU I/O deduplication, SRCMap",
    "time_ns pid process lba sectors W|R major minor md5; sectors; device major:minor",
    detect,
    |input, opening| TextReader::boxed(input, opening, Fiu),
);

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "time pid process lba sectors W|R ...", |line| {
        Tail::of(line).is_some_and(|tail| {
            tail.left.iter().chain(&tail.extent).all(|at| parse_u64(&line[at.clone()]).is_ok())
        })
    })
}

type At = std::ops::Range<usize>;

/// Columns of a line, found from both ends.
struct Tail {
    left: [At; 2],
    extent: [At; 2],
    op: At,
    device: Option<[At; 2]>,
}

impl Tail {
    /// `None` if no column near the end is the operation with the right columns behind it: device
    /// numbers and a hash, either alone, or nothing.
    fn of(line: &[u8]) -> Option<Tail> {
        let columns = blank_columns(line);
        let text = |i: usize| &line[columns[i].clone()];
        let number = |i: usize| parse_u64(text(i)).is_ok();
        let hash = |i: usize| text(i).len() == 32 && text(i).iter().all(u8::is_ascii_hexdigit);
        let n = columns.len();
        if n < 6 {
            return None;
        }
        // The operation, and whether device numbers follow it.
        let (op, device) = if n >= 9 && hash(n - 1) && number(n - 2) && number(n - 3) {
            (n - 4, true)
        } else if hash(n - 1) {
            (n - 2, false)
        } else if n >= 8 && number(n - 1) && number(n - 2) {
            (n - 3, true)
        } else {
            (n - 1, false)
        };
        if op < 5 || text(op).len() != 1 || !text(op)[0].is_ascii_alphabetic() {
            return None;
        }
        Some(Tail {
            left: [columns[0].clone(), columns[1].clone()],
            extent: [columns[op - 2].clone(), columns[op - 1].clone()],
            op: columns[op].clone(),
            device: device.then(|| [columns[op + 1].clone(), columns[op + 2].clone()]),
        })
    }
}

#[derive(Clone)]
struct Fiu;

impl LineParser for Fiu {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let Some(tail) = Tail::of(line) else {
            let count = blank_columns(line).len();
            if count < 6 {
                return Err(Fault::line(
                    Category::TooFewFields,
                    format!("expected at least 6 fields, got {count}"),
                ));
            }
            return Err(Fault::line(
                Category::UnknownOp,
                "expected time pid process lba sectors W|R, then device numbers, a hash, both or \
                 nothing",
            ));
        };
        let time_ns = whole(line, tail.left[0].clone(), "time", "nanoseconds", Category::BadTime)?;
        whole(line, tail.left[1].clone(), "pid", "the process", Category::BadNumber)?;
        let scaled =
            |at: &At, name: &str| whole_bytes(line, at.clone(), name, "sectors", SECTOR_BYTES);
        let offset_bytes = scaled(&tail.extent[0], "lba")?;
        let length_bytes = scaled(&tail.extent[1], "length")?;
        let op = letter_op(&line[tail.op.clone()])
            .ok_or_else(|| unexpected(line, tail.op, Category::UnknownOp, "operation", "W or R"))?;
        let device = match tail.device {
            Some([major, minor]) => {
                context.devices.index(&[&line[major], b":".as_slice(), &line[minor]].concat())
            }
            None => context.devices.index(context.file_device.as_bytes()),
        };
        context.extent_field = tail.extent[1].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
