//! `csv`: any table of text, by a mapping of its columns (see `mapping`), and our own export, which
//! needs none: its header says everything.
//!
//! Only the delimiter (`,` `;` tab `|` or runs of blanks) and the presence of a header are found out,
//! from the first lines; quoting is that of RFC 4180, but that a quoted field ends in its line: a stray
//! quote then spoils one record and not the rest of the file. With any delimiter but blanks every line must have
//! as many fields as the first one.

use std::borrow::Cow;
use std::ops::Range;

use super::mapping::{self, Mapping, Roles};
use crate::device_table::printable;
use crate::error::{Category, Result};
use crate::fields::{self, Misread, quoted};
use crate::format::{Facts, Fault, Format, Kind, Opening, Parsed, RecordReader, Skipped};
use crate::input::Input;
use crate::options::{Column, Columns, ReaderOptions, Unit};
use crate::record::{NO_RESPONSE, Record, RecordOp};
use crate::sample::{Sample, Verdict};
use crate::text::{Context, LineParser, TextReader};

/// The row of the table.
pub static FORMAT: Format = Format {
    name: "csv",
    title: "any table of text, by a mapping, and our own export",
    kind: Kind::Text,
    about: "columns as the option `columns` says, with units; delimiter and header are found out",
    has_times: true,
    has_ops: true,
    has_devices: true,
    has_response: true,
    coarse_ns: None,
    confirmed: true,
    detect,
    open,
    siblings: None,
};

/// Delimiters in the order in which they are tried.
const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];
/// Lines from which delimiter and header are found out.
const LOOK_LINES: usize = 20;

/// The header of our own export.
pub(crate) const OWN_COLUMNS: [&str; 6] =
    ["time_ns", "device", "op", "offset_bytes", "length_bytes", "response_ns"];

/// What a column of any other table means cannot be seen.
fn detect(sample: &Sample) -> Verdict {
    match sample.lines(1).first() {
        Some(first) if is_own(first) => Verdict::Yes("the header of our own export".to_owned()),
        _ => Verdict::No,
    }
}

fn is_own(first: &[u8]) -> bool {
    first.trim_ascii_end().split(|&c| c == b',').eq(OWN_COLUMNS.map(str::as_bytes))
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let sample = Sample::of(&mut input)?;
    let lines = sample.lines(LOOK_LINES);
    let is_own = lines.first().is_some_and(|first| is_own(first));
    let own = (is_own && opening.options.columns == Columns::default())
        .then(|| mapping::own_export(&opening.options));
    let options = own.as_ref().unwrap_or(&opening.options);
    let delimiter = options.delimiter.unwrap_or_else(|| find_delimiter(&lines));
    let mapping = Mapping::new(FORMAT.name, options, false)?;
    let mut parser = CsvLines {
        delimiter,
        header: None,
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

/// The delimiter that cuts most lines into as many fields as the first line, more than one; the earlier
/// of two that do so equally well. A comma if there is none, so that one column is a table too.
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

/// Cuts a line into fields. A quote opens a quoted field only at its begin, so that quotes elsewhere
/// are letters; text after a closing quote belongs to no field. Returns whether all quotes were closed.
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
    roles: Roles<usize>,
    /// Fields of every line; `None` between blanks, where texts may hold blanks too.
    count: Option<usize>,
    mapping: Mapping,
    /// Every request is one page of this size.
    page_bytes: Option<u64>,
    fields: Vec<Field>,
}

impl LineParser for CsvLines {
    fn line(&mut self, line: &[u8], context: &mut Context) -> std::result::Result<Parsed, Fault> {
        if self.header.as_deref() == Some(line) {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        let closed = split(line, self.delimiter, &mut self.fields);
        self.check_count(line, closed)?;
        let op = match self.roles.op {
            None => self.mapping.default_op,
            Some(i) => self.op(line, i)?,
        };
        let mut record = Record {
            time_ns: 0,
            offset_bytes: 0,
            length_bytes: 0,
            response_ns: NO_RESPONSE,
            device: 0,
            op,
        };
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
            return Ok(Parsed::Record(record)); // whatever stands in the extent's columns
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
        Ok(Parsed::Record(record))
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
            let message = format!("expected {expected} fields, got {found}");
            return Err(Fault { category: Category::TooFewFields, field: 0..0, message });
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::formats::testing::{self, read_with, request};

    const EXAMPLE: &str = "ts,vol,kind,sector,len\n1000,db,W,2048,4096\n1450,db,R,81920,16384\n";

    fn set(table: serde_json::Value) -> impl FnOnce(&mut ReaderOptions) {
        move |options| *options = serde_json::from_value(table).unwrap()
    }

    fn mapping() -> serde_json::Value {
        json!({
            "columns": {"time": "ts", "device": "vol", "op": "kind", "offset": 3, "length": "len"},
            "time_unit": "us", "offset_unit": "sector", "length_unit": "byte",
            "op_read": ["R", "read", "0"], "op_write": ["W", "write", "1"], "op_trim": ["D"],
        })
    }

    fn expected() -> Vec<Record> {
        vec![
            request(1_000_000, RecordOp::Write, 2048 * 512, 4096),
            request(1_450_000, RecordOp::Read, 81_920 * 512, 16_384),
        ]
    }

    #[test]
    fn the_example_of_the_specification_however_its_lines_end() {
        let trimmed = EXAMPLE.trim_end().to_owned();
        let forms = [
            EXAMPLE.to_owned(),
            EXAMPLE.replace('\n', "\r\n"),
            format!("\u{feff}{EXAMPLE}"),
            trimmed,
        ];
        for text in forms {
            let trace = read_with(&FORMAT, text.clone(), "t.csv", set(mapping()));
            assert_eq!(trace.records, expected(), "{text:?}");
            assert_eq!(trace.devices, ["db"]);
            assert_eq!(trace.tally.header, 1);
            assert_eq!((trace.facts.has_times, trace.facts.has_ops), (Some(true), Some(true)));
        }
    }

    #[test]
    fn delimiters_are_found_out() {
        for delimiter in [";", "\t", "|", "  ", " ; ", " \t"] {
            let text = EXAMPLE.replace(',', delimiter);
            assert_eq!(
                read_with(&FORMAT, text, "x", set(mapping())).records,
                expected(),
                "{delimiter:?}"
            );
        }
    }

    #[test]
    fn a_header_is_found_out_and_may_come_again() {
        let mut table = mapping();
        table["columns"] = json!({"time": 0, "device": 1, "op": 2, "offset": 3, "length": 4});
        for text in [EXAMPLE.to_owned(), EXAMPLE.replace("ts,vol,kind,sector,len\n", "")] {
            assert_eq!(read_with(&FORMAT, text, "x", set(table.clone())).records, expected());
        }
        let twice = format!("{EXAMPLE}{EXAMPLE}");
        let trace = read_with(&FORMAT, twice, "x", set(mapping()));
        assert_eq!((trace.records.len(), trace.tally.header), (4, 2));
    }

    #[test]
    fn quotes_are_those_of_rfc_4180() {
        let text = "ts,vol,kind,sector,len\n\"1000\",\"a \"\"b\"\", c\" ,W,2048,4096\n1000,a\"b,W,2048,4096\n";
        let trace = read_with(&FORMAT, text, "x", set(mapping()));
        assert_eq!(trace.devices, ["a \"b\", c", "a\"b"]);
        assert_eq!(trace.records[0], expected()[0]);
        let open = "ts,vol,kind,sector,len\n1000,\"db,W,2048,4096\n";
        let error = testing::error_with(&FORMAT, open, "x", set(mapping())).to_string();
        assert!(error.starts_with("x:2:7: a quoted field without its closing quote"), "{error}");
    }

    #[test]
    fn every_malformed_field_has_its_category_and_its_place() {
        for (line, category, message) in [
            ("1000,db,W,2048", Category::TooFewFields, "x:2: expected 5 fields, got 4"),
            ("1000,db,W,2048,4096,9", Category::TooManyFields, "x:2:21: expected 5 fields, got 6"),
            (
                "1000,db,W,20x48,4096",
                Category::BadNumber,
                "x:2:11: offset: expected a whole number, found \"20x48\"",
            ),
            (
                "1000,db,W,2048,-1",
                Category::BadNumber,
                "x:2:16: length: expected a whole number, found \"-1\"",
            ),
            (
                "1e,db,W,2048,4096",
                Category::BadTime,
                "x:2:1: time: expected a decimal number of microseconds, found \"1e\"",
            ),
            (
                "1000,db,w,2048,4096",
                Category::UnknownOp,
                "x:2:9: op: expected one of \"R\", \"read\"",
            ),
            (
                "1000,,W,2048,4096",
                Category::BadDevice,
                "x:2:6: device: expected a name, found \"\"",
            ),
            (
                "1000,db,W,2048,999999999999",
                Category::Oversized,
                "x:2:16: length: 999999999999 bytes is more than",
            ),
            (
                "1000,db,W,99999999999999999999,1",
                Category::OutOfRange,
                "x:2:11: offset: \"99999999999999999999\" does not fit",
            ),
            ("1000,db,W,36028797018963967,1", Category::OutOfRange, "x:2:"),
        ] {
            let bytes = EXAMPLE.replace("1000,db,W,2048,4096", line);
            let error = testing::error_with(&FORMAT, bytes.clone(), "x", set(mapping()));
            let text = error.to_string();
            assert!(error.exit_status() == 65 && text.starts_with(message), "{line}: {text}");
            assert!(text.contains("--on-error skip"), "{text}");
            let mut skip = mapping();
            skip["on_error"] = json!("skip");
            let trace = read_with(&FORMAT, bytes, "x", set(skip));
            assert_eq!(trace.tally.errors[&category].count, 1, "{line}: {:?}", trace.tally.errors);
            assert_eq!(trace.records, expected()[1..]);
        }
    }

    #[test]
    fn a_column_that_is_not_there_lists_those_that_are() {
        let mut table = mapping();
        table["columns"]["length"] = json!("size");
        let error = testing::error_with(&FORMAT, EXAMPLE, "x", set(table));
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("columns found: ts, vol, kind, sector, len"), "{error}");
    }

    #[test]
    fn pages_alone_are_a_trace_too() {
        let table = json!({"columns": {"offset": 0}, "offset_unit": "page", "default_op": "read"});
        let trace = read_with(&FORMAT, "7\n9\n7\n", "x", set(table));
        assert_eq!(
            trace.records.iter().map(|r| r.offset_bytes / 4096).collect::<Vec<_>>(),
            [7, 9, 7]
        );
        assert_eq!(
            trace.facts,
            Facts { has_times: Some(false), has_ops: Some(false), page_bytes: Some(4096) }
        );
    }

    #[test]
    fn flushes_need_no_extent() {
        let mut table = mapping();
        table["op_flush"] = json!(["F"]);
        let trace = read_with(&FORMAT, EXAMPLE.replace("W,2048,4096", "F,,"), "x", set(table));
        assert_eq!(trace.records[0], request(1_000_000, RecordOp::Flush, 0, 0));
    }

    #[test]
    fn a_file_cut_anywhere_never_panics_and_never_changes_a_line_before_the_last() {
        for length in 0..EXAMPLE.len() {
            let input = Input::from_bytes("x", &EXAMPLE.as_bytes()[..length]);
            let options = serde_json::from_value(mapping()).unwrap();
            if let Ok(trace) = testing::try_read(&FORMAT, input, options) {
                // The last number of a text without its final newline may be any prefix.
                let sure = EXAMPLE[..length].matches('\n').count().saturating_sub(1);
                assert_eq!(trace.records[..sure], expected()[..sure]);
                assert!(trace.records.len() <= sure + 1);
            }
        }
    }
}
