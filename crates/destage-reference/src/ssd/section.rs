//! One table of a configuration: its keys by name, with defaults and least values.

use serde_json::{Map, Value};

/// One table of a configuration; takes note of nothing, so unknown keys are looked for by itself.
pub(crate) struct Section<'a> {
    name: &'static str,
    keys: Option<&'a Map<String, Value>>,
}

impl<'a> Section<'a> {
    /// The table `name` of `all`; a missing one is empty.
    pub(crate) fn of(all: &'a Value, name: &'static str) -> Result<Section<'a>, String> {
        match all.get(name) {
            None | Some(Value::Null) => Ok(Section { name, keys: None }),
            Some(Value::Object(keys)) => Ok(Section { name, keys: Some(keys) }),
            Some(other) => Err(format!("{name}: expected an object, found {other}")),
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.keys.into_iter().flat_map(|keys| keys.keys().map(String::as_str))
    }

    pub(crate) fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.keys().find(|key| !known.contains(key)) {
            Some(key) => Err(format!("{}: unknown key {key}", self.name)),
            None => Ok(()),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.keys?.get(key)
    }

    /// Everything but the keys listed.
    pub(crate) fn without(&self, listed: &[&str]) -> Map<String, Value> {
        let others = self.keys.into_iter().flatten();
        let others = others.filter(|(key, _)| !listed.contains(&key.as_str()));
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub(crate) fn optional(&self, key: &str, min: u64) -> Result<Option<u64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().filter(|&number| number >= min) {
            Some(number) => Ok(Some(number)),
            None => Err(format!(
                "{}: {key}: expected an integer of at least {min}, found {value}",
                self.name
            )),
        }
    }

    pub(crate) fn integer(&self, key: &str, default: u64, min: u64) -> Result<u64, String> {
        Ok(self.optional(key, min)?.unwrap_or(default))
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> Result<bool, String> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| {
                format!("{}: {key}: expected true or false, found {value}", self.name)
            }),
        }
    }

    /// A share of the frames, 0 to 1.
    pub(crate) fn fraction(&self, key: &str, default: f64) -> Result<f64, String> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_f64()
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| format!("{}: {key}: expected 0 to 1, found {value}", self.name)),
        }
    }

    /// One of `words`, the first of which is the default.
    pub(crate) fn word(&self, key: &str, words: &[&'static str]) -> Result<&'static str, String> {
        let Some(value) = self.get(key) else { return Ok(words[0]) };
        let found = value.as_str().and_then(|text| words.iter().find(|word| **word == text));
        found.copied().ok_or_else(|| {
            format!("{}: {key}: expected one of {words:?}, found {value}", self.name)
        })
    }

    /// A non-empty list of integers.
    pub(crate) fn list(&self, key: &str, default: u64) -> Result<Vec<u64>, String> {
        let Some(value) = self.get(key) else { return Ok(vec![default]) };
        let numbers: Option<Vec<u64>> =
            value.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
        numbers.filter(|list| !list.is_empty()).ok_or_else(|| {
            format!("{}: {key}: expected a list of integers, found {value}", self.name)
        })
    }
}
