//! Writing a page: where it goes, and what comes before and after (`docs/spec/device.md` 5.2, 5.3).

use super::state::{PageFtl, UNMAPPED};
use crate::config::{Alloc, GcMode};
use crate::ftl::sink::Sink;
use crate::geometry::DriveLpn;
use crate::timing::{Kind, Operation};
use destage_core::{Nanos, PlaneId, UnitId};
use std::cmp::Reverse;

impl PageFtl {
    /// Writes a page to where it goes.
    #[inline(always)]
    pub(super) fn write_page<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> S::Served {
        let (home, slot) = self.home_and_slot(lpn);
        let plane = match self.alloc {
            Alloc::Static => home,
            Alloc::Dynamic => self.least_loaded(|unit| sink.backlog_ns(unit)),
        };
        self.write_slot(plane, slot, sink)
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
        slot: u32,
        sink: &mut S,
    ) -> S::Served {
        if self.gc_mode != GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        let old = self.map[slot as usize]; // after the collection, which may have moved it
        if old != UNMAPPED {
            self.invalidate(old - 1);
        }
        let (index, ppn) = self.take_page(plane, slot);
        self.planes[plane.index()].valid += 1;
        if self.alloc == Alloc::Dynamic {
            let unit = &mut self.units[self.geometry.place(plane).unit.index()];
            unit.free_pages -= 1;
            unit.open_planes -= u32::from(self.planes[plane.index()].valid == self.cap);
        }
        let (kind, collection) = (Kind::Write, false);
        let served = sink.submit(Operation { kind, collection, plane, index, from: index, ppn });
        self.seal_if_full(plane, false, sink);
        if self.gc_mode == GcMode::Background {
            self.collect_down_to_threshold(plane, sink);
        }
        served
    }
}
