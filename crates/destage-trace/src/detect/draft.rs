//! A draft of the mapping of a table that no format recognises: which column may be what, in which
//! unit, and the first requests that follow. It is a proposal in a message; nothing is read by it
//! before the user has typed it.
//!
//! ```text
//!  table   a table of text by its columns       names   names of columns, and their roles
//!  ops     values of an operation column        faults  named columns whose values do not fit
//!  (here)  roles, units, what stays open, the message
//! ```
//!
//! With a header only names give roles; without one the values do, which the message says. A unit
//! that neither a name nor the values show stays open, and the message asks for it.

mod faults;
mod names;
mod ops;
mod table;

use crate::format::Sample;
use crate::formats::csv::FORMAT;
use crate::options::flags::{flags, shell};
use crate::options::{OPTIONS, ReaderOptions};
use crate::record::Record;
use names::{device_part, is_object, is_surely_op, role_of, time_unit_of};
use ops::{is_object_op, meaning, op_of};
use table::{Table, is_number, number};

/// Requests that are shown.
const SHOWN: usize = 3;
/// A request is hardly longer.
const MOST_BYTES: u64 = 64 << 20;
/// A word in a command that the user replaces.
const UNIT: &str = "UNIT";

/// A mapping, and what it leaves open.
#[derive(Default)]
struct Draft {
    settings: Vec<(&'static str, String)>,
    /// Questions, a sentence each.
    open: Vec<String>,
    /// Columns without names and roles.
    left_out: Option<String>,
    /// Values that do not fit, and names that are not unique, a sentence each.
    faults: Vec<String>,
    /// How many of them are values that do not fit.
    misfits: usize,
}

impl Draft {
    fn set(&mut self, key: &'static str, value: impl Into<String>) {
        self.settings.push((key, value.into()));
    }

    /// Sets a unit, or asks for it.
    fn unit(&mut self, key: &'static str, column: &str, unit: Option<&str>, units: &str) {
        if unit.is_none() {
            let flag = key.replace('_', "-");
            let column = shown_name(column);
            self.open.push(format!("the unit of {column} is not in the file: --{flag} {units}"));
        }
        self.set(key, unit.unwrap_or(UNIT));
    }
}

/// A column in a sentence.
fn shown_name(column: &str) -> String {
    let is_number = column.bytes().all(|c| c.is_ascii_digit());
    if is_number { format!("column {column}") } else { column.to_owned() }
}

const TIMES: &str = "s, ms, us or ns";
const SIZES: &str = "byte, sector, page or a number of bytes";

/// Lines of a message that propose the mapping, or none where the text is no table of requests.
/// Options that are given take precedence.
pub(crate) fn draft(sample: &Sample, given: &ReaderOptions) -> Option<String> {
    let table = Table::of(sample)?;
    if let Some(objects) = objects(&table) {
        return Some(objects);
    }
    let mut draft = drafted(&table)?;
    for field in OPTIONS.iter().filter(|field| field.key.of.contains(&FORMAT.name)) {
        let key = field.key.name;
        if field.get(given) != field.get(&ReaderOptions::default()) {
            draft.settings.retain(|(k, _)| *k != key);
            draft
                .open
                .retain(|question| !question.contains(&format!("--{}", key.replace('_', "-"))));
            draft.set(key, plain_text(&field.get(given)));
        }
    }
    message(sample, &table, &draft)
}

/// A value of an option as a flag has it.
fn plain_text(value: &destage_keys::Value) -> String {
    use destage_keys::Value;
    match value {
        Value::List(values) => values.iter().map(Value::spelled).collect::<Vec<_>>().join(","),
        Value::Map(pairs) => {
            let pair = |(role, value): &(String, Value)| match value {
                Value::List(several) => {
                    let several: Vec<String> = several.iter().map(Value::spelled).collect();
                    format!("{role}={}", several.join("+"))
                }
                one => format!("{role}={}", one.spelled()),
            };
            pairs.iter().map(pair).collect::<Vec<_>>().join(",")
        }
        other => other.spelled(),
    }
}

/// The message of a draft; none if its requests cannot be read although nothing is open.
fn message(sample: &Sample, table: &Table, draft: &Draft) -> Option<String> {
    let mut options = ReaderOptions::default();
    let mut complete = draft.open.is_empty() && draft.misfits == 0;
    for (key, value) in &draft.settings {
        complete &= options.set_text(key, value).is_ok();
    }
    let read = if complete { super::try_sample(sample, &FORMAT, options) } else { None };
    let (records, skipped) = read.map_or_else(Default::default, |read| (read.records, read.first));
    if draft.open.is_empty() && draft.misfits == 0 && records.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    if draft.misfits > 0 {
        lines.push("it may be a table, with values that do not fit their columns".to_owned());
    } else if let Some(first) = records.first() {
        lines.push("it may be a table; with the flags below its first requests are".to_owned());
        lines.extend(records.iter().take(SHOWN).map(|record| shown(record, first.time_ns)));
    } else {
        lines.push("it may be a table; the file lacks values that you must give".to_owned());
    }
    if table.names.is_empty() {
        lines.push("the columns have no names: the values decided which is which".to_owned());
        lines.extend(draft.left_out.clone());
    }
    lines.extend(draft.faults.iter().cloned());
    // By the lines that were read where there are some: they are judged by the flags.
    let odd = if records.is_empty() { table.odd.clone() } else { skipped };
    lines.extend(odd.map(|line| match records.is_empty() {
        true => line,
        false => format!("left out here: {line}"),
    }));
    lines.extend(draft.open.iter().cloned());
    let typed = flags(draft.settings.iter().map(|(key, value)| (*key, value.as_str())));
    let when = match (draft.open.is_empty(), draft.misfits) {
        (true, 0) => "if that is right",
        (true, _) => "with the values corrected",
        (false, 0) => "with the missing values filled in",
        (false, _) => "with the values corrected and the missing ones filled in",
    };
    lines.push(format!("{when}: destage trace info {} {typed}", shell(sample.name)));
    lines.push(
        "else change them (`destage trace formats csv`), or name another format with --format NAME"
            .to_owned(),
    );
    Some(lines.join("\n  "))
}

fn shown(record: &Record, start_ns: u64) -> String {
    format!(
        "  {:.6} s  {}  byte {}, {} bytes",
        (record.time_ns - start_ns.min(record.time_ns)) as f64 / 1e9,
        record.op.name(),
        record.offset_bytes,
        record.length_bytes
    )
}

/// Name of a table of objects of a cache or a store; none for other tables.
fn objects(table: &Table) -> Option<String> {
    let named = (0..table.width()).find(|&k| is_object(&table.words(k)));
    let address =
        (0..table.width()).any(|k| matches!(role_of(&table.words(k)), Some(("offset", _))));
    let asks = (0..table.width()).find(|&k| {
        let values = &table.columns[k];
        values.iter().all(|value| is_object_op(value) || op_of(value).is_some())
            && values.iter().any(|value| is_object_op(value))
    });
    let column = match (named, asks) {
        (Some(key), _) if !address => format!("{} names an object", table.called(key)),
        (_, Some(op)) => {
            format!("{} is an operation on objects ({})", table.called(op), table.columns[op][0])
        }
        _ => return None,
    };
    let repeats = (0..table.width()).any(|k| table.words(k) == ["op", "count"]);
    let repeats =
        if repeats { "\n  op_count is how many times a line's request was made" } else { "" };
    Some(format!(
        "it is a key-value trace: {column}, so that no column is an address on a device\
         {repeats}\n  Destage reads traces of objects in libCacheSim's formats oracle-general and \
         lcs: convert it with libCacheSim's traceConv, then destage trace info FILE.oracleGeneral \
         --object opaque"
    ))
}

/// Columns of the roles.
struct Places {
    time: Option<usize>,
    op: Option<usize>,
    offset: Option<usize>,
    length: Option<usize>,
    response: Option<usize>,
    device: Vec<usize>,
}

/// Options of the reader that fit the header, and where it has none, the values.
fn drafted(table: &Table) -> Option<Draft> {
    let mut places = if table.names.is_empty() { by_values(table)? } else { by_names(table)? };
    let mut faults = Vec::new();
    if !table.names.is_empty() {
        faults = faults::take_named(table, &mut places);
    }
    let misfits = faults.len();
    faults.extend(faults::named_alike(table, &places));
    let known = [places.time, places.op, places.length].iter().flatten().count();
    let offset = places.offset;
    if offset.is_none() && (known < 2 || table.names.is_empty()) {
        return None;
    }
    let mut draft = Draft { faults, misfits, ..Draft::default() };
    let called = |k: usize| table.called(k);
    let mut columns = Vec::new();
    let mut put = |role: &str, places: &[usize]| {
        if !places.is_empty() {
            let names: Vec<String> = places.iter().map(|&k| called(k)).collect();
            columns.push(format!("{role}={}", names.join("+")));
        }
    };
    put("time", places.time.as_slice());
    put("op", places.op.as_slice());
    put("offset", offset.as_slice());
    put("length", places.length.as_slice());
    put("device", &places.device);
    // A response whose unit is not known is left out: it only compares.
    let time_unit = places.time.and_then(|k| time_unit(table, k));
    let response = places.response.and_then(|k| Some((k, response_unit(table, k, time_unit)?)));
    put("response", response.map(|(k, _)| k).as_slice());
    draft.set("format", "csv");
    draft.set("columns", columns.join(","));
    draft.left_out = left_out(table, &places);
    if let Some(k) = places.time {
        draft.unit("time_unit", &called(k), time_unit, TIMES);
    }
    let unit = |offset| offset_unit(table, offset, places.length.is_none());
    let offset_unit = offset.and_then(unit);
    match offset {
        Some(k) => draft.unit("offset_unit", &called(k), offset_unit, SIZES),
        None => {
            let asked = "no column is named an address: put offset=NAME into --columns";
            draft.open.push(asked.to_owned());
            draft.set("offset_unit", UNIT);
        }
    }
    match places.length {
        Some(k) => {
            draft.unit("length_unit", &called(k), length_unit(table, k, offset_unit), SIZES);
        }
        None if offset_unit != Some("page") => draft.open.push(
            "no column is named a length: --columns ...,length=NAME, or --offset-unit page for \
             requests of one page each"
                .to_owned(),
        ),
        None => {}
    }
    if let Some((_, unit)) = response {
        draft.set("response_unit", unit);
    }
    ops(table, places.op, &mut draft);
    Some(draft)
}

/// Names the columns without a role and the roles that are open; none if all columns have one.
fn left_out(table: &Table, places: &Places) -> Option<String> {
    let mut taken = places.device.clone();
    taken.extend([places.time, places.op, places.offset, places.length].into_iter().flatten());
    let rest: Vec<String> =
        (0..table.width()).filter(|k| !taken.contains(k)).map(|k| k.to_string()).collect();
    let open = [("time", places.time), ("operation", places.op), ("length", places.length)];
    let open: Vec<&str> =
        open.into_iter().filter(|(_, at)| at.is_none()).map(|(role, _)| role).collect();
    let (columns, is) = if rest.len() == 1 { ("column", "is") } else { ("columns", "are") };
    let reads = if places.op.is_none() { "; all requests are taken as reads" } else { "" };
    let none =
        if open.is_empty() { String::new() } else { format!("no {} found: ", open.join(", ")) };
    (!rest.is_empty()).then(|| {
        format!("{none}{columns} {} {is} left out{reads}: change --columns if not", rest.join(", "))
    })
}

/// The options of the operation column, or of a table without one.
fn ops(table: &Table, op: Option<usize>, draft: &mut Draft) {
    let Some(k) = op else {
        if !table.names.is_empty() {
            draft.open.push(
                "no column is named an operation: --columns ...,op=NAME with --op-read and \
                 --op-write, else all are taken as --default-op read"
                    .to_owned(),
            );
        }
        return draft.set("default_op", "read");
    };
    let meaning = meaning(&table.columns[k], &table.words(k));
    for (key, values) in meaning.lists {
        draft.set(key, values.join(","));
    }
    let column = shown_name(&table.called(k));
    if meaning.is_asked {
        draft.open.push(format!(
            "{column} is 0 or 1, and the file does not say which of them reads: here 0 does; \
             change --op-read and --op-write where 1 does"
        ));
    }
    if !meaning.unknown.is_empty() {
        let mut unknown = meaning.unknown;
        let more = if unknown.len() > 8 { ", ..." } else { "" };
        unknown.truncate(8);
        draft.open.push(format!(
            "{column} has the values {}{more}, whose meaning is not known: add them to --op-read, \
             --op-write, --op-trim or --op-flush",
            unknown.join(", ")
        ));
    }
}

/// The columns that the header gives a role, of several the best name, then the first.
fn by_names(table: &Table) -> Option<Places> {
    let best = |role: &str, fits: &dyn Fn(usize) -> bool| {
        let named = (0..table.width()).filter_map(|k| {
            let (found, rank) = role_of(&table.words(k))?;
            (found == role && fits(k)).then_some((rank, k))
        });
        named.min().map(|(_, k)| k)
    };
    let is_op = |k: usize| {
        let known = meaning(&table.columns[k], &table.words(k));
        is_surely_op(&table.words(k)) || known.unknown.is_empty() && !known.lists.is_empty()
    };
    let is_whole = |k: usize| table.whole(k).is_some();
    Some(Places {
        time: best("time", &|k| table.is_time(k)),
        op: best("op", &is_op),
        offset: best("offset", &is_whole),
        length: best("length", &is_whole),
        response: best("response", &|k| table.columns[k].iter().all(|v| is_number(v))),
        device: devices(table),
    })
}

/// The columns that together name a device: host, device, and numbers beneath it. Of two that name
/// the same, the one with letters.
fn devices(table: &Table) -> Vec<usize> {
    let mut found: Vec<(usize, usize)> =
        (0..table.width()).filter_map(|k| Some((device_part(&table.words(k))?, k))).collect();
    found.sort_unstable();
    let letters =
        |k: usize| table.columns[k].iter().any(|v| v.bytes().any(|c| c.is_ascii_alphabetic()));
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for (part, k) in found {
        match kept.iter_mut().find(|(other, at)| *other == part || table.alike(*at, k)) {
            Some(same) if letters(k) && !letters(same.1) => same.1 = k,
            Some(_) => {}
            None => kept.push((part, k)),
        }
    }
    // A host alone is no device, and a column of files is one where nothing else is.
    if kept.iter().all(|&(part, _)| part == 0) {
        kept.clear();
        let file = (0..table.width()).find(|&k| {
            matches!(role_of(&table.words(k)), Some(("device", _)))
                && device_part(&table.words(k)).is_none()
        });
        return file.into_iter().collect();
    }
    kept.into_iter().map(|(_, k)| k).collect()
}

/// Roles of a table without names: by what their values look like.
fn by_values(table: &Table) -> Option<Places> {
    let mut open: Vec<usize> = (0..table.width()).collect();
    let mut take = |fits: &dyn Fn(usize) -> bool| {
        let at = open.iter().position(|&k| fits(k))?;
        Some(open.remove(at))
    };
    let is_word = |k: usize| table.columns[k].iter().all(|value| op_of(value).is_some());
    let op = take(&is_word);
    // A table that rises by one a row is numbered.
    let numbers = |k: usize| {
        let numbers = table.whole(k).unwrap_or_default();
        numbers.len() > 1 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1)
    };
    let rises = |k: usize| table.rises(k) && table.columns[k].len() > 2 && !numbers(k);
    let time = take(&|k| table.is_date(k) || is_clock(table, k));
    let time = time.or_else(|| take(&rises));
    let is_flag = |k: usize| {
        let has = |flag: &str| table.columns[k].iter().any(|value| value == flag);
        has("0") && has("1") && table.columns[k].iter().all(|value| value == "0" || value == "1")
    };
    let op = op.or_else(|| take(&is_flag));
    let _ = take(&|k| k == 0 && numbers(k) && table.width() > 2);
    let largest = open.iter().copied().max_by_key(|&k| (table.largest(k), std::cmp::Reverse(k)));
    let offset = largest.filter(|&k| table.largest(k) > 1)?;
    let is_length = |k: usize| {
        let numbers = table.whole(k).unwrap_or_default();
        !numbers.is_empty() && numbers.iter().all(|&n| n > 0 && n <= MOST_BYTES)
    };
    let length =
        open.iter().copied().find(|&k| k != offset && is_length(k) && table.largest(k) > 1);
    Some(Places { time, op, offset: Some(offset), length, response: None, device: Vec::new() })
}

/// Unit of a time column: as its name ends, a date, or an epoch that its size shows.
fn time_unit(table: &Table, k: usize) -> Option<&'static str> {
    if let Some(unit) = time_unit_of(&table.words(k)) {
        return Some(unit);
    }
    if table.is_date(k) {
        return Some("date");
    }
    epoch_unit(table.columns[k].first().and_then(|value| number(value))?)
}

/// Whether a column counts milliseconds or less since 1970: no address of a device is as large.
fn is_clock(table: &Table, k: usize) -> bool {
    let of = |value: &String| number(value).and_then(epoch_unit);
    let mut units = table.columns[k].iter().map(of);
    match units.next().flatten() {
        None | Some("s") => false,
        first => units.all(|unit| unit == first),
    }
}

/// The unit in which a number is a time of this century.
fn epoch_unit(first: f64) -> Option<&'static str> {
    // Years 2000 to 2100.
    let epochs = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
    let is_epoch = |factor: f64| (946_684_800.0..4_102_444_800.0).contains(&(first / factor));
    let filetime = (125_911_584_000_000_000.0..157_469_088_000_000_000.0).contains(&first);
    let unit = epochs.into_iter().find(|&(_, factor)| is_epoch(factor)).map(|(unit, _)| unit);
    unit.or(filetime.then_some("filetime"))
}

fn response_unit(table: &Table, k: usize, time_unit: Option<&'static str>) -> Option<&'static str> {
    let of_times = time_unit.filter(|unit| *unit != "date" && !table.rises(k));
    time_unit_of(&table.words(k)).or(of_times)
}

/// Whether a column's name has one of these words.
fn says(table: &Table, k: usize, words: &[&str]) -> bool {
    table.words(k).iter().any(|word| words.contains(&word.as_str()))
}

const BYTES: &[&str] = &["byte", "bytes", "nbytes", "nbyte"];
const SECTORS: &[&str] =
    &["sector", "sectors", "nsectors", "nsector", "nrsectors", "lba", "lbn", "slba", "blkno"];
const PAGES: &[&str] = &["page", "pages", "npages", "lpn", "lpa", "pageid"];

/// Whether all numbers of a column are whole sectors in bytes.
fn is_sectors_in_bytes(table: &Table, k: usize) -> bool {
    let numbers = table.whole(k).unwrap_or_default();
    numbers.iter().all(|n| n % 512 == 0) && numbers.iter().any(|&n| n > 0)
}

/// Unit of an address: as its name says, else bytes if all are whole sectors.
fn offset_unit(table: &Table, k: usize, alone: bool) -> Option<&'static str> {
    if says(table, k, BYTES) {
        return Some("byte");
    }
    if says(table, k, PAGES) {
        return Some("page");
    }
    if says(table, k, SECTORS) {
        return Some("sector");
    }
    match is_sectors_in_bytes(table, k) {
        true => Some("byte"),
        false if alone && table.names.is_empty() => Some("page"),
        false => None,
    }
}

/// Unit of a length: as its name says; bytes if all are whole sectors; else that of the address, if
/// it counts sectors.
fn length_unit(table: &Table, k: usize, offset: Option<&'static str>) -> Option<&'static str> {
    if says(table, k, BYTES) {
        return Some("byte");
    }
    if says(table, k, SECTORS) {
        return Some("sector");
    }
    if says(table, k, PAGES) {
        return Some("page");
    }
    let counts = says(table, k, &["count", "blocks", "nblocks", "num"]);
    match is_sectors_in_bytes(table, k) {
        true if !counts => Some("byte"),
        _ => offset.filter(|unit| *unit == "sector"),
    }
}

#[cfg(test)]
mod tests;
