//! A table of keys and values, read key by key; unread keys are errors.

use super::keys::takes;
use destage_keys::{AsValue, Key, Kind, Typing, Value, find};
use std::collections::BTreeMap;

/// A table: keys in any order, each once.
pub type Table = BTreeMap<String, Value>;

/// A configuration that cannot be run (exit status 2).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// No such key.
    #[error("{table}: unknown key {key:?}{meant} ({known})")]
    Unknown {
        /// The table.
        table: &'static str,
        /// The key as given.
        key: String,
        /// The nearest one, as a question; empty if none is near.
        meant: String,
        /// All keys; of many, the command that lists them.
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
        /// The combination that would be accepted.
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
        self.table.get(key).is_some_and(|value| *value != Value::None)
    }

    fn key(&self, name: &str) -> &'static Key {
        let key = self.keys.iter().copied().find(|key| key.name == name);
        key.expect("every key that is read is in the list of keys")
    }

    /// The value of a key, or its default.
    pub fn get<T: AsValue>(&self, name: &'static str) -> Result<T, ConfigError> {
        self.typed(name, self.key(name).kind)
    }

    /// The value of a key, at least `least`, a bound that follows from other keys.
    pub fn at_least<T: AsValue>(&self, name: &'static str, least: u64) -> Result<T, ConfigError> {
        self.typed(name, self.key(name).kind.at_least(least))
    }

    /// The value of a key whose default follows from other keys.
    pub fn or<T: AsValue>(
        &self,
        name: &'static str,
        least: u64,
        default: T,
    ) -> Result<T, ConfigError> {
        if self.given(name) { self.at_least(name, least) } else { Ok(default) }
    }

    fn typed<T: AsValue>(&self, name: &'static str, kind: Kind) -> Result<T, ConfigError> {
        let value = self.checked(name, kind)?;
        // A form of its own is checked by its type.
        T::of(&value).ok_or_else(|| self.value(name, &takes(kind), &value))
    }

    /// The value of a key, checked, or its default.
    pub fn plain(&self, key: &'static Key) -> Result<Value, ConfigError> {
        self.checked(key.name, key.kind)
    }

    fn checked(&self, name: &'static str, kind: Kind) -> Result<Value, ConfigError> {
        match self.table.get(name) {
            Some(found) => {
                kind.read(found, Typing::Exact).ok_or_else(|| self.value(name, &takes(kind), found))
            }
            None => {
                let default = self.key(name).default.value();
                Ok(default.expect("what has no default of its own is read with one"))
            }
        }
    }

    /// Checks the value of a key that has no effect here: a wrong type is an error.
    pub fn check(&self, name: &'static str) -> Result<(), ConfigError> {
        if self.given(name) { self.plain(self.key(name)).map(drop) } else { Ok(()) }
    }

    pub fn value(&self, key: &'static str, expected: &str, found: &Value) -> ConfigError {
        ConfigError::Value {
            table: self.name,
            key,
            expected: expected.to_string(),
            found: match found {
                Value::None => "null".into(), // tables have it from JSON alone
                found => found.to_string(),
            },
        }
    }

    pub fn impossible(&self, what: String) -> ConfigError {
        ConfigError::Impossible { table: self.name, what }
    }

    /// Keys that are not in the list.
    pub fn rest(&self) -> Table {
        let known = |name: &String| self.keys.iter().any(|key| key.name == name);
        let unknown = self.table.iter().filter(|(key, _)| !known(key));
        unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Every key of the table is in the list.
    pub fn end(&self) -> Result<(), ConfigError> {
        self.end_of("")
    }

    /// Every key of the table is in the list. The message ends with `whose`, the owner of the keys.
    pub fn end_of(&self, whose: &str) -> Result<(), ConfigError> {
        for given in self.table.keys() {
            if let Err(unknown) = find(self.keys.iter().copied(), given) {
                let meant = unknown.question();
                let known = match unknown.known.len() {
                    0 => format!("known: none{whose}"),
                    1..=MOST_LISTED => format!("known: {}{whose}", unknown.list()),
                    _ => LISTS_ALL.into(),
                };
                return Err(ConfigError::Unknown {
                    table: self.name,
                    meant,
                    known,
                    key: unknown.name,
                });
            }
        }
        Ok(())
    }
}

/// Most keys that an error lists.
const MOST_LISTED: usize = 16;
const LISTS_ALL: &str = "`destage devices --keys` lists all";

/// The nearest known name as a question, ready to be added; empty if none is near.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = destage_keys::nearest(given, known);
    near.map(|near| format!(", did you mean {near}?")).unwrap_or_default()
}
