//! The FTL trait: turns page reads and writes into operations on planes that it names
//! (`docs/spec/device.md` 12).
//!
//! It decides at once and never sees a time, but for the backlog that dynamic allocation asks for.

use super::counters::{FtlCounters, MapCounts, SlcCounts, StreamCounts};
use super::image::ImageError;
use super::sink::{Instantly, Sink};
use crate::config::DeviceConfig;
use crate::filling::{Interrupted, Writing};
use crate::geometry::{DriveLpn, Geometry};
use crate::placement::{Future, WriteHint};
use crate::timing::Timing;
use destage_core::{Nanos, PlaneId, UnitId};
use std::io::{self, Read, Write};

/// A free block is needed, and there is none: the run stops, and its counters are no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{ftl}: {}: device full: a free block is needed, and none of the {blocks} blocks is free{}",
    pending_time(*operation), remedy)]
pub struct DeviceFull {
    /// The FTL.
    pub ftl: &'static str,
    /// Number of the host's operation, from 0; `None` while the drive was being filled.
    pub operation: Option<u64>,
    /// Blocks of the flash.
    pub blocks: u32,
    /// Advice for the user ([`Info::remedy`](crate::config::Info::remedy)).
    pub remedy: &'static str,
}

fn pending_time(operation: Option<u64>) -> String {
    operation.map_or("while it was being filled".into(), |number| format!("operation {number}"))
}

/// Totals of the flash array's own state, independent of the FTL's counters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlashState {
    /// Logical pages that have a place.
    pub mapped_pages: u64,
    /// Physical pages that hold the current version of a logical page.
    pub valid_pages: u64,
    /// Data pages programmed since the drive was made.
    pub programs: u64,
    /// Summary pages programmed since the drive was made.
    pub summaries: u64,
    /// Blocks erased since the drive was made.
    pub erases: u64,
}

/// A flash translation layer.
pub trait Ftl: Sized {
    /// Whether a drive whose keys are good one by one has room for it.
    ///
    /// # Errors
    ///
    /// A sentence that names what is too small; `source` is the key that L comes from.
    fn room(config: &DeviceConfig, source: &str) -> Result<(), String>;

    /// Data pages of the blocks among which greedy collection chooses, on the average and of the
    /// whole drive: all but those that it keeps free, and but half of each block that is being
    /// filled. `None` if the FTL collects in another way, or stores more than the host's pages.
    fn collected_pages(_config: &DeviceConfig) -> Option<f64> {
        None
    }

    /// All blocks are free, nothing is written. The drive has [`room`](Ftl::room).
    fn build(config: &DeviceConfig, geometry: &Geometry) -> Self;

    /// A hash of all that decides what preconditioning leaves behind, if a file may keep that:
    /// never of a latency, since every backlog is 0 meanwhile. `None`: it is not kept.
    fn fingerprint(_config: &DeviceConfig) -> Option<u128> {
        None
    }

    /// Writes the state, as the configuration's preconditioning left it. Only called where there
    /// is a [`fingerprint`](Ftl::fingerprint).
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    fn save(&self, _config: &DeviceConfig, _out: &mut impl Write) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Reads what [`save`](Ftl::save) wrote.
    ///
    /// # Errors
    ///
    /// [`ImageError`]: it was cut short or damaged, or saved for another configuration or by
    /// another version.
    fn load(_config: &DeviceConfig, _input: &mut impl Read) -> Result<Self, ImageError> {
        Err(ImageError::Other)
    }

    /// Becomes `before` again, of which it was a clone. False, without a change, if a clone is as
    /// fast.
    fn restore(&mut self, _before: &Self) -> bool {
        false
    }

    /// Reads a page. `None` if that costs nothing, because it was never written.
    fn read<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> Option<S::Served>;

    /// Writes a page and does what must be done before and after it. Returns the page's own
    /// program.
    fn write<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> S::Served;

    /// Writes a page of which the host says where it is from.
    fn write_as<S: Sink>(&mut self, lpn: DriveLpn, _: WriteHint, sink: &mut S) -> S::Served {
        self.write(lpn, sink)
    }

    /// Drops a page; true if it was mapped (`docs/spec/device-today.md` 4.1). Only `page` is asked.
    fn trim(&mut self, _lpn: DriveLpn) -> bool {
        false
    }

    /// Counts by handle and write point, of a drive that has several or an SLC cache.
    fn stream_counts(&self) -> Option<&StreamCounts> {
        None
    }

    /// Counts of the SLC cache.
    fn slc_counts(&self) -> Option<SlcCounts> {
        None
    }

    /// Counts of a map cache.
    fn map_counts(&self) -> Option<MapCounts> {
        None
    }

    /// Writes and trims that the first run of `fk` recorded.
    fn future(&self) -> Option<Future> {
        None
    }

    /// Gives `fk` the record of the first run, before the first write.
    fn foresee(&mut self, _: &Future) {}

    /// Writes the pages of a flush group, in the order of the record.
    fn write_group<S: Sink>(
        &mut self,
        lpns: &[DriveLpn],
        sink: &mut S,
        mut written: impl FnMut(DriveLpn, S::Served),
    ) {
        for &lpn in lpns {
            written(lpn, self.write(lpn, sink));
        }
    }

    /// A hint that the page is written or read soon: brings what says where it is near.
    fn prefetch(&self, _lpn: DriveLpn) {}

    /// A hint that the page is written very soon, some ten pages after [`prefetch`](Ftl::prefetch):
    /// brings
    /// near what changes when its old version becomes invalid.
    fn prefetch_old(&self, _lpn: DriveLpn) {}

    /// Writes page 0, 1, .., L-1 of an empty drive, in no time (5.6).
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the caller wants no more of it.
    fn fill(&mut self, logical_pages: u32, writing: &mut Writing) -> Result<(), Interrupted> {
        self.write_ahead((0..logical_pages).map(DriveLpn), writing)
    }

    /// Writes pages in order, in no time: every backlog is 0.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the caller wants no more of it.
    fn write_ahead(
        &mut self,
        lpns: impl Iterator<Item = DriveLpn> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        for lpn in lpns {
            self.write(lpn, &mut Instantly);
            writing.wrote(1)?;
        }
        Ok(())
    }

    /// The drive has been filled: counts begin.
    fn begin(&mut self) {}

    /// Counts since then, of an FTL of `docs/spec/ftl.md`.
    fn counters(&self) -> Option<FtlCounters> {
        None
    }

    /// Why it could not go on. What it did since then is no result.
    fn failure(&self) -> Option<&DeviceFull> {
        None
    }

    /// A unit has been idle for long: collects one block, if that is any use (5.5).
    fn collect_idle<S: Sink>(&mut self, _unit: UnitId, _sink: &mut S) -> bool {
        false
    }

    /// The plane that a program of the page would go to now.
    fn target(&self, lpn: DriveLpn, backlog_ns: impl Fn(UnitId) -> Nanos) -> PlaneId;

    /// The plane that holds the page; its home if it was never written.
    fn holder(&self, lpn: DriveLpn) -> PlaneId;

    /// A dirty page belongs to no unit until it is written (`docs/spec/device-policies.md` 2.2).
    fn dirty_pages_have_no_unit(&self) -> bool;

    /// Time of the collection that the next program to the plane would set off (section 6).
    fn gc_cost_ns(&self, plane: PlaneId, timing: &Timing) -> Nanos;

    /// Valid pages of the block that it would collect; `None` if none would run.
    fn gc_victim_pages(&self, plane: PlaneId) -> Option<u32>;

    /// Pages of the active block that are not programmed yet, summary page included.
    fn active_block_free_pages(&self, plane: PlaneId) -> u32;

    /// Collects, in no time, until each plane has `gc_high_pages` free pages, or has nothing to
    /// collect.
    fn collect_to_high(&mut self) {}

    /// From now on until counts [begin](Ftl::begin), preconditioning writes go through the SLC
    /// cache, if there is one.
    fn use_slc_cache(&mut self) {}

    /// Pages that can be programmed before collection begins, where a low mark says when it does.
    fn pages_before_collection(&self) -> Option<u64> {
        None
    }

    /// Erase count of every block, preconditioning included.
    fn erase_counts(&self) -> &[u32];

    /// Sums over all blocks and pages, from the state of the flash and not from counters.
    fn flash_state(&self) -> FlashState;

    /// Asserts every invariant. Slow; for tests and checked runs.
    fn check(&self);
}
