//! `bin`: any file of records of one size, by a list of its fields (`fields`).
//!
//! ```text
//! <u32 time,u64 offset,u32 length,u8 op         little-endian, 17 bytes a record
//! >u32 page                                     big-endian, a page number each
//! ```
//! `<` or `>` is the byte order; then, by commas, `TYPE NAME`: what is read by a mapping (see
//! `mapping`), or `xN`, N bytes that are skipped. There is no header, no gap and no name in such a
//! file, so that nothing of it can be detected. What is not said is taken as our own records have
//! it and noted: times in ns, offsets and lengths in bytes, 0 a read and 1 a write. `page` counts
//! pages (`page_bytes`), each request one of them unless there is a length.
//!
//! Integers stay integers. An `f64` holds whole numbers below 2^53; as a time it is rounded to the
//! nanosecond, and refused from 2^53 ns on, where it skips some.

mod layout;

use self::layout::{Layout, Part, Value};
use super::binary::*;
use super::mapping::{Clock, Mapping, usage};
use crate::options::{Column, Columns, ReaderOptions, TimeUnit, Unit};

/// The row of the table.
pub static FORMAT: Format = Format {
    has_response: true,
    ..Format::binary(
        "bin",
        "any table of binary records, by a list of its fields",
        "records of one size as the option `fields` says: \"<u32 time,u64 offset,u32 \
     length,u8 op\", \"<u32 page\"; < or > is the byte order",
        // Any bytes fit some list of fields.
        |_| Verdict::No,
        open,
    )
};

/// A fault in a field: its category and the whole message.
type Wrong = (Category, String);

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let given = &opening.options;
    let Some(text) = &given.fields else {
        return Err(usage(format!(
            "bin: fields (--fields) must be given, such as {}",
            layout::EXAMPLE
        )));
    };
    if given.columns != Columns::default() {
        return Err(usage("bin: columns are of tables with columns; fields names them here"));
    }
    let layout = Layout::parse(text)?;
    let (options, assumed) = spelled_out(&layout, given)?;
    let mapping = Mapping::new(FORMAT.name, &options, false)?;
    Ok(Box::new(Bin {
        file_device: input.device_name(),
        page_bytes: (layout.counts_pages && layout.roles.length.is_none())
            .then_some(mapping.fixed_length_bytes),
        records: Records::new(input, opening),
        layout,
        mapping,
        assumed,
    }))
}

/// The options as `mapping` wants them, with what was not said, and a note of each of that.
fn spelled_out(layout: &Layout, given: &ReaderOptions) -> Result<(ReaderOptions, Vec<String>)> {
    let roles = &layout.roles;
    let column = |part: &Option<Part>| part.as_ref().map(|part| Column::Number(part.at));
    let mut options = ReaderOptions {
        columns: Columns {
            time: column(&roles.time),
            device: roles.device.iter().map(|part| Column::Number(part.at)).collect(),
            op: column(&roles.op),
            offset: column(&roles.offset),
            length: column(&roles.length),
            response: column(&roles.response),
        },
        ..given.clone()
    };
    let mut notes = Vec::new();
    let mut note = |what: &str, flag: &str| notes.push(format!("bin: {what} ({flag})"));
    if layout.counts_pages {
        if given.offset_unit.is_some_and(|unit| unit != Unit::Page) {
            return Err(usage("bin: offset_unit is of the field offset; page counts pages"));
        }
        options.offset_unit = Some(Unit::Page);
    } else if given.offset_unit.is_none() {
        options.offset_unit = Some(Unit::Bytes(1));
        note("offsets taken as bytes", "--offset-unit");
    }
    if roles.length.is_some() && given.length_unit.is_none() {
        options.length_unit = Some(Unit::Bytes(1));
        note("lengths taken as bytes", "--length-unit");
    }
    if (roles.time.is_some() || roles.response.is_some()) && given.time_unit.is_none() {
        options.time_unit = Some(TimeUnit::Ns);
        note("times taken as ns", "--time-unit");
    }
    let lists = [&given.op_read, &given.op_write, &given.op_trim, &given.op_flush];
    if roles.op.is_none() {
        options.default_op = given.default_op.or(Some(RecordOp::Read));
        if given.default_op.is_none() {
            note("no field op: every request taken as a read", "--default-op");
        }
    } else if lists.iter().all(|list| list.is_empty()) {
        (options.op_read, options.op_write) = (vec!["0".to_owned()], vec!["1".to_owned()]);
        note("op: 0 taken as read, 1 as write", "--op-read, --op-write");
    }
    Ok((options, notes))
}

struct Bin {
    records: Records,
    layout: Layout,
    mapping: Mapping,
    file_device: String,
    /// Every request is one page of this size.
    page_bytes: Option<u64>,
    /// Assumptions that are noted with the first record.
    assumed: Vec<String>,
}

impl RecordReader for Bin {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        for text in self.assumed.drain(..) {
            tally.note(text);
        }
        let size = self.layout.record_bytes;
        let count = self.records.whole(size, tally)?;
        let window = &self.records.input.window()[..count * size];
        for (i, bytes) in window.chunks_exact(size).enumerate() {
            let record = self.record(bytes, devices);
            if let Err((category, message)) = record.and_then(|record| tally.keep(record, out)) {
                let place = self.records.place(i, i * size);
                self.records.reject(tally, place, category, message)?;
            }
        }
        self.records.advance(count, count * size, tally);
        Ok(count > 0)
    }

    fn facts(&self) -> Facts {
        Facts {
            has_times: Some(self.mapping.time.is_some()),
            has_ops: Some(self.layout.roles.op.is_some()),
            page_bytes: self.page_bytes,
            exact: false,
            time_digits: 0,
            odd_columns: None,
        }
    }
}

impl Bin {
    fn record(
        &self,
        bytes: &[u8],
        devices: &mut DeviceTable,
    ) -> std::result::Result<Record, Wrong> {
        let (roles, mapping) = (&self.layout.roles, &self.mapping);
        let value = |part: &Part| self.layout.value(part, bytes);
        let mut record = Record {
            time_ns: 0,
            offset_bytes: 0,
            length_bytes: 0,
            device: 0,
            op: mapping.default_op,
            ..Record::EMPTY
        };
        if let Some(part) = &roles.op {
            let found = value(part).spelled();
            record.op = mapping.op(found.as_bytes()).ok_or_else(|| {
                let known = mapping.known_ops().replace('"', "");
                (Category::UnknownOp, format!("op: expected one of {known}, found {found}"))
            })?;
        }
        if let (Some(part), Some(clock)) = (&roles.time, mapping.time) {
            record.time_ns = time_ns("time", value(part), clock)?;
        }
        if let (Some(part), Some(clock)) = (&roles.response, mapping.response) {
            record.response_ns = time_ns("response", value(part), clock)?;
        }
        record.device = match roles.device.first() {
            Some(part) => devices.index(value(part).spelled().as_bytes()),
            None => devices.index(self.file_device.as_bytes()),
        };
        if record.op == RecordOp::Flush {
            return Ok(record); // whatever stands in the extent's fields
        }
        let named = if self.layout.counts_pages { "page" } else { "offset" };
        if let Some(part) = &roles.offset {
            record.offset_bytes = whole_bytes(named, value(part), mapping.offset_bytes)?;
        }
        record.length_bytes = match &roles.length {
            Some(part) => whole_bytes("length", value(part), mapping.length_bytes)?,
            None => mapping.fixed_length_bytes,
        };
        Ok(record)
    }
}

/// Floats from here on skip whole numbers.
const FLOAT_LIMIT: f64 = 9_007_199_254_740_992.0;

/// A count of `unit` bytes in bytes.
fn whole_bytes(name: &str, value: Value, unit: u64) -> std::result::Result<u64, Wrong> {
    let count = match value {
        Value::Whole(count) => u64::try_from(count).ok(),
        Value::Real(real) if real.fract() == 0.0 && (0.0..FLOAT_LIMIT).contains(&real) => {
            Some(real as u64)
        }
        Value::Real(_) => None,
    };
    let found = value.spelled();
    let Some(count) = count else {
        let expected = match value {
            Value::Whole(_) => "a whole number from 0",
            Value::Real(_) => "a whole number from 0, below 2^53",
        };
        return Err((Category::BadNumber, format!("{name}: expected {expected}, found {found}")));
    };
    count.checked_mul(unit).ok_or_else(|| {
        let message = format!("{name}: {found} times {unit} bytes does not fit 64 bits");
        (Category::OutOfRange, message)
    })
}

/// A time in nanoseconds.
fn time_ns(name: &str, value: Value, clock: Clock) -> std::result::Result<u64, Wrong> {
    let wrong = |message: String| (Category::BadTime, message);
    let unit = clock.unit();
    let below = || {
        let found = value.spelled();
        wrong(format!("{name}: expected {unit} of 0 or later, found {found}"))
    };
    match value {
        Value::Whole(units) => {
            let units = u64::try_from(units).map_err(|_| below())?;
            let beyond = || wrong(format!("{name}: {units} {unit} do not fit 64 bits of ns"));
            clock.whole_ns(units).ok_or_else(beyond)
        }
        Value::Real(units) => {
            let (unit_ns, part) = clock.ratio();
            let ns = units * unit_ns as f64 / part as f64;
            if ns.is_nan() || ns < 0.0 {
                return Err(below());
            }
            if ns >= FLOAT_LIMIT {
                let found = value.spelled();
                return Err(wrong(format!(
                    "{name}: {found} {unit} as an f64 has lost its nanoseconds (past 2^53 ns)"
                )));
            }
            Ok(ns.round() as u64)
        }
    }
}

#[cfg(test)]
mod tests;
