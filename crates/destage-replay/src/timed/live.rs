//! A run with a device whose requests come one by one, at instants unknown before
//! (`docs/spec/pool.md` 10.3). It takes the steps of a replay, over pages that are LPNs of the
//! drive, so that the requests, replayed, have the same counters and completions.

use super::cache_frontend::{Addressed, CacheFrontend};
use super::control_commands;
use super::course::{Course, TimedOutcome};
use super::frontend::{Access, NoCache, PageFrontend};
use super::request::{self, Counting};
use crate::control_commands::ControlKind;
use crate::error::RunError;
use crate::input::NextUses;
use crate::observe::{Observer, Watcher};
use destage_core::{AnyPolicy, Nanos, Op};
use destage_ssd::config::{FlushMode, HostMode, Sched, TrimMode};
use destage_ssd::{CacheConfig, Device, DeviceCounters, DriveLpn, HostConfig};
use std::collections::BTreeMap;
use std::ops::Range;

/// Any request counts, and is row 0: there is no warm-up.
const ALL: Counting = Counting { row: 0, warm_rows: Some(0), requests: 0 };

/// A cache and a device, from request to request.
pub struct LiveRun {
    device: Device,
    frontend: Box<dyn PageFrontend + Send>,
    course: Course,
    host: HostConfig,
    is_cached: bool,
}

impl LiveRun {
    /// Through a policy, or without a cache. `cache` says when pages have their frames.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] for a device whose completions are not known when a request is
    /// submitted, or whose host waits for them.
    pub fn new(
        mut device: Device,
        policy: Option<AnyPolicy>,
        cache: &CacheConfig,
        host: HostConfig,
    ) -> Result<LiveRun, RunError> {
        suits(&device, &host)?;
        let is_cached = policy.is_some();
        let frontend: Box<dyn PageFrontend + Send> = match policy {
            None => Box::new(NoCache::default()),
            Some(policy) => {
                let pages = Addressed::new(device.looks_at_sizes());
                let (policy, cache) = (Box::new(policy), cache.clone());
                let none = NextUses::None;
                Box::new(CacheFrontend::new(policy, cache, false, pages, none, &mut device))
            }
        };
        control_commands::prepare(host, &mut device);
        let mut course = Course::new(host, frontend.after_ns());
        course.ledger.pages.idle_writes = frontend.uses_idle().then_some(0);
        device.queues().count_latencies(false);
        request::settle_later(&mut device, &*frontend, &mut course);
        Ok(LiveRun { device, frontend, course, host, is_cached })
    }

    /// A read or write of pages at an instant, nanoseconds, that is not before the last one's;
    /// returns when it completes.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] if the FTL or the time has run out. The policy has seen all pages
    /// then; the device's numbers are no result any more.
    pub fn request(
        &mut self,
        arrival_ns: Nanos,
        op: Op,
        pages: Range<u32>,
        observer: &mut dyn Observer,
    ) -> Result<Nanos, RunError> {
        let LiveRun { device, frontend, course, .. } = self;
        let (frontend, observer) = (&mut **frontend, &mut Watcher::new(observer));
        let page_bytes = u64::from(device.config().page_bytes);
        let bytes = if device.looks_at_sizes() { pages.len() as u64 * page_bytes } else { 0 };
        request::issue((arrival_ns, op.is_write(), bytes), ALL, device, frontend, course, observer);
        let first = pages.start;
        for id in pages {
            let access = Access {
                now: course.now,
                op,
                id,
                lpn: DriveLpn(id),
                index: 0, // of no meaning without a future
                first_of_request: id == first,
                bytes,
            };
            request::serve(access, device, frontend, course, observer)?;
        }
        self.completed(observer)
    }

    /// A trim of pages, which may be none; `known` are those among them that the policy may know.
    /// Shows each that leaves the cache, with its dirty bit.
    ///
    /// # Errors
    ///
    /// As [`request`](LiveRun::request).
    pub fn trim(
        &mut self,
        arrival_ns: Nanos,
        known: &[u64],
        pages: Range<u64>,
        left: &mut dyn FnMut(u64, bool),
        observer: &mut dyn Observer,
    ) -> Result<Nanos, RunError> {
        let LiveRun { device, frontend, course, .. } = self;
        let (frontend, observer) = (&mut **frontend, &mut Watcher::new(observer));
        let what = (arrival_ns, ControlKind::Trim);
        request::issue_control(what, ALL, device, frontend, course, observer);
        control_commands::begin_trim(device, course);
        for &page in known {
            let id = page as u32; // a page of the drive
            if let Some(dirty) = frontend.forget(device, id, &mut course.ledger) {
                left(page, dirty);
            }
        }
        control_commands::trim_pages(device, pages);
        self.completed(observer)
    }

    /// A flush; `None` if the device does not see it.
    ///
    /// # Errors
    ///
    /// As [`request`](LiveRun::request).
    pub fn flush(
        &mut self,
        arrival_ns: Nanos,
        observer: &mut dyn Observer,
    ) -> Result<Option<Nanos>, RunError> {
        if self.host.flush == FlushMode::Ignore {
            return Ok(None);
        }
        let LiveRun { device, frontend, course, .. } = self;
        let (frontend, observer) = (&mut **frontend, &mut Watcher::new(observer));
        let what = (arrival_ns, ControlKind::Flush);
        request::issue_control(what, ALL, device, frontend, course, observer);
        control_commands::flush(device, course);
        self.completed(observer).map(Some)
    }

    /// The request has been submitted, and its end is known.
    fn completed(&mut self, observer: &mut Watcher<'_>) -> Result<Nanos, RunError> {
        let LiveRun { device, frontend, course, .. } = self;
        let mut completion_ns = course.close(frontend.host_operations(), observer);
        if completion_ns.is_none() {
            // It has to be said now: as if no request came any more (`docs/spec/map-cache.md` 9).
            device.run_ahead();
            completion_ns = course.complete_last(device, observer);
        }
        request::goes_on(device, course)?;
        completion_ns.ok_or_else(|| RunError::Bug("a completion that is not known".to_string()))
    }

    /// Counters of the device so far.
    pub fn counters(&self) -> DeviceCounters {
        self.device.counters()
    }

    /// Pages that are newer in the cache than on flash.
    pub fn dirty(&self) -> u64 {
        self.frontend.dirty()
    }

    /// Outcome of a run that ended here. Copies the device.
    ///
    /// # Errors
    ///
    /// As a replay's.
    pub fn outcome(&self) -> Result<TimedOutcome, RunError> {
        let (mut device, mut course) = (self.device.clone(), self.course.clone());
        if course.warming {
            course.start_counting(&mut device, &*self.frontend, course.requests);
        }
        let mut gauges = BTreeMap::new();
        self.frontend.gauges(&mut |name, value| _ = gauges.insert(name.to_string(), value));
        device.finish();
        request::goes_on(&device, &course)?;
        let requests = (course.requests, course.requests);
        request::nothing_lost(&device, self.frontend.host_operations(), requests)?;
        let (own, dirty) = (self.frontend.own_counters(), self.frontend.dirty());
        let mut outcome = course.outcome(&device, &own, gauges, dirty)?;
        if self.is_cached {
            outcome.timing.counters.waits_are_evictions();
        }
        Ok(outcome)
    }
}

/// Completions are known when a request is submitted, and no submission waits for one.
fn suits(device: &Device, host: &HostConfig) -> Result<(), RunError> {
    let config = device.config();
    let why = match () {
        () if host.mode == HostMode::Closed => {
            "host: mode = closed: live requests come when they come"
        }
        () if host.writer.is_some() => "host: writer = trickle: a live cache writes by its policy",
        () if config.sched == Sched::ReadFirst => {
            "device: sched = read_first: completions are not known when a request comes"
        }
        () if config.placement.is_offline() => {
            "placement: policy = fk: a live run does not know the future"
        }
        () if host.trim == TrimMode::Ignore => "host: trim = ignore: a live cache trims",
        () => return Ok(()),
    };
    Err(RunError::Impossible(format!("a live run excludes {why}")))
}
