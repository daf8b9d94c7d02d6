//! `blkparse`: the default text of blkparse(1).
//!
//! ```text
//!   8,16   0       11     0.000120450   977  D  WS 2048 + 8 [my job/1]
//!   maj,min cpu   seq    seconds        pid action rwbs sector + sectors [process]
//! ```
//! The device is `maj:min`. Exactly one action is the request (`event`): D, what the drive was
//! given; Q, what was submitted; or C. Every other action is an ignored event by its letter, so
//! that a file without the chosen one says what it has. Sectors of 512 bytes from the start of the
//! device.
//!
//! Readings. Process names hold blanks and brackets, so only what stands before the first `[`
//! counts. rwbs: a leading F before another letter is a pre-flush; then R read, W write, D discard
//! (E behind it is a secure erase, also a trim), N none, Z zone command; behind that any of F A S M
//! U E, and B, the barrier of old kernels. A request without `sector + sectors` is a flush if it is
//! a write or rwbs has an F (so it is in the binary records, whose length is then 0), else an
//! ignored event. The summary ends the events; a non-zero `Skips` becomes a warning, since events
//! were lost. Remaps (A) between two devices that both carry requests become a warning: each
//! request is then there twice.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    exact: true,
    layered: true,
    ..Format::text(
        "blkparse",
        "blkparse, default text",
        "maj,min cpu seq seconds pid action rwbs sector + sectors [process]; sectors; action D, Q \
         or C (event)",
        detect,
        open,
    )
};

/// Most pairs of devices kept for the double-counting warning.
const MOST_REMAPS: usize = 64;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "maj,min cpu seq seconds pid action rwbs", |line| {
        let f = Fields::<7>::blanks(line);
        is_event(&f) || is_summary(line)
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let parser = BlkParse {
        event: opening.options.event.letter() as u8,
        selected: opening.options.volume.clone(),
        in_summary: false,
        remaps: Vec::new(),
    };
    TextReader::boxed(input, opening, parser)
}

fn is_device(field: &[u8]) -> bool {
    let mut parts = field.splitn(2, |&c| c == b',');
    let digits = |part: Option<&[u8]>| part.is_some_and(|p| parse_u64(p).is_ok());
    digits(parts.next()) && digits(parts.next())
}

/// `8,16` as devices are called here: `8:16`.
fn device_name(field: &[u8]) -> Vec<u8> {
    field.iter().map(|&c| if c == b',' { b':' } else { c }).collect()
}

fn is_event(f: &Fields<7>) -> bool {
    f.count >= 6
        && is_device(f.bytes(0))
        && [1, 2, 4].iter().all(|&i| parse_u64(f.bytes(i)).is_ok())
        && parse_decimal(f.bytes(3), 1).is_ok()
        && f.bytes(5).len() <= 2
}

/// Lines that blkparse prints around the events.
fn is_summary(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let cpu = text.strip_prefix(b"CPU").is_some_and(|t| t.first().is_some_and(u8::is_ascii_digit));
    let heads: [&[u8]; 18] = [
        b"Total (",
        b"Throughput (",
        b"Events (",
        b"Skips:",
        b"Input file ",
        b"Reads Queued:",
        b"Read Dispatches:",
        b"Reads Requeued:",
        b"Reads Completed:",
        b"Read Merges:",
        b"Read depth:",
        b"IO unplugs:",
        b"PC Reads Queued:",
        b"PC Read Disp.:",
        b"PC Reads Req.:",
        b"PC Reads Compl.:",
        b"PC Writes Compl.:",
        b"Discards Queued:",
    ];
    cpu || heads.iter().any(|head| text.starts_with(head))
}

#[derive(Clone)]
struct BlkParse {
    event: u8,
    /// Names given with `device`; empty means all.
    selected: Vec<String>,
    in_summary: bool,
    /// Pairs (to, from) of remaps.
    remaps: Vec<[Vec<u8>; 2]>,
}

/// Request of the rwbs column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rwbs {
    Op { op: RecordOp, flush: bool },
    Flush,
    None,
    Zone,
}

pub(crate) fn rwbs(field: &[u8]) -> Option<Rwbs> {
    let (flush, rest) = match field {
        [b'F'] => return Some(Rwbs::Flush),
        [b'F', b'N', ..] => return Some(Rwbs::Flush),
        // FF, FS, ...: no direction behind the pre-flush.
        [b'F', c, ..] if !b"RWDZ".contains(c) => return Some(Rwbs::Flush),
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (kind, tail) = rest.split_first()?;
    if *kind == b'Z' {
        return Some(Rwbs::Zone);
    }
    let op = match kind {
        b'R' => RecordOp::Read,
        b'W' => RecordOp::Write,
        b'D' => RecordOp::Trim,
        b'N' => return Some(Rwbs::None),
        _ => return None,
    };
    let known = tail.iter().all(|c| b"FASMUB".contains(c) || *c == b'E' && *kind == b'D');
    known.then_some(Rwbs::Op { op, flush: flush || tail.contains(&b'F') })
}

impl LineParser for BlkParse {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<7>::blanks(line);
        if !is_device(f.bytes(0)) {
            if is_summary(line) {
                self.in_summary |= !line.trim_ascii().starts_with(b"Input file ");
                self.skips(line, context);
                return Ok(Parsed::Skip(Skipped::Comment));
            }
            if self.in_summary {
                return Ok(Parsed::Skip(Skipped::Comment));
            }
            if f.count < 7 {
                f.expect(7..=7)?;
            }
            return Err(f.unexpected(0, Category::BadDevice, "device", "major,minor"));
        }
        if std::mem::take(&mut self.in_summary) {
            context.tally.warn(
                "events follow the summary of blkparse: there are several runs in this file, whose \
                 times all begin at 0: --order file keeps the stored order; --concat puts files \
                 one after another, with a file for each run",
            );
        }
        if f.count < 6 {
            f.expect(7..=7)?;
        }
        let action = f.bytes(5);
        if action.len() > 2 || !action.iter().all(u8::is_ascii_alphabetic) {
            return Err(f.unexpected(
                5,
                Category::UnknownOp,
                "action",
                "a letter such as Q, D or C",
            ));
        }
        if action != [self.event] {
            if action == b"A" {
                self.remap(line, &f);
            }
            return Ok(Parsed::Skip(Skipped::Event(printable(action))));
        }
        self.request(line, &f, context)
    }

    fn finish(&mut self, context: &mut Context) {
        for [to, from] in &self.remaps {
            let carries = |name: &Vec<u8>| {
                let chosen =
                    self.selected.is_empty() || self.selected.iter().any(|s| s.as_bytes() == name);
                chosen && context.devices.find(name).is_some()
            };
            if carries(to) && carries(from) {
                context.tally.warn(format!(
                    "requests of device {} are remapped to {}: both are read, so they count twice \
                     (--volume)",
                    printable(from),
                    printable(to)
                ));
            }
        }
    }
}

/// Extent of a request, and the field of its length.
struct Extent {
    offset_bytes: u64,
    length_bytes: u64,
    length_at: std::ops::Range<usize>,
}

/// `sector + sectors`, between rwbs and the process in brackets; `None` if that is not there.
fn extent(line: &[u8], f: &Fields<7>) -> std::result::Result<Option<Extent>, Fault> {
    let start = f.at[6].end;
    let end = memchr::memchr(b'[', &line[start..]).map_or(line.len(), |n| start + n);
    let first = start + line[start..end].iter().take_while(|c| c.is_ascii_whitespace()).count();
    let tail = Fields::<3>::blanks(&line[first..end]);
    if tail.count < 3 || tail.bytes(1) != b"+" {
        return Ok(None);
    }
    let at = |i: usize| tail.at[i].start + first..tail.at[i].end + first;
    let number = |i: usize, name: &str| {
        let sectors = whole(line, at(i), name, "sectors", Category::BadNumber)?;
        sectors.checked_mul(SECTOR_BYTES).ok_or_else(|| {
            unexpected(line, at(i), Category::OutOfRange, name, "sectors within 2^64 bytes")
        })
    };
    Ok(Some(Extent {
        offset_bytes: number(0, "sector")?,
        length_bytes: number(2, "length")?,
        length_at: at(2),
    }))
}

impl BlkParse {
    fn request(&self, line: &[u8], f: &Fields<7>, context: &mut Context) -> Line {
        f.whole(1, "cpu", "the CPU")?;
        let time_ns = f.time(3, "time", "seconds", SECOND_NS)?;
        if f.count < 7 {
            f.expect(7..=7)?;
        }
        let action = f.bytes(5)[0] as char;
        let asked = rwbs(f.bytes(6)).ok_or_else(|| {
            f.unexpected(
                6,
                Category::UnknownOp,
                "rwbs",
                "F, then R, W, D, N or Z, then any of F A S M U E",
            )
        })?;
        let event = |why: &str| Ok(Parsed::Skip(Skipped::Event(format!("{action} {why}"))));
        let (op, flush) = match asked {
            Rwbs::Op { op, flush } => (op, flush),
            Rwbs::Flush => (RecordOp::Flush, true),
            Rwbs::None => return event("without data (N)"),
            Rwbs::Zone => {
                context.tally.warn("this is a zoned device: zone commands (Z) are ignored");
                return event("zone command (Z)");
            }
        };
        let mut record = Record {
            time_ns,
            offset_bytes: 0,
            length_bytes: 0,
            device: context.devices.index(&device_name(f.bytes(0))),
            op: RecordOp::Flush,
            ..Record::EMPTY
        };
        if op == RecordOp::Flush {
            return Ok(record.into());
        }
        let Some(extent) = extent(line, f)? else {
            // A write of nothing is what is left of a flush: C  WS 0 [0].
            let nothing = flush || op == RecordOp::Write;
            return if nothing { Ok(record.into()) } else { event("without an extent") };
        };
        record.offset_bytes = extent.offset_bytes;
        record.length_bytes = extent.length_bytes;
        context.extent_field = extent.length_at;
        if record.length_bytes > 0 || !flush {
            record.op = op;
        } else {
            record.offset_bytes = 0; // FWS 0 + 0: nothing but the pre-flush
        }
        Ok(record.into())
    }

    /// `A rwbs sector + sectors <- (maj,min) sector`
    fn remap(&mut self, line: &[u8], f: &Fields<7>) {
        let Some(open) = memchr::memmem::find(line, b"<- (") else { return };
        let from = &line[open + 4..];
        let Some(close) = memchr::memchr(b')', from) else { return };
        let pair = [device_name(f.bytes(0)), device_name(&from[..close])];
        if pair[0] != pair[1] && self.remaps.len() < MOST_REMAPS && !self.remaps.contains(&pair) {
            self.remaps.push(pair);
        }
    }

    /// `Skips: 3 forward (120 -   0.7%)`
    fn skips(&self, line: &[u8], context: &mut Context) {
        let f = Fields::<2>::blanks(line);
        if f.bytes(0) == b"Skips:" && f.bytes(1) != b"0" {
            context.tally.warn(format!("blkparse lost events: {}", printable(line.trim_ascii())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rwbs_says_what_is_asked() {
        let op = |op, flush| Some(Rwbs::Op { op, flush });
        for (text, asked) in [
            ("R", op(RecordOp::Read, false)),
            ("RA", op(RecordOp::Read, false)),
            ("RSM", op(RecordOp::Read, false)),
            ("WS", op(RecordOp::Write, false)),
            ("WFS", op(RecordOp::Write, true)),
            ("FWFSM", op(RecordOp::Write, true)),
            ("FWS", op(RecordOp::Write, true)),
            ("WSU", op(RecordOp::Write, false)),
            ("D", op(RecordOp::Trim, false)),
            ("DE", op(RecordOp::Trim, false)),
            ("DS", op(RecordOp::Trim, false)),
            ("F", Some(Rwbs::Flush)),
            ("FN", Some(Rwbs::Flush)),
            ("FS", Some(Rwbs::Flush)),
            ("N", Some(Rwbs::None)),
            ("ZRS", Some(Rwbs::Zone)),
            ("X", None),
            ("RE", None),
            ("WX", None),
            ("", None),
        ] {
            assert_eq!(rwbs(text.as_bytes()), asked, "{text}");
        }
    }
}
