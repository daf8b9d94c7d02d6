//! `vscsi-text`: the text form of VMware vscsiStats traces.
//!
//! ```text
//! # comment
//! 2147483649,4096,1,write,20480,9000000
//! serial,length,nSG,read|write,lbn,time_us
//! ```
//! Length in bytes, lbn in 512-byte sectors, time in microseconds of host uptime. Serial numbers
//! wrap and say nothing about order. One file is one virtual disk: the device is the file's name.

use super::text_format::*;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    has_volumes: false,
    confirmed: false,
    ..Format::text(
        "vscsi-text",
        "VMware vscsiStats, text",
        "serial,length,nSG,read|write,lbn,time_us; length in bytes, lbn in sectors",
        detect,
        |input, opening| TextReader::boxed(input, opening, VscsiText),
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "comments or serial,length,nSG,read|write,lbn,time_us", |line| {
        let f = Fields::<6>::commas(line);
        line.starts_with(b"#")
            || (f.count == 6
                && matches!(f.bytes(3), b"read" | b"write")
                && parse_u64(f.bytes(0)).is_ok_and(|serial| serial <= u64::from(u32::MAX))
                && [1, 2, 4, 5].iter().all(|&i| parse_u64(f.bytes(i)).is_ok()))
    })
}

#[derive(Clone)]
struct VscsiText;

impl LineParser for VscsiText {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if line.starts_with(b"#") {
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        let f = Fields::<7>::commas(line);
        f.expect(6..=6)?;
        f.whole(0, "serial", "the command")?;
        let length_bytes = f.whole(1, "length", "bytes")?;
        f.whole(2, "nSG", "scatter-gather elements")?;
        let op = word_op(f.bytes(3))
            .ok_or_else(|| f.unexpected(3, Category::UnknownOp, "command", "read or write"))?;
        let offset_bytes = f.bytes_in(4, "lbn", "sectors", SECTOR_BYTES)?;
        let time_ns = f.time(5, "time", "microseconds", MICROSECOND_NS)?;
        let device = context.devices.index(context.file_device.as_bytes());
        context.extent_field = f.at[1].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
