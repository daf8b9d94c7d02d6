//! Look-ups in a map of which a part is in memory, and the writing of map pages, which lie in
//! blocks of their own and are collected like others (`docs/spec/map-cache.md` 4 to 6).

use super::map_cache::MapCache;
use super::points::NONE;
use super::state::PageFtl;
use crate::config::{Alloc, GcMode};
use crate::ftl::bitmap::pages;
use crate::ftl::sink::{Need, Sink};
use crate::geometry::{BlockId, DriveLpn};
use crate::timing::{Operation, OperationKind};
use destage_core::PlaneId;
use destage_core::pages::prefetch;

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
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
        self.prefetch_next_victim();
        need
    }

    /// Brings near what changes when the next victim's map page is written.
    #[inline(always)]
    fn prefetch_next_victim(&self) {
        let Some(map) = &self.map_cache else { return };
        if let Some(victim) = map.items.victim().filter(|&victim| map.items.is_dirty(victim)) {
            let map_page = map.items.tvpn(map.items.lpn(victim));
            self.prefetch_place(map.places[map_page as usize]);
        }
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
    pub(super) fn write_deferred<S: Sink>(&mut self, sink: &mut S) {
        if self.map_cache.as_ref().is_none_or(|map| map.deferred.is_empty()) {
            return;
        }
        let map = self.map_cache();
        let mut deferred = std::mem::take(&mut map.deferred);
        deferred.retain(|&map_page| map.is_deferred[map_page as usize]); // others have been written
        deferred.sort_unstable();
        deferred.dedup();
        for &map_page in &deferred {
            if self.map_cache().is_deferred[map_page as usize] {
                self.write_map_page(map_page, None, sink);
            }
        }
        deferred.clear();
        let map = self.map_cache();
        if map.deferred.is_empty() {
            map.deferred = deferred; // its memory
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
        let blocks = self.geometry.planes * self.geometry.blocks_per_plane;
        for local in (0..blocks).map(BlockId) {
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
        for (map_page, &is_deferred) in (0u32..).zip(&map.is_deferred) {
            assert!(!is_deferred || map.deferred.contains(&map_page), "what is deferred is listed");
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
