//! Any FTL, chosen when a drive is made: one branch per page, always the same.

use super::placed::Placed;
use super::{DeviceFull, FlashState, Ftl, FtlCounters, Sink, page::PageFtl};
use crate::config::DeviceConfig;
use crate::geometry::Geometry;
use crate::precondition::{Interrupted, Writing};
use crate::timing::Timing;
use destage_core::Nanos;

/// One of them.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a drive")]
pub enum AnyFtl {
    /// `page`.
    Page(PageFtl),
    /// One of `docs/spec/ftl.md`.
    Placed(Placed),
}

macro_rules! each {
    ($self:expr, $ftl:ident => $body:expr) => {
        match $self {
            AnyFtl::Page($ftl) => $body,
            AnyFtl::Placed($ftl) => $body,
        }
    };
}

impl AnyFtl {
    /// The FTL of a checked configuration, nothing written.
    pub(crate) fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        match Placed::new(config, geometry) {
            Some(placed) => AnyFtl::Placed(placed),
            None => AnyFtl::Page(PageFtl::new(config, geometry)),
        }
    }

    /// The page-mapped FTL, if it is that.
    pub fn page(&self) -> Option<&PageFtl> {
        match self {
            AnyFtl::Page(ftl) => Some(ftl),
            AnyFtl::Placed(_) => None,
        }
    }
}

impl Ftl for AnyFtl {
    #[inline]
    fn read<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> Option<S::Served> {
        each!(self, ftl => ftl.read(lpn, sink))
    }

    #[inline]
    fn write<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> S::Served {
        each!(self, ftl => ftl.write(lpn, sink))
    }

    #[inline(always)]
    fn warm(&self, lpn: u32) {
        each!(self, ftl => ftl.warm(lpn));
    }

    #[inline(always)]
    fn warm_old(&self, lpn: u32) {
        each!(self, ftl => ftl.warm_old(lpn));
    }

    fn fill(&mut self, logical_pages: u32, writing: &mut Writing) -> Result<(), Interrupted> {
        each!(self, ftl => ftl.fill(logical_pages, writing))
    }

    fn write_ahead(
        &mut self,
        lpns: impl Iterator<Item = u32> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        each!(self, ftl => ftl.write_ahead(lpns, writing))
    }

    fn begin(&mut self) {
        each!(self, ftl => ftl.begin());
    }

    fn counters(&self) -> Option<FtlCounters> {
        each!(self, ftl => ftl.counters())
    }

    fn failure(&self) -> Option<&DeviceFull> {
        each!(self, ftl => ftl.failure())
    }

    fn collect_idle<S: Sink>(&mut self, unit: u32, sink: &mut S) -> bool {
        each!(self, ftl => ftl.collect_idle(unit, sink))
    }

    #[inline(always)]
    fn target(&self, lpn: u32, backlog_ns: impl Fn(u32) -> Nanos) -> u32 {
        each!(self, ftl => ftl.target(lpn, backlog_ns))
    }

    fn holder(&self, lpn: u32) -> u32 {
        each!(self, ftl => ftl.holder(lpn))
    }

    fn dirty_pages_have_no_unit(&self) -> bool {
        each!(self, ftl => ftl.dirty_pages_have_no_unit())
    }

    fn gc_cost_ns(&self, plane: u32, timing: &Timing) -> Nanos {
        each!(self, ftl => ftl.gc_cost_ns(plane, timing))
    }

    fn gc_victim_pages(&self, plane: u32) -> Option<u32> {
        each!(self, ftl => ftl.gc_victim_pages(plane))
    }

    fn active_block_free_pages(&self, plane: u32) -> u32 {
        each!(self, ftl => ftl.active_block_free_pages(plane))
    }

    fn erase_counts(&self) -> impl Iterator<Item = u32> {
        let counts = match self {
            AnyFtl::Page(ftl) => ftl.erase_counts_by_block(),
            AnyFtl::Placed(ftl) => ftl.erase_counts_by_block(),
        };
        counts.iter().copied()
    }

    fn flash_state(&self) -> FlashState {
        each!(self, ftl => ftl.flash_state())
    }

    fn check(&self) {
        each!(self, ftl => ftl.check());
    }
}
