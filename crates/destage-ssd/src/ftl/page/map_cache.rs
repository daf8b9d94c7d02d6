//! Items of the map in memory, and where the map pages are (`docs/spec/map-cache.md` 3 to 6).

use crate::config::{DeviceConfig, MapGranularity, MapPolicy};
use crate::divisor::Divisor;
use crate::ftl::cmt::{Cmt, Sizes};
use crate::ftl::counters::MapCounts;
use crate::ftl::sink::Need;
use crate::geometry::{DriveLpn, Geometry, Ppn};
use destage_core::PlaneId;

/// Place of a map page that is not on flash.
const UNWRITTEN: u32 = 0;

/// Items in memory, and places of the map pages.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MapCache {
    pub(super) items: Cmt, // an entry is an item; of `page`, its "page" is the map page
    pub(super) fetches: Vec<Need>, // by item
    pub(super) places: Vec<u32>, // by map page: its physical page + 1
    pub(super) deferred: Vec<u32>,
    pub(super) is_deferred: Vec<bool>, // by map page
    per_page: u32,                     // E
    by_entries: Divisor,
    granularity: MapGranularity,
    takes_all: bool, // a map page that is written takes all its dirty items along
    pub(super) point: u32, // A
    homed: Vec<u32>, // by plane: map pages whose home it is
    pub(super) counts: MapCounts,
}

impl MapCache {
    pub(super) fn new(config: &DeviceConfig, geometry: &Geometry) -> Option<Box<MapCache>> {
        let map = config.map_cache?;
        let per_page = map.entries_per_page(config.page_bytes);
        let map_pages = config.map_pages();
        let is_page = map.map_granularity == MapGranularity::Page;
        let pages = if is_page { map_pages } else { config.logical_pages };
        let capacity = map.capacity(config.page_bytes);
        let protected = match map.map_policy {
            MapPolicy::Lru => 0,
            MapPolicy::Slru => u128::from(capacity) * 4 / 5,
        };
        let mut homed = vec![0; geometry.planes as usize];
        for map_page in 0..map_pages {
            homed[geometry.home_of_stripe(map_page).index()] += 1;
        }
        let items = Cmt::new(Sizes {
            entries: capacity.min(pages.into()) as u32,
            protected: protected.min(pages.into()) as u32,
            pages,
            per_page: if is_page { 1 } else { per_page },
        });
        Some(Box::new(MapCache {
            fetches: vec![Need::MET; capacity.min(pages.into()) as usize],
            items,
            places: vec![UNWRITTEN; map_pages as usize],
            deferred: Vec::new(),
            is_deferred: vec![false; map_pages as usize],
            per_page,
            by_entries: Divisor::new(per_page),
            granularity: map.map_granularity,
            takes_all: is_page || map.map_batch_update,
            point: config.streams.write_points(),
            homed,
            counts: MapCounts::default(),
        }))
    }

    /// Map pages whose home a plane is: they count as valid there, written or not.
    pub(super) fn homed(&self, plane: PlaneId) -> u32 {
        self.homed[plane.index()]
    }

    /// Counts begin.
    pub(super) fn begin(&mut self) {
        self.counts = MapCounts::default();
    }

    pub(super) fn counts(&self) -> MapCounts {
        self.counts
    }

    /// Map pages on flash.
    pub(super) fn versions(&self) -> u64 {
        self.places.iter().filter(|&&place| place != UNWRITTEN).count() as u64
    }

    /// The map page of a page.
    #[inline(always)]
    pub(super) fn map_page(&self, lpn: DriveLpn) -> u32 {
        self.by_entries.quotient(lpn.0)
    }

    /// The items are whole map pages.
    pub(super) fn is_of_pages(&self) -> bool {
        self.granularity == MapGranularity::Page
    }

    /// The first page behind those of a page's map page, perhaps beyond the drive.
    pub(super) fn end_of_map_page(&self, lpn: DriveLpn) -> u32 {
        (self.map_page(lpn) + 1).saturating_mul(self.per_page)
    }

    /// The item of a page.
    #[inline(always)]
    pub(super) fn item(&self, lpn: DriveLpn) -> DriveLpn {
        match self.granularity {
            MapGranularity::Entry => lpn,
            MapGranularity::Page => DriveLpn(self.map_page(lpn)),
        }
    }

    /// Brings near what says whether the page's item is here.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: DriveLpn) {
        self.items.prefetch(self.item(lpn));
    }

    /// The place of a page has changed.
    pub(super) fn changed(&mut self, lpn: DriveLpn) {
        let item = self.item(lpn);
        match self.items.find(item) {
            Some(entry) => self.items.make_dirty(entry),
            None => {
                let map_page = self.map_page(lpn);
                if !std::mem::replace(&mut self.is_deferred[map_page as usize], true) {
                    self.deferred.push(map_page);
                }
            }
        }
    }

    /// A map page is written with what is in memory; `victim` is the item that it is written for,
    /// which leaves.
    pub(super) fn cleaned(&mut self, map_page: u32, victim: Option<u32>) {
        self.is_deferred[map_page as usize] = false;
        if let Some(entry) = victim {
            self.items.make_clean(entry);
        }
        if self.takes_all {
            while let Some(entry) = self.items.any_dirty(map_page) {
                self.items.make_clean(entry);
            }
        }
        if let Some(entry) = victim {
            self.items.remove(entry);
        }
    }

    /// Programs moved map pages have got these places.
    pub(super) fn moved(&mut self, map_pages: &[u32], first: Ppn) {
        self.counts.map_moves += map_pages.len() as u64;
        for (&map_page, place) in map_pages.iter().zip(first + 1..) {
            self.places[map_page as usize] = place;
        }
    }
}
