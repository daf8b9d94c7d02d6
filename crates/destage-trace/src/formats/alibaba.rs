//! `alibaba`: Alibaba Cloud block traces 2020, a thousand devices interleaved in one file.
//!
//! ```text
//! 17,W,1048576,8192,1577808000000626
//! device_id,opcode,offset,length,timestamp
//! ```
//! Offset and length in bytes, timestamp in microseconds since 1970, taken when the server received
//! the request. One header line is tolerated. `device_size.csv`, two columns, lies beside the trace
//! and is never taken for one.

use crate::error::{Category, Result};
use crate::fields::{Fields, parse_u64};
use crate::format::{Fault, Format, Opening, Parsed, RecordReader, Skipped};
use crate::input::Input;
use crate::record::{NO_RESPONSE, Record, RecordOp};
use crate::sample::{Sample, Verdict, most_lines};
use crate::text::{Context, LineParser, TextReader};

/// The row of the table. No real file was at hand: unconfirmed.
pub static FORMAT: Format = Format {
    confirmed: false,
    ..Format::text(
        "alibaba",
        "Alibaba Cloud block traces 2020",
        "device_id,R|W,offset,length,timestamp; bytes, microseconds since 1970",
        detect,
        open,
    )
};

const MICROSECOND_NS: u64 = 1_000;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "device,R|W,offset,length,microseconds", |line| {
        let f = Fields::<5>::commas(line);
        f.count == 5
            && matches!(f.bytes(1), b"R" | b"W")
            && [0, 2, 3, 4].iter().all(|&i| parse_u64(f.bytes(i)).is_ok())
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    TextReader::boxed(input, opening, Alibaba)
}

#[derive(Clone)]
struct Alibaba;

impl LineParser for Alibaba {
    fn line(&mut self, line: &[u8], context: &mut Context) -> std::result::Result<Parsed, Fault> {
        let f = Fields::<6>::commas(line);
        if f.bytes(0).eq_ignore_ascii_case(b"device_id") {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        f.expect(5..=5)?;
        let id = f
            .whole(0, "device_id", "the device")
            .map_err(|fault| Fault { category: Category::BadDevice, ..fault })?;
        let op = match f.bytes(1) {
            b"R" => RecordOp::Read,
            b"W" => RecordOp::Write,
            _ => return Err(f.unexpected(1, Category::UnknownOp, "opcode", "R or W")),
        };
        let offset_bytes = f.whole(2, "offset", "bytes")?;
        let length_bytes = f.whole(3, "length", "bytes")?;
        let time_ns = f.time(4, "timestamp", "microseconds", MICROSECOND_NS)?;
        let device = context.devices.index(id.to_string().as_bytes());
        context.extent_field = f.at[3].clone();
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
