//! `fio`: an iolog of version 3, `time_us file action [offset length]`, as fio 3.x replays it.

use std::collections::BTreeSet;

use super::output::Output;
use super::writer::{Lines, Losses, RecordWriter, Target, TraceEnd, WriteContext, WriterSetup};
use crate::error::Result;
use crate::record::{Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "fio",
    about: "iolog version 3 for fio's read_iolog: reads, writes, trims and flushes in bytes, \
     times in us",
    extension: "log",
    create,
};

fn create(output: Output, _: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    let mut lines = Lines { output };
    lines.put(format_args!("fio version 3 iolog\n"))?;
    Ok(Box::new(Fio {
        lines,
        files: Vec::new(),
        used: BTreeSet::new(),
        last_us: 0,
        below_us: false,
    }))
}

struct Fio {
    lines: Lines,
    /// File name by device.
    files: Vec<Option<String>>,
    used: BTreeSet<String>,
    last_us: u64,
    /// A time was no multiple of a microsecond.
    below_us: bool,
}

impl Fio {
    /// Gives the device a name that fio can read, without blanks, and opens it.
    fn open(&mut self, device: u32, time_us: u64, context: &mut WriteContext) -> Result<()> {
        let name = context.devices.name(device);
        let mut file: String =
            name.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
        while file.is_empty() || !self.used.insert(file.clone()) {
            file.push('_');
        }
        if file != name {
            context.losses.note(format!("volume {name:?} is file {file}"));
        }
        self.lines.put(format_args!("{time_us} {file} add\n{time_us} {file} open\n"))?;
        let index = device as usize;
        if self.files.len() <= index {
            self.files.resize(index + 1, None);
        }
        self.files[index] = Some(file);
        Ok(())
    }
}

impl RecordWriter for Fio {
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64> {
        let time_us = record.time_ns / 1_000;
        self.below_us |= !record.time_ns.is_multiple_of(1_000);
        self.last_us = self.last_us.max(time_us);
        if !matches!(self.files.get(record.device as usize), Some(Some(_))) {
            self.open(record.device, time_us, context)?;
        }
        let file = self.files[record.device as usize].as_deref().unwrap_or("");
        let action = match record.op {
            RecordOp::Read => "read",
            RecordOp::Write => "write",
            RecordOp::Trim => "trim",
            RecordOp::Flush => {
                // fio wants an extent after every action; that of a flush means nothing.
                self.lines.put(format_args!("{time_us} {file} sync 0 0\n"))?;
                return Ok(1);
            }
        };
        let (offset, length) = (record.offset_bytes, record.length_bytes);
        self.lines.put(format_args!("{time_us} {file} {action} {offset} {length}\n"))?;
        Ok(1)
    }

    fn finish(mut self: Box<Self>, _: &TraceEnd, losses: &mut Losses) -> Result<Output> {
        for file in self.files.iter().flatten() {
            self.lines.put(format_args!("{} {file} close\n", self.last_us))?;
        }
        if self.below_us {
            losses.note("fio has whole microseconds: what is below was left out of the times");
        }
        Ok(self.lines.output)
    }
}
