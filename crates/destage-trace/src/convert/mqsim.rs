//! `mqsim` (also SSDsim): `time device sector sectors op`, op 0 write, 1 read.

use super::output::Output;
use super::writer::{
    DeviceNumbers, Lines, Loss, Losses, RecordWriter, Target, TraceEnd, WriteContext, WriterSetup,
};
use crate::error::{Result, TraceError};
use crate::options::TimeUnit;
use crate::record::{Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "mqsim",
    about: "reads and writes in whole sectors, times in ns (--time-unit us or ps); device names \
     become numbers",
    extension: "trace",
    create,
};

fn create(output: Output, setup: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    let unit = setup.options.time_unit.unwrap_or(TimeUnit::Ns);
    if !matches!(unit, TimeUnit::Ns | TimeUnit::Us | TimeUnit::Ps) {
        return Err(TraceError::usage("mqsim: time_unit: expected ns, us or ps"));
    }
    Ok(Box::new(Mqsim { lines: Lines { output }, unit, numbers: DeviceNumbers::default() }))
}

struct Mqsim {
    lines: Lines,
    /// ns, us or ps.
    unit: TimeUnit,
    numbers: DeviceNumbers,
}

impl RecordWriter for Mqsim {
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64> {
        let op = match record.op {
            RecordOp::Read => 1,
            RecordOp::Write => 0,
            RecordOp::Trim => return context.losses.lose(Loss::Trim).map(|()| 0),
            RecordOp::Flush => return context.losses.lose(Loss::Flush).map(|()| 0),
        };
        let (sector, sectors) = context.losses.sectors(record)?;
        let device = self.numbers.number(record.device, context);
        let time = match self.unit {
            TimeUnit::Us => u128::from(record.time_ns / 1_000),
            TimeUnit::Ps => u128::from(record.time_ns) * 1_000,
            _ => u128::from(record.time_ns),
        };
        self.lines.put(format_args!("{time} {device} {sector} {sectors} {op}\n"))?;
        Ok(1)
    }

    fn finish(self: Box<Self>, _: &TraceEnd, losses: &mut Losses) -> Result<Output> {
        match self.unit {
            TimeUnit::Us => {
                losses.note("times in us, what is below left out: read it with --time-unit us")
            }
            TimeUnit::Ps => losses.note("times in ps: read it with --time-unit ps"),
            _ => {}
        }
        Ok(self.lines.output)
    }
}
