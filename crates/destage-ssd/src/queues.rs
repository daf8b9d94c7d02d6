//! Units and what they serve (`docs/spec/device.md` 4.2 to 4.6).
//!
//! First come, first served needs one number per unit: the end of the last operation submitted.
//! Whatever needs more (a shared bus, reads first, idle timers, recorders) leaves that
//! plain path at its first branch.

mod collecting;
mod counts;
mod lanes;
mod order;
mod serve;
mod unfinished;

pub use counts::{ChannelCounters, Totals};

use crate::bus::Reservations;
use crate::config::{Bus, DeviceConfig, GcMode, GcStepsConfig, InGc, Sched, Suspend};
use crate::ended::{Released, Undone};
use crate::geometry::{Geometry, PlaneLocation};
use crate::pending_time::{PendingTime, PendingTimes};
use crate::read_first::ReadFirstQueue;
use crate::records::{Numbering, OperationRecord, Recorder};
use crate::timing::{OperationKind, Timing};
use collecting::Stretches;
use counts::{FtlOperations, Unit, add};
use destage_core::{NEVER, Nanos, PlaneId, Unfinished, UnitId};
use order::Waits;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use unfinished::Log;

/// A submitted operation.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// End of the operation.
    pub end: PendingTime,
    /// End of its last bus phase: the data are in the chip's register, or with the host.
    pub transferred: PendingTime,
    /// Number among the host's operations (R and W), by submission, from 0; else [`NEVER`].
    pub submission: u64,
}

/// All units of a drive.
#[derive(Clone, Debug)]
pub struct Queues {
    now: Nanos,
    plain: bool,       // private bus, first come, first served, no timers, no recorder
    sums: bool,        // the same, but for timers and who listens to the host's operations
    quick: bool,       // operations may wait; without a reason to, they take the short way
    tails: Vec<Nanos>, // per unit, end of the last operation submitted
    units: Vec<Unit>,
    own: Vec<FtlOperations>, // by unit
    timers: Vec<Nanos>,      // per unit, next idle collection; NEVER if none is due
    no_timer_before: Nanos,
    collections: u64,
    program_wait_ns: Nanos,
    read_latency_ns: Nanos,
    counts_latencies: bool,
    host_operations: u64,
    channel_units: usize,
    timing: Timing,
    places: Vec<PlaneLocation>,
    order: Order,
    idle_ns: Option<Nanos>, // gc_idle_ns, with gc_mode = idle
    times: PendingTimes,
    // Operations that have not ended, per unit, if a policy wants to count them (fcfs only).
    log: Option<Vec<Log>>,
    // By unit: collections in service, if these alone make it one in GC (fcfs only).
    collecting: Option<Vec<Stretches>>,
    // Ends of host operations and how long they were served, if a policy wants to hear of them.
    ends: Option<BinaryHeap<Reverse<(Nanos, u64, Nanos)>>>,
    // By unit: the page of the host that it worked for last, and how long. Kept with `ends`.
    works: Vec<(u64, Nanos)>,
    pages: u64, // pages that the host has read or written
    // What every operation did and when, if someone wants to look at it.
    recorder: Option<Box<Recorder>>,
    numbering: Numbering,
    // Something stands between the host and the flash: the host's operations have a ready time, and
    // when the host sees them done is said later.
    fronted: bool,
    ready: Nanos,
    acting: Nanos,      // the drive acts on the host's command from here on
    fetch_ready: Nanos, // that, of a map read that the command needs; else 0
    undone: Option<Undone>,
    // Reads first: host operations that have ended, and of which it is still to be said when the
    // host sees them done.
    ended: VecDeque<(Undone, Released)>,
    buffered: bool,        // the host sees a program done before it is submitted
    exact_transfers: bool, // a closed loop may wait for the end of a transfer
    steps: GcStepsConfig,
    suspensions: u64,
    waits: Option<Box<Waits>>, // operations that wait for others
}

#[derive(Clone, Debug)]
enum Order {
    Private,
    Shared(Vec<Reservations>),
    ReadFirst(Vec<ReadFirstQueue>),
}

impl Queues {
    pub(crate) fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let folds = config.slc.is_some_and(|slc| slc.slc_idle);
        let idle_ns = (folds || config.gc_mode == GcMode::Idle).then_some(config.gc_idle_ns);
        let channels = geometry.channels as usize;
        let units = geometry.units as usize;
        let sums = (config.sched, config.bus) == (Sched::Fcfs, Bus::Private);
        let mut queues = Queues {
            now: 0,
            plain: sums && idle_ns.is_none() && config.in_gc == InGc::Queued,
            sums,
            quick: false,
            tails: vec![0; units],
            units: vec![Unit::default(); units],
            own: vec![FtlOperations::default(); units],
            timers: vec![idle_ns.unwrap_or(NEVER); units],
            no_timer_before: 0,
            collections: 0,
            program_wait_ns: 0,
            read_latency_ns: 0,
            counts_latencies: true,
            host_operations: 0,
            channel_units: units / channels,
            timing: Timing::new(config),
            places: (0..geometry.planes).map(|plane| geometry.place(PlaneId(plane))).collect(),
            order: match (config.sched, config.bus) {
                (Sched::ReadFirst, _) => Order::ReadFirst(vec![ReadFirstQueue::default(); units]),
                (Sched::Fcfs, Bus::Shared) => {
                    Order::Shared(vec![Reservations::default(); channels])
                }
                (Sched::Fcfs, Bus::Private) => Order::Private,
            },
            idle_ns,
            times: PendingTimes::default(),
            log: None,
            collecting: (config.in_gc == InGc::Executing)
                .then(|| vec![Stretches::default(); units]),
            ends: None,
            works: Vec::new(),
            pages: 0,
            recorder: None,
            numbering: Numbering::new(config, geometry),
            fronted: false,
            ready: 0,
            acting: 0,
            fetch_ready: 0,
            undone: None,
            ended: VecDeque::new(),
            buffered: false,
            exact_transfers: false,
            steps: config.steps,
            suspensions: 0,
            waits: None,
        };
        if config.orders() || queues.steps_through_ends() {
            queues.keep_order();
        }
        queues
    }

    /// From now on, unfinished operations can be counted by kind. Before the first operation.
    pub fn keep_unfinished(&mut self) {
        debug_assert_eq!(self.host_operations, 0, "no operation was submitted before");
        if !matches!(self.order, Order::ReadFirst(_)) {
            (self.plain, self.sums) = (false, false);
            self.log = Some(vec![Log::default(); self.units.len()]);
            self.choose_way();
        }
    }

    /// From now on, [`next_end`](Queues::next_end) tells of host operations.
    pub fn keep_ends(&mut self) {
        self.plain = false;
        self.ends = Some(BinaryHeap::new());
        self.works = vec![(0, 0); self.units.len()];
        self.choose_way();
    }

    /// Something stands between the host and the flash: [`ready`](Queues::ready) comes before each
    /// operation of the host, and [`done`](Queues::done) after it.
    pub(crate) fn keep_front(&mut self, is_buffered: bool) {
        self.plain = false;
        self.fronted = true;
        self.buffered = is_buffered;
        if self.steps_through_ends() && !self.is_ordered() {
            self.keep_order();
        }
    }

    /// The next operation of the host does not begin before this instant.
    #[inline(always)]
    pub(crate) fn ready(&mut self, ready: Nanos) {
        self.ready = ready;
    }

    /// The drive acts on the host's command from this instant on.
    #[inline(always)]
    pub(crate) fn acts(&mut self, acting: Nanos) {
        self.acting = acting;
    }

    /// The host sees its last operation done at this instant (`docs/spec/device-today.md` 5.3).
    #[inline]
    pub(crate) fn done(&mut self, done: Nanos) {
        let Some(undone) = self.undone.take() else { return };
        let Undone { submission, is_read, service_ns, decided, counts } = undone;
        if is_read && counts {
            add(&mut self.read_latency_ns, done - decided);
        }
        if let Some(ends) = &mut self.ends {
            // One that has waited may be done before its unit hears of it.
            ends.push(Reverse((done.max(self.now), submission, service_ns)));
        }
    }

    /// Counts later operations as work for the host's next page.
    #[inline(always)]
    pub(crate) fn next_page(&mut self) {
        self.pages += 1;
    }

    /// Nanoseconds that the unit has worked for the current host page: collections, merges, the
    /// page itself. Waiting for data is no work.
    #[inline(always)]
    fn worked_ns(&mut self, unit: UnitId, duration: Nanos) -> Nanos {
        let Some(work) = self.works.get_mut(unit.index()) else { return duration };
        if work.0 != self.pages {
            *work = (self.pages, 0);
        }
        work.1 += duration;
        work.1
    }

    /// Whether operations that are submitted from now on count in the two sums of latencies; they
    /// do unless told otherwise. For warm-ups, padding, and what no request waits for. Returns
    /// whether they did before.
    #[inline]
    pub fn count_latencies(&mut self, counts: bool) -> bool {
        std::mem::replace(&mut self.counts_latencies, counts)
    }

    /// From now on, every operation is recorded; [`take_operations`](Queues::take_operations)
    /// fetches them. Before the first operation.
    pub fn keep_operations(&mut self) {
        debug_assert_eq!(self.host_operations, 0, "no operation was submitted before");
        (self.plain, self.sums) = (false, false);
        self.recorder = Some(Box::default());
        self.choose_way();
    }

    /// The operations recorded since the last call. First come, first served: those submitted
    /// since, in that order. Reads first: those that have ended since, by unit and end.
    pub fn take_operations(&mut self) -> impl Iterator<Item = OperationRecord> + '_ {
        self.recorder.iter_mut().flat_map(|recorder| recorder.served.drain(..))
    }

    /// The next host operation that has ended by now, in the order of (end, number): its end, its
    /// number, and how long its unit worked for it, what the FTL did for its page before it
    /// included. With reads first that is the operation's own time.
    #[inline]
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
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time does not go back");
        self.now = now;
        match &mut self.order {
            Order::Private => {}
            Order::Shared(channels) => channels.iter_mut().for_each(|c| c.forget(now)),
            Order::ReadFirst(lanes) => {
                let all = 0..lanes.len();
                self.serve_lanes(all, now);
            }
        }
    }

    /// Ends every operation: the last request has been processed.
    pub(crate) fn drain(&mut self) {
        let last = self.last_end();
        self.advance(last.max(self.now));
    }

    /// The instant of the decisions that are being taken.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// R and W of the host so far.
    pub(crate) fn host_operations(&self) -> u64 {
        self.host_operations
    }

    /// Instants that are not known yet.
    #[inline]
    pub fn times(&mut self) -> &mut PendingTimes {
        &mut self.times
    }

    /// The times of the drive.
    #[inline]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Counts since the start. O(units).
    pub fn totals(&self) -> Totals {
        let sum = |kind| self.units.iter().map(|unit| unit.counts[kind as usize]).sum();
        Totals {
            reads: sum(OperationKind::Read),
            programs: sum(OperationKind::Write),
            own_reads: self.own.iter().map(|own| own.reads).sum(),
            own_programs: self.own.iter().map(|own| own.programs).sum(),
            moves: sum(OperationKind::Move),
            summaries: sum(OperationKind::Summary),
            erases: sum(OperationKind::Erase),
            collections: self.collections,
            program_wait_ns: self.program_wait_ns,
            read_latency_ns: self.read_latency_ns,
        }
    }

    /// Operations of a kind that wait for others before they enter a queue: the host's, and others.
    pub(crate) fn waiting(&self, kind: OperationKind) -> [u64; 2] {
        self.waits.as_ref().map_or([0; 2], |waits| waits.waiting(kind))
    }

    /// Operations that reads have interrupted, each time; `None` where nothing is suspended.
    pub fn suspensions(&self) -> Option<u64> {
        (self.steps.suspend != Suspend::None).then_some(self.suspensions)
    }

    /// Per channel: the sums of its units, which are numbered in a row. O(units).
    pub fn channels(&self) -> Vec<ChannelCounters> {
        let of_channel = |(units, own): (&[Unit], &[FtlOperations])| {
            let sum = |kind| units.iter().map(|unit| unit.counts[kind as usize]).sum::<u64>();
            let reads = sum(OperationKind::Read) + own.iter().map(|own| own.reads).sum::<u64>();
            let programs =
                sum(OperationKind::Write) + own.iter().map(|own| own.programs).sum::<u64>();
            let rest = [OperationKind::Move, OperationKind::Summary, OperationKind::Erase]
                .map(|kind| (kind, sum(kind)));
            let all = rest
                .into_iter()
                .chain([(OperationKind::Read, reads), (OperationKind::Write, programs)]);
            // Units of a private bus transfer at one time: their sum may be greater than each.
            let ns = |(kind, count)| u128::from(count) * u128::from(self.timing.transfer_ns(kind));
            let transfer_ns = all.map(ns).sum::<u128>().try_into().unwrap_or(Nanos::MAX);
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

    /// The first instant after `after` at which a unit has nothing left to do, if nothing more is
    /// submitted until then. In whatever order a unit serves its queue, it ends at the same time.
    pub(crate) fn next_idle(&self, after: Nanos) -> Option<Nanos> {
        self.tails.iter().copied().filter(|&tail| tail > after).min()
    }

    /// When the last unit ends its work, if nothing more is submitted. O(units).
    #[inline]
    pub fn last_end(&self) -> Nanos {
        self.tails.iter().copied().max().unwrap_or(0)
    }

    /// Some unit has nothing to do now.
    #[inline]
    pub fn any_idle(&self) -> bool {
        self.tails.iter().any(|&tail| tail <= self.now)
    }

    /// Remaining work of the units 0, 1, .. (4.5), as many as there is room for.
    #[inline]
    pub fn backlogs_ns(&self, backlogs: &mut [Nanos]) {
        for (backlog, tail) in backlogs.iter_mut().zip(&self.tails) {
            *backlog = tail.saturating_sub(self.now);
        }
    }

    /// The longest remaining work of a unit, and the sum of all units' (8, the unbalance rate).
    #[inline]
    pub fn longest_and_sum_ns(&self) -> (Nanos, u128) {
        let (fours, rest) = self.tails.as_chunks::<4>();
        let (mut longest, mut sum) = ([0; 4], [0u64; 4]);
        let mut add = |lane: usize, tail: Nanos| {
            let backlog = tail.saturating_sub(self.now);
            longest[lane] = backlog.max(longest[lane]);
            sum[lane] = sum[lane].wrapping_add(backlog);
        };
        // Four side by side: a maximum waits for the one before it.
        for four in fours {
            (0..4).for_each(|lane| add(lane, four[lane]));
        }
        rest.iter().for_each(|&tail| add(0, tail));
        let longest = longest[0].max(longest[1]).max(longest[2].max(longest[3]));
        let sum = sum.iter().fold(0u64, |all, &part| all.wrapping_add(part));
        if longest.checked_mul(self.tails.len() as u64).is_some() {
            return (longest, sum.into());
        }
        // So much work does not fit into 64 bits.
        let each = self.tails.iter().map(|tail| u128::from(tail.saturating_sub(self.now)));
        (longest, each.sum())
    }

    /// A collection operation of the unit has not ended, or with `in_gc = executing` is in service
    /// (4.6).
    #[inline]
    pub fn in_gc(&self, unit: UnitId) -> bool {
        let is_queued = match &self.order {
            Order::ReadFirst(lanes) => lanes[unit.index()].in_gc(),
            _ => self.units[unit.index()].gc_until > self.now,
        };
        is_queued && self.collecting.as_ref().is_none_or(|all| self.collects(all, unit))
    }

    /// A collection operation of the unit has begun and not ended.
    fn collects(&self, collecting: &[Stretches], unit: UnitId) -> bool {
        match &self.order {
            Order::ReadFirst(lanes) => lanes[unit.index()].collects(self.now),
            _ => collecting[unit.index()].holds(self.now),
        }
    }

    /// Operations that have not ended, by kind; all 0 unless they are kept.
    #[inline]
    pub fn unfinished(&self, unit: UnitId) -> Unfinished {
        match (&self.order, &self.log) {
            (Order::ReadFirst(lanes), _) => lanes[unit.index()].unfinished(),
            (_, Some(logs)) => logs[unit.index()].unfinished(self.now),
            _ => Unfinished::default(),
        }
    }

    /// The first idle timer before `now`, lowest unit first (5.5).
    #[inline]
    pub(crate) fn next_timer(&mut self, now: Nanos) -> Option<(Nanos, UnitId)> {
        // As a rule timers are only put off: all are looked at when the first can be due.
        if now <= self.no_timer_before {
            return None;
        }
        let timers = self.timers.iter().copied().zip((0..).map(UnitId));
        let first = timers.min()?;
        self.no_timer_before = first.0;
        (first.0 < now).then_some(first)
    }

    #[inline(always)]
    fn set_timer(&mut self, at: usize, due: Nanos) {
        self.timers[at] = due;
        self.no_timer_before = self.no_timer_before.min(due);
    }

    /// After a timer: the next is due when the collection has ended, or after the next operation.
    pub(crate) fn rearm(&mut self, unit: UnitId, collected: bool) {
        let at = unit.index();
        self.set_timer(at, if collected { self.tails[at] } else { NEVER });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Table, Value};
    use crate::ftl::Sink;

    #[test]
    fn the_longest_queue_and_the_sum_are_those_of_all_units_however_long_they_are() {
        let sizes = [("channels", 5), ("chips_per_channel", 3), ("blocks_per_plane", 64)];
        let sizes = sizes.map(|(key, size)| (key.to_string(), Value::Int(size)));
        let config = DeviceConfig::from_table(&Table::from(sizes)).expect("a good configuration");
        let mut queues = Queues::new(&config, &Geometry::new(&config));
        let units = queues.tails.len();
        assert_eq!(queues.longest_and_sum_ns(), (0, 0));
        for now in [0, 7, 1 << 20, Nanos::MAX - 1] {
            for scale in [0, 1, 1 << 30, Nanos::MAX / 15, Nanos::MAX / 4, Nanos::MAX] {
                for at in 0..units {
                    let share = (at as u128 * 7 % units as u128) + 1;
                    queues.tails[at] = (u128::from(scale) * share / units as u128) as Nanos;
                }
                queues.now = now;
                let each = (0..units as u32).map(|unit| queues.backlog_ns(UnitId(unit)));
                let longest = each.clone().max().unwrap();
                let sum: u128 = each.map(u128::from).sum();
                assert_eq!(queues.longest_and_sum_ns(), (longest, sum), "{now} {scale}");
            }
        }
    }
}
