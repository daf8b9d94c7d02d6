//! Which columns of a Parquet file are read, and how.

use parquet::file::metadata::KeyValue;
use parquet::schema::types::SchemaDescriptor;

use super::meta;
use crate::error::{Location, Result, TraceError};
use crate::format::Facts;
use crate::formats::mapping::{self, Mapping, Roles, usage};
use crate::formats::parquet_column::ColumnType;
use crate::options::{ReaderOptions, TimeUnit, Unit};

/// The metadata of our own export.
#[derive(Debug)]
pub(super) struct ExportMetadata {
    pub(super) devices: Vec<String>,
    pub(super) origin_ns: u64,
    pub(super) facts: Facts,
}

impl ExportMetadata {
    /// `None` if the file is not of ours.
    ///
    /// # Errors
    ///
    /// `Data` if it is, but of a later version, or damaged.
    pub(super) fn of(
        file: &str,
        metadata: Option<&Vec<KeyValue>>,
    ) -> Result<Option<ExportMetadata>> {
        let value = |key: &str| {
            let entry = metadata?.iter().find(|entry| entry.key == key)?;
            entry.value.as_deref()
        };
        let Some(version) = value(meta::TRACE) else { return Ok(None) };
        let wrong = |key: &str, expected: &str| {
            TraceError::data(
                file,
                Location::File,
                format!(
                    "metadata {key}: expected {expected}, found {:?}",
                    value(key).unwrap_or("nothing")
                ),
            )
        };
        if version != meta::VERSION {
            return Err(wrong(meta::TRACE, meta::VERSION));
        }
        let truth = |key: &str| match value(key) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| wrong(key, "true or false")),
        };
        let whole = |key: &str| match value(key) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| wrong(key, "a whole number")),
        };
        let devices = value(meta::DEVICES).unwrap_or("[]");
        Ok(Some(ExportMetadata {
            devices: serde_json::from_str(devices)
                .map_err(|_| wrong(meta::DEVICES, "a JSON list of names"))?,
            origin_ns: whole(meta::ORIGIN_NS)?.unwrap_or(0),
            facts: Facts {
                has_times: truth(meta::HAS_TIMES)?,
                has_ops: truth(meta::HAS_OPS)?,
                page_bytes: whole(meta::PAGE_BYTES)?,
                exact: true,
                time_digits: 0,
                odd_columns: None,
            },
        }))
    }
}

/// Which columns are read, and how.
pub(super) struct Table {
    pub(super) mapping: Mapping,
    pub(super) roles: Roles<(usize, ColumnType)>,
    /// Metadata, in our own export.
    pub(super) export: Option<ExportMetadata>,
    /// Every request is one page of this size.
    pub(super) page_bytes: Option<u64>,
}

impl Table {
    /// # Errors
    ///
    /// `Usage` for a column that is missing or holds something else.
    pub(super) fn new(
        format: &str,
        schema: &SchemaDescriptor,
        options: &ReaderOptions,
        export: Option<ExportMetadata>,
    ) -> Result<Table> {
        let found: Vec<String> =
            schema.columns().iter().map(|column| column.path().string()).collect();
        let places = mapping::resolve(format, options, &found, found.len())?;
        let typed =
            |role: &str, place: Option<usize>, wanted: &str, fits: fn(&ColumnType) -> bool| {
                let Some(place) = place else { return Ok(None) };
                let column = schema.column(place);
                match ColumnType::of(&column) {
                    Ok(kind) if fits(&kind) => Ok(Some((place, kind))),
                    Ok(kind) => Err(usage(format!(
                        "{format}: columns.{role}: \"{}\" holds {}; expected {wanted}",
                        found[place],
                        kind.name()
                    ))),
                    Err(why) => {
                        Err(usage(format!("{format}: columns.{role}: \"{}\" {why}", found[place])))
                    }
                }
            };
        const NUMBERS: &str = "numbers";
        const NAMES: &str = "text or whole numbers";
        const TIMES: &str = "timestamps, numbers, or text dates with time_unit = date";
        let is_time: fn(&ColumnType) -> bool = match options.time_unit {
            Some(TimeUnit::Date) => |_| true,
            _ => ColumnType::is_time,
        };
        let device = |place: &usize| typed("device", Some(*place), NAMES, ColumnType::is_name);
        let devices = places.device.iter().map(device).collect::<Result<Vec<_>>>()?;
        let devices = devices.into_iter().flatten().collect();
        let roles = Roles {
            time: typed("time", places.time, TIMES, is_time)?,
            device: devices,
            op: typed("op", places.op, NAMES, ColumnType::is_name)?,
            offset: typed("offset", places.offset, NUMBERS, ColumnType::is_number)?,
            length: typed("length", places.length, NUMBERS, ColumnType::is_number)?,
            response: typed("response", places.response, TIMES, ColumnType::is_time)?,
        };
        let stamps = roles.time.as_ref().is_some_and(|(_, kind)| kind.unit_ns().is_some());
        let mapping = Mapping::new(format, options, stamps)?;
        let pages = options.columns.length.is_none() && options.offset_unit == Some(Unit::Page);
        let page_bytes = pages.then_some(mapping.fixed_length_bytes);
        Ok(Table { mapping, roles, export, page_bytes })
    }

    /// Whether records carry times.
    pub(super) fn has_times(&self) -> bool {
        let stamps = self.roles.time.as_ref().is_some_and(|(_, kind)| kind.unit_ns().is_some());
        self.roles.time.is_some() && (stamps || self.mapping.time.is_some())
    }
}
