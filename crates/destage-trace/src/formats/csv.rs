//! `csv`: any table of text, by a mapping of its columns (see `mapping`), and our own export, which
//! needs none: its header says everything.
//!
//! Only the delimiter (`,` `;` tab `|` or runs of blanks) and the presence of a header are found
//! out, from the first lines; quoting is that of RFC 4180, but that a quoted field ends in its
//! line: a stray quote then spoils one record and not the rest of the file. With any delimiter but
//! blanks every line must have as many fields as the first one.

use std::borrow::Cow;
use std::ops::Range;

use super::mapping::{self, Mapping, Roles};
use super::text_format::*;
use crate::options::{Column, Columns, ReaderOptions, Unit};

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

fn is_export(first: &[u8]) -> bool {
    let mut columns = first.trim_ascii_end().split(|&c| c == b',');
    let known = |name: &[u8]| RECORDED_COLUMNS.iter().any(|column| column.as_bytes() == name);
    EXPORT_COLUMNS.iter().all(|name| columns.next() == Some(name.as_bytes())) && columns.all(known)
}

/// A line that `destage record` writes for people.
fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b'#')
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
        .then(|| mapping::export_mapping(&opening.options));
    let options = own.as_ref().unwrap_or(&opening.options);
    let delimiter = options.delimiter.unwrap_or_else(|| find_delimiter(&lines));
    if options.columns == Columns::default()
        && let Some(draft) = opening.draft.and_then(|draft| draft(&sample))
    {
        return Err(mapping::usage(format!("csv: say which column is what\n  {draft}")));
    }
    let mapping = Mapping::new(FORMAT.name, options, false)?;
    let mut parser = CsvLines {
        delimiter,
        header: None,
        has_comments: is_export,
        roles: Roles::default(),
        count: None,
        mapping,
        page_bytes: (options.columns.length.is_none() && options.offset_unit == Some(Unit::Page))
            .then(|| options.page_bytes.unwrap_or(4096)),
        fields: Vec::new(),
    };
    if let Some(first) = lines.first() {
        split(first, delimiter, &mut parser.fields);
        let names: Vec<String> = parser.fields.iter().map(|f| printable(&f.value(first))).collect();
        let with_header = options.header.unwrap_or_else(|| has_header(options, &names));
        let found = if with_header { names.as_slice() } else { &[] };
        parser.roles = mapping::resolve(FORMAT.name, options, found, names.len())?;
        parser.header = with_header.then(|| first.to_vec());
        parser.count = (delimiter != b' ').then_some(names.len());
    }
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

/// Whether the first line names the columns: the mapping uses a name, or the offset is no number.
fn has_header(options: &ReaderOptions, first: &[String]) -> bool {
    let columns = &options.columns;
    let roles = [
        &columns.time,
        &columns.device,
        &columns.op,
        &columns.offset,
        &columns.length,
        &columns.response,
    ];
    let named = roles.iter().any(|role| matches!(role, Some(Column::Name(_))));
    let offset = match &columns.offset {
        Some(Column::Number(number)) => first.get(*number),
        _ => None,
    };
    named || offset.is_some_and(|field| fields::parse_u64(field.as_bytes()).is_err())
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
    /// The line that names the columns; repeated ones are headers too.
    header: Option<Vec<u8>>,
    /// Lines that begin with `#` are comments.
    has_comments: bool,
    roles: Roles<usize>,
    /// Fields of every line; `None` between blanks, where texts may hold blanks too.
    count: Option<usize>,
    mapping: Mapping,
    /// Every request is one page of this size.
    page_bytes: Option<u64>,
    fields: Vec<Field>,
}

impl LineParser for CsvLines {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        if self.header.as_deref() == Some(line) {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if self.has_comments && is_comment(line) {
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
                .map_err(|why| self.bad_time(line, i, "time", clock.unit(), why))?;
        }
        record.device = match self.roles.device {
            None => context.devices.index(context.file_device.as_bytes()),
            Some(i) => match &*self.value(line, i) {
                b"" => {
                    return Err(self.unexpected(line, i, Category::BadDevice, "device", "a name"));
                }
                name => context.devices.index(name),
            },
        };
        if let (Some(i), Some(clock)) = (self.roles.response, self.mapping.response) {
            let field = self.value(line, i);
            // Systems leave it out where no answer was seen.
            if !field.is_empty() {
                record.response_ns = clock
                    .parse_ns(&field)
                    .map_err(|why| self.bad_time(line, i, "response", clock.unit(), why))?;
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
        let last = [roles.time, roles.device, roles.op, roles.offset, roles.length, roles.response]
            .into_iter()
            .flatten()
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
        match fields::parse_u64(&self.value(line, i)) {
            Ok(count) => count.checked_mul(unit).ok_or_else(too_large),
            Err(Misread::TooLarge) => Err(too_large()),
            Err(Misread::NotANumber) => {
                Err(self.unexpected(line, i, Category::BadNumber, name, "a whole number"))
            }
        }
    }

    fn bad_time(&self, line: &[u8], i: usize, name: &str, unit: &str, why: Misread) -> Fault {
        match why {
            Misread::NotANumber => self.unexpected(
                line,
                i,
                Category::BadTime,
                name,
                &format!("a decimal number of {unit}"),
            ),
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

#[cfg(test)]
mod tests;
