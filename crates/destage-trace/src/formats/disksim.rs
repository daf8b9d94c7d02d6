//! `disksim`: DiskSim's ascii format.
//!
//! ```text
//! 0.250000 0 2048 8 0
//! time_ms device block blocks flags
//! ```
//! Blanks or tabs between. Time is a decimal number of milliseconds from the start; block and
//! length count 512 bytes (`block_bytes`); flags are hexadecimal, bit 0 set is a read. Six columns
//! (DiskSim's "batch") are accepted, the sixth ignored. Other flag bits (synchronous, ordered, ...)
//! are ignored.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format::text(
    "disksim",
    "DiskSim ascii",
    "time_ms device block blocks flags; decimal ms, 512-byte blocks (block_bytes), flag bit 0 = \
     read",
    detect,
    open,
);

fn detect(sample: &Sample) -> Verdict {
    most_lines(
        sample,
        "time_ms device block blocks flags, with a decimal point in the time",
        |line| {
            let f = Fields::<5>::blanks(line);
            matches!(f.count, 5 | 6)
                && f.bytes(0).contains(&b'.')
                && parse_decimal(f.bytes(0), 1).is_ok()
                && (1..4).all(|i| parse_u64(f.bytes(i)).is_ok())
                && parse_hex(f.bytes(4), false).is_ok()
        },
    )
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    TextReader::boxed(
        input,
        opening,
        DiskSim { block_bytes: opening.options.block_bytes.unwrap_or(512) },
    )
}

#[derive(Clone)]
struct DiskSim {
    block_bytes: u64,
}

impl LineParser for DiskSim {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<7>::blanks(line);
        if f.count < 5 {
            f.expect(5..=5)?;
        }
        f.expect(5..=6)?;
        if f.count == 6 {
            context.tally.note("disksim: the sixth column (batch) is ignored");
        }
        let time_ns = f.time(0, "time", "milliseconds", MILLISECOND_NS)?;
        let unit = f.whole_device(1, "device", "the device")?;
        let offset_bytes = f.bytes_in(2, "block", "blocks", self.block_bytes)?;
        let length_bytes = f.bytes_in(3, "length", "blocks", self.block_bytes)?;
        let flags = parse_hex(f.bytes(4), false)
            .map_err(|_| f.unexpected(4, Category::UnknownOp, "flags", "hexadecimal digits"))?;
        if flags & !1 != 0 {
            context.tally.note("disksim: flag bits other than bit 0 (read) are ignored");
        }
        let op = if flags & 1 == 1 { RecordOp::Read } else { RecordOp::Write };
        let device = context.devices.index(unit.to_string().as_bytes());
        context.extent_field = f.at[3].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
