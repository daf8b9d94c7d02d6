//! A drive: an FTL over the queues of its units, and what a policy may ask it.
//!
//! ```text
//!  through  the way from the host to the flash, trims and flushes  `docs/spec/device-today.md` 4-6
//!  interface_counters   counters of the host interface
//! ```

mod interface_counters;
mod through;

pub use interface_counters::InterfaceCounters;

use crate::config::{DeviceConfig, GcMode, PlacementConfig};
use crate::ftl::{AnyFtl, DeviceFull, FlashState, Ftl, FtlCounters, MapCounts, Sink};
use crate::geometry::{DriveLpn, Geometry};
use crate::interface::Interface;
use crate::placement::{Future, WriteHint};
use crate::precondition::precondition;
use crate::queues::{Queues, Served};
use crate::timing::OperationKind;
use destage_core::{DeviceView, Lpn, Nanos, NominalTimes, PlaneId, Unfinished, UnitId, Units};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Counters of the device (`docs/spec/device.md` 8). They cover the measured part only;
/// `block_erases_*` cover the device's life.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table of section 8 says what each one is, name by name")]
pub struct DeviceCounters {
    /// R operations of the host.
    pub flash_reads: u64,
    /// W operations of the host.
    pub flash_programs: u64,
    pub gc_runs: u64,
    pub gc_moves: u64,
    pub summary_programs: u64,
    pub erases: u64,
    /// Sum over host programs of start - submission: the eviction wait of a cached run, which has
    /// it under that name.
    #[serde(skip)]
    pub program_wait_ns_sum: Nanos,
    pub read_miss_latency_ns_sum: Nanos,
    pub unit_busy_ns: Vec<Nanos>,
    pub channel_transfer_ns: Vec<Nanos>,
    pub channel_reads: Vec<u64>,
    pub channel_programs: Vec<u64>,
    pub block_erases_max: u64,
    pub block_erases_min: u64,
    /// Suspensions, on a device that suspends operations (`docs/spec/gc-steps.md` 7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspensions: Option<u64>,
    /// Counters of an FTL of `docs/spec/ftl.md` (1.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ftl: Option<FtlCounters>,
    /// Counters of the host interface, handles, SLC cache and trims.
    #[serde(default, flatten)]
    pub interface: Option<InterfaceCounters>,
    /// Counters of a map cache (`docs/spec/map-cache.md` 10).
    #[serde(default, flatten)]
    pub map: Option<MapCounts>,
}

impl DeviceCounters {
    /// Pages programmed, for whatever reason.
    pub fn programs_of_all_kinds(&self) -> u64 {
        match &self.ftl {
            Some(_) => self.data_programs(),
            None => self.data_programs() + self.summary_programs,
        }
    }

    /// Pages programmed with data or with a part of the map.
    pub fn data_programs(&self) -> u64 {
        match &self.ftl {
            Some(ftl) => ftl.common.flash_programs,
            None => {
                let migrations =
                    self.interface.as_ref().map_or(0, |interface| interface.slc_migrations);
                let map_writes = self.map.map_or(0, |map| map.map_writes);
                self.flash_programs + self.gc_moves + migrations + map_writes
            }
        }
    }
}

/// A simulated drive. A clone is a drive in the same state.
#[derive(Clone, Debug)]
pub struct Device {
    geometry: Geometry,
    ftl: AnyFtl,
    queues: Queues,
    idle: bool,
    events: bool,       // idle timers, or operations that wait for others
    before: FlashState, // at time 0
    commands: u64,
    // What stands between the host and the flash, if anything does.
    interface: Option<Box<Interface>>,
    trims: [u64; 2], // pages that were mapped, and that were not
    counts_interface: bool,
    config: Arc<DeviceConfig>,
    foresees: bool,
}

impl Device {
    /// A drive with its FTL, preconditioned, at time 0. If its placement uses future accesses it
    /// [records](Device::is_recording) first what that is.
    pub fn new(config: &DeviceConfig) -> Self {
        let geometry = Geometry::new(config);
        let first = config.for_first_run();
        let ftl = AnyFtl::build(&first, &geometry);
        Device::with_ftl(&first, geometry, ftl).of(config)
    }

    /// The device prepared for the first run, with the configuration `config` of the second.
    pub(crate) fn of(self, config: &DeviceConfig) -> Self {
        Device { config: Arc::new(config.clone()), ..self }
    }

    /// The run in front of it is the first of two: it records what the host writes
    /// (`docs/spec/device-today.md` 8.6).
    pub fn is_recording(&self) -> bool {
        self.config.placement.is_offline() && !self.foresees
    }

    /// The device at time 0 of the second run, with the record of the first.
    #[must_use]
    pub fn foreseeing(&self, future: &Future) -> Self {
        let geometry = self.geometry.clone();
        let mut ftl = AnyFtl::build(&self.config, &geometry);
        ftl.foresee(future);
        Device { foresees: true, ..Device::with_ftl(&self.config, geometry, ftl) }
    }

    /// A drive with an empty FTL, which it preconditions.
    fn with_ftl(config: &DeviceConfig, geometry: Geometry, mut ftl: AnyFtl) -> Self {
        let done = precondition(&mut ftl, config, &mut |_, _| true);
        debug_assert!(done.is_ok(), "no interruption");
        Device::ready(config, geometry, ftl)
    }

    /// A drive whose FTL has been preconditioned.
    pub(crate) fn ready(config: &DeviceConfig, geometry: Geometry, ftl: AnyFtl) -> Self {
        let queues = Queues::new(config, &geometry);
        let before = ftl.flash_state();
        let folds = config.slc.is_some_and(|slc| slc.slc_idle);
        let idle = folds || config.gc_mode == GcMode::Idle;
        let counts_interface = config.interface_key().is_some() || config.map_cache.is_some();
        let (commands, interface, trims) = (0, None, [0; 2]);
        let mut device = Device {
            geometry,
            ftl,
            events: idle || queues.is_ordered(),
            queues,
            idle,
            before,
            commands,
            interface,
            trims,
            counts_interface,
            config: Arc::new(config.clone()),
            foresees: false,
        };
        if config.interface.acting_key().is_some() {
            device.put_interface(Interface::new(&config.interface, config.page_bytes));
        }
        device
    }

    /// Becomes `before` again, of which it was a clone. False if its FTL has no way to do so.
    pub(crate) fn restore(&mut self, before: &Device) -> bool {
        #[rustfmt::skip] // every field is here, so that no new one is forgotten
        let Device {
            ftl, queues, commands, interface, trims,
            geometry: _, idle: _, events: _, before: _, counts_interface: _, config: _, foresees: _,
        } = before;
        if !self.ftl.restore(ftl) {
            return false;
        }
        self.queues.clone_from(queues);
        self.interface.clone_from(interface);
        (self.commands, self.trims) = (*commands, *trims);
        true
    }

    /// Goes on to `now`, the instant of a request: completions at times <= now, idle timers at
    /// times < now (5.5, 7.5). Time does not go back.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        if self.events {
            self.happen(now, now);
        }
        self.queues.advance(now);
    }

    /// All that happens up to `now` and before the requests of that instant, but for ends: timers
    /// that are due before `timers`, and operations that have waited for others.
    fn happen(&mut self, now: Nanos, timers: Nanos) {
        loop {
            let event = self.queues.next_event().filter(|&at| at <= now);
            if self.fire_before(event.map_or(timers, |at| at.min(timers))) {
                continue;
            }
            let Some(at) = event else { return };
            self.queues.advance(at);
            self.follow_ends();
            self.release();
        }
    }

    /// The first instant at which the end of an operation may become known, if nothing more is
    /// submitted.
    #[inline]
    pub fn next_known(&self) -> Option<Nanos> {
        self.queues.next_known()
    }

    /// Operations that have waited and are due enter their queues.
    fn release(&mut self) {
        while let Some(released) = self.queues.release() {
            if let Some(released) = released {
                self.released(released);
            }
            self.follow_ends();
        }
    }

    /// Operations that wait enter their queues, each when it would if no request came any more; now
    /// stays as it is. Later requests find them there.
    pub fn run_ahead(&mut self) {
        while let Some(released) = self.queues.release_ahead() {
            if let Some(released) = released {
                self.released(released);
            }
        }
    }

    /// The first idle timer that is due before `end` fires; false if there is none.
    #[inline(always)]
    fn fire_before(&mut self, end: Nanos) -> bool {
        if !self.idle {
            return false;
        }
        let Some((due, unit)) = self.queues.next_timer(end) else { return false };
        self.queues.advance(due);
        if self.queues.is_ordered() {
            self.queues.caused_by_timer(Some(unit));
            self.ftl.collect_idle(unit, &mut self.queues);
            self.queues.caused_by_timer(None);
            return true;
        }
        let collected = self.ftl.collect_idle(unit, &mut self.queues);
        self.queues.rearm(unit, collected);
        true
    }

    /// Goes on to `now`, an instant at which the host looks for idle units: completions and idle
    /// timers at times <= now (`docs/spec/writer.md`, 2).
    pub fn advance_past_timers(&mut self, now: Nanos) {
        if self.events {
            self.happen(now, now + 1); // instants stay far below the last one
        }
        self.queues.advance(now);
    }

    /// The next such instant after `after`, when a unit becomes idle, if it lies before `end`.
    /// Timers that are due before it fire; time goes no further than to these.
    pub fn next_idle(&mut self, after: Nanos, end: Nanos) -> Option<Nanos> {
        loop {
            let next = self.queues.next_idle(after).filter(|&next| next < end);
            let limit = next.unwrap_or(end);
            // What a timer or an end starts before that may end before, or make the unit busy for
            // longer. At that instant it does not: the last operation of a queue has ended.
            let event = self.queues.next_event().filter(|&at| next.map_or(at <= end, |i| at < i));
            if self.fire_before(event.unwrap_or(limit)) {
                continue;
            }
            let Some(at) = event else { return next };
            self.queues.advance(at);
            self.follow_ends();
            self.release();
        }
    }

    /// Reads a page. `None` if it was never written and that costs nothing.
    #[inline]
    pub fn read(&mut self, lpn: DriveLpn) -> Option<Served> {
        if self.interface.is_some() {
            return Some(self.read_through(lpn));
        }
        self.queues.next_page();
        self.ftl.read(lpn, &mut self.queues)
    }

    /// Writes a page of which the host says nothing.
    #[inline]
    pub fn write(&mut self, lpn: DriveLpn) -> Served {
        self.write_as(lpn, WriteHint::default())
    }

    /// Writes a page.
    #[inline]
    pub fn write_as(&mut self, lpn: DriveLpn, hint: WriteHint) -> Served {
        if self.interface.is_some() {
            return self.write_through(lpn, hint);
        }
        self.queues.next_page();
        self.ftl.write_as(lpn, hint, &mut self.queues)
    }

    /// A hint that the page is read or written some requests later: brings near what says where
    /// it is. It changes nothing but speed.
    #[inline(always)]
    pub fn prefetch(&self, lpn: DriveLpn) {
        self.ftl.prefetch(lpn);
    }

    /// A hint that the page is written very soon, and [`prefetch`](Device::prefetch) was called
    /// some ten
    /// pages ago: brings near what changes when its old version becomes invalid.
    #[inline(always)]
    pub fn prefetch_old(&self, lpn: DriveLpn) {
        self.ftl.prefetch_old(lpn);
    }

    /// The last request has been processed: every operation ends.
    pub fn finish(&mut self) {
        while let Some(at) = self.queues.next_event() {
            self.queues.advance(at);
            self.follow_ends();
            self.release();
        }
        self.queues.drain();
    }

    /// Configuration of the device.
    #[inline]
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Whether handles are assigned by the sizes of requests.
    #[inline]
    pub fn looks_at_sizes(&self) -> bool {
        matches!(self.config.placement, PlacementConfig::BySize { .. })
    }

    /// Sizes and striping.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Units, for what a host side needs beyond requests.
    #[inline]
    pub fn queues(&mut self) -> &mut Queues {
        &mut self.queues
    }

    /// Why the FTL could not go on, be it while the drive was filled. What was read and written
    /// since then is no result.
    #[inline]
    pub fn failure(&self) -> Option<&DeviceFull> {
        self.ftl.failure()
    }

    /// When the last unit ends its work, if nothing more is submitted. O(units).
    #[inline]
    pub fn last_end(&self) -> Nanos {
        self.queues.last_end()
    }

    /// The FTL, for tests and checked runs.
    pub fn ftl(&self) -> &AnyFtl {
        &self.ftl
    }

    /// The units of a page, clean and dirty (`docs/spec/device-policies.md` 2.2).
    #[inline]
    pub fn units_of(&self, lpn: DriveLpn) -> Units {
        if self.ftl.dirty_pages_have_no_unit() {
            let clean = self.geometry.unit_of(self.ftl.holder(lpn));
            return Units { clean, dirty: UnitId(self.geometry.units) };
        }
        let home = self.geometry.unit_of(self.geometry.home(lpn));
        Units { clean: home, dirty: home }
    }

    /// Counts since time 0.
    pub fn counters(&self) -> DeviceCounters {
        let totals = self.queues.totals();
        let channels = self.queues.channels();
        let slc = self.ftl.slc_counts().unwrap_or_default();
        // An FTL counts programs and folds when it decides on them: so are their operations, which
        // may wait for others still. A window of a run has both, or neither.
        let decided = |counted, kind| self.queues.waiting(kind).iter().sum::<u64>() + counted;
        let [host_programs, _] = self.queues.waiting(OperationKind::Write);
        DeviceCounters {
            flash_reads: totals.reads,
            flash_programs: totals.programs + host_programs,
            gc_runs: totals.collections,
            gc_moves: decided(totals.moves, OperationKind::Move) - slc.migrations,
            summary_programs: totals.summaries,
            erases: decided(totals.erases, OperationKind::Erase) - slc.folds,
            program_wait_ns_sum: totals.program_wait_ns,
            read_miss_latency_ns_sum: totals.read_latency_ns,
            unit_busy_ns: self.queues.busy_ns().collect(),
            channel_transfer_ns: channels.iter().map(|c| c.transfer_ns).collect(),
            channel_reads: channels.iter().map(|c| c.reads).collect(),
            channel_programs: channels.iter().map(|c| c.programs).collect(),
            block_erases_max: self.ftl.erase_counts().iter().copied().max().unwrap_or(0).into(),
            block_erases_min: self.ftl.erase_counts().iter().copied().min().unwrap_or(0).into(),
            suspensions: self.queues.suspensions(),
            ftl: self.ftl.counters(),
            interface: self.counts_interface.then(|| self.interface_counts()),
            map: self.ftl.map_counts(),
        }
    }

    /// Nothing is lost and nothing appears: what the flash says was done to it since time 0 is what
    /// the units have served, and every mapped page is valid somewhere. After
    /// [`finish`](Device::finish), every operation has ended. O(blocks + pages), both sequential.
    ///
    /// # Errors
    ///
    /// A sentence with both numbers, for a message about a fault of the simulator's own.
    pub fn check_conservation(&self) -> Result<(), String> {
        let (now, before, totals) = (self.ftl.flash_state(), &self.before, self.queues.totals());
        let programs = totals.programs + totals.own_programs + totals.moves;
        for (what, flash, counted) in [
            ("valid pages, and mapped pages", now.valid_pages, now.mapped_pages),
            ("data pages programmed, and W + M", now.programs - before.programs, programs),
            ("summary pages, and S", now.summaries - before.summaries, totals.summaries),
            ("blocks erased, and E", now.erases - before.erases, totals.erases),
            ("units still at work after the end, not", self.queues.busy_units(), 0),
        ] {
            if flash != counted {
                return Err(format!("the device does not conserve: {flash} {what} {counted}"));
            }
        }
        let Some(FtlCounters { common: ftl, .. }) = self.ftl.counters() else { return Ok(()) };
        let host_reads = ftl.host_reads - ftl.unmapped_reads;
        for (what, counted, served) in [
            ("host pages read by the FTL, and R", host_reads, totals.reads),
            ("host pages written by the FTL, and W", ftl.host_writes, totals.programs),
            (
                "pages read by it, and R + M",
                ftl.flash_reads,
                host_reads + totals.own_reads + totals.moves,
            ),
            ("pages programmed by it, and W + M", ftl.flash_programs, programs),
            ("blocks erased by it, and E", ftl.erases, totals.erases),
        ] {
            if counted != served {
                return Err(format!("the device does not conserve: {counted} {what} {served}"));
            }
        }
        Ok(())
    }

    /// List U answers for the unit that dynamic allocation would choose now.
    #[inline]
    fn real_unit(&self, unit: UnitId) -> UnitId {
        if unit.0 < self.geometry.units {
            return unit;
        }
        self.geometry.unit_of(self.target(Lpn(0)))
    }
}

impl DeviceView for Device {
    #[inline]
    fn units(&self) -> u32 {
        self.geometry.units
    }
    #[inline]
    fn backlog_ns(&self, unit: UnitId) -> Nanos {
        self.queues.backlog_ns(self.real_unit(unit))
    }
    #[inline]
    fn backlogs_ns(&self, backlogs: &mut [Nanos]) {
        let (units, list_u) = backlogs.split_at_mut(backlogs.len().min(self.units() as usize));
        self.queues.backlogs_ns(units);
        for backlog in list_u {
            *backlog = self.backlog_ns(UnitId(self.units()));
        }
    }
    #[inline]
    fn in_gc(&self, unit: UnitId) -> bool {
        self.queues.in_gc(self.real_unit(unit))
    }
    #[inline]
    fn gc_cost_ns(&self, plane: PlaneId) -> Nanos {
        self.ftl.gc_cost_ns(plane, self.queues.timing())
    }
    #[inline]
    fn gc_victim_pages(&self, plane: PlaneId) -> Option<u32> {
        self.ftl.gc_victim_pages(plane)
    }
    #[inline]
    fn active_block_free_pages(&self, plane: PlaneId) -> u32 {
        self.ftl.active_block_free_pages(plane)
    }
    #[inline]
    fn pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block
    }
    #[inline]
    fn target(&self, lpn: Lpn) -> PlaneId {
        self.ftl.target(self.geometry.wrapped(lpn), |unit| self.queues.backlog_ns(unit))
    }
    #[inline]
    fn unit_of(&self, plane: PlaneId) -> UnitId {
        self.geometry.unit_of(plane)
    }
    #[inline]
    fn unfinished(&self, unit: UnitId) -> Unfinished {
        self.queues.unfinished(self.real_unit(unit))
    }
    fn nominal_times(&self) -> Option<NominalTimes> {
        Some(self.queues.timing().nominal())
    }
    fn logical_pages(&self) -> Option<u64> {
        Some(self.geometry.logical_pages.into())
    }
}
