//! A table's columns as a Parquet file in memory. Tables of results have some thousand rows at
//! most, so one row group holds them all.

use crate::errors::{Kind, error, usage};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column's values; `None` where a row has none.
enum Column {
    Bool(Vec<Option<bool>>),
    Int(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
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

/// Columns and their values, and key-value metadata, as the bytes of a file.
#[pyfunction]
pub fn parquet_bytes<'py>(
    py: Python<'py>,
    columns: Vec<(String, Vec<Bound<'py, PyAny>>)>,
    metadata: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns: Vec<(String, Column)> = columns
        .into_iter()
        .map(|(name, values)| {
            let typed = column(py, &name, &values)?;
            Ok((name, typed))
        })
        .collect::<PyResult<_>>()?;
    let bytes = file(&columns, metadata).map_err(|e| error(py, Kind::Internal, e.to_string()))?;
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
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
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
