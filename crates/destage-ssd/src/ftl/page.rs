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
//!
//! ```text
//!  state       the tables above, and how a block is programmed
//!  collection  one block of a plane                                5.4, 6
//!  steps       collections of several steps         `docs/spec/gc-steps.md`
//!  stepping    a few pages before each program                     ditto
//!  gc          which block that is                   `docs/spec/collectors.md`
//!  writing     where a page goes                                   5.2, 5.3
//!  points      several open blocks a plane        `docs/spec/device-today.md` 7
//!  slc         blocks that are written fast                        ditto, 9
//!  map_cache   a part of the map in memory            `docs/spec/map-cache.md`
//!  mapping     look-ups in it, and map pages            ditto, 4 to 6
//!  folding     writing to these, and folding them                  ditto, 9.2 to 9.4
//!  fill        writing much at once, in no time                    5.6
//!  image       a state as bytes
//!  restore     the state at time 0 again; `trimmed` helps it
//!  check       every invariant
//! ```

mod check;
mod collection;
mod fill;
mod folding;
mod gc;
mod image;
mod map_cache;
mod mapping;
mod points;
mod restore;
mod slc;
mod state;
mod stepping;
mod steps;
#[cfg(test)]
mod tests;
mod trimmed;
mod writing;

pub use state::PageFtl;

use super::counters::{MapCounts, SlcCounts, StreamCounts};
use super::image::ImageError;
use super::layer::{FlashState, Ftl};
use super::sink::{Instantly, Sink};
use crate::config::{Alloc, DeviceConfig, GcMode, Info, Precondition, StreamsConfig, UnmappedRead};
use crate::filling::{Interrupted, Writing};
use crate::geometry::{DriveLpn, Geometry};
use crate::placement::{Future, WriteHint};
use crate::timing::{Operation, OperationKind, Timing};
use destage_core::pages::prefetch;
use destage_core::{Nanos, PlaneId, UnitId};
use points::{NONE, Point};
use state::UNMAPPED;
use std::io::{self, Read, Write};

/// Catalogue entry of the page-mapped FTL.
pub static INFO: Info = Info {
    name: "page",
    title: "Page-mapped",
    source: "docs/spec/device.md, sections 5 and 6; greedy collection as in DiskSim's SSD \
             extension",
    about: "Any logical page may be in any page of its plane (or, with alloc = dynamic, of any \
            unit), and the whole map is in memory. A plane that runs out of free pages frees \
            the block with the fewest valid ones. The keys gc_*, alloc, striping and summary_page \
            of [device] are its parameters.",
    keys: &[],
    device_keys: &[
        "summary_page",
        "summary_bytes",
        "alloc",
        "striping",
        "stripe_pages",
        "gc_mode",
        "gc_low_pages",
        "gc_high_pages",
        "gc_idle_ns",
        "gc_step_pages",
        "unmapped_read",
    ],
    counters: &[],
    remedy: "",
    row: None,
};

/// 5.1: cap = B*D - F - A*D pages may be valid in a plane with A write points, so that a
/// collection finds a block.
fn room_for_collection(config: &DeviceConfig, source: &str) -> Result<(), String> {
    let planes = u64::from(config.planes());
    let (data, low) = (u64::from(config.data_pages()), u64::from(config.gc_low_pages));
    let plane = u64::from(config.blocks_per_plane) * data;
    let points = u64::from(config.write_points());
    let (open, blocks) = match points {
        1 => ("one active block".to_string(), "an active block".to_string()),
        _ => (format!("{points} active blocks"), format!("{points} active blocks")),
    };
    let cap = plane.checked_sub(low + points * data).filter(|&cap| cap > 0).ok_or_else(|| {
        format!(
            "no room for GC: gc_low_pages = {low} and {open} of {data} pages leave \
             nothing of the {plane} data pages of a plane"
        )
    })?;
    let logical = u64::from(config.logical_pages);
    let stripe = u64::from(config.stripe_pages);
    let map_pages = u64::from(config.map_pages());
    let map_in_one = map_pages.div_ceil(planes);
    let in_one = logical.div_ceil(stripe).div_ceil(planes) * stripe + map_in_one;
    let beside = if map_pages > 0 { format!(" and {map_pages} map pages") } else { String::new() };
    match config.alloc {
        Alloc::Static if in_one > cap => Err(format!(
            "no room for GC: a plane would hold {in_one} of {logical} logical pages\
             {beside}, but only {cap} fit beside gc_low_pages = {low} and {blocks} of {data} pages \
             (change {source} or gc_low_pages)"
        )),
        Alloc::Dynamic if logical + map_pages >= planes * cap || map_in_one >= cap => Err(format!(
            "no room for GC: {logical} logical pages{beside}, but dynamic allocation needs \
             fewer than {} ({planes} planes of {cap} pages; change {source} or gc_low_pages)",
            planes * cap
        )),
        _ => Ok(()),
    }
}

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// A unit has been idle for long: folds a block, or else collects one or a step of it.
    fn fold_or_collect<S: Sink>(&mut self, unit: UnitId, sink: &mut S) -> bool {
        if EXTENDED && self.fold_idle(unit, sink) {
            return true;
        }
        if self.gc_mode != GcMode::Idle {
            return false;
        }
        let planes = self.geometry.planes_of(unit);
        let chosen = planes
            .map(|plane| (self.planes[plane.index()].free_pages, plane))
            .filter(|&(free, plane)| u64::from(free) < self.high && self.has_collection(plane))
            .min();
        chosen.is_some_and(|(_, plane)| match &self.steps {
            Some(_) if EXTENDED => self.step(plane, sink),
            _ => self.collect(plane, sink),
        })
    }

    /// Reads a page whose place is known.
    #[inline(always)]
    fn read_page<S: Sink>(&self, lpn: DriveLpn, sink: &mut S) -> Option<S::Served> {
        let (kind, collection) = (OperationKind::Read, false);
        let (home, slot) = self.home_and_slot(lpn);
        let (plane, index, ppn) = match self.map[slot as usize] {
            UNMAPPED if self.unmapped_read == UnmappedRead::Free => return None,
            UNMAPPED => (home, 0, Operation::NO_PAGE),
            place => match &self.slc {
                Some(slc) if EXTENDED && slc.holds(place - 1) => {
                    (slc.plane(place - 1), slc.index(), place - 1)
                }
                _ => {
                    let (block, index) = self.by_block_pages.split(place - 1);
                    (PlaneId(self.by_plane_blocks.quotient(block)), index, place - 1)
                }
            },
        };
        Some(sink.submit(Operation { kind, collection, plane, index, from: index, ppn }))
    }
}

impl<const EXTENDED: bool> Ftl for PageFtl<EXTENDED> {
    fn room(config: &DeviceConfig, source: &str) -> Result<(), String> {
        room_for_collection(config, source)
    }

    fn collected_pages(config: &DeviceConfig) -> Option<f64> {
        let data = f64::from(config.data_pages());
        let plane = f64::from(config.blocks_per_plane) * data;
        let open = f64::from(config.write_points()) * data;
        let collected = plane - f64::from(config.gc_low_pages) - open / 2.0;
        Some(f64::from(config.planes()) * collected)
    }

    fn build(config: &DeviceConfig, geometry: &Geometry) -> Self {
        PageFtl::all_free(config, geometry)
    }

    fn fingerprint(config: &DeviceConfig) -> Option<u128> {
        // The image has one active block of data a plane, no handles, and no pages in an SLC cache.
        let is_plain = config.streams == StreamsConfig { handles: 1, ..StreamsConfig::ONE }
            && (config.slc.is_none() || config.precondition != Precondition::Steady);
        is_plain.then(|| image::fingerprint(config))
    }

    fn save(&self, config: &DeviceConfig, out: &mut impl Write) -> io::Result<()> {
        self.write_image(config, out)
    }

    fn load(config: &DeviceConfig, input: &mut impl Read) -> Result<Self, ImageError> {
        PageFtl::read_image(config, input)
    }

    #[inline]
    fn read<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> Option<S::Served> {
        if !EXTENDED || self.map_cache.is_none() {
            return self.read_page(lpn, sink);
        }
        let need = self.look_up(lpn, sink);
        sink.needs(need);
        let served = self.read_page(lpn, sink).or_else(|| sink.unmapped(need));
        self.write_deferred(sink);
        served
    }

    #[inline]
    fn write<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> S::Served {
        self.write_page(lpn, WriteHint::default(), sink)
    }

    #[inline]
    fn write_as<S: Sink>(&mut self, lpn: DriveLpn, hint: WriteHint, sink: &mut S) -> S::Served {
        self.write_page(lpn, hint, sink)
    }

    fn trim(&mut self, lpn: DriveLpn) -> bool {
        self.trim_page(lpn)
    }

    fn stream_counts(&self) -> Option<&StreamCounts> {
        EXTENDED.then(|| self.points.counts())
    }

    fn slc_counts(&self) -> Option<SlcCounts> {
        self.slc.as_ref().map(slc::Slc::counts)
    }

    fn map_counts(&self) -> Option<MapCounts> {
        self.map_cache.as_ref().map(|map| map.counts())
    }

    fn future(&self) -> Option<Future> {
        self.points.placement.future()
    }

    fn foresee(&mut self, future: &Future) {
        self.points.placement.foresee(future);
    }

    fn restore(&mut self, before: &Self) -> bool {
        self.restore_from(before);
        true
    }

    fn begin(&mut self) {
        self.points.begin();
        if let Some(slc) = &mut self.slc {
            slc.begin();
        }
        if let Some(map) = &mut self.map_cache {
            map.begin();
        }
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        let (home, slot) = self.home_and_slot(lpn);
        prefetch(&self.map, slot as usize);
        if EXTENDED {
            self.points.prefetch(slot);
            self.prefetch_step(home);
            self.prefetch_item(lpn);
        }
    }

    #[inline(always)]
    fn prefetch_old(&self, lpn: DriveLpn) {
        let (home, slot) = self.home_and_slot(lpn);
        self.prefetch_place(self.map[slot as usize]);
        if EXTENDED {
            self.prefetch_moves(home);
            self.prefetch_map_page(lpn);
        }
    }

    fn fill(&mut self, pages: u32, writing: &mut Writing) -> Result<(), Interrupted> {
        self.fill_in_order(pages, writing)
    }

    fn write_ahead(
        &mut self,
        lpns: impl Iterator<Item = DriveLpn> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        self.write_sorted(lpns, writing)
    }

    fn collect_idle<S: Sink>(&mut self, unit: UnitId, sink: &mut S) -> bool {
        let collected = self.fold_or_collect(unit, sink);
        if EXTENDED && collected {
            self.write_deferred(sink);
        }
        collected
    }

    #[inline(always)]
    fn target(&self, lpn: DriveLpn, backlog_ns: impl Fn(UnitId) -> Nanos) -> PlaneId {
        match self.alloc {
            Alloc::Static => self.geometry.home(lpn),
            Alloc::Dynamic => self.least_loaded(backlog_ns),
        }
    }

    fn holder(&self, lpn: DriveLpn) -> PlaneId {
        match self.place(lpn) {
            None => self.geometry.home(lpn),
            Some(ppn) => self.plane_of(ppn),
        }
    }

    fn dirty_pages_have_no_unit(&self) -> bool {
        self.alloc == Alloc::Dynamic
    }

    fn gc_cost_ns(&self, plane: PlaneId, timing: &Timing) -> Nanos {
        self.next_collection_ns(plane, timing)
    }

    fn gc_victim_pages(&self, plane: PlaneId) -> Option<u32> {
        self.next_victim_pages(plane)
    }

    fn active_block_free_pages(&self, plane: PlaneId) -> u32 {
        let Point { active, next } = self.points_of(plane)[0];
        self.geometry.pages_per_block - if active == NONE { 0 } else { next }
    }

    fn collect_to_high(&mut self) {
        for plane in (0..self.geometry.planes).map(PlaneId) {
            while u64::from(self.planes[plane.index()].free_pages) < self.high
                && self.collect(plane, &mut Instantly)
            {
                self.write_deferred(&mut Instantly);
            }
        }
    }

    fn use_slc_cache(&mut self) {
        if let Some(slc) = &mut self.slc {
            slc.takes_filling = true;
        }
    }

    fn pages_before_collection(&self) -> Option<u64> {
        let before = |plane: &state::Plane| u64::from(plane.free_pages.saturating_sub(self.low));
        Some(self.planes.iter().map(before).sum())
    }

    fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    fn flash_state(&self) -> FlashState {
        self.sums()
    }

    fn check(&self) {
        self.check_all();
    }
}
