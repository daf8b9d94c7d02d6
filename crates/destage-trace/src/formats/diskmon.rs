//! `diskmon`: the log of Sysinternals DiskMon.
//!
//! ```text
//! 0 -> 0.000210 -> 0.00038147 -> 0 -> Write -> 2048 -> 8        (-> is a tab)
//! number, time_s, duration_s, disk, Read|Write, sector, sectors
//! ```
//! Tab separated, CRLF, often with a trailing tab; sectors of 512 bytes of the whole disk, which is
//! the device. The number may restart. A decimal comma, as localised Windows writes it, is accepted
//! in this format only.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    exact: true,
    has_response: true,
    ..Format::text(
        "diskmon",
        "Sysinternals DiskMon",
        "number, seconds, duration, disk, Read|Write, sector, sectors; tab separated",
        detect,
        |input, opening| TextReader::boxed(input, opening, DiskMon),
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "DiskMon's seven columns between tabs", |line| {
        let f = split(line);
        f.count == 7 && parse_u64(f.bytes(0)).is_ok() && word_op(f.bytes(4)).is_some()
    })
}

/// Fields between tabs, without those that trailing tabs make.
fn split(line: &[u8]) -> Fields<'_, 8> {
    Fields::separated(line.trim_ascii_end(), b'\t')
}

#[derive(Clone)]
struct DiskMon;

/// Seconds with a point or a comma.
fn seconds(f: &Fields<8>, i: usize, name: &str) -> std::result::Result<u64, Fault> {
    let field = f.bytes(i);
    match field.iter().position(|&c| c == b',') {
        None => f.time(i, name, "seconds", SECOND_NS),
        Some(at) => {
            let mut dotted = field.to_vec();
            dotted[at] = b'.';
            parse_decimal(&dotted, SECOND_NS).map_err(|_| {
                f.unexpected(i, Category::BadTime, name, "a decimal number of seconds")
            })
        }
    }
}

impl LineParser for DiskMon {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = split(line);
        f.expect(7..=7)?;
        f.whole(0, "number", "the record")?;
        let time_ns = seconds(&f, 1, "time")?;
        let response_ns = seconds(&f, 2, "duration")?;
        let disk = f.whole_device(3, "disk", "the disk")?;
        let op = word_op(f.bytes(4))
            .ok_or_else(|| f.unexpected(4, Category::UnknownOp, "operation", "Read or Write"))?;
        let offset_bytes = f.bytes_in(5, "sector", "sectors", SECTOR_BYTES)?;
        let length_bytes = f.bytes_in(6, "length", "sectors", SECTOR_BYTES)?;
        let device = context.devices.index(disk.to_string().as_bytes());
        context.extent_field = f.at[6].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, response_ns, device, op, ..Record::EMPTY }
            .into())
    }
}
