//! The course of a run: the request that is being served, and what was counted.

use super::disk::DiskCounters;
use super::frontend::Frontend;
use super::ledger::Ledger;
use crate::control_commands::ControlKind;
use crate::counters::{Counters, DestageSizes, OwnCounters};
use crate::error::RunError;
use crate::kv::KvCounters;
use crate::observe::{Completed, Observer, Watcher};
use crate::timing::{EraseSpread, TimedCounters, Timing, since};
use crate::windows::WindowCounts;
use destage_core::{Nanos, Op};
use destage_ssd::config::HostMode;
use destage_ssd::{Device, DeviceCounters, Ftl, HostConfig, PendingTime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Counts and times of a run with a device.
#[derive(Clone, Debug)]
pub struct TimedOutcome {
    /// Requests that were not counted.
    pub warmup_requests: u64,
    /// Those, and requests that were counted.
    pub requests: u64,
    /// When counting began, nanoseconds.
    pub started_ns: Nanos,
    /// Counts that a run without a device has too; `physical_reads` and `physical_writes` are left
    /// to the caller.
    pub pages: Counters,
    /// Counts of requests of a language model.
    pub kv: KvCounters,
    /// The policy's own counters.
    pub own: OwnCounters,
    /// Where the policy has adapted to, at the end.
    pub gauges: BTreeMap<String, f64>,
    /// Sizes of the flush groups.
    pub destage_pages: DestageSizes,
    /// Times, and what the drive did.
    pub timing: Timing,
    /// Counts of each window.
    pub parts: WindowCounts,
    /// Pages that were dirty when counting began.
    pub dirty_at_start: u64,
    /// Pages that were still dirty at the end.
    pub dirty_left: u64,
    /// Counts of the disk below the tiers, if there is one.
    pub disk: Option<DiskCounters>,
}

/// The course of a run: the request that is being served, and what was counted.
#[derive(Clone)]
pub(super) struct Course {
    host: HostConfig,
    after_ns: Nanos,
    outstanding: BinaryHeap<Reverse<Nanos>>,
    pub(super) ledger: Ledger,
    pub(super) parts: WindowCounts,
    pub(super) now: Nanos,
    pub(super) op: Op,
    control_command: Option<ControlKind>,
    pub(super) bytes: u64,
    pub(super) end: PendingTime,
    pub(super) pages: u32,
    is_open: bool,
    pub(super) requests: u64, // closed so far
    operations: u64,          // that they caused
    pub(super) warming: bool,
    warmup_requests: u64,
    started_ns: Nanos,
    dirty_at_start: u64,
    before: DeviceCounters, // what the drive had done when counting began
    own_before: OwnCounters,
    unresolved: Vec<Unresolved>,
    pub(super) settle_at: usize, // so many names of instants
}

/// A request whose end is only a name yet.
#[derive(Clone)]
struct Unresolved {
    request: Completed,
    end: PendingTime,
    after_ns: Nanos,
}

impl Course {
    pub(super) fn new(host: HostConfig, after_ns: Nanos) -> Self {
        Course {
            host,
            after_ns,
            outstanding: BinaryHeap::new(),
            ledger: Ledger::default(),
            parts: WindowCounts::none(),
            now: 0,
            op: Op::Read,
            control_command: None,
            bytes: 0,
            end: PendingTime::at(0),
            pages: 0,
            is_open: false,
            requests: 0,
            operations: 0,
            warming: true,
            warmup_requests: 0,
            started_ns: 0,
            dirty_at_start: 0,
            before: DeviceCounters::default(),
            own_before: OwnCounters::default(),
            unresolved: Vec::new(),
            settle_at: 0,
        }
    }

    /// The next request; when it is issued decides everything that follows.
    #[inline]
    pub(super) fn issue(&mut self, arrival_ns: Nanos, is_write: bool) {
        match self.host.mode {
            HostMode::Open => self.now = arrival_ns,
            HostMode::Closed if self.in_flight() < self.host.queue_depth as usize => {}
            HostMode::Closed => {
                if let Some(Reverse(done)) = self.outstanding.pop() {
                    self.now = self.now.max(done);
                }
            }
        }
        self.op = if is_write { Op::Write } else { Op::Read };
        self.control_command = None;
        self.end = PendingTime::at(self.now);
        self.pages = 0;
        self.is_open = true;
    }

    /// Requests of a closed loop that have not left the outstanding ones.
    fn in_flight(&self) -> usize {
        self.outstanding.len() + self.unresolved.len()
    }

    /// The next request of a closed loop waits for the first completion, which may be only a name
    /// yet: time goes on until it is known. Nothing but the requests in flight is under way.
    #[inline]
    pub(super) fn await_completion(&mut self, device: &mut Device, observer: &mut Watcher<'_>) {
        if self.host.mode == HostMode::Closed
            && !self.unresolved.is_empty()
            && self.in_flight() >= self.host.queue_depth as usize
        {
            self.find_completion(device, observer);
        }
    }

    #[inline(never)]
    fn find_completion(&mut self, device: &mut Device, observer: &mut Watcher<'_>) {
        loop {
            let next = device.next_known();
            device.queues().times().foresee(next.unwrap_or(0));
            self.complete(device, observer);
            let first = self.outstanding.peek().map(|&Reverse(first)| first);
            match next {
                Some(at) if first.is_none_or(|first| at < first) => device.advance(at),
                _ => return,
            }
        }
    }

    /// Requests whose end is known by the last look ahead have completed.
    fn complete(&mut self, device: &mut Device, observer: &mut Watcher<'_>) {
        let times = device.queues().times();
        let Course { host, ledger, parts, unresolved, warming, warmup_requests, .. } = self;
        let outstanding = &mut self.outstanding;
        unresolved.retain_mut(|Unresolved { request, end, after_ns }| {
            let Some(end_ns) = times.foreseen(*end) else { return true };
            request.completion_ns = end_ns + *after_ns;
            if host.mode == HostMode::Closed {
                outstanding.push(Reverse(request.completion_ns));
            }
            observer.completed(request);
            if *warming || request.number >= *warmup_requests {
                let Completed { number, op, control_command, issued_ns, completion_ns, .. } =
                    *request;
                match control_command {
                    None => ledger.request(op, issued_ns, completion_ns),
                    Some(kind) => ledger.control_command(kind, issued_ns, completion_ns),
                }
                if !*warming && control_command.is_none() {
                    parts.respond_late(number, op, completion_ns - issued_ns);
                }
            }
            false
        });
    }

    /// Requests that have completed by now; the completion of the last of them.
    pub(super) fn complete_last(
        &mut self,
        device: &mut Device,
        observer: &mut Watcher<'_>,
    ) -> Option<Nanos> {
        let last = self.unresolved.last().map(|last| (last.end, last.after_ns));
        device.queues().times().foresee(0);
        self.complete(device, observer);
        let (end, after_ns) = last?;
        device.queues().times().foreseen(end).map(|end_ns| end_ns + after_ns)
    }

    /// Issues a trim or flush.
    pub(super) fn issue_control_command(&mut self, arrival_ns: Nanos, kind: ControlKind) {
        self.issue(arrival_ns, false);
        self.control_command = Some(kind);
    }

    /// All pages of the request have been served. Its completion, if there is one and it is known.
    #[inline]
    pub(super) fn close(
        &mut self,
        (reads, programs): (u64, u64),
        observer: &mut Watcher<'_>,
    ) -> Option<Nanos> {
        if !self.is_open {
            return None;
        }
        self.is_open = false;
        let operations = self.operations..reads + programs;
        self.operations = operations.end;
        // A request without pages does not touch the cache's memory.
        let after_ns = if self.pages == 0 { 0 } else { self.after_ns };
        let request = Completed {
            number: self.requests,
            op: self.op,
            control_command: self.control_command,
            issued_ns: self.now,
            completion_ns: 0,
            operations,
        };
        self.requests += 1;
        let Some(end_ns) = self.end.known() else {
            self.unresolved.push(Unresolved { request, end: self.end, after_ns });
            return None;
        };
        let completion_ns = end_ns + after_ns;
        if self.host.mode == HostMode::Closed {
            self.outstanding.push(Reverse(completion_ns));
        }
        match self.control_command {
            None => {
                self.ledger.request(self.op, self.now, completion_ns);
                self.parts.respond(self.op, completion_ns - self.now);
            }
            Some(kind) => self.ledger.control_command(kind, self.now, completion_ns),
        }
        observer.completed(&Completed { completion_ns, ..request });
        Some(completion_ns)
    }

    /// The operations that have been submitted since the last request belong to none.
    pub(super) fn own(&mut self, (reads, programs): (u64, u64)) {
        self.operations = reads + programs;
    }

    /// Everything so far was warm-up; the request that has been issued is the first that counts.
    /// Of `total` requests; of those before, some may have filled the cache.
    pub(super) fn start_counting<C: Frontend + ?Sized>(
        &mut self,
        device: &mut Device,
        frontend: &C,
        total: u64,
    ) {
        self.warming = false;
        let was_full = self.requests > 0 && (frontend.is_full() || self.ledger.pages.evictions > 0);
        device.queues().count_latencies(true);
        self.warmup_requests = self.requests;
        if self.requests > 0 {
            let idle_writes = self.ledger.pages.idle_writes.map(|_| 0);
            self.ledger = Ledger::default();
            self.ledger.pages.idle_writes = idle_writes;
            self.before = device.counters();
            self.own_before = frontend.own_counters();
            self.started_ns = self.now;
            self.dirty_at_start = frontend.dirty();
        }
        let done = self.ledger.flash(&device.counters(), self.now);
        self.parts.begin(self.requests..total, was_full, done);
    }

    /// A window of the run may begin with the request that has been issued, or end before it.
    #[inline]
    pub(super) fn cut<C: Frontend + ?Sized>(&mut self, device: &Device, frontend: &C) {
        if self.parts.is_cut(self.requests) {
            let done = self.ledger.flash(&device.counters(), self.now);
            self.parts.cut(self.requests, &self.ledger.pages, done, frontend.is_full());
        }
    }

    /// Requests whose end is known by now have completed. At the end of the run that is all of
    /// them, since all operations have ended.
    pub(super) fn settle(
        &mut self,
        device: &mut Device,
        frontend: &mut dyn Frontend,
        observer: &mut Watcher<'_>,
    ) {
        device.queues().times().foresee(0);
        self.complete(device, observer);
        let settled = device.queues().times().settle();
        frontend.settle(&settled);
        for unresolved in &mut self.unresolved {
            unresolved.end = settled.now(unresolved.end);
        }
    }

    pub(super) fn outcome(
        self,
        device: &Device,
        own: &OwnCounters,
        gauges: BTreeMap<String, f64>,
        dirty_left: u64,
    ) -> Result<TimedOutcome, RunError> {
        let Course { ledger, parts, before, own_before, started_ns, warmup_requests, .. } = self;
        let Course { requests, dirty_at_start, .. } = self;
        let counters = ledger.counters(since(device.counters(), &before), started_ns);
        let in_range = |c: &TimedCounters| {
            c.device.program_wait_ns_sum.max(c.device.read_miss_latency_ns_sum) < Nanos::MAX
        };
        let counters = counters.filter(in_range).ok_or_else(|| {
            let what = "response or waiting times add up to more than 2^64 ns: the device is far \
                too slow for this trace";
            RunError::Impossible(what.into())
        })?;
        let timing = Timing {
            counters,
            response_ns: ledger.reads.with(&ledger.writes).summary(),
            read_response_ns: ledger.reads.summary(),
            write_response_ns: ledger.writes.summary(),
            unbalance_permille: ledger.unbalance.summary(),
            block_erases: EraseSpread::of(device.ftl().erase_counts().iter().copied()),
        };
        let own = own.clone().since(&own_before);
        let Ledger { pages, kv, destage_pages, .. } = ledger;
        Ok(TimedOutcome {
            warmup_requests,
            requests,
            started_ns,
            pages,
            kv,
            own,
            gauges,
            destage_pages,
            timing,
            parts,
            dirty_at_start,
            dirty_left,
            disk: None,
        })
    }
}
