//! `parquet`: any table of columns, by a mapping (see `mapping`), and our own export, which needs
//! none.
//!
//! The export of `destage trace convert` has the columns of the record (`time_ns`, `device`,
//! `offset_bytes`, `length_bytes`, `op`, `response_ns`) and says so in its key-value metadata
//! ([`meta`]). Row groups are read one at a time, so that memory does not grow with the file; only
//! a file inside an archive or a compression is unpacked first, because Parquet must be read from
//! its end.

mod cursor;
pub mod meta;
mod table;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use self::cursor::{Cursor, RowFault};
use self::table::{ExportMetadata, Table};
use super::mapping::{self, Roles};
use super::parquet_column::{Cell, ColumnType};
use crate::error::{Category, Location, Result, TraceError};
use crate::files::disk::File;
use crate::format::{
    BATCH_RECORDS, Facts, Format, FormatKind, Opening, RecordReader, Sample, Tally, Verdict,
    fields::quoted,
};
use crate::input::{Input, stream_spool::SpooledStream};
use crate::options::Columns;
use crate::record::{DeviceTable, Record, RecordOp};
use destage_keys::printable;

/// The row of the table.
pub static FORMAT: Format = Format {
    kind: FormatKind::Columnar,
    has_response: true,
    name_parts: &[".parquet"],
    ..Format::binary(
        "parquet",
        "Apache Parquet, by a mapping, and our own export",
        "columns as the option `columns` says, with units; a file of `trace convert` needs no \
         mapping",
        detect,
        open,
    )
};

/// First and last bytes of a file.
const MAGIC: &[u8] = b"PAR1";

fn detect(sample: &Sample) -> Verdict {
    if sample.bytes.starts_with(MAGIC) {
        Verdict::Yes("the magic number PAR1".to_owned())
    } else {
        Verdict::No
    }
}

/// An error of the library, as an error of the file.
fn broken(file: &str, error: &ParquetError) -> TraceError {
    let message = match error {
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::NYI(text) => {
            text.clone()
        }
        other => other.to_string(),
    };
    TraceError::data(file, Location::File, format!("not a whole Parquet file: {message}"))
}

/// A call into the library as an error of the file. Of some damage the library has an assertion
/// where an error would do; that must not end the caller's process.
fn guarded<T>(
    file: &str,
    call: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> Result<T> {
    let lost = |_| Err(ParquetError::General("its pages contradict its metadata".to_owned()));
    GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    outcome.unwrap_or_else(lost).map_err(|error| broken(file, &error))
}

thread_local! {
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A panic of this thread is about to become an error of the file: a panic hook need not report it.
pub fn panic_is_guarded() -> bool {
    GUARDED.get()
}

/// Checks what the library would assert later: that no column lies outside of the file.
fn check_layout(file: &dyn FileReader, bytes: u64) -> std::result::Result<(), ParquetError> {
    for (number, group) in file.metadata().row_groups().iter().enumerate() {
        let wrong =
            |what: &str| Err(ParquetError::General(format!("row group {number} has {what}")));
        if group.num_rows() < 0 {
            return wrong("a negative number of rows");
        }
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end =
                start.checked_add(column.compressed_size()).and_then(|end| u64::try_from(end).ok());
            if start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end > bytes) {
                return wrong("a column outside of the file");
            }
        }
    }
    Ok(())
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let name = input.name().to_owned();
    let device_name = input.device_name();
    input.ensure(MAGIC.len())?;
    if !input.window().starts_with(MAGIC) {
        let found: String = input.window().iter().take(4).map(|b| format!("{b:02x}")).collect();
        return Err(TraceError::data(
            name,
            Location::Record { record: 0, byte: 0 },
            format!("expected the magic number PAR1, found the bytes {found}"),
        ));
    }
    let file: Box<dyn FileReader> = match input.plain_path().map(ToOwned::to_owned) {
        Some(path) => {
            let io = |source| TraceError::Io { path: path.clone(), source };
            let file = File::open(&path).map_err(io)?;
            let bytes = file.metadata().map_err(io)?.len();
            guarded(&name, || {
                let file = SerializedFileReader::new(file)?;
                check_layout(&file, bytes).map(|()| Box::new(file) as Box<dyn FileReader>)
            })?
        }
        None => {
            let (held, bytes) = input.into_spooled()?;
            guarded(&name, || {
                let file: Box<dyn FileReader> = match held {
                    SpooledStream::Memory(content) => {
                        Box::new(SerializedFileReader::new(Bytes::from(content))?)
                    }
                    SpooledStream::Disk(file) => Box::new(SerializedFileReader::new(file)?),
                };
                check_layout(&*file, bytes).map(|()| file)
            })?
        }
    };
    let metadata = file.metadata().file_metadata();
    let export = ExportMetadata::of(&name, metadata.key_value_metadata())?;
    let table = match export {
        Some(export) if opening.options.columns == Columns::default() => {
            let options = mapping::export_mapping(FORMAT.name, &opening.options)?;
            Table::new(FORMAT.name, metadata.schema_descr(), &options, Some(export))?
        }
        _ => Table::new(FORMAT.name, metadata.schema_descr(), &opening.options, None)?,
    };
    Ok(Box::new(ParquetRows {
        file,
        name,
        device_name,
        hint: opening.hint(),
        table,
        next_group: 0,
        group: None,
        row: 0,
        export_devices: Vec::new(),
    }))
}

/// A row group that is being read.
struct Group {
    columns: Roles<Cursor>,
    rows_left: usize,
    /// Offset of its offset column in the file.
    byte: u64,
}

struct ParquetRows {
    file: Box<dyn FileReader>,
    name: String,
    device_name: String,
    hint: String,
    table: Table,
    next_group: usize,
    group: Option<Group>,
    /// Rows read so far.
    row: u64,
    /// Indices, in the run's table, of the devices that our own export lists.
    export_devices: Vec<u32>,
}

impl RecordReader for ParquetRows {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        if let Some(export) = self
            .table
            .export
            .as_ref()
            .filter(|export| self.export_devices.len() < export.devices.len())
        {
            self.export_devices =
                export.devices.iter().map(|name| devices.index(name.as_bytes())).collect();
        }
        let Some(mut group) =
            self.group.take().map_or_else(|| self.open_group(), |group| Ok(Some(group)))?
        else {
            return Ok(false);
        };
        let rows = group.rows_left.min(BATCH_RECORDS);
        self.load(&mut group.columns, rows)?;
        for i in 0..rows {
            let place = Location::Record { record: self.row, byte: group.byte };
            self.row += 1;
            tally.lines += 1;
            let record = self.record(&group.columns, i, devices);
            if let Err((category, message)) = record.and_then(|record| tally.keep(record, out)) {
                self.reject(tally, place, category, message)?;
            }
        }
        group.rows_left -= rows;
        self.group = (group.rows_left > 0).then_some(group);
        Ok(true)
    }

    fn facts(&self) -> Facts {
        match &self.table.export {
            Some(export) => export.facts,
            None => Facts {
                has_times: Some(self.table.has_times()),
                has_ops: Some(self.table.roles.op.is_some()),
                page_bytes: self.table.page_bytes,
                exact: false,
                time_digits: 0,
                odd_columns: None,
            },
        }
    }
}

/// Why a row is no record.
impl ParquetRows {
    /// Opens the next row group that has rows; `None` at the end.
    fn open_group(&mut self) -> Result<Option<Group>> {
        while self.next_group < self.file.num_row_groups() {
            let number = self.next_group;
            self.next_group += 1;
            let group = guarded(&self.name, || self.open_one(number))?;
            if group.rows_left > 0 {
                return Ok(Some(group));
            }
        }
        Ok(None)
    }

    fn open_one(&self, number: usize) -> std::result::Result<Group, ParquetError> {
        let group = self.file.get_row_group(number)?;
        let of = |(place, kind): &(usize, ColumnType)| -> std::result::Result<_, ParquetError> {
            let reader = group.get_column_reader(*place)?;
            Ok(Cursor { reader, kind: *kind, cells: Vec::new() })
        };
        let cursor = |role: &Option<(usize, ColumnType)>| role.as_ref().map(of).transpose();
        let roles = &self.table.roles;
        let columns = Roles {
            time: cursor(&roles.time)?,
            device: roles.device.iter().map(of).collect::<std::result::Result<_, _>>()?,
            op: cursor(&roles.op)?,
            offset: cursor(&roles.offset)?,
            length: cursor(&roles.length)?,
            response: cursor(&roles.response)?,
        };
        let metadata = group.metadata();
        let first = roles
            .offset
            .as_ref()
            .map_or(0, |(place, _)| metadata.column(*place).data_page_offset());
        Ok(Group {
            columns,
            rows_left: usize::try_from(metadata.num_rows()).unwrap_or(0),
            byte: u64::try_from(first).unwrap_or(0),
        })
    }

    /// Reads the next `rows` cells of every mapped column.
    fn load(&self, columns: &mut Roles<Cursor>, rows: usize) -> Result<()> {
        let Roles { time, device, op, offset, length, response } = columns;
        let single = [time, op, offset, length, response].into_iter().flatten();
        for cursor in single.chain(device) {
            guarded(&self.name, || {
                cursor.cells.clear();
                cursor.kind.read(&mut cursor.reader, rows, &mut cursor.cells)?;
                if cursor.cells.len() == rows {
                    return Ok(());
                }
                let message = format!("a column ends after {} of {rows} rows", cursor.cells.len());
                Err(ParquetError::EOF(message))
            })?;
        }
        Ok(())
    }

    /// Row `i` of the loaded cells.
    fn record(
        &self,
        columns: &Roles<Cursor>,
        i: usize,
        devices: &mut DeviceTable,
    ) -> std::result::Result<Record, RowFault> {
        let mapping = &self.table.mapping;
        let op = match &columns.op {
            None => mapping.default_op,
            Some(column) => {
                let value = column.cells[i].name();
                mapping.op(&value).ok_or_else(|| {
                    let message = format!(
                        "op: expected one of {}, found {}",
                        mapping.known_ops(),
                        quoted(&value)
                    );
                    (Category::UnknownOp, message)
                })?
            }
        };
        let mut record =
            Record { time_ns: 0, offset_bytes: 0, length_bytes: 0, device: 0, op, ..Record::EMPTY };
        if let Some(column) = &columns.time
            && self.table.has_times()
        {
            let origin_ns = self.table.export.as_ref().map_or(0, |export| export.origin_ns);
            record.time_ns = column.time_ns(i, "time", mapping.time, origin_ns)?;
        }
        record.device = match columns.device.as_slice() {
            [] => devices.index(self.device_name.as_bytes()),
            several => self.device(several, i, devices)?,
        };
        if let Some(column) = &columns.response
            && column.cells[i] != Cell::Null
        {
            record.response_ns = column.time_ns(i, "response", mapping.response, 0)?;
        }
        if op == RecordOp::Flush {
            return Ok(record); // whatever stands in the extent's columns
        }
        if let Some(column) = &columns.offset {
            record.offset_bytes = column.bytes(i, "offset", mapping.offset_bytes)?;
        }
        record.length_bytes = match &columns.length {
            None => mapping.fixed_length_bytes,
            Some(column) => column.bytes(i, "length", mapping.length_bytes)?,
        };
        Ok(record)
    }

    /// The device of row `i`, whose name is in these columns.
    fn device(
        &self,
        columns: &[Cursor],
        i: usize,
        devices: &mut DeviceTable,
    ) -> std::result::Result<u32, RowFault> {
        let name = match columns {
            [one] => one.cells[i].name(),
            several => {
                let parts: Vec<_> = several.iter().map(|column| column.cells[i].name()).collect();
                let whole = parts.iter().all(|part| !part.is_empty());
                Cow::Owned(if whole { parts.join(&b'_') } else { Vec::new() })
            }
        };
        let bad = |expected: &str| {
            (
                Category::BadDevice,
                format!("device: expected {expected}, found \"{}\"", printable(&name)),
            )
        };
        if let Some(export) = &self.table.export {
            let index = std::str::from_utf8(&name).ok().and_then(|text| text.parse::<usize>().ok());
            let known = index.and_then(|index| self.export_devices.get(index));
            return known
                .copied()
                .ok_or_else(|| bad(&format!("an index into the {} names", export.devices.len())));
        }
        if name.is_empty() {
            return Err(bad("a name"));
        }
        Ok(devices.index(&name))
    }

    fn reject(
        &self,
        tally: &mut Tally,
        place: Location,
        category: Category,
        message: String,
    ) -> Result<()> {
        tally.reject_record(&self.name, place, category, message, Some(self.hint.clone()))
    }
}
