//! A table of keys and values, read key by key; what nobody asked for is an error.

use super::keys::{IfAbsent, Key, Takes};
use super::words::Word;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
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

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(int) => match (i64::try_from(*int), u64::try_from(*int)) {
                (Ok(int), _) => serializer.serialize_i64(int),
                (_, Ok(int)) => serializer.serialize_u64(int),
                // JSON has no larger integers; no key and no parameter takes one either.
                _ => serializer.serialize_f64(*int as f64),
            },
            Value::Real(real) => serializer.serialize_f64(*real),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(values) => values.serialize(serializer),
            Value::Null => serializer.serialize_unit(),
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
        /// The table of the first.
        table: &'static str,
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

impl ConfigError {
    /// Table and key to point at; the key is empty where the table as a whole is meant.
    pub fn place(&self) -> Option<(&'static str, &str)> {
        match self {
            ConfigError::Unknown { table, key, .. } => Some((table, key)),
            ConfigError::Value { table, key, .. } => Some((table, key)),
            ConfigError::Together { table, one, .. } => Some((table, one.split(' ').next()?)),
            ConfigError::Impossible { table, .. } => Some((table, "")),
        }
    }
}

/// Reads a table by the list of keys.
pub(crate) struct Reader<'a> {
    name: &'static str,
    table: &'a Table,
    keys: Vec<&'static Key>,
}

impl<'a> Reader<'a> {
    /// By these keys; errors call the table by the name.
    pub fn of(
        name: &'static str,
        table: &'a Table,
        keys: impl Iterator<Item = &'static Key>,
    ) -> Self {
        Reader { name, table, keys: keys.collect() }
    }

    /// The key is there.
    pub fn given(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The key is there, and its value is not JSON's way to say that it is not.
    pub fn says(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| *value != Value::Null)
    }

    fn key(&self, name: &str) -> &'static Key {
        self.find(name).expect("every key that is read is in the list of keys")
    }

    fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().copied().find(|key| key.name == name)
    }

    /// A whole number.
    pub fn int(&self, name: &'static str) -> Result<u64, ConfigError> {
        let Takes::Int(range) = &self.key(name).takes else { unreachable!("{name} is a number") };
        self.int_at_least(name, *range.start())
    }

    /// The same where other keys raise the least value.
    pub fn int_at_least(&self, name: &'static str, least: u64) -> Result<u64, ConfigError> {
        let IfAbsent::Int(default) = self.key(name).default else {
            unreachable!("{name} has a number as its default")
        };
        self.int_or(name, least, default)
    }

    /// The same where the default follows from other keys.
    pub fn int_or(&self, name: &'static str, least: u64, default: u64) -> Result<u64, ConfigError> {
        let Takes::Int(range) = &self.key(name).takes else { unreachable!("{name} is a number") };
        let Some(value) = self.table.get(name) else { return Ok(default) };
        let range = least..=*range.end();
        in_range(value, &range)
            .ok_or_else(|| self.value(name, &Takes::Int(range).to_string(), value))
    }

    /// The value of a key, checked, or its default: of a number, a truth value or a word.
    pub fn plain(&self, key: &'static Key) -> Result<Value, ConfigError> {
        let name = key.name;
        Ok(match key.takes {
            Takes::Int(_) => Value::Int(self.int(name)?.into()),
            Takes::Real(_) => Value::Real(self.real(name)?),
            Takes::Bool => Value::Bool(self.bool(name)?),
            Takes::Word(words) => self.parsed(name, |value| match value {
                Value::Text(text) if words.contains(&text.as_str()) => Some(value.clone()),
                _ => None,
            })?,
            Takes::Ints(_) | Takes::Else(_) => unreachable!("{name} is no plain key"),
        })
    }

    /// A key that has no meaning here is a good one all the same: a mistyped value is a mistake.
    pub fn check(&self, name: &'static str) -> Result<(), ConfigError> {
        let key = self.key(name);
        match &key.takes {
            _ if !self.given(name) => Ok(()),
            Takes::Int(range) => self.int_or(name, *range.start(), 0).map(drop),
            Takes::Ints(_) => self.list(name).map(drop),
            Takes::Else(_) => Ok(()), // only its reader knows what it takes
            _ => self.plain(key).map(drop),
        }
    }

    /// A non-empty list of whole numbers.
    pub fn list(&self, name: &'static str) -> Result<Vec<u64>, ConfigError> {
        let key = self.key(name);
        let (Takes::Ints(range), IfAbsent::List(default)) = (&key.takes, key.default) else {
            unreachable!("{name} is a list")
        };
        let ints = |value: &Value| match value {
            Value::List(values) if !values.is_empty() => {
                values.iter().map(|value| in_range(value, range)).collect()
            }
            _ => None,
        };
        match self.table.get(name) {
            None => Ok(vec![default]),
            Some(_) => self.parsed(name, ints),
        }
    }

    /// A number; a whole one does, too.
    pub fn real(&self, name: &'static str) -> Result<f64, ConfigError> {
        let key = self.key(name);
        let (Takes::Real(range), IfAbsent::Real(default)) = (&key.takes, key.default) else {
            unreachable!("{name} is a number")
        };
        match self.table.get(name) {
            None => Ok(default),
            Some(_) => self.parsed(name, |value| {
                let real = match value {
                    Value::Real(real) => *real,
                    Value::Int(int) => *int as f64,
                    _ => return None,
                };
                (range.contains(&real) && real.is_finite()).then_some(real)
            }),
        }
    }

    pub fn bool(&self, name: &'static str) -> Result<bool, ConfigError> {
        self.parsed(name, |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    pub fn word<T: Word>(&self, name: &'static str) -> Result<T, ConfigError> {
        self.parsed(name, |value| match value {
            Value::Text(text) => T::parse(text),
            _ => None,
        })
    }

    /// A value that `parse` understands; so it does the default.
    pub fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let key = self.key(name);
        match self.table.get(name) {
            Some(value) => {
                parse(value).ok_or_else(|| self.value(name, &key.takes.to_string(), value))
            }
            None => {
                let default = match key.default {
                    IfAbsent::Bool(value) => Value::Bool(value),
                    IfAbsent::Word(text) => Value::Text(text.into()),
                    _ => unreachable!("{name} has another kind of default"),
                };
                Ok(parse(&default).expect("a default is a value of its key"))
            }
        }
    }

    pub fn value(&self, key: &'static str, expected: &str, found: &Value) -> ConfigError {
        ConfigError::Value {
            table: self.name,
            key,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    pub fn impossible(&self, what: String) -> ConfigError {
        ConfigError::Impossible { table: self.name, what }
    }

    /// Keys that are not in the list.
    pub fn rest(&self) -> Table {
        let unknown = self.table.iter().filter(|(key, _)| self.find(key).is_none());
        unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Every key of the table is in the list.
    pub fn end(&self) -> Result<(), ConfigError> {
        self.end_of("")
    }

    /// The same; `whose` says whose keys they are, after them.
    pub fn end_of(&self, whose: &str) -> Result<(), ConfigError> {
        let Some((key, _)) = self.rest().into_iter().next() else { return Ok(()) };
        let known = || self.keys.iter().map(|key| key.name);
        let list = known().collect::<Vec<_>>().join(", ");
        Err(ConfigError::Unknown {
            table: self.name,
            meant: nearest(&key, known()),
            known: format!("{}{whose}", if list.is_empty() { "none" } else { &list }),
            key,
        })
    }
}

fn in_range(value: &Value, range: &RangeInclusive<u64>) -> Option<u64> {
    match value {
        Value::Int(int) => u64::try_from(*int).ok().filter(|int| range.contains(int)),
        _ => None,
    }
}

/// The nearest known name as a question, ready to be added; empty if none is near.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known.map(|known| (edits(given, known), known)).min();
    let near = near.filter(|&(edits, known)| edits <= 1 + known.len().min(given.len()) / 3);
    near.map(|(_, near)| format!(", did you mean {near}?")).unwrap_or_default()
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
