//! The SLC cache: blocks of every plane that the host's pages are written to first, fast, and that
//! are folded into the main area (`docs/spec/device-today.md` 9).
//!
//! ```text
//!  page    first_page + (plane * S + block of the plane) * N_s + index
//!  sealed  per plane a ring of S blocks, the one that was sealed first in front
//! ```
//!
//! They count in no rule of the main area, but for the valid pages of a plane, so that all of them
//! fit it when they are folded.

use super::state::{NONE, PageFtl, Point, UNMAPPED};
use crate::config::{Alloc, DeviceConfig, GcMode, SlcConfig, SlcPolicy};
use crate::divisor::Divisor;
use crate::ftl::bitmap::pages;
use crate::ftl::sink::Sink;
use crate::ftl::tournament::Tournaments;
use crate::geometry::{Geometry, Ppn};
use crate::timing::{Kind, Operation};
use destage_core::{PlaneId, UnitId};

/// What the cache did; of the measured part only, but for the erases of a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SlcCounts {
    /// W in SLC blocks.
    pub programs: u64,
    /// M of folds.
    pub migrations: u64,
    /// Blocks folded, and so erased.
    pub folds: u64,
    /// Most erases of an SLC block.
    pub block_erases_max: u64,
}

/// The blocks of one plane.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rows {
    open: Point,
    free: u32,   // blocks
    first: u32,  // of the ring
    sealed: u32, // blocks
}

/// The SLC blocks of a drive.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Slc {
    config: SlcConfig,
    first_page: Ppn,
    by_pages: Divisor,
    by_blocks: Divisor,
    index: u32, // of an operation on any of their pages (`Timing`)
    words: u32, // of `valid` per block
    owners: Vec<u32>,
    valid: Vec<u64>,
    erases: Vec<u32>,
    planes: Vec<Rows>,
    ring: Vec<u32>,
    free: Tournaments, // key: erase count
    counts: SlcCounts,
}

impl Slc {
    pub(super) fn new(config: SlcConfig, device: &DeviceConfig, geometry: &Geometry) -> Self {
        let (blocks, pages) = (config.slc_blocks, config.slc_pages_per_block);
        let all = (geometry.planes * blocks) as usize;
        let words = pages.div_ceil(64);
        Slc {
            config,
            first_page: geometry.physical_pages(),
            by_pages: Divisor::new(pages),
            by_blocks: Divisor::new(blocks),
            index: device.pages_per_block,
            words,
            owners: vec![0; all * pages as usize],
            valid: vec![0; all * words as usize],
            erases: vec![0; all],
            planes: vec![
                Rows { open: Point::NONE, free: blocks, first: 0, sealed: 0 };
                geometry.planes as usize
            ],
            ring: vec![0; all],
            free: Tournaments::new(geometry.planes, blocks, 0),
            counts: SlcCounts::default(),
        }
    }

    /// The page is one of these.
    #[inline(always)]
    pub(super) fn holds(&self, ppn: Ppn) -> bool {
        ppn >= self.first_page
    }

    /// Block over all planes, and index in it.
    #[inline(always)]
    fn split(&self, ppn: Ppn) -> (u32, u32) {
        self.by_pages.split(ppn - self.first_page)
    }

    /// The plane of a page.
    #[inline(always)]
    pub(super) fn plane(&self, ppn: Ppn) -> PlaneId {
        PlaneId(self.by_blocks.quotient(self.split(ppn).0))
    }

    /// The index that operations on these pages have.
    #[inline(always)]
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    #[inline(always)]
    fn has_room(&self, plane: PlaneId) -> bool {
        let Rows { open, free, .. } = self.planes[plane.index()];
        open.active != NONE || free > 0
    }

    /// Pages that can be programmed before a block is folded.
    fn free_pages(&self, plane: PlaneId) -> u32 {
        let Rows { open, free, .. } = self.planes[plane.index()];
        let pages = self.config.slc_pages_per_block;
        free * pages + if open.active == NONE { 0 } else { pages - open.next }
    }

    /// The next page of the plane's open block is that of the slot.
    fn take_page(&mut self, plane: PlaneId, slot: u32) -> Ppn {
        let (blocks, pages) = (self.config.slc_blocks, self.config.slc_pages_per_block);
        let rows = &mut self.planes[plane.index()];
        if rows.open.active == NONE {
            let least = self.free.least(plane);
            let (_, local) = least.expect("there is room");
            self.free.remove(plane, local);
            rows.open = Point { active: local, next: 0 };
            rows.free -= 1;
        }
        let (block, index) = (plane.0 * blocks + rows.open.active, rows.open.next);
        rows.open.next += 1;
        if rows.open.next == pages {
            let at = plane.0 * blocks + (rows.first + rows.sealed) % blocks;
            self.ring[at as usize] = rows.open.active;
            rows.sealed += 1;
            rows.open = Point::NONE;
        }
        let page = block * pages + index;
        self.owners[page as usize] = slot;
        self.valid[(block * self.words + index / 64) as usize] |= 1 << (index % 64);
        self.counts.programs += 1;
        self.first_page + page
    }

    /// The page holds nothing any more.
    #[inline(always)]
    fn clear(&mut self, ppn: Ppn) {
        let (block, index) = self.split(ppn);
        self.valid[(block * self.words + index / 64) as usize] &= !(1 << (index % 64));
    }

    /// The block of the plane that was sealed first.
    fn oldest(&self, plane: PlaneId) -> Option<u32> {
        let Rows { first, sealed, .. } = self.planes[plane.index()];
        (sealed > 0).then(|| self.ring[(plane.0 * self.config.slc_blocks + first) as usize])
    }

    /// The first valid page of a block, and the slot that it holds.
    fn first_valid(&self, block: u32) -> Option<(Ppn, u32)> {
        let words = block as usize * self.words as usize..;
        let index = pages(&self.valid[words][..self.words as usize]).next()?;
        let page = block * self.config.slc_pages_per_block + index;
        Some((self.first_page + page, self.owners[page as usize]))
    }

    /// The oldest block of the plane has been erased.
    fn erased(&mut self, plane: PlaneId, local: u32) {
        let blocks = self.config.slc_blocks;
        let rows = &mut self.planes[plane.index()];
        rows.first = (rows.first + 1) % blocks;
        rows.sealed -= 1;
        rows.free += 1;
        let erases = &mut self.erases[(plane.0 * blocks + local) as usize];
        *erases += 1;
        self.free.lower(plane, local, (*erases).into());
        self.counts.folds += 1;
    }

    /// Counts begin.
    pub(super) fn begin(&mut self) {
        self.counts = SlcCounts::default();
    }

    pub(super) fn counts(&self) -> SlcCounts {
        let block_erases_max = self.erases.iter().copied().max().unwrap_or(0).into();
        SlcCounts { block_erases_max, ..self.counts }
    }

    /// Valid pages, pages programmed ever, and erases.
    pub(super) fn sums(&self) -> [u64; 3] {
        let erases: u64 = self.erases.iter().copied().map(u64::from).sum();
        let pages = u64::from(self.config.slc_pages_per_block);
        let now = self.planes.iter().map(|rows| {
            let open = if rows.open.active == NONE { 0 } else { rows.open.next };
            u64::from(rows.sealed) * pages + u64::from(open)
        });
        let valid = self.valid.iter().map(|word| u64::from(word.count_ones())).sum();
        [valid, erases * pages + now.sum::<u64>(), erases]
    }

    /// Valid pages of a plane; asserts that its blocks are free, open or sealed.
    pub(super) fn check(&self, plane: PlaneId) -> u32 {
        let (blocks, pages) = (self.config.slc_blocks, self.config.slc_pages_per_block);
        let Rows { open, free, sealed, .. } = self.planes[plane.index()];
        let is_open = u32::from(open.active != NONE);
        assert_eq!(free + is_open + sealed, blocks, "an SLC block is free, open or sealed");
        assert!(open.active == NONE || open.next < pages, "a full SLC block is sealed");
        let words = (plane.0 * blocks * self.words) as usize;
        let words = &self.valid[words..][..(blocks * self.words) as usize];
        words.iter().map(|word| word.count_ones()).sum()
    }

    /// The slot that a valid page holds.
    pub(super) fn owner(&self, ppn: Ppn) -> u32 {
        let (block, index) = self.split(ppn);
        let word = self.valid[(block * self.words + index / 64) as usize];
        assert!(word >> (index % 64) & 1 == 1, "a mapped page is valid");
        self.owners[(ppn - self.first_page) as usize]
    }
}

impl<const TODAY: bool> PageFtl<TODAY> {
    /// Writes a page to the SLC cache of its plane, if there is one and it has room (9.2).
    #[inline]
    pub(super) fn write_cached<S: Sink>(
        &mut self,
        plane: PlaneId,
        slot: u32,
        sink: &mut S,
    ) -> Option<S::Served> {
        let slc = self.slc.as_ref()?;
        if !slc.has_room(plane) {
            if slc.config.slc_policy == SlcPolicy::Direct {
                return None;
            }
            self.fold(plane, sink);
        }
        let old = self.map[slot as usize];
        if old != UNMAPPED {
            self.invalidate(old - 1);
        }
        let slc = self.slc.as_mut()?;
        let (ppn, index) = (slc.take_page(plane, slot), slc.index);
        self.map[slot as usize] = ppn + 1;
        self.planes[plane.index()].valid += 1;
        if self.alloc == Alloc::Dynamic && self.planes[plane.index()].valid == self.cap {
            self.units[self.geometry.place(plane).unit.index()].open_planes -= 1;
        }
        let (kind, collection) = (Kind::Write, false);
        Some(sink.submit(Operation { kind, collection, plane, index, from: index, ppn }))
    }

    /// Folds the SLC block of the plane that was sealed first (9.3).
    fn fold<S: Sink>(&mut self, plane: PlaneId, sink: &mut S) {
        let Some(slc) = &self.slc else { return };
        let oldest = slc.oldest(plane);
        let local = oldest.expect("a full SLC cache has sealed blocks");
        let from = slc.index;
        let block = plane.0 * slc.config.slc_blocks + local;
        let ppn = slc.first_page + block * slc.config.slc_pages_per_block;
        while self.migrate(plane, block, sink) {}
        let (kind, collection) = (Kind::Erase, true);
        sink.submit(Operation { kind, collection, plane, index: from, from, ppn });
        if let Some(slc) = &mut self.slc {
            slc.erased(plane, local);
        }
    }

    /// Moves the first valid page of an SLC block to the main area. False if it has none.
    fn migrate<S: Sink>(&mut self, plane: PlaneId, block: u32, sink: &mut S) -> bool {
        if self.slc.as_ref().is_none_or(|slc| slc.first_valid(block).is_none()) {
            return false;
        }
        if self.gc_mode != GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        let Some(slc) = &mut self.slc else { return false };
        let Some((old, slot)) = slc.first_valid(block) else { return false };
        slc.clear(old);
        slc.counts.migrations += 1;
        let (kind, from) = (Kind::Move, slc.index);
        let (index, ppn) = self.take_page(plane, 0, slot);
        if self.alloc == Alloc::Dynamic {
            self.units[self.geometry.place(plane).unit.index()].free_pages -= 1;
        }
        sink.submit(Operation { kind, collection: true, plane, index, from, ppn });
        self.seal_if_full(plane, 0, true, sink);
        if self.gc_mode == GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        true
    }

    /// The unit has been idle: folds a block of the plane that has the fewest free SLC pages (9.4).
    /// False if it has none to fold.
    pub(super) fn fold_idle<S: Sink>(&mut self, unit: UnitId, sink: &mut S) -> bool {
        let Some(slc) = self.slc.as_ref().filter(|slc| slc.config.slc_idle) else { return false };
        let planes = self.geometry.planes_of(unit).filter(|&plane| slc.oldest(plane).is_some());
        let Some(plane) = planes.min_by_key(|&plane| slc.free_pages(plane)) else { return false };
        self.fold(plane, sink);
        true
    }

    /// A page in an SLC block becomes invalid.
    #[inline]
    pub(super) fn invalidate_cached(&mut self, ppn: Ppn) -> Option<PlaneId> {
        let slc = self.slc.as_mut().filter(|slc| slc.holds(ppn))?;
        slc.clear(ppn);
        Some(slc.plane(ppn))
    }
}
