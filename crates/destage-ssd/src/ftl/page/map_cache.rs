//! A map of which a part is in memory (`docs/spec/map-cache.md` 3 to 6): map pages lie on flash, in
//! blocks of their own, and are collected like others.

use super::points::NONE;
use super::state::{PageFtl, UNMAPPED};
use crate::config::{Alloc, DeviceConfig, GcMode, MapGranularity, MapPolicy};
use crate::divisor::Divisor;
use crate::ftl::bitmap::pages;
use crate::ftl::cmt::{Cmt, Sizes};
use crate::ftl::counters::MapCounts;
use crate::ftl::sink::{Need, Sink};
use crate::geometry::{DriveLpn, Geometry, Ppn};
use crate::timing::{Operation, OperationKind};
use destage_core::PlaneId;
use destage_core::pages::prefetch;

/// Items in memory, and places of the map pages.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MapCache {
    items: Cmt,         // an entry is an item; of `page`, its "page" is the map page
    fetches: Vec<Need>, // by item
    places: Vec<u32>,   // by map page: its physical page + 1
    owed: Vec<u32>,
    is_owed: Vec<bool>, // by map page
    by_entries: Divisor,
    granularity: MapGranularity,
    takes_all: bool, // a map page that is written takes all its dirty items along
    point: u32,      // A
    homed: Vec<u32>, // by plane: map pages whose home it is
    counts: MapCounts,
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
            places: vec![UNMAPPED; map_pages as usize],
            owed: Vec::new(),
            is_owed: vec![false; map_pages as usize],
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
        self.places.iter().filter(|&&place| place != UNMAPPED).count() as u64
    }

    /// The map page of a page.
    #[inline(always)]
    fn map_page(&self, lpn: DriveLpn) -> u32 {
        self.by_entries.quotient(lpn.0)
    }

    /// The item of a page.
    #[inline(always)]
    fn item(&self, lpn: DriveLpn) -> DriveLpn {
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
    fn changed(&mut self, lpn: DriveLpn) {
        let item = self.item(lpn);
        match self.items.find(item) {
            Some(entry) => self.items.make_dirty(entry),
            None => {
                let map_page = self.map_page(lpn);
                if !std::mem::replace(&mut self.is_owed[map_page as usize], true) {
                    self.owed.push(map_page);
                }
            }
        }
    }

    /// A map page is written with what is in memory; `victim` is the item that it is written for,
    /// which leaves.
    fn cleaned(&mut self, map_page: u32, victim: Option<u32>) {
        self.is_owed[map_page as usize] = false;
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

impl<const TODAY: bool> PageFtl<TODAY> {
    /// There is one.
    #[inline(always)]
    fn map_cache(&mut self) -> &mut MapCache {
        self.map_cache.as_mut().expect("only a part of the map is in memory")
    }

    /// The item of a page comes into memory (4): what an operation on the page needs.
    pub(super) fn look_up<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> Need {
        let map = self.map_cache();
        let item = map.item(lpn);
        if let Some(entry) = map.items.find(item) {
            map.counts.map_hits += 1;
            map.items.touch(entry);
            return map.fetches[entry as usize];
        }
        map.counts.map_misses += 1;
        if let Some(victim) = map.items.victim() {
            if map.items.is_dirty(victim) {
                map.counts.map_dirty_evictions += 1;
                let map_page = map.items.tvpn(map.items.lpn(victim));
                self.write_map_page(map_page, Some(victim), sink);
            } else {
                map.items.remove(victim);
            }
        }
        let map_page = self.map_cache().map_page(lpn);
        let need = self.read_map_page(map_page, true, sink);
        let map = self.map_cache();
        let entry = map.items.insert(item);
        map.fetches[entry as usize] = need;
        need
    }

    /// Reads the version of a map page, if there is one.
    fn read_map_page<S: Sink>(&mut self, map_page: u32, is_fetch: bool, sink: &mut S) -> Need {
        let map = self.map_cache();
        let Some(ppn) = map.places[map_page as usize].checked_sub(1) else { return Need::MET };
        map.counts.map_reads += 1;
        let (block, index) = self.by_block_pages.split(ppn);
        let plane = PlaneId(self.by_plane_blocks.quotient(block));
        let kind = OperationKind::Read;
        let op = Operation { kind, collection: true, plane, index, from: index, ppn };
        sink.read_map(op, is_fetch)
    }

    /// Writes a new version of a map page (5).
    fn write_map_page<S: Sink>(&mut self, map_page: u32, victim: Option<u32>, sink: &mut S) {
        let plane = self.geometry.home_of_stripe(map_page);
        if self.gc_mode != GcMode::Background {
            self.make_room(plane, sink);
        }
        let read = self.read_map_page(map_page, false, sink);
        let map = self.map_cache();
        let point = map.point;
        map.counts.map_writes += 1;
        map.cleaned(map_page, victim);
        if let Some(old) = map.places[map_page as usize].checked_sub(1) {
            self.invalidate(old);
            self.reserve_valid(plane);
        }
        let (index, ppn) = self.take_place(plane, point, map_page);
        self.map_cache().places[map_page as usize] = ppn + 1;
        if self.alloc == Alloc::Dynamic {
            self.units[self.geometry.place(plane).unit.index()].free_pages -= 1;
        }
        let (kind, collection) = (OperationKind::Write, true);
        let op = Operation { kind, collection, plane, index, from: index, ppn };
        sink.write_map(op, read);
        self.seal_if_full(plane, point, false, sink);
        if self.gc_mode == GcMode::Background {
            self.make_room(plane, sink);
        }
    }

    /// A page that became invalid still counts as valid: its next version comes to this plane.
    fn reserve_valid(&mut self, plane: PlaneId) {
        let state = &mut self.planes[plane.index()];
        state.valid += 1;
        if self.alloc == Alloc::Dynamic && state.valid == self.cap {
            self.units[self.geometry.place(plane).unit.index()].open_planes -= 1;
        }
    }

    /// A host page write has its new place: its item, which is in memory, is newer than flash.
    pub(super) fn note_written(&mut self, lpn: DriveLpn) {
        let map = self.map_cache();
        let entry = map.items.find(map.item(lpn)).expect("the look-up brought it here");
        map.items.make_dirty(entry);
    }

    /// Pages have been moved (6).
    pub(super) fn note_moved(&mut self, slots: &[u32]) {
        if self.map_cache.is_none() {
            return;
        }
        for &slot in slots {
            let lpn = self.lpn_of_slot(slot);
            self.map_cache().changed(lpn);
        }
    }

    /// The page that has a slot in the map.
    fn lpn_of_slot(&self, slot: u32) -> DriveLpn {
        match self.alloc {
            Alloc::Dynamic => DriveLpn(slot),
            Alloc::Static => {
                let plane = slot / self.plane_slots;
                self.geometry.homed_page(PlaneId(plane), slot % self.plane_slots)
            }
        }
    }

    /// Writes the deferred map pages (6).
    pub(super) fn write_owed<S: Sink>(&mut self, sink: &mut S) {
        if self.map_cache.as_ref().is_none_or(|map| map.owed.is_empty()) {
            return;
        }
        let map = self.map_cache();
        let mut owed = std::mem::take(&mut map.owed);
        owed.retain(|&map_page| map.is_owed[map_page as usize]); // others have been written
        owed.sort_unstable();
        owed.dedup();
        for &map_page in &owed {
            if self.map_cache().is_owed[map_page as usize] {
                self.write_map_page(map_page, None, sink);
            }
        }
        owed.clear();
        let map = self.map_cache();
        if map.owed.is_empty() {
            map.owed = owed; // its memory
        }
    }

    /// Brings near what says whether the page's item is in memory.
    #[inline(always)]
    pub(super) fn prefetch_item(&self, lpn: DriveLpn) {
        if let Some(map) = &self.map_cache {
            map.prefetch(lpn);
        }
    }

    /// Brings near the place of its map page.
    #[inline(always)]
    pub(super) fn prefetch_map_page(&self, lpn: DriveLpn) {
        if let Some(map) = &self.map_cache {
            prefetch(&map.places, map.map_page(lpn) as usize);
        }
    }

    /// Map pages are where the table says, in blocks of their own.
    pub(super) fn check_map_cache(&self) {
        let Some(map) = &self.map_cache else { return };
        map.items.check();
        let mut found = 0;
        for local in
            (0..self.geometry.planes * self.geometry.blocks_per_plane).map(crate::geometry::BlockId)
        {
            if self.points.opener(local) != map.point {
                continue;
            }
            let first = self.geometry.first_page(local);
            for index in pages(&self.valid[self.words_of(local)]) {
                let map_page = self.owners[(first + index) as usize];
                assert_eq!(map.places[map_page as usize], first + index + 1, "a map page is there");
                found += 1;
            }
        }
        assert_eq!(found, map.versions(), "each version is valid");
        for (map_page, &is_owed) in (0u32..).zip(&map.is_owed) {
            assert!(!is_owed || map.owed.contains(&map_page), "what is owed is listed");
        }
        for plane in (0..self.geometry.planes).map(PlaneId) {
            let point = self.points_of(plane)[map.point as usize];
            if point.active != NONE {
                let block = self.geometry.block(plane, point.active);
                assert_eq!(self.points.opener(block), map.point, "its open block is of its own");
            }
        }
    }
}
