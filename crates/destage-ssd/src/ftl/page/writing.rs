//! Writing a page: where it goes, and what comes before and after (`docs/spec/device.md` 5.2, 5.3);
//! and trimming one (`docs/spec/device-today.md` 4.1).

use super::state::{PageFtl, UNMAPPED};
use crate::config::{Alloc, GcMode};
use crate::ftl::sink::Sink;
use crate::geometry::DriveLpn;
use crate::placement::{Assigns, WriteHint};
use crate::timing::{Operation, OperationKind};
use destage_core::{Nanos, PlaneId, UnitId};
use std::cmp::Reverse;

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// Writes a page to where it goes.
    #[inline(always)]
    pub(super) fn write_page<S: Sink>(
        &mut self,
        lpn: DriveLpn,
        hint: WriteHint,
        sink: &mut S,
    ) -> S::Served {
        let (home, slot) = self.home_and_slot(lpn);
        let handle = if EXTENDED { self.points.assign(slot, hint) } else { 0 };
        if EXTENDED && self.map_cache.is_some() {
            let need = self.look_up(lpn, sink);
            let plane = self.plane_for(home, sink);
            sink.needs(need);
            let served = match self.write_cached(plane, slot, sink) {
                Some(served) => served,
                None => self.write_slot(plane, handle, slot, sink),
            };
            self.note_written(lpn);
            self.write_deferred(sink);
            return served;
        }
        let plane = self.plane_for(home, sink);
        if EXTENDED && let Some(served) = self.write_cached(plane, slot, sink) {
            return served;
        }
        self.write_slot(plane, handle, slot, sink)
    }

    /// Writes a page before time 0: to the main area, past the SLC cache, unless that is to be
    /// filled too (`docs/spec/device-today.md` 7.4).
    pub(super) fn write_filling<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) {
        let (home, slot) = self.home_and_slot(lpn);
        let hint = WriteHint { bytes: self.page_bytes.into(), label: 0 };
        let handle = if EXTENDED { self.points.assign(slot, hint) } else { 0 };
        if EXTENDED && self.map_cache.is_some() {
            self.look_up(lpn, sink);
        }
        let plane = self.plane_for(home, sink);
        self.fill_slot(plane, handle, slot, sink);
        if EXTENDED && self.map_cache.is_some() {
            self.note_written(lpn);
            self.write_deferred(sink);
        }
    }

    /// Writes a page to a plane before time 0.
    #[inline(always)]
    pub(super) fn fill_slot<S: Sink>(
        &mut self,
        plane: PlaneId,
        point: u32,
        slot: u32,
        sink: &mut S,
    ) {
        let cached = EXTENDED && self.slc.as_ref().is_some_and(|slc| slc.takes_filling);
        if !cached || self.write_cached(plane, slot, sink).is_none() {
            self.write_slot(plane, point, slot, sink);
        }
    }

    #[inline(always)]
    fn plane_for<S: Sink>(&self, home: PlaneId, sink: &S) -> PlaneId {
        match self.alloc {
            Alloc::Static => home,
            Alloc::Dynamic => self.least_loaded(|unit| sink.backlog_ns(unit)),
        }
    }

    /// Drops a page: its place becomes invalid, and nothing else happens. False if it had none.
    pub(super) fn trim_page(&mut self, lpn: DriveLpn) -> bool {
        let (_, slot) = self.home_and_slot(lpn);
        let old = std::mem::replace(&mut self.map[slot as usize], UNMAPPED);
        if old == UNMAPPED {
            return false;
        }
        self.trimmed.push(slot, self.map.len());
        self.invalidate(old - 1);
        if EXTENDED {
            let clock = self.points.clock;
            self.points.placement.trimmed(slot, clock);
        }
        true
    }

    /// Dynamic allocation (5.2): the unit with the smallest (backlog, -free pages, number), and in
    /// it the plane with the most free pages.
    pub(super) fn least_loaded(&self, backlog_ns: impl Fn(UnitId) -> Nanos) -> PlaneId {
        let best = (0..)
            .map(UnitId)
            .zip(&self.units)
            .filter(|(_, room)| room.open_planes > 0)
            .min_by_key(|&(unit, room)| (backlog_ns(unit), Reverse(room.free_pages)));
        let (unit, _) = best.expect("not every plane holds as many valid pages as it may");
        let planes = self.geometry.planes_of(unit);
        let open = planes.filter(|&plane| self.planes[plane.index()].valid < self.cap);
        let plane = open.min_by_key(|&plane| Reverse(self.planes[plane.index()].free_pages));
        plane.expect("the unit has a plane that takes a page")
    }

    /// Writes a page to a plane (5.3, from step 2).
    #[inline(always)]
    pub(super) fn write_slot<S: Sink>(
        &mut self,
        plane: PlaneId,
        point: u32,
        slot: u32,
        sink: &mut S,
    ) -> S::Served {
        if self.gc_mode != GcMode::Background {
            self.make_room(plane, sink);
        }
        let old = self.map[slot as usize]; // after the collection, which may have moved it
        if old != UNMAPPED {
            self.invalidate(old - 1);
        }
        let (index, ppn) = self.take_page(plane, point, slot);
        self.planes[plane.index()].valid += 1;
        if self.alloc == Alloc::Dynamic {
            let unit = &mut self.units[self.geometry.place(plane).unit.index()];
            unit.free_pages -= 1;
            unit.open_planes -= u32::from(self.planes[plane.index()].valid == self.cap);
        }
        let (kind, collection) = (OperationKind::Write, false);
        let served = sink.submit(Operation { kind, collection, plane, index, from: index, ppn });
        self.seal_if_full(plane, point, false, sink);
        if self.gc_mode == GcMode::Background {
            self.make_room(plane, sink);
        }
        served
    }
}
