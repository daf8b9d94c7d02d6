//! A table's columns as a Parquet file in memory, and back. Tables of results have some thousand
//! rows at most, so one row group holds them all.

use crate::errors::{ErrorClass, error, usage};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column's values; `None` where a row has none.
enum Column {
    Bool(Vec<Option<bool>>),
    Int(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
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

/// The type that all values of a column have; whole numbers and reals together are reals.
fn column(py: Python<'_>, name: &str, values: &[Bound<'_, PyAny>]) -> PyResult<Column> {
    let some = || values.iter().filter(|v| !v.is_none());
    if some().all(|v| v.is_instance_of::<PyBool>()) && some().next().is_some() {
        return Ok(Column::Bool(extract(values)?));
    }
    if some().all(|v| v.is_instance_of::<PyInt>()) && some().next().is_some() {
        let whole: PyResult<Vec<Option<i64>>> = extract(values);
        return whole.map(Column::Int).map_err(|_| {
            usage(py, format!("column {name}: a number is beyond 2^63, which Parquet cannot hold"))
        });
    }
    if some().all(|v| v.is_instance_of::<PyFloat>() || v.is_instance_of::<PyInt>()) {
        return Ok(Column::Real(extract(values)?));
    }
    if some().all(|v| v.is_instance_of::<PyString>()) {
        return Ok(Column::Text(extract(values)?));
    }
    Err(usage(py, format!("column {name}: its values are not all of one type")))
}

fn extract<'py, T>(values: &[Bound<'py, PyAny>]) -> PyResult<Vec<Option<T>>>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    values.iter().map(|v| v.extract::<Option<T>>().map_err(Into::into)).collect()
}

/// A column of the type that it is to have, whatever its values look like: `bool`, `int`, `real`,
/// `text`. So files of the same kind have the same schema, whichever values they happen to hold.
fn column_as(
    py: Python<'_>,
    name: &str,
    kind: &str,
    values: &[Bound<'_, PyAny>],
) -> PyResult<Column> {
    let made = match kind {
        "bool" => extract(values).map(Column::Bool),
        "int" => extract(values).map(Column::Int),
        "real" => extract(values).map(Column::Real),
        "text" => extract(values).map(Column::Text),
        other => {
            return Err(usage(
                py,
                format!("column {name}: expected bool, int, real or text, found {other}"),
            ));
        }
    };
    made.map_err(|_: PyErr| usage(py, format!("column {name}: a value is no {kind}")))
}

/// Columns and their values, and key-value metadata, as the bytes of a file.
///
/// `kinds` says which type a column has; what it does not name has the type of its values.
#[pyfunction]
#[pyo3(signature = (columns, metadata, kinds = None))]
pub fn parquet_bytes<'py>(
    py: Python<'py>,
    columns: Vec<(String, Vec<Bound<'py, PyAny>>)>,
    metadata: BTreeMap<String, String>,
    kinds: Option<BTreeMap<String, String>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let kinds = kinds.unwrap_or_default();
    let columns: Vec<(String, Column)> = columns
        .into_iter()
        .map(|(name, values)| {
            let typed = match kinds.get(&name) {
                Some(kind) => column_as(py, &name, kind, &values)?,
                None => column(py, &name, &values)?,
            };
            Ok((name, typed))
        })
        .collect::<PyResult<_>>()?;
    // Other threads go on meanwhile: a sweep makes a file for each of its tasks.
    let made = py.detach(|| file(&columns, metadata));
    let bytes = made.map_err(|e| error(py, ErrorClass::Internal, e.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

fn file(
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
    let metadata = metadata.into_iter().map(|(k, v)| KeyValue::new(k, v)).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(metadata));
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

/// The values that are there, and for every row whether it has one.
fn split<T, U>(values: &[Option<T>], convert: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let levels = values.iter().map(|v| i16::from(v.is_some())).collect();
    (values.iter().flatten().map(convert).collect(), levels)
}

/// A column's name and values, as Python has them.
type Named<'py> = (String, Vec<Bound<'py, PyAny>>);

/// Reads a file that `parquet_bytes` made: columns, their values, and the metadata.
///
/// `names` says which columns are wanted, in what order; those that the file has not are left out.
/// All of them without it. `DataError` for a file that is none of ours.
#[pyfunction]
#[pyo3(signature = (path, names = None))]
pub fn parquet_columns<'py>(
    py: Python<'py>,
    path: PathBuf,
    names: Option<Vec<String>>,
) -> PyResult<(Vec<Named<'py>>, BTreeMap<String, String>)> {
    let shown = path.display().to_string();
    let read = py.detach(|| read_file(&path, names));
    let (columns, metadata) =
        read.map_err(|e| error(py, ErrorClass::Data, format!("{shown}: no table of ours: {e}")))?;
    let values = |column| match column {
        Column::Bool(v) => v.into_pyobject(py),
        Column::Int(v) => v.into_pyobject(py),
        Column::Real(v) => v.into_pyobject(py),
        Column::Text(v) => v.into_pyobject(py),
    };
    let columns = columns
        .into_iter()
        .map(|(name, column)| Ok((name, values(column)?.extract::<Vec<Bound<'py, PyAny>>>()?)))
        .collect::<PyResult<_>>()?;
    Ok((columns, metadata))
}

type Columns = Vec<(String, Column)>;

fn read_file(
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
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    while levels.len() < rows {
        let left = rows - levels.len();
        let (records, ..) = reader.read_records(left, Some(&mut levels), None, &mut present)?;
        if records == 0 {
            return Err(ParquetError::General("a column ends early".into()));
        }
    }
    let mut present = present.into_iter();
    levels
        .iter()
        .map(|&level| match level {
            0 => Ok(None),
            _ => present.next().map(&convert).transpose(),
        })
        .collect()
}
