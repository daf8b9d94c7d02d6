//! The host side of a run with a device (`spec/device.md` 7): when requests are issued, what their
//! pages wait for, and when they complete. Any [`Policy`] runs in front of any drive.
//!
//! Everything that decides happens at `now`; only completions lie in the future. When reads go
//! first, some of them are not known until the run ends, hence [`When`].

use crate::replay::Observer;
use crate::run::RunError;
use destage_core::{
    Completion, DeviceView, Lookup, Lpn, Nanos, Needs, Op, Page, Plan, Policy, Request,
};
use destage_ssd::config::{AddressMode, EvictWait, HostMode, ReadWait};
use destage_ssd::{CacheConfig, Device, DeviceConfig, DeviceCounters, Ftl, HostConfig, When};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests on a drive: page numbers brought into `0..L`, and numbered by rank, so that policies
/// run over dense ids.
#[derive(Clone, Debug)]
pub struct Workload {
    requests: Vec<HostRequest>,
    ids: Vec<u32>,  // page of each access
    lpns: Vec<u32>, // LPN of each page, ascending
}

#[derive(Clone, Copy, Debug)]
struct HostRequest {
    arrival_ns: Nanos,
    op: Op,
    end: usize, // one past its last access
}

impl Workload {
    /// From (arrival, operation, byte offset, length in bytes); arrivals do not decrease.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] for a page beyond the drive with `address_mode = error`, or an
    /// arrival before the previous one.
    pub fn new(
        requests: impl IntoIterator<Item = (Nanos, Op, u64, u64)>,
        device: &DeviceConfig,
    ) -> Result<Self, RunError> {
        let page = u64::from(device.page_bytes);
        let logical = u64::from(device.logical_pages);
        let mut workload = Workload { requests: Vec::new(), ids: Vec::new(), lpns: Vec::new() };
        let mut previous = 0;
        for (number, (arrival_ns, op, offset, length)) in requests.into_iter().enumerate() {
            let impossible = |what| Err(RunError::Impossible(format!("request {number}: {what}")));
            if arrival_ns < previous {
                return impossible(format!("it arrives at {arrival_ns} ns, after {previous} ns"));
            }
            previous = arrival_ns;
            if length > 0 {
                let last = offset.saturating_add(length - 1) / page;
                if last >= logical && device.address_mode == AddressMode::Error {
                    return impossible(format!(
                        "page {last} is beyond the drive, which has {logical} pages \
                         (address_mode = error)"
                    ));
                }
                let pages = offset / page..=last;
                workload.ids.extend(pages.map(|number| (number % logical) as u32));
            }
            workload.requests.push(HostRequest { arrival_ns, op, end: workload.ids.len() });
        }
        let mut lpns = workload.ids.clone();
        lpns.sort_unstable();
        lpns.dedup();
        for id in &mut workload.ids {
            *id = lpns.partition_point(|lpn| lpn < id) as u32;
        }
        workload.lpns = lpns;
        Ok(workload)
    }

    /// Distinct pages: what the policy's directory is made for.
    pub fn pages(&self) -> u32 {
        self.lpns.len() as u32
    }

    /// LPN of a page.
    pub fn lpn(&self, page: Page) -> u32 {
        self.lpns[page.0 as usize]
    }
}

/// What a timed run counts (`spec/device.md` 8); the drive's own counters beside it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
#[expect(missing_docs, reason = "the table of section 8 says what each one is, name by name")]
pub struct TimedCounters {
    pub requests: u64,
    pub page_accesses: u64,
    pub hits: u64,
    pub read_hits: u64,
    pub write_hits: u64,
    pub evictions: u64,
    pub dirty_evictions: u64,
    pub dirty_evictions_in_gc: u64,
    pub unbalance_samples: u64,
    pub unbalance_gt10: u64,
    pub read_requests: u64,
    pub read_response_ns_sum: Nanos,
    pub read_response_ns_max: Nanos,
    pub write_requests: u64,
    pub write_response_ns_sum: Nanos,
    pub write_response_ns_max: Nanos,
    pub eviction_wait_ns_sum: Nanos,
    pub read_misses: u64,
    pub makespan_ns: Nanos,
    /// The drive's.
    #[serde(flatten)]
    pub device: DeviceCounters,
}

/// What a timed run leaves behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimedRun {
    /// Per request.
    pub completions_ns: Vec<Nanos>,
    /// All counters.
    pub counters: TimedCounters,
}

/// Runs a workload without a cache (7.2).
///
/// # Errors
///
/// None of its own: the requests were checked when the workload was made.
pub fn run_bare<F: Ftl>(
    workload: &Workload,
    device: &mut Device<F>,
    host: HostConfig,
) -> Result<TimedRun, RunError> {
    let serve = |device: &mut Device<F>, now: Nanos, op: Op, ids: &[u32], _: &mut TimedCounters| {
        let mut end = When::at(now);
        for &id in ids {
            let lpn = workload.lpns[id as usize];
            let served = if op.is_write() { Some(device.write(lpn)) } else { device.read(lpn) };
            if let Some(served) = served {
                end = device.queues().times().later(end, served.end);
            }
        }
        Ok((end, 0))
    };
    drive(workload, device, host, serve)
}

/// Runs a workload through a policy with `cache.frames` frames (7.3, 7.4).
///
/// # Errors
///
/// [`RunError::Impossible`] if the policy needs future accesses, or gives up several pages or pads
/// at once, which this host side does not serve; [`RunError::Interrupted`] if the observer stops
/// it.
pub fn run_cached<P: Policy, F: Ftl>(
    workload: &Workload,
    device: &mut Device<F>,
    policy: &mut P,
    cache: &CacheConfig,
    host: HostConfig,
    observer: &mut impl Observer,
) -> Result<TimedRun, RunError> {
    if P::NEEDS.contains(Needs::NEXT_USE) {
        let what = "this policy looks at future accesses: a timed run does not supply them";
        return Err(RunError::Impossible(what.into()));
    }
    if P::NEEDS.contains(Needs::UNITS) {
        device.queues().keep_unfinished();
    }
    if P::NEEDS.contains(Needs::COMPLETIONS) {
        device.queues().keep_ends();
    }
    let held = Held { frame: When::at(0), ready: When::at(0) };
    let mut front = Front {
        workload,
        policy,
        cache,
        observer,
        held: vec![held; workload.lpns.len()],
        plan: Plan::new(),
        submitted: Vec::new(),
        accesses: 0,
    };
    let serve =
        |device: &mut Device<F>, now: Nanos, op: Op, ids: &[u32], counters: &mut TimedCounters| {
            front.tell_completions(device);
            // Every access pays for the cache's own memory; a request without pages does not.
            let after_ns = if ids.is_empty() { 0 } else { cache.hit_ns };
            let mut end = When::at(now);
            for (k, &id) in ids.iter().enumerate() {
                let done = front.access(device, now, op, id, k == 0, counters)?;
                end = device.queues().times().later(end, done);
            }
            Ok((end, after_ns))
        };
    let mut run = drive(workload, device, host, serve)?;
    run.counters.eviction_wait_ns_sum = run.counters.device.program_wait_ns_sum;
    Ok(run)
}

/// Issues requests, open or closed (7.5, 7.6), and counts responses.
fn drive<F: Ftl>(
    workload: &Workload,
    device: &mut Device<F>,
    host: HostConfig,
    mut serve: impl FnMut(
        &mut Device<F>,
        Nanos,
        Op,
        &[u32],
        &mut TimedCounters,
    ) -> Result<(When, Nanos), RunError>,
) -> Result<TimedRun, RunError> {
    let mut counters = TimedCounters::default();
    let mut outstanding: BinaryHeap<Reverse<Nanos>> = BinaryHeap::new();
    let mut issued = Vec::with_capacity(workload.requests.len());
    let (mut first, mut now) = (0, 0);
    for request in &workload.requests {
        match host.mode {
            HostMode::Open => now = request.arrival_ns,
            HostMode::Closed if outstanding.len() < host.queue_depth as usize => {}
            HostMode::Closed => {
                if let Some(Reverse(done)) = outstanding.pop() {
                    now = now.max(done);
                }
            }
        }
        device.advance(now);
        let ids = &workload.ids[first..request.end];
        first = request.end;
        let (end, after_ns) = serve(device, now, request.op, ids, &mut counters)?;
        if host.mode == HostMode::Closed {
            let end = end.known().expect("a closed loop is first come, first served");
            outstanding.push(Reverse(end + after_ns));
        }
        issued.push((now, end, after_ns));
    }
    device.finish();
    let resolved = device.queues().times().resolve();
    let mut completions_ns = Vec::with_capacity(issued.len());
    for (request, (now, end, after_ns)) in workload.requests.iter().zip(issued) {
        let completion = resolved.ns(end) + after_ns;
        let response = completion - now;
        let (count, sum, max) = match request.op {
            Op::Read => (
                &mut counters.read_requests,
                &mut counters.read_response_ns_sum,
                &mut counters.read_response_ns_max,
            ),
            Op::Write => (
                &mut counters.write_requests,
                &mut counters.write_response_ns_sum,
                &mut counters.write_response_ns_max,
            ),
        };
        *count += 1;
        *sum += response;
        *max = response.max(*max);
        counters.makespan_ns = counters.makespan_ns.max(completion);
        completions_ns.push(completion);
    }
    counters.requests = completions_ns.len() as u64;
    counters.page_accesses = workload.ids.len() as u64;
    counters.device = device.counters();
    counters.read_misses = counters.device.flash_reads;
    Ok(TimedRun { completions_ns, counters })
}

/// When a cached page has its frame, and when its data are there (7.4).
#[derive(Clone, Copy, Debug)]
struct Held {
    frame: When,
    ready: When,
}

/// A host operation, for when the policy is told of its end.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    page: Page,
    op: Op,
    at_ns: Nanos,
}

/// The cache in front of the drive.
struct Front<'a, P, O> {
    workload: &'a Workload,
    policy: &'a mut P,
    cache: &'a CacheConfig,
    observer: &'a mut O,
    held: Vec<Held>, // by page
    plan: Plan,
    submitted: Vec<Submitted>, // by submission number, if the policy listens
    accesses: u64,
}

impl<P: Policy, O: Observer> Front<'_, P, O> {
    /// All completions by now, in the order of (end, number), before anything is decided.
    fn tell_completions<F: Ftl>(&mut self, device: &mut Device<F>) {
        while let Some((end, submission)) = device.queues().next_end() {
            let Submitted { page, op, at_ns } = self.submitted[submission as usize];
            let done = Completion { page: Some(page), submission, latency_ns: end - at_ns };
            match op {
                Op::Read => self.policy.fetched(&done),
                Op::Write => self.policy.destaged(&done),
            }
        }
    }

    /// Remembers what a completion will be about; operations are numbered as they are submitted.
    fn submitted(&mut self, page: Page, op: Op, at_ns: Nanos) {
        if P::NEEDS.contains(Needs::COMPLETIONS) {
            self.submitted.push(Submitted { page, op, at_ns });
        }
    }

    /// One page access (7.3). Returns its completion, `hit_ns` not included.
    fn access<F: Ftl>(
        &mut self,
        device: &mut Device<F>,
        now: Nanos,
        op: Op,
        id: u32,
        first_of_request: bool,
        counters: &mut TimedCounters,
    ) -> Result<When, RunError> {
        let page = Page(id.into());
        let lpn = self.workload.lpn(page);
        let mut r = Request::new(page, Lpn(lpn.into()), op);
        r.first_of_request = first_of_request;
        if P::NEEDS.contains(Needs::UNITS) {
            r.units = device.units_of(lpn);
        }
        self.accesses += 1;
        if !self.observer.progress(self.accesses) {
            return Err(RunError::Interrupted);
        }
        self.plan.clear();
        match self.policy.request(&r) {
            Lookup::Hit(_) => {
                counters.hits += 1;
                match op {
                    Op::Read => counters.read_hits += 1,
                    Op::Write => counters.write_hits += 1,
                }
                self.observer.access(&r, true, None);
                let ready = self.held[id as usize].ready;
                Ok(device.queues().times().later(When::at(now), ready))
            }
            Lookup::Miss(miss) => {
                let mut data = When::at(now);
                if op == Op::Read
                    && let Some(served) = device.read(lpn)
                {
                    self.submitted(page, op, now);
                    (data, r.fetch) = (served.end, served.submission);
                }
                let frame = self.make_room(device, now, &miss, counters)?;
                if P::NEEDS.contains(Needs::UNITS) {
                    r.units = device.units_of(lpn);
                }
                self.policy.admit(&r, miss);
                self.observer.access(&r, false, Some(&self.plan));
                let ready = device.queues().times().later(frame, data);
                self.held[id as usize] = Held { frame, ready };
                Ok(match (op, self.cache.read_wait) {
                    (Op::Read, ReadWait::Data) => data,
                    _ => ready,
                })
            }
            Lookup::Bypass => {
                self.observer.access(&r, false, Some(&self.plan));
                Ok(match device.read(lpn) {
                    Some(served) => {
                        self.submitted(page, op, now);
                        served.end
                    }
                    None => When::at(now),
                })
            }
        }
    }

    /// Evicts until a frame is free, and says when it is.
    fn make_room<F: Ftl>(
        &mut self,
        device: &mut Device<F>,
        now: Nanos,
        miss: &P::Miss,
        counters: &mut TimedCounters,
    ) -> Result<When, RunError> {
        let mut frame = When::at(now);
        while self.policy.resident() >= self.policy.frames() {
            let before = self.plan.evicted().len();
            self.policy.evict(miss, &*device, &mut self.plan);
            let alone = self.plan.evicted().len() == before + 1;
            if !alone || !self.plan.padded().is_empty() {
                let what = "this policy does not give up its pages one by one: a timed run needs \
                            a page-granular policy";
                return Err(RunError::Impossible(what.into()));
            }
            let victim = self.plan.evicted()[before];
            counters.evictions += 1;
            let wait = self.cache.evict_wait;
            if wait != EvictWait::None {
                let held = self.held[victim.page.0 as usize].frame;
                frame = device.queues().times().later(frame, held);
            }
            if victim.dirty {
                let lpn = self.workload.lpn(victim.page);
                sample(device, lpn, counters);
                let served = device.write(lpn);
                self.submitted(victim.page, Op::Write, now);
                let free = match wait {
                    EvictWait::Program => served.end,
                    EvictWait::Transfer => served.transferred,
                    EvictWait::None => frame,
                };
                frame = device.queues().times().later(frame, free);
            }
        }
        Ok(frame)
    }
}

/// What is sampled at a dirty eviction, just before its submission (section 8).
fn sample<F: Ftl>(device: &Device<F>, lpn: u32, counters: &mut TimedCounters) {
    counters.dirty_evictions += 1;
    let unit = device.unit_of(device.target(Lpn(lpn.into())));
    counters.dirty_evictions_in_gc += u64::from(device.in_gc(unit));
    let units = device.units();
    let backlogs = (0..units).map(|unit| device.backlog_ns(destage_core::UnitId(unit)));
    let (max, sum) = backlogs.fold((0, 0u128), |(max, sum), q| (q.max(max), sum + u128::from(q)));
    if sum > 0 {
        counters.unbalance_samples += 1;
        let over_ten = u128::from(max) * u128::from(units) > 10 * sum;
        counters.unbalance_gt10 += u64::from(over_ten);
    }
}

#[cfg(test)]
mod tests;
