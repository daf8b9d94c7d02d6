//! The map cache (`docs/spec/map-cache.md` 2).

use super::words::{MapGranularity, MapPolicy};
use destage_keys::{AsValue, Value, unit_bytes};
use serde::Serialize;

/// Size of the map cache, as the key has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapCacheSize {
    /// The whole map is in memory.
    WholeMap,
    /// A part of it.
    Bytes(u64),
}

impl AsValue for MapCacheSize {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(bytes) => u64::try_from(*bytes).ok().map(MapCacheSize::Bytes),
            Value::Text(text) if text == "all" => Some(MapCacheSize::WholeMap),
            Value::Text(text) => {
                let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                let number: u64 = text[..end].parse().ok()?;
                let unit = match text[end..].trim() {
                    "" => 1,
                    unit => unit_bytes(unit)?,
                };
                number.checked_mul(unit).map(MapCacheSize::Bytes)
            }
            _ => None,
        }
    }

    fn value(&self) -> Value {
        match *self {
            MapCacheSize::WholeMap => "all".into(),
            MapCacheSize::Bytes(bytes) => bytes.into(),
        }
    }
}

/// The keys of `[device]` about it, of a device whose map is not in memory as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct MapCacheConfig {
    #[serde(rename = "map_cache")]
    pub map_cache_bytes: u64,
    pub map_entry_bytes: u32,
    pub map_granularity: MapGranularity,
    pub map_policy: MapPolicy,
    pub map_batch_update: bool,
}

impl MapCacheConfig {
    /// E: entries of a map page.
    pub fn entries_per_page(&self, page_bytes: u32) -> u32 {
        page_bytes / self.map_entry_bytes
    }

    /// T: map pages of so many logical pages.
    pub fn map_pages(&self, page_bytes: u32, logical_pages: u32) -> u32 {
        logical_pages.div_ceil(self.entries_per_page(page_bytes))
    }

    /// Items that the cache can hold.
    pub fn capacity(&self, page_bytes: u32) -> u64 {
        let item_bytes = match self.map_granularity {
            MapGranularity::Entry => self.map_entry_bytes,
            MapGranularity::Page => page_bytes,
        };
        self.map_cache_bytes / u64::from(item_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_of_bytes_a_size_or_all() {
        for (value, size) in [
            (Value::Int(4096), Some(MapCacheSize::Bytes(4096))),
            ("512KiB".into(), Some(MapCacheSize::Bytes(512 << 10))),
            ("2 MB".into(), Some(MapCacheSize::Bytes(2_000_000))),
            ("8192".into(), Some(MapCacheSize::Bytes(8192))),
            ("all".into(), Some(MapCacheSize::WholeMap)),
            ("KiB".into(), None),
            ("1.5MiB".into(), None),
            ("99999999999999999999TiB".into(), None),
            (Value::Int(-1), None),
            (Value::Bool(true), None),
        ] {
            assert_eq!(MapCacheSize::of(&value), size, "{value:?}");
        }
    }
}
