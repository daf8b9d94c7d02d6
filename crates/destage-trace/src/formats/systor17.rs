//! `systor17`: enterprise VDI storage of SYSTOR '17 (SNIA 4964), one file an hour and LUN.
//!
//! ```text
//! Timestamp,Response,IOType,LUN,Offset,Size
//! 1456012801.000250000,0.000410000,W,3,1048576,8192
//! ```
//! Times in Unix seconds with nine decimals, true to the microsecond and not sorted; response in
//! seconds, may be empty; offset and size in bytes; the LUN is the device. An empty IOType means
//! that no answer was seen, so the direction is unknown: an ignored event, `no response`. The
//! header may be missing or, in concatenated files, come again.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=0,device=3,op=2,offset=4,length=5,response=1"),
        ("time_unit", "s"),
        ("offset_unit", "byte"),
        ("length_unit", "byte"),
        ("op_read", "R"),
        ("op_write", "W"),
    ],
    year_2000_ns: Format::UNIX_2000_NS,
    has_response: true,
    ..Format::text(
        "systor17",
        "SYSTOR '17 enterprise VDI",
        "Timestamp,Response,IOType,LUN,Offset,Size; Unix seconds, bytes; device LUN",
        detect,
        |input, opening| TextReader::boxed(input, opening, Systor),
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "Timestamp,Response,R|W,LUN,Offset,Size", |line| {
        let f = Fields::<6>::commas(line);
        is_header(&f)
            || (f.count == 6
                && parse_decimal(f.bytes(0), 1).is_ok()
                && (f.bytes(1).is_empty() || parse_decimal(f.bytes(1), 1).is_ok())
                && matches!(f.bytes(2), b"R" | b"W" | b"")
                && (3..6).all(|i| parse_u64(f.bytes(i)).is_ok()))
    })
}

fn is_header(f: &Fields<6>) -> bool {
    f.bytes(0).eq_ignore_ascii_case(b"timestamp") && f.bytes(1).eq_ignore_ascii_case(b"response")
}

#[derive(Clone)]
struct Systor;

impl LineParser for Systor {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<6>::commas(line);
        if is_header(&f) {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        f.expect(6..=6)?;
        let op = match f.bytes(2) {
            b"R" => RecordOp::Read,
            b"W" => RecordOp::Write,
            b"" => return Ok(Parsed::Skip(Skipped::Event("no response".to_owned()))),
            _ => return Err(f.unexpected(2, Category::UnknownOp, "IOType", "R, W or nothing")),
        };
        let time_ns = f.time(0, "Timestamp", "seconds", SECOND_NS)?;
        let response_ns = if f.bytes(1).is_empty() {
            NO_RESPONSE
        } else {
            f.time(1, "Response", "seconds", SECOND_NS)?
        };
        let lun = f.whole_device(3, "LUN", "the unit")?;
        let offset_bytes = f.whole(4, "Offset", "bytes")?;
        let length_bytes = f.whole(5, "Size", "bytes")?;
        let device = context.devices.index(lun.to_string().as_bytes());
        context.extent_field = f.at[5].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, response_ns, device, op, ..Record::EMPTY }
            .into())
    }
}
