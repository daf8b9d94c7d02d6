//! Options of all runs of a call: one struct, read from JSON and kept in results, and one list of
//! the options that users may set ([`RUN_OPTIONS`]). A new option is a field here, a row there, the
//! place where it acts, and a key of Python's `RunOptions`.

use crate::cost::Cost;
use crate::mounted::Mounted;
use crate::option_table::RUN_OPTIONS;
use crate::tier_options::TierOptions;
use destage_policies::MOST_PAGES_PER_BLOCK;
use destage_policies::params::nearest;
use destage_replay::fill::Filled;
use destage_replay::input::Input;
use destage_replay::warmup::Warmup;
use destage_ssd::HostConfig;
use destage_ssd::config::TrimMode;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Options of a run that hold for all policies of a comparison.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOptions {
    /// Warm-up: replayed, not counted. In the user's or in the results' spelling.
    #[serde(deserialize_with = "warmup")]
    pub warmup: Warmup,
    /// A write miss reads the page from flash first; counts, never decides.
    #[serde(deserialize_with = "flag")]
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last access; counts, never decides.
    #[serde(deserialize_with = "flag")]
    pub flush_at_end: bool,
    /// Assert the invariants at every access; some ten times slower.
    #[serde(deserialize_with = "flag")]
    pub check: bool,
    /// Cost model. As people write it, or as results have it.
    #[serde(deserialize_with = "cost")]
    pub cost: Option<Cost>,
    /// Pages of an erase block, for policies that cluster by it; with a drive, the drive's.
    #[serde(deserialize_with = "block_pages", skip_serializing_if = "Option::is_none")]
    pub pages_per_block: Option<u32>,
    /// Pages that exist and may be padded; with a drive, the drive's.
    #[serde(deserialize_with = "pages", skip_serializing_if = "Option::is_none")]
    pub device_pages: Option<u64>,
    /// Treatment of the trace's trims; `None`: the device's setting, without a device `ignore`.
    #[serde(deserialize_with = "trim", skip_serializing_if = "Option::is_none")]
    pub trim: Option<Trim>,
    /// With a drive: keep how the run developed. Nothing that a result must know: it is there or
    /// it is not.
    #[serde(deserialize_with = "flag", skip_serializing)]
    pub profile: bool,
    /// A flash tier below the cache, and requests of a language model.
    #[serde(flatten)]
    pub tiers: TierOptions,
    /// The drive behind the cache.
    #[serde(skip)]
    pub drive: Option<Arc<Mounted>>,
}

/// Treatment of the trace's trims (`docs/spec/device-today.md` 4).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trim {
    /// Trims are skipped.
    #[default]
    Ignore,
    /// Their pages leave the cache without being written, and the drive.
    Drop,
}

impl From<TrimMode> for Trim {
    fn from(mode: TrimMode) -> Trim {
        match mode {
            TrimMode::Ignore => Trim::Ignore,
            TrimMode::Drop => Trim::Drop,
        }
    }
}

impl From<Trim> for TrimMode {
    fn from(trim: Trim) -> TrimMode {
        match trim {
            Trim::Ignore => TrimMode::Ignore,
            Trim::Drop => TrimMode::Drop,
        }
    }
}

/// Two runs were asked for the same; which drive is behind the cache is told by its name.
impl PartialEq for RunOptions {
    fn eq(&self, other: &Self) -> bool {
        let name = |options: &RunOptions| options.drive.as_ref().map(|drive| drive.name.clone());
        serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
            && self.profile == other.profile
            && name(self) == name(other)
    }
}

impl RunOptions {
    /// Treatment of trims in front of this host, or without a device; the option takes precedence.
    pub fn trims(&self, host: Option<&HostConfig>) -> Trim {
        let of_host = host.map_or(Trim::Ignore, |host| host.trim.into());
        self.trim.unwrap_or(of_host)
    }

    /// Whether trims drop pages, in front of the mounted device if there is one.
    pub fn drops_trims(&self) -> bool {
        self.trims(self.drive.as_ref().map(|drive| &drive.host)) == Trim::Drop
    }

    /// The options with the end of a warm-up `auto` determined, for runs of `frames` frames each
    /// over this input.
    pub fn with_moment(&self, input: &Input<'_>, frames: &[u32]) -> RunOptions {
        let mut options = self.clone();
        if self.warmup == Warmup::Auto(None) {
            let found = Filled::of(input, self.drops_trims(), frames, 0);
            options.warmup = Warmup::Auto(Some(found));
        }
        options
    }

    /// Reads a JSON object; what is absent or null is left at its default.
    ///
    /// # Errors
    ///
    /// A sentence that names the option, what was expected and what was found.
    pub fn from_json(text: &str) -> Result<RunOptions, String> {
        let mut given: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| format!("options: {e}"))?;
        given.retain(|_, value| !value.is_null());
        for (key, value) in &given {
            if !RUN_OPTIONS.iter().any(|option| option.name == key) {
                return Err(unknown(key));
            }
            // One at a time: the reader of an option knows its value and not its name.
            let alone = Map::from_iter([(key.clone(), value.clone())]);
            serde_json::from_value::<RunOptions>(alone.into()).map_err(|e| match key.as_str() {
                "warmup" | "cost" if value.is_string() => e.to_string(),
                key => format!("{key}: {e}"),
            })?;
        }
        let options: RunOptions =
            serde_json::from_value(given.into()).map_err(|e| format!("options: {e}"))?;
        options.tiers.check()?;
        options.check_prompts()?;
        Ok(options)
    }

    /// Blocks of prompts are computed and read: no option about writes does anything.
    fn check_prompts(&self) -> Result<(), String> {
        let of_writes = [
            ("fetch_on_write_miss", self.fetch_on_write_miss),
            ("flush_at_end", self.flush_at_end),
        ];
        match of_writes.iter().find(|(_, is_on)| *is_on && self.tiers.kv) {
            Some((key, _)) => Err(format!(
                "kv (--kv) excludes {key} (--{}): no block is written",
                key.replace('_', "-")
            )),
            None => Ok(()),
        }
    }
}

fn unknown(key: &str) -> String {
    let known = RUN_OPTIONS.iter().map(|option| option.name);
    let meant = match nearest(key, known.clone()) {
        Some(near) => format!(", did you mean {near}?"),
        None => String::new(),
    };
    let known: Vec<&str> = known.collect();
    format!("options: unknown option {key:?}{meant} (known: {})", known.join(", "))
}

fn expected<E: Error>(what: &str, found: &Value) -> E {
    E::custom(format!("expected {what}, got {found}"))
}

fn flag<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let found = Value::deserialize(value)?;
    found.as_bool().ok_or_else(|| expected("true or false", &found))
}

fn warmup<'de, D: Deserializer<'de>>(value: D) -> Result<Warmup, D::Error> {
    match Value::deserialize(value)? {
        Value::String(text) => Warmup::parse(&text).map_err(D::Error::custom),
        kept @ Value::Object(_) => serde_json::from_value(kept).map_err(D::Error::custom),
        other => Err(expected("text", &other)),
    }
}

fn cost<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Cost>, D::Error> {
    let text = match Value::deserialize(value)? {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        // Read by the same rules, ranges included.
        Value::Object(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
            pairs.join(",")
        }
        other => return Err(expected("text", &other)),
    };
    Cost::parse(&text).map(Some).map_err(D::Error::custom)
}

fn trim<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Trim>, D::Error> {
    let found = Value::deserialize(value)?;
    match found.as_str() {
        Some("ignore") => Ok(Some(Trim::Ignore)),
        Some("drop") => Ok(Some(Trim::Drop)),
        _ => Err(expected("ignore or drop", &found)),
    }
}

fn whole<'de, D: Deserializer<'de>>(value: D, max: u64) -> Result<Option<u64>, D::Error> {
    let found = Value::deserialize(value)?;
    if found.is_null() {
        return Ok(None);
    }
    let range = if max == u64::MAX { ">= 1".to_owned() } else { format!("1..{max}") };
    match found.as_u64().filter(|pages| (1..=max).contains(pages)) {
        Some(pages) => Ok(Some(pages)),
        None => Err(expected(&format!("an integer {range}, pages"), &found)),
    }
}

fn pages<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    whole(value, u64::MAX)
}

fn block_pages<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    // In range, so it fits.
    Ok(whole(value, MOST_PAGES_PER_BLOCK.into())?.map(|pages| pages as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option_table::OptionKind;

    #[test]
    fn options_are_read_as_people_write_them_and_as_results_have_them() {
        let text = r#"{"warmup": "10%", "cost": "read=1,write=118", "check": true,
            "pages_per_block": 32, "device_pages": null}"#;
        let read = RunOptions::from_json(text).unwrap();
        assert_eq!(read.warmup, Warmup::Percent(10.0));
        assert_eq!(read.cost, Some(Cost { read: 1, write: 118 }));
        assert_eq!((read.check, read.flush_at_end), (true, false));
        assert_eq!((read.pages_per_block, read.device_pages), (Some(32), None));
        let kept = serde_json::to_string(&read).unwrap();
        assert_eq!(RunOptions::from_json(&kept).unwrap(), read);
    }

    #[test]
    fn an_option_goes_before_a_drive_and_a_drive_before_the_default() {
        let read = |text: &str| RunOptions::from_json(text).unwrap();
        let device = destage_ssd::Drive::preset("small").expect("a preset").device;
        let ignores = destage_ssd::Drive::preset("small").expect("a preset").host;
        let drops = ignores.with_trim(TrimMode::Drop, &device).expect("first come, first served");
        for (text, host, expected) in [
            ("{}", None, Trim::Ignore),
            ("{}", Some(&ignores), Trim::Ignore),
            ("{}", Some(&drops), Trim::Drop),
            (r#"{"trim": "ignore"}"#, Some(&drops), Trim::Ignore),
            (r#"{"trim": "drop"}"#, Some(&ignores), Trim::Drop),
            (r#"{"trim": "drop"}"#, None, Trim::Drop),
        ] {
            assert_eq!(read(text).trims(host), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_name_the_option_what_was_expected_and_what_was_found() {
        for (text, expected) in [
            (r#"{"cost": 3}"#, "cost: expected text, got 3"),
            (r#"{"warmup": 10}"#, "warmup: expected text, got 10"),
            (
                r#"{"warmup": "10"}"#,
                "warm-up \"10\": expected auto, none, full, or e.g. 10%, 100000r, 60s",
            ),
            (r#"{"cost": {"read": 0, "write": 1}}"#, "read = 0: expected an integer 1..4294967295"),
            (r#"{"check": "yes"}"#, "check: expected true or false, got \"yes\""),
            (r#"{"trim": "discard"}"#, "trim: expected ignore or drop, got \"discard\""),
            (r#"{"device_pages": 0}"#, "device_pages: expected an integer >= 1, pages, got 0"),
            (r#"{"pages_per_block": true}"#, "pages_per_block: expected an integer 1.."),
            (
                r#"{"flush_at_ends": true}"#,
                "unknown option \"flush_at_ends\", did you mean flush_at_end?",
            ),
            (
                r#"{"kv": true, "flush_at_end": true}"#,
                "kv (--kv) excludes flush_at_end (--flush-at-end): no block is written",
            ),
            (
                r#"{"kv": true, "fetch_on_write_miss": true}"#,
                "kv (--kv) excludes fetch_on_write_miss (--fetch-on-write-miss)",
            ),
        ] {
            let error = RunOptions::from_json(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    /// A value of an option of the third tier, and the options that it needs.
    fn of_tier3(name: &str) -> String {
        let value = match name {
            "tier3" => "\"lru\"",
            "tier3_cache" => "\"9p\"",
            "tier3_admit" => "\"nth\"",
            "tier3_offer" => "\"inserted\"",
            "tier3_promote" => "\"move\"",
            "tier3_admit_dirty" => "\"always\"",
            _ => "7",
        };
        let needed =
            [("tier2", "lru"), ("tier2_cache", "9p"), ("tier3", "lru"), ("tier3_cache", "9p")];
        let others = needed.iter().filter(|(key, _)| *key != name);
        others.fold(value.to_owned(), |all, (key, given)| format!(r#"{all}, "{key}": "{given}""#))
    }

    #[test]
    fn every_row_is_a_field_with_the_default_that_it_names_and_every_field_has_a_row() {
        let all = RunOptions {
            pages_per_block: Some(1),
            device_pages: Some(1),
            trim: Some(Trim::Drop),
            ..RunOptions::default()
        };
        let Ok(Value::Object(kept)) = serde_json::to_value(&all) else {
            panic!("a struct is an object")
        };
        for name in kept.keys() {
            assert!(RUN_OPTIONS.iter().any(|option| option.name == name), "{name}");
        }
        for option in RUN_OPTIONS {
            let value = match option.kind {
                OptionKind::Flag => "true",
                OptionKind::Whole if option.name.starts_with("backing") => r#"7, "tier2": "lru""#,
                OptionKind::Whole if option.name == "tier2_read_ns" => r#"7, "tier2": "lru""#,
                _ if option.name.starts_with("tier3") => &of_tier3(option.name),
                OptionKind::Whole if option.name == "token_ns" => r#"7, "kv": true"#,
                OptionKind::Whole if option.name == "double_tokens" => {
                    r#"7, "kv": true, "token_ns": 9"#
                }
                OptionKind::Whole => "7",
                OptionKind::Text if option.name == "tier2" => r#""lru", "tier2_cache": "9p""#,
                OptionKind::Text if option.name == "tier2_cache" => r#""9p", "tier2": "lru""#,
                OptionKind::Text if option.name == "admit" => {
                    r#""nth", "tier2": "lru", "tier2_cache": "9p""#
                }
                OptionKind::Text if option.name == "offer" => {
                    r#""inserted", "tier2": "lru", "tier2_cache": "9p""#
                }
                OptionKind::Text if option.name == "promote" => {
                    r#""move", "tier2": "lru", "tier2_cache": "9p""#
                }
                OptionKind::Text if option.name == "admit_dirty" => {
                    r#""always", "tier2": "lru", "tier2_cache": "9p""#
                }
                OptionKind::Text if option.name == "tier2_clean" => r#""dirty", "tier2": "lru""#,
                OptionKind::Text if option.name == "backing" => r#""disk", "tier2": "lru""#,
                OptionKind::Text if option.name == "touch" => r#""head-first", "kv": true"#,
                OptionKind::Text if option.name == "cost" => r#""read=1,write=2""#,
                OptionKind::Text if option.name == "trim" => r#""drop""#,
                OptionKind::Text if option.name == "ttl" => r#""1h""#,
                OptionKind::Text if option.name == "pin" => r#""0-1MiB""#,
                OptionKind::Text if option.name == "tier2_pin" => r#""0-1MiB", "tier2": "lru""#,
                OptionKind::Text => r#""10%""#,
            };
            let read = RunOptions::from_json(&format!(r#"{{"{}": {value}}}"#, option.name));
            assert_ne!(read.unwrap(), RunOptions::default(), "{} is not read", option.name);
        }
    }
}
