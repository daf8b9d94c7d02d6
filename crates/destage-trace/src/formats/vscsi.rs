//! `vscsi`: VMware vscsiStats and CloudPhysics traces, binary, little-endian, without a header.
//!
//! ```text
//! version 1, 32 bytes                     version 2, 40 bytes
//!  0 u32 serial    12 u16 cmd              0 u16 cmd      8 u32 length   24 u64 time (us)
//!  4 u32 length    14 u16 ver              2 u16 ver     12 u32 nSG      32 u64 response (us)
//!  8 u32 nSG       16 u64 lbn              4 u32 serial  16 u64 lbn
//!                  24 u64 time (us)
//! ```
//!
//! `ver >> 8` is the version, by which the two are distinguished: version 2 is tried first,
//! on the first two records, then version 1. Serial numbers wrap near 2^31 and are not used; the
//! time is the host's uptime. One file is one virtual disk.

use super::binary::*;

/// Unit of `lbn`.
const SECTOR_BYTES: u64 = 512;

/// Which of the two layouts a file has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    /// 32 bytes a record.
    One,
    /// 40 bytes a record, with a response time.
    Two,
}

impl Version {
    const fn record_bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    /// Position of the high byte of `ver`, and its value.
    const fn mark(self) -> (usize, u8) {
        match self {
            Version::One => (15, 1),
            Version::Two => (3, 2),
        }
    }

    /// The version whose mark stands in the first two records, or in the one record of a shorter
    /// file.
    fn of(head: &[u8]) -> Option<Version> {
        [Version::Two, Version::One].into_iter().find(|version| {
            let (at, mark) = version.mark();
            let mut records = head.chunks_exact(version.record_bytes()).take(2).peekable();
            records.peek().is_some() && records.all(|record| record[at] == mark)
        })
    }
}

/// Operation of a SCSI code; `None` for commands that carry no data of the disk.
fn operation(code: u8) -> Option<RecordOp> {
    match code {
        // READ (6), (10), (16), (12)
        0x08 | 0x28 | 0x88 | 0xa8 => Some(RecordOp::Read),
        // WRITE (6), (10), (16), (12); WRITE AND VERIFY (10), (16), (12); WRITE SAME (10), (16),
        // whose unmap bit is not in the trace
        0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae | 0x41 | 0x93 => Some(RecordOp::Write),
        // UNMAP
        0x42 => Some(RecordOp::Trim),
        // SYNCHRONIZE CACHE (10), (16)
        0x35 | 0x91 => Some(RecordOp::Flush),
        _ => None,
    }
}

/// The fields of one record that are used, before their units.
struct Fields {
    command: u16,
    version: u16,
    length_bytes: u32,
    block: u64,
    time_us: u64,
    response_us: Option<u64>,
}

impl Fields {
    /// `bytes` are those of one record of the layout `version`.
    #[inline]
    fn of(version: Version, bytes: &[u8]) -> Fields {
        let (command_at, length_at, response_us) = match version {
            Version::One => (12, 4, None),
            Version::Two => (0, 8, Some(u64_le(bytes, 32))),
        };
        Fields {
            command: u16_le(bytes, command_at),
            version: u16_le(bytes, command_at + 2),
            length_bytes: u32_le(bytes, length_at),
            block: u64_le(bytes, 16),
            time_us: u64_le(bytes, 24),
            response_us,
        }
    }

    /// The high byte of `ver`.
    fn version_mark(&self) -> u8 {
        (self.version >> 8) as u8
    }

    fn operation(&self) -> Option<RecordOp> {
        u8::try_from(self.command).ok().and_then(operation)
    }

    /// `None` where block or time do not fit their units.
    fn record(&self, op: RecordOp, device: u32) -> Option<Record> {
        let extent = if op == RecordOp::Flush {
            (0, 0)
        } else {
            (self.block.checked_mul(SECTOR_BYTES)?, u64::from(self.length_bytes))
        };
        Some(Record {
            time_ns: self.time_us.checked_mul(1_000)?,
            offset_bytes: extent.0,
            length_bytes: extent.1,
            response_ns: self.response_us.map_or(NO_RESPONSE, |us| us.saturating_mul(1_000)),
            device,
            op,
            ..Record::EMPTY
        })
    }

    /// Message where [`Fields::record`] has none.
    fn overflow(&self) -> String {
        if self.time_us.checked_mul(1_000).is_none() {
            format!("time: {} us lies past 2^64 ns", self.time_us)
        } else {
            format!("lbn: block {} lies past 2^64 bytes", self.block)
        }
    }
}

/// The row of the table.
pub static FORMAT: Format = Format {
    exact: true,
    has_volumes: false,
    has_response: true,
    name_parts: &[".vscsi"],
    ..Format::binary(
        "vscsi",
        "VMware vscsiStats, CloudPhysics",
        "records of 32 (version 1) or 40 bytes (version 2): SCSI command, 512-byte block, \
     length, time in us",
        detect,
        open,
    )
};

/// Records that detection looks at.
const DETECT_RECORDS: usize = 100;

fn detect(sample: &Sample) -> Verdict {
    let Some(version) = Version::of(sample.bytes) else { return Verdict::No };
    let (_, mark) = version.mark();
    let marked = format!("the first records carry the mark of version {mark}");
    let (mut seen, mut known) = (0, 0);
    for record in sample.bytes.chunks_exact(version.record_bytes()).take(DETECT_RECORDS) {
        let fields = Fields::of(version, record);
        seen += 1;
        known += usize::from(fields.version_mark() == mark && fields.operation().is_some());
    }
    if 2 * known > seen {
        Verdict::Yes(format!("{marked} and {known} of {seen} are SCSI reads and writes"))
    } else if known > 0 {
        Verdict::Maybe(format!("{marked}, but only {known} of {seen} are SCSI reads and writes"))
    } else {
        Verdict::No
    }
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let device_name = input.device_name();
    input.ensure(2 * Version::Two.record_bytes())?;
    let version = Version::of(input.window());
    let records = Records::new(input, opening);
    let version = match version {
        Some(version) => version,
        // Shorter than a record: the reader says so, with the place.
        None if records.input.window().len() < Version::One.record_bytes() => Version::One,
        None => {
            return Err(records.lost(
                records.place(0, 0),
                "ver: expected 0x01.. at byte 14 (version 1) or 0x02.. at byte 2 (version 2) of \
                 the first two records",
                None,
            ));
        }
    };
    Ok(Box::new(Vscsi { records, version, device_name }))
}

struct Vscsi {
    records: Records,
    version: Version,
    device_name: String,
}

impl RecordReader for Vscsi {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        let size = self.version.record_bytes();
        let count = self.records.whole(size, tally)?;
        let device = devices.index(self.device_name.as_bytes());
        for (i, bytes) in self.records.input.window()[..count * size].chunks_exact(size).enumerate()
        {
            let place = self.records.place(i, i * size);
            let fields = Fields::of(self.version, bytes);
            let (_, mark) = self.version.mark();
            if fields.version_mark() != mark {
                let found = fields.version;
                let message = format!(
                    "ver: expected 0x{mark:02x}.. as in the first record, found 0x{found:04x}"
                );
                self.records.reject(tally, place, Category::OutOfRange, message)?;
                continue;
            }
            let Some(op) = fields.operation() else {
                tally.ignore(&format!("SCSI command 0x{:02x}", fields.command));
                continue;
            };
            match fields.record(op, device) {
                Some(record) => self.records.take(record, place, out, tally)?,
                None => {
                    self.records.reject(tally, place, Category::OutOfRange, fields.overflow())?
                }
            }
        }
        self.records.advance(count, count * size, tally);
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{self, hex, read, read_err, request};

    const V1: &str = "01000080 00100000 01000000 2a000001 00500000 00000000 40548900 00000000
                      02000080 00400000 01000000 28000001 00400100 00000000 dc558900 00000000";
    const V2: &str =
        "42000002 03000080 00000100 01000000 08500000 00000000 2f588900 00000000 28000000 00000000";

    #[test]
    fn the_examples_of_the_specification() {
        let trace = read(&FORMAT, hex(V1), "w01.vscsi");
        assert_eq!(
            trace.records,
            [
                request(9_000_000_000, RecordOp::Write, 20_480 * 512, 4096),
                request(9_000_412_000, RecordOp::Read, 81_920 * 512, 16_384),
            ]
        );
        assert_eq!(trace.devices, ["w01"]);

        let trace = read(&FORMAT, hex(V2), "w01.vscsi");
        let mut unmap = request(9_001_007_000, RecordOp::Trim, 20_488 * 512, 65_536);
        unmap.response_ns = 40_000;
        assert_eq!(trace.records, [unmap]);
    }

    #[test]
    fn detection_gives_its_reason() {
        testing::detects(&FORMAT, &hex(V1));
        testing::detects(&FORMAT, &hex(V2));
        assert_eq!((FORMAT.detect)(&testing::sample(&[0; 64])), Verdict::No);
    }

    #[test]
    fn other_commands_are_counted_by_their_code() {
        let mut bytes = hex(V1);
        bytes[32 + 12] = 0x12; // INQUIRY
        let trace = read(&FORMAT, bytes, "x");
        assert_eq!(trace.records.len(), 1);
        assert_eq!(trace.tally.ignored_events["SCSI command 0x12"], 1);
    }

    #[test]
    fn every_command_of_the_specification_has_its_operation() {
        let codes =
            |op| (0..=255u8).filter(|&code| operation(code) == Some(op)).collect::<Vec<_>>();
        assert_eq!(codes(RecordOp::Read), [0x08, 0x28, 0x88, 0xa8]);
        assert_eq!(codes(RecordOp::Write), [0x0a, 0x2a, 0x2e, 0x41, 0x8a, 0x8e, 0x93, 0xaa, 0xae]);
        assert_eq!(codes(RecordOp::Trim), [0x42]);
        assert_eq!(codes(RecordOp::Flush), [0x35, 0x91]);
    }

    #[test]
    fn a_record_of_another_version_is_malformed() {
        let mut bytes = hex(V1);
        bytes.extend(hex(V1));
        bytes[2 * 32 + 15] = 3;
        let error = read_err(&FORMAT, bytes, "x.vscsi");
        assert!(
            error.starts_with("x.vscsi: record 2 at byte 64: ver: expected 0x01.. as in the first"),
            "{error}"
        );
    }

    #[test]
    fn a_block_number_past_all_addresses_is_out_of_range() {
        let mut bytes = hex(V1);
        bytes[32 + 16..32 + 24].fill(0xff);
        testing::rejects(&FORMAT, &bytes, Category::OutOfRange, "record 1 at byte 32: ");
    }

    #[test]
    fn an_incredible_length_is_oversized() {
        let mut bytes = hex(V1);
        bytes[32 + 4..32 + 8].fill(0xff);
        testing::rejects(
            &FORMAT,
            &bytes,
            Category::Oversized,
            "record 1 at byte 32: length: 4294967295 bytes",
        );
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_or_a_clean_shorter_trace() {
        testing::cut_anywhere(&FORMAT, &hex(V1), 32);
        testing::cut_anywhere(&FORMAT, &hex(V2).repeat(2), 40);
    }
}
