//! `spc`: Storage Performance Council, the UMass repository (Financial1 and 2, WebSearch).
//!
//! ```text
//! 0,2048,4096,W,0.000000
//! asu,lba,size,opcode,time[,...]
//! ```
//! ASU is the device, each with its own address space. LBA counts blocks, which the specification
//! leaves to the trace's description: 512 bytes in the UMass files (`block_bytes`). Size is in
//! bytes, need not be a multiple of 512 and may be 0. Time is in seconds. Fields after the fifth
//! are allowed and ignored.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=4,device=0,op=3,offset=1,length=2"),
        ("time_unit", "s"),
        ("offset_unit", "sector"),
        ("length_unit", "byte"),
        ("op_read", "R,r"),
        ("op_write", "W,w"),
    ],
    name_parts: &[".spc"],
    ..Format::text(
        "spc",
        "Storage Performance Council / UMass",
        "ASU,LBA,size,r|w,seconds; LBA of 512 bytes (block_bytes), size in bytes; device ASU",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "ASU,LBA,size,r|w,seconds", |line| {
        let f = Fields::<5>::commas(line);
        f.count >= 5
            && (0..3).all(|i| parse_u64(f.bytes(i)).is_ok())
            && letter_op(f.bytes(3)).is_some()
            && parse_decimal(f.bytes(4), 1).is_ok()
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    TextReader::boxed(
        input,
        opening,
        Spc { block_bytes: opening.options.block_bytes.unwrap_or(512) },
    )
}

#[derive(Clone)]
struct Spc {
    block_bytes: u64,
}

impl LineParser for Spc {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<5>::commas(line);
        if f.count > 5 {
            context.tally.note("spc: fields after the fifth are ignored");
        } else {
            f.expect(5..=5)?;
        }
        let asu = f.whole_device(0, "ASU", "the unit")?;
        let offset_bytes = f.bytes_in(1, "LBA", "blocks", self.block_bytes)?;
        let length_bytes = f.whole(2, "Size", "bytes")?;
        let op = letter_op(f.bytes(3))
            .ok_or_else(|| f.unexpected(3, Category::UnknownOp, "Opcode", "r or w"))?;
        let time_ns = f.time(4, "Timestamp", "seconds", 1_000_000_000)?;
        let device = context.devices.index(asu.to_string().as_bytes());
        context.extent_field = f.at[2].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
