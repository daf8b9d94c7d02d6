//! The tables of a drive file, and one set of them over another.

use super::spelled::{give_way, is_spelled};
use crate::config::Table;
use crate::tables::keys_of;
use serde_json::{Map, Value as Json};

/// Tables of a drive file.
pub const TABLES: [&str; 6] = ["device", "cache", "host", "placement", "ftl", "trace"];

/// Tables in which an undotted key of a change is looked for.
pub(super) fn tables_with(name: &str) -> impl Iterator<Item = &'static str> {
    let tables = TABLES.iter().copied();
    let has = move |table: &str| {
        keys_of(table).any(|key| key.name == name) || table == "device" && is_spelled(name)
    };
    tables.filter(move |table| has(table))
}

/// Keys and values as given, not checked.
#[derive(Clone, Default, Debug)]
pub(super) struct Tables {
    pub device: Table,
    pub cache: Table,
    pub host: Table,
    pub placement: Table,
    pub ftl: Table,
    pub trace: Map<String, Json>,
    /// They are of a file that builds on no preset.
    pub has_no_preset: bool,
}

impl Tables {
    /// These, with `upper` before them wherever both give a key.
    ///
    /// Some keys depend on another one. `op_permille` counts only without `logical_pages`, so that
    /// giving it takes those of the lower tables away; and the parameters of a policy go with it,
    /// as do those of an FTL and of a placement policy.
    pub fn under(mut self, upper: Tables) -> Tables {
        let gives = |key| upper.device.contains_key(key);
        if (gives("op_permille") || gives("op")) && !gives("logical_pages") {
            self.device.remove("logical_pages");
        }
        if upper.cache.contains_key("policy") {
            self.cache.retain(|name, _| keys_of("cache").any(|key| key.name == name));
        }
        if gives("ftl") {
            self.ftl.clear();
        }
        if upper.placement.contains_key("policy") {
            self.placement.clear();
        }
        give_way(&mut self.device, &upper.device);
        self.device.extend(upper.device);
        self.cache.extend(upper.cache);
        self.host.extend(upper.host);
        self.placement.extend(upper.placement);
        self.ftl.extend(upper.ftl);
        self.trace.extend(upper.trace);
        self
    }
}
