//! A draft of the mapping of a table that no format recognises: which column may be what, in which
//! unit, and the first requests that follow. It is a proposal in a message; nothing is read by it
//! before the user has typed it.

use destage_keys::printable;

use crate::format::Sample;
use crate::format::fields::{parse_decimal, parse_u64};
use crate::formats::csv::{delimiter_of, values};
use crate::options::ReaderOptions;
use crate::record::Record;

/// Lines that are looked at.
const LINES: usize = 50;
/// Requests that are shown.
const SHOWN: usize = 3;
/// A request is hardly longer.
const MOST_BYTES: u64 = 64 << 20;

/// Names of columns in lower case, letters only, that mean a role.
const NAMES: [(&str, &[&str]); 6] = [
    ("time", &["time", "ts", "timestamp", "arrival", "arrivaltime", "when", "starttime", "t"]),
    (
        "op",
        &[
            "op",
            "rw",
            "type",
            "operation",
            "direction",
            "dir",
            "iotype",
            "cmd",
            "opcode",
            "kind",
            "rwbs",
            "action",
            "command",
        ],
    ),
    (
        "offset",
        &[
            "offset",
            "lba",
            "lbn",
            "sector",
            "address",
            "addr",
            "block",
            "blkno",
            "blocknumber",
            "start",
            "startsector",
            "pos",
            "position",
            "page",
            "slba",
            "logicalblockaddress",
        ],
    ),
    (
        "length",
        &[
            "length",
            "len",
            "size",
            "bytes",
            "count",
            "nblocks",
            "sectors",
            "iosize",
            "nbytes",
            "blocks",
            "nlb",
            "requestsize",
            "reqsize",
            "pages",
            "transfersize",
        ],
    ),
    (
        "device",
        &[
            "device", "dev", "disk", "volume", "vol", "volumeid", "deviceid", "file", "lun",
            "diskid",
        ],
    ),
    (
        "response",
        &[
            "response",
            "latency",
            "lat",
            "responsetime",
            "duration",
            "elapsed",
            "service",
            "servicetime",
        ],
    ),
];

/// Letters of an operation column and the option that they belong to.
const OPS: [(&str, &[&str]); 4] = [
    ("op_read", &["r", "read", "rd", "rs", "ra", "reads"]),
    ("op_write", &["w", "write", "wr", "ws", "writes", "wfs", "wsm"]),
    ("op_trim", &["d", "discard", "trim", "unmap", "t", "ds"]),
    ("op_flush", &["f", "flush", "sync", "fsync", "ff"]),
];

/// A table of text by its columns.
struct Table {
    /// Names in the first line, or none.
    names: Vec<String>,
    /// Values of each column.
    columns: Vec<Vec<String>>,
}

impl Table {
    fn of(sample: &Sample) -> Option<Table> {
        let lines = sample.lines(LINES);
        let delimiter = delimiter_of(&lines);
        let mut rows: Vec<Vec<String>> = lines.iter().map(|line| values(line, delimiter)).collect();
        let width = rows.first()?.len();
        rows.retain(|row| row.len() == width);
        let named = !rows[0].iter().any(|value| is_number(value));
        let names = if named { rows.remove(0) } else { Vec::new() };
        if width < 2 || rows.len() < 2 || rows.len() + 1 < lines.len() / 2 {
            return None;
        }
        let column = |k: usize| rows.iter().map(|row| row[k].clone()).collect();
        Some(Table { names, columns: (0..width).map(column).collect() })
    }

    /// How the option `columns` calls a column.
    fn called(&self, k: usize) -> String {
        let plain = |name: &&String| {
            name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-.".contains(&c))
                && name.bytes().any(|c| c.is_ascii_alphabetic())
        };
        self.names.get(k).filter(plain).cloned().unwrap_or_else(|| k.to_string())
    }

    /// The name of a column in lower case, as words of letters.
    fn words(&self, k: usize) -> Vec<String> {
        let name = self.names.get(k).map_or("", String::as_str).to_ascii_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphabetic());
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn whole(&self, k: usize) -> Option<Vec<u64>> {
        self.columns[k].iter().map(|value| parse_u64(value.as_bytes()).ok()).collect()
    }

    fn rises(&self, k: usize) -> bool {
        let numbers: Vec<f64> = self.columns[k].iter().filter_map(|value| number(value)).collect();
        let all = numbers.len() == self.columns[k].len();
        all && numbers.is_sorted() && numbers.first() != numbers.last()
    }
}

fn number(text: &str) -> Option<f64> {
    parse_decimal(text.replace(',', ".").as_bytes(), 1).ok()?;
    text.replace(',', ".").parse().ok()
}

fn is_number(text: &str) -> bool {
    number(text).is_some()
}

fn op_of(value: &str) -> Option<&'static str> {
    let word = value.to_ascii_lowercase();
    OPS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|&(key, _)| key)
}

/// Lines of a message that propose the mapping, or none where the text is no table of requests.
pub(crate) fn draft(sample: &Sample) -> Option<String> {
    let table = Table::of(sample)?;
    let settings = settings(&table)?;
    let mut options = ReaderOptions::default();
    for (key, value) in &settings {
        options.set_text(key, value).ok()?;
    }
    let records = super::read_sample(sample, &crate::formats::csv::FORMAT, options);
    if records.len() < 2 {
        return None;
    }
    let flag =
        |(key, value): &(&str, String)| format!("--{} {}", key.replace('_', "-"), shell(value));
    let flags: Vec<String> = settings.iter().map(flag).collect();
    let mut lines =
        vec!["it may be a table; with the flags below its first requests are".to_owned()];
    let start_ns = records[0].time_ns;
    lines.extend(records.iter().take(SHOWN).map(|record| shown(record, start_ns)));
    lines.push(format!(
        "if that is right: destage trace info {} {}",
        shell(sample.name),
        flags.join(" ")
    ));
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

/// A word as a shell takes it.
fn shell(text: &str) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"_-./=,:%+@".contains(&c);
    let text = printable(text.as_bytes());
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Options of the reader that fit the header, and where it has none, the values.
fn settings(table: &Table) -> Option<Vec<(&'static str, String)>> {
    let width = table.columns.len();
    let mut roles: Vec<Option<&'static str>> = (0..width).map(|k| named(table, k)).collect();
    for role in NAMES.map(|(role, _)| role) {
        // Of several columns of one name, the first.
        let mut first = true;
        for found in roles.iter_mut().filter(|found| **found == Some(role)) {
            if !std::mem::take(&mut first) {
                *found = None;
            }
        }
    }
    let is_op = |k: usize| table.columns[k].iter().all(|value| op_of(value).is_some());
    fill(&mut roles, "op", is_op);
    fill(&mut roles, "time", |k| table.rises(k));
    let lengths = |k: usize| {
        let numbers = table.whole(k).unwrap_or_default();
        !numbers.is_empty() && numbers.iter().all(|&n| n > 0 && n <= MOST_BYTES)
    };
    let largest = |k: usize| table.whole(k).and_then(|all| all.into_iter().max()).unwrap_or(0);
    let open: Vec<usize> = (0..width).filter(|&k| roles[k].is_none()).collect();
    let offset = open.iter().copied().max_by_key(|&k| largest(k)).filter(|&k| largest(k) > 0);
    fill(&mut roles, "offset", |k| Some(k) == offset);
    fill(&mut roles, "length", |k| lengths(k) && largest(k) > 1);
    let place = |role: &str| roles.iter().position(|found| *found == Some(role));
    let (offset, length) = (place("offset")?, place("length"));
    table.whole(offset)?;

    let used: Vec<String> = NAMES
        .iter()
        .filter_map(|(role, _)| Some(format!("{role}={}", table.called(place(role)?))))
        .collect();
    let mut found = vec![("format", "csv".to_owned()), ("columns", used.join(","))];
    if let Some(k) = place("time") {
        found.push(("time_unit", time_unit(table, k).to_owned()));
    }
    let offset_unit = unit(table, offset, length.is_none());
    found.push(("offset_unit", offset_unit.to_owned()));
    if let Some(k) = length {
        found.push(("length_unit", unit(table, k, false).to_owned()));
    } else if offset_unit != "page" {
        return None;
    }
    if let Some(k) = place("response") {
        found.push(("response_unit", response_unit(table, k).to_owned()));
    }
    match place("op") {
        None => found.push(("default_op", "read".to_owned())),
        Some(k) => found.extend(operations(&table.columns[k])?),
    }
    Some(found)
}

/// Gives a role that no column has to the first open column that fits.
fn fill(roles: &mut [Option<&'static str>], role: &'static str, fits: impl Fn(usize) -> bool) {
    if roles.contains(&Some(role)) {
        return;
    }
    if let Some(k) = (0..roles.len()).find(|&k| roles[k].is_none() && fits(k)) {
        roles[k] = Some(role);
    }
}

/// The role that the header gives a column, if its values can be that.
fn named(table: &Table, k: usize) -> Option<&'static str> {
    let words = table.words(k);
    let whole = words.concat();
    let means = |(_, names): &&(&'static str, &[&str])| {
        names.contains(&whole.as_str())
            || words.first().is_some_and(|w| names.contains(&w.as_str()))
    };
    let (role, _) = NAMES.iter().find(means)?;
    let fits = match *role {
        "time" | "response" => table.columns[k].iter().all(|value| is_number(value)),
        "offset" | "length" => table.whole(k).is_some(),
        "op" => operations(&table.columns[k]).is_some(),
        _ => true,
    };
    fits.then_some(role)
}

/// The options that say what the values of the op column mean; of 0 and 1, 0 is a read.
fn operations(values: &[String]) -> Option<Vec<(&'static str, String)>> {
    let mut distinct: Vec<&str> = values.iter().map(String::as_str).collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.iter().all(|value| ["0", "1"].contains(value)) {
        return Some(vec![("op_read", "0".to_owned()), ("op_write", "1".to_owned())]);
    }
    let mut found = Vec::new();
    for (key, _) in OPS {
        let ours: Vec<&str> =
            distinct.iter().copied().filter(|value| op_of(value) == Some(key)).collect();
        if !ours.is_empty() {
            found.push((key, ours.join(",")));
        }
    }
    distinct.iter().all(|value| op_of(value).is_some()).then_some(found)
}

/// Unit of a time column: as its name ends, else as its size suggests.
fn time_unit(table: &Table, k: usize) -> &'static str {
    if let Some(unit) = named_time_unit(table, k) {
        return unit;
    }
    let first = table.columns[k].first().map_or("", String::as_str);
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        _ if first.contains(['.', ',']) => "s",
        0..=10 if digits == 10 => "s",
        0..=12 => "us",
        13 => "ms",
        14..=16 => "us",
        17..=18 => "filetime",
        _ => "ns",
    }
}

fn named_time_unit(table: &Table, k: usize) -> Option<&'static str> {
    match table.words(k).last().map_or("", String::as_str) {
        "s" | "sec" | "secs" | "seconds" => Some("s"),
        "ms" | "msec" | "milliseconds" => Some("ms"),
        "us" | "usec" | "microseconds" => Some("us"),
        "ns" | "nsec" | "nanoseconds" => Some("ns"),
        _ => None,
    }
}

fn response_unit(table: &Table, k: usize) -> &'static str {
    let decimal = table.columns[k].iter().any(|value| value.contains(['.', ',']));
    named_time_unit(table, k).unwrap_or(if decimal { "ms" } else { "us" })
}

/// Unit of an address or a length: as its name says, else bytes if all are multiples of a sector.
fn unit(table: &Table, k: usize, alone: bool) -> &'static str {
    let says = |words: &[&str]| {
        table.words(k).iter().any(|word| words.iter().any(|name| word.starts_with(name)))
    };
    if says(&["byte", "nbyte"]) {
        return "byte";
    }
    if says(&["page"]) || alone {
        return "page";
    }
    if says(&["sector", "lba", "lbn", "blk", "block", "slba", "nlb", "nblock"]) {
        return "sector";
    }
    let numbers = table.whole(k).unwrap_or_default();
    if numbers.iter().all(|n| n % 512 == 0) { "byte" } else { "sector" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafted(text: &str) -> Option<String> {
        draft(&Sample { bytes: text.as_bytes(), whole: true, size: None, name: "my io.csv" })
    }

    #[test]
    fn a_header_says_which_column_is_what() {
        let text = "when_ms;vol;rw;lba;bytes\n0,5;a;R;2048;4096\n1,25;a;W;16;8192\n2,0;b;R;8;512\n";
        assert_eq!(
            drafted(text).unwrap(),
            "it may be a table; with the flags below its first requests are\n    \
             0.000000 s  read  byte 1048576, 4096 bytes\n    \
             0.000750 s  write  byte 8192, 8192 bytes\n    \
             0.001500 s  read  byte 4096, 512 bytes\n  \
             if that is right: destage trace info 'my io.csv' --format csv --columns \
             time=when_ms,op=rw,offset=lba,length=bytes,device=vol --time-unit ms --offset-unit \
             sector --length-unit byte --op-read R --op-write W\n  \
             else change them (`destage trace formats csv`), or name another format with --format \
             NAME"
        );
    }

    #[test]
    fn without_a_header_values_decide() {
        let text = "0.10 read 1048576 4096\n0.35 write 8192 8192\n0.40 read 0 512\n";
        let found = drafted(text).unwrap();
        assert!(found.contains("--columns time=0,op=1,offset=2,length=3 --time-unit s"), "{found}");
        assert!(found.contains("--offset-unit byte --length-unit byte"), "{found}");
        assert!(found.contains("0.250000 s  write  byte 8192, 8192 bytes"), "{found}");
    }

    #[test]
    fn what_is_no_table_of_requests_has_no_draft() {
        for text in
            ["one\ntwo\nthree\n", "a,b\nx,y\nz,w\n", "{\n \"runs\": [\n  1,\n  2\n ]\n}\n", ""]
        {
            assert_eq!(drafted(text), None, "{text}");
        }
    }
}
