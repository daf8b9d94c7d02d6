//! Operations that wait for others before they enter a queue (`docs/spec/map-cache.md` 7).
//!
//! An operation that depends on none that is still open goes straight to its unit. Each other one
//! is kept here, numbered in the FTL's order, until its predecessors have ended, or have been
//! submitted to its own unit. First come, first served, an end is known with the submission, so
//! that the instant of a release is known too: a heap of instants is all there is. With reads
//! first, ends are reported as they come.

mod deciding;

use super::serve::{Class, Submission};
use crate::ftl::Need;
use crate::timing::{Operation, OperationKind};
use destage_core::{Nanos, UnitId};
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
    source: u32, // M, and W of a copy: the block that the page leaves
    /// Predecessors that it still waits for, of which no instant is known.
    waits: u32,
    /// Not before this instant.
    due: Nanos,
    /// Numbers of operations that wait for it.
    dependents: Vec<u64>,
}

/// An operation of which others wait for the end, which is not known yet, with reads first.
#[derive(Clone, Default, Debug)]
struct Flight {
    unit: u32,
    dependents: Vec<u64>,
}

/// Those that wait.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    first: u64, // number of the front
    late: VecDeque<Option<Late>>,
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Ends of reads that others need and that have been submitted after they had waited.
    ends: FxHashMap<u64, Nanos>,
    most_ends: usize, // before those that have passed are forgotten
    flights: FxHashMap<u64, Flight>,
    /// By block: when the copies that left it for other units have been programmed, and with reads
    /// first, those of which that is not known.
    copied: Vec<Nanos>,
    copies: FxHashMap<u32, Vec<u64>>,
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
            copied: vec![0; blocks],
            copies: FxHashMap::default(),
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

    /// The end of an operation that others need is not known, and will be reported.
    fn watch(&mut self, number: u64, source: u32, flight: Flight) {
        self.flights.insert(number, flight);
        if source != NO_BLOCK {
            self.copies.entry(source).or_default().push(number);
        }
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
                    let on = of.filter(|(_, late)| programs(late) && late.block == block);
                    let mut on = on.take(programming as usize);
                    let is_its =
                        |late: &Late| late.op.kind != OperationKind::Erase && late.op.ppn == op.ppn;
                    found.extend(on.find(|(_, late)| is_its(late)).map(|(number, _)| number));
                }
            }
            OperationKind::Erase => {
                if waiting > 0 {
                    let on = of.filter(|(_, late)| late.block == block || late.source == block);
                    found.extend(on.take(waiting as usize).map(|(number, _)| number));
                }
                let copies = self.copies.remove(&block).into_iter().flatten();
                found.extend(copies.filter(|number| self.flights.contains_key(number)));
            }
            _ => {
                if programming > 0 {
                    let mut on = of.clone().filter(|(_, l)| programs(l) && l.block == block);
                    found.extend(on.next().map(|(number, _)| number));
                }
                let leaves = op.kind == OperationKind::Move && source != NO_BLOCK;
                if leaves && on(source)[1] > 0 {
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
