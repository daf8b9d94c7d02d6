//! Reader options from and to keys and values.

use destage_keys::{Field, Key, Kind, Typing, find};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::reader_options::ReaderOptions;
use super::table::OPTIONS;
use crate::error::{Result, TraceError};

/// Beside the keys of a map: which of them are defaults.
const DEFAULTS: &str = "defaults";

/// Keys of 0.2.0, and what they are called now.
const RENAMED: &[(&str, &str)] =
    &[("device", "volume"), ("devices", "volumes"), ("tenant_is_device", "tenant_is_volume")];

impl ReaderOptions {
    /// Reads a `[trace]` table or Python keywords.
    ///
    /// Errors: an unknown key (names the nearest), a value that the key does not take (names what
    /// it takes).
    pub fn from_map(map: &Map<String, Value>) -> Result<Self> {
        let mut options = ReaderOptions::default();
        for (key, value) in map {
            match (key.as_str(), value) {
                (DEFAULTS, Value::Array(names)) => {
                    let names = names.iter().filter_map(Value::as_str);
                    options.defaults = names.map(str::to_owned).collect();
                }
                _ => options.set(key, value)?,
            }
        }
        Ok(options)
    }

    /// Keys that were given and that a format does not have.
    pub fn foreign_to(&self, format: &str) -> Vec<&'static str> {
        let plain = ReaderOptions::default();
        let given = |field: &&Field<Self>| field.get(self) != field.get(&plain);
        let foreign = OPTIONS.iter().filter(|field| !field.key.applies_to(format)).filter(given);
        foreign.map(|field| field.key.name).collect()
    }

    /// Keys that were set and differ in `other`; keys from a file of defaults are left out.
    pub(crate) fn lost_in(&self, other: &Self) -> Vec<&'static str> {
        let plain = ReaderOptions::default();
        let is_default = |name: &str| self.defaults.iter().any(|default| default == name);
        let lost = OPTIONS.iter().filter(|field| {
            let value = field.get(self);
            value != field.get(&plain) && value != field.get(other)
        });
        lost.map(|field| field.key.name).filter(|name| !is_default(name)).collect()
    }

    /// The keys that had an effect on files of these formats, as [`to_map`](Self::to_map).
    pub fn applied_to<'a>(&self, formats: impl Iterator<Item = &'a str>) -> Map<String, Value> {
        let formats: Vec<&str> = formats.collect();
        let mut map = self.to_map();
        map.retain(|key, _| {
            let field = find(OPTIONS, key).expect("what was written is a key");
            formats.is_empty() || formats.iter().any(|format| field.key.applies_to(format))
        });
        map
    }

    /// Sets one key. Numbers, sizes and truth values may also come as text, as from a flag.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        if let Some((_, now)) = RENAMED.iter().find(|(old, _)| *old == key) {
            return Err(usage(format!("{key}: this key of [trace] is {now} now")));
        }
        let field = find(OPTIONS, key).map_err(|unknown| {
            usage(format!("{key}: no such key of [trace]; {}", unknown.hint()))
        })?;
        let given = destage_keys::Value::deserialize(value).expect("every JSON value is a value");
        let set = field.set(self, &given, Typing::Loose);
        set.ok_or_else(|| {
            let written = if matches!(field.key.kind, Kind::OptionalInt { .. } | Kind::Int { .. }) {
                value.as_str().and_then(in_full).unwrap_or_default()
            } else {
                String::new()
            };
            usage(format!("{key}: expected {}, found {value}{written}", takes(&field.key)))
        })
    }

    /// Sets one key from a flag's text.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<()> {
        self.set(key, &Value::String(text.to_owned()))
    }

    /// The keys that differ from their defaults, as `from_map` reads them: for results and the
    /// cache's key.
    pub fn to_map(&self) -> Map<String, Value> {
        let plain = ReaderOptions::default();
        let differ = OPTIONS.iter().filter(|field| field.get(self) != field.get(&plain));
        differ
            .map(|field| {
                (
                    field.key.name.to_owned(),
                    serde_json::to_value(field.get(self)).unwrap_or_default(),
                )
            })
            .collect()
    }
}

/// How `1M` or `1,000` is written as a whole number.
fn in_full(text: &str) -> Option<String> {
    let plain = text.replace([',', '_', ' ', '\''], "");
    let digits = plain.bytes().take_while(u8::is_ascii_digit).count();
    let times = match &*plain[digits..].to_ascii_lowercase() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" | "b" => 1_000_000_000,
        _ => return None,
    };
    let count = plain[..digits].parse::<u64>().ok()?.checked_mul(times)?;
    if count.to_string() == text {
        return None; // written in full, and out of range
    }
    Some(format!(": write {count}"))
}

/// The values that a key takes, as an error message names them.
pub fn takes(key: &Key) -> String {
    match key.kind {
        Kind::OptionalInt { min: 0, .. } => "a whole number".to_owned(),
        Kind::OptionalInt { min, .. } => format!("a whole number from {min}"),
        Kind::OptionalBool => Kind::Bool.to_string(),
        Kind::Choice([most @ .., last]) if !most.is_empty() => {
            format!("{} or {last}", most.join(", "))
        }
        other => other.to_string(),
    }
}

impl serde::Serialize for ReaderOptions {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for ReaderOptions {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        ReaderOptions::from_map(&map).map_err(serde::de::Error::custom)
    }
}

fn usage(message: String) -> TraceError {
    TraceError::usage(message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::choices::{Column, Unit};
    use super::*;

    fn read(value: Value) -> std::result::Result<ReaderOptions, String> {
        serde_json::from_value(value).map_err(|e| e.to_string())
    }

    #[test]
    fn a_table_comes_back_as_it_was_written() {
        let mut table = json!({
            "format": "csv", "on_error": "skip", "max_errors": 5, "max_request_bytes": 1 << 30,
            "allow_truncated": true, "time_origin": "file", "concat": true, "order": "strict",
            "spread": "uniform", "volume": ["hm_0", "hm_1"], "volumes": "separate",
            "wrap": "modulo", "from": "5000000000ns", "for": "7ns", "requests": 9,
            "ops": ["read", "trim"],
            "offset_from": 1, "offset_to": 2, "time_unit": "ps", "block_bytes": 4096,
            "page_bytes": 512, "sector_bytes": 256, "srt_header": false, "event": "Q",
            "only_this_file": true,
            "etw_time": "completion", "etw_flush": true, "object": "opaque", "default_op": "write",
            "tenant_is_volume": true, "columns": {"time": "ts", "offset": 3}, "offset_unit": 8,
            "length_unit": "page", "response_unit": "us", "op_read": ["R"], "op_write": ["W"],
            "op_trim": ["D"], "op_flush": ["F"], "delimiter": ";", "header": false,
        });
        table["fields"] = json!("<u32 page,x4");
        table["bytes_per_token"] = json!(4096);
        (table["resample"], table["resample_block"]) = (json!(3), json!(100));
        let options = read(table.clone()).unwrap();
        assert_eq!(serde_json::to_value(&options).unwrap(), table);
        let keys: Vec<&str> = OPTIONS.iter().map(|field| field.key.name).collect();
        assert!(keys.iter().all(|k| table.get(k).is_some()), "every key of the list is tried here");
    }

    #[test]
    fn the_defaults_of_the_list_are_those_of_the_struct() {
        let mut options = ReaderOptions::default();
        OPTIONS.iter().for_each(|field| field.reset(&mut options));
        assert_eq!(options, ReaderOptions::default());
    }

    #[test]
    fn every_key_refuses_a_wrong_value_and_names_what_it_takes() {
        for field in OPTIONS {
            let (key, takes) = (field.key.name, takes(&field.key));
            let error = read(json!({ key: {"x": {"y": 1}} })).unwrap_err();
            assert_eq!(error, format!("{key}: expected {takes}, found {{\"x\":{{\"y\":1}}}}"));
        }
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = read(json!({"on_eror": "skip"})).unwrap_err();
        assert_eq!(error, "on_eror: no such key of [trace]; did you mean on_error?");
        assert!(
            read(json!({"xyzzy": 1})).unwrap_err().contains("expected one of format, on_error")
        );
    }

    #[test]
    fn flags_give_the_same_as_tables() {
        let mut options = ReaderOptions::default();
        for (key, text) in [
            ("max_request_bytes", "1GiB"),
            ("from", "1.5h"),
            ("volume", "hm_0,hm_1"),
            ("columns", "time=ts,offset=3"),
            ("ops", "read,write"),
            ("header", "true"),
            ("offset_unit", "sector"),
            ("delimiter", "tab"),
        ] {
            options.set_text(key, text).unwrap();
        }
        assert_eq!(options.max_request_bytes, 1 << 30);
        assert_eq!(options.from_ns, Some(5_400_000_000_000));
        assert_eq!(options.volume, ["hm_0", "hm_1"]);
        assert_eq!(options.columns.offset, Some(Column::Number(3)));
        assert_eq!(options.offset_unit, Some(Unit::Bytes(512)));
        assert_eq!(options.delimiter, Some(b'\t'));
        options.set_text("volume", "8,16").unwrap();
        assert_eq!(options.volume, ["8,16"]);
        for bad in ["90", "h", "-1s", "1.2.3s", ""] {
            assert!(options.set_text("from", bad).is_err(), "{bad:?}");
        }
    }
}
