//! A drive by name or from a TOML file: the presets, files, and changes to either.
//!
//! ```text
//!  ecr                                    a preset
//!  ecr[gc_mode=background;op_permille=70] the same with two keys changed
//!  my.toml                                a file with the tables below
//!  my.toml[cache.hit_ns=100]              a key of another table
//! ```
//!
//! A file has `[device]` and optionally `[cache]`, `[host]`, `[placement]`, `[ftl]` and
//! `[trace]`. The key
//! `preset` of `[device]` names a preset that it builds on: what the file gives goes before what
//! the preset gives, key by key. `docs/reference/device-keys.md` lists presets and keys.

mod changed;
mod error;
mod extended;
mod file;
mod options;
mod presets;
mod spec;
mod spelled;
mod tables;

pub use error::{DriveError, Fault};
pub use options::{DEVICE_OPTIONS, DeviceOption};
pub use presets::{PRESETS, Preset};
pub use spelled::spelling_of;
pub use tables::TABLES;

use crate::config::{ConfigError, DeviceConfig, HostMode, PlacementConfig, Table, Value, nearest};
use crate::ftl::{self, FTLS};
use crate::saturation::Saturation;
use crate::tables::{
    CacheDefaults, HostConfig, Threshold, key_of, with_specified_wait, without_effect,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::path::Path;
use tables::{Tables, tables_with};

/// A drive, and what its file says to the runs in front of it.
///
/// As JSON it is the record from which a run can be made again: every key with its value, defaults
/// filled in, so that a preset that changes later changes no old result.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Drive {
    /// As a table of results names it: the preset or the file's stem, and the keys changed.
    pub name: String,
    /// The preset it is or builds on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The drive.
    pub device: DeviceConfig,
    /// Defaults of the cache for runs in front of this device.
    pub cache: CacheDefaults,
    /// The host.
    pub host: HostConfig,
    /// Placement policy.
    #[serde(skip_serializing_if = "PlacementConfig::is_none")]
    pub placement: PlacementConfig,
    /// Parameters of the FTL, as the table `[ftl]` has them; `page` has none.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub ftl: Table,
    /// Warnings for the reader of a run: keys that were given and have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The preset, the file or a change says what happens to pages beyond the drive.
    pub states_address_mode: bool,
    /// Options for the trace's reader, which checks them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub trace: Map<String, Json>,
}

/// JSON record of a drive, as [`Drive::to_json`] writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    preset: Option<String>,
    device: Table,
    cache: Table,
    host: Table,
    #[serde(default)]
    placement: Table,
    #[serde(default)]
    ftl: Table,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    states_address_mode: bool,
    #[serde(default)]
    trace: Map<String, Json>,
}

/// Keys that were given another value than the FTL lets them have, each in a sentence.
///
/// Keys without effect that the preset itself gives are not reported.
fn useless_keys(device: &DeviceConfig, given: &Table, preset: Option<&str>) -> Vec<String> {
    let ftl = device.ftl.info();
    let comes_to = serde_json::to_value(device).unwrap_or_default();
    let useless = without_effect(ftl).filter_map(|(key, whose)| {
        let value = given.get(key)?;
        let json = serde_json::to_value(value).ok();
        let matters = json.is_none_or(|json| {
            comes_to.get(key) != Some(&json)
                && !is_default(key, &json)
                && !preset.is_some_and(|name| says(name, key, &json))
        });
        let name = ftl.name;
        matters.then(|| {
            format!("{key} = {value} has no effect: it belongs to ftl = {whose}, this is {name}")
        })
    });
    useless.collect()
}

/// The preset of this name has this value, by itself or by what follows from it.
fn says(preset: &str, key: &str, value: &Json) -> bool {
    Drive::preset(preset).is_ok_and(|drive| drive.to_json()["device"].get(key) == Some(value))
}

/// The value is the one that the key has if it is not given.
fn is_default(key: &str, value: &Json) -> bool {
    let default = key_of("device", key).map(|key| key.default.to_string());
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
    default.is_some_and(|default| default == text) || key == "striping" && text == "0"
}

/// The drives of papers keep what `docs/spec/device.md` says, so that their figures can be made
/// again.
fn threshold(preset: Option<&str>) -> Threshold {
    let preset = PRESETS.iter().find(|known| Some(known.name) == preset);
    match preset {
        Some(Preset { paper: true, .. }) => Threshold::Share,
        _ => Threshold::TwoBlocks,
    }
}

impl Drive {
    /// The preset of this name.
    ///
    /// # Errors
    ///
    /// [`DriveError::Name`] with the nearest preset.
    pub fn preset(name: &str) -> Result<Drive, DriveError> {
        Loaded::preset(name)?.drive.map_err(|flaw| flaw.placed)
    }

    /// The drive of a TOML file with this content.
    ///
    /// `file` is what error messages call it; the drive is named after its stem.
    ///
    /// # Errors
    ///
    /// [`DriveError::Content`] with line and column.
    pub fn parse(text: &str, file: &str) -> Result<Drive, DriveError> {
        Loaded::parse(text, file, &[])?.drive.map_err(|flaw| flaw.placed)
    }

    /// Reads a preset's name or a file, with or without changes: `ecr[op_permille=70]`.
    ///
    /// # Errors
    ///
    /// [`DriveError`]; a file has to be a good drive before it is changed, but for two keys that
    /// exclude each other, one of which the change may put right.
    pub fn from_spec(spec: &str) -> Result<Drive, DriveError> {
        Drive::from_shared(spec, &[])
    }

    /// [`from_spec`](Self::from_spec) of a file that may have further keys, (table, key), for other
    /// readers.
    ///
    /// # Errors
    ///
    /// Errors of [`from_spec`](Self::from_spec).
    pub fn from_shared(spec: &str, others: &[(&str, &str)]) -> Result<Drive, DriveError> {
        let whole = spec.trim();
        let is_file = |name: &str| name.ends_with(".toml") || Path::new(name).is_file();
        let (name, changes) =
            if is_file(whole) { (whole, Vec::new()) } else { spec::split(whole)? };
        let loaded =
            if is_file(name) { Loaded::read(name, others)? } else { Loaded::preset(name)? };
        if changes.is_empty() {
            return loaded.drive.map_err(|flaw| flaw.placed);
        }
        let upper = spec::tables(whole, &changes)?;
        let pairs: Vec<String> =
            changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
        loaded.changed(whole, &pairs.join(";"), upper)
    }

    /// The drive of a file or of changes: a depth without a closed loop would do nothing. A record
    /// and a printed drive have both keys, with a depth of 1.
    fn asked(name: String, preset: Option<String>, given: Tables) -> Result<Drive, ConfigError> {
        let has_depth = given.host.contains_key("queue_depth");
        let has_mode = given.host.contains_key("mode");
        let drive = Drive::from_tables(name, preset, given)?;
        let is_open = drive.host.mode == HostMode::Open;
        if has_depth && is_open && (drive.host.queue_depth != 1 || !has_mode) {
            return Err(ConfigError::Together {
                table: "host",
                one: "queue_depth",
                other: "mode = open",
                need: "mode = closed (or the option --queue-depth, queue_depth=)",
            });
        }
        Ok(drive)
    }

    /// Checks all tables and fills in defaults.
    fn from_tables(
        name: String,
        preset: Option<String>,
        mut given: Tables,
    ) -> Result<Drive, ConfigError> {
        given.device = spelled::exact(&given.device)?;
        // A drive of one's own collects as drives do, unless it says otherwise.
        let ftl = given.device.get("ftl");
        if given.has_no_preset && ftl.is_none_or(|ftl| *ftl == Value::Text("page".into())) {
            let auto = || Value::Text("auto".into());
            given.device.entry("gc_step_pages".into()).or_insert_with(auto);
        }
        let threshold = threshold(preset.as_deref());
        let device = DeviceConfig::with_threshold(&given.device, &given.ftl, threshold)?
            .with_placement(&given.placement)?;
        let cache = CacheDefaults::from_table(&given.cache)?;
        let host = HostConfig::from_table(&given.host, &device)?;
        // Keys of a writer that is not there would do nothing.
        let idle = ["writer_batch", "writer_low_pages"];
        let idle = idle.into_iter().find(|key| given.host.contains_key(*key));
        if let (None, Some(one)) = (host.writer, idle) {
            let (other, need) = ("writer = none", "writer = trickle");
            return Err(ConfigError::Together { table: "host", one, other, need });
        }
        // A preset that is read itself builds on no other.
        let below = preset.as_deref().filter(|preset| *preset != name);
        Ok(Drive {
            notes: useless_keys(&device, &given.device, below),
            name,
            preset,
            cache,
            host,
            placement: device.placement.clone(),
            ftl: device.ftl.to_table(),
            device,
            states_address_mode: given.device.contains_key("address_mode"),
            trace: given.trace,
        })
    }

    /// The drive with another FTL: `bast`, `dftl[cmt_entries=8192]`.
    ///
    /// Parameters of the drive's previous FTL are dropped.
    ///
    /// # Errors
    ///
    /// [`DriveError::Spec`] for an FTL or parameters that cannot be read, [`DriveError::Change`]
    /// for what the drive cannot be with them.
    pub fn with_ftl(&self, ftl: &str) -> Result<Drive, DriveError> {
        let spec = format!("{} with the FTL {}", self.name, ftl.trim());
        let wrong = |what: String| DriveError::Spec { spec: spec.clone(), what };
        let (name, changes) = spec::split(ftl.trim())?;
        let info = ftl::named(name).map_err(wrong)?;
        let ftl_keys: Vec<String> = changes.iter().map(|(key, _)| format!("ftl.{key}")).collect();
        let dotted = ftl_keys.iter().zip(&changes).map(|(key, &(_, value))| (key.as_str(), value));
        let mut upper = spec::tables(&spec, &dotted.collect())?;
        upper.device.insert("ftl".into(), Value::Text(info.name.into()));
        let given: Record = Record::deserialize(&self.to_json())
            .map_err(|error| wrong(format!("the device's own record: {error}")))?;
        let Record { mut device, cache, host, placement, ftl: own, trace, .. } = given;
        // The record has what the page-mapped FTL came to by itself, which no user set.
        for key in ["gc_high_pages", "gc_low_pages"] {
            let mut asked = device.clone();
            asked.remove(key);
            let threshold = threshold(self.preset.as_deref());
            let read = DeviceConfig::with_threshold(&asked, &own, threshold);
            let read = read.and_then(|read| read.with_placement(&placement));
            if read.is_ok_and(|same| same == self.device) {
                device = asked;
            }
        }
        let has_no_preset = false;
        let given = Tables { device, cache, host, placement, ftl: own, trace, has_no_preset };
        let pairs = changes.iter().map(|(key, value)| format!("ftl.{key}={value}"));
        let pairs: Vec<String> =
            std::iter::once(format!("ftl={}", info.name)).chain(pairs).collect();
        let name = match self.name.strip_suffix(']') {
            Some(open) => format!("{open};{}]", pairs.join(";")),
            None => format!("{}[{}]", self.name, pairs.join(";")),
        };
        let drive = Drive::from_tables(name, self.preset.clone(), given.under(upper))
            .map_err(|error| DriveError::Change { spec: spec.clone(), error })?;
        Ok(Drive { states_address_mode: self.states_address_mode, ..drive })
    }

    /// The record: `name`, `preset`, `device`, `cache`, `host`, `states_address_mode` and, if not
    /// empty, `ftl` and `trace`.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).expect("tables of numbers, words and lists are JSON")
    }

    /// From a record.
    ///
    /// # Errors
    ///
    /// [`DriveError::Record`] with the key.
    pub fn from_json(record: &Json) -> Result<Drive, DriveError> {
        let wrong = |what: String| DriveError::Record(what);
        let record = Record::deserialize(record).map_err(|error| wrong(error.to_string()))?;
        let Record { name, preset, notes, states_address_mode, .. } = record;
        let Record { device, cache, host, placement, ftl, trace, .. } = record;
        let cache = with_specified_wait(cache);
        let mut device = device;
        let end = || Value::Text("low".into()); // of every record that does not name the key
        device.entry("precondition_end".into()).or_insert_with(end);
        let has_no_preset = false;
        let given = Tables { device, cache, host, placement, ftl, trace, has_no_preset };
        let drive = Drive::from_tables(name, preset, given);
        // The table of a record has every key, given or default.
        drive
            .map(|drive| Drive { states_address_mode, notes, ..drive })
            .map_err(|error| wrong(error.to_string()))
    }

    /// Capacity, units and over-provisioning, derived from the geometry.
    pub fn size(&self) -> DriveSize {
        let device = &self.device;
        let page_bytes = u64::from(device.page_bytes);
        DriveSize {
            units: device.units(),
            planes: device.planes(),
            raw_pages: device.raw_pages(),
            raw_bytes: device.raw_pages() * page_bytes,
            logical_pages: device.logical_pages.into(),
            logical_bytes: u64::from(device.logical_pages) * page_bytes,
            op: device.op(),
            saturation: Saturation::of(device),
        }
    }
}

/// How large a drive is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct DriveSize {
    /// Units: the smallest parts with a queue of their own.
    pub units: u32,
    /// Planes.
    pub planes: u32,
    /// Physical pages, summary pages included.
    pub raw_pages: u64,
    /// Physical capacity, bytes.
    pub raw_bytes: u64,
    /// Logical pages that the host can address.
    pub logical_pages: u64,
    /// Logical capacity, bytes.
    pub logical_bytes: u64,
    /// Over-provisioning: the share of the raw pages that the host does not see, 0 to 1.
    pub op: f64,
    /// Saturation of the device under random writes; `None` for an FTL without a closed form.
    #[serde(flatten)]
    pub saturation: Option<Saturation>,
}

/// A preset's or a file's tables, with those of the preset that it builds on, and their drive.
struct Loaded {
    name: String,
    preset: Option<String>,
    given: Tables,
    drive: Result<Drive, Flaw>,
}

/// The first fault in a file's tables.
struct Flaw {
    error: ConfigError,
    /// The error with its place in the file.
    placed: DriveError,
}

/// The error, and for a key of another table that table.
fn with_its_table(error: &ConfigError) -> String {
    let ConfigError::Unknown { table, key, .. } = error else { return error.to_string() };
    let Some(other) = tables_with(key).find(|other| other != table) else {
        return error.to_string();
    };
    let ftls: Vec<&str> = FTLS
        .iter()
        .filter(|ftl| other == "ftl" && ftl.keys.iter().any(|known| known.name == key))
        .map(|ftl| ftl.name)
        .collect();
    let of = if ftls.is_empty() { String::new() } else { format!(" (ftl = {})", ftls.join(", ")) };
    format!("{table}: unknown key {key:?}: it belongs in [{other}]{of}")
}

impl Loaded {
    /// Makes the drive of the tables of a file.
    fn new(name: &str, preset: Option<String>, given: Tables, file: &file::File<'_>) -> Loaded {
        let drive = Drive::asked(name.into(), preset.clone(), given.clone());
        let drive = drive.map_err(|error| {
            let placed = file.wrong(error.place(), with_its_table(&error));
            Flaw { error, placed }
        });
        Loaded { name: name.into(), preset, given, drive }
    }

    /// The drive with these tables over its own: `spec` asked for it, `pairs` are the changes.
    fn changed(self, spec: &str, pairs: &str, upper: Tables) -> Result<Drive, DriveError> {
        let flaw = self.drive.err();
        if let Some(flaw) = &flaw
            && !matches!(flaw.error, ConfigError::Together { .. })
        {
            return Err(flaw.placed.clone());
        }
        let places_pages = upper.placement.contains_key("policy");
        let name = format!("{}[{pairs}]", self.name);
        Drive::asked(name, self.preset, self.given.under(upper)).map_err(|error| match flaw {
            // It is the file's own fault, and the change has nothing to do with it.
            Some(flaw) if flaw.error == error && !places_pages => flaw.placed,
            _ => DriveError::Change { spec: spec.into(), error },
        })
    }

    fn preset(name: &str) -> Result<Loaded, DriveError> {
        let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
            let known = || PRESETS.iter().map(|preset| preset.name);
            return Err(DriveError::Name {
                name: name.into(),
                meant: nearest(name, known()),
                known: known().collect::<Vec<_>>().join(", "),
            });
        };
        let file = file::File::parse(preset.toml, preset.name, &[])?;
        Ok(Loaded::new(name, Some(name.into()), file.tables.clone(), &file))
    }

    fn read(path: &str, others: &[(&str, &str)]) -> Result<Loaded, DriveError> {
        let bytes = file::bytes(path).map_err(|error| DriveError::Missing {
            path: path.into(),
            why: match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".into(),
                std::io::ErrorKind::IsADirectory => "expected a file, found a folder".into(),
                _ => error.to_string(),
            },
        })?;
        Loaded::parse(&file::text(bytes, path)?, path, others)
    }

    fn parse(text: &str, path: &str, others: &[(&str, &str)]) -> Result<Loaded, DriveError> {
        let file = file::File::parse(text, path, others)?;
        let mut given = file.tables.clone();
        let preset = match given.device.remove("preset") {
            None => {
                given.has_no_preset = true;
                None
            }
            Some(Value::Text(name)) => {
                let base = Loaded::preset(&name)
                    .map_err(|error| file.wrong(Some(("device", "preset")), error.to_string()))?;
                given = base.given.under(given);
                Some(name)
            }
            Some(other) => {
                let what = format!("device: preset = {other}: expected the name of a preset");
                return Err(file.wrong(Some(("device", "preset")), what));
            }
        };
        let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
        Ok(Loaded::new(&stem, preset, given, &file))
    }
}

#[cfg(test)]
mod tests;
