//! Decisions on operations, and the instants at which those that wait enter their queues.

use super::{Flight, Late, NO_BLOCK, NO_UNIT, Waits};
use crate::ended::Released;
use crate::ftl::Need;
use crate::geometry::Ppn;
use crate::pending_time::PendingTime;
use crate::queues::serve::{Class, Submission};
use crate::queues::{Order, Queues, Served};
use crate::read_first::ReadFirstQueue;
use crate::timing::{Operation, OperationKind};
use destage_core::{NEVER, Nanos, UnitId};
use std::cmp::Reverse;

/// Open part of a [`Need`].
enum Fetch {
    Met,
    Until(Nanos),
    Open(u64),
}

impl Queues {
    /// Operations may wait for others.
    pub(crate) fn keep_order(&mut self) {
        (self.plain, self.sums) = (false, false);
        let blocks = self.numbering.blocks();
        self.waits = Some(Box::new(Waits::new(blocks)));
        self.choose_way();
    }

    /// Operations may wait for others.
    #[inline(always)]
    pub(crate) fn is_ordered(&self) -> bool {
        self.waits.is_some()
    }

    fn order(&mut self) -> &mut Waits {
        self.waits.as_mut().expect("operations may wait for others")
    }

    /// The next operation of the host waits for a slot, until [`give_slot`](Queues::give_slot).
    pub(crate) fn hold_next(&mut self) {
        self.order().holds = true;
    }

    /// Number of the last operation of the host that waits.
    pub(crate) fn last_late(&self) -> u64 {
        self.waits.as_ref().map_or(0, |waits| waits.last)
    }

    /// A program has its slot, and its data are there at this instant.
    pub(crate) fn give_slot(&mut self, number: u64, ready: Nanos) {
        let due = if matches!(self.order, Order::ReadFirst(_)) { ready } else { self.now };
        let waits = self.order();
        if let Some(late) = waits.get(number) {
            late.submission.ready = ready;
        }
        waits.settle(number, due);
    }

    /// A timer of this unit begins, or has ended, to cause operations.
    pub(crate) fn caused_by_timer(&mut self, unit: Option<UnitId>) {
        if let Some(unit) = unit {
            self.timers[unit.index()] = NEVER;
        }
        self.order().by_timer = unit.is_some();
    }

    /// Open part of a need, for an operation on a unit.
    fn fetch(&mut self, need: Need, unit: UnitId) -> Fetch {
        let now = self.now;
        let until = |end: Nanos| {
            if end <= now || need.unit == unit { Fetch::Met } else { Fetch::Until(end) }
        };
        if need.at & Need::OPEN == 0 {
            return until(need.at);
        }
        let number = need.at & !Need::OPEN;
        let waits = self.order();
        if waits.get(number).is_some() {
            return Fetch::Open(number);
        }
        if let Some(&end) = waits.ends.get(&number) {
            return until(end);
        }
        match waits.flights.get(&number) {
            Some(flight) if flight.unit != unit.0 => Fetch::Open(number),
            _ => Fetch::Met,
        }
    }

    /// An operation is decided on: it enters its queue, or waits.
    #[inline]
    pub(in crate::queues) fn decide(&mut self, op: Operation, class: Class, need: Need) -> Served {
        match self.decide_quickly(&op, class, need) {
            Some(served) => served,
            None => self.decide_slowly(op, class, need),
        }
    }

    /// The same, in every case.
    #[inline(never)]
    fn decide_slowly(&mut self, op: Operation, class: Class, need: Need) -> Served {
        let now = self.now;
        let number = if class == Class::Host { self.number(&op) } else { NEVER };
        let unit = match class {
            Class::Zeros => NO_UNIT,
            _ => self.places[op.plane.index()].unit,
        };
        let block = match op.ppn {
            Operation::NO_PAGE => NO_BLOCK,
            ppn => self.numbering.block(ppn),
        };
        let ready = match class {
            Class::Host | Class::Zeros => self.ready.max(now),
            Class::MapRead => self.fetch_ready,
            _ => 0,
        };
        let (counts, page) = (self.counts_latencies, self.pages);
        let waits = self.waits.as_mut().expect("operations may wait for others");
        let leaves = op.kind == OperationKind::Move || class.is_copy();
        let source = if leaves { waits.source } else { NO_BLOCK };
        let is_host = class == Class::Host;
        let holds = is_host && std::mem::take(&mut waits.holds);
        let submission = Submission {
            class,
            number,
            decided: now,
            ready,
            counts,
            page,
            by_timer: waits.by_timer,
            end: None,
            transferred: None,
            was_late: false,
        };
        waits.predecessors.clear();
        if !waits.late.is_empty() {
            waits.of_blocks(&op, class, block, source);
        }
        // Reads overtake what is on its way: it is in no queue before it is there. Without a slot,
        // nothing is on its way yet.
        let is_sent = !holds && matches!(self.order, Order::ReadFirst(_));
        let due = if is_sent { ready.max(now) } else { now };
        let waits = self.waits.as_mut().expect("operations may wait for others");
        let mut due = match op.kind {
            OperationKind::Erase => due.max(waits.copied[block as usize]),
            _ => due,
        };
        match self.fetch(need, unit) {
            Fetch::Met => {}
            Fetch::Until(end) => due = due.max(end),
            Fetch::Open(number) => self.order().predecessors.push(number),
        }
        let waits = self.waits.as_mut().expect("operations may wait for others");
        if due == now && waits.predecessors.is_empty() && !holds {
            waits.forget_chains_of(op.kind, block);
            return self.enter(op, submission, source);
        }
        let late = Late {
            op,
            submission,
            unit,
            block,
            source,
            waits: waits.predecessors.len() as u32 + u32::from(holds),
            due,
            dependents: 0,
        };
        self.put_off(late)
    }

    /// An operation waits, for those that have been found to come before it.
    #[inline]
    fn put_off(&mut self, mut late: Late) -> Served {
        let Submission { class, number, page, .. } = late.submission;
        let unit = late.unit;
        let mut served =
            Served { end: PendingTime::at(0), transferred: PendingTime::at(0), submission: number };
        let is_host = class == Class::Host;
        if is_host || class == Class::Zeros {
            self.name_ends(&late.op, &mut late.submission, &mut served);
        }
        if self.ends.is_some() && class != Class::Zeros {
            let so_far = self.works[unit.index()];
            let so_far = if so_far.0 == page { so_far.1 } else { 0 };
            let waits = self.order();
            waits.works.entry((page, unit.0)).or_insert((so_far, 0)).1 += 1;
        }
        let waits = self.order();
        let is_due = (late.waits == 0).then_some(late.due);
        let number = waits.push(Some(late));
        if let Some(due) = is_due {
            waits.due.push(Reverse((due, number)));
        }
        for at in 0..waits.predecessors.len() {
            let before = waits.predecessors[at];
            match waits.get(before).map(|late| late.dependents) {
                Some(rest) => {
                    let dependents = waits.edges.with(number, rest);
                    waits.get(before).expect("it waits").dependents = dependents;
                }
                None => waits.flights.entry(before).or_default().dependents.push(number),
            }
        }
        if is_host {
            waits.last = number;
        }
        if class.is_needed_read() {
            served.submission = Need::OPEN | number;
        }
        served
    }

    /// Names for the instants at which an operation of the host that waits ends.
    #[inline]
    pub(super) fn name_ends(
        &mut self,
        op: &Operation,
        submission: &mut Submission,
        served: &mut Served,
    ) {
        let after = self.after_transfer(op);
        let end = self.times.unknown();
        served.end = end;
        submission.end = Some(end);
        served.transferred = if self.names_transfers(op.kind) {
            let transferred = self.times.unknown();
            submission.transferred = Some(transferred);
            transferred
        } else {
            self.times.before(end, after)
        };
    }

    /// An operation enters its queue; if others may need it, it is known by a number.
    fn enter(&mut self, op: Operation, submission: Submission, source: u32) -> Served {
        let mut watch = None;
        if submission.class.is_needed() && matches!(self.order, Order::ReadFirst(_)) {
            let unit = self.places[op.plane.index()].unit.0;
            let waits = self.order();
            let number = waits.push(None);
            waits.drop_front();
            waits.watch(number, source, Flight { unit, dependents: Vec::new() });
            watch = Some(number);
        }
        let mut served = self.place(op, submission, watch);
        if submission.class == Class::CopyAway {
            self.note_copied(source, served.end);
        }
        if submission.class.is_needed_read() {
            served.submission = match watch {
                Some(number) => Need::OPEN | number,
                None => served.end.known().unwrap_or(0),
            };
        }
        served
    }

    /// A page of this block has been copied to another unit, if the end of that is known.
    fn note_copied(&mut self, source: u32, end: PendingTime) {
        if let Some(end) = end.known() {
            let copied = &mut self.order().copied[source as usize];
            *copied = end.max(*copied);
        }
    }

    /// The next instant at which an operation may stop waiting.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let waits = self.waits.as_ref()?;
        let due = waits.due.peek().map(|&Reverse((due, _))| due);
        let Order::ReadFirst(lanes) = &self.order else { return due };
        if waits.flights.is_empty() && !self.steps_through_ends() {
            return due;
        }
        lanes.iter().filter_map(|lane| lane.next_choice()).chain(due).min()
    }

    /// The next instant at which the end of an operation, or of its transfer, may become known.
    #[inline]
    pub(crate) fn next_known(&self) -> Option<Nanos> {
        let event = self.next_event();
        let Order::ReadFirst(lanes) = &self.order else { return event };
        let ends = lanes.iter().filter_map(ReadFirstQueue::next_choice).chain(event).min();
        if !self.exact_transfers {
            return ends;
        }
        lanes.iter().filter_map(ReadFirstQueue::next_transfer).chain(ends).min()
    }

    /// The first operation that is due by now enters its queue; `None` if there is none. What it is
    /// to the host, if that has to hear of it.
    pub(crate) fn release(&mut self) -> Option<Option<Released>> {
        let now = self.now;
        let waits = self.waits.as_mut()?;
        let &Reverse((due, number)) = waits.due.peek()?;
        if due > now {
            return None;
        }
        waits.due.pop();
        if self.quick && self.release_quickly(number) {
            return Some(None);
        }
        let Late { op, mut submission, unit, source, mut dependents, .. } =
            self.order().take(number);
        submission.was_late = true;
        if submission.class == Class::Zeros {
            let name = submission.end.expect("zeros have a name");
            if !self.fronted {
                self.times.set(name, now);
            }
            return Some(self.fronted.then_some(Released {
                kind: None,
                submission: NEVER,
                end: PendingTime::at(now.max(submission.ready)),
                name,
                ready: submission.ready,
            }));
        }
        let is_read_first = matches!(self.order, Order::ReadFirst(_));
        let is_needed = submission.class.is_needed();
        let watch = (is_read_first && is_needed).then_some(number);
        let served = self.place(op, submission, watch);
        let end = served.end.known().unwrap_or(NEVER);
        let waits = self.order();
        let mut left = Vec::new();
        while let Some(dependent) = waits.edges.take(&mut dependents) {
            let same_unit = waits.get(dependent).is_some_and(|late| late.unit == unit);
            if same_unit {
                waits.settle(dependent, now);
            } else if is_read_first {
                left.push(dependent);
            } else {
                waits.settle(dependent, end);
            }
        }
        if is_needed && is_read_first {
            waits.watch(number, source, Flight { unit: unit.0, dependents: left });
        } else if submission.class == Class::CopyAway {
            self.note_copied(source, served.end);
        } else if is_needed {
            waits.note_end(number, end, now);
        }
        let name = submission.end;
        // Reads first, the host hears of it when it has ended.
        let at_once = self.fronted && !is_read_first;
        Some(name.filter(|_| at_once).map(|name| Released {
            kind: Some(op.kind),
            submission: submission.number,
            end: served.end,
            name,
            ready: submission.ready,
        }))
    }

    /// The first operation that waits enters its queue at the instant at which it is due, later
    /// than now.
    pub(crate) fn release_ahead(&mut self) -> Option<Option<Released>> {
        let now = self.now;
        self.now = now.max(self.next_event()?);
        let released = self.release();
        self.now = now;
        released
    }

    /// Reads first: a map read has ended.
    pub(in crate::queues) fn watched_ended(waits: &mut Waits, number: u64, end: Nanos) {
        let flight = waits.flights.remove(&number);
        for dependent in flight.into_iter().flat_map(|flight| flight.dependents) {
            waits.settle(dependent, end);
        }
    }

    /// Nanoseconds that a unit has worked for a page of the host.
    pub(in crate::queues) fn worked_late(
        &mut self,
        submission: &Submission,
        unit: UnitId,
        duration: Nanos,
    ) -> Nanos {
        let Submission { page, was_late, .. } = *submission;
        let waits = self.waits.as_mut();
        let of_late = waits.and_then(|waits| waits.worked(page, unit, duration, was_late));
        match (was_late, of_late) {
            (true, of_late) => of_late.unwrap_or(duration),
            (false, _) => self.worked_ns(unit, duration),
        }
    }

    /// A page of the host that costs no operation, once what it needs is there.
    pub(in crate::queues) fn decide_zeros(&mut self, need: Need) -> Option<Served> {
        if let Fetch::Met = self.fetch(need, NO_UNIT) {
            return None;
        }
        let op = Operation {
            kind: OperationKind::Read,
            collection: false,
            plane: destage_core::PlaneId(0),
            index: 0,
            from: 0,
            ppn: Operation::NO_PAGE,
        };
        Some(self.decide(op, Class::Zeros, need))
    }

    /// Need of the next operation of the host.
    #[inline(always)]
    pub(in crate::queues) fn note_need(&mut self, need: Need) {
        self.order().need = need;
    }

    /// That, once.
    #[inline(always)]
    pub(in crate::queues) fn take_need(&mut self) -> Need {
        std::mem::replace(&mut self.order().need, Need::MET)
    }

    /// The block that the moves to come leave.
    #[inline(always)]
    pub(in crate::queues) fn note_source(&mut self, ppn: Ppn) {
        if let Some(waits) = &mut self.waits {
            waits.source = self.numbering.block(ppn);
        }
    }
}
