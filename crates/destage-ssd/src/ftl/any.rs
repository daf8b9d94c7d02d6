//! Any FTL, chosen when a drive is made: one branch per page, always the same.

use super::counters::{FtlCounters, MapCounts, SlcCounts, StreamCounts};
use super::image::ImageError;
use super::layer::{DeviceFull, FlashState, Ftl};
use super::sink::Sink;
use super::{AnyFtl, each_ftl, ftl_of};
use crate::config::DeviceConfig;
use crate::filling::{Interrupted, Writing};
use crate::geometry::{DriveLpn, Geometry};
use crate::placement::{Future, WriteHint};
use crate::timing::Timing;
use destage_core::{Nanos, PlaneId, UnitId};
use std::io::{self, Read, Write};

impl Ftl for AnyFtl {
    fn room(config: &DeviceConfig, source: &str) -> Result<(), String> {
        ftl_of!(config, F, _any => F::room(config, source))
    }

    fn collected_pages(config: &DeviceConfig) -> Option<f64> {
        ftl_of!(config, F, _any => F::collected_pages(config))
    }

    fn build(config: &DeviceConfig, geometry: &Geometry) -> Self {
        ftl_of!(config, F, any => any(F::build(config, geometry)))
    }

    fn fingerprint(config: &DeviceConfig) -> Option<u128> {
        ftl_of!(config, F, _any => F::fingerprint(config))
    }

    fn save(&self, config: &DeviceConfig, out: &mut impl Write) -> io::Result<()> {
        each_ftl!(self, ftl => ftl.save(config, out))
    }

    fn load(config: &DeviceConfig, input: &mut impl Read) -> Result<Self, ImageError> {
        ftl_of!(config, F, any => F::load(config, input).map(any))
    }

    fn restore(&mut self, before: &Self) -> bool {
        match (self, before) {
            (AnyFtl::PageFtl(ftl), AnyFtl::PageFtl(before)) => ftl.restore(before),
            (AnyFtl::PageExtended(ftl), AnyFtl::PageExtended(before)) => ftl.restore(before),
            (AnyFtl::StripedFtl(ftl), AnyFtl::StripedFtl(before)) => ftl.restore(before),
            _ => false,
        }
    }

    #[inline]
    fn read<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> Option<S::Served> {
        each_ftl!(self, ftl => ftl.read(lpn, sink))
    }

    #[inline]
    fn write<S: Sink>(&mut self, lpn: DriveLpn, sink: &mut S) -> S::Served {
        each_ftl!(self, ftl => ftl.write(lpn, sink))
    }

    #[inline]
    fn write_as<S: Sink>(&mut self, lpn: DriveLpn, hint: WriteHint, sink: &mut S) -> S::Served {
        each_ftl!(self, ftl => ftl.write_as(lpn, hint, sink))
    }

    fn trim(&mut self, lpn: DriveLpn) -> bool {
        each_ftl!(self, ftl => ftl.trim(lpn))
    }

    fn stream_counts(&self) -> Option<&StreamCounts> {
        each_ftl!(self, ftl => ftl.stream_counts())
    }

    fn slc_counts(&self) -> Option<SlcCounts> {
        each_ftl!(self, ftl => ftl.slc_counts())
    }

    fn map_counts(&self) -> Option<MapCounts> {
        each_ftl!(self, ftl => ftl.map_counts())
    }

    fn future(&self) -> Option<Future> {
        each_ftl!(self, ftl => ftl.future())
    }

    fn foresee(&mut self, future: &Future) {
        each_ftl!(self, ftl => ftl.foresee(future));
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        each_ftl!(self, ftl => ftl.prefetch(lpn));
    }

    #[inline(always)]
    fn prefetch_old(&self, lpn: DriveLpn) {
        each_ftl!(self, ftl => ftl.prefetch_old(lpn));
    }

    fn fill(&mut self, logical_pages: u32, writing: &mut Writing) -> Result<(), Interrupted> {
        each_ftl!(self, ftl => ftl.fill(logical_pages, writing))
    }

    fn write_ahead(
        &mut self,
        lpns: impl Iterator<Item = DriveLpn> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        each_ftl!(self, ftl => ftl.write_ahead(lpns, writing))
    }

    fn begin(&mut self) {
        each_ftl!(self, ftl => ftl.begin());
    }

    fn counters(&self) -> Option<FtlCounters> {
        each_ftl!(self, ftl => ftl.counters())
    }

    #[inline]
    fn failure(&self) -> Option<&DeviceFull> {
        each_ftl!(self, ftl => ftl.failure())
    }

    fn collect_idle<S: Sink>(&mut self, unit: UnitId, sink: &mut S) -> bool {
        each_ftl!(self, ftl => ftl.collect_idle(unit, sink))
    }

    #[inline(always)]
    fn target(&self, lpn: DriveLpn, backlog_ns: impl Fn(UnitId) -> Nanos) -> PlaneId {
        each_ftl!(self, ftl => ftl.target(lpn, backlog_ns))
    }

    #[inline]
    fn holder(&self, lpn: DriveLpn) -> PlaneId {
        each_ftl!(self, ftl => ftl.holder(lpn))
    }

    #[inline]
    fn dirty_pages_have_no_unit(&self) -> bool {
        each_ftl!(self, ftl => ftl.dirty_pages_have_no_unit())
    }

    #[inline]
    fn gc_cost_ns(&self, plane: PlaneId, timing: &Timing) -> Nanos {
        each_ftl!(self, ftl => ftl.gc_cost_ns(plane, timing))
    }

    #[inline]
    fn gc_victim_pages(&self, plane: PlaneId) -> Option<u32> {
        each_ftl!(self, ftl => ftl.gc_victim_pages(plane))
    }

    #[inline]
    fn active_block_free_pages(&self, plane: PlaneId) -> u32 {
        each_ftl!(self, ftl => ftl.active_block_free_pages(plane))
    }

    fn collect_to_high(&mut self) {
        each_ftl!(self, ftl => ftl.collect_to_high());
    }

    fn use_slc_cache(&mut self) {
        each_ftl!(self, ftl => ftl.use_slc_cache());
    }

    fn pages_before_collection(&self) -> Option<u64> {
        each_ftl!(self, ftl => ftl.pages_before_collection())
    }

    fn erase_counts(&self) -> &[u32] {
        each_ftl!(self, ftl => ftl.erase_counts())
    }

    fn flash_state(&self) -> FlashState {
        each_ftl!(self, ftl => ftl.flash_state())
    }

    fn check(&self) {
        each_ftl!(self, ftl => ftl.check());
    }
}
