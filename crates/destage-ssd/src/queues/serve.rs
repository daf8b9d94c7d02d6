//! An operation that an FTL hands over: when it begins and ends, and what is counted of it.

use super::counts::add;
use super::{Order, Queues, Served, Undone};
use crate::config::Suspend;
use crate::ftl::{Moves, Sink};
use crate::geometry::PlaneLocation;
use crate::pending_time::PendingTime;
use crate::read_first::Waiting;
use crate::records::OperationRecord;
use crate::timing::{Operation, OperationKind, Phase};
use destage_core::{NEVER, Nanos, UnitId};
use std::cmp::Reverse;

impl Queues {
    /// The number of an operation among the host's, if it is one.
    #[inline(always)]
    fn number(&mut self, op: &Operation) -> u64 {
        if op.collection || !matches!(op.kind, OperationKind::Read | OperationKind::Write) {
            return NEVER;
        }
        self.host_operations += 1;
        self.host_operations - 1
    }

    /// Counts so many operations of a unit.
    #[inline(always)]
    fn count(&mut self, at: usize, op: &Operation, operations: u64) {
        match op.kind {
            OperationKind::Read if op.collection => self.own[at].reads += operations,
            OperationKind::Write if op.collection => self.own[at].programs += operations,
            kind => self.units[at].count(kind, operations),
        }
    }

    /// The sums of latencies, for an operation whose times are known.
    #[inline(always)]
    fn count_latency(&mut self, kind: OperationKind, start: Nanos, end: Nanos) {
        if self.counts_latencies {
            match kind {
                OperationKind::Read => add(&mut self.read_latency_ns, end - self.now),
                _ => add(&mut self.program_wait_ns, start - self.now),
            }
        }
    }

    /// Array time after an operation's transfer, nanoseconds: that of a program; 0 for a read,
    /// which ends with its transfer.
    #[inline(always)]
    fn after_transfer(&self, op: &Operation) -> Nanos {
        match op.kind {
            OperationKind::Read => 0,
            _ => self.timing.array_program_ns(op.index),
        }
    }

    /// An operation of a unit with a shared bus, reads first, timers or listeners.
    #[inline(never)]
    fn submit_watched(&mut self, op: Operation) -> Served {
        let place = self.places[op.plane.index()];
        let PlaneLocation { unit, channel } = place;
        let at = unit.index();
        let submission = self.number(&op);
        let duration = self.timing.duration_ns(&op);
        let now = self.now;
        let ready = if submission == NEVER { now } else { self.ready.max(now) };
        let start = self.tails[at].max(ready);
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
        let worked = self.worked_ns(unit, end - start);
        self.tails[at] = end;
        self.count(at, &op, 1);
        let unit = &mut self.units[at];
        unit.busy += end - start;
        if op.collection {
            unit.gc_until = end;
        }
        if let Some(idle_ns) = self.idle_ns {
            self.set_timer(at, end + idle_ns);
        }
        if let Some(logs) = &mut self.log {
            logs[at].push(now, end, op.kind);
        }
        if matches!(self.order, Order::ReadFirst(_)) {
            return self.submit_to_lane(&op, submission, end);
        }
        if let Some(recorder) = &mut self.recorder {
            let number = recorder.next_number();
            let record = OperationRecord::new(&op, place, number, submission, &self.numbering);
            recorder.served.push(record.served(now, start, end));
        }
        if submission != NEVER {
            self.note_end(&op, submission, [start, end, worked]);
        }
        let transferred =
            transferred.unwrap_or_else(|| end.saturating_sub(self.after_transfer(&op)));
        Served { end: PendingTime::at(end), transferred: PendingTime::at(transferred), submission }
    }

    /// An operation of the host: its latency, and its end for recorders. Where something
    /// stands before the flash, when the host sees it done is said later.
    fn note_end(&mut self, op: &Operation, submission: u64, [start, end, service_ns]: [Nanos; 3]) {
        let is_read = op.kind == OperationKind::Read;
        if !self.fronted || !is_read {
            self.count_latency(op.kind, start, end);
        }
        if self.fronted {
            self.undone = Some(Undone { submission, is_read, service_ns });
        } else if let Some(ends) = &mut self.ends {
            ends.push(Reverse((end, submission, service_ns)));
        }
    }

    /// Reads first: the end is known when the operation begins. `end`: of one that no request waits
    /// for, as if it were the last.
    fn submit_to_lane(&mut self, op: &Operation, submission: u64, end: Nanos) -> Served {
        let place = self.places[op.plane.index()];
        let after = self.after_transfer(op);
        let mut waiting = Waiting::new(op, self.timing.duration_ns(op), self.now);
        if let Some(recorder) = &mut self.recorder {
            let number = recorder.next_number();
            let record = OperationRecord::new(op, place, number, submission, &self.numbering);
            recorder.waiting.insert(number, record);
            waiting.number = Some(number);
        }
        if submission != NEVER {
            waiting.end = Some(self.times.unknown());
            waiting.counts_latency = self.counts_latencies;
            waiting.submission = Some(submission);
        }
        if submission != NEVER
            && op.kind == OperationKind::Write
            && self.steps.suspend == Suspend::Program
        {
            waiting.transfer_ns -= after;
            waiting.transferred = Some(self.times.unknown());
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
        if submission != NEVER {
            self.count_latency(op.kind, start, end);
        }
        let transferred = PendingTime::at(end - self.after_transfer(&op).min(end));
        Served { end: PendingTime::at(end), transferred, submission }
    }

    #[inline(always)]
    fn submit_moves(&mut self, moves: Moves) {
        if !self.sums {
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
        self.tails[at] = end;
        let unit = &mut self.units[at];
        unit.count(OperationKind::Move, moves.from.len() as u64);
        unit.busy += duration;
        unit.gc_until = end;
        if !self.plain {
            self.worked_ns(UnitId(at as u32), duration);
            if let Some(idle_ns) = self.idle_ns {
                self.set_timer(at, end + idle_ns);
            }
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
    fn backlog_ns(&self, unit: UnitId) -> Nanos {
        self.tails[unit.index()].saturating_sub(self.now)
    }

    #[inline(always)]
    fn collection(&mut self) {
        self.collections += 1;
    }
}
