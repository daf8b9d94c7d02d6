//! `parquet`: our own export, every field of the record in a column, read back without a mapping.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::output::Output;
use super::writer::{Losses, RecordWriter, Target, TraceEnd, WriteContext, WriterSetup};
use crate::error::{Result, TraceError};
use crate::formats::parquet::meta;
use crate::record::{NO_RESPONSE, Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "parquet",
    about: "Parquet with all fields of a record, device names and origin; read back without a \
     mapping",
    extension: "parquet",
    create,
};

/// Rows of a row group: some 40 MB in memory while it is gathered.
const GROUP_ROWS: usize = 1 << 20;

/// The columns of a record.
fn schema() -> std::result::Result<TypePtr, ParquetError> {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let column = |name: &str, physical, logical, repetition| {
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    };
    let fields = vec![
        column("time_ns", Physical::INT64, unsigned(64), Repetition::REQUIRED)?,
        column("device", Physical::INT32, unsigned(32), Repetition::REQUIRED)?,
        column("offset_bytes", Physical::INT64, unsigned(64), Repetition::REQUIRED)?,
        column("length_bytes", Physical::INT64, unsigned(64), Repetition::REQUIRED)?,
        column("op", Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED)?,
        column("response_ns", Physical::INT64, unsigned(64), Repetition::OPTIONAL)?,
    ];
    Type::group_type_builder("record").with_fields(fields).build().map(Arc::new)
}

fn create(output: Output, setup: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    let path = output.path().to_owned();
    let failed = |error: ParquetError| write_error(&path, error);
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("destage ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()));
    // Times and addresses repeat too little for a dictionary.
    for name in ["time_ns", "offset_bytes", "response_ns"] {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), false);
    }
    let schema = schema().map_err(failed)?;
    let writer =
        SerializedFileWriter::new(output, schema, Arc::new(properties.build())).map_err(failed)?;
    Ok(Box::new(Parquet {
        writer,
        path,
        rows: Rows::default(),
        source_format: setup.options.source_format.clone(),
        page_bytes: setup.page_bytes,
        other_ops: false,
    }))
}

fn write_error(path: &std::path::Path, error: ParquetError) -> TraceError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(inner) => std::io::Error::other(inner),
        },
        other => std::io::Error::other(other),
    };
    TraceError::Write { path: path.to_owned(), source }
}

/// The columns of the row group that is being gathered. Parquet's unsigned integers are stored as
/// the signed ones of the same bits.
#[derive(Default)]
struct Rows {
    time_ns: Vec<i64>,
    device: Vec<i32>,
    offset_bytes: Vec<i64>,
    length_bytes: Vec<i64>,
    op: Vec<ByteArray>,
    /// Only those that are there.
    response_ns: Vec<i64>,
    /// 1 where there is one.
    responded: Vec<i16>,
}

impl Rows {
    fn push(&mut self, record: &Record) {
        self.time_ns.push(record.time_ns.cast_signed());
        self.device.push(record.device.cast_signed());
        self.offset_bytes.push(record.offset_bytes.cast_signed());
        self.length_bytes.push(record.length_bytes.cast_signed());
        self.op.push(ByteArray::from(match record.op {
            RecordOp::Read => "read",
            RecordOp::Write => "write",
            RecordOp::Trim => "trim",
            RecordOp::Flush => "flush",
        }));
        let responded = record.response_ns != NO_RESPONSE;
        if responded {
            self.response_ns.push(record.response_ns.cast_signed());
        }
        self.responded.push(responded.into());
    }

    fn write(
        &self,
        writer: &mut SerializedFileWriter<Output>,
    ) -> std::result::Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        column::<Int64Type>(&mut group, &self.time_ns, None)?;
        column::<Int32Type>(&mut group, &self.device, None)?;
        column::<Int64Type>(&mut group, &self.offset_bytes, None)?;
        column::<Int64Type>(&mut group, &self.length_bytes, None)?;
        column::<ByteArrayType>(&mut group, &self.op, None)?;
        column::<Int64Type>(&mut group, &self.response_ns, Some(&self.responded))?;
        group.close().map(drop)
    }
}

/// Writes the next column of a row group.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<Output>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> std::result::Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than a record".to_owned()));
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

struct Parquet {
    writer: SerializedFileWriter<Output>,
    path: std::path::PathBuf,
    rows: Rows,
    source_format: Option<String>,
    page_bytes: Option<u64>,
    /// A record was no read.
    other_ops: bool,
}

impl Parquet {
    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        rows.write(&mut self.writer).map_err(|error| write_error(&self.path, error))
    }
}

impl RecordWriter for Parquet {
    fn write(&mut self, record: &Record, _: &mut WriteContext) -> Result<u64> {
        self.rows.push(record);
        self.other_ops |= record.op != RecordOp::Read;
        if self.rows.time_ns.len() == GROUP_ROWS {
            self.write_group()?;
        }
        Ok(1)
    }

    fn finish(mut self: Box<Self>, end: &TraceEnd, _: &mut Losses) -> Result<Output> {
        if !self.rows.time_ns.is_empty() {
            self.write_group()?;
        }
        let names = serde_json::Value::from(end.devices.names()).to_string();
        let mut entries = vec![
            (meta::TRACE, meta::VERSION.to_owned()),
            (meta::DEVICES, names),
            (meta::ORIGIN_NS, end.origin_ns.to_string()),
            (meta::HAS_TIMES, end.has_times.to_string()),
        ];
        entries.extend(self.source_format.take().map(|format| (meta::SOURCE_FORMAT, format)));
        entries.extend(self.page_bytes.map(|bytes| (meta::PAGE_BYTES, bytes.to_string())));
        // Page references are reads for want of anything else.
        if self.page_bytes.is_some() {
            entries.push((meta::HAS_OPS, self.other_ops.to_string()));
        }
        for (key, value) in entries {
            self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        let Parquet { writer, path, .. } = *self;
        writer.into_inner().map_err(|error| write_error(&path, error))
    }
}
