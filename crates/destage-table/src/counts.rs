//! Long columns of counts as a Parquet file in memory: curves over every cache size, a row a size.
//!
//! Neighbouring sizes count nearly alike, so that differences, packed to as few bits as they need
//! (DELTA_BINARY_PACKED), are small and quick to write; compressed again they would not shrink.

use crate::table::properties;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::EnabledStatistics;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::Type;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are converted at a time.
const BATCH: usize = 1 << 14;

/// A column's name, and each curve's counts (64 bits, lowest byte first), or that it has none.
pub type Counts<B> = (String, Vec<Option<B>>);

fn schema<B>(columns: &[Counts<B>]) -> Result<Type, ParquetError> {
    let field = |name: &str, physical, logical, repetition| {
        let field = Type::primitive_type_builder(name, physical);
        field.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
    };
    let text = Some(LogicalType::String);
    let mut fields = vec![
        field("policy", Physical::BYTE_ARRAY, text, Repetition::REQUIRED)?,
        field("cache_pages", Physical::INT64, None, Repetition::REQUIRED)?,
    ];
    for (name, parts) in columns {
        let repetition = match parts.iter().any(Option::is_none) {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        fields.push(field(name, Physical::INT64, None, repetition)?);
    }
    Type::group_type_builder("curves").with_fields(fields).build()
}

/// Curves under each other as the bytes of a file: `curves` has each curve's label and its number
/// of sizes, from one page on. Columns: `policy`, `cache_pages`, then those given.
///
/// # Errors
///
/// A column whose curves are not as many, or not as long, as `curves` says; errors of the library.
pub fn counts_bytes<B: AsRef<[u8]>>(
    curves: &[(String, usize)],
    columns: &[Counts<B>],
    metadata: BTreeMap<String, String>,
) -> Result<Vec<u8>, ParquetError> {
    let mut properties = properties(metadata)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    // One of few names a row: a place in a list of them, repeated.
    properties = properties
        .set_column_encoding("policy".into(), Encoding::PLAIN)
        .set_column_dictionary_enabled("policy".into(), true);
    let schema = Arc::new(schema(columns)?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    put(&mut group, |out| labels(out, curves))?;
    put(&mut group, |out| pages(out, curves))?;
    for (_, parts) in columns {
        put(&mut group, |out| counts(out, curves, parts))?;
    }
    group.close()?;
    writer.into_inner()
}

/// Writes the next column.
fn put(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    write: impl FnOnce(&mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut out = group.next_column()?.ok_or_else(|| {
        ParquetError::General("the schema has fewer columns than the table".into())
    })?;
    write(&mut out)?;
    out.close()
}

/// The rows of so many sizes, some at a time.
fn batches(sizes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..sizes).step_by(BATCH).map(move |first| first..sizes.min(first + BATCH))
}

fn labels(
    out: &mut SerializedColumnWriter<'_>,
    curves: &[(String, usize)],
) -> Result<(), ParquetError> {
    for (label, sizes) in curves {
        let labels = vec![ByteArray::from(label.as_str()); BATCH.min(*sizes)];
        for rows in batches(*sizes) {
            out.typed::<ByteArrayType>().write_batch(&labels[..rows.len()], None, None)?;
        }
    }
    Ok(())
}

fn pages(
    out: &mut SerializedColumnWriter<'_>,
    curves: &[(String, usize)],
) -> Result<(), ParquetError> {
    for (_, sizes) in curves {
        for rows in batches(*sizes) {
            let pages: Vec<i64> = rows.map(|k| k as i64 + 1).collect();
            out.typed::<Int64Type>().write_batch(&pages, None, None)?;
        }
    }
    Ok(())
}

fn counts<B: AsRef<[u8]>>(
    out: &mut SerializedColumnWriter<'_>,
    curves: &[(String, usize)],
    parts: &[Option<B>],
) -> Result<(), ParquetError> {
    let levels = parts.iter().any(Option::is_none);
    let mut values: Vec<i64> = Vec::with_capacity(BATCH);
    for (part, (_, sizes)) in parts.iter().zip(curves) {
        let there = vec![i16::from(part.is_some()); BATCH.min(*sizes)];
        for rows in batches(*sizes) {
            let there = levels.then_some(&there[..rows.len()]);
            values.clear();
            if let Some(bytes) = part.as_ref().map(AsRef::as_ref) {
                let (counts, _) = bytes[8 * rows.start..8 * rows.end].as_chunks();
                values.extend(counts.iter().map(|&count| i64::from_le_bytes(count)));
            }
            out.typed::<Int64Type>().write_batch(&values, there, None)?;
        }
    }
    Ok(())
}
