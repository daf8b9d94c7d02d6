//! `tencent`: Tencent Cloud Block Storage 2018 (SNIA), 5,584 volumes, hourly archives.
//!
//! ```text
//! 1538323200,2048,16,1,901
//! Timestamp,Offset,Size,IOType,VolumeID
//! ```
//! Unix seconds, so tens of thousands of requests share a stamp (`spread`); offset and size in
//! 512-byte sectors; IOType 0 is a read, 1 a write; the volume is the device. Neighbouring lines
//! step back by a second.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=0,device=4,op=3,offset=1,length=2"),
        ("time_unit", "s"),
        ("offset_unit", "sector"),
        ("length_unit", "sector"),
        ("op_read", "0"),
        ("op_write", "1"),
    ],
    year_2000_ns: Format::UNIX_2000_NS,
    coarse_ns: Some(SECOND_NS),
    ..Format::text(
        "tencent",
        "Tencent Cloud Block Storage 2018",
        "Timestamp,Offset,Size,0|1,VolumeID; whole Unix seconds, sectors; 0 read, 1 write",
        detect,
        |input, opening| TextReader::boxed(input, opening, Tencent),
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "seconds,offset,size,0|1,volume", |line| {
        let f = Fields::<5>::commas(line);
        f.count == 5
            && (0..5).all(|i| parse_u64(f.bytes(i)).is_ok())
            && matches!(f.bytes(3), b"0" | b"1")
    })
}

#[derive(Clone)]
struct Tencent;

impl LineParser for Tencent {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<6>::commas(line);
        if f.bytes(0).eq_ignore_ascii_case(b"timestamp") {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        f.expect(5..=5)?;
        let time_ns = f.time(0, "Timestamp", "seconds", SECOND_NS)?;
        let offset_bytes = f.bytes_in(1, "Offset", "sectors", SECTOR_BYTES)?;
        let length_bytes = f.bytes_in(2, "Size", "sectors", SECTOR_BYTES)?;
        let op = f.op(
            3,
            "IOType",
            &[(b"0", RecordOp::Read), (b"1", RecordOp::Write)],
            "0 (read) or 1 (write)",
        )?;
        let volume = f.whole_device(4, "VolumeID", "the volume")?;
        let device = context.devices.index(volume.to_string().as_bytes());
        context.extent_field = f.at[2].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
