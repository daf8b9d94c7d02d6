//! Changes to a drive in one word: `ecr[gc_mode=background;cache.hit_ns=100]`.

use super::error::DriveError;
use super::tables::{TABLES, Tables, tables_with};
use crate::config::{Kind, Value, nearest};
use crate::tables::{KEYS, key_of};
use destage_keys::with_semicolons;
use serde_json::Value as Json;

/// Keys, dotted or not, and values as written.
pub(super) type Changes<'a> = Vec<(&'a str, &'a str)>;

/// The drive's name, and the changes.
pub(super) fn split(spec: &str) -> Result<(&str, Changes<'_>), DriveError> {
    let wrong = |what: String| DriveError::Spec { spec: spec.into(), what };
    let Some((name, rest)) = spec.split_once('[') else { return Ok((spec, Vec::new())) };
    let inside = rest.strip_suffix(']').ok_or_else(|| wrong("the closing ] is missing".into()))?;
    let mut changes: Changes<'_> = Vec::new();
    for pair in inside.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        if let Some(meant) = with_semicolons(pair) {
            let name = name.trim();
            return Err(wrong(format!("keys are separated by ; as in {name}[{meant}]")));
        }
        let Some((key, value)) = pair.split_once('=') else {
            return Err(wrong(format!("{pair:?} is no key=value")));
        };
        let (key, value) = (key.trim(), value.trim());
        if changes.iter().any(|&(given, _)| given == key) {
            return Err(wrong(format!("{key} is given twice")));
        }
        changes.push((key, value));
    }
    Ok((name.trim(), changes))
}

/// The tables that the changes make.
pub(super) fn tables(spec: &str, changes: &Changes<'_>) -> Result<Tables, DriveError> {
    let wrong = |what: String| DriveError::Spec { spec: spec.into(), what };
    let mut tables = Tables::default();
    for &(dotted, text) in changes {
        let (table, name) = match dotted.split_once('.') {
            Some((table, name)) => (table, name),
            // For short, as `--placement` has it: `policy` alone is the cache's.
            None if dotted == "placement" => ("placement", "policy"),
            None => match tables_with(dotted).next() {
                Some(table) => (table, dotted),
                None => {
                    let all = KEYS.iter().flat_map(|(_, keys)| *keys);
                    let meant = nearest(dotted, all.map(|key| key.name));
                    return Err(wrong(format!(
                        "unknown key {dotted:?}{meant} (a policy's parameter is cache.KEY, a \
                         reader's option trace.KEY)"
                    )));
                }
            },
        };
        let value = typed(table, name, text);
        let name = name.to_string();
        let twice = match table {
            "device" => tables.device.insert(name, value).is_some(),
            "cache" => tables.cache.insert(name, value).is_some(),
            "host" => tables.host.insert(name, value).is_some(),
            "placement" => tables.placement.insert(name, value).is_some(),
            "ftl" => tables.ftl.insert(name, value).is_some(),
            "trace" => tables.trace.insert(name, Json::String(text.into())).is_some(),
            other => {
                let meant = nearest(other, TABLES.into_iter());
                return Err(wrong(format!(
                    "unknown table {other:?}{meant} (tables: {})",
                    TABLES.join(", ")
                )));
            }
        };
        if twice {
            return Err(wrong(format!("{dotted} is given twice")));
        }
    }
    Ok(tables)
}

/// The value as its key takes it: a single number does for a list of them.
fn typed(table: &str, name: &str, text: &str) -> Value {
    let value = value(text);
    match (key_of(table, name).map(|key| key.kind), &value) {
        (Some(Kind::Ints { .. }), Value::Int(_)) => Value::List(vec![value]),
        // `frames=32MiB` is text, and so is a word that looks like a truth value or a number.
        (Some(Kind::Choice(_)), Value::Bool(_) | Value::Int(_)) => Value::Text(text.into()),
        _ => value,
    }
}

/// A value as it looks: `7`, `0.5`, `true`, `[1,2]`, `"text"`, `text`.
fn value(text: &str) -> Value {
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
        return Value::List(parts.map(value).collect());
    }
    if let Some(inside) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Value::Text(inside.into());
    }
    match text {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    // A digit first: words such as `inf` and `nan` are words.
    if text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) {
        let plain = text.replace('_', "");
        if let Ok(int) = plain.parse() {
            return Value::Int(int);
        }
        if let Ok(real) = plain.parse() {
            return Value::Real(real);
        }
    }
    Value::Text(text.into())
}
