//! State of a page-mapped flash: map, free blocks and write points, and the programming of a block.

use super::gc::{AnyCollector, Collector, SealedBlock};
use super::map_cache::MapCache;
use super::points::{NONE, Point, Points};
use super::slc::Slc;
use super::steps::Steps;
use super::trimmed::Trimmed;
use crate::config::{Alloc, DeviceConfig, GcMode, Precondition, UnmappedRead};
use crate::divisor::Divisor;
use crate::ftl::bitmap::below;
use crate::ftl::sink::Sink;
use crate::ftl::tournament::{OUT, Tournaments};
use crate::geometry::{BlockId, DriveLpn, Geometry, Ppn};
use crate::timing::{Operation, OperationKind};
use destage_core::pages::prefetch;
use destage_core::{PlaneId, huge};
use std::ops::{Deref, DerefMut};

/// Map entry of a page that was never written; else its physical page + 1. Zeros cost nothing until
/// they are touched.
pub(super) const UNMAPPED: u32 = 0;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Plane {
    pub(super) free_pages: u32, // data pages of free blocks and of the active one (5.1)
    pub(super) valid: u32,      // valid pages, those in SLC blocks included
    pub(super) open: Point,     // the only one, unless a drive has several
}

/// Flash state and mapping.
///
/// `EXTENDED`: with several write points, an SLC cache (`docs/spec/device-today.md` 7 and 9) or
/// another
/// collector than greedy. A device without them is one of which the compiler knows it.
#[derive(Clone, PartialEq, Debug)]
pub struct PageFtl<const EXTENDED: bool = false> {
    pub(super) geometry: Geometry,
    pub(super) by_block_pages: Divisor,
    pub(super) by_plane_blocks: Divisor,
    pub(super) map: HugeTable,
    pub(super) owners: HugeTable,
    pub(super) valid: Vec<u64>, // `words` per block
    pub(super) erases: Vec<u32>,
    pub(super) planes: Vec<Plane>,
    pub(super) free: Tournaments,   // key: erase count
    pub(super) sealed: Tournaments, // key: valid pages << 32 | erase count
    pub(super) units: Vec<UnitRoom>,
    pub(super) moving: Option<Box<Moving>>,
    pub(super) words: u32,       // of `valid` per block
    pub(super) plane_slots: u32, // of a plane, under static allocation
    pub(super) summary_page: bool,
    pub(super) alloc: Alloc,
    pub(super) gc_mode: GcMode,
    pub(super) unmapped_read: UnmappedRead,
    pub(super) low: u32,  // F
    pub(super) high: u64, // H
    pub(super) cap: u32,
    pub(super) points: Points,
    pub(super) slc: Option<Slc>,
    pub(super) collector: AnyCollector,
    pub(super) steps: Option<Steps>,
    pub(super) map_cache: Option<Box<MapCache>>,
    pub(super) trimmed: Trimmed,
    pub(super) page_bytes: u32,
}

/// Numbers, one for each page, in huge pages of memory wherever all of it is in use: collections
/// and host writes meet them in no order.
#[derive(Default, PartialEq, Debug)]
pub(super) struct HugeTable(Vec<u32>);

impl HugeTable {
    /// So many zeros. Those of a device that is not written beforehand cost nothing until they are
    /// touched.
    fn zeros(len: usize, is_written: bool) -> Self {
        HugeTable(if is_written { huge::table(0, len) } else { vec![0; len] })
    }
}

impl Clone for HugeTable {
    fn clone(&self) -> Self {
        let mut numbers = huge::room(self.0.len());
        numbers.extend_from_slice(&self.0);
        HugeTable(numbers)
    }
}

impl Deref for HugeTable {
    type Target = [u32];
    #[inline(always)]
    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl DerefMut for HugeTable {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

/// Pages that a collection moves; empty between collections. Lent by address: to move the vectors
/// themselves waits for every store before.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Moving {
    pub(super) slots: Vec<u32>,
    pub(super) from: Vec<u32>, // indices in the victim
}

/// Free space of a unit, for dynamic allocation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct UnitRoom {
    pub(super) free_pages: u64,
    pub(super) open_planes: u32, // with fewer valid pages than cap
}

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// All blocks free, nothing mapped.
    pub(super) fn all_free(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let (planes, blocks) = (geometry.planes, geometry.blocks_per_plane);
        let free_pages = blocks * geometry.data_pages;
        let map_cache = MapCache::new(config, geometry);
        let plane = |plane| Plane {
            free_pages,
            valid: map_cache.as_ref().map_or(0, |map| map.homed(plane)),
            open: Point::NONE,
        };
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
        let is_written = config.precondition != Precondition::None;
        let words = geometry.pages_per_block.div_ceil(64);
        let all_blocks = planes * blocks;
        PageFtl {
            by_block_pages: Divisor::new(geometry.pages_per_block),
            by_plane_blocks: Divisor::new(blocks),
            map: HugeTable::zeros(slots as usize, is_written),
            owners: HugeTable::zeros(geometry.physical_pages() as usize, is_written),
            valid: vec![0; all_blocks as usize * words as usize],
            erases: vec![0; all_blocks as usize],
            planes: (0..planes).map(PlaneId).map(plane).collect(),
            free: Tournaments::new(planes, blocks, 0),
            sealed: Tournaments::new(planes, blocks, OUT),
            units: vec![room; geometry.units as usize],
            moving: Some(Box::default()),
            words,
            plane_slots,
            summary_page: config.summary_page,
            alloc: config.alloc,
            gc_mode: config.gc_mode,
            unmapped_read: config.unmapped_read,
            low: config.gc_low_pages,
            high: config.gc_high_pages,
            cap: config.valid_cap(),
            points: if EXTENDED {
                Points::new(config, geometry, slots as usize)
            } else {
                Points::none()
            },
            collector: AnyCollector::new(config),
            steps: Steps::new(config),
            map_cache,
            trimmed: Trimmed::default(),
            slc: config.slc.map(|slc| Slc::new(slc, config, geometry)),
            page_bytes: config.page_bytes,
            geometry: geometry.clone(),
        }
    }

    /// A write point of a plane.
    #[inline(always)]
    pub(super) fn point_mut(&mut self, plane: PlaneId, point: u32) -> &mut Point {
        if EXTENDED { self.points.at(plane, point) } else { &mut self.planes[plane.index()].open }
    }

    /// All of a plane.
    pub(super) fn points_of(&self, plane: PlaneId) -> &[Point] {
        if EXTENDED {
            self.points.of(plane)
        } else {
            std::slice::from_ref(&self.planes[plane.index()].open)
        }
    }

    /// The page has been written.
    pub fn is_mapped(&self, lpn: DriveLpn) -> bool {
        self.place(lpn).is_some()
    }

    /// The home plane of a page, and the slot that it has in the map.
    #[inline(always)]
    pub(super) fn home_and_slot(&self, lpn: DriveLpn) -> (PlaneId, u32) {
        let (plane, rank) = self.geometry.home_and_rank(lpn);
        match self.alloc {
            Alloc::Static => (plane, plane.0 * self.plane_slots + rank),
            Alloc::Dynamic => (plane, lpn.0),
        }
    }

    /// The physical page of a logical one.
    #[inline(always)]
    pub(super) fn place(&self, lpn: DriveLpn) -> Option<Ppn> {
        match self.map[self.home_and_slot(lpn).1 as usize] {
            UNMAPPED => None,
            place => Some(place - 1),
        }
    }

    /// The plane of a physical page.
    #[inline(always)]
    pub(super) fn plane_of(&self, ppn: Ppn) -> PlaneId {
        match &self.slc {
            Some(slc) if EXTENDED && slc.holds(ppn) => slc.plane(ppn),
            _ => PlaneId(self.by_plane_blocks.quotient(self.by_block_pages.quotient(ppn))),
        }
    }

    /// Words of `valid` of a block.
    #[inline(always)]
    pub(super) fn words_of(&self, block: BlockId) -> std::ops::Range<usize> {
        let first = block.index() * self.words as usize;
        first..first + self.words as usize
    }

    /// Valid pages of a block.
    pub(super) fn valid_pages(&self, block: BlockId) -> u32 {
        self.valid[self.words_of(block)].iter().map(|word| word.count_ones()).sum()
    }

    /// The free block with the lowest (erase count, index) becomes the active one of a write point
    /// (5.3, step 3).
    pub(super) fn open(&mut self, plane: PlaneId, point: u32) {
        let least = self.free.least(plane);
        let (_, block) = least.expect("a collection leaves a free block behind");
        self.free.remove(plane, block);
        *self.point_mut(plane, point) = Point { active: block, next: 0 };
        if EXTENDED {
            self.points.opens(self.geometry.block(plane, block), point);
        }
    }

    /// The next page of the active block becomes the place of a page (5.3, steps 3 and 4).
    #[inline(always)]
    pub(super) fn take_page(&mut self, plane: PlaneId, point: u32, slot: u32) -> (u32, Ppn) {
        let (index, ppn) = self.take_place(plane, point, slot);
        self.map[slot as usize] = ppn + 1;
        (index, ppn)
    }

    /// The next page of the active block is taken by the page of this slot, or by a map page.
    #[inline(always)]
    pub(super) fn take_place(&mut self, plane: PlaneId, point: u32, slot: u32) -> (u32, Ppn) {
        if self.point_mut(plane, point).active == NONE {
            self.open(plane, point);
        }
        let at = self.point_mut(plane, point);
        let (active, index) = (at.active, at.next);
        at.next += 1;
        self.planes[plane.index()].free_pages -= 1;
        let block = self.geometry.block(plane, active);
        if EXTENDED {
            self.points.programmed(point, 1);
            let clock = self.points.clock;
            self.collector.touched(SealedBlock { plane, local: active, block }, clock);
        }
        let ppn = self.geometry.first_page(block) + index;
        self.owners[ppn as usize] = slot;
        self.valid[(block.0 * self.words + index / 64) as usize] |= 1 << (index % 64);
        (index, ppn)
    }

    /// Seals the active block if it is full (5.3, step 5).
    #[inline(always)]
    pub(super) fn seal_if_full<S: Sink>(
        &mut self,
        plane: PlaneId,
        point: u32,
        collection: bool,
        sink: &mut S,
    ) {
        if self.point_mut(plane, point).next == self.geometry.data_pages {
            self.seal(plane, point, collection, sink);
        }
    }

    pub(super) fn seal<S: Sink>(
        &mut self,
        plane: PlaneId,
        point: u32,
        collection: bool,
        sink: &mut S,
    ) {
        let at = self.point_mut(plane, point);
        let local = at.active;
        *at = Point::NONE;
        let block = self.geometry.block(plane, local);
        let key = u64::from(self.valid_pages(block)) << 32 | u64::from(self.erases[block.index()]);
        self.sealed.lower(plane, local, key);
        if EXTENDED {
            let is_candidate = key >> 32 < u64::from(self.geometry.data_pages);
            self.collector.sealed(SealedBlock { plane, local, block }, is_candidate);
        }
        if self.summary_page {
            let kind = OperationKind::Summary;
            let index = self.geometry.data_pages;
            let ppn = self.geometry.first_page(block) + index;
            sink.submit(Operation { kind, collection, plane, index, from: index, ppn });
        }
    }

    /// The old version of a page becomes invalid.
    #[inline(always)]
    pub(super) fn invalidate(&mut self, ppn: Ppn) {
        let cached = if EXTENDED { self.invalidate_cached(ppn) } else { None };
        let plane = cached.unwrap_or_else(|| {
            let (block, index) = self.by_block_pages.split(ppn);
            let (plane, local) = self.by_plane_blocks.split(block);
            let plane = PlaneId(plane);
            self.valid[(block * self.words + index / 64) as usize] &= !(1 << (index % 64));
            let key = self.sealed.key(BlockId(block));
            if key != OUT {
                self.sealed.lower(plane, local, key - (1 << 32));
            }
            if EXTENDED {
                let sealed = SealedBlock { plane, local, block: BlockId(block) };
                if key != OUT && key >> 32 == u64::from(self.geometry.data_pages) {
                    self.collector.became_candidate(sealed);
                }
                self.collector.touched(sealed, self.points.clock);
            }
            plane
        });
        self.planes[plane.index()].valid -= 1;
        if self.alloc == Alloc::Dynamic && self.planes[plane.index()].valid + 1 == self.cap {
            self.units[self.geometry.place(plane).unit.index()].open_planes += 1;
        }
    }

    /// Pages of a block become valid.
    #[inline(always)]
    pub(super) fn set_valid(&mut self, block: BlockId, pages: std::ops::Range<u32>) {
        let words = self.words_of(block);
        for (word, start) in self.valid[words].iter_mut().zip((0..).step_by(64)) {
            *word |= below(pages.end, start) & !below(pages.start, start);
        }
    }

    /// Brings near what changes when a place in the map becomes invalid.
    #[inline(always)]
    pub(super) fn prefetch_place(&self, place: u32) {
        let block = self.by_block_pages.quotient(place.saturating_sub(1));
        prefetch(&self.valid, (block * self.words) as usize);
        prefetch(self.sealed.keys(), block as usize);
        if EXTENDED {
            self.collector.prefetch(BlockId(block));
        }
    }
}
