//! `fio-iolog`: fio's I/O logs, version 2 and 3.
//!
//! ```text
//! fio version 3 iolog
//! 0 /dev/demo open
//! 140 /dev/demo write 1048576 4096
//! ```
//! Version 2: `file action [offset length]`; version 3 puts a time in front, in microseconds (fio's
//! manual does not say; logs that fio writes at a fixed rate show it). Offset and length in bytes,
//! the file is the device. Actions: `add open close`; `read write trim`; `sync datasync
//! sync_file_range`, which are flushes; in version 2 `wait`, in microseconds.
//!
//! Readings. A version-2 clock stands still between `wait` lines, whose values each count from the
//! wait before. fio itself writes the file's name before `wait`; without it is accepted. A
//! version-2 log without `wait` has no times.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    name_parts: &["iolog"],
    ..Format::text(
        "fio-iolog",
        "fio I/O log, version 2 and 3",
        "[time_us] file action [offset length]; bytes; first line \"fio version N iolog\"",
        detect,
        |input, opening| TextReader::boxed(input, opening, Iolog::default()),
    )
};

fn detect(sample: &Sample) -> Verdict {
    match sample.lines(1).first() {
        Some(line) if version(line).is_some() => {
            Verdict::Yes("the first line is \"fio version N iolog\"".to_owned())
        }
        _ => Verdict::No,
    }
}

/// N of `fio version N iolog`.
fn version(line: &[u8]) -> Option<u64> {
    let f = Fields::<4>::blanks(line);
    let named =
        f.count == 4 && f.bytes(0) == b"fio" && f.bytes(1) == b"version" && f.bytes(3) == b"iolog";
    named.then(|| parse_u64(f.bytes(2)).ok()).flatten()
}

#[derive(Clone, Default)]
struct Iolog {
    /// 0 until the first line was read.
    version: u64,
    /// Version 2: where the waits have brought the clock.
    clock_ns: u64,
    waited: bool,
    /// Logs in this file, of a job each.
    logs: u64,
}

impl Iolog {
    /// Version 2: the clock goes on by field `at`.
    fn wait(&mut self, f: &Fields<6>, at: usize) -> Line {
        if f.at.get(at).is_none_or(|at| at.is_empty()) {
            f.expect(3..=4)?;
        }
        let wait_ns = f.time(at, "wait", "microseconds", MICROSECOND_NS)?;
        let clock_ns = self.clock_ns.checked_add(wait_ns);
        self.clock_ns = clock_ns.ok_or_else(|| f.too_large(at, "wait"))?;
        self.waited = true;
        Ok(Parsed::Skip(Skipped::Event("wait".to_owned())))
    }
}

impl LineParser for Iolog {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if self.version == 0 {
            return self.first_line(line);
        }
        if version(line) == Some(self.version) {
            // The next job's clock starts at 0 as well: jobs run at the same time.
            (self.logs, self.clock_ns) = (self.logs + 1, 0);
            return Ok(Parsed::Skip(Skipped::Header));
        }
        let f = Fields::<6>::blanks(line);
        let timed = usize::from(self.version == 3);
        // `wait` without a file's name comes one column earlier.
        let bare_wait = self.version == 2 && f.bytes(0) == b"wait" && f.count == 2;
        if f.count < 2 + timed {
            f.expect(2 + timed..=2 + timed)?;
        }
        f.expect(2..=4 + timed)?;
        let (file, action) = if bare_wait { (0, 0) } else { (timed, timed + 1) };
        let time_ns = match self.version {
            3 => f.time(0, "time", "microseconds", MICROSECOND_NS)?,
            _ => self.clock_ns,
        };
        let op = match f.bytes(action) {
            b"wait" if self.version == 2 => return self.wait(&f, action + 1),
            name @ (b"add" | b"open" | b"close") => {
                return Ok(Parsed::Skip(Skipped::Event(
                    String::from_utf8_lossy(name).into_owned(),
                )));
            }
            b"read" => RecordOp::Read,
            b"write" => RecordOp::Write,
            b"trim" => RecordOp::Trim,
            b"sync" | b"datasync" | b"sync_file_range" => RecordOp::Flush,
            _ => {
                let expected =
                    "add, open, close, read, write, trim, sync, datasync or sync_file_range";
                return Err(f.unexpected(action, Category::UnknownOp, "action", expected));
            }
        };
        let device = context.devices.index(f.bytes(file));
        let (mut offset_bytes, mut length_bytes) = (0, 0);
        if op != RecordOp::Flush {
            f.expect(4 + timed..=4 + timed)?;
            offset_bytes = f.whole(action + 1, "offset", "bytes")?;
            length_bytes = f.whole(action + 2, "length", "bytes")?;
            context.extent_field = f.at[action + 2].clone();
        }
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }

    fn facts(&self) -> Facts {
        Facts {
            has_times: (self.version == 2 && !self.waited).then_some(false),
            ..Facts::default()
        }
    }

    fn finish(&mut self, context: &mut Context) {
        if self.logs > 1 {
            let logs = self.logs;
            context.tally.warn(format!(
                "fio: this file holds the logs of {logs} jobs, which are replayed at the same \
                 time; --write_iolog with one file for each job keeps them apart"
            ));
        }
        if self.version == 2 && !self.waited {
            context.tally.note(
                "fio version 2 log without wait lines: there are no times; a timed run needs \
                 --queue-depth N or a rate",
            );
        }
    }
}

impl Iolog {
    fn first_line(&mut self, line: &[u8]) -> Line {
        match version(line) {
            Some(known @ (2 | 3)) => {
                (self.version, self.logs) = (known, 1);
                Ok(Parsed::Skip(Skipped::Header))
            }
            Some(other) => {
                let message = format!("fio iolog version {other}; versions 2 and 3 are read");
                Err(Fault::line(Category::UnknownOp, message))
            }
            None => {
                // Version 1 had no such line: `rw, offset, length`.
                let f = Fields::<3>::commas(line);
                let number = |i: usize| parse_u64(f.bytes(i)).is_ok();
                if f.count == 3 && number(0) && number(1) && number(2) {
                    let message = "this looks like a fio iolog of version 1 (rw, offset, length); \
                     versions 2 and 3 are read";
                    return Err(Fault::line(Category::UnknownOp, message));
                }
                let expected = "\"fio version 2 iolog\" or \"fio version 3 iolog\"";
                Err(unexpected(line, 0..line.len(), Category::UnknownOp, "first line", expected))
            }
        }
    }
}
