//! Configuration of the placement policy (`docs/spec/device-today.md` 8), from the table
//! `[placement]`.

use super::table::Table;
use super::words::Steps;
use destage_keys::Value;
use serde::{Serialize, Serializer};

/// The table `[placement]`, checked, defaults filled in.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum PlacementConfig {
    /// Handle 0 for every page.
    #[default]
    None,
    /// By the size of the request (8.3).
    BySize {
        /// Bytes, ascending, one fewer than handles.
        thresholds: Vec<u64>,
    },
    /// By the list of the cache that a page leaves (8.4).
    ByCache,
    /// By inferred lifetimes (8.5).
    Sepbit {
        /// Blocks whose mean lifetime is taken.
        window: u64,
    },
    /// By lifetimes known beforehand (8.6).
    Fk {
        /// How classes grow.
        steps: Steps,
        /// Ratio of geometric steps.
        base: u64,
        /// The first step, in host page writes.
        unit_pages: u64,
    },
    /// Handle 0 for every page, and every write and trim is written down: the first run of `fk`,
    /// which no table can ask for.
    Recording,
}

impl PlacementConfig {
    /// Names that a table takes, in the order of a catalogue.
    pub const NAMES: &'static [&'static str] = &["none", "by-size", "by-cache", "sepbit", "fk"];

    /// Name of the placement policy.
    pub fn name(&self) -> &'static str {
        match self {
            PlacementConfig::None | PlacementConfig::Recording => "none",
            PlacementConfig::BySize { .. } => "by-size",
            PlacementConfig::ByCache => "by-cache",
            PlacementConfig::Sepbit { .. } => "sepbit",
            PlacementConfig::Fk { .. } => "fk",
        }
    }

    /// No placement policy: all pages have the same handle.
    pub fn is_none(&self) -> bool {
        matches!(self, PlacementConfig::None)
    }

    /// Whether the policy needs future knowledge, which a first run records.
    pub fn is_offline(&self) -> bool {
        matches!(self, PlacementConfig::Fk { .. })
    }

    /// The table that is read as this; empty for `none`.
    pub fn to_table(&self) -> Table {
        let mut table = Table::new();
        let mut put = |key: &str, value: Value| {
            table.insert(key.into(), value);
        };
        let int = |number: u64| Value::Int(number.into());
        match self {
            PlacementConfig::None | PlacementConfig::Recording => return table,
            PlacementConfig::BySize { thresholds } => {
                put("thresholds", Value::List(thresholds.iter().copied().map(int).collect()));
            }
            PlacementConfig::ByCache => {}
            PlacementConfig::Sepbit { window } => put("window", int(*window)),
            PlacementConfig::Fk { steps, base, unit_pages } => {
                put("steps", steps.name().into());
                put("base", int(*base));
                put("unit_pages", int(*unit_pages));
            }
        }
        put("policy", self.name().into());
        table
    }
}

impl Serialize for PlacementConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_table().serialize(serializer)
    }
}
