//! An FTL of `docs/spec/ftl.md` on the planes of a drive (`docs/spec/device.md` 12).
//!
//! Block `k` is block `k / planes` of plane `k mod planes`: the counters do not depend on
//! the geometry. A copy within a plane is an M; between planes it is an R on the source's unit and
//! then a W on the target's. All but the host's own page counts as collection. On more than one
//! unit an operation waits for those that it depends on.
//!
//! Where no operation waits, all of a type take equally long and nothing records single operations,
//! a merge enters the queues as a few totals.

use super::bitmap::{bits, count, pages};
use super::block_ftl::{BlockFtl, Copied, FlashOps, Gathered};
use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::layer::{DeviceFull, FlashState, Ftl};
use super::sink::{Moves, Need, Sink};
use crate::config::{DeviceConfig, Info, PagesOfBlocks};
use crate::divisor::Divisor;
use crate::geometry::{BlockId, DriveLpn, Geometry, Ppn};
use crate::timing::{Operation, OperationKind, Timing};
use destage_core::{Nanos, PlaneId, UnitId};

/// The FTL, and where its blocks lie.
#[derive(Clone, Debug)]
pub struct StripedFtl<M> {
    info: &'static Info,
    block_ftl: M,
    planes: Planes,
    geometry: Geometry,
    fetches: Option<Vec<Need>>, // by entry of a map in memory; where operations wait for others
    filling: bool,
    failure: Option<DeviceFull>,
}

/// Where the blocks lie.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Planes {
    by_pages: Divisor,
    by_planes: Divisor,
    planes: u32,
    pages_per_block: u32,
    blocks_per_plane: u32,
}

impl Planes {
    /// Plane of a block.
    #[inline(always)]
    fn of(&self, block: BlockId) -> PlaneId {
        PlaneId(if self.planes == 1 { 0 } else { self.by_planes.split(block.0).1 })
    }

    /// Plane of a page.
    #[inline(always)]
    fn of_page(&self, page: Ppn) -> PlaneId {
        self.of(BlockId(self.by_pages.quotient(page)))
    }

    /// The first page of a block.
    #[inline(always)]
    fn first_page(&self, block: BlockId) -> Ppn {
        block.0 * self.pages_per_block
    }

    /// An operation on a page: R, W, or M from slot `from`.
    #[inline(always)]
    fn operation(&self, kind: OperationKind, collection: bool, page: Ppn, from: u32) -> Operation {
        let (block, index) = self.by_pages.split(page);
        let (local, plane) =
            if self.planes == 1 { (block, 0) } else { self.by_planes.split(block) };
        let first = (plane * self.blocks_per_plane + local) * self.pages_per_block;
        let plane = PlaneId(plane);
        Operation { kind, collection, plane, index, from, ppn: first + index }
    }

    #[inline(always)]
    fn own(&self, kind: OperationKind, page: Ppn) -> Operation {
        self.operation(kind, true, page, page % self.pages_per_block)
    }
}

/// The queues as an FTL of `docs/spec/ftl.md` sees them: one row of blocks.
struct Row<'a, S> {
    planes: Planes,
    sink: &'a mut S,
    fetches: Option<&'a mut Vec<Need>>,
}

impl<S: Sink> Row<'_, S> {
    /// The moves that follow are out of the block of this page.
    #[inline(always)]
    fn moves_from(&mut self, page: Ppn) {
        if self.fetches.is_some() {
            self.sink.moves_from(page);
        }
    }

    /// A copy of one page.
    #[inline(always)]
    fn copy_one(&mut self, from: Ppn, to: Ppn) {
        let source = self.planes.own(OperationKind::Read, from);
        let target = self.planes.operation(OperationKind::Move, true, to, source.index);
        if source.plane == target.plane {
            self.moves_from(source.ppn);
            self.sink.submit(target);
        } else {
            let read = self.sink.read_own(source);
            let program = self.planes.own(OperationKind::Write, to);
            self.sink.program_own(program, read, Some(source.ppn));
        }
    }

    /// Copies of so many pages of one block to another, page by page alike.
    #[inline(always)]
    fn copy_equal(&mut self, from: Ppn, to: Ppn, pages: u32) {
        if pages == 0 {
            return;
        }
        if self.planes.of_page(from) == self.planes.of_page(to) {
            self.sink.submit_equal(self.planes.own(OperationKind::Move, to), pages);
        } else {
            self.sink.submit_equal(self.planes.own(OperationKind::Read, from), pages);
            self.sink.submit_equal(self.planes.own(OperationKind::Write, to), pages);
        }
    }
}

impl<S: Sink> FlashOps for Row<'_, S> {
    type Served = S::Served;
    type Read = Need;

    #[inline(always)]
    fn read(&mut self, page: Ppn) -> S::Served {
        self.sink.submit(self.planes.operation(OperationKind::Read, false, page, 0))
    }

    #[inline(always)]
    fn program(&mut self, page: Ppn) -> S::Served {
        self.sink.submit(self.planes.operation(OperationKind::Write, false, page, 0))
    }

    #[inline(always)]
    fn read_map(&mut self, page: Ppn) -> Need {
        self.sink.read_own(self.planes.own(OperationKind::Read, page))
    }

    #[inline(always)]
    fn program_map(&mut self, page: Ppn, old: Option<Need>) {
        let op = self.planes.own(OperationKind::Write, page);
        self.sink.program_own(op, old.unwrap_or(Need::MET), None);
    }

    #[inline(always)]
    fn fetched(&mut self, entry: u32, read: Option<Need>) {
        if let Some(fetches) = &mut self.fetches {
            if fetches.len() <= entry as usize {
                fetches.resize(entry as usize + 1, Need::MET);
            }
            fetches[entry as usize] = read.unwrap_or(Need::MET);
        }
    }

    #[inline(always)]
    fn needs(&mut self, entry: u32) {
        if let Some(fetches) = &self.fetches {
            self.sink.needs(fetches[entry as usize]);
        }
    }

    fn gather(&mut self, merged: &Gathered<'_>) {
        let Gathered { to, data, from_data, from_log, log_pages } = *merged;
        let (to, data) = (self.planes.first_page(to), self.planes.first_page(data));
        if !self.sink.is_uniform() {
            let either = from_data.iter().zip(from_log).map(|(data, log)| data | log);
            for (word, start) in either.enumerate().map(|(at, word)| (word, 64 * at as u32)) {
                for offset in bits(word).map(|bit| start + bit) {
                    let is_log = from_log[offset as usize / 64] >> (offset % 64) & 1 == 1;
                    let from = if is_log { log_pages[offset as usize] } else { data + offset };
                    self.copy_one(from, to + offset);
                }
            }
            return;
        }
        self.copy_equal(data, to, count(from_data));
        if self.planes.planes == 1 {
            self.copy_equal(data, to, count(from_log)); // all copies are moves
        } else {
            for offset in pages(from_log) {
                self.copy_equal(log_pages[offset as usize], to + offset, 1);
            }
        }
    }

    fn copy(&mut self, copied: &Copied<'_>) {
        let Copied { from, slots, to } = *copied;
        let first = self.planes.first_page(from);
        if self.sink.is_uniform() {
            self.copy_equal(first, to, slots.len() as u32);
        } else if self.planes.of(from) == self.planes.of_page(to) {
            let Operation { plane, index, ppn, .. } = self.planes.own(OperationKind::Move, to);
            self.moves_from(self.planes.own(OperationKind::Read, first).ppn);
            self.sink.submit_moves(Moves { plane, from: slots, index, ppn });
        } else {
            for (&slot, to) in slots.iter().zip(to..) {
                self.copy_one(first + slot, to);
            }
        }
    }

    #[inline]
    fn erase(&mut self, block: BlockId) {
        let page = self.planes.first_page(block);
        self.sink.submit(self.planes.own(OperationKind::Erase, page));
    }

    #[inline(always)]
    fn collection(&mut self) {
        self.sink.collection();
    }
}

impl<M: PartialEq> PartialEq for StripedFtl<M> {
    fn eq(&self, other: &Self) -> bool {
        self.block_ftl == other.block_ftl
            && self.planes == other.planes
            && self.failure == other.failure
    }
}

impl<M: BlockFtl> StripedFtl<M> {
    /// The FTL itself.
    pub fn block_ftl(&self) -> &M {
        &self.block_ftl
    }

    /// Remembers the first failure. What is served from then on is no result, but something has to
    /// be said of it: an operation on no page.
    #[cold]
    fn fail<S: Sink>(&mut self, kind: OperationKind, sink: &mut S) -> S::Served {
        if self.failure.is_none() {
            let counters = self.block_ftl.counters().common;
            let operation = counters.host_reads + counters.host_writes - 1;
            self.failure = Some(DeviceFull {
                ftl: self.info.name,
                operation: (!self.filling).then_some(operation),
                blocks: self.block_ftl.blocks(),
                remedy: self.info.remedy,
            });
        }
        let ppn = Operation::NO_PAGE;
        sink.submit(Operation {
            kind,
            collection: false,
            plane: PlaneId(0),
            index: 0,
            from: 0,
            ppn,
        })
    }
}

impl<M: BlockFtl> Ftl for StripedFtl<M> {
    fn room(config: &DeviceConfig, source: &str) -> Result<(), String> {
        let DeviceConfig { logical_pages, pages_per_block, .. } = *config;
        let least = config.ftl.least_blocks(PagesOfBlocks { logical_pages, pages_per_block });
        let blocks = u64::from(config.planes()) * u64::from(config.blocks_per_plane);
        if least <= blocks {
            return Ok(());
        }
        Err(format!(
            "no room for ftl = {}: {logical_pages} logical pages and what the FTL keeps beside \
             them take {least} blocks, and the device has {blocks} (change {source} or the table \
             [ftl])",
            config.ftl.info().name
        ))
    }

    fn build(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let Geometry { planes, pages_per_block, blocks_per_plane, logical_pages, .. } = *geometry;
        let pages = PagesOfBlocks { logical_pages, pages_per_block };
        StripedFtl {
            info: config.ftl.info(),
            block_ftl: M::build(&config.ftl, pages, planes * blocks_per_plane),
            planes: Planes {
                by_pages: Divisor::new(pages_per_block),
                by_planes: Divisor::new(planes),
                planes,
                pages_per_block,
                blocks_per_plane,
            },
            geometry: geometry.clone(),
            fetches: config.orders().then(Vec::new),
            filling: true,
            failure: None,
        }
    }

    #[inline]
    fn read<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> Option<S::Served> {
        if self.failure.is_some() {
            return Some(self.fail(OperationKind::Read, sink)); // it stopped half-way
        }
        let mut row = Row { planes: self.planes, sink, fetches: self.fetches.as_mut() };
        match self.block_ftl.read(lpn, &mut row) {
            Ok(served) => served,
            Err(NoFreeBlock) => Some(self.fail(OperationKind::Read, sink)),
        }
    }

    #[inline]
    fn write<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> S::Served {
        if self.failure.is_some() {
            return self.fail(OperationKind::Write, sink);
        }
        let mut row = Row { planes: self.planes, sink, fetches: self.fetches.as_mut() };
        match self.block_ftl.write(lpn, &mut row) {
            Ok(served) => served,
            Err(NoFreeBlock) => self.fail(OperationKind::Write, sink),
        }
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        self.block_ftl.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_old(&self, lpn: DriveLpn) {
        self.block_ftl.prefetch_old(lpn);
    }

    fn begin(&mut self) {
        self.block_ftl.reset(false);
        self.filling = false;
    }

    fn counters(&self) -> Option<FtlCounters> {
        Some(self.block_ftl.counters())
    }

    fn failure(&self) -> Option<&DeviceFull> {
        self.failure.as_ref()
    }

    /// The plane of the block that is next in the free queue (`docs/spec/device-policies.md` 2.2).
    fn target(&self, _: DriveLpn, _: impl Fn(UnitId) -> Nanos) -> PlaneId {
        self.block_ftl.next_free().map_or(PlaneId(0), |block| self.planes.of(block))
    }

    fn holder(&self, lpn: DriveLpn) -> PlaneId {
        match self.block_ftl.place(lpn) {
            None => self.geometry.home(lpn),
            Some(page) => self.planes.of_page(page),
        }
    }

    fn dirty_pages_have_no_unit(&self) -> bool {
        true
    }

    fn gc_cost_ns(&self, _: PlaneId, _: &Timing) -> Nanos {
        0
    }

    fn gc_victim_pages(&self, _: PlaneId) -> Option<u32> {
        None
    }

    /// Pages of a free block, since no plane has an active block.
    fn active_block_free_pages(&self, _: PlaneId) -> u32 {
        self.planes.pages_per_block
    }

    fn erase_counts(&self) -> &[u32] {
        self.block_ftl.erase_counts()
    }

    fn flash_state(&self) -> FlashState {
        self.block_ftl.flash_state()
    }

    fn check(&self) {
        self.block_ftl.check();
    }
}
