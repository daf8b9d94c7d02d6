//! The page-mapped FTL: static or dynamic allocation, greedy collection, dynamic wear levelling
//! (`docs/spec/device.md` 5 and 6).
//!
//! ```text
//!  map      slot of a logical page -> physical page       4 bytes per logical page
//!  owners   physical page -> slot, right while valid      4 bytes per physical page
//!  valid    one bit per physical page
//!  free     per plane, blocks by (erase count, index)
//!  sealed   per plane, blocks by (valid pages, erase count, index)
//! ```
//!
//! Under static allocation the pages of a home plane have their slots in a row, since a collection
//! meets no others: its random stores then stay within some 100 KB. An invalidation clears a bit,
//! and never touches `owners`; a collection reads it, in order.

mod check;
mod fill;
pub mod image;
#[cfg(test)]
mod tests;

use super::bitmap::{below, bits};
use super::tournament::{OUT, Tournaments};
use super::{FlashState, Ftl, Moves, Sink};
use crate::config::{Alloc, DeviceConfig, GcMode, UnmappedRead};
use crate::divisor::Divisor;
use crate::geometry::{Geometry, Ppn};
use crate::precondition::{Interrupted, Writing};
use crate::timing::{Kind, Operation, Timing};
use destage_core::Nanos;
use destage_core::pages::prefetch;
use std::cmp::Reverse;

const NONE: u32 = u32::MAX;

/// Map entry of a page that was never written; else its physical page + 1. Zeros cost nothing until
/// they are touched.
const UNMAPPED: u32 = 0;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Plane {
    free_pages: u32, // data pages of free blocks and of the active one (5.1)
    valid: u32,      // valid pages
    active: u32,     // block of the plane; NONE if there is none
    next: u32,       // index of the active block's next page
}

/// Flash state and mapping.
#[derive(Clone, PartialEq, Debug)]
pub struct PageFtl {
    geometry: Geometry,
    by_block_pages: Divisor,
    by_plane_blocks: Divisor,
    map: Vec<u32>,
    owners: Vec<u32>,
    valid: Vec<u64>, // `words` per block
    erases: Vec<u32>,
    planes: Vec<Plane>,
    free: Tournaments,   // key: erase count
    sealed: Tournaments, // key: valid pages << 32 | erase count
    units: Vec<UnitRoom>,
    moving: Moving,
    words: u32,       // of `valid` per block
    plane_slots: u32, // of a plane, under static allocation
    summary_page: bool,
    alloc: Alloc,
    gc_mode: GcMode,
    unmapped_read: UnmappedRead,
    low: u32,  // F
    high: u64, // H
    cap: u32,
}

/// What a collection moves; empty in between.
#[derive(Clone, Default, PartialEq, Debug)]
struct Moving {
    slots: Vec<u32>,
    from: Vec<u32>, // indices in the victim
}

/// What dynamic allocation wants to know of a unit.
#[derive(Clone, Copy, PartialEq, Debug)]
struct UnitRoom {
    free_pages: u64,
    open_planes: u32, // with fewer valid pages than cap
}

impl PageFtl {
    /// All blocks free, nothing mapped.
    pub fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let (planes, blocks) = (geometry.planes, geometry.blocks_per_plane);
        let free_pages = blocks * geometry.data_pages;
        let plane = Plane { free_pages, valid: 0, active: NONE, next: 0 };
        let room = UnitRoom {
            free_pages: u64::from(geometry.planes_per_unit) * u64::from(free_pages),
            open_planes: geometry.planes_per_unit,
        };
        // At most the pages of a plane: the configuration has been checked.
        let plane_slots = match config.alloc {
            Alloc::Static => geometry.most_homed_pages() as u32,
            Alloc::Dynamic => 0,
        };
        let slots = match config.alloc {
            Alloc::Static => u64::from(plane_slots) * u64::from(planes),
            Alloc::Dynamic => config.logical_pages.into(),
        };
        let words = geometry.pages_per_block.div_ceil(64);
        let all_blocks = planes * blocks;
        PageFtl {
            by_block_pages: Divisor::new(geometry.pages_per_block),
            by_plane_blocks: Divisor::new(blocks),
            map: vec![UNMAPPED; slots as usize],
            owners: vec![0; geometry.physical_pages() as usize],
            valid: vec![0; all_blocks as usize * words as usize],
            erases: vec![0; all_blocks as usize],
            planes: vec![plane; planes as usize],
            free: Tournaments::new(planes, blocks, 0),
            sealed: Tournaments::new(planes, blocks, OUT),
            units: vec![room; geometry.units as usize],
            moving: Moving::default(),
            words,
            plane_slots,
            summary_page: config.summary_page,
            alloc: config.alloc,
            gc_mode: config.gc_mode,
            unmapped_read: config.unmapped_read,
            low: config.gc_low_pages,
            high: config.gc_high_pages,
            cap: config.valid_cap(),
            geometry: geometry.clone(),
        }
    }

    /// Erase count of every block.
    pub(crate) fn erase_counts_by_block(&self) -> &[u32] {
        &self.erases
    }

    /// The page has been written.
    pub fn is_mapped(&self, lpn: u32) -> bool {
        self.place(lpn).is_some()
    }

    /// The home plane of a page, and the slot that it has in the map.
    #[inline(always)]
    fn home_and_slot(&self, lpn: u32) -> (u32, u32) {
        let (plane, rank) = self.geometry.home_and_rank(lpn);
        match self.alloc {
            Alloc::Static => (plane, plane * self.plane_slots + rank),
            Alloc::Dynamic => (plane, lpn),
        }
    }

    /// The physical page of a logical one.
    #[inline(always)]
    fn place(&self, lpn: u32) -> Option<Ppn> {
        match self.map[self.home_and_slot(lpn).1 as usize] {
            UNMAPPED => None,
            place => Some(place - 1),
        }
    }

    /// Words of `valid` of a block.
    #[inline(always)]
    fn words_of(&self, block: u32) -> std::ops::Range<usize> {
        let first = block as usize * self.words as usize;
        first..first + self.words as usize
    }

    /// Valid pages of a block.
    fn valid_pages(&self, block: u32) -> u32 {
        self.valid[self.words_of(block)].iter().map(|word| word.count_ones()).sum()
    }

    /// The block that a collection would take: the lowest (valid pages, erase count, index) with
    /// an invalid page.
    #[inline]
    fn victim(&self, plane: u32) -> Option<(u32, u32)> {
        let (key, block) = self.sealed.least(plane)?;
        let valid = (key >> 32) as u32;
        (valid < self.geometry.data_pages).then_some((block, valid))
    }

    /// The victim of the collection that would precede the next program to the plane (6).
    fn next_victim(&self, plane: u32) -> Option<(u32, u32)> {
        let free_pages = self.planes[plane as usize].free_pages;
        if self.gc_mode == GcMode::Background || free_pages > self.low {
            return None;
        }
        self.victim(plane)
    }

    /// The free block with the lowest (erase count, index) becomes the active one (5.3, step 3).
    fn open(&mut self, plane: u32) {
        let least = self.free.least(plane);
        let (_, block) = least.expect("a collection leaves a free block behind");
        self.free.remove(plane, block);
        let at = &mut self.planes[plane as usize];
        (at.active, at.next) = (block, 0);
    }

    /// The next page of the active block becomes the place of a page (5.3, steps 3 and 4).
    #[inline(always)]
    fn take_page(&mut self, plane: u32, slot: u32) -> (u32, Ppn) {
        if self.planes[plane as usize].active == NONE {
            self.open(plane);
        }
        let at = &mut self.planes[plane as usize];
        let index = at.next;
        at.next += 1;
        at.free_pages -= 1;
        let block = plane * self.geometry.blocks_per_plane + at.active;
        let ppn = block * self.geometry.pages_per_block + index;
        self.owners[ppn as usize] = slot;
        self.map[slot as usize] = ppn + 1;
        self.valid[(block * self.words + index / 64) as usize] |= 1 << (index % 64);
        (index, ppn)
    }

    /// If the active block is full, it is sealed (5.3, step 5).
    #[inline(always)]
    fn seal_if_full<S: Sink>(&mut self, plane: u32, collection: bool, sink: &mut S) {
        if self.planes[plane as usize].next == self.geometry.data_pages {
            self.seal(plane, collection, sink);
        }
    }

    fn seal<S: Sink>(&mut self, plane: u32, collection: bool, sink: &mut S) {
        let at = &mut self.planes[plane as usize];
        let local = at.active;
        (at.active, at.next) = (NONE, 0);
        let block = plane * self.geometry.blocks_per_plane + local;
        let key = u64::from(self.valid_pages(block)) << 32 | u64::from(self.erases[block as usize]);
        self.sealed.lower(plane, local, key);
        if self.summary_page {
            let kind = Kind::Summary;
            let index = self.geometry.data_pages;
            let ppn = block * self.geometry.pages_per_block + index;
            sink.submit(Operation { kind, collection, plane, index, from: index, ppn });
        }
    }

    /// The old version of a page becomes invalid.
    #[inline(always)]
    fn invalidate(&mut self, ppn: Ppn) {
        let (block, index) = self.by_block_pages.split(ppn);
        let (plane, local) = self.by_plane_blocks.split(block);
        self.valid[(block * self.words + index / 64) as usize] &= !(1 << (index % 64));
        let key = self.sealed.key(block);
        if key != OUT {
            self.sealed.lower(plane, local, key - (1 << 32));
        }
        self.planes[plane as usize].valid -= 1;
        if self.alloc == Alloc::Dynamic && self.planes[plane as usize].valid + 1 == self.cap {
            self.units[self.geometry.place(plane).unit as usize].open_planes += 1;
        }
    }

    /// Collects one block of the plane (5.4). False if there is nothing to collect.
    fn collect<S: Sink>(&mut self, plane: u32, sink: &mut S) -> bool {
        let Some((local, valid)) = self.victim(plane) else { return false };
        sink.collection();
        self.sealed.remove(plane, local); // it takes no part in its own collection
        let block = plane * self.geometry.blocks_per_plane + local;
        let first = block * self.geometry.pages_per_block;
        let words = self.words_of(block);
        // The map is written in no order: bring all that is needed near, side by side.
        let mut moving = std::mem::take(&mut self.moving);
        for (word, start) in words.zip((0..).step_by(64)) {
            for bit in bits(std::mem::take(&mut self.valid[word])) {
                let slot = self.owners[(first + start + bit) as usize];
                prefetch(&self.map, slot as usize);
                moving.from.push(start + bit);
                moving.slots.push(slot);
            }
        }
        let mut moved = 0;
        while moved < moving.slots.len() {
            moved += self.program_moved(plane, &moving.slots[moved..], &moving.from[moved..], sink);
        }
        moving.from.clear();
        moving.slots.clear();
        self.moving = moving;
        let kind = Kind::Erase;
        sink.submit(Operation { kind, collection: true, plane, index: 0, from: 0, ppn: first });
        let erases = &mut self.erases[block as usize];
        *erases += 1;
        self.free.lower(plane, local, (*erases).into());
        self.planes[plane as usize].free_pages += self.geometry.data_pages;
        if self.alloc == Alloc::Dynamic {
            let unit = self.geometry.place(plane).unit as usize;
            self.units[unit].free_pages += u64::from(self.geometry.data_pages - valid);
        }
        true
    }

    /// As many moved pages as the active block takes (5.3, steps 3 to 5). Returns how many.
    #[inline(always)]
    fn program_moved<S: Sink>(
        &mut self,
        plane: u32,
        slots: &[u32],
        from: &[u32],
        sink: &mut S,
    ) -> usize {
        if self.planes[plane as usize].active == NONE {
            self.open(plane);
        }
        let at = &mut self.planes[plane as usize];
        let index = at.next;
        let count = slots.len().min((self.geometry.data_pages - index) as usize);
        at.next += count as u32;
        at.free_pages -= count as u32;
        let block = plane * self.geometry.blocks_per_plane + at.active;
        let ppn = block * self.geometry.pages_per_block + index;
        let slots = &slots[..count];
        self.owners[ppn as usize..][..count].copy_from_slice(slots);
        for (&slot, place) in slots.iter().zip(ppn + 1..) {
            self.map[slot as usize] = place;
        }
        self.set_valid(block, index..index + count as u32);
        sink.submit_moves(Moves { plane, from: &from[..count], index, ppn });
        self.seal_if_full(plane, true, sink);
        count
    }

    /// Pages of a block become valid.
    #[inline(always)]
    fn set_valid(&mut self, block: u32, pages: std::ops::Range<u32>) {
        let words = self.words_of(block);
        for (word, start) in self.valid[words].iter_mut().zip((0..).step_by(64)) {
            *word |= below(pages.end, start) & !below(pages.start, start);
        }
    }

    #[inline(always)]
    fn collect_down_to_threshold<S: Sink>(&mut self, plane: u32, sink: &mut S) {
        while self.planes[plane as usize].free_pages <= self.low {
            let collected = self.collect(plane, sink);
            assert!(collected, "the configuration leaves an invalid page to every collection");
        }
    }

    /// Dynamic allocation (5.2): the unit with the smallest (backlog, -free pages, number), and in
    /// it the plane with the most free pages.
    fn least_loaded(&self, backlog_ns: impl Fn(u32) -> Nanos) -> u32 {
        let best = (0u32..)
            .zip(&self.units)
            .filter(|(_, room)| room.open_planes > 0)
            .min_by_key(|&(unit, room)| (backlog_ns(unit), Reverse(room.free_pages)));
        let (unit, _) = best.expect("not every plane holds as many valid pages as it may");
        let planes = self.geometry.planes_of(unit);
        let open = planes.filter(|&plane| self.planes[plane as usize].valid < self.cap);
        let plane = open.min_by_key(|&plane| Reverse(self.planes[plane as usize].free_pages));
        plane.expect("the unit has a plane that takes a page")
    }
}

impl PageFtl {
    /// Writes a page to a plane (5.3, from step 2).
    #[inline(always)]
    fn write_slot<S: Sink>(&mut self, plane: u32, slot: u32, sink: &mut S) -> S::Served {
        if self.gc_mode != GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        let old = self.map[slot as usize]; // after the collection, which may have moved it
        if old != UNMAPPED {
            self.invalidate(old - 1);
        }
        let (index, ppn) = self.take_page(plane, slot);
        self.planes[plane as usize].valid += 1;
        if self.alloc == Alloc::Dynamic {
            let unit = &mut self.units[self.geometry.place(plane).unit as usize];
            unit.free_pages -= 1;
            unit.open_planes -= u32::from(self.planes[plane as usize].valid == self.cap);
        }
        let (kind, collection) = (Kind::Write, false);
        let served = sink.submit(Operation { kind, collection, plane, index, from: index, ppn });
        self.seal_if_full(plane, false, sink);
        if self.gc_mode == GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        served
    }

    /// Brings near what changes when a place in the map becomes invalid.
    #[inline(always)]
    fn warm_place(&self, place: u32) {
        let block = self.by_block_pages.quotient(place.saturating_sub(1));
        prefetch(&self.valid, (block * self.words) as usize);
        prefetch(self.sealed.keys(), block as usize);
    }
}

impl Ftl for PageFtl {
    #[inline]
    fn read<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> Option<S::Served> {
        let (kind, collection) = (Kind::Read, false);
        let (home, slot) = self.home_and_slot(lpn);
        let (plane, index, ppn) = match self.map[slot as usize] {
            UNMAPPED if self.unmapped_read == UnmappedRead::Free => return None,
            UNMAPPED => (home, 0, Operation::NO_PAGE),
            place => {
                let (block, index) = self.by_block_pages.split(place - 1);
                (self.by_plane_blocks.quotient(block), index, place - 1)
            }
        };
        Some(sink.submit(Operation { kind, collection, plane, index, from: index, ppn }))
    }

    #[inline]
    fn write<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> S::Served {
        let (home, slot) = self.home_and_slot(lpn);
        let plane = match self.alloc {
            Alloc::Static => home,
            Alloc::Dynamic => self.least_loaded(|unit| sink.backlog_ns(unit)),
        };
        self.write_slot(plane, slot, sink)
    }

    #[inline(always)]
    fn warm(&self, lpn: u32) {
        prefetch(&self.map, self.home_and_slot(lpn).1 as usize);
    }

    #[inline(always)]
    fn warm_old(&self, lpn: u32) {
        self.warm_place(self.map[self.home_and_slot(lpn).1 as usize]);
    }

    fn fill(&mut self, _: u32, writing: &mut Writing) -> Result<(), Interrupted> {
        self.fill_in_order(writing)
    }

    fn write_ahead(
        &mut self,
        lpns: impl Iterator<Item = u32> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        self.write_sorted(lpns, writing)
    }

    fn collect_idle<S: Sink>(&mut self, unit: u32, sink: &mut S) -> bool {
        let planes = self.geometry.planes_of(unit);
        let chosen = planes
            .map(|plane| (self.planes[plane as usize].free_pages, plane))
            .filter(|&(free, plane)| u64::from(free) < self.high && self.victim(plane).is_some())
            .min();
        chosen.is_some_and(|(_, plane)| self.collect(plane, sink))
    }

    #[inline(always)]
    fn target(&self, lpn: u32, backlog_ns: impl Fn(u32) -> Nanos) -> u32 {
        match self.alloc {
            Alloc::Static => self.geometry.home(lpn),
            Alloc::Dynamic => self.least_loaded(backlog_ns),
        }
    }

    fn holder(&self, lpn: u32) -> u32 {
        match self.place(lpn) {
            None => self.geometry.home(lpn),
            Some(ppn) => {
                let block = self.by_block_pages.quotient(ppn);
                self.by_plane_blocks.quotient(block)
            }
        }
    }

    fn dirty_pages_have_no_unit(&self) -> bool {
        self.alloc == Alloc::Dynamic
    }

    fn gc_cost_ns(&self, plane: u32, timing: &Timing) -> Nanos {
        let Some((local, valid)) = self.next_victim(plane) else { return 0 };
        let Geometry { blocks_per_plane, data_pages, .. } = self.geometry;
        let Plane { active, next, .. } = self.planes[plane as usize];
        let mut index = if active == NONE { 0 } else { next };
        let op = |kind, index, from| {
            let ppn = Operation::NO_PAGE;
            let op = Operation { kind, collection: true, plane, index, from, ppn };
            timing.duration_ns(&op)
        };
        let seals = self.summary_page && index + valid >= data_pages;
        let summary = if seals { op(Kind::Summary, data_pages, data_pages) } else { 0 };
        let cost = op(Kind::Erase, 0, 0) + summary;
        if timing.is_uniform() {
            return cost + u64::from(valid) * op(Kind::Move, 0, 0);
        }
        let words = &self.valid[self.words_of(plane * blocks_per_plane + local)];
        let pages = words.iter().zip((0..).step_by(64));
        let moves = pages.flat_map(|(&word, start)| bits(word).map(move |bit| start + bit));
        moves.fold(cost, |cost, from| {
            let to = index;
            index = if index + 1 == data_pages { 0 } else { index + 1 };
            cost + op(Kind::Move, to, from)
        })
    }

    fn gc_victim_pages(&self, plane: u32) -> Option<u32> {
        self.next_victim(plane).map(|(_, valid)| valid)
    }

    fn active_block_free_pages(&self, plane: u32) -> u32 {
        let Plane { active, next, .. } = self.planes[plane as usize];
        self.geometry.pages_per_block - if active == NONE { 0 } else { next }
    }

    fn erase_counts(&self) -> impl Iterator<Item = u32> {
        self.erases.iter().copied()
    }

    fn flash_state(&self) -> FlashState {
        self.sums()
    }

    fn check(&self) {
        self.check_all();
    }
}
