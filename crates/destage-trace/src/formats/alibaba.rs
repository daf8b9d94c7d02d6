//! `alibaba`: Alibaba Cloud block traces 2020, a thousand devices interleaved in one file.
//!
//! ```text
//! 17,W,1048576,8192,1577808000000626
//! device_id,opcode,offset,length,timestamp
//! ```
//! Offset and length in bytes, timestamp in microseconds since 1970, taken when the server received
//! the request. One header line is tolerated. `device_size.csv`, two columns, lies beside the trace
//! and is never taken for one.

use super::text_format::*;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=4,device=0,op=1,offset=2,length=3"),
        ("time_unit", "us"),
        ("offset_unit", "byte"),
        ("length_unit", "byte"),
        ("op_read", "R"),
        ("op_write", "W"),
    ],
    year_2000_ns: Format::UNIX_2000_NS,
    confirmed: false,
    ..Format::text(
        "alibaba",
        "Alibaba Cloud block traces 2020",
        "device_id,R|W,offset,length,timestamp; bytes, microseconds since 1970",
        detect,
        |input, opening| TextReader::boxed(input, opening, Alibaba),
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "device,R|W,offset,length,microseconds", |line| {
        let f = Fields::<5>::commas(line);
        f.count == 5
            && matches!(f.bytes(1), b"R" | b"W")
            && [0, 2, 3, 4].iter().all(|&i| parse_u64(f.bytes(i)).is_ok())
    })
}

#[derive(Clone)]
struct Alibaba;

impl LineParser for Alibaba {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<6>::commas(line);
        if f.bytes(0).eq_ignore_ascii_case(b"device_id") {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        f.expect(5..=5)?;
        let id = f.whole_device(0, "device_id", "the device")?;
        let op = f.op(1, "opcode", &[(b"R", RecordOp::Read), (b"W", RecordOp::Write)], "R or W")?;
        let offset_bytes = f.whole(2, "offset", "bytes")?;
        let length_bytes = f.whole(3, "length", "bytes")?;
        let time_ns = f.time(4, "timestamp", "microseconds", MICROSECOND_NS)?;
        let device = context.devices.index(id.to_string().as_bytes());
        context.extent_field = f.at[3].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
