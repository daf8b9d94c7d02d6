//! The map cache: what is in memory of the map, and what the FTL does for it
//! (`docs/spec/map-cache.md` 3 to 6).

use super::config::GcMode;
use super::flash::Source;
use super::operation::Kind;
use super::queue::{Decision, Ssd};
use crate::Params;
use std::collections::{BTreeMap, BTreeSet};

/// The keys of section 2; `None` with the whole map in memory.
#[derive(Clone)]
pub(crate) struct MapKeys {
    pub(crate) entries: u64, // E
    pub(crate) pages: u64,   // T
    of_entries: bool,
    capacity: u64,
    protected: u64, // Q
    batch: bool,
}

impl MapKeys {
    pub(crate) fn of(s: &Params<'_>) -> Option<MapKeys> {
        let bytes = s.integer("map_cache")?;
        let n = |key: &str| s.integer(key).expect("recorded");
        let entries = n("page_bytes") / n("map_entry_bytes");
        let of_entries = s.text("map_granularity") == Some("entry");
        let capacity = bytes / if of_entries { n("map_entry_bytes") } else { n("page_bytes") };
        Some(MapKeys {
            entries,
            pages: n("logical_pages").div_ceil(entries),
            of_entries,
            capacity,
            protected: if s.text("map_policy") == Some("slru") { capacity * 4 / 5 } else { 0 },
            batch: s.flag("map_batch_update"),
        })
    }
}

/// Items of the cache.
struct Item {
    /// The page, or the map page.
    key: u64,
    dirty: bool,
    /// The map read that it came with.
    fetch: Option<usize>,
}

pub(crate) struct MapCache {
    keys: MapKeys,
    /// Most recent first.
    probationary: Vec<Item>,
    protected: Vec<Item>,
    /// By map page, where its version is.
    pub(crate) places: BTreeMap<u64, (usize, usize, usize)>,
    deferred: BTreeSet<u64>,
    pub(crate) counts: MapCounts,
}

#[derive(Default)]
pub(crate) struct MapCounts {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) dirty_evictions: u64,
}

impl MapCache {
    pub(crate) fn new(keys: MapKeys) -> MapCache {
        MapCache {
            keys,
            probationary: Vec::new(),
            protected: Vec::new(),
            places: BTreeMap::new(),
            deferred: BTreeSet::new(),
            counts: MapCounts::default(),
        }
    }

    fn map_page(&self, lpn: u64) -> u64 {
        lpn / self.keys.entries
    }

    fn key(&self, lpn: u64) -> u64 {
        if self.keys.of_entries { lpn } else { self.map_page(lpn) }
    }

    fn map_page_of_key(&self, key: u64) -> u64 {
        if self.keys.of_entries { self.map_page(key) } else { key }
    }

    fn find(&mut self, key: u64) -> Option<&mut Item> {
        self.probationary.iter_mut().chain(&mut self.protected).find(|item| item.key == key)
    }

    /// A hit: recency of `docs/spec/ftl.md` 6; the fetch of the item.
    fn hit(&mut self, key: u64) -> Option<usize> {
        let take = |segment: &mut Vec<Item>| {
            let at = segment.iter().position(|item| item.key == key)?;
            Some(segment.remove(at))
        };
        let item = take(&mut self.protected).or_else(|| take(&mut self.probationary));
        let item = item.expect("a hit");
        let fetch = item.fetch;
        self.protected.insert(0, item);
        if self.protected.len() as u64 > self.keys.protected {
            let last = self.protected.pop().expect("not empty");
            self.probationary.insert(0, last);
        }
        fetch
    }

    fn is_full(&self) -> bool {
        (self.probationary.len() + self.protected.len()) as u64 == self.keys.capacity
    }

    fn victim(&self) -> &Item {
        self.probationary.last().or(self.protected.last()).expect("a full cache has items")
    }

    fn drop_victim(&mut self) {
        let victim = self.probationary.pop().or_else(|| self.protected.pop());
        assert!(victim.is_some_and(|victim| !victim.dirty), "it is written before it leaves");
    }
}

impl Ssd {
    fn map(&mut self) -> &mut MapCache {
        self.map.as_mut().expect("a part of the map is in memory")
    }

    /// Map pages whose home a plane is.
    pub(crate) fn homed_map_pages(&self, plane: usize) -> u64 {
        let pages = self.map.as_ref().map_or(0, |map| map.keys.pages);
        (0..pages).filter(|&t| self.config.home_of_stripe(t) == plane).count() as u64
    }

    /// Section 4: the item of a page is in the cache afterwards. Its fetch, if it has one.
    pub(super) fn look_up(&mut self, lpn: u64) -> Option<usize> {
        self.map.as_ref()?;
        let map = self.map();
        let key = map.key(lpn);
        if map.find(key).is_some() {
            map.counts.hits += 1;
            return map.hit(key);
        }
        map.counts.misses += 1;
        if map.is_full() {
            let victim = map.victim();
            if victim.dirty {
                let (key, t) = (victim.key, map.map_page_of_key(victim.key));
                map.counts.dirty_evictions += 1;
                self.write_map_page(t, Some(key));
            } else {
                map.drop_victim();
            }
        }
        let t = self.map().map_page(lpn);
        let fetch = self.read_map_page(t, self.acting);
        self.map().probationary.insert(0, Item { key, dirty: false, fetch });
        fetch
    }

    fn read_map_page(&mut self, t: u64, ready: u64) -> Option<usize> {
        let &(plane, block, page) = self.map().places.get(&t)?;
        let by = self.planes[plane].blocks[block].programmed_by(page);
        self.decide(Decision {
            by,
            ready,
            reads: Some((plane, block)),
            map: true,
            ..Decision::of(Kind::R { page: page as u64, slc: false }, plane)
        })
    }

    /// Section 5.
    fn write_map_page(&mut self, t: u64, victim: Option<u64>) {
        let plane = self.config.home_of_stripe(t);
        if self.config.gc_mode != GcMode::Background {
            self.make_room(plane);
        }
        let read = self.read_map_page(t, 0);
        let point = self.config.interface.streams();
        self.program(t, plane, point, Source::Map { read });
        let map = self.map();
        map.deferred.remove(&t);
        let all = !map.keys.of_entries || map.keys.batch;
        let (entries, of_entries) = (map.keys.entries, map.keys.of_entries);
        for item in map.probationary.iter_mut().chain(&mut map.protected) {
            let its = if of_entries { item.key / entries } else { item.key };
            if its == t && (all || victim == Some(item.key)) {
                item.dirty = false;
            }
        }
        if victim.is_some() {
            map.drop_victim();
        }
        if self.config.gc_mode == GcMode::Background {
            self.make_room(plane);
        }
    }

    /// A host page write has its new place.
    pub(super) fn note_written(&mut self, lpn: u64) {
        if let Some(map) = &mut self.map {
            let key = map.key(lpn);
            map.find(key).expect("the look-up brought it here").dirty = true;
        }
    }

    /// A data page has been moved (6).
    pub(super) fn note_moved(&mut self, lpn: u64) {
        let Some(map) = &mut self.map else { return };
        let key = map.key(lpn);
        match map.find(key) {
            Some(item) => item.dirty = true,
            None => _ = map.deferred.insert(map.map_page(lpn)),
        }
    }

    /// Deferred map pages are written (6).
    pub(super) fn write_deferred(&mut self) {
        let deferred = self.map.as_ref().map(|map| map.deferred.clone()).unwrap_or_default();
        for t in deferred {
            if self.map().deferred.contains(&t) {
                self.write_map_page(t, None);
            }
        }
    }
}
