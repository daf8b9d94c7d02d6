//! Operations that wait for others before they enter a queue (`docs/spec/map-cache.md` 7).
//!
//! An operation that depends on none that is still open goes straight to its unit. Each other one
//! is kept here, numbered in the FTL's order, until its predecessors have ended, or have been
//! submitted to its own unit. First come, first served, an end is known with the submission, so
//! that the instant of a release is known too: a heap of instants is all there is. With reads
//! first, ends are reported as they come.

use super::Queues;
use super::serve::{Class, Submission};
use super::{Order, Served};
use crate::ftl::Need;
use crate::geometry::Ppn;
use crate::pending_time::PendingTime;
use crate::timing::{Operation, OperationKind};
use destage_core::{NEVER, Nanos, UnitId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No block.
const NO_BLOCK: u32 = u32::MAX;

/// No unit.
const NO_UNIT: UnitId = UnitId(u32::MAX);

/// An operation that waits.
#[derive(Clone, Debug)]
struct Late {
    op: Operation,
    submission: Submission,
    unit: UnitId,
    block: u32,
    source: u32, // M: the block that the page leaves
    /// Predecessors that it still waits for, of which no instant is known.
    waits: u32,
    /// Not before this instant.
    due: Nanos,
    /// Numbers of operations that wait for it.
    dependents: Vec<u64>,
}

/// A map read whose end is not known yet, in a queue with reads first.
#[derive(Clone, Default, Debug)]
struct Flight {
    unit: u32,
    dependents: Vec<u64>,
}

/// A host operation has entered its queue, or what it waited for is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Released {
    /// R or W; `None` for zeros of a page that was never written.
    pub(crate) kind: Option<OperationKind>,
    pub(crate) submission: u64,
    /// Its end.
    pub(crate) end: PendingTime,
    /// Name of that.
    pub(crate) name: PendingTime,
    /// Its ready time: a page that comes in is in the drive then.
    pub(crate) ready: Nanos,
}

/// Those that wait.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    first: u64, // number of the front
    late: VecDeque<Option<Late>>,
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Ends of map reads that have been submitted after they had waited.
    ends: FxHashMap<u64, Nanos>,
    most_ends: usize, // before those that have passed are forgotten
    flights: FxHashMap<u64, Flight>,
    /// By block: operations on it that wait, and those among them that program or erase it.
    on_block: Vec<[u32; 2]>,
    /// Need of the next operation of the host.
    need: Need,
    /// The next one waits for a slot of the buffer.
    holds: bool,
    /// Number of the last operation of the host that waits.
    pub(super) last: u64,
    source: u32, // block that the moves to come leave
    predecessors: Vec<u64>,
    pub(super) by_timer: bool,
    /// By page of the host and unit: nanoseconds worked for it, and operations that wait.
    works: FxHashMap<(u64, u32), (Nanos, u32)>,
}

impl Waits {
    pub(super) fn new(blocks: usize) -> Self {
        Waits {
            first: 0,
            late: VecDeque::new(),
            due: BinaryHeap::new(),
            ends: FxHashMap::default(),
            most_ends: 1024,
            flights: FxHashMap::default(),
            on_block: vec![[0; 2]; blocks],
            need: Need::MET,
            holds: false,
            last: 0,
            source: NO_BLOCK,
            predecessors: Vec::new(),
            by_timer: false,
            works: FxHashMap::default(),
        }
    }

    /// Waiting operations of a kind: the FTL has decided on them, no unit has them yet.
    pub(super) fn waiting(&self, kind: OperationKind) -> u64 {
        self.late.iter().flatten().filter(|late| late.op.kind == kind).count() as u64
    }

    fn get(&mut self, number: u64) -> Option<&mut Late> {
        let at = number.checked_sub(self.first)?;
        self.late.get_mut(at as usize)?.as_mut()
    }

    /// Takes a number.
    fn push(&mut self, late: Option<Late>) -> u64 {
        self.late.push_back(late);
        self.first + self.late.len() as u64 - 1
    }

    fn drop_front(&mut self) {
        while let Some(None) = self.late.front() {
            self.late.pop_front();
            self.first += 1;
        }
    }

    /// One predecessor less; the operation is due at the earliest at this instant.
    fn settle(&mut self, number: u64, due: Nanos) {
        let Some(late) = self.get(number) else { return };
        late.due = late.due.max(due);
        late.waits -= 1;
        if late.waits == 0 {
            let due = late.due;
            self.due.push(Reverse((due, number)));
        }
    }

    /// Which waiting operations on its blocks come before this one.
    fn of_blocks(&mut self, op: &Operation, class: Class, block: u32, source: u32) {
        let on = |block: u32| self.on_block.get(block as usize).copied().unwrap_or_default();
        let programs = |late: &Late| late.op.kind != OperationKind::Read;
        let mut found = std::mem::take(&mut self.predecessors);
        let (waiting, programming) = (on(block)[0], on(block)[1]);
        let first = self.first;
        let back = self.late.iter().enumerate().rev();
        let of = back.filter_map(|(at, late)| Some((first + at as u64, late.as_ref()?)));
        match op.kind {
            OperationKind::Read if class == Class::Zeros => {}
            OperationKind::Read => {
                if programming > 0 {
                    let mut its = of.filter(|(_, late)| programs(late) && late.op.ppn == op.ppn);
                    let its = its.find(|(_, late)| late.op.kind != OperationKind::Erase);
                    found.extend(its.map(|(number, _)| number));
                }
            }
            OperationKind::Erase => {
                if waiting > 0 {
                    let on = of.filter(|(_, late)| late.block == block || late.source == block);
                    found.extend(on.map(|(number, _)| number));
                }
            }
            _ => {
                if programming > 0 {
                    let mut on = of.clone().filter(|(_, l)| programs(l) && l.block == block);
                    found.extend(on.next().map(|(number, _)| number));
                }
                if source != NO_BLOCK && on(source)[1] > 0 {
                    let mut on = of.filter(|(_, late)| programs(late) && late.block == source);
                    found.extend(on.next().map(|(number, _)| number));
                }
            }
        }
        self.predecessors = found;
    }

    /// The operation on these blocks waits (`true`), or no more.
    fn count(&mut self, (kind, block, source): (OperationKind, u32, u32), waits: bool) {
        let step = |count: &mut u32| if waits { *count += 1 } else { *count -= 1 };
        if let Some([all, programs]) = self.on_block.get_mut(block as usize) {
            step(all);
            if kind != OperationKind::Read {
                step(programs);
            }
        }
        if let Some([all, _]) = self.on_block.get_mut(source as usize) {
            step(all);
        }
    }

    /// Adds to the time that a unit has worked for a page of the host, if some of it waits; all of
    /// that time.
    fn worked(
        &mut self,
        page: u64,
        unit: UnitId,
        duration: Nanos,
        was_late: bool,
    ) -> Option<Nanos> {
        let works = self.works.get_mut(&(page, unit.0))?;
        works.0 += duration;
        let worked = works.0;
        if was_late {
            works.1 -= 1;
            if works.1 == 0 {
                self.works.remove(&(page, unit.0));
            }
        }
        Some(worked)
    }
}

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
        let now = self.now;
        let waits = self.order();
        if let Some(late) = waits.get(number) {
            late.submission.ready = ready;
        }
        waits.settle(number, now);
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
    pub(super) fn decide(&mut self, op: Operation, class: Class, need: Need) -> Served {
        let now = self.now;
        let number = if class == Class::Host { self.number(&op) } else { NEVER };
        let unit = match class {
            Class::Zeros => NO_UNIT,
            _ => self.places[op.plane.index()].unit,
        };
        let block = match op.ppn {
            Operation::NO_PAGE => NO_BLOCK,
            ppn => self.numbering.of(ppn).0,
        };
        let ready = match class {
            Class::Host | Class::Zeros => self.ready.max(now),
            Class::MapRead => self.fetch_ready,
            Class::Own | Class::MapProgram => 0,
        };
        let (counts, page) = (self.counts_latencies, self.pages);
        let waits = self.waits.as_mut().expect("operations may wait for others");
        let source = if op.kind == OperationKind::Move { waits.source } else { NO_BLOCK };
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
            watch: None,
            was_late: false,
        };
        waits.predecessors.clear();
        if !waits.late.is_empty() {
            waits.of_blocks(&op, class, block, source);
        }
        let mut due = now;
        match self.fetch(need, unit) {
            Fetch::Met => {}
            Fetch::Until(end) => due = end,
            Fetch::Open(number) => self.order().predecessors.push(number),
        }
        let waits = self.waits.as_mut().expect("operations may wait for others");
        if due == now && waits.predecessors.is_empty() && !holds {
            return self.enter(op, submission);
        }
        let mut late = Late {
            op,
            submission,
            unit,
            block,
            source,
            waits: waits.predecessors.len() as u32 + u32::from(holds),
            due,
            dependents: Vec::new(),
        };
        let mut served =
            Served { end: PendingTime::at(0), transferred: PendingTime::at(0), submission: number };
        if is_host || class == Class::Zeros {
            let after = self.after_transfer(&op);
            let end = self.times.unknown();
            served.end = end;
            late.submission.end = Some(end);
            served.transferred = if self.names_transfers(op.kind) {
                let transferred = self.times.unknown();
                late.submission.transferred = Some(transferred);
                transferred
            } else {
                self.times.before(end, after)
            };
        }
        if self.ends.is_some() && class != Class::Zeros {
            let so_far = self.works[unit.index()];
            let so_far = if so_far.0 == page { so_far.1 } else { 0 };
            let waits = self.order();
            waits.works.entry((page, unit.0)).or_insert((so_far, 0)).1 += 1;
        }
        let waits = self.order();
        let (is_due, kind) = (late.waits == 0, op.kind);
        let number = waits.push(Some(late));
        if is_due {
            waits.due.push(Reverse((due, number)));
        }
        waits.count((kind, block, source), true);
        for at in 0..waits.predecessors.len() {
            let before = waits.predecessors[at];
            match waits.get(before) {
                Some(late) => late.dependents.push(number),
                None => waits.flights.entry(before).or_default().dependents.push(number),
            }
        }
        if is_host {
            waits.last = number;
        }
        if class == Class::MapRead {
            served.submission = Need::OPEN | number;
        }
        served
    }

    /// An operation enters its queue; if others may need it, it is known by a number.
    fn enter(&mut self, op: Operation, mut submission: Submission) -> Served {
        let is_watched =
            submission.class == Class::MapRead && matches!(self.order, Order::ReadFirst(_));
        if is_watched {
            let unit = self.places[op.plane.index()].unit.0;
            let waits = self.order();
            let number = waits.push(None);
            waits.drop_front();
            waits.flights.insert(number, Flight { unit, dependents: Vec::new() });
            submission.watch = Some(number);
        }
        let mut served = self.place(op, submission);
        if submission.class == Class::MapRead {
            served.submission = match submission.watch {
                Some(number) => Need::OPEN | number,
                None => served.end.known().unwrap_or(0),
            };
        }
        served
    }

    /// The next instant at which an operation may stop waiting.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let waits = self.waits.as_ref()?;
        let due = waits.due.peek().map(|&Reverse((due, _))| due);
        let Order::ReadFirst(lanes) = &self.order else { return due };
        if waits.flights.is_empty() {
            return due;
        }
        lanes.iter().filter_map(|lane| lane.next_choice()).chain(due).min()
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
        let at = (number - waits.first) as usize;
        let late = waits.late[at].take().expect("what is due waits");
        waits.drop_front();
        waits.count((late.op.kind, late.block, late.source), false);
        let Late { op, mut submission, unit, dependents, .. } = late;
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
        let is_map_read = submission.class == Class::MapRead;
        submission.watch = (is_read_first && is_map_read).then_some(number);
        let served = self.place(op, submission);
        let end = served.end.known().unwrap_or(NEVER);
        let waits = self.order();
        let mut left = Vec::new();
        for dependent in dependents {
            let same_unit = waits.get(dependent).is_some_and(|late| late.unit == unit);
            if same_unit {
                waits.settle(dependent, now);
            } else if is_read_first {
                left.push(dependent);
            } else {
                waits.settle(dependent, end);
            }
        }
        if is_map_read && is_read_first {
            waits.flights.insert(number, Flight { unit: unit.0, dependents: left });
        } else if is_map_read {
            waits.ends.insert(number, end);
            if waits.ends.len() > waits.most_ends {
                waits.ends.retain(|_, end| *end > now);
                waits.most_ends = 1024.max(2 * waits.ends.len());
            }
        }
        let name = submission.end;
        Some(name.filter(|_| self.fronted).map(|name| Released {
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
    pub(super) fn watched_ended(waits: &mut Waits, number: u64, end: Nanos) {
        let flight = waits.flights.remove(&number);
        for dependent in flight.into_iter().flat_map(|flight| flight.dependents) {
            waits.settle(dependent, end);
        }
    }

    /// Nanoseconds that a unit has worked for a page of the host.
    pub(super) fn worked_late(
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
    pub(super) fn decide_zeros(&mut self, need: Need) -> Option<Served> {
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
    pub(super) fn note_need(&mut self, need: Need) {
        self.order().need = need;
    }

    /// That, once.
    #[inline(always)]
    pub(super) fn take_need(&mut self) -> Need {
        std::mem::replace(&mut self.order().need, Need::MET)
    }

    /// The block that the moves to come leave.
    pub(super) fn note_source(&mut self, ppn: Ppn) {
        let block = self.numbering.of(ppn).0;
        self.order().source = block;
    }
}
