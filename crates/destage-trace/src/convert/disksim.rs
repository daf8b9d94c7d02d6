//! `disksim`: DiskSim's ascii format, `time_ms device block blocks flags`, flags 1 read, 0 write.

use super::output::Output;
use super::writer::{
    DeviceNumbers, Lines, Loss, Losses, RecordWriter, Target, TraceEnd, WriteContext, WriterSetup,
};
use crate::error::Result;
use crate::record::{Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "disksim",
    about: "reads and writes in whole 512-byte blocks, times in ms with six decimals; device \
     names become numbers",
    extension: "trace",
    create,
};

fn create(output: Output, _: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    Ok(Box::new(DiskSim { lines: Lines { output }, numbers: DeviceNumbers::default() }))
}

struct DiskSim {
    lines: Lines,
    numbers: DeviceNumbers,
}

impl RecordWriter for DiskSim {
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64> {
        let flags = match record.op {
            RecordOp::Read => 1,
            RecordOp::Write => 0,
            RecordOp::Trim => return context.losses.lose(Loss::Trim).map(|()| 0),
            RecordOp::Flush => return context.losses.lose(Loss::Flush).map(|()| 0),
        };
        let (block, blocks) = context.losses.sectors(record)?;
        let device = self.numbers.number(record.device, context);
        let (ms, ns) = (record.time_ns / 1_000_000, record.time_ns % 1_000_000);
        self.lines.put(format_args!("{ms}.{ns:06} {device} {block} {blocks} {flags}\n"))?;
        Ok(1)
    }

    fn finish(self: Box<Self>, _: &TraceEnd, _: &mut Losses) -> Result<Output> {
        Ok(self.lines.output)
    }
}
