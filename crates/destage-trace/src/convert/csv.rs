//! `csv`: every field of the record, with its unit in the column's name.

use super::output::Output;
use super::writer::{Losses, RecordWriter, Target, TraceEnd, WriteContext, WriterSetup};
use crate::error::{Result, TraceError};
use crate::formats::csv::EXPORT_COLUMNS;
use crate::record::{NO_RESPONSE, Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "csv",
    about: "text with all fields of a record: time_ns, device, op, offset_bytes, length_bytes, \
     response_ns",
    extension: "csv",
    create,
};

fn create(output: Output, _: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    let path = output.path().to_owned();
    let mut writer = Csv { writer: ::csv::Writer::from_writer(output), path };
    writer.row(EXPORT_COLUMNS)?;
    Ok(Box::new(writer))
}

struct Csv {
    writer: ::csv::Writer<Output>,
    path: std::path::PathBuf,
}

impl Csv {
    fn row<T: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = T>) -> Result<()> {
        self.writer.write_record(fields).map_err(|error| self.failed(error.into()))
    }

    fn failed(&self, source: std::io::Error) -> TraceError {
        TraceError::Write { path: self.path.clone(), source }
    }
}

impl RecordWriter for Csv {
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64> {
        let op = match record.op {
            RecordOp::Read => "read",
            RecordOp::Write => "write",
            RecordOp::Trim => "trim",
            RecordOp::Flush => "flush",
        };
        let response = match record.response_ns {
            NO_RESPONSE => String::new(),
            response_ns => response_ns.to_string(),
        };
        let numbers =
            [record.time_ns, record.offset_bytes, record.length_bytes].map(|n| n.to_string());
        let [time, offset, length] = &numbers;
        let device = context.devices.bytes(record.device);
        self.row([
            time.as_bytes(),
            device,
            op.as_bytes(),
            offset.as_bytes(),
            length.as_bytes(),
            response.as_bytes(),
        ])?;
        Ok(1)
    }

    fn finish(self: Box<Self>, _: &TraceEnd, _: &mut Losses) -> Result<Output> {
        let Csv { writer, path } = *self;
        writer.into_inner().map_err(|error| TraceError::Write { path, source: error.into_error() })
    }
}
