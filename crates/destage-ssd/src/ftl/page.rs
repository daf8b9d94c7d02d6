//! The page-mapped FTL: static or dynamic allocation, greedy collection, dynamic wear levelling
//! (`spec/device.md` 5 and 6).
//!
//! Two tables of 32-bit page numbers, logical to physical and back; a physical page is valid if and
//! only if the second one names its logical page. Per plane two tournaments: free blocks by
//! (erase count, index), sealed blocks by (valid pages, erase count, index).

use super::tournament::{OUT, Tournaments};
use super::{FlashState, Ftl, Sink};
use crate::config::{Alloc, DeviceConfig, GcMode, UnmappedRead};
use crate::geometry::{Geometry, Ppn};
use crate::timing::{Kind, Operation, Timing};
use destage_core::Nanos;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Block {
    valid: u32,
    erases: u32,
}

#[derive(Clone, Copy, Debug)]
struct Plane {
    free_blocks: u32,
    active: u32, // block of the plane; NONE if there is none
    next: u32,   // index of the active block's next page
    valid: u32,  // valid pages
}

/// Flash state and mapping.
#[derive(Clone, Debug)]
pub struct PageFtl {
    geometry: Geometry,
    map: Vec<Ppn>,    // by LPN; NONE: never written
    owners: Vec<u32>, // LPN by physical page; NONE: free or invalid
    blocks: Vec<Block>,
    planes: Vec<Plane>,
    free: Tournaments,   // key: erase count
    sealed: Tournaments, // key: valid pages << 32 | erase count
    unit_free: Vec<u64>, // free pages of a unit, for dynamic allocation
    summary_page: bool,
    alloc: Alloc,
    gc_mode: GcMode,
    unmapped_read: UnmappedRead,
    low: u32,  // F
    high: u64, // H
    cap: u32,
}

/// Why a page is programmed.
#[derive(Clone, Copy)]
enum Why {
    /// For the host.
    Host,
    /// A collection moves it from this index of its block.
    Moved(u32),
}

impl PageFtl {
    /// All blocks free, nothing mapped.
    pub fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let (planes, blocks) = (geometry.planes, geometry.blocks_per_plane);
        let plane = Plane { free_blocks: blocks, active: NONE, next: 0, valid: 0 };
        let unit_pages = u64::from(geometry.planes_per_unit)
            * u64::from(blocks)
            * u64::from(geometry.data_pages);
        PageFtl {
            map: vec![NONE; config.logical_pages as usize],
            owners: vec![NONE; geometry.physical_pages() as usize],
            blocks: vec![Block { valid: 0, erases: 0 }; (planes * blocks) as usize],
            planes: vec![plane; planes as usize],
            free: Tournaments::new(planes, blocks, 0),
            sealed: Tournaments::new(planes, blocks, OUT),
            unit_free: vec![unit_pages; geometry.units as usize],
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

    /// The page has been written.
    pub fn is_mapped(&self, lpn: u32) -> bool {
        self.map[lpn as usize] != NONE
    }

    #[inline(always)]
    fn free_pages(&self, plane: u32) -> u32 {
        let data = self.geometry.data_pages;
        let Plane { free_blocks, active, next, .. } = self.planes[plane as usize];
        data * free_blocks + if active == NONE { 0 } else { data - next }
    }

    #[inline(always)]
    fn plane_of(&self, ppn: Ppn) -> u32 {
        ppn / (self.geometry.blocks_per_plane * self.geometry.pages_per_block)
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
        if self.gc_mode == GcMode::Background || self.free_pages(plane) > self.low {
            return None;
        }
        self.victim(plane)
    }

    /// 5.3, steps 3 to 5, but for the old version.
    #[inline]
    fn program<S: Sink>(&mut self, plane: u32, lpn: u32, why: Why, sink: &mut S) -> S::Served {
        let Geometry { blocks_per_plane, pages_per_block, data_pages, .. } = self.geometry;
        let unit = self.geometry.place(plane).unit as usize;
        let at = &mut self.planes[plane as usize];
        if at.active == NONE {
            let least = self.free.least(plane);
            let (_, block) = least.expect("a collection leaves a free block behind");
            self.free.set(plane, block, OUT);
            at.free_blocks -= 1;
            at.active = block;
            at.next = 0;
        }
        let (local, index) = (at.active, at.next);
        let block = plane * blocks_per_plane + local;
        let ppn = block * pages_per_block + index;
        at.next += 1;
        at.valid += 1;
        self.unit_free[unit] -= 1;
        self.owners[ppn as usize] = lpn;
        self.map[lpn as usize] = ppn;
        self.blocks[block as usize].valid += 1;
        let (kind, from, collection) = match why {
            Why::Host => (Kind::Write, index, false),
            Why::Moved(from) => (Kind::Move, from, true),
        };
        let served = sink.submit(Operation { kind, collection, plane, index, from, ppn });
        if index + 1 == data_pages {
            at.active = NONE;
            let Block { valid, erases } = self.blocks[block as usize];
            self.sealed.set(plane, local, u64::from(valid) << 32 | u64::from(erases));
            if self.summary_page {
                let kind = Kind::Summary;
                let (index, from) = (data_pages, data_pages);
                let ppn = block * pages_per_block + index;
                sink.submit(Operation { kind, collection, plane, index, from, ppn });
            }
        }
        served
    }

    /// The old version of a page becomes invalid.
    #[inline(always)]
    fn invalidate(&mut self, ppn: Ppn) {
        let block = ppn / self.geometry.pages_per_block;
        let plane = block / self.geometry.blocks_per_plane;
        let local = block % self.geometry.blocks_per_plane;
        self.owners[ppn as usize] = NONE;
        self.planes[plane as usize].valid -= 1;
        self.blocks[block as usize].valid -= 1;
        let key = self.sealed.key(plane, local);
        if key != OUT {
            self.sealed.set(plane, local, key - (1 << 32));
        }
    }

    /// Collects one block of the plane (5.4). False if there is nothing to collect.
    fn collect<S: Sink>(&mut self, plane: u32, sink: &mut S) -> bool {
        let Some((local, _)) = self.victim(plane) else { return false };
        sink.collection();
        self.sealed.set(plane, local, OUT); // it takes no part in its own collection
        let block = plane * self.geometry.blocks_per_plane + local;
        let first = block * self.geometry.pages_per_block;
        for index in 0..self.geometry.data_pages {
            let lpn = self.owners[(first + index) as usize];
            if lpn != NONE {
                self.invalidate(first + index);
                self.program(plane, lpn, Why::Moved(index), sink);
            }
        }
        let kind = Kind::Erase;
        sink.submit(Operation { kind, collection: true, plane, index: 0, from: 0, ppn: first });
        let erased = &mut self.blocks[block as usize];
        debug_assert_eq!(erased.valid, 0, "all valid pages have been moved");
        erased.erases += 1;
        self.free.set(plane, local, erased.erases.into());
        self.planes[plane as usize].free_blocks += 1;
        let unit = self.geometry.place(plane).unit as usize;
        self.unit_free[unit] += u64::from(self.geometry.data_pages);
        true
    }

    fn collect_down_to_threshold<S: Sink>(&mut self, plane: u32, sink: &mut S) {
        while self.free_pages(plane) <= self.low {
            let collected = self.collect(plane, sink);
            assert!(collected, "the configuration leaves an invalid page to every collection");
        }
    }

    /// Dynamic allocation (5.2): the unit with the smallest (backlog, -free pages, number), and in
    /// it the plane with the most free pages.
    fn least_loaded(&self, backlog_ns: impl Fn(u32) -> Nanos) -> u32 {
        let open = |&plane: &u32| self.planes[plane as usize].valid < self.cap;
        let best = (0..self.geometry.units)
            .filter(|&unit| self.geometry.planes_of(unit).any(|plane| open(&plane)))
            .min_by_key(|&unit| {
                (backlog_ns(unit), std::cmp::Reverse(self.unit_free[unit as usize]))
            });
        let unit = best.expect("not every plane holds as many valid pages as it may");
        let planes = self.geometry.planes_of(unit).filter(open);
        let plane = planes.min_by_key(|&plane| std::cmp::Reverse(self.free_pages(plane)));
        plane.expect("the unit has a plane that takes a page")
    }
}

impl Ftl for PageFtl {
    #[inline]
    fn read<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> Option<S::Served> {
        let (kind, collection) = (Kind::Read, false);
        let ppn = self.map[lpn as usize];
        let (plane, index) = if ppn != NONE {
            (self.plane_of(ppn), ppn % self.geometry.pages_per_block)
        } else if self.unmapped_read == UnmappedRead::Home {
            (self.geometry.home(lpn), 0)
        } else {
            return None;
        };
        Some(sink.submit(Operation { kind, collection, plane, index, from: index, ppn }))
    }

    #[inline]
    fn write<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> S::Served {
        let plane = self.target(lpn, |unit| sink.backlog_ns(unit));
        if self.gc_mode != GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        let old = self.map[lpn as usize]; // after the collection, which may have moved it
        if old != NONE {
            self.invalidate(old);
        }
        let served = self.program(plane, lpn, Why::Host, sink);
        if self.gc_mode == GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        served
    }

    fn collect_idle<S: Sink>(&mut self, unit: u32, sink: &mut S) -> bool {
        let planes = self.geometry.planes_of(unit);
        let chosen = planes
            .map(|plane| (self.free_pages(plane), plane))
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
        match self.map[lpn as usize] {
            NONE => self.geometry.home(lpn),
            ppn => self.plane_of(ppn),
        }
    }

    fn dirty_pages_have_no_unit(&self) -> bool {
        self.alloc == Alloc::Dynamic
    }

    fn gc_cost_ns(&self, plane: u32, timing: &Timing) -> Nanos {
        let Some((local, _)) = self.next_victim(plane) else { return 0 };
        let Geometry { blocks_per_plane, pages_per_block, data_pages, .. } = self.geometry;
        let Plane { active, next, .. } = self.planes[plane as usize];
        let mut index = if active == NONE { 0 } else { next };
        let op = |kind, index, from| {
            let op = Operation { kind, collection: true, plane, index, from, ppn: NONE };
            timing.duration_ns(&op)
        };
        let mut cost = op(Kind::Erase, 0, 0);
        let first = (plane * blocks_per_plane + local) * pages_per_block;
        for from in 0..data_pages {
            if self.owners[(first + from) as usize] != NONE {
                cost += op(Kind::Move, index, from);
                index += 1;
                if index == data_pages {
                    index = 0;
                    if self.summary_page {
                        cost += op(Kind::Summary, data_pages, data_pages);
                    }
                }
            }
        }
        cost
    }

    fn gc_victim_pages(&self, plane: u32) -> Option<u32> {
        self.next_victim(plane).map(|(_, valid)| valid)
    }

    fn active_block_free_pages(&self, plane: u32) -> u32 {
        let Plane { active, next, .. } = self.planes[plane as usize];
        self.geometry.pages_per_block - if active == NONE { 0 } else { next }
    }

    fn erase_counts(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().map(|block| block.erases)
    }

    /// A block is erased only when all its pages have been programmed: erases and what is
    /// programmed now tell how much was programmed ever.
    fn flash_state(&self) -> FlashState {
        let erases: u64 = self.erase_counts().map(u64::from).sum();
        let mut written_blocks = erases;
        let mut open_pages = 0;
        for plane in &self.planes {
            let open = plane.active != NONE;
            let free_or_open = plane.free_blocks + u32::from(open);
            written_blocks += u64::from(self.geometry.blocks_per_plane - free_or_open);
            open_pages += u64::from(if open { plane.next } else { 0 });
        }
        FlashState {
            mapped_pages: self.map.iter().filter(|&&ppn| ppn != NONE).count() as u64,
            valid_pages: self.blocks.iter().map(|block| u64::from(block.valid)).sum(),
            programs: written_blocks * u64::from(self.geometry.data_pages) + open_pages,
            summaries: if self.summary_page { written_blocks } else { 0 },
            erases,
        }
    }

    /// Mapping and owners agree; valid pages, free blocks and keys are those of the tables.
    fn check(&self) {
        let Geometry { blocks_per_plane, pages_per_block, data_pages, .. } = self.geometry;
        for (lpn, &ppn) in self.map.iter().enumerate() {
            let agrees = ppn == NONE || self.owners[ppn as usize] == lpn as u32;
            assert!(agrees, "a mapped page is owned by the page that maps to it");
        }
        let mapped = self.map.iter().filter(|&&ppn| ppn != NONE).count();
        let owned = self.owners.iter().filter(|&&lpn| lpn != NONE).count();
        assert_eq!(mapped, owned, "a valid page is mapped");
        let mut unit_free = vec![0; self.unit_free.len()];
        for (number, plane) in (0u32..).zip(&self.planes) {
            let (mut free, mut valid) = (0, 0);
            for local in 0..blocks_per_plane {
                let block = number * blocks_per_plane + local;
                let pages = &self.owners[(block * pages_per_block) as usize..];
                let pages = &pages[..pages_per_block as usize];
                let counted = pages.iter().filter(|&&lpn| lpn != NONE).count() as u32;
                let Block { valid: known, erases } = self.blocks[block as usize];
                assert_eq!(counted, known, "a block knows its valid pages");
                valid += counted;
                let key = u64::from(known) << 32 | u64::from(erases);
                let (in_free, in_sealed) =
                    (self.free.key(number, local) != OUT, self.sealed.key(number, local));
                free += u32::from(in_free);
                if in_free {
                    assert_eq!((counted, in_sealed), (0, OUT), "a free block is empty");
                } else if plane.active == local {
                    assert_eq!(in_sealed, OUT, "the active block is not sealed");
                    let rest = &pages[plane.next as usize..];
                    assert!(rest.iter().all(|&lpn| lpn == NONE), "the rest is not programmed");
                } else {
                    assert_eq!(in_sealed, key, "a sealed block has its key");
                }
            }
            assert_eq!((free, valid), (plane.free_blocks, plane.valid), "a plane knows its sums");
            assert!(valid <= self.cap, "a plane holds at most cap valid pages");
            assert!(self.free_pages(number) + data_pages > self.low, "free pages near threshold");
            unit_free[self.geometry.place(number).unit as usize] +=
                u64::from(self.free_pages(number));
        }
        assert_eq!(unit_free, self.unit_free, "a unit knows its free pages");
    }
}
