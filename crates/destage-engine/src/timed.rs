//! Runs with a device: the host side of `docs/spec/device.md` 7. Any policy in front of any drive.
//!
//! Everything that decides happens at the instant of a request; only completions lie in the future.
//! When reads go first, some of them are not known for a while, hence [`When`].
//!
//! ```text
//!  workload   requests of a vector as columns (a decoded trace has them already)
//!  front      what stands between host and drive: a cache, or nothing    7.2 to 7.4
//!  counters   what is counted                                            8
//!  response   distributions
//!  profile    how a run develops over time
//!  timeline   every operation, for Perfetto
//! ```

mod counters;
mod front;
mod profile;
mod response;
mod timeline;
mod workload;

pub use counters::{EraseSpread, TimedCounters, Timing, max_deviation};
pub use profile::{Period, Profile, Profiler};
pub use response::{Summary, Values};
pub use timeline::Timeline;
pub use workload::Workload;

use crate::accesses::Extent;
use crate::counters::{Counters, DestageSizes, OwnCounters};
use crate::replay::{Completed, Observer};
use crate::result::Warmup;
use crate::run::{Input, RunError};
use counters::{Tally, since};
use destage_core::pages::prefetch;
use destage_core::{Nanos, Op, Policy};
use destage_ssd::config::HostMode;
use destage_ssd::{CacheConfig, Device, DeviceCounters, Ftl, HostConfig, When};
use front::{Access, Bare, Cached, Front};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far ahead the LPN of a request's first page is asked for.
const LPNS_AHEAD: usize = 24;

/// How far ahead the page itself is.
const AHEAD: usize = 12;

/// How far ahead the neighbours of its node are.
const LINKS_AHEAD: usize = 4;

/// Names of instants between two settlements, at least. A settlement looks at every page, so there
/// must also have been that many names.
const NAMES: usize = 1 << 16;

/// Page accesses between two looks at the observer's progress.
const PERIOD: u64 = 1 << 12;

/// A run with a device, but for policy and drive.
#[derive(Clone, Copy)]
pub struct TimedReplay<'a> {
    /// Requests; every LPN is one of the drive.
    pub input: Input<'a>,
    /// The table `[host]`.
    pub host: HostConfig,
    /// Before what nothing counts; cache, drive and clock go on.
    pub warmup: Warmup,
    /// A write miss reads the page from flash first.
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last request; no request waits for them.
    pub flush_at_end: bool,
}

/// What a run with a device leaves behind.
#[derive(Clone, Debug)]
pub struct TimedOutcome {
    /// Requests that were not counted.
    pub warmup_requests: u64,
    /// What a run without a device counts too; `physical_reads` and `physical_writes` are left to
    /// the caller.
    pub pages: Counters,
    /// What only this policy counts.
    pub own: OwnCounters,
    /// Sizes of the flush groups.
    pub destage_pages: DestageSizes,
    /// Times, and what the drive did.
    pub timing: Timing,
}

impl TimedReplay<'_> {
    /// Runs without a cache (7.2).
    ///
    /// # Errors
    ///
    /// As [`run`](TimedReplay::run).
    pub fn run_bare<F: Ftl>(
        &self,
        device: &mut Device<F>,
        observer: &mut impl Observer,
    ) -> Result<TimedOutcome, RunError> {
        self.drive(device, &mut Bare::default(), observer)
    }

    /// Runs through a policy (7.3, 7.4).
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] if response times add up to more than 2^64 ns;
    /// [`RunError::Interrupted`] if the observer stops it; [`RunError::Bug`] if anything was lost.
    pub fn run<P: Policy, F: Ftl>(
        &self,
        device: &mut Device<F>,
        policy: &mut P,
        cache: &CacheConfig,
        observer: &mut impl Observer,
    ) -> Result<TimedOutcome, RunError> {
        let Input { columns, next_uses, .. } = self.input;
        let fetch = self.fetch_on_write_miss;
        let mut front = Cached::new(policy, cache, fetch, columns.lpns, next_uses, device);
        let mut outcome = self.drive(device, &mut front, observer)?;
        let counters = &mut outcome.timing.counters;
        counters.eviction_wait_ns_sum = counters.device.program_wait_ns_sum;
        Ok(outcome)
    }

    /// Issues requests, open or closed (7.5, 7.6), and counts responses.
    fn drive<C: Front<F>, F: Ftl, O: Observer>(
        &self,
        device: &mut Device<F>,
        front: &mut C,
        observer: &mut O,
    ) -> Result<TimedOutcome, RunError> {
        let Input { columns, arrivals_ns, continuations, .. } = self.input;
        let rows = columns.first_ids.len();
        let warm_rows = self.warmup.rows(rows, arrivals_ns);
        let mut continued = continuations.iter().copied().peekable();
        let mut course = Course::new(self.host, front.after_ns());
        goes_on(device)?;
        let operations_seen = O::SEES_OPERATIONS && observer.wants_operations();
        if operations_seen {
            device.queues().keep_operations();
        }
        device.queues().count_latencies(false);
        let (mut index, mut reported) = (0, 0);
        let mut names = NAMES.max(2 * front.pages());
        for (row, (&arrival_ns, &extent)) in arrivals_ns.iter().zip(columns.extents).enumerate() {
            let extent = Extent(extent);
            if continued.next_if_eq(&(row as u64)).is_none() {
                course.close(front.host_operations(), observer);
                if device.queues().times().names() >= names {
                    course.settle(device, front, observer);
                    names = device.queues().times().names() + NAMES.max(2 * front.pages());
                }
                course.issue(arrival_ns, extent.is_write());
                if course.warming && warm_rows.map_or_else(|| front.is_full(), |warm| row >= warm) {
                    course.start_counting(device, front.own_counters());
                }
                device.advance(course.now);
                front.arrive(device);
            }
            if let Some(&farther) = columns.first_ids.get(row + LPNS_AHEAD) {
                prefetch(columns.lpns, farther as usize);
            }
            // Below 2^32, since it is of the drive. The first id of a request without pages may be
            // one past the last: a hint, which must not panic.
            let lpn_of = |id: u32| columns.lpns.get(id as usize).copied().unwrap_or(0) as u32;
            if let Some(&far) = columns.first_ids.get(row + AHEAD) {
                let is_write = Extent(columns.extents[row + AHEAD]).is_write();
                let op = if is_write { Op::Write } else { Op::Read };
                front.warm(device, far, lpn_of(far), op);
            }
            if let Some(&near) = columns.first_ids.get(row + LINKS_AHEAD) {
                front.warm_links(device, near, lpn_of(near));
            }
            let first = columns.first_ids[row];
            for id in first..first + extent.pages() {
                let access = Access {
                    now: course.now,
                    op: course.op,
                    id,
                    lpn: lpn_of(id),
                    index,
                    first_of_request: course.pages == 0,
                };
                let done = front.access(device, access, &mut course.tally, observer)?;
                course.end = device.queues().times().later(course.end, done);
                course.pages += 1;
                index += 1;
                if O::SEES_GAUGES && observer.wants_gauges() {
                    front.gauges(&mut |name, value| observer.gauge(name, value));
                }
            }
            if operations_seen {
                observer.operations(&mut device.queues().take_operations());
            }
            if index - reported >= PERIOD {
                reported = index;
                goes_on(device)?;
                if !observer.progress(index) {
                    return Err(RunError::Interrupted);
                }
            }
        }
        course.close(front.host_operations(), observer);
        if course.warming {
            course.start_counting(device, front.own_counters());
        }
        if O::SEES_GAUGES {
            front.gauges(&mut |name, value| observer.gauge(name, value));
        }
        if self.flush_at_end {
            // No request waits for these: they are no evictions.
            device.queues().count_latencies(false);
            course.tally.pages.end_flushes = front.flush(device, columns.lpns);
        }
        device.finish();
        if operations_seen {
            observer.operations(&mut device.queues().take_operations());
        }
        course.settle(device, front, observer);
        observer.progress(index);
        let requests = rows as u64 - continuations.len() as u64;
        goes_on(device)?;
        nothing_lost(device, front.host_operations(), (course.requests, requests))?;
        course.outcome(device, &front.own_counters())
    }
}

/// The course of a run: the request that is being served, and what was counted.
struct Course {
    host: HostConfig,
    after_ns: Nanos,
    outstanding: BinaryHeap<Reverse<Nanos>>,
    tally: Tally,
    now: Nanos,
    op: Op,
    end: When,
    pages: u32,
    is_open: bool,
    requests: u64,   // closed so far
    operations: u64, // that they caused
    warming: bool,
    warmup_requests: u64,
    started_ns: Nanos,
    before: DeviceCounters, // what the drive had done when counting began
    own_before: OwnCounters,
    unresolved: Vec<Unresolved>,
}

/// A request whose end is only a name yet.
struct Unresolved {
    request: Completed,
    end: When,
    after_ns: Nanos,
}

impl Course {
    fn new(host: HostConfig, after_ns: Nanos) -> Self {
        Course {
            host,
            after_ns,
            outstanding: BinaryHeap::new(),
            tally: Tally::default(),
            now: 0,
            op: Op::Read,
            end: When::at(0),
            pages: 0,
            is_open: false,
            requests: 0,
            operations: 0,
            warming: true,
            warmup_requests: 0,
            started_ns: 0,
            before: DeviceCounters::default(),
            own_before: OwnCounters::default(),
            unresolved: Vec::new(),
        }
    }

    /// The next request; when it is issued decides everything that follows.
    #[inline]
    fn issue(&mut self, arrival_ns: Nanos, is_write: bool) {
        match self.host.mode {
            HostMode::Open => self.now = arrival_ns,
            HostMode::Closed if self.outstanding.len() < self.host.queue_depth as usize => {}
            HostMode::Closed => {
                if let Some(Reverse(done)) = self.outstanding.pop() {
                    self.now = self.now.max(done);
                }
            }
        }
        self.op = if is_write { Op::Write } else { Op::Read };
        self.end = When::at(self.now);
        self.pages = 0;
        self.is_open = true;
    }

    /// All pages of the request have been served.
    #[inline]
    fn close<O: Observer>(&mut self, (reads, programs): (u64, u64), observer: &mut O) {
        if !self.is_open {
            return;
        }
        self.is_open = false;
        let operations = self.operations..reads + programs;
        self.operations = operations.end;
        // A request without pages does not touch the cache's memory.
        let after_ns = if self.pages == 0 { 0 } else { self.after_ns };
        let request = Completed {
            number: self.requests,
            op: self.op,
            issued_ns: self.now,
            completion_ns: 0,
            operations,
        };
        self.requests += 1;
        let Some(end_ns) = self.end.known() else {
            self.unresolved.push(Unresolved { request, end: self.end, after_ns });
            return;
        };
        let completion_ns = end_ns + after_ns;
        if self.host.mode == HostMode::Closed {
            self.outstanding.push(Reverse(completion_ns));
        }
        self.tally.request(self.op, self.now, completion_ns);
        observer.completed(&Completed { completion_ns, ..request });
    }

    /// Everything so far was warm-up; the request that has been issued is the first that counts.
    fn start_counting<F: Ftl>(&mut self, device: &mut Device<F>, own: OwnCounters) {
        self.warming = false;
        device.queues().count_latencies(true);
        self.warmup_requests = self.requests;
        if self.requests > 0 {
            self.tally = Tally::default();
            self.before = device.counters();
            self.own_before = own;
            self.started_ns = self.now;
        }
    }

    /// Requests whose end is known by now have completed. At the end of the run that is all of
    /// them, since all operations have ended.
    fn settle<C: Front<F>, F: Ftl, O: Observer>(
        &mut self,
        device: &mut Device<F>,
        front: &mut C,
        observer: &mut O,
    ) {
        let settled = device.queues().times().settle();
        front.settle(&settled);
        let Course { tally, unresolved, warming, warmup_requests, .. } = self;
        unresolved.retain_mut(|Unresolved { request, end, after_ns }| {
            *end = settled.now(*end);
            let Some(end_ns) = end.known() else { return true };
            request.completion_ns = end_ns + *after_ns;
            observer.completed(request);
            if *warming || request.number >= *warmup_requests {
                tally.request(request.op, request.issued_ns, request.completion_ns);
            }
            false
        });
    }

    fn outcome<F: Ftl>(
        self,
        device: &Device<F>,
        own: &OwnCounters,
    ) -> Result<TimedOutcome, RunError> {
        let Course { tally, before, own_before, started_ns, warmup_requests, .. } = self;
        let counters = tally.counters(since(device.counters(), &before), started_ns);
        let in_range = |c: &TimedCounters| {
            c.device.program_wait_ns_sum.max(c.device.read_miss_latency_ns_sum) < Nanos::MAX
        };
        let counters = counters.filter(in_range).ok_or_else(|| {
            let what = "response or waiting times add up to more than 2^64 ns: the drive is far too slow for \
                        this trace";
            RunError::Impossible(what.into())
        })?;
        let timing = Timing {
            counters,
            response_ns: tally.reads.with(&tally.writes).summary(),
            read_response_ns: tally.reads.summary(),
            write_response_ns: tally.writes.summary(),
            unbalance_permille: tally.unbalance.summary(),
            block_erases: EraseSpread::of(device.ftl().erase_counts()),
        };
        let own = own.clone().since(&own_before);
        let Tally { pages, destage_pages, .. } = tally;
        Ok(TimedOutcome { warmup_requests, pages, own, destage_pages, timing })
    }
}

/// The FTL has not run out of blocks: what it did since then would be no result.
fn goes_on<F: Ftl>(device: &Device<F>) -> Result<(), RunError> {
    match device.failure() {
        None => Ok(()),
        Some(full) => Err(RunError::Impossible(full.to_string())),
    }
}

/// Every request was served, every page access reached the drive that should have, and the drive
/// accounts for every page: a simulator that loses work reports better numbers than it has.
fn nothing_lost<F: Ftl>(
    device: &Device<F>,
    (reads, programs): (u64, u64),
    (served, given): (u64, u64),
) -> Result<(), RunError> {
    let totals = device.counters();
    for (what, expected, found) in [
        ("requests completed", given, served),
        ("flash reads", reads, totals.flash_reads),
        ("flash programs for the host", programs, totals.flash_programs),
    ] {
        if expected != found {
            return Err(RunError::Bug(format!("{what}: {found} instead of {expected}")));
        }
    }
    device.check_conservation().map_err(RunError::Bug)
}

#[cfg(test)]
mod tests;
