//! `k5cloud`: Fujitsu K5 cloud block traces (SNIA).
//!
//! ```text
//! 12,1527814800.001210,W,1048576,4096
//! volume,time,R|W,offset,length
//! ```
//! Time in seconds with a fraction, offset and length in bytes, the volume is the device. No sample
//! was at hand, so the reader is strict and the format marked unconfirmed.

use crate::error::{Category, Result};
use crate::fields::{Fields, parse_decimal, parse_u64};
use crate::format::{Fault, Format, Opening, Parsed, RecordReader};
use crate::input::Input;
use crate::record::{NO_RESPONSE, Record, RecordOp};
use crate::sample::{Sample, Verdict, most_lines};
use crate::text::{Context, LineParser, TextReader};

/// The row of the table.
pub static FORMAT: Format = Format {
    confirmed: false,
    name_parts: &["k5"],
    ..Format::text(
        "k5cloud",
        "Fujitsu K5 cloud",
        "volume,seconds,R|W,offset,length; bytes",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "volume,seconds,R|W,offset,length", |line| {
        let f = Fields::<5>::commas(line);
        f.count == 5
            && parse_decimal(f.bytes(1), 1).is_ok()
            && matches!(f.bytes(2), b"R" | b"W")
            && [0, 3, 4].iter().all(|&i| parse_u64(f.bytes(i)).is_ok())
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    TextReader::boxed(input, opening, K5)
}

#[derive(Clone)]
struct K5;

impl LineParser for K5 {
    fn line(&mut self, line: &[u8], context: &mut Context) -> std::result::Result<Parsed, Fault> {
        let f = Fields::<6>::commas(line);
        f.expect(5..=5)?;
        let volume = f
            .whole(0, "volume", "the volume")
            .map_err(|fault| Fault { category: Category::BadDevice, ..fault })?;
        let time_ns = f.time(1, "time", "seconds", 1_000_000_000)?;
        let op = match f.bytes(2) {
            b"R" => RecordOp::Read,
            b"W" => RecordOp::Write,
            _ => return Err(f.unexpected(2, Category::UnknownOp, "operation", "R or W")),
        };
        let offset_bytes = f.whole(3, "offset", "bytes")?;
        let length_bytes = f.whole(4, "length", "bytes")?;
        let device = context.devices.index(volume.to_string().as_bytes());
        context.extent_field = f.at[4].clone();
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
