//! Operations that may wait for others and need not: first come, first served on a private bus,
//! without a listener, they enter their queues by a sum and a maximum.

use super::{Late, NO_BLOCK};
use crate::ftl::{Moves, Need};
use crate::pending_time::PendingTime;
use crate::queues::serve::{Class, Submission};
use crate::queues::{Order, Queues, Served};
use crate::timing::{Operation, OperationKind};
use destage_core::{NEVER, Nanos, UnitId};
use std::cmp::Reverse;

impl Queues {
    /// Decides whether there is a short way, after a recorder or listener came or went.
    pub(in crate::queues) fn choose_way(&mut self) {
        let is_private = matches!(self.order, Order::Private);
        let is_watched = self.log.is_some() || self.ends.is_some() || self.recorder.is_some();
        self.quick = self.waits.is_some() && is_private && !is_watched;
    }

    /// An operation of which everything that it depends on is known: it enters its queue, or waits
    /// for a map read alone. `None` without a change if that takes a longer look.
    #[inline(always)]
    pub(in crate::queues) fn decide_quickly(
        &mut self,
        op: &Operation,
        class: Class,
        need: Need,
    ) -> Option<Served> {
        let is_host = class == Class::Host;
        if !self.quick || (is_host && self.fronted) || class.is_copy() || class == Class::Zeros {
            return None;
        }
        let waits = self.waits.as_deref()?;
        let (now, unit) = (self.now, self.places[op.plane.index()].unit);
        let is_met = need.at <= now || (need.unit == unit && need.at & Need::OPEN == 0);
        if need.at & Need::OPEN != 0 || (is_host && waits.holds()) {
            return None;
        }
        let is_erase = op.kind == OperationKind::Erase;
        let source = if op.kind == OperationKind::Move { waits.source() } else { NO_BLOCK };
        let block = match op.ppn {
            Operation::NO_PAGE => NO_BLOCK,
            _ if waits.is_empty() && is_met && !is_erase => NO_BLOCK,
            ppn => self.numbering.block(ppn),
        };
        let is_free = match is_erase {
            true => waits.may_erase(block, now),
            false => waits.may_program(block) && waits.may_program(source),
        };
        if !is_free {
            return None;
        }
        let submission = Submission {
            class,
            number: if is_host { self.number(op) } else { NEVER },
            decided: now,
            ready: if class == Class::MapRead { self.fetch_ready } else { 0 },
            counts: self.counts_latencies,
            page: self.pages,
            by_timer: self.waits.as_ref().is_some_and(|waits| waits.by_timer),
            end: None,
            transferred: None,
            was_late: false,
        };
        if !is_met {
            return Some(self.put_off_until(op, submission, unit, block, need.at));
        }
        let served = self.serve_quickly(op, &submission);
        let end = served.end.known().unwrap_or(0);
        let submission = if class.is_needed_read() { end } else { served.submission };
        Some(Served { submission, ..served })
    }

    /// An operation waits until an instant, and for nothing else.
    fn put_off_until(
        &mut self,
        op: &Operation,
        mut submission: Submission,
        unit: UnitId,
        block: u32,
        due: Nanos,
    ) -> Served {
        let mut served = Served {
            end: PendingTime::at(0),
            transferred: PendingTime::at(0),
            submission: submission.number,
        };
        let is_host = submission.class == Class::Host;
        if is_host {
            self.name_ends(op, &mut submission, &mut served);
        }
        let waits = self.waits.as_mut().expect("operations may wait for others");
        let (source, dependents) = (NO_BLOCK, 0);
        let late = Late { op: *op, submission, unit, block, source, waits: 0, due, dependents };
        let number = waits.push(Some(late));
        waits.due.push(Reverse((due, number)));
        if is_host {
            waits.last = number;
        }
        if submission.class.is_needed_read() {
            served.submission = Need::OPEN | number;
        }
        served
    }

    /// An operation that is due enters its queue; false without a change if that takes more.
    pub(super) fn release_quickly(&mut self, number: u64) -> bool {
        let now = self.now;
        let Some(waits) = self.waits.as_deref_mut() else { return false };
        let at = (number - waits.first) as usize;
        let late = waits.late[at].as_ref().expect("a due operation waits");
        let Submission { class, number: of_host, .. } = late.submission;
        if class == Class::Zeros || class.is_copy() || (of_host != NEVER && self.fronted) {
            return false;
        }
        let Late { op, submission, unit, mut dependents, .. } = waits.take(number);
        let served = self.serve_quickly(&op, &submission);
        let end = served.end.known().unwrap_or(NEVER);
        let Some(waits) = self.waits.as_deref_mut() else { return true };
        while let Some(dependent) = waits.edges.take(&mut dependents) {
            let same_unit = waits.get(dependent).is_some_and(|late| late.unit == unit);
            waits.settle(dependent, if same_unit { now } else { end });
        }
        if class.is_needed_read() {
            waits.note_end(number, end, now);
        }
        true
    }

    /// [`place`](Queues::place), where there is a short way.
    #[inline(always)]
    pub(in crate::queues) fn serve_quickly(
        &mut self,
        op: &Operation,
        submission: &Submission,
    ) -> Served {
        let &Submission { class, number, decided, by_timer, .. } = submission;
        let at = self.places[op.plane.index()].unit.index();
        let start = self.tails[at].max(self.now.max(submission.ready));
        let end = start + self.timing.duration_ns(op);
        self.count(at, op, 1);
        self.serve_until(at, [end - start, end], op.collection && !class.is_of_map(), by_timer);
        if number != NEVER && submission.counts {
            self.count_latency(op.kind, decided, start, end);
        }
        if let Some(name) = submission.end {
            self.times.set(name, end);
        }
        let transferred = PendingTime::at(end.saturating_sub(self.after_transfer(op)));
        Served { end: PendingTime::at(end), transferred, submission: number }
    }

    /// The moves of a collection may enter their queue as one.
    #[inline(always)]
    pub(in crate::queues) fn may_move_at_once(&self, moves: &Moves) -> bool {
        let Some(waits) = self.waits.as_deref().filter(|_| self.quick) else { return self.sums };
        waits.is_empty()
            || (waits.may_program(self.numbering.block(moves.ppn))
                && waits.may_program(waits.source()))
    }
}
