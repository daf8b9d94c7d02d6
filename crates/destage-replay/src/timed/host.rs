//! The host side of a run: issues requests, open or closed, and counts.

use super::cache_frontend::{CacheFrontend, Numbered};
use super::control_commands::ControlQueue;
use super::course::{Course, TimedOutcome};
use super::frontend::{Access, Frontend, NoCache, PageFrontend};
use super::request::{self, goes_on, nothing_lost};
use super::tier_frontend::{BackingTimes, TierFrontend};
use crate::accesses::Extent;
use crate::error::RunError;
use crate::input::Input;
use crate::observe::{Observer, Watcher};
use crate::tiers::{LowerTiers, Slots};
use crate::warmup::Warmup;
use destage_core::pages::prefetch;
use destage_core::{Op, Policy};
use destage_ssd::config::{HostMode, LAST_NS};
use destage_ssd::{CacheConfig, Device, DriveLpn, HostConfig};
use std::collections::BTreeMap;

/// How far ahead the LPN of a request's first page is asked for.
const LPNS_AHEAD: usize = 24;
const PAGES_AHEAD: u32 = 4; // of a request: neighbours lie on different planes, in other lines

/// How far ahead the page itself is.
const AHEAD: usize = 12;

/// How far ahead the neighbours of its node are.
const LINKS_AHEAD: usize = 4;

/// Page accesses between two looks at the observer's progress.
const PERIOD: u64 = 1 << 12;

/// A run with a device, but for policy and drive.
#[derive(Clone, Copy)]
pub struct TimedReplay<'a> {
    /// Requests; every LPN is one of the drive.
    pub input: Input<'a>,
    /// The table `[host]`.
    pub host: HostConfig,
    /// Warm-up: replayed, not measured; cache, drive and clock continue.
    pub warmup: Warmup,
    /// A write miss reads the page from flash first.
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last request; no request waits for them.
    pub flush_at_end: bool,
}

impl TimedReplay<'_> {
    /// Runs without a cache (7.2).
    ///
    /// # Errors
    ///
    /// Errors of [`run`](TimedReplay::run).
    pub fn run_bare(
        &self,
        device: &mut Device,
        observer: &mut dyn Observer,
    ) -> Result<TimedOutcome, RunError> {
        self.drive(device, &mut NoCache::default(), &mut Watcher::new(observer))
    }

    /// Runs through a policy (7.3, 7.4).
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] if response times add up to more than 2^64 ns;
    /// [`RunError::Interrupted`] if the observer stops it; [`RunError::Bug`] if anything was lost.
    pub fn run<P: Policy>(
        &self,
        device: &mut Device,
        policy: &mut P,
        cache: &CacheConfig,
        observer: &mut dyn Observer,
    ) -> Result<TimedOutcome, RunError> {
        let Input { columns, next_uses, .. } = self.input;
        let fetch = self.fetch_on_write_miss;
        let pages = Numbered::new(columns.lpns, device.looks_at_sizes());
        let mut frontend =
            CacheFrontend::new(policy, cache.clone(), fetch, pages, next_uses, device);
        frontend.write_ahead(self.host.writer);
        let mut outcome = self.drive(device, &mut frontend, &mut Watcher::new(observer))?;
        outcome.timing.counters.waits_are_evictions();
        Ok(outcome)
    }

    /// Runs through several tiers, the device behind the second (`docs/spec/tiers.md` 6).
    ///
    /// # Errors
    ///
    /// As [`run`](TimedReplay::run).
    pub fn run_tiers<P: Policy>(
        &self,
        device: &mut Device,
        (policy, lower): (&mut P, LowerTiers<'_>),
        slots: Slots,
        (cache, backing): (&CacheConfig, BackingTimes),
        observer: &mut dyn Observer,
    ) -> Result<TimedOutcome, RunError> {
        let Input { columns, next_uses, .. } = self.input;
        let tiers = (policy, lower);
        let times = (cache, backing);
        let mut frontend = TierFrontend::new(tiers, slots, times, columns.lpns, next_uses, device);
        let mut outcome = self.drive(device, &mut frontend, &mut Watcher::new(observer))?;
        let pages = &mut outcome.pages;
        if self.flush_at_end {
            pages.tiers.tier2.backing_writes += pages.end_flushes;
        } else {
            pages.tiers.set_pending(frontend.dirty_in_tier1(), frontend.dirty_pages());
        }
        let measured = (outcome.started_ns, outcome.timing.counters.makespan_ns);
        outcome.disk = frontend.disk(measured);
        outcome.timing.counters.waits_are_evictions();
        Ok(outcome)
    }

    /// Issues requests, open or closed (7.5, 7.6), and counts responses.
    fn drive<C: PageFrontend>(
        &self,
        device: &mut Device,
        frontend: &mut C,
        observer: &mut Watcher<'_>,
    ) -> Result<TimedOutcome, RunError> {
        let Input { columns, arrivals_ns, continuations, .. } = self.input;
        let rows = columns.first_ids.len();
        let warm_rows = self.warmup.rows(rows, arrivals_ns);
        let mut continued = continuations.iter().copied().peekable();
        let mut control_commands = ControlQueue::new(&self.input, self.host, device);
        let requests = rows as u64 - continuations.len() as u64 + control_commands.count();
        control_commands.counts_from(warm_rows, requests);
        let mut course = Course::new(self.host, frontend.after_ns());
        all_arrive_in_time(&self.input, self.host.mode)?;
        goes_on(device, &course)?;
        course.ledger.pages.idle_writes = frontend.uses_idle().then_some(0);
        let operations_seen = observer.wants_operations();
        if operations_seen {
            device.queues().keep_operations();
        }
        device.queues().count_latencies(false);
        let (mut index, mut reported) = (0, 0);
        request::settle_later(device, frontend, &mut course);
        for (row, (&arrival_ns, &extent)) in arrivals_ns.iter().zip(columns.extents).enumerate() {
            let extent = Extent(extent);
            if continued.next_if_eq(&(row as u64)).is_none() {
                if control_commands.come_before(row) {
                    serve_between(
                        row,
                        &mut control_commands,
                        device,
                        frontend,
                        &mut course,
                        observer,
                    );
                }
                let bytes = control_commands.request_bytes(row);
                let what = (arrival_ns, extent.is_write(), bytes);
                let counting = control_commands.counting(row);
                request::issue(what, counting, device, frontend, &mut course, observer);
            }
            frontend.row(arrival_ns);
            self.look_ahead(row, device, frontend);
            self.serve(row, &mut index, device, frontend, &mut course, observer)?;
            if operations_seen {
                observer.operations(&mut device.queues().take_operations());
            }
            if index - reported >= PERIOD {
                reported = index;
                goes_on(device, &course)?;
                if !observer.progress(index) {
                    return Err(RunError::Interrupted);
                }
            }
        }
        serve_between(rows, &mut control_commands, device, frontend, &mut course, observer);
        self.end(device, frontend, course, observer, (index, requests), operations_seen)
    }

    /// LPN of a dense id, below 2^32, since it is of the drive. The first id of a request without
    /// pages may be one past the last, and hints must not panic.
    #[inline(always)]
    fn lpn_of(&self, id: u32) -> DriveLpn {
        DriveLpn(self.input.columns.lpns.get(id as usize).copied().unwrap_or(0) as u32)
    }

    /// Tells the memory of what comes some requests later.
    #[inline(always)]
    fn look_ahead<C: PageFrontend>(&self, row: usize, device: &Device, frontend: &C) {
        let columns = self.input.columns;
        if let Some(&farther) = columns.first_ids.get(row + LPNS_AHEAD) {
            prefetch(columns.lpns, farther as usize);
        }
        if let Some(&far) = columns.first_ids.get(row + AHEAD) {
            let extent = Extent(columns.extents[row + AHEAD]);
            let op = if extent.is_write() { Op::Write } else { Op::Read };
            for id in far..far + extent.pages().min(PAGES_AHEAD) {
                frontend.prefetch(device, id, self.lpn_of(id), op);
            }
        }
        if let Some(&near) = columns.first_ids.get(row + LINKS_AHEAD) {
            frontend.prefetch_links(device, near, self.lpn_of(near));
        }
    }

    /// Serves the pages of a row, which are numbered from `index` on.
    #[inline(always)]
    fn serve<C: PageFrontend>(
        &self,
        row: usize,
        index: &mut u64,
        device: &mut Device,
        frontend: &mut C,
        course: &mut Course,
        observer: &mut Watcher<'_>,
    ) -> Result<(), RunError> {
        let columns = self.input.columns;
        let first = columns.first_ids[row];
        for id in first..first + Extent(columns.extents[row]).pages() {
            let access = Access {
                now: course.now,
                op: course.op,
                id,
                lpn: self.lpn_of(id),
                index: *index,
                first_of_request: course.pages == 0,
                bytes: course.bytes,
            };
            request::serve(access, device, frontend, course, observer)?;
            *index += 1;
        }
        Ok(())
    }

    /// After the last request: what is still dirty, what is still under way, and what was lost.
    pub(super) fn end(
        &self,
        device: &mut Device,
        frontend: &mut dyn Frontend,
        mut course: Course,
        observer: &mut Watcher<'_>,
        (accesses, requests): (u64, u64),
        operations_seen: bool,
    ) -> Result<TimedOutcome, RunError> {
        course.close(frontend.host_operations(), observer);
        if course.warming {
            course.start_counting(device, frontend, requests);
        }
        course.cut(device, frontend);
        let mut gauges = BTreeMap::new();
        frontend.gauges(&mut |name, value| {
            observer.gauge(name, value);
            gauges.insert(name.to_string(), value);
        });
        let dirty_left = if self.flush_at_end {
            // No request waits for these: they are no evictions.
            device.queues().count_latencies(false);
            course.ledger.pages.end_flushes = frontend.flush(device);
            0
        } else {
            frontend.dirty()
        };
        device.finish();
        if operations_seen {
            observer.operations(&mut device.queues().take_operations());
        }
        course.settle(device, frontend, observer);
        observer.progress(accesses);
        goes_on(device, &course)?;
        nothing_lost(device, frontend.host_operations(), (course.requests, requests))?;
        course.outcome(device, &frontend.own_counters(), gauges, dirty_left)
    }
}

/// Serves the trims and flushes that come before a row.
#[inline(never)]
fn serve_between(
    row: usize,
    control_commands: &mut ControlQueue<'_>,
    device: &mut Device,
    frontend: &mut dyn Frontend,
    course: &mut Course,
    observer: &mut Watcher<'_>,
) {
    while let Some(control_command) = control_commands.next(row) {
        let what = (control_command.arrival_ns, control_command.kind());
        let counting = control_commands.counting(row);
        request::issue_control(what, counting, device, frontend, course, observer);
        control_commands.serve(control_command, device, frontend, course);
    }
}

/// An instant is below 2^63 ns, and so are those that follow from it. In a closed loop arrivals do
/// not count.
pub(super) fn all_arrive_in_time(input: &Input<'_>, mode: HostMode) -> Result<(), RunError> {
    let row = input.arrivals_ns.last().copied();
    let control_command =
        input.control_commands.list.last().map(|control_command| control_command.arrival_ns);
    let Some(last) =
        row.max(control_command).filter(|&last| last > LAST_NS && mode == HostMode::Open)
    else {
        return Ok(());
    };
    Err(RunError::Impossible(format!(
        "the last request arrives {last} ns after the first, later than 2^62 ns (146 years): is \
         the time unit right?"
    )))
}
