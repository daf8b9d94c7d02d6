//! Values of options as JSON, TOML, Python or a flag give them: names, sizes, durations, lists.

use serde_json::Value;

use super::{
    Column, Columns, Devices, EtwTime, Event, Object, OnError, Order, Spread, TimeOrigin, TimeUnit,
    Unit, Wrap,
};
use crate::record::RecordOp;

/// A list of names and what each stands for, read in both directions.
pub(super) type Choices<T> = &'static [(&'static str, T)];

pub(super) const ON_ERROR: Choices<OnError> = &[("stop", OnError::Stop), ("skip", OnError::Skip)];
pub(super) const TIME_ORIGIN: Choices<TimeOrigin> =
    &[("run", TimeOrigin::Run), ("file", TimeOrigin::File), ("absolute", TimeOrigin::Absolute)];
pub(super) const ORDER: Choices<Order> =
    &[("time", Order::Time), ("file", Order::File), ("strict", Order::Strict)];
pub(super) const SPREAD: Choices<Option<Spread>> =
    &[("none", Some(Spread::None)), ("uniform", Some(Spread::Uniform))];
pub(super) const DEVICES: Choices<Option<Devices>> =
    &[("stack", Some(Devices::Stack)), ("separate", Some(Devices::Separate))];
pub(super) const WRAP: Choices<Wrap> = &[
    ("error", Wrap::None),
    ("modulo", Wrap::Modulo),
    ("extend", Wrap::Extend),
    ("none", Wrap::None),
];
pub(super) const EVENT: Choices<Event> = &[("D", Event::D), ("Q", Event::Q), ("C", Event::C)];
pub(super) const ETW_TIME: Choices<EtwTime> =
    &[("issue", EtwTime::Issue), ("completion", EtwTime::Completion)];
pub(super) const OBJECT: Choices<Option<Object>> = &[
    ("page", Some(Object::Page)),
    ("sector", Some(Object::Sector)),
    ("opaque", Some(Object::Opaque)),
];
pub(super) const OPS: Choices<RecordOp> = &[
    ("read", RecordOp::Read),
    ("write", RecordOp::Write),
    ("trim", RecordOp::Trim),
    ("flush", RecordOp::Flush),
];
pub(super) const DEFAULT_OP: Choices<Option<RecordOp>> =
    &[("read", Some(RecordOp::Read)), ("write", Some(RecordOp::Write)), ("", None)];
pub(super) const TIME_UNIT: Choices<Option<TimeUnit>> = &[
    ("s", Some(TimeUnit::S)),
    ("ms", Some(TimeUnit::Ms)),
    ("us", Some(TimeUnit::Us)),
    ("ns", Some(TimeUnit::Ns)),
    ("ps", Some(TimeUnit::Ps)),
    ("filetime", Some(TimeUnit::Filetime)),
    ("none", Some(TimeUnit::None)),
];
pub(super) const RESPONSE_UNIT: Choices<Option<TimeUnit>> = &[
    ("s", Some(TimeUnit::S)),
    ("ms", Some(TimeUnit::Ms)),
    ("us", Some(TimeUnit::Us)),
    ("ns", Some(TimeUnit::Ns)),
    ("ps", Some(TimeUnit::Ps)),
    ("filetime", Some(TimeUnit::Filetime)),
];
pub(super) const UNIT: Choices<Option<Unit>> = &[
    ("byte", Some(Unit::Bytes(1))),
    ("sector", Some(Unit::Bytes(512))),
    ("page", Some(Unit::Page)),
];

pub(super) fn find<T: Copy>(list: Choices<T>, text: &str) -> Option<T> {
    list.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, value)| value)
}

pub(super) fn choice<T: Copy>(list: Choices<T>, value: &Value) -> Option<T> {
    find(list, value.as_str()?)
}

pub(super) fn name_of<T: Copy + PartialEq>(list: Choices<T>, value: T) -> &'static str {
    list.iter().find(|&&(_, v)| v == value).map_or("", |&(name, _)| name)
}

/// `null` takes the option back.
pub(super) fn optional<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if value.is_null() { Some(None) } else { read(value).map(Some) }
}

pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

/// Bytes: a whole number, or text with `B`, `KiB`, `MiB`, `GiB`, `TiB` or their decimal cousins.
pub(super) fn size(value: &Value) -> Option<u64> {
    let Value::String(text) = value else { return whole(value) };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().ok()?;
    let scale = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1u64 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    count.checked_mul(scale)
}

/// Sector, block and page sizes: 1 byte to 1 GiB.
pub(super) fn unit_bytes(value: &Value) -> Option<Option<u64>> {
    optional(value, |v| size(v).filter(|&bytes| (1..=1 << 30).contains(&bytes)))
}

/// `90s`, `1.5h`, `250ms`: nanoseconds. A bare number has no unit and is refused.
pub(super) fn duration_ns(value: &Value) -> Option<u64> {
    let text = value.as_str()?.trim();
    let number = text.bytes().take_while(|c| c.is_ascii_digit() || *c == b'.').count();
    let unit: u128 = match &text[number..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = text[..number].split_once('.').unwrap_or((&text[..number], ""));
    if whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let mut ns = whole.parse::<u64>().ok()? as u128 * unit;
    if !fraction.is_empty() {
        ns += fraction.parse::<u128>().ok()? * unit / 10u128.pow(fraction.len() as u32);
    }
    u64::try_from(ns).ok()
}

/// One name or a list of names; a comma in text separates, unless it is that of a block device's
/// `major,minor`.
pub(super) fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) if is_major_minor(text) => Some(vec![text.clone()]),
        Value::String(text) => {
            let parts: Vec<String> = text.split(',').map(|p| p.trim().to_owned()).collect();
            parts.iter().all(|p| !p.is_empty()).then_some(parts)
        }
        Value::Number(number) => Some(vec![number.to_string()]),
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

/// One text or a list of texts, taken as they are.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

pub(super) fn unit(value: &Value) -> Option<Option<Unit>> {
    optional(value, |v| match v.as_str().and_then(|text| find(UNIT, text)) {
        Some(named) => named,
        None => size(v).filter(|&bytes| (1..=1 << 30).contains(&bytes)).map(Unit::Bytes),
    })
}

pub(super) fn unit_value(unit: Option<Unit>) -> Value {
    match unit {
        Some(Unit::Bytes(bytes)) => bytes.into(),
        Some(Unit::Page) => "page".into(),
        None => Value::Null,
    }
}

/// A table of roles; as a flag `time=ts,offset=3`.
pub(super) fn columns(value: &Value) -> Option<Columns> {
    let mut columns = Columns::default();
    let mut put = |role: &str, column: Column| {
        *columns.role(role.trim())? = Some(column);
        Some(())
    };
    match value {
        Value::Object(map) => {
            for (role, column) in map {
                put(
                    role,
                    match column {
                        Value::String(name) => Column::Name(name.clone()),
                        other => Column::Number(usize::try_from(other.as_u64()?).ok()?),
                    },
                )?;
            }
        }
        Value::String(text) => {
            for part in text.split(',') {
                let (role, column) = part.split_once('=')?;
                let column = column.trim();
                put(
                    role,
                    match column.parse() {
                        Ok(number) => Column::Number(number),
                        Err(_) => Column::Name(column.to_owned()),
                    },
                )?;
            }
        }
        _ => return None,
    }
    Some(columns)
}

pub(super) fn delimiter(value: &Value) -> Option<u8> {
    match value.as_str()? {
        "tab" | "\\t" => Some(b'\t'),
        "blank" | "blanks" | "space" => Some(b' '),
        text if text.len() == 1 => text.bytes().next().filter(|c| !c.is_ascii_alphanumeric()),
        _ => None,
    }
}
