//! A table's columns as a Parquet file in memory, and back. Tables of results have some thousand
//! rows at most, so one row group holds them all.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A column's values; `None` where a row has none.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Truth values.
    Bool(Vec<Option<bool>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Real numbers.
    Real(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

/// Columns below so many bytes are left as they are. A result has some 170 columns, and setting up
/// a compressor for each took more time than anything else that was done with a small table.
const WORTH_COMPRESSING: usize = 4096;

impl Column {
    /// About how many bytes its values take.
    fn bytes(&self) -> usize {
        match self {
            Column::Bool(values) => values.len(),
            Column::Int(values) => 8 * values.len(),
            Column::Real(values) => 8 * values.len(),
            Column::Text(values) => values.iter().flatten().map(String::len).sum(),
        }
    }
}

/// Columns and key-value metadata as the bytes of a file.
///
/// # Errors
///
/// Columns of unequal lengths, two of one name, and errors of the library.
pub fn table_bytes(
    columns: &[(String, Column)],
    metadata: BTreeMap<String, String>,
) -> Result<Vec<u8>, ParquetError> {
    let field = |(name, column): &(String, Column)| {
        let (physical, logical) = match column {
            Column::Bool(_) => (Physical::BOOLEAN, None),
            Column::Int(_) => (Physical::INT64, None),
            Column::Real(_) => (Physical::DOUBLE, None),
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, ParquetError>>()?;
    let schema = Arc::new(Type::group_type_builder("results").with_fields(fields).build()?);
    let mut properties =
        properties(metadata).set_compression(Compression::ZSTD(ZstdLevel::default()));
    for (name, _) in columns.iter().filter(|(_, column)| column.bytes() < WORTH_COMPRESSING) {
        let path = ColumnPath::from(name.as_str());
        properties = properties.set_column_compression(path, Compression::UNCOMPRESSED);
    }
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut group = writer.next_row_group()?;
    for (_, column) in columns {
        let mut out = group.next_column()?.ok_or_else(|| {
            ParquetError::General("the schema has fewer columns than the table".into())
        })?;
        match column {
            Column::Bool(values) => {
                let (present, levels) = split(values, |v| *v);
                out.typed::<BoolType>().write_batch(&present, Some(&levels), None)?;
            }
            Column::Int(values) => {
                let (present, levels) = split(values, |v| *v);
                out.typed::<Int64Type>().write_batch(&present, Some(&levels), None)?;
            }
            Column::Real(values) => {
                let (present, levels) = split(values, |v| *v);
                out.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
            }
            Column::Text(values) => {
                let (present, levels) = split(values, |v| ByteArray::from(v.as_str()));
                out.typed::<ByteArrayType>().write_batch(&present, Some(&levels), None)?;
            }
        }
        out.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// Properties of a file with this metadata.
pub(crate) fn properties(metadata: BTreeMap<String, String>) -> WriterPropertiesBuilder {
    let metadata = metadata.into_iter().map(|(k, v)| KeyValue::new(k, v)).collect();
    WriterProperties::builder().set_key_value_metadata(Some(metadata))
}

/// The values that are there, and for every row whether it has one.
fn split<T, U>(values: &[Option<T>], convert: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let levels = values.iter().map(|v| i16::from(v.is_some())).collect();
    (values.iter().flatten().map(convert).collect(), levels)
}

/// Columns with their names, in the order of the file.
pub type Columns = Vec<(String, Column)>;

/// Reads a file that [`table_bytes`] made: columns and the metadata.
///
/// `names` has the wanted columns, in order; those that the file has not are left out. All of them
/// without it.
///
/// # Errors
///
/// A file that is not of [`table_bytes`], or is damaged.
pub fn read_table(
    path: &Path,
    names: Option<Vec<String>>,
) -> Result<(Columns, BTreeMap<String, String>), ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let file = reader.metadata().file_metadata();
    let schema = file.schema_descr();
    let metadata = file.key_value_metadata().into_iter().flatten();
    let metadata =
        metadata.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect();
    let known: Vec<String> = schema.columns().iter().map(|c| c.name().to_string()).collect();
    let mut columns = Columns::new();
    for name in names.unwrap_or_else(|| known.clone()) {
        let Some(at) = known.iter().position(|k| *k == name) else { continue };
        let mut whole: Option<Column> = None;
        for group in 0..reader.num_row_groups() {
            let part = read_column(&*reader.get_row_group(group)?, at)?;
            whole = Some(match whole {
                None => part,
                Some(before) => joined(before, part)?,
            });
        }
        columns.push((name, whole.unwrap_or(Column::Real(Vec::new()))));
    }
    Ok((columns, metadata))
}

fn joined(before: Column, more: Column) -> Result<Column, ParquetError> {
    fn both<T>(mut first: Vec<T>, second: Vec<T>) -> Vec<T> {
        first.extend(second);
        first
    }
    Ok(match (before, more) {
        (Column::Bool(a), Column::Bool(b)) => Column::Bool(both(a, b)),
        (Column::Int(a), Column::Int(b)) => Column::Int(both(a, b)),
        (Column::Real(a), Column::Real(b)) => Column::Real(both(a, b)),
        (Column::Text(a), Column::Text(b)) => Column::Text(both(a, b)),
        _ => return Err(ParquetError::General("a column has two types".into())),
    })
}

fn read_column(group: &dyn RowGroupReader, at: usize) -> Result<Column, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows())
        .map_err(|_| ParquetError::General("a number of rows below 0".into()))?;
    let text = |bytes: ByteArray| {
        let text = bytes.as_utf8().map(str::to_string);
        text.map_err(|_| ParquetError::General("a text that is not UTF-8".into()))
    };
    Ok(match group.get_column_reader(at)? {
        ColumnReader::BoolColumnReader(r) => Column::Bool(all(r, rows, Ok)?),
        ColumnReader::Int64ColumnReader(r) => Column::Int(all(r, rows, Ok)?),
        ColumnReader::DoubleColumnReader(r) => Column::Real(all(r, rows, Ok)?),
        ColumnReader::ByteArrayColumnReader(r) => Column::Text(all(r, rows, text)?),
        _ => return Err(ParquetError::General("a column of a type that we do not write".into())),
    })
}

/// Every value of a column, `None` where a row has none.
fn all<T: DataType, U>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(T::T) -> Result<U, ParquetError>,
) -> Result<Vec<Option<U>>, ParquetError> {
    let (mut present, mut levels, mut read) = (Vec::new(), Vec::new(), 0);
    while read < rows {
        let left = rows - read;
        let (records, ..) = reader.read_records(left, Some(&mut levels), None, &mut present)?;
        if records == 0 {
            return Err(ParquetError::General("a column ends early".into()));
        }
        read += records;
    }
    // A column that has a value in each row says so once.
    levels.resize(rows, 1);
    let mut present = present.into_iter();
    levels
        .iter()
        .map(|&level| match level {
            0 => Ok(None),
            _ => present.next().map(&convert).transpose(),
        })
        .collect()
}
