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

use super::points::{NONE, Point};
use crate::config::{DeviceConfig, SlcConfig};
use crate::divisor::Divisor;
use crate::ftl::bitmap::pages;
use crate::ftl::counters::SlcCounts;
use crate::ftl::tournament::Tournaments;
use crate::geometry::{Geometry, Ppn};
use destage_core::PlaneId;

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
    pub(super) config: SlcConfig,
    pub(super) first_page: Ppn,
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
    pub(super) counts: SlcCounts,
    /// Preconditioning writes go here.
    pub(super) takes_filling: bool,
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
            takes_filling: false,
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
    pub(super) fn has_room(&self, plane: PlaneId) -> bool {
        let Rows { open, free, .. } = self.planes[plane.index()];
        open.active != NONE || free > 0
    }

    /// Pages that can be programmed before a block is folded.
    pub(super) fn free_pages(&self, plane: PlaneId) -> u32 {
        let Rows { open, free, .. } = self.planes[plane.index()];
        let pages = self.config.slc_pages_per_block;
        free * pages + if open.active == NONE { 0 } else { pages - open.next }
    }

    /// The next page of the plane's open block is that of the slot.
    pub(super) fn take_page(&mut self, plane: PlaneId, slot: u32) -> Ppn {
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
    pub(super) fn clear(&mut self, ppn: Ppn) {
        let (block, index) = self.split(ppn);
        self.valid[(block * self.words + index / 64) as usize] &= !(1 << (index % 64));
    }

    /// The block of the plane that was sealed first.
    pub(super) fn oldest(&self, plane: PlaneId) -> Option<u32> {
        let Rows { first, sealed, .. } = self.planes[plane.index()];
        (sealed > 0).then(|| self.ring[(plane.0 * self.config.slc_blocks + first) as usize])
    }

    /// The first valid page of a block, and the slot that it holds.
    pub(super) fn first_valid(&self, block: u32) -> Option<(Ppn, u32)> {
        let words = block as usize * self.words as usize..;
        let index = pages(&self.valid[words][..self.words as usize]).next()?;
        let page = block * self.config.slc_pages_per_block + index;
        Some((self.first_page + page, self.owners[page as usize]))
    }

    /// The oldest block of the plane has been erased.
    pub(super) fn erased(&mut self, plane: PlaneId, local: u32) {
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
        self.takes_filling = false;
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

    /// By page, the slot that was written to it last; 0 if none was.
    pub(super) fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// The slot that a valid page holds.
    pub(super) fn owner(&self, ppn: Ppn) -> u32 {
        let (block, index) = self.split(ppn);
        let word = self.valid[(block * self.words + index / 64) as usize];
        assert!(word >> (index % 64) & 1 == 1, "a mapped page is valid");
        self.owners[(ppn - self.first_page) as usize]
    }
}
