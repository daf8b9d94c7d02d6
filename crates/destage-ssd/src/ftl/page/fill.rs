//! Writing much at once, in no time: the same state as page by page, sooner.
//!
//! **In order, on an empty drive** (`docs/spec/device.md` 5.6). Nothing becomes invalid, and no
//! plane gets more than cap = B*D - F - D pages, hence nothing is collected in any mode: the k-th
//! page of a plane lies in block k / D at index k mod D, since free blocks are taken by index while
//! none has been erased. Static allocation gives a plane its pages in ascending order. Dynamic
//! allocation sees backlogs of 0 and takes the unit with the most free pages and the plane with the
//! most in it, lowest first: page i goes to unit i mod U, and there to plane (i / U) mod planes. No
//! plane reaches cap before its last page, because L < planes * cap.
//!
//! With a map cache of whole map pages, nothing but the pages of one map page is written between
//! two of its changes: they are written plane by plane.
//!
//! **At random, under static allocation.** A plane's state depends on the order of its own writes
//! only. So the writes are sorted by plane, stably, and every plane is served while it is in the
//! processor's cache.

use super::gc::{Collector, SealedBlock};
use super::points::Point;
use super::state::PageFtl;
use crate::config::Alloc;
use crate::filling::{Interrupted, Writing};
use crate::ftl::layer::Ftl;
use crate::ftl::sink::Instantly;
use crate::ftl::tournament::OUT;
use crate::geometry::{BlockId, DriveLpn};
use destage_core::pages::prefetch;
use destage_core::{PlaneId, UnitId};

/// So many writes ahead, the map entry is asked for; half of that, what it leads to.
const AHEAD: usize = 32;

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    pub(super) fn fill_in_order(
        &mut self,
        logical_pages: u32,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        let Some(handle) = self.handle_of_filling() else {
            return match self.handle_by_map_pages() {
                Some(handle) => self.fill_by_map_pages(handle, logical_pages, writing),
                None => self.write_each((0..logical_pages).map(DriveLpn), writing),
            };
        };
        debug_assert!(self.planes.iter().all(|plane| plane.valid == 0), "the drive is empty");
        let filled = match self.alloc {
            Alloc::Static => self.fill_homes(writing)?,
            Alloc::Dynamic => self.fill_in_turn(writing)?,
        };
        let data = self.geometry.data_pages;
        for (number, &pages) in filled.iter().enumerate() {
            let (full, rest) = (pages / data, pages % data);
            let plane = &mut self.planes[number];
            plane.valid = pages;
            plane.free_pages -= pages;
            let number = PlaneId(number as u32);
            let open = if rest > 0 { Point { active: full, next: rest } } else { Point::NONE };
            *self.point_mut(number, handle) = open;
            if EXTENDED {
                for local in 0..pages.div_ceil(data) {
                    let block = self.geometry.block(number, local);
                    self.points.opens(block, handle);
                    if local < full {
                        self.collector.sealed(SealedBlock { plane: number, local, block }, false);
                    }
                }
            }
            for local in 0..full {
                self.set_valid(self.geometry.block(number, local), 0..data);
            }
            if rest > 0 {
                self.set_valid(self.geometry.block(number, full), 0..rest);
            }
        }
        self.play_all(|number, local| local >= filled[number.index()].div_ceil(data));
        if EXTENDED {
            self.points.assigned(logical_pages.into(), handle);
        }
        Ok(())
    }

    /// The handle that all pages of a filling have. None if a placement policy distinguishes
    /// them, the collector looks at the clock, or a part of the map alone is in memory: then each
    /// write counts in its turn.
    fn handle_of_filling(&self) -> Option<u32> {
        self.handle_of_any_filling().filter(|_| self.map_cache.is_none())
    }

    /// The same, whatever part of the map is in memory.
    fn handle_of_any_filling(&self) -> Option<u32> {
        let handle = self.points.placement.of_filling(self.page_bytes);
        handle.filter(|_| !self.collector.uses_clock())
    }

    /// The same, if whole map pages are in memory and planes do not depend on each other.
    fn handle_by_map_pages(&self) -> Option<u32> {
        let of_pages = self.map_cache.as_ref().is_some_and(|map| map.is_of_pages());
        let is_static = self.alloc == Alloc::Static;
        self.handle_of_any_filling().filter(|_| of_pages && is_static)
    }

    /// In order, on an empty drive, with a map cache of map pages. The first write of a map page
    /// brings its item in, the second makes it the most recent, further ones change nothing there.
    /// The last page is written as any other, so that it is the one written last.
    fn fill_by_map_pages(
        &mut self,
        handle: u32,
        logical_pages: u32,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        let mut slots: Vec<Vec<u32>> = vec![Vec::new(); self.planes.len()];
        let last = logical_pages - 1;
        let mut start = 0;
        while start < last {
            let map = self.map_cache.as_ref().expect("only a part of the map is in memory");
            let end = map.end_of_map_page(DriveLpn(start)).min(last);
            for lpn in (start..end).map(DriveLpn) {
                let (plane, slot) = self.home_and_slot(lpn);
                slots[plane.index()].push(slot);
            }
            for lpn in (start..end).take(2).map(DriveLpn) {
                self.look_up(lpn, &mut Instantly);
            }
            for (plane, slots) in (0..).map(PlaneId).zip(&mut slots) {
                self.planes[plane.index()].valid += slots.len() as u32;
                let mut left = &slots[..];
                while !left.is_empty() {
                    // Where they come from is nothing to a sink that takes no time.
                    let written = self.program_moved(plane, handle, left, left, &mut Instantly);
                    left = &left[written..];
                }
                slots.clear();
            }
            self.note_written(DriveLpn(start));
            writing.wrote((end - start).into())?;
            start = end;
        }
        self.points.assigned(last.into(), handle);
        self.write_each((last..logical_pages).map(DriveLpn), writing)
    }

    /// Page by page, in order.
    fn write_each(
        &mut self,
        lpns: impl Iterator<Item = DriveLpn> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        let mut far = lpns.clone().skip(AHEAD);
        let mut near = lpns.clone().skip(AHEAD / 2);
        for lpn in lpns {
            if let Some(lpn) = far.next() {
                self.prefetch(lpn);
            }
            if let Some(lpn) = near.next() {
                self.prefetch_old(lpn);
            }
            self.write_filling(lpn, &mut Instantly);
            writing.wrote(1)?;
        }
        Ok(())
    }

    /// Keys of all blocks from valid pages, erase counts and active blocks. `is_free` is asked of
    /// (plane, block of the plane).
    pub(super) fn play_all(&mut self, is_free: impl Fn(PlaneId, u32) -> bool) {
        let blocks = self.geometry.blocks_per_plane;
        let of_all = |key: &dyn Fn(PlaneId, u32, BlockId) -> u64| -> Vec<u64> {
            let planes = (0..self.geometry.planes).map(PlaneId);
            let places = planes.flat_map(|plane| (0..blocks).map(move |local| (plane, local)));
            places
                .map(|(plane, local)| key(plane, local, self.geometry.block(plane, local)))
                .collect()
        };
        let free = of_all(&|plane, local, block| {
            if is_free(plane, local) { self.erases[block.index()].into() } else { OUT }
        });
        let sealed = of_all(&|plane, local, block| {
            let mut open = self.points_of(plane).iter();
            if is_free(plane, local) || open.any(|open| open.active == local) {
                OUT
            } else {
                u64::from(self.valid_pages(block)) << 32 | u64::from(self.erases[block.index()])
            }
        });
        self.free.set_all(free.into_iter());
        self.sealed.set_all(sealed.into_iter());
        let units = if self.alloc == Alloc::Dynamic { &mut self.units[..] } else { &mut [] };
        for (unit, room) in (0..).map(UnitId).zip(units) {
            let planes = self.geometry.planes_of(unit).map(|plane| &self.planes[plane.index()]);
            room.free_pages = planes.clone().map(|plane| u64::from(plane.free_pages)).sum();
            room.open_planes = planes.filter(|plane| plane.valid < self.cap).count() as u32;
        }
    }

    /// Static allocation: every page at home. Pages per plane.
    fn fill_homes(&mut self, writing: &mut Writing) -> Result<Vec<u32>, Interrupted> {
        let filled = self.geometry.homed_pages();
        let (data, block_pages) = (self.geometry.data_pages, self.geometry.pages_per_block);
        let mut first = 0;
        for (plane, &pages) in (0u32..).zip(&filled) {
            let mut ppn = first;
            first += self.geometry.blocks_per_plane * block_pages;
            let base = plane * self.plane_slots;
            for start in (0..pages).step_by(data as usize) {
                let count = data.min(pages - start);
                let slots = base + start..base + start + count;
                let map = &mut self.map[slots.start as usize..slots.end as usize];
                for (place, ppn) in map.iter_mut().zip(ppn..) {
                    *place = ppn + 1;
                }
                for (owner, slot) in self.owners[ppn as usize..].iter_mut().zip(slots) {
                    *owner = slot;
                }
                ppn += block_pages;
                writing.wrote(count.into())?;
            }
        }
        Ok(filled)
    }

    /// Dynamic allocation: unit by unit, then plane by plane. Pages per plane.
    fn fill_in_turn(&mut self, writing: &mut Writing) -> Result<Vec<u32>, Interrupted> {
        let geometry = &self.geometry;
        let plane_at = |at: u32| {
            let unit = at % geometry.units;
            unit * geometry.planes_per_unit + at / geometry.units
        };
        let order: Vec<u32> = (0..geometry.planes).map(plane_at).collect();
        let mut filled = vec![0; order.len()];
        let plane_pages = geometry.blocks_per_plane * geometry.pages_per_block;
        let mut turns = self.map.chunks_mut(order.len());
        let mut slot = 0;
        for rank in 0.. {
            let Some(turn) = turns.next() else { break };
            let (block, index) = (rank / geometry.data_pages, rank % geometry.data_pages);
            let in_plane = block * geometry.pages_per_block + index;
            for (place, &plane) in turn.iter_mut().zip(&order) {
                let ppn = plane * plane_pages + in_plane;
                *place = ppn + 1;
                self.owners[ppn as usize] = slot;
                slot += 1;
                filled[plane as usize] += 1;
            }
            writing.wrote(turn.len() as u64)?;
        }
        Ok(filled)
    }

    /// Random writes: by plane if planes do not depend on each other.
    pub(super) fn write_sorted(
        &mut self,
        lpns: impl Iterator<Item = DriveLpn> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        let handle = self.handle_of_filling().filter(|_| self.alloc == Alloc::Static);
        let Some(handle) = handle else { return self.write_each(lpns, writing) };
        let mut ends = vec![0usize; self.planes.len()];
        let mut writes = 0;
        for lpn in lpns.clone() {
            ends[self.geometry.home(lpn).index()] += 1;
            writes += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let mut slots = vec![0; writes];
        for lpn in lpns {
            let (plane, slot) = self.home_and_slot(lpn);
            let at = &mut ends[plane.index()];
            slots[*at] = slot;
            *at += 1;
        }
        let mut start = 0;
        for (plane, &end) in (0..).map(PlaneId).zip(&ends) {
            self.write_looking_ahead(&slots[start..end], writing, |ftl, slot| {
                ftl.fill_slot(plane, handle, slot, &mut Instantly);
            })?;
            start = end;
        }
        if EXTENDED {
            self.points.go_on(writes as u64);
        }
        Ok(())
    }

    /// Writes slots.
    fn write_looking_ahead(
        &mut self,
        slots: &[u32],
        writing: &mut Writing,
        mut write: impl FnMut(&mut Self, u32),
    ) -> Result<(), Interrupted> {
        for (i, &slot) in slots.iter().enumerate() {
            if let Some(&far) = slots.get(i + AHEAD) {
                prefetch(&self.map, far as usize);
            }
            if let Some(&near) = slots.get(i + AHEAD / 2) {
                self.prefetch_place(self.map[near as usize]);
            }
            write(self, slot);
            writing.wrote(1)?;
        }
        Ok(())
    }
}
