//! A drive file: TOML with the place of every key, so that an error can point at it.

use super::error::DriveError;
use super::tables::{TABLES, Tables};
use crate::config::{Table, Value, nearest};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file as read.
pub(super) struct File<'a> {
    text: &'a str,
    name: &'a str,
    /// Tables of the file, keys not checked.
    pub tables: Tables,
    /// Where each key stands, and under the empty name each table: byte offsets.
    places: BTreeMap<(&'static str, String), usize>,
    /// Keys that are not the drive's, by table.
    others: &'a [(&'a str, &'a str)],
}

/// More than any drive's file. What goes on for ever (`/dev/zero`) ends here.
const MOST_BYTES: u64 = 16 << 20;

/// The bytes of a file, and one more than it may have if it has more.
pub(super) fn bytes(path: &str) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
pub(super) fn text(bytes: Vec<u8>, name: &str) -> Result<String, DriveError> {
    if bytes.len() as u64 > MOST_BYTES {
        let what = format!("it is no device's file: it has over {MOST_BYTES} bytes");
        return Err(DriveError::Content { file: name.into(), place: None, what });
    }
    String::from_utf8(bytes).map_err(|error| {
        let upto = error.utf8_error().valid_up_to();
        let good = String::from_utf8_lossy(&error.as_bytes()[..upto]);
        DriveError::Content {
            file: name.into(),
            place: Some(line_column(&good, good.len())),
            what: "expected TOML, found a byte that is not UTF-8".into(),
        }
    })
}

/// Line and column, from 1, of a byte.
fn line_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// The TOML parser's message, made clearer for duplicate keys and for words without quotation
/// marks.
fn explained(message: &str, text: &str, byte: usize) -> String {
    let (before, rest) = text.split_at_checked(byte).unwrap_or((text, ""));
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-+.".contains(c)));
    let word = &rest[..end.unwrap_or(rest.len())];
    if message == "duplicate key" {
        return format!("duplicate key {word}");
    }
    let value_starts = before.trim_end_matches([' ', '\t']).ends_with('=');
    if value_starts && word.starts_with(char::is_alphabetic) {
        return format!("expected a value, found the word {word} without quotation marks");
    }
    let line = rest.lines().next().unwrap_or_default().trim();
    if value_starts && (line.is_empty() || line.starts_with('#')) {
        return "expected a value, found the end of the line".into();
    }
    message.to_string()
}

impl<'a> File<'a> {
    /// Reads the tables, but for the keys that `others` lists.
    pub fn parse(
        text: &'a str,
        name: &'a str,
        others: &'a [(&'a str, &'a str)],
    ) -> Result<File<'a>, DriveError> {
        let (tables, places) = (Tables::default(), BTreeMap::new());
        let mut file = File { text, name, tables, places, others };
        let parsed = DeTable::parse(text).map_err(|error| {
            let byte = error.span().map_or(text.len(), |span| span.start);
            file.at(byte, explained(error.message(), text, byte))
        })?;
        for (key, value) in parsed.into_inner() {
            let byte = key.span().start;
            let Some(table) = TABLES.into_iter().find(|&table| key.get_ref() == table) else {
                return Err(file.no_table(key.get_ref(), byte, value.get_ref()));
            };
            let DeValue::Table(keys) = value.into_inner() else {
                return Err(
                    file.at(byte, format!("expected a table [{table}], found {table} = .."))
                );
            };
            file.places.insert((table, String::new()), byte);
            file.take(table, keys)?;
        }
        if !file.places.contains_key(&("device", String::new())) {
            let names =
                TABLES.into_iter().filter(|&name| file.places.contains_key(&(name, "".into())));
            let names = names.map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
            let found = if names.is_empty() { "none" } else { &names };
            return Err(file.wrong(None, format!("expected a table [device], found {found}")));
        }
        Ok(file)
    }

    fn take(&mut self, table: &'static str, keys: DeTable<'_>) -> Result<(), DriveError> {
        for (key, value) in keys {
            let byte = key.span().start;
            let name = key.into_inner().into_owned();
            if self.others.contains(&(table, &name)) {
                continue;
            }
            self.places.insert((table, name.clone()), byte);
            if table == "trace" {
                self.tables.trace.insert(name, json(value.into_inner()));
                continue;
            }
            let is_table = matches!(value.get_ref(), DeValue::Table(_));
            let at = if is_table { byte } else { value.span().start };
            let value = plain(&value).ok_or_else(|| {
                let expected = "expected a number, text, true, false or a list of these";
                self.at(at, format!("{table}: {name}: {expected}, found {}", kind(value.get_ref())))
            })?;
            let tables = &mut self.tables;
            let target: &mut Table = match table {
                "device" => &mut tables.device,
                "cache" => &mut tables.cache,
                "host" => &mut tables.host,
                "placement" => &mut tables.placement,
                _ => &mut tables.ftl,
            };
            target.insert(name, value);
        }
        Ok(())
    }

    /// An error at a key, a table (empty key), or somewhere in the file.
    pub fn wrong(&self, place: Option<(&'static str, &str)>, what: String) -> DriveError {
        let byte = place.and_then(|(table, key)| {
            let of = |key: &str| self.places.get(&(table, key.to_string()));
            of(key).or_else(|| of("")).copied()
        });
        let place = byte.map(|byte| line_column(self.text, byte));
        DriveError::Content { file: self.name.into(), place, what }
    }

    fn at(&self, byte: usize, what: String) -> DriveError {
        let place = Some(line_column(self.text, byte));
        DriveError::Content { file: self.name.into(), place, what }
    }

    fn no_table(&self, name: &str, byte: usize, value: &DeValue<'_>) -> DriveError {
        let known = TABLES.map(|table| format!("[{table}]")).join(", ");
        let what = if matches!(value, DeValue::Table(_)) {
            let meant = nearest(name, TABLES.into_iter());
            format!("unknown table [{name}]{meant} (tables: {known})")
        } else {
            format!("expected a table before the key {name:?} (tables: {known})")
        };
        self.at(byte, what)
    }
}

/// A value as the tables have it; `None` for a date, a table, or a number too large to be any.
fn plain(value: &Spanned<DeValue<'_>>) -> Option<Value> {
    Some(match value.get_ref() {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(int) => Value::Int(i128::from_str_radix(int.as_str(), int.radix()).ok()?),
        DeValue::Float(real) => Value::Real(real.as_str().parse().ok()?),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Array(values) => Value::List(values.iter().map(plain).collect::<Option<_>>()?),
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// A reader's option: tables too, since columns are given in one.
fn json(value: DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::String(text.into_owned()),
        DeValue::Integer(int) => match i64::from_str_radix(int.as_str(), int.radix()) {
            Ok(small) => small.into(),
            Err(_) => match u64::from_str_radix(int.as_str(), int.radix()) {
                Ok(large) => large.into(),
                Err(_) => Json::String(int.as_str().into()),
            },
        },
        DeValue::Float(real) => {
            real.as_str().parse::<f64>().map_or_else(|_| real.as_str().into(), Json::from)
        }
        DeValue::Boolean(value) => Json::Bool(value),
        DeValue::Datetime(date) => Json::String(date.to_string()),
        DeValue::Array(values) => {
            Json::Array(values.into_iter().map(|value| json(value.into_inner())).collect())
        }
        DeValue::Table(keys) => {
            let pairs = keys.into_iter();
            let pairs =
                pairs.map(|(key, value)| (key.into_inner().into_owned(), json(value.into_inner())));
            Json::Object(pairs.collect::<Map<_, _>>())
        }
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Datetime(_) => "a date",
        DeValue::Table(_) => "a table",
        DeValue::Array(_) => "a list of something else",
        _ => "a number beyond 128 bits",
    }
}
