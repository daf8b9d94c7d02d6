//! `srt`: HP Labs traces (Cello 92 and 99, snake, hplajw), binary, with a text header.
//!
//! The header is lines of `key = value;`, the first of which starts with `$$TR_IOREC-`; a form feed
//! ends it. Then records of big-endian u32 words:
//!
//! ```text
//!  0 size in bytes, itself included     6 length in bytes      11 flags: bit 0 read
//!  1 version << 16 | type               7 sector number        12 info
//!  2, 3 enqueue time, s and us          8 device: the disk     13 queue length, version 4 only
//!  4, 5 start and stop of service,        in bits 8..15        last: suspect flags, type 4 only
//!       us after enqueue                9, 10 driver, cylinder
//! ```
//!
//! Type 1 is a short I/O record; type 4 one that the tracer suspects to be wrong, which is left
//! out, as are all other types. Times count from `tracedate` in the header. The sector is that of
//! the disk, from the header too, and not always 512 bytes: without a header, or where it is
//! silent, the option `sector_bytes` must say it.

use std::collections::BTreeMap;

use super::binary::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    exact: true,
    has_response: true,
    name_parts: &[".srt"],
    ..Format::binary(
        "srt",
        "HP Labs SRT (Cello, snake, hplajw)",
        "a text header, then big-endian records of 52 to 60 bytes; sectors as large as the \
     header says",
        detect,
        open,
    )
};

/// First bytes of a header.
const MAGIC: &[u8] = b"$$TR_IOREC-";
/// Last byte of a header.
const FORM_FEED: u8 = 0x0c;
/// Longest header believed.
const HEADER_LIMIT_BYTES: usize = 1 << 20;
/// Words 0 to 12, which every short I/O record has.
const COMMON_BYTES: usize = 52;
/// Largest record of another type that is stepped over; beyond it the size itself is taken as
/// wrong.
const RECORD_LIMIT_BYTES: usize = 64 * 1024;
/// Type of a short I/O record.
const SHORT_IO: u32 = 1;
/// Type of one that is suspected to be wrong.
const SUSPECT_IO: u32 = 4;

/// Bytes of a record of type 1 or 4.
fn expected_bytes(version: u32, kind: u32) -> usize {
    COMMON_BYTES + if version == 4 { 4 } else { 0 } + if kind == SUSPECT_IO { 4 } else { 0 }
}

fn detect(sample: &Sample) -> Verdict {
    if sample.bytes.starts_with(MAGIC) {
        return Verdict::Yes("the header's $$TR_IOREC-".to_owned());
    }
    // Without a header: a chain of records, each as long as its own type and version want.
    let (mut rest, mut chained) = (sample.bytes, 0);
    while rest.len() >= 8 && chained < 100 {
        let (size, version, kind) =
            (u32_be(rest, 0) as usize, u32_be(rest, 4) >> 16, u32_be(rest, 4) & 0xffff);
        let fits = (1..=4).contains(&version)
            && matches!(kind, SHORT_IO | SUSPECT_IO)
            && size == expected_bytes(version, kind);
        if !fits {
            return Verdict::No;
        }
        chained += 1;
        rest = &rest[size.min(rest.len())..];
    }
    if chained == 0 {
        return Verdict::No;
    }
    Verdict::Maybe(format!(
        "{chained} records of HP Labs SRT without its header: --format srt --srt-header false \
         --sector-bytes N"
    ))
}

/// Fields of the header that are used.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    /// Nanoseconds since 1970, read as UTC; 0 if there is no date.
    origin_ns: u64,
    /// Sector size by disk number.
    sector_bytes: BTreeMap<u32, u64>,
    /// One that stands outside of the disks' table.
    common_sector_bytes: Option<u64>,
}

impl Header {
    /// Reads the header's text. Keys that are not needed are passed over, whatever they hold.
    fn parse(text: &str) -> Header {
        let mut header = Header::default();
        // The names of the braces that are open: the text before `{` without its `=` or `->`.
        let mut open: Vec<&str> = Vec::new();
        let (mut from, mut quoted) = (0, false);
        for (at, mark) in text.bytes().enumerate() {
            quoted ^= mark == b'"';
            if quoted || !matches!(mark, b'{' | b'}' | b',' | b';' | b'\n') {
                continue;
            }
            let item = text[from..at].trim();
            from = at + 1;
            if mark == b'{' {
                open.push(item.trim_end_matches(['=', '-', '>', ' ', '\t']));
                continue;
            }
            header.take(item, &open);
            if mark == b'}' {
                open.pop();
            }
        }
        header
    }

    /// One `key = value` inside the braces `open`.
    fn take(&mut self, item: &str, open: &[&str]) {
        let Some((key, value)) = item.split_once('=') else { return };
        let value = value.trim();
        match (key.trim(), open) {
            ("tracedate", []) => self.origin_ns = parse_date(value.trim_matches('"')).unwrap_or(0),
            ("sectorsize", []) => self.common_sector_bytes = parse_size(value),
            ("sectorsize", ["disks", disk]) => {
                if let (Ok(disk), Some(bytes)) = (disk.parse(), parse_size(value)) {
                    self.sector_bytes.insert(disk, bytes);
                }
            }
            _ => {}
        }
    }
}

fn parse_size(value: &str) -> Option<u64> {
    value.parse().ok().filter(|bytes| (1..=1 << 20).contains(bytes))
}

/// `Sat May 30 00:03:06 1992` as nanoseconds since 1970 UTC; `None` for anything else or before
/// 1970.
fn parse_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, clock, year] = fields[..] else { return None };
    let month = MONTHS.iter().position(|m| m.eq_ignore_ascii_case(month))? as u64 + 1;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<u64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = clock[..] else { return None };
    let sane = (1..=31).contains(&day)
        && (1970..=2500).contains(&year)
        && hours < 24
        && minutes < 60
        && seconds < 61;
    if !sane {
        return None;
    }
    // Days before the month, in a year that begins in March, so that a leap day is the last one.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days_since_1970 = days.checked_sub(719_468)?;
    Some((days_since_1970 * 86_400 + hours * 3_600 + minutes * 60 + seconds) * 1_000_000_000)
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let options = &opening.options;
    let mut reader = Srt {
        sector_bytes: options.sector_bytes,
        header: Header::default(),
        records: Records::new(input, opening),
    };
    if options.srt_header {
        reader.read_header()?;
    } else if options.sector_bytes.is_none() {
        let message = "srt: without a header the size of a sector must be given: --sector-bytes \
         256, 512, ...";
        return Err(TraceError::usage(message.to_owned()));
    }
    Ok(Box::new(reader))
}

struct Srt {
    records: Records,
    header: Header,
    /// Value of the option, which takes precedence over the header's.
    sector_bytes: Option<u64>,
}

impl Srt {
    /// Reads the header that the window begins with.
    fn read_header(&mut self) -> Result<()> {
        let mut searched = 0;
        let end = loop {
            let window = self.records.input.window();
            if !window.starts_with(&MAGIC[..MAGIC.len().min(window.len())])
                || searched > HEADER_LIMIT_BYTES
            {
                let hint = "--srt-header false with --sector-bytes N reads a file without a header";
                return Err(
                    self.bad_header("a first line that starts with $$TR_IOREC-", Some(hint))
                );
            }
            if let Some(end) = memchr::memchr(FORM_FEED, &window[searched..]) {
                break searched + end;
            }
            searched = window.len();
            if !self.records.input.grow()? {
                return Err(self
                    .bad_header("a form feed (0x0c) at its end, found the end of the file", None));
            }
        };
        self.header = Header::parse(&String::from_utf8_lossy(&self.records.input.window()[..end]));
        self.records.input.consume(end + 1);
        Ok(())
    }

    fn bad_header(&self, expected: &str, hint: Option<&str>) -> TraceError {
        self.records.lost(self.records.place(0, 0), format!("header: expected {expected}"), hint)
    }

    /// Takes one record; returns whether there was one.
    fn next(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        let at_hand = self.records.input.ensure(COMMON_BYTES)?;
        if at_hand == 0 {
            return Ok(false);
        }
        if self.records.input.window().starts_with(MAGIC) {
            // Days were put one after another, each with its own header and date.
            self.read_header()?;
            tally.header += 1;
            return Ok(true);
        }
        if at_hand < 8 {
            self.records.short(COMMON_BYTES, tally)?;
            return Ok(false);
        }
        let (size, word) =
            (u32_be(self.records.input.window(), 0), u32_be(self.records.input.window(), 4));
        let (bytes, version, kind) = (size as usize, word >> 16, word & 0xffff);
        let place = self.records.place(0, 0);
        let is_io = matches!(kind, SHORT_IO | SUSPECT_IO);
        let expected = expected_bytes(version, kind);
        if is_io && bytes != expected {
            let message = format!(
                "size: expected {expected} for version {version}, type {kind}, found {size}"
            );
            return Err(self.records.lost(place, message, None));
        }
        if !(8..=RECORD_LIMIT_BYTES).contains(&bytes) {
            let message = format!("size: expected 8 to {RECORD_LIMIT_BYTES} bytes, found {size}");
            return Err(self.records.lost(place, message, None));
        }
        if self.records.input.ensure(bytes)? < bytes {
            self.records.short(bytes, tally)?;
            return Ok(false);
        }
        match kind {
            SHORT_IO => self.request(place, out, devices, tally)?,
            SUSPECT_IO => tally.ignore("suspect I/O"),
            other => tally.ignore(&format!("record type {other}")),
        }
        self.records.advance(1, bytes, tally);
        Ok(true)
    }

    /// The short I/O record that the window begins with.
    fn request(
        &mut self,
        place: Location,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<()> {
        let word = |number: usize| u32_be(self.records.input.window(), 4 * number);
        let (seconds, microseconds) = (u64::from(word(2)), u64::from(word(3)));
        if microseconds >= 1_000_000 {
            let message =
                format!("enqueue time: expected less than 1000000 us, found {microseconds}");
            return self.records.reject(tally, place, Category::BadTime, message);
        }
        let disk = word(8) >> 8 & 0xff;
        let known =
            self.header.sector_bytes.get(&disk).copied().or(self.header.common_sector_bytes);
        let Some(sector_bytes) = self.sector_bytes.or(known) else {
            let message = format!(
                "{}: the header has no sectorsize for disk {disk}; say it with --sector-bytes \
                 256, 512, ...",
                self.records.name()
            );
            return Err(TraceError::usage(message));
        };
        let since_start_ns = seconds * 1_000_000_000 + microseconds * 1_000;
        let record = Record {
            time_ns: self.header.origin_ns + since_start_ns,
            offset_bytes: u64::from(word(7)) * sector_bytes,
            length_bytes: u64::from(word(6)),
            response_ns: u64::from(word(5)) * 1_000,
            device: devices.index(disk.to_string().as_bytes()),
            op: if word(11) & 1 == 1 { RecordOp::Read } else { RecordOp::Write },
            ..Record::EMPTY
        };
        self.records.take(record, place, out, tally)
    }
}

impl RecordReader for Srt {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        for _ in 0..BATCH_RECORDS {
            if !self.next(out, devices, tally)? {
                self.records.ended(tally);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
