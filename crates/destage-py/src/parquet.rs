//! A table's columns as a Parquet file, and back.

use crate::errors::{ErrorClass, error, usage};
use destage_table::{Column, read_table, table_bytes};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;
use std::path::PathBuf;

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
    let made = py.detach(|| table_bytes(&columns, metadata));
    let bytes = made.map_err(|e| error(py, ErrorClass::Internal, e.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
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
    let read = py.detach(|| read_table(&path, names));
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
