//! Placement policies, which assign the handle of a page (`docs/spec/device-today.md` 8): one
//! policy, one file.
//!
//! ```text
//!  by_size    the size of the request                               8.3
//!  by_cache   the list of the cache that the page leaves            8.4
//!  sepbit     lifetimes inferred from the last ones                 8.5
//!  fk         lifetimes known beforehand                            8.6
//!  recorder   no choice, and a record of all writes: fk's first run 8.6
//! ```
//!
//! A page is named by its slot in the FTL's map. The clock counts the host's page writes, the
//! preconditioning's included, the present one too.

mod by_cache;
mod by_size;
mod fk;
mod recorder;
mod sepbit;
#[cfg(test)]
mod tests;

pub use fk::Future;

use crate::config::{DeviceConfig, PlacementConfig};
use by_cache::ByCache;
use by_size::BySize;
use fk::Fk;
use recorder::Recorder;
use sepbit::Sepbit;

/// Properties of a written page that placement policies use.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WriteHint {
    /// Length of the request that wrote it, bytes; 0 for a page that is only padding.
    pub bytes: u64,
    /// Label of the cache list that the page left.
    pub label: u8,
}

/// A block that is about to be collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Victim {
    /// The write point that opened it.
    pub(crate) point: u32,
    /// The clock at which that was.
    pub(crate) opened: u64,
}

/// Assigns handles, `0..H`.
pub(crate) trait Assigns {
    /// The host writes a page: its handle. Before anything that the write causes.
    fn written(&mut self, slot: u32, hint: WriteHint, clock: u64) -> u32;

    /// A block is collected, before its pages move.
    fn collected(&mut self, _: Victim, _clock: u64) {}

    /// A page of the block moves: its handle (`isolation = assigned`).
    fn moved(&self, _slot: u32, _: Victim, _clock: u64) -> u32 {
        0
    }

    /// A mapped page was trimmed.
    fn trimmed(&mut self, _slot: u32, _clock: u64) {}
}

/// Handle 0 for every page.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Unassigned;

impl Assigns for Unassigned {
    #[inline(always)]
    fn written(&mut self, _: u32, _: WriteHint, _: u64) -> u32 {
        0
    }
}

/// Whichever was chosen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Placement {
    Unassigned(Unassigned),
    BySize(BySize),
    ByCache(ByCache),
    Sepbit(Sepbit),
    Fk(Fk),
    Recorder(Recorder),
}

macro_rules! each {
    ($any:expr, $one:ident => $body:expr) => {
        match $any {
            Placement::Unassigned($one) => $body,
            Placement::BySize($one) => $body,
            Placement::ByCache($one) => $body,
            Placement::Sepbit($one) => $body,
            Placement::Fk($one) => $body,
            Placement::Recorder($one) => $body,
        }
    };
}

impl Placement {
    /// For a drive whose map has so many slots.
    pub(crate) fn new(config: &DeviceConfig, slots: usize) -> Self {
        let handles = config.streams.handles;
        match &config.placement {
            PlacementConfig::None => Placement::Unassigned(Unassigned),
            PlacementConfig::BySize { thresholds } => {
                Placement::BySize(BySize::new(thresholds.clone()))
            }
            PlacementConfig::ByCache => Placement::ByCache(ByCache::new(handles)),
            PlacementConfig::Sepbit { window } => {
                Placement::Sepbit(Sepbit::new(*window, handles, slots))
            }
            &PlacementConfig::Fk { steps, base, unit_pages } => {
                Placement::Fk(Fk::new((steps, base, unit_pages), handles, slots))
            }
            PlacementConfig::Recording => Placement::Recorder(Recorder::default()),
        }
    }

    /// A hint that the page of a slot is asked for soon: brings near what is known of it.
    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: u32) {
        match self {
            Placement::Sepbit(sepbit) => sepbit.prefetch(slot),
            Placement::Fk(fk) => fk.prefetch(slot),
            _ => {}
        }
    }

    /// Every page that is written in order for the first time by one request of a page has this
    /// handle, if that is so.
    pub(crate) fn of_filling(&self, page_bytes: u32) -> Option<u32> {
        let filling = WriteHint { bytes: page_bytes.into(), label: 0 };
        match self {
            Placement::Unassigned(_) => Some(0),
            Placement::BySize(by_size) => Some(by_size.class(filling.bytes)),
            Placement::ByCache(by_cache) => Some(by_cache.class(filling.label)),
            Placement::Sepbit(_) | Placement::Fk(_) | Placement::Recorder(_) => None,
        }
    }

    /// Whether the clock at which each block was opened is kept: SepBIT measures lifetimes of
    /// blocks.
    pub(crate) fn looks_at_blocks(&self) -> bool {
        matches!(self, Placement::Sepbit(_))
    }

    /// Writes and trims that the first run of `fk` recorded.
    pub(crate) fn future(&self) -> Option<Future> {
        match self {
            Placement::Recorder(recorder) => Some(recorder.future()),
            _ => None,
        }
    }

    /// Tells `fk` what the first run recorded.
    pub(crate) fn foresee(&mut self, future: &Future) {
        if let Placement::Fk(fk) = self {
            fk.foresee(future.clone());
        }
    }
}

impl Assigns for Placement {
    #[inline(always)]
    fn written(&mut self, slot: u32, hint: WriteHint, clock: u64) -> u32 {
        each!(self, one => one.written(slot, hint, clock))
    }

    fn collected(&mut self, victim: Victim, clock: u64) {
        each!(self, one => one.collected(victim, clock));
    }

    fn moved(&self, slot: u32, victim: Victim, clock: u64) -> u32 {
        each!(self, one => one.moved(slot, victim, clock))
    }

    fn trimmed(&mut self, slot: u32, clock: u64) {
        each!(self, one => one.trimmed(slot, clock));
    }
}
