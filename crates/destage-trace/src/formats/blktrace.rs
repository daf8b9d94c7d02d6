//! `blktrace`: the binary event stream of the Linux block layer, one file per CPU or one merged
//! dump.
//!
//! ```text
//! 48 bytes in the byte order of the machine that wrote them, then `pdu_len` bytes of payload
//!  0 u32 magic 0x65617400 + version    16 u64 sector    32 u32 pid       44 u16 error
//!  4 u32 sequence                      24 u32 bytes     36 u32 device    46 u16 pdu_len
//!  8 u64 time (ns)                     28 u32 action    40 u32 cpu
//! ```
//!
//! `device` is `major << 20 | minor`. The low half of `action` is the event; the high half its
//! categories. **Only the low half decides the event**: the categories differ between kernels, and
//! the streams of tracefs (tracer `blk`, option `bin`) leave queue, issue and complete out. Exactly
//! one kind of event makes requests (`event = "D"`, `"Q"` or `"C"`), since each I/O passes through
//! all of them.
//!
//! Records of one stamp are ordered by CPU, then sequence, then place in the file. Across the files
//! of one recording this is what sorting by time does when the files stand in the order of their
//! CPUs; within a merged dump the reader does it here.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::binary::*;
use crate::options::Event;

/// Bytes of a record without its payload.
const HEAD_BYTES: usize = 48;
/// The upper 24 bits of the first word.
const MAGIC: u32 = 0x6561_7400;
/// The only version of the records that is read; the later ones are longer.
const VERSION: u32 = 7;
/// No version is as high as this, so that text which begins with the same letters is none.
const VERSION_LIMIT: u32 = 16;
/// "Sector" of the block layer, whatever the drive's own are.
const SECTOR_BYTES: u64 = 512;

/// Categories: bits of `action`.
mod category {
    pub(super) const WRITE: u32 = 1 << 17;
    pub(super) const PC: u32 = 1 << 25;
    pub(super) const NOTIFY: u32 = 1 << 26;
    pub(super) const DISCARD: u32 = 1 << 29;
}

/// The low half of `action` of the event that makes requests.
fn number(event: Event) -> u32 {
    match event {
        Event::Q => 1,
        Event::D => 7,
        Event::C => 8,
    }
}

/// Name of an event that makes no request, in the table of ignored events: blkparse's letter
/// and a word.
fn event_name(action: u32) -> Cow<'static, str> {
    let name = match (action & category::NOTIFY != 0, action & 0xffff) {
        (true, 0) => "note: process name",
        (true, 1) => "note: wall clock",
        (true, 2) => "m message",
        (false, 1) => "Q queue",
        (false, 2) => "M back merge",
        (false, 3) => "F front merge",
        (false, 4) => "G get request",
        (false, 5) => "S sleep",
        (false, 6) => "R requeue",
        (false, 7) => "D issue",
        (false, 8) => "C complete",
        (false, 9) => "P plug",
        (false, 10) => "U unplug",
        (false, 11) => "UT unplug by timer",
        (false, 12) => "I insert",
        (false, 13) => "X split",
        (false, 14) => "B bounce",
        (false, 15) => "A remap",
        (false, 16) => "abort",
        (false, 17) => "driver data",
        (notify, number) => {
            return format!("{} {number}", if notify { "note" } else { "action" }).into();
        }
    };
    name.into()
}

/// The byte order of the machine that wrote a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Endian {
    Little,
    Big,
}

impl Endian {
    /// Byte order and version of a record that starts with these four bytes.
    fn of(magic: [u8; 4]) -> Option<(Endian, u32)> {
        [(Endian::Little, u32::from_le_bytes(magic)), (Endian::Big, u32::from_be_bytes(magic))]
            .into_iter()
            .find(|(_, word)| (MAGIC..MAGIC + VERSION_LIMIT).contains(word))
            .map(|(endian, word)| (endian, word & 0xff))
    }

    /// The `N` bytes from `at` on, the lowest first.
    fn field<const N: usize>(self, bytes: &[u8], at: usize) -> [u8; N] {
        let mut field = field(bytes, at);
        if self == Endian::Big {
            field.reverse();
        }
        field
    }

    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(self.field(bytes, at))
    }
}

/// The fields of one record that are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Head {
    sequence: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    cpu: u32,
    pdu_len: u16,
}

impl Head {
    /// The record that starts `bytes`, which are at least [`HEAD_BYTES`].
    fn parse(bytes: &[u8], endian: Endian) -> Head {
        Head {
            sequence: endian.u32(bytes, 4),
            time_ns: u64::from_le_bytes(endian.field(bytes, 8)),
            sector: u64::from_le_bytes(endian.field(bytes, 16)),
            bytes: endian.u32(bytes, 24),
            action: endian.u32(bytes, 28),
            device: endian.u32(bytes, 36),
            cpu: endian.u32(bytes, 40),
            pdu_len: u16::from_le_bytes(endian.field(bytes, 46)),
        }
    }

    /// `major:minor` of the kernel's device number.
    fn device_name(&self) -> String {
        format!("{}:{}", self.device >> 20, self.device & 0xf_ffff)
    }

    /// Whether this is the event that makes requests, of an I/O that carries blocks.
    fn is(&self, event: u32) -> bool {
        self.action & (category::NOTIFY | category::PC) == 0 && self.action & 0xffff == event
    }

    /// Name in the table of ignored events.
    fn ignored_name(&self) -> Cow<'static, str> {
        let name = event_name(self.action);
        if self.action & category::PC != 0 && self.action & category::NOTIFY == 0 {
            return format!("{name} of a SCSI command").into();
        }
        name
    }

    /// `None` where the sector does not fit its unit.
    fn record(&self, device: u32) -> Option<Record> {
        let op = if self.bytes == 0 {
            RecordOp::Flush
        } else if self.action & category::DISCARD != 0 {
            RecordOp::Trim
        } else if self.action & category::WRITE != 0 {
            RecordOp::Write
        } else {
            RecordOp::Read
        };
        let offset_bytes =
            if op == RecordOp::Flush { 0 } else { self.sector.checked_mul(SECTOR_BYTES)? };
        Some(Record {
            time_ns: self.time_ns,
            offset_bytes,
            length_bytes: u64::from(self.bytes),
            device,
            op,
            ..Record::EMPTY
        })
    }
}

/// The row of the table.
pub static FORMAT: Format = Format {
    exact: true,
    name_parts: &[".blktrace."],
    layered: true,
    siblings: Some(siblings),
    ..Format::binary(
        "blktrace",
        "Linux blktrace, binary",
        "records of 48 bytes and a payload, one file per CPU or one merged dump; time in ns, \
     512-byte sectors",
        detect,
        open,
    )
};

/// The files of the other CPUs beside `<dev>.blktrace.<n>`, itself included, in the order of their
/// numbers; empty for any other name or if there is no other.
fn siblings(path: &Path) -> Vec<PathBuf> {
    let numbered = |path: &Path| -> Option<(String, u64)> {
        let (stem, number) = path.file_name()?.to_str()?.rsplit_once('.')?;
        let number = number.bytes().all(|c| c.is_ascii_digit()).then(|| number.parse().ok())??;
        stem.ends_with(".blktrace").then(|| (stem.to_owned(), number))
    };
    let Some((stem, _)) = numbered(path) else { return Vec::new() };
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let (other, number) = numbered(Path::new(&name))?;
            // Spelled as the given path is, so that messages look like what the user wrote.
            (other == stem).then(|| (number, path.with_file_name(name)))
        })
        .collect();
    all.sort();
    if all.len() > 1 { all.into_iter().map(|(_, path)| path).collect() } else { Vec::new() }
}

fn detect(sample: &Sample) -> Verdict {
    if sample.bytes.len() < 4 {
        return Verdict::No;
    }
    match Endian::of(field(sample.bytes, 0)) {
        Some((endian, version)) => {
            let order = if endian == Endian::Little { "little" } else { "big" };
            Verdict::Yes(format!("the magic number, {order}-endian, version {version}"))
        }
        None => Verdict::No,
    }
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    input.ensure(HEAD_BYTES)?;
    let records = Records::new(input, opening);
    let endian = match records.input.window() {
        bytes if bytes.len() >= 4 => expect_magic(&records, field(bytes, 0), None)?,
        // Shorter than a record: the reader says so, with the place.
        _ => Endian::Little,
    };
    Ok(Box::new(Blktrace {
        records,
        endian,
        event: number(opening.options.event),
        known: FxHashMap::default(),
        pending: Vec::new(),
    }))
}

/// The byte order of the record that starts with these four bytes, if it is one of ours.
fn expect_magic(records: &Records, magic: [u8; 4], before: Option<Endian>) -> Result<Endian> {
    let place = records.place(0, 0);
    let found = u32::from_be_bytes(magic);
    match Endian::of(magic) {
        Some((endian, VERSION)) if before.is_none_or(|b| b == endian) => Ok(endian),
        Some((endian, VERSION)) => Err(records.lost(
            place,
            format!("magic: the byte order changes to {endian:?}-endian in the middle"),
            Some("convert the parts on their own"),
        )),
        Some((_, version)) if version > VERSION => Err(records.lost(
            place,
            format!(
                "magic: blktrace version {version}, whose records are extended, is not read; \
                 expected {VERSION}"
            ),
            Some("convert it with blkparse: its text is format blkparse"),
        )),
        Some((_, version)) => {
            let message = format!("magic: expected blktrace version {VERSION}, found {version}");
            Err(records.lost(place, message, None))
        }
        None => Err(records.lost(
            place,
            format!("magic: expected 0x{MAGIC:08x} + version, found the bytes {found:08x}"),
            before.map(|_| "the length of the payload before it was wrong, or data are missing"),
        )),
    }
}

/// A request that waits until no other of its stamp can come.
struct PendingRequest {
    cpu: u32,
    sequence: u32,
    record: Record,
}

struct Blktrace {
    records: Records,
    endian: Endian,
    /// [`number`] of the event that makes requests.
    event: u32,
    /// Kernel device number to index in the table of names.
    known: FxHashMap<u32, u32>,
    /// Requests of one stamp, the latest.
    pending: Vec<PendingRequest>,
}

impl RecordReader for Blktrace {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        for _ in 0..BATCH_RECORDS {
            if !self.next(out, devices, tally)? {
                self.release(out);
                self.records.ended(tally);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Blktrace {
    /// Takes one record; returns whether there was one.
    fn next(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        let at_hand = match self.records.input.window().len() {
            enough if enough >= HEAD_BYTES => enough,
            _ => self.records.input.ensure(HEAD_BYTES)?,
        };
        if at_hand == 0 {
            return Ok(false);
        }
        if at_hand >= 4 {
            expect_magic(&self.records, field(self.records.input.window(), 0), Some(self.endian))?;
        }
        if at_hand < HEAD_BYTES {
            self.records.short(HEAD_BYTES, tally)?;
            return Ok(false);
        }
        let head = Head::parse(self.records.input.window(), self.endian);
        let bytes = HEAD_BYTES + usize::from(head.pdu_len);
        if at_hand < bytes && self.records.input.ensure(bytes)? < bytes {
            self.records.short(bytes, tally)?;
            return Ok(false);
        }
        if head.is(self.event) {
            let device = *self
                .known
                .entry(head.device)
                .or_insert_with(|| devices.index(head.device_name().as_bytes()));
            self.request(&head, device, out, tally)?;
        } else {
            tally.ignore(&head.ignored_name());
        }
        self.records.advance(1, bytes, tally);
        Ok(true)
    }

    fn request(
        &mut self,
        head: &Head,
        device: u32,
        out: &mut Vec<Record>,
        tally: &mut Tally,
    ) -> Result<()> {
        let place = self.records.place(0, 0);
        let Some(record) = head.record(device) else {
            let message = format!("sector: {} lies past 2^64 bytes", head.sector);
            return self.records.reject(tally, place, Category::OutOfRange, message);
        };
        if self.pending.first().is_some_and(|pending| pending.record.time_ns != record.time_ns) {
            self.release(out);
        }
        // Judged now, while the place is known, and put aside.
        let before = out.len();
        self.records.take(record, place, out, tally)?;
        if out.len() > before {
            out.pop();
            self.pending.push(PendingRequest { cpu: head.cpu, sequence: head.sequence, record });
        }
        Ok(())
    }

    /// Hands on the requests of the latest stamp, by CPU, then sequence, then place.
    fn release(&mut self, out: &mut Vec<Record>) {
        self.pending.sort_by_key(|pending| (pending.cpu, pending.sequence));
        out.extend(self.pending.drain(..).map(|pending| pending.record));
    }
}

#[cfg(test)]
mod tests;
