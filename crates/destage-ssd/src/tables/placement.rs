//! The table `[placement]` (`docs/spec/device-today.md` 3 and 8).

use super::keys::{key_of, reader};
use crate::config::{
    ConfigError, DeviceConfig, Isolation, PlacementConfig, Precondition, Reader, Steps, Table,
    Value,
};

/// Keys of `[placement]`, and the policy that each belongs to.
const OWN: [(&str, &str); 5] = [
    ("thresholds", "by-size"),
    ("window", "sepbit"),
    ("steps", "fk"),
    ("base", "fk"),
    ("unit_pages", "fk"),
];

impl PlacementConfig {
    /// Reads and checks the table, also against the device.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]; for combinations of `docs/spec/device-today.md` 2 with both keys.
    pub fn from_table(table: &Table, device: &DeviceConfig) -> Result<Self, ConfigError> {
        let keys = reader("placement", table);
        keys.end()?;
        let policy: String = keys.get("policy")?;
        for (key, owner) in OWN {
            keys.check(key)?;
            if keys.given(key) && owner != policy {
                let what = format!("{key} is a key of policy = {owner}, and policy = {policy}");
                return Err(keys.impossible(what));
            }
        }
        let handles = u64::from(device.streams.handles);
        suits(&policy, device)?;
        Ok(match policy.as_str() {
            "by-size" => PlacementConfig::BySize { thresholds: thresholds(&keys, handles)? },
            "by-cache" => PlacementConfig::ByCache,
            "sepbit" => PlacementConfig::Sepbit { window: keys.get("window")? },
            "fk" => PlacementConfig::Fk {
                steps: keys.get::<Steps>("steps")?,
                base: keys.get("base")?,
                unit_pages: keys.or("unit_pages", 1, device.first_step())?,
            },
            _ => PlacementConfig::None,
        })
    }
}

impl DeviceConfig {
    /// Placement policy and its keys that differ from their defaults, in the syntax of the command
    /// line: `sepbit[window=4]`.
    pub fn placement_label(&self) -> String {
        let mut table = self.placement.to_table();
        table.remove("policy");
        if let PlacementConfig::Fk { unit_pages, .. } = self.placement
            && unit_pages == self.first_step()
        {
            table.remove("unit_pages");
        }
        let typed = |value: &Value| value.as_text().map_or(value.to_string(), str::to_string);
        let is_default = |key: &str, value: &Value| {
            key_of("placement", key).is_some_and(|key| key.default.to_string() == typed(value))
        };
        let given = table.iter().filter(|(key, value)| !is_default(key, value));
        let pairs: Vec<String> =
            given.map(|(key, value)| format!("{key}={}", typed(value))).collect();
        let name = self.placement.name();
        if pairs.is_empty() { name.into() } else { format!("{name}[{}]", pairs.join(";")) }
    }

    /// Default step of `fk`: the writes that fill one block of every plane.
    fn first_step(&self) -> u64 {
        u64::from(self.planes()) * u64::from(self.data_pages())
    }
}

/// Rejects placement policies that the device's handles or isolation exclude.
fn suits(policy: &str, device: &DeviceConfig) -> Result<(), ConfigError> {
    let excluded =
        |one, other, need| Err(ConfigError::Together { table: "placement", one, other, need });
    let assigned = device.streams.isolation == Isolation::Assigned;
    let handles = device.streams.handles;
    match policy {
        "none" | "by-size" | "by-cache" if assigned => excluded(
            match policy {
                "none" => "policy = none",
                "by-size" => "policy = by-size",
                _ => "policy = by-cache",
            },
            "isolation = assigned",
            "policy = sepbit or fk, which name the handle of a page that is moved",
        ),
        "none" => Ok(()),
        _ if handles == 1 => excluded(
            match policy {
                "by-size" => "policy = by-size",
                "by-cache" => "policy = by-cache",
                "sepbit" => "policy = sepbit",
                _ => "policy = fk",
            },
            "handles = 1",
            "handles >= 2, as in -d fdp",
        ),
        "sepbit" if assigned && handles < 4 => excluded(
            "policy = sepbit",
            "isolation = assigned with fewer than four handles",
            "handles >= 4: two classes for the host's pages, two and more for those moved",
        ),
        // Its first run would end the preconditioning after another number of writes.
        "fk" if device.precondition == Precondition::Steady => excluded(
            "policy = fk",
            "precondition = steady",
            "precondition = none, sequential or random, whose writes are known beforehand",
        ),
        _ => Ok(()),
    }
}

/// One fewer than handles, ascending.
fn thresholds(keys: &Reader<'_>, handles: u64) -> Result<Vec<u64>, ConfigError> {
    let expected = format!("{} ascending integers >= 1, bytes (handles - 1)", handles - 1);
    if !keys.given("thresholds") {
        let what = format!("the key thresholds is missing: expected {expected}");
        return Err(keys.impossible(what));
    }
    let found: Vec<u64> = keys.get("thresholds")?;
    let ascends = found.windows(2).all(|pair| pair[0] < pair[1]);
    if found.len() as u64 != handles - 1 || !ascends {
        let found = Value::List(found.iter().map(|&bytes| Value::Int(bytes.into())).collect());
        return Err(keys.value("thresholds", &expected, &found));
    }
    Ok(found)
}
