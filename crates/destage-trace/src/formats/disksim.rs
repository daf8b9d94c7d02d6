//! `disksim`: DiskSim's ascii format.
//!
//! ```text
//! 0.250000 0 2048 8 0
//! time_ms device block blocks flags
//! ```
//! Blanks or tabs between. Time is a decimal number of milliseconds (`time_unit`) from the start;
//! block and length count 512 bytes (`block_bytes`); flags are hexadecimal, bit 0 set is a read.
//! Six columns (DiskSim's "batch") are accepted, the sixth ignored. Other flag bits (synchronous,
//! ordered, ...) are ignored.

use super::mapping::{Clock, clock_of, digits_behind_point, time_of};
use super::text_format::*;
use crate::options::TimeUnit;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=0,device=1,op=4,offset=2,length=3"),
        ("time_unit", "ms"),
        ("offset_unit", "sector"),
        ("length_unit", "sector"),
        ("op_read", "1"),
        ("op_write", "0"),
    ],
    ..Format::text(
        "disksim",
        "DiskSim ascii",
        "time_ms device block blocks flags; decimal ms, 512-byte blocks (block_bytes), flag bit 0 \
     = read",
        detect,
        open,
    )
};

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

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let options = &opening.options;
    let times = Sample::of(&mut input)?.lines(LOOK_LINES);
    let digits = times.iter().map(|line| digits_behind_point(Fields::<1>::blanks(line).bytes(0)));
    let parser = DiskSim {
        block_bytes: options.block_bytes.unwrap_or(512),
        clock: clock_of(FORMAT.name, options.time_unit.unwrap_or(TimeUnit::Ms))?,
        time_digits: digits.max().unwrap_or(0),
        assumed: options.time_unit.is_none(),
    };
    TextReader::boxed(input, opening, parser)
}

/// First lines whose times are looked at.
const LOOK_LINES: usize = 100;

#[derive(Clone)]
struct DiskSim {
    block_bytes: u64,
    clock: Clock,
    time_digits: usize,
    /// The unit of the times was not given, which is said once.
    assumed: bool,
}

impl LineParser for DiskSim {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if std::mem::take(&mut self.assumed) {
            context.tally.note("disksim: times taken as ms (--time-unit)");
        }
        let f = Fields::<7>::blanks(line);
        if f.count < 5 {
            f.expect(5..=5)?;
        }
        f.expect(5..=6)?;
        if f.count == 6 {
            context.tally.note("disksim: the sixth column (batch) is ignored");
        }
        let time_ns = time_of(line, f.at[0].clone(), "time", self.clock)?;
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

    fn facts(&self) -> Facts {
        Facts { time_digits: self.time_digits, ..Facts::default() }
    }
}
