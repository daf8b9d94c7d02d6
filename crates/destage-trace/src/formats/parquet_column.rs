//! One column of a Parquet file as plain values, whatever its physical and logical type.
//!
//! The library without Arrow hands out physical values; dictionaries are resolved there. What is
//! left is to read signs, scales and units off the schema, so that no number passes through
//! floating point unless the file itself stores floats.

use std::borrow::Cow;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int96};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

use super::mapping::Clock;
use crate::format::dates::date_ns;
use crate::format::fields::{Misread, quoted};

/// The Julian day of 1970-01-01, from which an INT96 timestamp counts its days.
const JULIAN_DAY_OF_1970: i128 = 2_440_588;
/// Floats from here on skip whole numbers.
const FLOAT_LIMIT: f64 = 9_007_199_254_740_992.0;

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Cell {
    /// No value.
    Null,
    /// A whole number, or the digits of a decimal.
    Whole(i128),
    /// A float.
    Float(f64),
    /// Text.
    Text(ByteArray),
}

impl Cell {
    /// The value as a name: text as it is, numbers in decimal, nothing if there is none.
    pub(super) fn name(&self) -> Cow<'_, [u8]> {
        match self {
            Cell::Null => Cow::Borrowed(b""),
            Cell::Whole(number) => Cow::Owned(number.to_string().into_bytes()),
            Cell::Float(number) => Cow::Owned(number.to_string().into_bytes()),
            Cell::Text(text) => Cow::Borrowed(text.data()),
        }
    }
}

/// Why a value is no number of the kind wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberFault {
    /// Missing, negative, or not whole.
    NotANumber,
    /// Past 64 bits.
    TooLarge,
}

impl From<Misread> for NumberFault {
    fn from(misread: Misread) -> Self {
        match misread {
            Misread::NotANumber => NumberFault::NotANumber,
            Misread::TooLarge => NumberFault::TooLarge,
        }
    }
}

/// Kind of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    /// Whole numbers, signed or not.
    Whole { signed: bool },
    /// Decimals with this many digits after the point.
    Decimal { scale: u32 },
    /// Timestamps since 1970 in units of so many nanoseconds.
    Timestamp { unit_ns: u64 },
    /// Floats.
    Float,
    /// Text.
    Text,
}

/// Type of a column, as far as reading it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ColumnType {
    values: Values,
    /// Definition level of a value that is there.
    max_def_level: i16,
}

impl ColumnType {
    /// The type of `column`; a phrase that says why it cannot be read otherwise.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<ColumnType, String> {
        if column.max_rep_level() > 0 {
            return Err("is a list; expected one value a row".to_owned());
        }
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let decimal =
            matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL;
        let unsigned = matches!(logical, Some(LogicalType::Integer(kind)) if !kind.is_signed)
            || matches!(
                converted,
                ConvertedType::UINT_8
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_32
                    | ConvertedType::UINT_64
            );
        let stamp = match (logical, converted) {
            (Some(LogicalType::Timestamp(kind)), _) => Some(match kind.unit {
                TimeUnit::MILLIS => 1_000_000,
                TimeUnit::MICROS => 1_000,
                TimeUnit::NANOS => 1,
            }),
            (None, ConvertedType::TIMESTAMP_MILLIS) => Some(1_000_000),
            (None, ConvertedType::TIMESTAMP_MICROS) => Some(1_000),
            _ => None,
        };
        let of_day = matches!(logical, Some(LogicalType::Time(_) | LogicalType::Date))
            || matches!(
                converted,
                ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS | ConvertedType::DATE
            );
        if of_day {
            return Err(
                "holds dates or times of day, which do not say when a request came".to_owned()
            );
        }
        let values = match column.physical_type() {
            Type::INT32 | Type::INT64 | Type::FIXED_LEN_BYTE_ARRAY | Type::BYTE_ARRAY
                if decimal =>
            {
                let scale = u32::try_from(column.type_scale())
                    .map_err(|_| "has a negative scale".to_owned())?;
                Values::Decimal { scale }
            }
            Type::INT64 if stamp.is_some() => Values::Timestamp { unit_ns: stamp.unwrap_or(1) },
            Type::INT32 | Type::INT64 => Values::Whole { signed: !unsigned },
            Type::BOOLEAN => Values::Whole { signed: false },
            Type::INT96 => Values::Timestamp { unit_ns: 1 },
            Type::FLOAT | Type::DOUBLE => Values::Float,
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => Values::Text,
        };
        Ok(ColumnType { values, max_def_level: column.max_def_level() })
    }

    /// The type in words, for messages.
    pub(super) fn name(&self) -> &'static str {
        match self.values {
            Values::Whole { .. } => "whole numbers",
            Values::Decimal { .. } => "decimals",
            Values::Timestamp { .. } => "timestamps",
            Values::Float => "floating-point numbers",
            Values::Text => "text",
        }
    }

    /// Whether it can be a time in a unit.
    pub(super) fn is_time(&self) -> bool {
        self.values != Values::Text
    }

    /// Whether it can be an offset or a length.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.values, Values::Whole { .. } | Values::Decimal { .. } | Values::Float)
    }

    /// Whether it can be a device or an operation.
    pub(super) fn is_name(&self) -> bool {
        matches!(self.values, Values::Whole { .. } | Values::Text)
    }

    /// Unit of a timestamp, nanoseconds.
    pub(super) fn unit_ns(&self) -> Option<u64> {
        match self.values {
            Values::Timestamp { unit_ns } => Some(unit_ns),
            _ => None,
        }
    }

    /// Appends the next `rows` values; fewer at the end of the row group.
    pub(super) fn read(
        &self,
        reader: &mut ColumnReader,
        rows: usize,
        out: &mut Vec<Cell>,
    ) -> Result<(), ParquetError> {
        let signed = self.values != Values::Whole { signed: false };
        let decimal = matches!(self.values, Values::Decimal { .. });
        let text = |bytes: &ByteArray| {
            if decimal { big_endian(bytes.data()) } else { Ok(Cell::Text(bytes.clone())) }
        };
        match reader {
            ColumnReader::BoolColumnReader(r) => {
                self.read_typed(r, rows, out, |v| Ok(Cell::Whole((*v).into())))
            }
            ColumnReader::Int32ColumnReader(r) => self.read_typed(r, rows, out, |&v| {
                Ok(Cell::Whole(if signed { v.into() } else { v.cast_unsigned().into() }))
            }),
            ColumnReader::Int64ColumnReader(r) => self.read_typed(r, rows, out, |&v| {
                Ok(Cell::Whole(if signed { v.into() } else { v.cast_unsigned().into() }))
            }),
            ColumnReader::Int96ColumnReader(r) => {
                self.read_typed(r, rows, out, |v| Ok(Cell::Whole(since_1970(v))))
            }
            ColumnReader::FloatColumnReader(r) => {
                self.read_typed(r, rows, out, |&v| Ok(Cell::Float(v.into())))
            }
            ColumnReader::DoubleColumnReader(r) => {
                self.read_typed(r, rows, out, |&v| Ok(Cell::Float(v)))
            }
            ColumnReader::ByteArrayColumnReader(r) => self.read_typed(r, rows, out, text),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                self.read_typed(r, rows, out, |v| text(v))
            }
        }
    }

    fn read_typed<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        out: &mut Vec<Cell>,
        cell: impl Fn(&T::T) -> Result<Cell, ParquetError>,
    ) -> Result<(), ParquetError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let optional = self.max_def_level > 0;
        let target = out.len() + rows;
        while out.len() < target {
            levels.clear();
            values.clear();
            let left = target - out.len();
            let (read, _, _) =
                reader.read_records(left, optional.then_some(&mut levels), None, &mut values)?;
            if read == 0 {
                break;
            }
            if !optional {
                for value in &values {
                    out.push(cell(value)?);
                }
                continue;
            }
            let mut present = values.iter();
            for &level in &levels {
                let value = if level == self.max_def_level { present.next() } else { None };
                out.push(value.map_or(Ok(Cell::Null), &cell)?);
            }
        }
        Ok(())
    }

    /// A value as a whole number.
    pub(super) fn whole(&self, cell: &Cell) -> Result<u64, NumberFault> {
        let digits = match *cell {
            Cell::Whole(digits) => digits,
            // Data frames write whole numbers so where some are missing.
            Cell::Float(real) if real.fract() == 0.0 && (0.0..FLOAT_LIMIT).contains(&real) => {
                real as i128
            }
            _ => return Err(NumberFault::NotANumber),
        };
        let scale = match self.values {
            Values::Decimal { scale } => power_of_ten(scale)?,
            _ => 1,
        };
        if digits < 0 || digits % scale != 0 {
            return Err(NumberFault::NotANumber);
        }
        u64::try_from(digits / scale).map_err(|_| NumberFault::TooLarge)
    }

    /// A value as a time in nanoseconds; `clock` is the unit of all but timestamps.
    pub(super) fn time_ns(&self, cell: &Cell, clock: Option<Clock>) -> Result<u64, NumberFault> {
        let clock = match (self.values, clock) {
            (Values::Timestamp { unit_ns }, _) => Clock::Nanoseconds(unit_ns),
            (_, Some(clock)) => clock,
            (_, None) => return Err(NumberFault::NotANumber),
        };
        match (cell, self.values) {
            (Cell::Whole(digits), _) if *digits < 0 => Err(NumberFault::NotANumber),
            (Cell::Whole(digits), Values::Decimal { scale }) => {
                let (unit_ns, below) = clock.ratio();
                let scaled = digits.checked_mul(unit_ns.into()).ok_or(NumberFault::TooLarge)?;
                let ns = scaled / power_of_ten(scale)? / i128::from(below);
                u64::try_from(ns).map_err(|_| NumberFault::TooLarge)
            }
            (Cell::Whole(units), _) => {
                let units = u64::try_from(*units).map_err(|_| NumberFault::TooLarge)?;
                clock.whole_ns(units).ok_or(NumberFault::TooLarge)
            }
            (Cell::Float(units), _) => {
                let (unit_ns, below) = clock.ratio();
                let ns = units * unit_ns as f64 / below as f64;
                if ns.is_nan() || ns < 0.0 {
                    return Err(NumberFault::NotANumber);
                }
                // From here on a float skips nanoseconds.
                if ns >= FLOAT_LIMIT { Err(NumberFault::TooLarge) } else { Ok(ns.round() as u64) }
            }
            (Cell::Text(text), _) if clock == Clock::Dates => {
                date_ns(text.data()).map_err(NumberFault::from)
            }
            (Cell::Null | Cell::Text(_), _) => Err(NumberFault::NotANumber),
        }
    }

    /// Message where [`ColumnType::time_ns`] has none.
    pub(super) fn time_message(&self, name: &str, cell: &Cell, why: NumberFault) -> String {
        let found = self.show(cell);
        match (why, self.values) {
            (NumberFault::NotANumber, Values::Text) => {
                format!("{name}: expected {}, found {found}", Clock::Dates.expected())
            }
            (NumberFault::NotANumber, _) => {
                format!("{name}: expected a time of 0 or later, found {found}")
            }
            (NumberFault::TooLarge, Values::Float) => format!(
                "{name}: {found} as a float has lost its nanoseconds (past 2^53 ns); write whole \
                 numbers, decimals \
                 or timestamps"
            ),
            (NumberFault::TooLarge, _) => format!("{name}: {found} does not fit 64 bits of ns"),
        }
    }

    /// A value for messages.
    pub(super) fn show(&self, cell: &Cell) -> String {
        match (cell, self.values) {
            (Cell::Null, _) => "nothing".to_owned(),
            (Cell::Whole(digits), Values::Decimal { scale }) => format!("{digits}e-{scale}"),
            (Cell::Text(text), _) => quoted(text.data()),
            (other, _) => String::from_utf8_lossy(&other.name()).into_owned(),
        }
    }
}

fn power_of_ten(scale: u32) -> Result<i128, NumberFault> {
    10i128.checked_pow(scale).ok_or(NumberFault::TooLarge)
}

/// A decimal stored as bytes: two's complement, big-endian, any length up to 16.
fn big_endian(bytes: &[u8]) -> Result<Cell, ParquetError> {
    let negative = bytes.first().is_some_and(|&b| b >= 0x80);
    if bytes.len() > 16 {
        return Err(ParquetError::General(format!("a decimal of {} bytes", bytes.len())));
    }
    let mut whole = [if negative { 0xff } else { 0 }; 16];
    whole[16 - bytes.len()..].copy_from_slice(bytes);
    Ok(Cell::Whole(i128::from_be_bytes(whole)))
}

/// An INT96 timestamp, nanoseconds since 1970.
fn since_1970(stamp: &Int96) -> i128 {
    let &[low, high, day] = stamp.data() else { return 0 };
    let of_day = i128::from(u64::from(high) << 32 | u64::from(low));
    (i128::from(day) - JULIAN_DAY_OF_1970) * 86_400_000_000_000 + of_day
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: Values) -> ColumnType {
        ColumnType { values, max_def_level: 0 }
    }

    #[test]
    fn decimals_keep_every_digit() {
        let seconds = Clock::Nanoseconds(1_000_000_000);
        let nine = column(Values::Decimal { scale: 9 });
        let stamp = Cell::Whole(1_456_012_801_000_250_001);
        assert_eq!(nine.time_ns(&stamp, Some(seconds)), Ok(1_456_012_801_000_250_001));
        let twelve = column(Values::Decimal { scale: 12 });
        assert_eq!(
            twelve.time_ns(&Cell::Whole(1_000_000_001_999), Some(seconds)),
            Ok(1_000_000_001)
        );
        assert_eq!(nine.whole(&Cell::Whole(4_096_000_000_000)), Ok(4096));
        assert_eq!(nine.whole(&Cell::Whole(4_096_000_000_001)), Err(NumberFault::NotANumber));
        assert_eq!(nine.time_ns(&Cell::Whole(-1), Some(seconds)), Err(NumberFault::NotANumber));
    }

    #[test]
    fn floats_are_refused_where_they_skip_nanoseconds() {
        let float = column(Values::Float);
        let seconds = Some(Clock::Nanoseconds(1_000_000_000));
        assert_eq!(float.time_ns(&Cell::Float(1.5), seconds), Ok(1_500_000_000));
        assert_eq!(
            float.time_ns(&Cell::Float(1_456_012_801.5), seconds),
            Err(NumberFault::TooLarge)
        );
        let message =
            float.time_message("time", &Cell::Float(1_456_012_801.5), NumberFault::TooLarge);
        assert!(message.contains("2^53"), "{message}");
        for bad in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert_eq!(float.time_ns(&Cell::Float(bad), seconds), Err(NumberFault::NotANumber));
        }
        assert_eq!(float.time_ns(&Cell::Float(f64::INFINITY), seconds), Err(NumberFault::TooLarge));
    }

    #[test]
    fn timestamps_bring_their_unit() {
        let micros = column(Values::Timestamp { unit_ns: 1_000 });
        assert_eq!(micros.time_ns(&Cell::Whole(1_450), None), Ok(1_450_000));
        assert_eq!(
            micros.time_ns(&Cell::Whole(-1), None),
            Err(NumberFault::NotANumber),
            "before 1970"
        );
        let mut stamp = Int96::new();
        stamp.set_data(5, 0, 2_440_589);
        assert_eq!(since_1970(&stamp), 86_400_000_000_005);
    }

    #[test]
    fn picoseconds_of_every_type() {
        let ps = Some(Clock::Picoseconds);
        assert_eq!(column(Values::Whole { signed: true }).time_ns(&Cell::Whole(2_500), ps), Ok(2));
        assert_eq!(column(Values::Decimal { scale: 1 }).time_ns(&Cell::Whole(25_000), ps), Ok(2));
        assert_eq!(column(Values::Float).time_ns(&Cell::Float(2_000.0), ps), Ok(2));
    }

    #[test]
    fn decimals_as_bytes_are_big_endian() {
        assert_eq!(big_endian(&[1, 0]).unwrap(), Cell::Whole(256));
        assert_eq!(big_endian(&[0xff, 0xff]).unwrap(), Cell::Whole(-1));
        assert_eq!(big_endian(&[]).unwrap(), Cell::Whole(0));
        assert!(big_endian(&[0; 17]).is_err());
    }
}
