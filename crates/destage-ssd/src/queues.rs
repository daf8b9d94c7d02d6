//! Units and what they serve (`docs/spec/device.md` 4.2 to 4.6).
//!
//! First come, first served needs one number per unit: the end of the last operation submitted.
//! Whatever needs more (a shared bus, reads first, idle timers, somebody who listens) leaves that
//! plain path at its first branch.

use crate::bus::Reservations;
use crate::config::{Bus, DeviceConfig, GcMode, Sched};
use crate::ftl::{Moves, Sink};
use crate::geometry::{Geometry, Place};
use crate::read_first::{Lane, Waiting, count};
use crate::records::{OperationRecord, Recorder};
use crate::timing::{Kind, Operation, Phase, Timing};
use crate::when::{Times, When};
use destage_core::{NEVER, Nanos, Unfinished};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A submitted operation.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Its end.
    pub end: When,
    /// End of its last bus phase: the data are in the chip's register, or with the host.
    pub transferred: When,
    /// Number among the host's operations (R and W), by submission, from 0; else [`NEVER`].
    pub submission: u64,
}

/// Counters of one channel.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChannelCounters {
    /// Sum of bus phases, nanoseconds; waiting for the bus not included.
    pub transfer_ns: Nanos,
    /// R operations, the FTL's own among them.
    pub reads: u64,
    /// W operations, the FTL's own among them.
    pub programs: u64,
}

/// What the units have served.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// R operations of the host.
    pub reads: u64,
    /// W operations of the host.
    pub programs: u64,
    /// R operations of the FTL's own.
    pub own_reads: u64,
    /// W operations of the FTL's own.
    pub own_programs: u64,
    /// M operations.
    pub moves: u64,
    /// S operations.
    pub summaries: u64,
    /// E operations.
    pub erases: u64,
    /// Collections.
    pub collections: u64,
    /// Sum over the host's W of start - submission, nanoseconds.
    pub program_wait_ns: Nanos,
    /// Sum over the host's R of end - submission, nanoseconds.
    pub read_latency_ns: Nanos,
}

/// Kinds of operations, and of counts.
const KINDS: usize = 5;

/// One cache line.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
struct Unit {
    gc_until: Nanos, // end of the last collection operation submitted
    busy: Nanos,     // sum of durations
    counts: [u64; KINDS],
}

impl Unit {
    #[inline(always)]
    fn count(&mut self, kind: Kind, operations: u64) {
        self.counts[kind as usize] += operations;
    }
}

/// R and W of the FTL's own, which few FTLs have: beside the cache line.
#[derive(Clone, Copy, Default, Debug)]
struct Own {
    reads: u64,
    programs: u64,
}

/// All units of a drive.
#[derive(Clone, Debug)]
pub struct Queues {
    now: Nanos,
    plain: bool, // private bus, first come, first served, no timers, and nobody listens
    tails: Vec<Nanos>, // per unit, end of the last operation submitted
    units: Vec<Unit>,
    own: Vec<Own>,      // by unit
    timers: Vec<Nanos>, // per unit, next idle collection; NEVER if none is due
    collections: u64,
    program_wait_ns: Nanos,
    read_latency_ns: Nanos,
    counts_latencies: bool,
    host_operations: u64,
    channel_units: usize,
    timing: Timing,
    places: Vec<Place>,
    order: Order,
    idle_ns: Option<Nanos>, // gc_idle_ns, with gc_mode = idle
    times: Times,
    // Operations that have not ended, per unit, if a policy wants to count them (fcfs only).
    log: Option<Vec<VecDeque<(Nanos, Kind)>>>,
    // Ends of host operations and how long they were served, if a policy wants to hear of them.
    ends: Option<BinaryHeap<Reverse<(Nanos, u64, Nanos)>>>,
    // By unit: the page of the host that it worked for last, and when it began to. Kept with
    // `ends`.
    works: Vec<(u64, Nanos)>,
    pages: u64, // pages that the host has read or written
    // What every operation did and when, if someone wants to look at it.
    recorder: Option<Box<Recorder>>,
    block_pages: u32,
}

/// Adds to a sum of latencies. A drive that is far too slow for its trace can exceed 64 bits; the
/// sum then stays at its largest value, which no other run has.
#[inline(always)]
fn add(sum: &mut Nanos, ns: Nanos) {
    *sum = sum.saturating_add(ns);
}

#[derive(Clone, Debug)]
enum Order {
    Private,
    Shared(Vec<Reservations>),
    ReadFirst(Vec<Lane>),
}

impl Queues {
    pub(crate) fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let idle_ns = (config.gc_mode == GcMode::Idle).then_some(config.gc_idle_ns);
        let channels = geometry.channels as usize;
        let units = geometry.units as usize;
        let plain = (config.sched, config.bus, idle_ns) == (Sched::Fcfs, Bus::Private, None);
        Queues {
            now: 0,
            plain,
            tails: vec![0; units],
            units: vec![Unit::default(); units],
            own: vec![Own::default(); units],
            timers: vec![idle_ns.unwrap_or(NEVER); units],
            collections: 0,
            program_wait_ns: 0,
            read_latency_ns: 0,
            counts_latencies: true,
            host_operations: 0,
            channel_units: units / channels,
            timing: Timing::new(config),
            places: (0..geometry.planes).map(|plane| geometry.place(plane)).collect(),
            order: match (config.sched, config.bus) {
                (Sched::ReadFirst, _) => Order::ReadFirst(vec![Lane::default(); units]),
                (Sched::Fcfs, Bus::Shared) => {
                    Order::Shared(vec![Reservations::default(); channels])
                }
                (Sched::Fcfs, Bus::Private) => Order::Private,
            },
            idle_ns,
            times: Times::default(),
            log: None,
            ends: None,
            works: Vec::new(),
            pages: 0,
            recorder: None,
            block_pages: geometry.pages_per_block,
        }
    }

    /// From now on, unfinished operations can be counted by kind. Before the first operation.
    pub fn keep_unfinished(&mut self) {
        debug_assert_eq!(self.host_operations, 0, "no operation was submitted before");
        if !matches!(self.order, Order::ReadFirst(_)) {
            self.plain = false;
            self.log = Some(vec![VecDeque::new(); self.units.len()]);
        }
    }

    /// From now on, [`next_end`](Queues::next_end) tells of host operations.
    pub fn keep_ends(&mut self) {
        self.plain = false;
        self.ends = Some(BinaryHeap::new());
        self.works = vec![(0, 0); self.units.len()];
    }

    /// What is submitted from now on is for another page of the host.
    #[inline(always)]
    pub(crate) fn next_page(&mut self) {
        self.pages += 1;
    }

    /// When the unit began what the host's page at hand makes it do: collections, merges, the page.
    fn begun_ns(&mut self, at: u32, start: Nanos) -> Nanos {
        let Some(work) = self.works.get_mut(at as usize) else { return start };
        if work.0 != self.pages {
            *work = (self.pages, start);
        }
        work.1
    }

    /// Whether operations that are submitted from now on count in the two sums of latencies; they
    /// do unless told otherwise. For warm-ups, padding, and what no request waits for. Returns
    /// whether they did before.
    pub fn count_latencies(&mut self, counts: bool) -> bool {
        std::mem::replace(&mut self.counts_latencies, counts)
    }

    /// From now on, every operation is recorded; [`take_operations`](Queues::take_operations)
    /// fetches them. Before the first operation.
    pub fn keep_operations(&mut self) {
        debug_assert_eq!(self.host_operations, 0, "no operation was submitted before");
        self.plain = false;
        self.recorder = Some(Box::default());
    }

    /// The operations recorded since the last call. First come, first served: those submitted
    /// since, in that order. Reads first: those that have ended since, by unit and end.
    pub fn take_operations(&mut self) -> impl Iterator<Item = OperationRecord> + '_ {
        self.recorder.iter_mut().flat_map(|recorder| recorder.served.drain(..))
    }

    /// The next host operation that has ended by now, in the order of (end, number): its end, its
    /// number, and how long its unit worked for it, what the FTL did for its page before it
    /// included. With reads first that is the operation's own time.
    pub fn next_end(&mut self) -> Option<(Nanos, u64, Nanos)> {
        let ends = self.ends.as_mut()?;
        let &Reverse(next) = ends.peek()?;
        if next.0 > self.now {
            return None;
        }
        ends.pop();
        Some(next)
    }

    /// Everything that ends at or before `now` has ended.
    pub(crate) fn advance(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time does not go back");
        self.now = now;
        match &mut self.order {
            Order::Private => {}
            Order::Shared(channels) => channels.iter_mut().for_each(|c| c.forget(now)),
            Order::ReadFirst(lanes) => {
                let Queues { program_wait_ns, read_latency_ns, times, ends, recorder, .. } = self;
                for lane in lanes {
                    lane.advance(now, |op, start, end| {
                        match op.kind {
                            _ if !op.counts_latency => {}
                            Kind::Read => add(read_latency_ns, end - op.submitted_ns),
                            Kind::Write => add(program_wait_ns, start - op.submitted_ns),
                            _ => {}
                        }
                        if let Some(name) = op.end {
                            times.set(name, end);
                        }
                        if let (Some(ends), Some(submission)) = (ends.as_mut(), op.submission) {
                            ends.push(Reverse((end, submission, end - start)));
                        }
                        if let (Some(recorder), Some(number)) = (recorder.as_mut(), op.number)
                            && let Some(record) = recorder.waiting.remove(&number)
                        {
                            recorder.served.push(record.served(op.submitted_ns, start, end));
                        }
                    });
                }
            }
        }
    }

    /// Ends every operation: the last request has been processed.
    pub(crate) fn drain(&mut self) {
        let last = self.tails.iter().copied().max().unwrap_or(0);
        self.advance(last.max(self.now));
    }

    /// The instant of the decisions that are being taken.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Instants that are not known yet.
    pub fn times(&mut self) -> &mut Times {
        &mut self.times
    }

    /// The times of the drive.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Counts since the start. O(units).
    pub fn totals(&self) -> Totals {
        let sum = |kind| self.units.iter().map(|unit| unit.counts[kind as usize]).sum();
        Totals {
            reads: sum(Kind::Read),
            programs: sum(Kind::Write),
            own_reads: self.own.iter().map(|own| own.reads).sum(),
            own_programs: self.own.iter().map(|own| own.programs).sum(),
            moves: sum(Kind::Move),
            summaries: sum(Kind::Summary),
            erases: sum(Kind::Erase),
            collections: self.collections,
            program_wait_ns: self.program_wait_ns,
            read_latency_ns: self.read_latency_ns,
        }
    }

    /// Per channel: the sums of its units, which are numbered in a row. O(units).
    pub fn channels(&self) -> Vec<ChannelCounters> {
        let of_channel = |(units, own): (&[Unit], &[Own])| {
            let sum = |kind| units.iter().map(|unit| unit.counts[kind as usize]).sum::<u64>();
            let reads = sum(Kind::Read) + own.iter().map(|own| own.reads).sum::<u64>();
            let programs = sum(Kind::Write) + own.iter().map(|own| own.programs).sum::<u64>();
            let rest = [Kind::Move, Kind::Summary, Kind::Erase].map(|kind| (kind, sum(kind)));
            let all = rest.into_iter().chain([(Kind::Read, reads), (Kind::Write, programs)]);
            let transfer_ns = all.map(|(kind, count)| count * self.timing.transfer_ns(kind)).sum();
            ChannelCounters { transfer_ns, reads, programs }
        };
        let own = self.own.chunks(self.channel_units);
        self.units.chunks(self.channel_units).zip(own).map(of_channel).collect()
    }

    /// Per unit, the sum of durations of all its operations, nanoseconds.
    pub fn busy_ns(&self) -> impl Iterator<Item = Nanos> {
        self.units.iter().map(|unit| unit.busy)
    }

    /// Units whose work has not ended.
    pub(crate) fn busy_units(&self) -> u64 {
        let busy = |at: usize| match &self.order {
            Order::ReadFirst(lanes) => !lanes[at].is_idle(),
            _ => self.tails[at] > self.now,
        };
        (0..self.units.len()).filter(|&at| busy(at)).count() as u64
    }

    /// Remaining work of the units 0, 1, .. (4.5), as many as there is room for.
    #[inline]
    pub fn backlogs_ns(&self, backlogs: &mut [Nanos]) {
        for (backlog, tail) in backlogs.iter_mut().zip(&self.tails) {
            *backlog = tail.saturating_sub(self.now);
        }
    }

    /// A collection operation of the unit has not ended (4.6).
    pub fn in_gc(&self, unit: u32) -> bool {
        match &self.order {
            Order::ReadFirst(lanes) => lanes[unit as usize].in_gc(),
            _ => self.units[unit as usize].gc_until > self.now,
        }
    }

    /// Operations that have not ended, by kind; all 0 unless they are kept.
    pub fn unfinished(&self, unit: u32) -> Unfinished {
        let mut counts = Unfinished::default();
        match (&self.order, &self.log) {
            (Order::ReadFirst(lanes), _) => return lanes[unit as usize].unfinished(),
            (_, Some(log)) => {
                let ended = log[unit as usize].partition_point(|&(end, _)| end <= self.now);
                log[unit as usize]
                    .iter()
                    .skip(ended)
                    .for_each(|&(_, kind)| count(&mut counts, kind));
            }
            _ => {}
        }
        counts
    }

    /// The first idle timer before `now`, lowest unit first (5.5).
    pub(crate) fn next_timer(&self, now: Nanos) -> Option<(Nanos, u32)> {
        let timers = self.timers.iter().copied().zip(0..);
        timers.min().filter(|&(due, _)| due < now)
    }

    /// After a timer: the next is due when the collection has ended, or after the next operation.
    pub(crate) fn rearm(&mut self, unit: u32, collected: bool) {
        let at = unit as usize;
        self.timers[at] = if collected { self.tails[at] } else { NEVER };
    }

    /// The number of an operation among the host's, if it is one.
    #[inline(always)]
    fn number(&mut self, op: &Operation) -> u64 {
        if op.collection || !matches!(op.kind, Kind::Read | Kind::Write) {
            return NEVER;
        }
        self.host_operations += 1;
        self.host_operations - 1
    }

    /// Counts so many operations of a unit.
    #[inline(always)]
    fn count(&mut self, at: usize, op: &Operation, operations: u64) {
        match op.kind {
            Kind::Read if op.collection => self.own[at].reads += operations,
            Kind::Write if op.collection => self.own[at].programs += operations,
            kind => self.units[at].count(kind, operations),
        }
    }

    /// The sums of latencies, for an operation whose times are known.
    #[inline(always)]
    fn count_latency(&mut self, kind: Kind, start: Nanos, end: Nanos) {
        if self.counts_latencies {
            match kind {
                Kind::Read => add(&mut self.read_latency_ns, end - self.now),
                _ => add(&mut self.program_wait_ns, start - self.now),
            }
        }
    }

    /// What follows the transfer of a program; a read ends with its transfer.
    #[inline(always)]
    fn after_transfer(&self, op: &Operation) -> Nanos {
        match op.kind {
            Kind::Read => 0,
            _ => self.timing.array_program_ns(op.index),
        }
    }

    /// An operation of a unit with a shared bus, reads first, timers or listeners.
    #[inline(never)]
    fn submit_watched(&mut self, op: Operation) -> Served {
        let place = self.places[op.plane as usize];
        let Place { unit: at, channel } = place;
        let submission = self.number(&op);
        let duration = self.timing.duration_ns(&op);
        let now = self.now;
        let start = self.tails[at as usize].max(now);
        let (mut end, mut transferred) = (start + duration, None);
        if let Order::Shared(channels) = &mut self.order {
            end = start;
            for phase in self.timing.phases(&op) {
                match phase {
                    Phase::Cell(ns) => end += ns,
                    Phase::Bus(ns) => {
                        end = channels[channel as usize].reserve(end, ns);
                        transferred = Some(end);
                    }
                }
            }
        }
        let begun = self.begun_ns(at, start);
        self.tails[at as usize] = end;
        self.count(at as usize, &op, 1);
        let unit = &mut self.units[at as usize];
        unit.busy += end - start;
        if op.collection {
            unit.gc_until = end;
        }
        if let Some(idle_ns) = self.idle_ns {
            self.timers[at as usize] = end + idle_ns;
        }
        if let Some(log) = &mut self.log {
            let log = &mut log[at as usize];
            while log.front().is_some_and(|&(end, _)| end <= now) {
                log.pop_front();
            }
            log.push_back((end, op.kind));
        }
        let after = self.after_transfer(&op);
        if let Order::ReadFirst(lanes) = &mut self.order {
            let mut waiting = Waiting::new(&op, duration, now);
            if let Some(recorder) = &mut self.recorder {
                let number = recorder.next_number();
                let record = OperationRecord::new(&op, place, number, submission, self.block_pages);
                recorder.waiting.insert(number, record);
                waiting.number = Some(number);
            }
            if submission != NEVER {
                waiting.end = Some(self.times.unknown());
                waiting.counts_latency = self.counts_latencies;
                waiting.submission = Some(submission);
            }
            lanes[at as usize].submit(waiting, now);
            return match waiting.end {
                Some(end) => Served { end, transferred: self.times.before(end, after), submission },
                None => Served { end: When::at(end), transferred: When::at(end), submission },
            };
        }
        if let Some(recorder) = &mut self.recorder {
            let number = recorder.next_number();
            let record = OperationRecord::new(&op, place, number, submission, self.block_pages);
            recorder.served.push(record.served(now, start, end));
        }
        if submission != NEVER {
            self.count_latency(op.kind, start, end);
            if let Some(ends) = &mut self.ends {
                ends.push(Reverse((end, submission, end - begun)));
            }
        }
        let transferred = transferred.unwrap_or_else(|| end.saturating_sub(after));
        Served { end: When::at(end), transferred: When::at(transferred), submission }
    }
}

impl Sink for Queues {
    type Served = Served;

    #[inline(always)]
    fn submit(&mut self, op: Operation) -> Served {
        if !self.plain {
            return self.submit_watched(op);
        }
        let at = self.places[op.plane as usize].unit as usize;
        let start = self.tails[at].max(self.now);
        let duration = self.timing.duration_ns(&op);
        let end = start + duration;
        self.tails[at] = end;
        self.count(at, &op, 1);
        let unit = &mut self.units[at];
        unit.busy += duration;
        if op.collection {
            unit.gc_until = end;
        }
        let submission = self.number(&op);
        if submission != NEVER {
            self.count_latency(op.kind, start, end);
        }
        let transferred = When::at(end - self.after_transfer(&op).min(end));
        Served { end: When::at(end), transferred, submission }
    }

    #[inline(always)]
    fn submit_moves(&mut self, moves: Moves) {
        if !self.plain {
            moves.operations().for_each(|op| {
                self.submit_watched(op);
            });
            return;
        }
        let at = self.places[moves.plane as usize].unit as usize;
        let duration = if self.timing.is_uniform() {
            let each = moves.operations().next().map_or(0, |op| self.timing.duration_ns(&op));
            each * moves.from.len() as u64
        } else {
            moves.operations().map(|op| self.timing.duration_ns(&op)).sum()
        };
        let end = self.tails[at].max(self.now) + duration;
        self.tails[at] = end;
        let unit = &mut self.units[at];
        unit.count(Kind::Move, moves.from.len() as u64);
        unit.busy += duration;
        unit.gc_until = end;
    }

    #[inline(always)]
    fn is_uniform(&self) -> bool {
        self.plain && self.timing.is_uniform()
    }

    #[inline(always)]
    fn submit_equal(&mut self, op: Operation, operations: u32) {
        debug_assert!(op.collection && self.is_uniform(), "one stands for all");
        let at = self.places[op.plane as usize].unit as usize;
        let duration = self.timing.duration_ns(&op) * u64::from(operations);
        let end = self.tails[at].max(self.now) + duration;
        self.tails[at] = end;
        self.count(at, &op, operations.into());
        let unit = &mut self.units[at];
        unit.busy += duration;
        unit.gc_until = end;
    }

    #[inline(always)]
    fn backlog_ns(&self, unit: u32) -> Nanos {
        self.tails[unit as usize].saturating_sub(self.now)
    }

    #[inline(always)]
    fn collection(&mut self) {
        self.collections += 1;
    }
}
