//! A table of keys and values, read key by key; what nobody asked for is an error.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

/// A table: keys in any order, each once.
pub type Table = BTreeMap<String, Value>;

/// A value as TOML and JSON have it.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number with a point or an exponent.
    Real(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// JSON's `null`.
    Null,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Real(r) => write!(f, "{r:?}"),
            Value::Text(t) => write!(f, "{t:?}"),
            Value::List(values) => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Value::Null => f.write_str("null"),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a string, true, false or a list")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Int(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Int(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Real(value))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element()? {
                    values.push(value);
                }
                Ok(Value::List(values))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A configuration that cannot be run (exit status 2).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// No such key.
    #[error("{table}: unknown key {key:?}{meant} (known: {known})")]
    Unknown {
        /// The table.
        table: &'static str,
        /// The key as given.
        key: String,
        /// The nearest one, as a question; empty if none is near.
        meant: String,
        /// All keys.
        known: String,
    },
    /// A value of the wrong type or out of range.
    #[error("{table}: {key} = {found}: expected {expected}")]
    Value {
        /// The table.
        table: &'static str,
        /// The key.
        key: &'static str,
        /// Type and range.
        expected: String,
        /// The value as given.
        found: String,
    },
    /// Two keys that exclude each other.
    #[error("{one} excludes {other}: it needs {need}")]
    Together {
        /// One of them, with its value.
        one: &'static str,
        /// The other one.
        other: &'static str,
        /// What would be right.
        need: &'static str,
    },
    /// Values that are good one by one and impossible together.
    #[error("{table}: {what}")]
    Impossible {
        /// The table.
        table: &'static str,
        /// Which, and why.
        what: String,
    },
}

/// Reads a table and remembers which keys it was asked for.
pub(super) struct Reader<'a> {
    name: &'static str,
    table: &'a Table,
    known: BTreeSet<&'static str>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: &'static str, table: &'a Table) -> Self {
        Reader { name, table, known: BTreeSet::new() }
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.insert(key);
        self.table.get(key)
    }

    /// The key is there.
    pub(super) fn given(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn int(
        &mut self,
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        match self.take(key) {
            None => Ok(default),
            Some(value) => self.in_range(key, value, value, &range),
        }
    }

    fn in_range(
        &self,
        key: &'static str,
        number: &Value,
        whole: &Value,
        range: &RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let found = match number {
            Value::Int(int) => u64::try_from(*int).ok().filter(|int| range.contains(int)),
            _ => None,
        };
        found.ok_or_else(|| {
            let what =
                if matches!(whole, Value::List(_)) { "a list of integers" } else { "integer" };
            let expected = if *range.end() >= u64::MAX / 4 {
                format!("{what} >= {}", range.start())
            } else {
                format!("{what} {}..{}", range.start(), range.end())
            };
            self.value(key, &expected, whole)
        })
    }

    /// A non-empty list of integers; `[default]` if it is not given.
    pub(super) fn list(
        &mut self,
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<Vec<u64>, ConfigError> {
        match self.take(key) {
            None => Ok(vec![default]),
            Some(whole @ Value::List(values)) if !values.is_empty() => {
                values.iter().map(|value| self.in_range(key, value, whole, &range)).collect()
            }
            Some(other) => {
                Err(self.value(key, "a non-empty list of integers, page type 0 first", other))
            }
        }
    }

    pub(super) fn bool(&mut self, key: &'static str, default: bool) -> Result<bool, ConfigError> {
        match self.take(key) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(*value),
            Some(other) => Err(self.value(key, "true or false", other)),
        }
    }

    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        default: T,
        words: &[(&'static str, T)],
    ) -> Result<T, ConfigError> {
        let Some(value) = self.take(key) else { return Ok(default) };
        let found = words.iter().find(|(word, _)| matches!(value, Value::Text(t) if t == word));
        found.map(|&(_, word)| word).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
            self.value(key, &words.join(", "), value)
        })
    }

    pub(super) fn value(&self, key: &'static str, expected: &str, found: &Value) -> ConfigError {
        ConfigError::Value {
            table: self.name,
            key,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    pub(super) fn impossible(&self, what: String) -> ConfigError {
        ConfigError::Impossible { table: self.name, what }
    }

    /// Keys that nobody asked for.
    pub(super) fn rest(&self) -> Table {
        let unknown = self.table.iter().filter(|(key, _)| !self.known.contains(key.as_str()));
        unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Every key of the table was asked for.
    pub(super) fn end(&self) -> Result<(), ConfigError> {
        let Some((key, _)) = self.rest().into_iter().next() else { return Ok(()) };
        let near = self.known.iter().map(|&known| (edits(&key, known), known)).min();
        let near = near.filter(|&(edits, known)| edits <= 1 + known.len().min(key.len()) / 3);
        Err(ConfigError::Unknown {
            table: self.name,
            meant: near.map(|(_, near)| format!(", did you mean {near}?")).unwrap_or_default(),
            known: self.known.iter().copied().collect::<Vec<_>>().join(", "),
            key,
        })
    }
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, in_a) in a.chars().enumerate() {
        let mut replaced = row[0];
        row[0] = i + 1;
        for (j, &in_b) in b.iter().enumerate() {
            let replace = replaced + usize::from(in_a != in_b);
            replaced = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(replaced + 1);
        }
    }
    row[b.len()]
}
