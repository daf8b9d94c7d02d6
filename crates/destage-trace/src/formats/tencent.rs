//! `tencent`: Tencent Cloud Block Storage 2018 (SNIA), 5,584 volumes, hourly archives.
//!
//! ```text
//! 1538323200,2048,16,1,901
//! Timestamp,Offset,Size,IOType,VolumeID
//! ```
//! Unix seconds, so tens of thousands of requests share a stamp (`spread`); offset and size in
//! 512-byte sectors; IOType 0 is a read, 1 a write; the volume is the device. Neighbouring lines
//! step back by a second.

use crate::error::{Category, Result};
use crate::fields::{Fields, parse_u64};
use crate::format::{Fault, Format, Opening, Parsed, RecordReader, Skipped};
use crate::input::Input;
use crate::record::{NO_RESPONSE, Record, RecordOp};
use crate::sample::{Sample, Verdict, most_lines};
use crate::text::{Context, LineParser, TextReader};

/// The row of the table.
pub static FORMAT: Format = Format {
    coarse_ns: Some(SECOND_NS),
    ..Format::text(
        "tencent",
        "Tencent Cloud Block Storage 2018",
        "Timestamp,Offset,Size,0|1,VolumeID; whole Unix seconds, sectors; 0 read, 1 write",
        detect,
        open,
    )
};

const SECOND_NS: u64 = 1_000_000_000;
const SECTOR_BYTES: u64 = 512;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "seconds,offset,size,0|1,volume", |line| {
        let f = Fields::<5>::commas(line);
        f.count == 5
            && (0..5).all(|i| parse_u64(f.bytes(i)).is_ok())
            && matches!(f.bytes(3), b"0" | b"1")
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    TextReader::boxed(input, opening, Tencent)
}

#[derive(Clone)]
struct Tencent;

impl LineParser for Tencent {
    fn line(&mut self, line: &[u8], context: &mut Context) -> std::result::Result<Parsed, Fault> {
        let f = Fields::<6>::commas(line);
        if f.bytes(0).eq_ignore_ascii_case(b"timestamp") {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        f.expect(5..=5)?;
        let time_ns = f.time(0, "Timestamp", "seconds", SECOND_NS)?;
        let offset_bytes = f.bytes_in(1, "Offset", "sectors", SECTOR_BYTES)?;
        let length_bytes = f.bytes_in(2, "Size", "sectors", SECTOR_BYTES)?;
        let op = match f.bytes(3) {
            b"0" => RecordOp::Read,
            b"1" => RecordOp::Write,
            _ => {
                return Err(f.unexpected(
                    3,
                    Category::UnknownOp,
                    "IOType",
                    "0 (read) or 1 (write)",
                ));
            }
        };
        let volume = f
            .whole(4, "VolumeID", "the volume")
            .map_err(|fault| Fault { category: Category::BadDevice, ..fault })?;
        let device = context.devices.index(volume.to_string().as_bytes());
        context.extent_field = f.at[2].clone();
        Ok(Parsed::Record(Record {
            time_ns,
            offset_bytes,
            length_bytes,
            response_ns: NO_RESPONSE,
            device,
            op,
        }))
    }

    fn beside(&self) -> Option<Self> {
        Some(self.clone())
    }
}
