//! `csv`: any table of text, by a mapping of its columns (see `mapping`), and our own export, which
//! needs none: its header says everything.
//!
//! Only the delimiter (`,` `;` tab `|` or runs of blanks) and the presence of a header are found
//! out, from the first lines; quoting is that of RFC 4180, but that a quoted field ends in its
//! line: a stray quote then spoils one record and not the rest of the file. With any delimiter but
//! blanks every line must have as many fields as the first one.

use std::borrow::Cow;
use std::ops::Range;

use super::mapping::{self, Clock, Mapping, Roles};
use super::text_format::*;
use crate::options::{Column, Columns, Unit};

/// The row of the table.
pub static FORMAT: Format = Format {
    has_response: true,
    ..Format::text(
        "csv",
        "any table of text, by a mapping, and our own export",
        "columns as the option `columns` says, with units; delimiter and header are found out",
        detect,
        open,
    )
};

/// Delimiters in the order in which they are tried.
const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];
/// Lines from which delimiter and header are found out.
const LOOK_LINES: usize = 20;

/// The header of our own export.
pub(crate) const EXPORT_COLUMNS: [&str; 6] =
    ["time_ns", "device", "op", "offset_bytes", "length_bytes", "response_ns"];
/// Columns that `destage record` adds (`docs/spec/fit.md` 13.5).
const RECORDED_COLUMNS: [&str; 3] = ["flags", "pid", "process"];

/// Only our own export is detected: the columns of other tables have no known meaning.
fn detect(sample: &Sample) -> Verdict {
    match sample.lines(LOOK_LINES).into_iter().find(|line| !is_comment(line)) {
        Some(first) if is_export(first) => Verdict::Yes("the header of our own export".to_owned()),
        _ => Verdict::No,
    }
}

pub(crate) fn is_export(first: &[u8]) -> bool {
    let mut columns = first.trim_ascii_end().split(|&c| c == b',');
    let known = |name: &[u8]| RECORDED_COLUMNS.iter().any(|column| column.as_bytes() == name);
    EXPORT_COLUMNS.iter().all(|name| columns.next() == Some(name.as_bytes())) && columns.all(known)
}

/// A line beside the table: one that `destage record` writes for people, or bpftrace.
fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b'#') || is_attached(line) || is_loss(line)
}

/// `Attaching 2 probes...`, which bpftrace writes before what a script prints.
pub(crate) fn is_attached(line: &[u8]) -> bool {
    line.starts_with(b"Attach") && memchr::memmem::find(line, b" probe").is_some()
}

/// `Lost 12 events`, which bpftrace writes where the script could not follow.
fn is_loss(line: &[u8]) -> bool {
    line.starts_with(b"Lost ") && line.ends_with(b" events")
}

/// The delimiter of these lines.
pub(crate) fn delimiter_of(lines: &[&[u8]]) -> u8 {
    find_delimiter(&lines[..lines.len().min(LOOK_LINES)])
}

/// The fields of a line as text.
pub(crate) fn values(line: &[u8], delimiter: u8) -> Vec<String> {
    let mut fields = Vec::new();
    split(line, delimiter, &mut fields);
    fields.iter().map(|field| printable(&field.value(line))).collect()
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let sample = Sample::of(&mut input)?;
    let mut lines = sample.lines(LOOK_LINES);
    let is_export = lines.iter().find(|line| !is_comment(line)).is_some_and(|line| is_export(line));
    if is_export {
        lines.retain(|line| !is_comment(line));
    }
    let own = (is_export && opening.options.columns == Columns::default())
        .then(|| mapping::export_mapping(FORMAT.name, &opening.options))
        .transpose()?;
    let options = own.as_ref().unwrap_or(&opening.options);
    let delimiter = options.delimiter.unwrap_or_else(|| find_delimiter(&lines));
    if options.columns == Columns::default()
        && let Some(draft) = opening.draft.and_then(|draft| draft(&sample, options))
    {
        return Err(mapping::usage(format!("csv: say which column is what\n  {draft}")));
    }
    let mapping = Mapping::new(FORMAT.name, options, false)?;
    let mut parser = CsvLines {
        delimiter,
        header: None,
        again: false,
        has_comments: is_export,
        is_export: own.is_some(),
        roles: Roles::default(),
        count: None,
        mapping,
        page_bytes: (options.columns.length.is_none() && options.offset_unit == Some(Unit::Page))
            .then(|| options.page_bytes.unwrap_or(4096)),
        fields: Vec::new(),
        time_digits: 0,
    };
    if let Some(first) = lines.first() {
        split(first, delimiter, &mut parser.fields);
        let names: Vec<String> = parser.fields.iter().map(|f| printable(&f.value(first))).collect();
        let named = options.columns.roles().concat();
        let named = named.iter().any(|column| matches!(column, Column::Name(_)));
        let with_names = options.header == Some(true) || named && options.header.is_none();
        let found = if with_names { names.as_slice() } else { &[] };
        parser.roles = mapping::resolve(FORMAT.name, options, found, names.len())?;
        let with_header = options.header.unwrap_or_else(|| named || !parser.has_value(first));
        // A line that is data too, though it was called a header, may come again as data.
        parser.again = with_header && !parser.has_value(first);
        parser.header = with_header.then(|| first.to_vec());
        parser.count = (delimiter != b' ').then_some(names.len());
    }
    parser.time_digits = parser.roles.time.map_or(0, |k| {
        let digits = |line: &&[u8]| {
            split(line, delimiter, &mut parser.fields);
            parser.fields.get(k).map_or(0, |f| mapping::digits_behind_point(&f.value(line)))
        };
        lines.iter().map(digits).max().unwrap_or(0)
    });
    TextReader::boxed(input, opening, parser)
}

/// The delimiter that cuts most lines into as many fields as the first line, more than one; the
/// earlier of two that do so equally well. A comma if there is none, so that one column is a table
/// too.
fn find_delimiter(lines: &[&[u8]]) -> u8 {
    let mut fields = Vec::new();
    let mut count = |line: &[u8], delimiter| {
        split(line, delimiter, &mut fields);
        fields.len()
    };
    let mut best = (0, b',');
    for delimiter in DELIMITERS {
        let first = lines.first().map_or(0, |line| count(line, delimiter));
        let agreeing = lines.iter().filter(|line| count(line, delimiter) == first).count();
        if first > 1 && agreeing > best.0 {
            best = (agreeing, delimiter);
        }
    }
    best.1
}

/// One field of a line: its bytes without the quotes around it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    at: Range<usize>,
    /// Two quotes inside stand for one.
    doubled: bool,
}

impl Field {
    fn value<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        let bytes = &line[self.at.clone()];
        if !self.doubled {
            return Cow::Borrowed(bytes);
        }
        let mut value = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'"', rest) {
            value.extend(&rest[..=at]);
            rest = &rest[(at + 2).min(rest.len())..];
        }
        value.extend(rest);
        Cow::Owned(value)
    }
}

/// Cuts a line into fields. A quote opens a quoted field only at its begin, so that quotes
/// elsewhere are letters; text after a closing quote belongs to no field. Returns whether all
/// quotes were closed.
fn split(line: &[u8], delimiter: u8, fields: &mut Vec<Field>) -> bool {
    fields.clear();
    let blanks = delimiter == b' ';
    let is_end = |c: u8| if blanks { fields::is_blank(c) } else { c == delimiter };
    // A tab that separates is no blank around a field.
    let skips = |c: u8| fields::is_blank(c) && c != delimiter;
    let mut at = 0;
    loop {
        while at < line.len() && (if blanks { fields::is_blank(line[at]) } else { skips(line[at]) })
        {
            at += 1;
        }
        if blanks && at == line.len() {
            return true;
        }
        if line.get(at) == Some(&b'"') {
            let Some((end, doubled)) = closing_quote(line, at + 1) else {
                fields.push(Field { at: at + 1..line.len(), doubled: false });
                return false;
            };
            fields.push(Field { at: at + 1..end, doubled });
            at = end + 1;
            while at < line.len() && !is_end(line[at]) {
                at += 1;
            }
        } else {
            let end = line[at..].iter().position(|&c| is_end(c)).map_or(line.len(), |n| at + n);
            let mut trimmed = end;
            while trimmed > at && fields::is_blank(line[trimmed - 1]) {
                trimmed -= 1;
            }
            fields.push(Field { at: at..trimmed, doubled: false });
            at = end;
        }
        if at == line.len() {
            return true;
        }
        at += 1;
    }
}

/// The quote that ends the field which begins at `at`, and whether the field holds doubled ones.
fn closing_quote(line: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut doubled = false;
    loop {
        at += memchr::memchr(b'"', &line[at..])?;
        if line.get(at + 1) != Some(&b'"') {
            return Some((at, doubled));
        }
        doubled = true;
        at += 2;
    }
}

#[derive(Clone)]
struct CsvLines {
    delimiter: u8,
    /// The line that names the columns.
    header: Option<Vec<u8>>,
    /// Lines equal to it are headers too.
    again: bool,
    /// Lines that begin with `#` are comments.
    has_comments: bool,
    /// Our own export, by its own mapping.
    is_export: bool,
    roles: Roles<usize>,
    /// Fields of every line; `None` between blanks, where texts may hold blanks too.
    count: Option<usize>,
    mapping: Mapping,
    /// Every request is one page of this size.
    page_bytes: Option<u64>,
    fields: Vec<Field>,
    /// Most digits behind the point of the first times.
    time_digits: usize,
}

impl LineParser for CsvLines {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if self.header.as_deref() == Some(line) {
            if !self.again {
                self.header = None;
            }
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if self.has_comments && is_comment(line) {
            if is_loss(line) {
                context.tally.warn(format!("bpftrace lost events: {}", printable(line)));
            }
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        let closed = split(line, self.delimiter, &mut self.fields);
        self.check_count(line, closed)?;
        let op = match self.roles.op {
            None => self.mapping.default_op,
            Some(i) => self.op(line, i)?,
        };
        let mut record =
            Record { time_ns: 0, offset_bytes: 0, length_bytes: 0, device: 0, op, ..Record::EMPTY };
        if let (Some(i), Some(clock)) = (self.roles.time, self.mapping.time) {
            record.time_ns = clock
                .parse_ns(&self.value(line, i))
                .map_err(|why| self.bad_time(line, i, "time", clock, why))?;
        }
        record.device = match *self.roles.device {
            [] => context.devices.index(context.file_device.as_bytes()),
            [i] => context.devices.index(&self.device(line, i)?),
            _ => {
                let parts = self.roles.device.iter().map(|&i| self.device(line, i));
                let parts = parts.collect::<std::result::Result<Vec<_>, _>>()?;
                context.devices.index(&parts.join(&b'_'))
            }
        };
        if let (Some(i), Some(clock)) = (self.roles.response, self.mapping.response) {
            let field = self.value(line, i);
            // Systems leave it out where no answer was seen.
            if !field.is_empty() {
                record.response_ns = clock
                    .parse_ns(&field)
                    .map_err(|why| self.bad_time(line, i, "response", clock, why))?;
            }
        }
        if op == RecordOp::Flush {
            return Ok(record.into()); // whatever stands in the extent's columns
        }
        if let Some(i) = self.roles.offset {
            record.offset_bytes = self.bytes(line, i, "offset", self.mapping.offset_bytes)?;
        }
        record.length_bytes = match self.roles.length {
            None => self.mapping.fixed_length_bytes,
            Some(i) => {
                context.extent_field = self.fields[i].at.clone();
                self.bytes(line, i, "length", self.mapping.length_bytes)?
            }
        };
        Ok(record.into())
    }

    fn facts(&self) -> Facts {
        Facts {
            has_times: Some(self.mapping.time.is_some() && self.roles.time.is_some()),
            has_ops: Some(self.roles.op.is_some()),
            page_bytes: self.page_bytes,
            exact: self.is_export,
            time_digits: self.time_digits,
            odd_columns: None,
        }
    }
}

impl CsvLines {
    fn check_count(&self, line: &[u8], closed: bool) -> std::result::Result<(), Fault> {
        if !closed {
            let message = "a quoted field without its closing quote".to_owned();
            let field = self.fields.last().map_or(0..0, |field| field.at.clone());
            return Err(Fault { category: Category::TooFewFields, field, message });
        }
        let roles = &self.roles;
        let last = [roles.time, roles.op, roles.offset, roles.length, roles.response]
            .into_iter()
            .flatten()
            .chain(roles.device.iter().copied())
            .max()
            .unwrap_or(0);
        let (found, expected) = (self.fields.len(), self.count.unwrap_or(last + 1));
        if found < expected {
            return Err(Fault::line(
                Category::TooFewFields,
                format!("expected {expected} fields, got {found}"),
            ));
        }
        if self.count.is_some() && found > expected {
            let message = format!("expected {expected} fields, got {found}");
            let field = self.fields[expected].at.start..line.len();
            return Err(Fault { category: Category::TooManyFields, field, message });
        }
        Ok(())
    }

    fn value<'a>(&self, line: &'a [u8], i: usize) -> Cow<'a, [u8]> {
        self.fields[i].value(line)
    }

    /// Part of a device's name.
    fn device<'a>(&self, line: &'a [u8], i: usize) -> std::result::Result<Cow<'a, [u8]>, Fault> {
        match self.value(line, i) {
            name if name.is_empty() => {
                Err(self.unexpected(line, i, Category::BadDevice, "device", "a name"))
            }
            name => Ok(name),
        }
    }

    /// Whether any mapped column of a line holds a value of its kind, which a header has not.
    fn has_value(&self, line: &[u8]) -> bool {
        let (roles, mapping) = (&self.roles, &self.mapping);
        let value = |i: usize| self.fields.get(i).map(|field| field.value(line));
        let is = |role: Option<usize>, fits: &dyn Fn(&[u8]) -> bool| {
            role.and_then(value).is_some_and(|field| fits(&field))
        };
        // `0x10` is a bad number, but no name.
        let is_number = |field: &[u8]| {
            field.strip_prefix(b"-").unwrap_or(field).first().is_some_and(u8::is_ascii_digit)
        };
        let is_time = |field: &[u8]| {
            is_number(field) || mapping.time.is_some_and(|clock| clock.parse_ns(field).is_ok())
        };
        is(roles.offset, &is_number)
            || is(roles.length, &is_number)
            || is(roles.time, &is_time)
            || is(roles.response, &is_number)
            || is(roles.op, &|field| mapping.op(field).is_some())
    }

    fn op(&self, line: &[u8], i: usize) -> std::result::Result<RecordOp, Fault> {
        self.mapping.op(&self.value(line, i)).ok_or_else(|| {
            let known = format!("one of {}", self.mapping.known_ops());
            self.unexpected(line, i, Category::UnknownOp, "op", &known)
        })
    }

    fn bytes(
        &self,
        line: &[u8],
        i: usize,
        name: &str,
        unit: u64,
    ) -> std::result::Result<u64, Fault> {
        let too_large = || Fault {
            category: Category::OutOfRange,
            field: self.fields[i].at.clone(),
            message: format!("{name}: {} does not fit 64 bits", quoted(&self.value(line, i))),
        };
        let field = self.value(line, i);
        let count = fields::parse_u64(&field);
        let other = |_| match field.starts_with(b"0x") {
            true => parse_hex(&field, true),
            false => fields::parse_u64(without_fraction(&field)),
        };
        match count.or_else(other) {
            Ok(count) => count.checked_mul(unit).ok_or_else(too_large),
            Err(Misread::TooLarge) => Err(too_large()),
            Err(Misread::NotANumber) => {
                Err(self.unexpected(line, i, Category::BadNumber, name, "a whole number"))
            }
        }
    }

    fn bad_time(&self, line: &[u8], i: usize, name: &str, clock: Clock, why: Misread) -> Fault {
        let unit = clock.unit();
        match why {
            Misread::NotANumber => {
                self.unexpected(line, i, Category::BadTime, name, &clock.expected())
            }
            Misread::TooLarge => Fault {
                category: Category::BadTime,
                field: self.fields[i].at.clone(),
                message: format!(
                    "{name}: {} {unit} do not fit 64 bits of ns",
                    quoted(&self.value(line, i))
                ),
            },
        }
    }

    fn unexpected(
        &self,
        line: &[u8],
        i: usize,
        category: Category,
        name: &str,
        expected: &str,
    ) -> Fault {
        let found = quoted(&self.value(line, i));
        let message = format!("{name}: expected {expected}, found {found}");
        Fault { category, field: self.fields[i].at.clone(), message }
    }
}

/// `1234` of `1234.0`, as data frames write whole numbers where some are missing.
fn without_fraction(field: &[u8]) -> &[u8] {
    match memchr::memchr(b'.', field) {
        Some(point) if point > 0 && field[point + 1..].iter().all(|&c| c == b'0') => {
            &field[..point]
        }
        _ => field,
    }
}

#[cfg(test)]
mod tests;
