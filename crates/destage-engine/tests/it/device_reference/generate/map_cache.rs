//! Keys of `docs/spec/map-cache.md` 2, fitted to a drive.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// A map cache: sizes as counts of entries and items.
#[derive(Clone, Debug)]
pub struct MapCache {
    entries: u64, // of a map page, about
    items: u64,
    spare: u64, // bytes beyond the items, in tenths of one
    granularity: &'static str,
    policy: &'static str,
    batch_update: Option<bool>,
}

pub fn map_cache() -> impl Strategy<Value = MapCache> {
    let entries = prop_oneof![3 => 1..6_u64, 3 => 6..40_u64, 1 => 40..500_u64];
    let items = prop_oneof![4 => 1..6_u64, 2 => 6..60_u64, 1 => Just(1 << 20)];
    let words = (select(vec!["entry", "page"]), select(vec!["lru", "slru"]));
    let batch_update = select(vec![None, Some(true), Some(false)]);
    (entries, items, 0..10_u64, words, batch_update).prop_map(
        |(entries, items, spare, (granularity, policy), batch_update)| MapCache {
            entries,
            items,
            spare,
            granularity,
            policy,
            batch_update,
        },
    )
}

impl MapCache {
    fn entry_bytes(&self, page_bytes: u64) -> u64 {
        (page_bytes / self.entries).max(1)
    }

    /// T, with so many logical pages.
    pub fn map_pages(&self, page_bytes: u64, logical_pages: u64) -> u64 {
        logical_pages.div_ceil(page_bytes / self.entry_bytes(page_bytes))
    }

    pub fn keys(&self, page_bytes: u64) -> Map<String, Value> {
        let entry_bytes = self.entry_bytes(page_bytes);
        let item = if self.granularity == "entry" { entry_bytes } else { page_bytes };
        let mut keys = json!({
            "map_cache": self.items * item + item * self.spare / 10,
            "map_entry_bytes": entry_bytes,
            "map_granularity": self.granularity,
            "map_policy": self.policy,
        });
        if let Some(batch_update) = self.batch_update {
            keys["map_batch_update"] = batch_update.into();
        }
        keys.as_object().expect("a table").clone()
    }
}
