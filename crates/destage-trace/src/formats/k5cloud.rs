//! `k5cloud`: Fujitsu K5 cloud block traces (SNIA).
//!
//! ```text
//! 12,1527814800.001210,W,1048576,4096
//! volume,time,R|W,offset,length
//! ```
//! Time in seconds with a fraction, offset and length in bytes, the volume is the device. No sample
//! was available, so the reader is strict and the format marked unconfirmed.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=1,device=0,op=2,offset=3,length=4"),
        ("time_unit", "s"),
        ("offset_unit", "byte"),
        ("length_unit", "byte"),
        ("op_read", "R"),
        ("op_write", "W"),
    ],
    year_2000_ns: Format::UNIX_2000_NS,
    confirmed: false,
    name_parts: &["k5"],
    ..Format::text(
        "k5cloud",
        "Fujitsu K5 cloud",
        "volume,seconds,R|W,offset,length; bytes",
        detect,
        |input, opening| TextReader::boxed(input, opening, K5),
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

#[derive(Clone)]
struct K5;

impl LineParser for K5 {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<6>::commas(line);
        f.expect(5..=5)?;
        let volume = f.whole_device(0, "volume", "the volume")?;
        let time_ns = f.time(1, "time", "seconds", 1_000_000_000)?;
        let op =
            f.op(2, "operation", &[(b"R", RecordOp::Read), (b"W", RecordOp::Write)], "R or W")?;
        let offset_bytes = f.whole(3, "offset", "bytes")?;
        let length_bytes = f.whole(4, "length", "bytes")?;
        let device = context.devices.index(volume.to_string().as_bytes());
        context.extent_field = f.at[4].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
