//! The mapping by which `csv` and `parquet` say which column is what, in which unit.
//!
//! Nothing is guessed: a column is named or numbered, and every unit is given. What is missing is a
//! question to the user that names the key and the columns that are there.

use std::ops::Range;

use crate::error::{Category, Result, TraceError};
use crate::format::Fault;
use crate::format::dates::date_ns;
use crate::format::fields::{self, Misread};
use crate::options::{Column, Columns, ReaderOptions, TimeUnit, Unit};
use crate::record::RecordOp;

/// Bytes of the unit `page` unless `page_bytes` is given.
const PAGE_BYTES: u64 = 4096;

/// A question to the user: an option is missing or makes no sense.
pub(crate) fn usage(message: impl Into<String>) -> TraceError {
    TraceError::usage(message.into())
}

/// Unit of a time column, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// Each is this many nanoseconds.
    Nanoseconds(u64),
    /// Each is a picosecond; what is below a nanosecond is dropped.
    Picoseconds,
    /// Dates as text, in nanoseconds since 1970.
    Dates,
}

impl Clock {
    /// The clock of a unit; `None` for `none`.
    pub(crate) fn of(unit: TimeUnit) -> Option<Clock> {
        Some(match unit {
            TimeUnit::S => Clock::Nanoseconds(1_000_000_000),
            TimeUnit::Ms => Clock::Nanoseconds(1_000_000),
            TimeUnit::Us => Clock::Nanoseconds(1_000),
            TimeUnit::Ns => Clock::Nanoseconds(1),
            TimeUnit::Ps => Clock::Picoseconds,
            // Counted from 1601, as `msr` does: no origin is another one's.
            TimeUnit::Filetime => Clock::Nanoseconds(100),
            TimeUnit::Date => Clock::Dates,
            TimeUnit::None => return None,
        })
    }

    /// The unit in words, for messages.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Clock::Nanoseconds(1_000_000_000) => "seconds",
            Clock::Nanoseconds(1_000_000) => "milliseconds",
            Clock::Nanoseconds(1_000) => "microseconds",
            Clock::Nanoseconds(100) => "100-ns ticks",
            Clock::Nanoseconds(_) => "nanoseconds",
            Clock::Picoseconds => "picoseconds",
            Clock::Dates => "a date, such as 2024-01-15 10:30:45.123456",
        }
    }

    /// Contents of a column of this unit, for messages.
    pub(crate) fn expected(self) -> String {
        match self {
            Clock::Dates => self.unit().to_owned(),
            _ => format!("a decimal number of {}", self.unit()),
        }
    }

    /// A whole number of units in nanoseconds; `None` if it does not fit.
    pub(crate) fn whole_ns(self, units: u64) -> Option<u64> {
        match self {
            Clock::Nanoseconds(unit_ns) => units.checked_mul(unit_ns),
            Clock::Picoseconds => Some(units / 1_000),
            Clock::Dates => None,
        }
    }

    /// A unit is the first number of nanoseconds divided by the second.
    pub(crate) fn ratio(self) -> (u64, u64) {
        match self {
            Clock::Nanoseconds(unit_ns) => (unit_ns, 1),
            Clock::Picoseconds => (1, 1_000),
            Clock::Dates => (1, 1),
        }
    }

    /// A decimal field in nanoseconds; its point may be a comma.
    pub(crate) fn parse_ns(self, field: &[u8]) -> std::result::Result<u64, Misread> {
        if self == Clock::Dates {
            return date_ns(field);
        }
        if memchr::memchr(b',', field).is_some() {
            // One comma and no point; any other text with a comma fails below.
            let field: Vec<u8> = field.iter().map(|&c| if c == b',' { b'.' } else { c }).collect();
            return self.parse_ns(&field);
        }
        match self {
            Clock::Nanoseconds(unit_ns) => fields::parse_decimal(field, unit_ns),
            // Counted in picoseconds, as if they were the nanoseconds of a finer clock.
            Clock::Picoseconds => fields::parse_decimal(field, 1).map(|ps| ps / 1_000),
            Clock::Dates => date_ns(field),
        }
    }
}

/// The clock of a format that has times, none of them dates.
///
/// # Errors
///
/// `Usage` for a unit that it cannot have.
pub(crate) fn clock_of(format: &str, unit: TimeUnit) -> Result<Clock> {
    match Clock::of(unit) {
        Some(clock) if clock != Clock::Dates => Ok(clock),
        _ => Err(usage(format!(
            "time_unit: format {format} has times in numbers; expected s, ms, us, ns or ps"
        ))),
    }
}

/// A field as a time of a clock, in ns.
pub(crate) fn time_of(
    line: &[u8],
    at: Range<usize>,
    name: &str,
    clock: Clock,
) -> std::result::Result<u64, Fault> {
    let field = &line[at.clone()];
    clock.parse_ns(field).map_err(|why| match why {
        Misread::NotANumber => {
            fields::unexpected(line, at, Category::BadTime, name, &clock.expected())
        }
        Misread::TooLarge => {
            let message = format!(
                "{name}: {} {} are more than 2^64 nanoseconds: is the unit smaller?",
                fields::quoted(field),
                clock.unit()
            );
            Fault { category: Category::BadTime, field: at, message }
        }
    })
}

/// Digits behind the point of a number; 0 without a point.
pub(crate) fn digits_behind_point(field: &[u8]) -> usize {
    let point = memchr::memchr(b'.', field);
    point.map_or(0, |at| field[at + 1..].iter().take_while(|c| c.is_ascii_digit()).count())
}

/// The six roles, each with its column or none; a device may have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roles<T> {
    pub(crate) time: Option<T>,
    pub(crate) device: Vec<T>,
    pub(crate) op: Option<T>,
    pub(crate) offset: Option<T>,
    pub(crate) length: Option<T>,
    pub(crate) response: Option<T>,
}

// Not derived: that would ask it of `T`.
impl<T> Default for Roles<T> {
    fn default() -> Self {
        Roles {
            time: None,
            device: Vec::new(),
            op: None,
            offset: None,
            length: None,
            response: None,
        }
    }
}

/// The mapping of the columns that we export ourselves, the rest as the user wants it.
///
/// Errors: an option says otherwise than the export; ignored, it would look as if applied.
pub(crate) fn export_mapping(format: &str, given: &ReaderOptions) -> Result<ReaderOptions> {
    let column = |name: &str| Some(Column::Name(name.to_owned()));
    let list = |name: &str| vec![name.to_owned()];
    let mapped = ReaderOptions {
        columns: Columns {
            time: column("time_ns"),
            device: column("device").into_iter().collect(),
            op: column("op"),
            offset: column("offset_bytes"),
            length: column("length_bytes"),
            response: column("response_ns"),
        },
        time_unit: Some(TimeUnit::Ns),
        response_unit: Some(TimeUnit::Ns),
        offset_unit: Some(Unit::Bytes(1)),
        length_unit: Some(Unit::Bytes(1)),
        op_read: list("read"),
        op_write: list("write"),
        op_trim: list("trim"),
        op_flush: list("flush"),
        default_op: None,
        page_bytes: None,
        ..given.clone()
    };
    let lost = given.lost_in(&mapped);
    if lost.is_empty() {
        return Ok(mapped);
    }
    let named: Vec<String> =
        lost.iter().map(|key| format!("{key} (--{})", key.replace('_', "-"))).collect();
    Err(usage(format!(
        "{format}: {}: Destage's own export has its units and operations in its header\n  leave \
         the option out, or describe every column (--columns)",
        named.join(", ")
    )))
}

/// Places of the mapped columns among those that a file has.
///
/// `found` are the file's columns; empty if it names none and `count` columns are there. Errors:
/// `columns` is missing, or names one that is not there; the message lists those found.
pub(crate) fn resolve(
    format: &str,
    options: &ReaderOptions,
    found: &[String],
    count: usize,
) -> Result<Roles<usize>> {
    let listing = || match found {
        [] => format!(
            "the file has {count} columns without names, from 0 to {}",
            count.saturating_sub(1)
        ),
        names => format!("columns found: {}", names.join(", ")),
    };
    let columns = &options.columns;
    let place = |role: &str, column: &Column| -> Result<usize> {
        let (at, named) = match column {
            Column::Number(number) => ((*number < count).then_some(*number), number.to_string()),
            Column::Name(name) => {
                let named: Vec<usize> = (0..found.len()).filter(|&k| found[k] == *name).collect();
                if named.len() > 1 {
                    return Err(usage(format!(
                        "{format}: columns.{role}: {} columns are named {name}: give the number \
                         of one, from 0 on",
                        named.len()
                    )));
                }
                (named.first().copied(), format!("\"{name}\""))
            }
        };
        at.ok_or_else(|| {
            usage(format!("{format}: columns.{role}: there is no column {named}; {}", listing()))
        })
    };
    let one = |role: &str, column: &Option<Column>| {
        column.as_ref().map(|column| place(role, column)).transpose()
    };
    let devices = columns.device.iter().map(|column| place("device", column));
    let roles = Roles {
        time: one("time", &columns.time)?,
        device: devices.collect::<Result<_>>()?,
        op: one("op", &columns.op)?,
        offset: one("offset", &columns.offset)?,
        length: one("length", &columns.length)?,
        response: one("response", &columns.response)?,
    };
    if roles.offset.is_none() {
        let example = "columns = { time = ..., op = ..., offset = ..., length = ... }";
        return Err(usage(format!("{format}: say which column is what: {example}; {}", listing())));
    }
    Ok(roles)
}

/// Units of the mapped columns, and what the values of the op column mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Clock of the time column; `None` if there are no times.
    pub(crate) time: Option<Clock>,
    /// Clock of the response column.
    pub(crate) response: Option<Clock>,
    /// Bytes that an offset counts in.
    pub(crate) offset_bytes: u64,
    /// Bytes that a length counts in.
    pub(crate) length_bytes: u64,
    /// Length of every request, where there is no length column: one page.
    pub(crate) fixed_length_bytes: u64,
    /// Operation of every request, where there is no op column.
    pub(crate) default_op: RecordOp,
    ops: Vec<(Vec<u8>, RecordOp)>,
}

/// Meaning of the values of the op column.
fn ops_of(format: &str, options: &ReaderOptions) -> Result<Vec<(Vec<u8>, RecordOp)>> {
    let ops: Vec<_> = [
        (&options.op_read, RecordOp::Read),
        (&options.op_write, RecordOp::Write),
        (&options.op_trim, RecordOp::Trim),
        (&options.op_flush, RecordOp::Flush),
    ]
    .into_iter()
    .flat_map(|(values, op)| values.iter().map(move |value| (value.clone().into_bytes(), op)))
    .collect();
    match (&options.columns.op, options.default_op) {
        (Some(_), _) if ops.is_empty() => {
            return Err(missing(
                format,
                "op_read and op_write",
                "the values of the op column that mean read and write",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(usage(format!(
                "{format}: default_op is only for files without an op column"
            )));
        }
        (None, None) => {
            return Err(missing(
                format,
                "columns.op (--columns op=NAME), or default_op (--default-op)",
                "read or write, for files without an op column",
            ));
        }
        _ => {}
    }
    Ok(ops)
}

/// An option that must be given, as one calls it and types it, and what it can be.
fn missing(format: &str, key: &str, values: &str) -> TraceError {
    usage(format!("{format}: {key} must be given ({values})"))
}

impl Mapping {
    /// Units and operations of the mapped columns, from the options.
    ///
    /// `has_clock`: the time column brings its own unit, as timestamps of Parquet do. Errors: a
    /// unit or a meaning that is missing, or given for nothing.
    pub(crate) fn new(format: &str, options: &ReaderOptions, has_clock: bool) -> Result<Mapping> {
        let columns = &options.columns;
        let page_bytes = options.page_bytes.unwrap_or(PAGE_BYTES);
        let bytes = |unit: Unit| match unit {
            Unit::Bytes(bytes) => bytes,
            Unit::Page => page_bytes,
        };
        let missing = |key: &str, values: &str| {
            missing(format, &format!("{key} (--{})", key.replace('_', "-")), values)
        };
        const TIMES: &str = "s, ms, us, ns, ps, filetime, date or none";
        const SIZES: &str = "byte, sector, page, or a number of bytes";

        let time_unit = match (&columns.time, options.time_unit) {
            (Some(_), None) if !has_clock => return Err(missing("time_unit", TIMES)),
            (_, unit) => unit,
        };
        let time = columns.time.as_ref().and(time_unit.and_then(Clock::of));
        let response =
            match (&columns.response, options.response_unit.or(time_unit).and_then(Clock::of)) {
                (Some(_), None) => return Err(missing("response_unit", "s, ms, us, ns or ps")),
                (_, clock) => clock,
            };
        let offset_unit = options.offset_unit.ok_or_else(|| missing("offset_unit", SIZES))?;
        let length_unit = match (&columns.length, options.length_unit) {
            (Some(_), None) => return Err(missing("length_unit", SIZES)),
            (None, _) if offset_unit != Unit::Page => {
                let message = "columns.length must be given, unless offset_unit (--offset-unit) is \
                 page and every request one page";
                return Err(usage(format!("{format}: {message}")));
            }
            (_, unit) => unit.unwrap_or(Unit::Page),
        };
        let ops = ops_of(format, options)?;
        Ok(Mapping {
            time,
            response,
            offset_bytes: bytes(offset_unit),
            length_bytes: bytes(length_unit),
            fixed_length_bytes: page_bytes,
            default_op: options.default_op.unwrap_or(RecordOp::Read),
            ops,
        })
    }

    /// Meaning of a value of the op column, if it has one.
    pub(crate) fn op(&self, value: &[u8]) -> Option<RecordOp> {
        self.ops.iter().find(|(text, _)| text == value).map(|&(_, op)| op)
    }

    /// The values that mean something, for a message.
    pub(crate) fn known_ops(&self) -> String {
        self.ops.iter().map(|(text, _)| fields::quoted(text)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(table: serde_json::Value) -> ReaderOptions {
        serde_json::from_value(table).unwrap()
    }

    fn whole() -> serde_json::Value {
        json!({
            "columns": {"time": "ts", "device": "vol", "op": "kind", "offset": 3, "length": "len"},
            "time_unit": "us", "offset_unit": "sector", "length_unit": "byte",
            "op_read": ["R", "read"], "op_write": ["W"], "op_trim": ["D"],
        })
    }

    #[test]
    fn names_and_numbers_find_their_columns() {
        let found: Vec<String> = ["ts", "vol", "kind", "sector", "len"].map(str::to_owned).into();
        let roles = resolve("csv", &options(whole()), &found, 5).unwrap();
        assert_eq!(
            roles,
            Roles {
                time: Some(0),
                device: vec![1],
                op: Some(2),
                offset: Some(3),
                length: Some(4),
                response: None
            }
        );
        let error = resolve("csv", &options(whole()), &found[..4], 4).unwrap_err().to_string();
        assert_eq!(
            error,
            "csv: columns.length: there is no column \"len\"; columns found: ts, vol, kind, sector"
        );
        let error = resolve("csv", &options(json!({"columns": {"offset": 5}})), &[], 5)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no column 5") && error.contains("5 columns without names, from 0 to 4"),
            "{error}"
        );
        let error = resolve("csv", &options(json!({})), &found, 5).unwrap_err().to_string();
        assert!(error.contains("columns found: ts, vol"), "{error}");
    }

    #[test]
    fn every_missing_unit_is_asked_for_by_its_key() {
        for key in ["time_unit", "offset_unit", "length_unit"] {
            let mut table = whole();
            table.as_object_mut().unwrap().remove(key);
            let error = Mapping::new("csv", &options(table), false).unwrap_err();
            assert!(error.exit_status() == 2 && error.to_string().contains(key), "{error}");
        }
        let mut table = whole();
        for key in ["op_read", "op_write", "op_trim"] {
            table.as_object_mut().unwrap().remove(key);
        }
        assert!(
            Mapping::new("csv", &options(table.clone()), false)
                .unwrap_err()
                .to_string()
                .contains("op_read")
        );
        table["columns"].as_object_mut().unwrap().remove("op");
        assert!(
            Mapping::new("csv", &options(table.clone()), false)
                .unwrap_err()
                .to_string()
                .contains("default_op")
        );
        table["default_op"] = json!("write");
        assert_eq!(
            Mapping::new("csv", &options(table), false).unwrap().default_op,
            RecordOp::Write
        );
        let mut both = whole();
        both["default_op"] = json!("read");
        assert!(
            Mapping::new("csv", &options(both), false)
                .unwrap_err()
                .to_string()
                .contains("default_op")
        );
    }

    #[test]
    fn a_timestamp_column_needs_no_unit() {
        let mut table = whole();
        table.as_object_mut().unwrap().remove("time_unit");
        assert_eq!(Mapping::new("parquet", &options(table), true).unwrap().time, None);
    }

    #[test]
    fn pages_without_a_length_are_one_page_each() {
        let table = json!({
            "columns": {"offset": 0}, "offset_unit": "page", "page_bytes": 8192,
            "default_op": "read",
        });
        let mapping = Mapping::new("csv", &options(table), false).unwrap();
        assert_eq!(
            (mapping.offset_bytes, mapping.fixed_length_bytes, mapping.time),
            (8192, 8192, None)
        );
        let table = json!({"columns": {"offset": 0}, "offset_unit": "byte", "default_op": "read"});
        assert!(
            Mapping::new("csv", &options(table), false)
                .unwrap_err()
                .to_string()
                .contains("columns.length")
        );
    }

    #[test]
    fn clocks() {
        let ns = |unit, text: &str| Clock::of(unit).unwrap().parse_ns(text.as_bytes());
        assert_eq!(ns(TimeUnit::S, "1456012801.000250000"), Ok(1_456_012_801_000_250_000));
        assert_eq!(ns(TimeUnit::Us, "1000"), Ok(1_000_000));
        assert_eq!(ns(TimeUnit::Ps, "2500"), Ok(2));
        assert_eq!(ns(TimeUnit::Filetime, "128166372000000000"), Ok(12_816_637_200_000_000_000));
        assert_eq!(ns(TimeUnit::Ms, "0,25"), Ok(250_000), "a decimal comma");
        for wrong in ["1,234,567", "1,234.5"] {
            assert_eq!(ns(TimeUnit::Ms, wrong), Err(Misread::NotANumber), "{wrong}");
        }
        assert_eq!(ns(TimeUnit::Ms, "-1"), Err(Misread::NotANumber));
        assert_eq!(Clock::of(TimeUnit::None), None);
    }

    #[test]
    fn values_of_the_op_column() {
        let mapping = Mapping::new("csv", &options(whole()), false).unwrap();
        assert_eq!(mapping.op(b"read"), Some(RecordOp::Read));
        assert_eq!(mapping.op(b"D"), Some(RecordOp::Trim));
        assert_eq!(mapping.op(b"r"), None);
        assert_eq!(mapping.known_ops(), "\"R\", \"read\", \"W\", \"D\"");
    }
}
