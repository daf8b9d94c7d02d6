//! `strace`: system calls of a program, as `strace -ttt -y -e trace=pread64,pwrite64,fsync` prints
//! them; `-f` (several processes) and `-T` (response times) may be added.
//!
//! ```text
//! 1456012801.000250 pread64(7</var/lib/db/16384>, "\0\0"..., 8192, 16384) = 8192 <0.000110>
//! [pid 512] 1456012801.000300 fsync(7</var/lib/db/16384> <unfinished ...>
//! [pid 512] 1456012801.000420 <... fsync resumed>) = 0
//! ```
//! The time is that of the call, in seconds since 1970. The last argument is the offset and the
//! value returned the length, both in bytes: so `preadv` and `pwritev` are read too. The file is
//! the device (`-y`). `fsync` and its like are flushes, `fallocate` with PUNCH_HOLE is a trim.
//! Calls that failed, that have no offset (`read`), signals and exits are counted and ignored.
//!
//! Reading. A call that another process interrupts is printed in two parts: it arrived with the
//! first, and needs the second.

use std::borrow::Cow;
use std::collections::HashMap;

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    exact: true,
    has_response: true,
    name_parts: &["strace"],
    ..Format::text(
        "strace",
        "strace -ttt -y -e trace=pread64,pwrite64,fsync",
        "[pid] seconds call(fd<file>, ..., offset) = bytes [<seconds>]; the file is the device",
        detect,
        |input, opening| TextReader::boxed(input, opening, Strace::default()),
    )
};

/// Stamps below this are not seconds since 1970: those of `-r` count from the call before.
const LEAST_TIME_NS: u64 = 100_000_000 * SECOND_NS;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "calls as strace -ttt prints them", |line| {
        let Head { at, .. } = Head::of(line);
        let Some(time) = line[at..].split(|&c| c == b' ').next() else { return false };
        let rest = &line[(at + time.len() + 1).min(line.len())..];
        let called = rest.iter().position(|c| !c.is_ascii_alphanumeric() && *c != b'_');
        time.contains(&b'.')
            && parse_decimal(time, SECOND_NS).is_ok()
            && (called.is_some_and(|end| end > 0 && rest[end] == b'(')
                || [&b"<... "[..], b"+++ ", b"--- "].iter().any(|mark| rest.starts_with(mark)))
    })
}

/// Process of a line, and where its time begins.
struct Head<'a> {
    process: &'a [u8],
    at: usize,
}

impl<'a> Head<'a> {
    /// `[pid 512] `, or `512 ` in a file of `-o`, or nothing.
    fn of(line: &'a [u8]) -> Head<'a> {
        if let Some(rest) = line.strip_prefix(b"[pid ")
            && let Some(end) = rest.iter().position(|&c| c == b']')
        {
            let blanks = rest[end + 1..].iter().take_while(|&&c| is_blank(c)).count();
            return Head { process: rest[..end].trim_ascii(), at: 5 + end + 1 + blanks };
        }
        let digits = line.iter().take_while(|c| c.is_ascii_digit()).count();
        let blanks = line[digits..].iter().take_while(|&&c| is_blank(c)).count();
        if digits > 0 && blanks > 0 {
            return Head { process: &line[..digits], at: digits + blanks };
        }
        Head { process: &line[..0], at: 0 }
    }
}

/// First part of a call.
#[derive(Clone)]
struct Begun {
    time_ns: u64,
    call: Vec<u8>,
}

#[derive(Clone, Default)]
struct Strace {
    /// Calls of which the second part is to come, by process.
    begun: HashMap<Vec<u8>, Begun>,
}

const UNFINISHED: &[u8] = b"<unfinished ...>";

impl LineParser for Strace {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if line.starts_with(b"strace: ") {
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        let Head { process, at } = Head::of(line);
        let end = line[at..].iter().position(|&c| is_blank(c)).map_or(line.len(), |n| at + n);
        let time_ns = match parse_decimal(&line[at..end], SECOND_NS) {
            Ok(ns) if ns >= LEAST_TIME_NS => ns,
            _ => {
                let expected = "seconds since 1970, as strace -ttt prints them";
                return Err(unexpected(line, at..end, Category::BadTime, "time", expected));
            }
        };
        let rest = line[end..].trim_ascii();
        if rest.starts_with(b"+++ ") || rest.starts_with(b"--- ") {
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        if let Some(call) = rest.strip_suffix(UNFINISHED) {
            let begun = Begun { time_ns, call: call.trim_ascii_end().to_vec() };
            self.begun.insert(process.to_vec(), begun);
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        if !rest.starts_with(b"<... ") {
            return call(Cow::Borrowed(rest), time_ns, context);
        }
        let first = self.begun.remove(process);
        let second = memchr::memmem::find(rest, b" resumed>").map(|at| &rest[at + 9..]);
        match (first, second) {
            (Some(first), Some(second)) => {
                call(Cow::Owned([&first.call, second].concat()), first.time_ns, context)
            }
            _ => Ok(Parsed::Skip(Skipped::Event("resumed without its first part".to_owned()))),
        }
    }

    fn finish(&mut self, context: &mut Context) {
        if !self.begun.is_empty() {
            let count = self.begun.len();
            context.tally.note(format!("strace: {count} calls had not returned at the end"));
        }
    }
}

/// A whole call: `name(fd<file>, ..., offset) = result [<seconds>]`.
fn call(text: Cow<[u8]>, time_ns: u64, context: &mut Context) -> Line {
    let Some((name, arguments, result)) = parts(&text) else {
        let message = "expected call(arguments) = result".to_owned();
        return Err(Fault::line(Category::TooFewFields, message));
    };
    let event = |what: String| Ok(Parsed::Skip(Skipped::Event(what)));
    let op = match name {
        b"pread64" | b"pread" | b"preadv" => RecordOp::Read,
        b"pwrite64" | b"pwrite" | b"pwritev" => RecordOp::Write,
        b"fsync" | b"fdatasync" | b"sync_file_range" | b"syncfs" => RecordOp::Flush,
        b"fallocate" if memchr::memmem::find(arguments, b"PUNCH_HOLE").is_some() => RecordOp::Trim,
        b"read" | b"write" | b"readv" | b"writev" | b"preadv2" | b"pwritev2" => {
            return event(format!(
                "{} (its offset is not recorded)",
                String::from_utf8_lossy(name)
            ));
        }
        _ => return event(printable(name)),
    };
    let returned = result.split(|&c| is_blank(c)).next().unwrap_or_default();
    if returned.starts_with(b"-") || returned == b"?" {
        return event("failed".to_owned());
    }
    let number = |text: &[u8], category, what: &str| {
        parse_u64(text).map_err(|_| {
            let found = quoted(text);
            Fault::line(
                category,
                format!("{what}: expected a whole number of bytes, found {found}"),
            )
        })
    };
    let mut last = arguments.rsplit(|&c| c == b',').map(<[u8]>::trim_ascii);
    let (mut offset_bytes, mut length_bytes) = (0, 0);
    if op != RecordOp::Flush {
        let (tail, before) = (last.next().unwrap_or_default(), last.next().unwrap_or_default());
        let trims = op == RecordOp::Trim;
        offset_bytes = number(if trims { before } else { tail }, Category::BadNumber, "offset")?;
        length_bytes = number(if trims { tail } else { returned }, Category::BadNumber, "result")?;
        if length_bytes == 0 {
            return Ok(Parsed::Skip(Skipped::ZeroLength));
        }
    }
    let device = context.devices.index(&device(arguments, context.file_device)?);
    context.extent_field = 0..0;
    let response_ns =
        match result.strip_suffix(b">").and_then(|text| text.rsplit(|&c| c == b'<').next()) {
            Some(text) => parse_decimal(text, SECOND_NS).unwrap_or(NO_RESPONSE),
            None => NO_RESPONSE,
        };
    Ok(Record { time_ns, offset_bytes, length_bytes, response_ns, device, op, ..Record::EMPTY }
        .into())
}

/// Name, arguments and what stands behind `=`. Data in quotes may hold any of these signs, so the
/// end is sought from the right.
fn parts(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let open = memchr::memchr(b'(', text)?;
    let mut end = text.len();
    loop {
        let equals = memchr::memrchr(b'=', &text[..end])?;
        let before = text[..equals].trim_ascii_end();
        if before.ends_with(b")") && before.len() > open && text.get(equals + 1) == Some(&b' ') {
            let name = &text[..open];
            return Some((name, &text[open + 1..before.len() - 1], &text[equals + 2..]));
        }
        end = equals;
    }
}

/// The file of `7</path>, ...`; without `-y` the descriptor is all that is known.
fn device<'a>(arguments: &'a [u8], file_device: &str) -> std::result::Result<Cow<'a, [u8]>, Fault> {
    let digits = arguments.iter().take_while(|c| c.is_ascii_digit()).count();
    let rest = &arguments[digits..];
    if digits == 0 {
        let found = quoted(arguments);
        let message = format!("file: expected fd<path>, as strace -y prints it, found {found}");
        return Err(Fault::line(Category::BadDevice, message));
    }
    let Some(path) = rest.strip_prefix(b"<") else {
        return Ok(Cow::Owned([file_device.as_bytes(), b":", &arguments[..digits]].concat()));
    };
    let ends = |k: usize| matches!(path.get(k + 1), None | Some(b',' | b')'));
    let end = memchr::memchr_iter(b'>', path).find(|&k| ends(k)).unwrap_or(path.len());
    Ok(Cow::Borrowed(&path[..end]))
}
