//! `mqsim`: traces of MQSim and SSDsim.
//!
//! ```text
//! 51200 0 81920 32 1
//! time device sector sectors op
//! ```
//! Integers between blanks; op 0 is a write, 1 a read, and nothing else (MQSim takes anything else
//! as a read). The unit of time is outside the file: ns unless `time_unit` says us or ps. Unlike
//! MQSim, the device column is heeded, addresses are not wrapped, and a short line is malformed
//! rather than the end of the trace.

use super::mapping::{Clock, clock_of};
use super::text_format::*;
use crate::options::TimeUnit;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=0,device=1,op=4,offset=2,length=3"),
        ("time_unit", "ns"),
        ("offset_unit", "sector"),
        ("length_unit", "sector"),
        ("op_read", "1"),
        ("op_write", "0"),
    ],
    name_parts: &["ssdsim"],
    ..Format::text(
        "mqsim",
        "MQSim, SSDsim",
        "time device sector sectors 0|1; integers, 0 write, 1 read; time_unit ns unless given",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "time device sector sectors 0|1, all whole numbers", |line| {
        let f = Fields::<5>::blanks(line);
        f.count == 5
            && (0..5).all(|i| parse_u64(f.bytes(i)).is_ok())
            && matches!(f.bytes(4), b"0" | b"1")
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let unit = opening.options.time_unit.unwrap_or(TimeUnit::Ns);
    let clock = clock_of(FORMAT.name, unit)?;
    let assumed = opening.options.time_unit.is_none().then_some(opening.detected);
    TextReader::boxed(input, opening, MqSim { clock, assumed })
}

#[derive(Clone)]
struct MqSim {
    clock: Clock,
    /// The unit was not given; `true` if the format was not given either.
    assumed: Option<bool>,
}

impl LineParser for MqSim {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        match self.assumed.take() {
            Some(true) => context.tally.warn(
                "mqsim: times taken as ns; files in microseconds circulate, and DiskSim files may \
                 have whole \
                 milliseconds: --time-unit us, --format disksim",
            ),
            Some(false) => context.tally.note("mqsim: times taken as ns (--time-unit)"),
            None => {}
        }
        let f = Fields::<6>::blanks(line);
        f.expect(5..=5)?;
        let ticks = f
            .whole(0, "time", self.clock.unit())
            .map_err(|fault| Fault { category: Category::BadTime, ..fault })?;
        let time_ns = self.clock.whole_ns(ticks).ok_or_else(|| f.too_large(0, "time"))?;
        let unit = f.whole_device(1, "device", "the device")?;
        let offset_bytes = f.bytes_in(2, "sector", "sectors", SECTOR_BYTES)?;
        let length_bytes = f.bytes_in(3, "length", "sectors", SECTOR_BYTES)?;
        let op = f.op(
            4,
            "operation",
            &[(b"0", RecordOp::Write), (b"1", RecordOp::Read)],
            "0 (write) or 1 (read)",
        )?;
        let device = context.devices.index(unit.to_string().as_bytes());
        context.extent_field = f.at[3].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }
}
