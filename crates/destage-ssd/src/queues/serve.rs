//! An operation that an FTL hands over: when it begins and ends, and what is counted of it.

use super::counts::add;
use super::{Order, Queues, Served};
use crate::bus::Reservations;
use crate::config::Suspend;
use crate::ended::Undone;
use crate::ftl::{Moves, Need, Sink};
use crate::geometry::{PlaneLocation, Ppn};
use crate::pending_time::PendingTime;
use crate::read_first::Waiting;
use crate::records::OperationRecord;
use crate::timing::{Operation, OperationKind, Phase};
use destage_core::{NEVER, Nanos, UnitId};
use std::cmp::Reverse;

impl Queues {
    /// The number of an operation among the host's, if it is one.
    #[inline(always)]
    pub(super) fn number(&mut self, op: &Operation) -> u64 {
        if op.collection || !is_of_pages(op.kind) {
            return NEVER;
        }
        self.host_operations += 1;
        self.host_operations - 1
    }

    /// Counts so many operations of a unit.
    #[inline(always)]
    pub(super) fn count(&mut self, at: usize, op: &Operation, operations: u64) {
        match op.kind {
            OperationKind::Read if op.collection => self.own[at].reads += operations,
            OperationKind::Write if op.collection => self.own[at].programs += operations,
            kind => self.units[at].count(kind, operations),
        }
    }

    /// The sums of latencies, for an operation whose times are known.
    #[inline(always)]
    pub(super) fn count_latency(
        &mut self,
        kind: OperationKind,
        decided: Nanos,
        start: Nanos,
        end: Nanos,
    ) {
        match kind {
            OperationKind::Read => add(&mut self.read_latency_ns, end - decided),
            _ => add(&mut self.program_wait_ns, start - decided),
        }
    }

    /// Array time after an operation's transfer, nanoseconds: that of a program; 0 for a read,
    /// which ends with its transfer.
    #[inline(always)]
    pub(super) fn after_transfer(&self, op: &Operation) -> Nanos {
        match op.kind {
            OperationKind::Read => 0,
            _ => self.timing.array_program_ns(op.index),
        }
    }

    /// The end of a transfer does not follow from the end of the operation.
    #[inline(always)]
    pub(super) fn names_transfers(&self, kind: OperationKind) -> bool {
        let is_exact = self.steps.suspend == Suspend::Program || self.exact_transfers;
        kind == OperationKind::Write && is_exact
    }

    /// An operation of a unit with a shared bus, reads first, timers or listeners.
    #[inline(never)]
    fn submit_watched(&mut self, op: Operation) -> Served {
        if self.waits.is_some() {
            let is_host = !op.collection && is_of_pages(op.kind);
            let class = if is_host { Class::Host } else { Class::Own };
            let need = if is_host { self.take_need() } else { Need::MET };
            return self.decide(op, class, need);
        }
        let number = self.number(&op);
        let now = self.now;
        self.place(
            op,
            Submission {
                class: Class::Own,
                number,
                decided: now,
                ready: if number == NEVER { 0 } else { self.ready },
                counts: self.counts_latencies,
                page: self.pages,
                by_timer: false,
                end: None,
                transferred: None,
                was_late: false,
            },
            None,
        )
    }

    /// An operation enters the queue of its unit. `watch`: reads first, others may wait for its
    /// end, under this number.
    #[inline(always)]
    pub(super) fn place(
        &mut self,
        op: Operation,
        submission: Submission,
        watch: Option<u64>,
    ) -> Served {
        let place = self.places[op.plane.index()];
        let PlaneLocation { unit, channel } = place;
        let at = unit.index();
        let number = submission.number;
        let duration = self.timing.duration_ns(&op);
        let now = self.now;
        let start = self.tails[at].max(submission.ready.max(now));
        let (end, transferred) = match &mut self.order {
            Order::Shared(channels) => {
                let phases = self.timing.phases(&op);
                on_a_shared_bus(&mut channels[channel as usize], phases, start)
            }
            _ => (start + duration, None),
        };
        let worked = match &self.waits {
            None => self.worked_ns(unit, end - start),
            Some(_) => self.worked_late(&submission, unit, end - start),
        };
        self.count(at, &op, 1);
        let collects = op.collection && !submission.class.is_of_map();
        self.serve_until(at, [end - start, end], collects, submission.by_timer);
        if let Some(logs) = &mut self.log {
            logs[at].push(now, end, op.kind);
        }
        if matches!(self.order, Order::ReadFirst(_)) {
            return self.submit_to_lane(&op, &submission, watch, end);
        }
        if let Some(recorder) = &mut self.recorder {
            let all = recorder.next_number();
            let record = OperationRecord::new(&op, place, all, number, &self.numbering);
            recorder.served.push(record.served(submission.decided, start, end));
        }
        if number != NEVER {
            self.note_end(&op, &submission, [start, end, worked]);
        }
        if let Some(name) = submission.end.filter(|_| !self.fronted) {
            self.times.set(name, end);
        }
        let transferred =
            transferred.unwrap_or_else(|| end.saturating_sub(self.after_transfer(&op)));
        Served {
            end: PendingTime::at(end),
            transferred: PendingTime::at(transferred),
            submission: number,
        }
    }

    /// A unit serves so many nanoseconds of work, up to an instant.
    #[inline(always)]
    pub(super) fn serve_until(
        &mut self,
        at: usize,
        [work, end]: [Nanos; 2],
        collects: bool,
        by_timer: bool,
    ) {
        self.tails[at] = end;
        let unit = &mut self.units[at];
        unit.busy += work;
        if collects {
            unit.gc_until = end;
            if let Some(collecting) = &mut self.collecting {
                collecting[at].push(self.now, end - work, end);
            }
        }
        if let Some(idle_ns) = self.idle_ns {
            // Reads first, it is set when the unit has nothing more to do.
            let due = match self.order {
                Order::ReadFirst(_) => NEVER,
                _ if by_timer => end,
                _ => end + idle_ns,
            };
            self.set_timer(at, due);
        }
    }

    /// Reads first: an operation of this unit ends now.
    fn ends_now(&self, at: usize) -> bool {
        let Order::ReadFirst(lanes) = &self.order else { return false };
        lanes[at].next_choice() == Some(self.now)
    }

    /// An operation of the host: its latency, and its end for recorders. Where something
    /// stands before the flash, when the host sees it done is said later.
    fn note_end(
        &mut self,
        op: &Operation,
        submission: &Submission,
        [start, end, service_ns]: [Nanos; 3],
    ) {
        let &Submission { number, decided, counts, .. } = submission;
        let is_read = op.kind == OperationKind::Read;
        if counts && (!self.fronted || !is_read) {
            self.count_latency(op.kind, decided, start, end);
        }
        if self.fronted {
            self.undone = Some(Undone { submission: number, is_read, service_ns, decided, counts });
        } else if let Some(ends) = &mut self.ends {
            ends.push(Reverse((end, number, service_ns)));
        }
    }

    /// Reads first: the end is known when the operation begins. `end`: of one that no request waits
    /// for, as if it were the last.
    fn submit_to_lane(
        &mut self,
        op: &Operation,
        submission: &Submission,
        watch: Option<u64>,
        end: Nanos,
    ) -> Served {
        let place = self.places[op.plane.index()];
        let after = self.after_transfer(op);
        let number = submission.number;
        let mut waiting = Waiting::new(op, self.timing.duration_ns(op), submission.decided);
        waiting.collection &= !submission.class.is_of_map();
        waiting.watch = watch;
        waiting.by_timer = submission.by_timer;
        if let Some(recorder) = &mut self.recorder {
            let all = recorder.next_number();
            let record = OperationRecord::new(op, place, all, number, &self.numbering);
            recorder.waiting.insert(all, record);
            waiting.number = Some(all);
        }
        if number != NEVER {
            waiting.end = Some(submission.end.unwrap_or_else(|| self.times.unknown()));
            waiting.counts_latency = submission.counts;
            waiting.submission = Some(number);
        }
        if number != NEVER && self.names_transfers(op.kind) {
            waiting.transfer_ns -= after;
            let named = submission.transferred;
            waiting.transferred = Some(named.unwrap_or_else(|| self.times.unknown()));
        }
        let Order::ReadFirst(lanes) = &mut self.order else { unreachable!("reads go first") };
        let at = place.unit.index();
        lanes[at].submit(waiting, self.now);
        if op.kind == OperationKind::Read
            && self.steps.suspend != Suspend::None
            && let Some(longer) = lanes[at].suspend(self.now, &self.steps)
        {
            self.suspensions += 1;
            self.tails[at] += longer;
            self.units[at].busy += longer;
        }
        if self.buffered
            && number != NEVER
            && op.kind == OperationKind::Write
            && let Some(ends) = &mut self.ends
        {
            // The host has seen it done; its unit hears of it now.
            ends.push(Reverse((self.now, number, waiting.duration_ns)));
        }
        // What takes no time is over before anything else is submitted.
        if watch.is_none() && self.steps_through_ends() && self.ends_now(at) {
            self.serve_lanes(at..at + 1, self.now);
        }
        let submission = number;
        match waiting.end {
            Some(end) => {
                let transferred = match waiting.transferred {
                    Some(transferred) => transferred,
                    None => self.times.before(end, after),
                };
                Served { end, transferred, submission }
            }
            None => {
                Served { end: PendingTime::at(end), transferred: PendingTime::at(end), submission }
            }
        }
    }
}

/// R or W.
#[inline(always)]
fn is_of_pages(kind: OperationKind) -> bool {
    matches!(kind, OperationKind::Read | OperationKind::Write)
}

/// The rank of an operation among those of an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// The page of the host.
    Host,
    /// Collections, folds, merges.
    Own,
    /// Among these, a read that others wait for.
    Read,
    /// Among these, a page is programmed that was read on another plane, of this unit or of
    /// another.
    CopyWithin,
    CopyAway,
    /// A map page is read.
    MapRead,
    /// A map page is programmed.
    MapProgram,
    /// No operation: what a page that was never written consists of.
    Zeros,
}

impl Class {
    #[inline(always)]
    pub(super) fn is_of_map(self) -> bool {
        matches!(self, Class::MapRead | Class::MapProgram)
    }

    /// A read whose end others wait for.
    #[inline(always)]
    pub(super) fn is_needed_read(self) -> bool {
        matches!(self, Class::MapRead | Class::Read)
    }

    /// Others, on other units, wait for its end.
    #[inline(always)]
    pub(super) fn is_needed(self) -> bool {
        self.is_needed_read() || self == Class::CopyAway
    }

    #[inline(always)]
    pub(super) fn is_copy(self) -> bool {
        matches!(self, Class::CopyWithin | Class::CopyAway)
    }
}

/// Facts about an operation beside itself, when it is decided on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submission {
    pub(super) class: Class,
    /// Among the host's; else [`NEVER`].
    pub(super) number: u64,
    pub(super) decided: Nanos,
    /// Not before this instant (`docs/spec/device-today.md` 2).
    pub(super) ready: Nanos,
    /// Its latency enters the sums.
    pub(super) counts: bool,
    /// Page of the host that causes it, by number.
    pub(super) page: u64,
    /// A timer caused it.
    pub(super) by_timer: bool,
    /// Names of its end and of that of its transfer, if they were given before.
    pub(super) end: Option<PendingTime>,
    pub(super) transferred: Option<PendingTime>,
    /// It has waited for others.
    pub(super) was_late: bool,
}

impl Sink for Queues {
    type Served = Served;

    #[inline(always)]
    fn submit(&mut self, op: Operation) -> Served {
        if !self.plain {
            return self.submit_watched(op);
        }
        let at = self.places[op.plane.index()].unit.index();
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
        if submission != NEVER && self.counts_latencies {
            self.count_latency(op.kind, self.now, start, end);
        }
        let transferred = PendingTime::at(end - self.after_transfer(&op).min(end));
        Served { end: PendingTime::at(end), transferred, submission }
    }

    #[inline(always)]
    fn submit_moves(&mut self, moves: Moves) {
        if !self.may_move_at_once(&moves) {
            moves.operations().for_each(|op| {
                self.submit_watched(op);
            });
            return;
        }
        let at = self.places[moves.plane.index()].unit.index();
        let duration = if self.timing.is_uniform() {
            let each = moves.operations().next().map_or(0, |op| self.timing.duration_ns(&op));
            each * moves.from.len() as u64
        } else {
            moves.operations().map(|op| self.timing.duration_ns(&op)).sum()
        };
        let end = self.tails[at].max(self.now) + duration;
        self.units[at].count(OperationKind::Move, moves.from.len() as u64);
        let by_timer = self.waits.as_ref().is_some_and(|waits| waits.by_timer);
        self.serve_until(at, [duration, end], true, by_timer);
        if !self.plain {
            self.worked_ns(UnitId(at as u32), duration);
        }
    }

    #[inline(always)]
    fn is_uniform(&self) -> bool {
        self.plain && self.timing.is_uniform()
    }

    #[inline(always)]
    fn submit_equal(&mut self, op: Operation, operations: u32) {
        debug_assert!(op.collection && self.is_uniform(), "one stands for all");
        let at = self.places[op.plane.index()].unit.index();
        let duration = self.timing.duration_ns(&op) * u64::from(operations);
        let end = self.tails[at].max(self.now) + duration;
        self.tails[at] = end;
        self.count(at, &op, operations.into());
        let unit = &mut self.units[at];
        unit.busy += duration;
        unit.gc_until = end;
    }

    #[inline(always)]
    fn needs(&mut self, need: Need) {
        self.note_need(need);
    }

    fn unmapped(&mut self, need: Need) -> Option<Served> {
        self.decide_zeros(need)
    }

    #[inline]
    fn read_own(&mut self, op: Operation) -> Need {
        if !self.is_ordered() {
            self.submit(op);
            return Need::MET;
        }
        let unit = self.places[op.plane.index()].unit;
        let served = self.decide(op, Class::Read, Need::MET);
        Need { at: served.submission, unit }
    }

    #[inline]
    fn program_own(&mut self, op: Operation, read: Need, from: Option<Ppn>) {
        if !self.is_ordered() {
            self.submit(op);
            return;
        }
        let Some(from) = from else {
            self.decide(op, Class::Own, read);
            return;
        };
        self.note_source(from);
        let is_within = read.unit == self.places[op.plane.index()].unit;
        let class = if is_within { Class::CopyWithin } else { Class::CopyAway };
        self.decide(op, class, read);
    }

    fn read_map(&mut self, op: Operation, is_fetch: bool) -> Need {
        let unit = self.places[op.plane.index()].unit;
        self.fetch_ready = if is_fetch { self.acting } else { 0 };
        let served = self.decide(op, Class::MapRead, Need::MET);
        Need { at: served.submission, unit }
    }

    fn write_map(&mut self, op: Operation, read: Need) {
        self.decide(op, Class::MapProgram, read);
    }

    fn moves_from(&mut self, ppn: Ppn) {
        self.note_source(ppn);
    }

    #[inline(always)]
    fn backlog_ns(&self, unit: UnitId) -> Nanos {
        self.tails[unit.index()].saturating_sub(self.now)
    }

    #[inline(always)]
    fn collection(&mut self) {
        self.collections += 1;
    }
}

/// The end of an operation whose phases on the bus wait for it, and when its data are transferred.
fn on_a_shared_bus(
    bus: &mut Reservations,
    phases: impl Iterator<Item = Phase>,
    start: Nanos,
) -> (Nanos, Option<Nanos>) {
    let (mut end, mut transferred) = (start, None);
    for phase in phases {
        match phase {
            Phase::Cell(ns) => end += ns,
            Phase::Bus(ns) => {
                end = bus.reserve(end, ns);
                transferred = Some(end);
            }
        }
    }
    (end, transferred)
}
