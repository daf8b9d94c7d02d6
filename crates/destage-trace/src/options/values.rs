//! Values of options that have a form of their own: names, sizes, durations, lists.

use destage_keys::{AsValue, Value, Word, unit_bytes};

use super::choices::{Column, Columns, Unit, Wrap};
use crate::record::RecordOp;

/// The value of this word, in any case.
fn word<T: Word>(text: &str) -> Option<T> {
    T::NAMES.iter().find(|name| name.eq_ignore_ascii_case(text)).and_then(|name| T::parse(name))
}

/// `none` takes the option back.
fn optional<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if *value == Value::None { Some(None) } else { read(value).map(Some) }
}

/// Bytes: a whole number, or text with a unit ([`unit_bytes`]).
fn size(value: &Value) -> Option<u64> {
    let Value::Text(text) = value else { return value.as_whole() };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "" => Some(count),
        unit => count.checked_mul(unit_bytes(unit)?),
    }
}

pub(super) fn optional_size(value: &Value) -> Option<Option<u64>> {
    optional(value, size)
}

/// At least one byte.
pub(super) fn some_bytes(value: &Value) -> Option<u64> {
    size(value).filter(|&bytes| bytes > 0)
}

/// Sector, block and page sizes: 1 byte to 1 GiB.
fn unit_size(value: &Value) -> Option<u64> {
    size(value).filter(|&bytes| (1..=1 << 30).contains(&bytes))
}

pub(super) fn unit_size_or_none(value: &Value) -> Option<Option<u64>> {
    optional(value, unit_size)
}

/// `90s`, `1.5h`, `250ms`: nanoseconds. A bare number has no unit and is refused.
fn duration_ns(value: &Value) -> Option<u64> {
    destage_keys::duration_ns(value.as_text()?)
}

pub(super) fn optional_duration(value: &Value) -> Option<Option<u64>> {
    optional(value, duration_ns)
}

pub(super) fn duration_text(ns: &Option<u64>) -> Value {
    ns.map_or(Value::None, |ns| Value::Text(format!("{ns}ns")))
}

/// A choice of `Wrap`, or `none`, which is what an error is.
pub(super) fn wrap(value: &Value) -> Option<Wrap> {
    let text = value.as_text()?;
    if text.eq_ignore_ascii_case("none") { Some(Wrap::None) } else { word(text) }
}

/// Operations by name.
pub(super) fn ops(value: &Value) -> Option<Vec<RecordOp>> {
    names(value)?.iter().map(|name| word(name)).collect()
}

/// Read or write; an empty text takes it back.
pub(super) fn default_op(value: &Value) -> Option<Option<RecordOp>> {
    match value.as_text()? {
        "" => Some(None),
        text => word(text).filter(|op| matches!(op, RecordOp::Read | RecordOp::Write)).map(Some),
    }
}

/// One name or a list of names; a comma in text separates, unless it is that of a block device's
/// `major,minor`.
pub(super) fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(text) if is_major_minor(text) => Some(vec![text.clone()]),
        Value::Text(text) => {
            let parts: Vec<String> = text.split(',').map(|p| p.trim().to_owned()).collect();
            parts.iter().all(|p| !p.is_empty()).then_some(parts)
        }
        other => texts(other),
    }
}

/// Two numbers with a comma between.
pub(crate) fn is_major_minor(text: &str) -> bool {
    text.split_once(',').is_some_and(|(major, minor)| {
        [major, minor]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()))
    })
}

/// Texts of an operation column: a list as it is, one text at its commas.
pub(super) fn op_texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(text) if text.len() > 1 => {
            Some(text.split(',').map(|part| part.trim().to_owned()).collect())
        }
        other => texts(other),
    }
}

/// One text or a list of texts, taken as they are; a number is its own text.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |item: &Value| match item {
        Value::Text(_) | Value::Int(_) | Value::Real(_) => Some(item.spelled()),
        _ => None,
    };
    match value {
        Value::None => Some(Vec::new()),
        Value::List(items) => items.iter().map(text).collect(),
        one => text(one).map(|text| vec![text]),
    }
}

/// A named unit, or a size.
pub(super) fn unit(value: &Value) -> Option<Option<Unit>> {
    let lower = value.as_text().map(str::to_ascii_lowercase);
    optional(value, |value| match lower.as_deref() {
        Some("byte") => Some(Unit::Bytes(1)),
        Some("sector") => Some(Unit::Bytes(512)),
        Some("page") => Some(Unit::Page),
        _ => unit_size(value).map(Unit::Bytes),
    })
}

pub(super) fn unit_value(unit: &Option<Unit>) -> Value {
    match unit {
        Some(Unit::Bytes(bytes)) => bytes.value(),
        Some(Unit::Page) => "page".into(),
        None => Value::None,
    }
}

/// A table of roles; as a flag `time=ts,device=host+disk,offset=3`.
pub(super) fn columns(value: &Value) -> Option<Columns> {
    let mut columns = Columns::default();
    let exact = |column: &Value| match column {
        Value::Text(name) => Some(Column::Name(name.clone())),
        other => Some(Column::Number(usize::try_from(other.as_whole()?).ok()?)),
    };
    match value {
        Value::Map(pairs) => {
            for (role, column) in pairs {
                let several = match column {
                    Value::List(several) => several.iter().map(exact).collect::<Option<_>>()?,
                    one => vec![exact(one)?],
                };
                columns.set(role.trim(), several)?;
            }
        }
        Value::Text(text) => {
            for part in text.split(',') {
                let (role, several) = part.split_once('=')?;
                let role = role.trim();
                let typed = |column: &str| {
                    let column = column.trim();
                    let number = column.parse().map(Column::Number);
                    number.unwrap_or_else(|_| Column::Name(column.to_owned()))
                };
                let several = match role {
                    "device" => several.split('+').map(typed).collect(),
                    _ => vec![typed(several)],
                };
                columns.set(role, several)?;
            }
        }
        _ => return None,
    }
    Some(columns)
}

pub(super) fn delimiter(value: &Value) -> Option<Option<u8>> {
    optional(value, |value| match value.as_text()? {
        "tab" | "\\t" => Some(b'\t'),
        "blank" | "blanks" | "space" => Some(b' '),
        text if text.len() == 1 => text.bytes().next().filter(|c| !c.is_ascii_alphanumeric()),
        _ => None,
    })
}

pub(super) fn delimiter_text(delimiter: &Option<u8>) -> Value {
    delimiter.map_or(Value::None, |byte| Value::Text(char::from(byte).to_string()))
}
