//! Operations that wait for others before they enter a queue (`docs/spec/map-cache.md` 7).
//!
//! An operation that depends on none that is still open goes straight to its unit. Each other one
//! is kept here, numbered in the FTL's order, until its predecessors have ended, or have been
//! submitted to its own unit. First come, first served, an end is known with the submission, so
//! that the instant of a release is known too: a heap of instants is all there is. With reads
//! first, ends are reported as they come.

mod deciding;
mod quick;
#[cfg(test)]
mod tests;

use super::counts::KINDS;
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

/// Chains of operations that have waited, by block: on it, those among them that program or erase
/// it, and those that move a page out of it. Each ends at the block's last erase, which waits for
/// all before it: so do those that wait for the erase.
const ON: usize = 0;
const PROGRAMS: usize = 1;
const FROM: usize = 2;

/// How many programs and erases wait, by their block's number modulo [`Busy::SLOTS`]: small enough
/// for the nearest cache, while the chains of all blocks are not.
#[derive(Clone, Debug)]
struct Busy(Box<[u32; Busy::SLOTS]>);

impl Busy {
    const SLOTS: usize = 1 << 11;

    fn new() -> Self {
        Busy(Box::new([0; Busy::SLOTS]))
    }

    /// Those of a block, and of others.
    #[inline(always)]
    fn of(&mut self, block: u32) -> &mut u32 {
        &mut self.0[block as usize % Busy::SLOTS]
    }

    /// No program or erase of a block waits, as far as this table knows.
    #[inline(always)]
    fn has_none(&self, block: u32) -> bool {
        self.0[block as usize % Busy::SLOTS] == 0
    }
}

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
    /// Those that wait for it.
    dependents: Dependents,
}

/// A list of numbers among [`Edges`]; 0 is the empty one.
type Dependents = u32;

/// Lists of operations that wait for one, in a memory that all of them share.
#[derive(Clone, Debug)]
struct Edges {
    nodes: Vec<(u64, Dependents)>, // a number, and the rest of its list
    unused: Dependents,
}

impl Edges {
    fn new() -> Self {
        Edges { nodes: vec![(0, 0)], unused: 0 }
    }

    /// A list with one number more.
    fn with(&mut self, number: u64, rest: Dependents) -> Dependents {
        let node = self.unused;
        if node == 0 {
            self.nodes.push((number, rest));
            return self.nodes.len() as u32 - 1;
        }
        self.unused = std::mem::replace(&mut self.nodes[node as usize], (number, rest)).1;
        node
    }

    /// The first number of a list, which leaves it.
    fn take(&mut self, list: &mut Dependents) -> Option<u64> {
        let node = *list;
        if node == 0 {
            return None;
        }
        let (number, rest) = self.nodes[node as usize];
        self.nodes[node as usize].1 = self.unused;
        (self.unused, *list) = (node, rest);
        Some(number)
    }
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
    waiting: [[u64; 2]; KINDS], // per kind: by the host, by the FTL
    /// By number, as `late`: the one before it in each chain; 0 before the first.
    before: VecDeque<[u64; 3]>,
    /// By block: the last of each chain, if one of them waits; perhaps of other blocks too.
    chains: FxHashMap<u32, [u64; 3]>,
    most_chains: usize, // before those of which none waits are forgotten
    busy: Busy,
    edges: Edges,
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Ends of reads that others need and that have been submitted after they had waited.
    ends: FxHashMap<u64, Nanos>,
    most_ends: usize, // before those that have passed are forgotten
    flights: FxHashMap<u64, Flight>,
    /// By block: when the copies that left it for other units have been programmed, and with reads
    /// first, those of which that is not known.
    copied: Vec<Nanos>,
    copies: FxHashMap<u32, Vec<u64>>,
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
            first: 1,
            late: VecDeque::new(),
            waiting: [[0; 2]; KINDS],
            before: VecDeque::new(),
            chains: FxHashMap::default(),
            most_chains: 1024,
            busy: Busy::new(),
            edges: Edges::new(),
            due: BinaryHeap::new(),
            ends: FxHashMap::default(),
            most_ends: 1024,
            flights: FxHashMap::default(),
            copied: vec![0; blocks],
            copies: FxHashMap::default(),
            need: Need::MET,
            holds: false,
            last: 0,
            source: NO_BLOCK,
            predecessors: Vec::new(),
            by_timer: false,
            works: FxHashMap::default(),
        }
    }

    /// Waiting operations of a kind, the host's and others: the FTL has decided on them, no unit
    /// has them yet.
    pub(super) fn waiting(&self, kind: OperationKind) -> [u64; 2] {
        self.waiting[kind as usize]
    }

    /// None waits.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.late.is_empty()
    }

    /// The next operation of the host waits for a slot of the buffer.
    #[inline(always)]
    fn holds(&self) -> bool {
        self.holds
    }

    /// The block that the moves to come leave.
    #[inline(always)]
    fn source(&self) -> u32 {
        self.source
    }

    /// No program or erase of a block waits.
    #[inline(always)]
    fn may_program(&self, block: u32) -> bool {
        if self.busy.has_none(block) {
            return true;
        }
        let last = self.last(PROGRAMS, block);
        last < self.first || self.late[(last - self.first) as usize].is_none()
    }

    /// Nothing that needs a block waits, as far as a quick look shows, and no copy of its pages is
    /// being programmed on another unit.
    #[inline(always)]
    fn may_erase(&self, block: u32, now: Nanos) -> bool {
        let [on, _, from] = self.chains.get(&block).copied().unwrap_or_default();
        on < self.first && from < self.first && self.copied[block as usize] <= now
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
    #[inline]
    fn push(&mut self, late: Option<Late>) -> u64 {
        let number = self.first + self.late.len() as u64;
        let mut before = [0; 3];
        if let Some(late) = &late {
            self.waiting[late.op.kind as usize][usize::from(late.op.collection)] += 1;
            let is_read = late.op.kind == OperationKind::Read;
            *self.busy.of(late.block) += u32::from(!is_read);
            if late.op.kind == OperationKind::Erase {
                self.chains.insert(late.block, [number, number, 0]);
            } else if late.block != NO_BLOCK {
                let chains = self.chains.entry(late.block).or_default();
                before[ON] = std::mem::replace(&mut chains[ON], number);
                if !is_read {
                    before[PROGRAMS] = std::mem::replace(&mut chains[PROGRAMS], number);
                }
            }
            if late.source != NO_BLOCK {
                let chains = self.chains.entry(late.source).or_default();
                before[FROM] = std::mem::replace(&mut chains[FROM], number);
            }
            if self.chains.len() > self.most_chains {
                self.forget_chains();
            }
        }
        self.late.push_back(late);
        self.before.push_back(before);
        number
    }

    /// An erase, and nothing on its block waits: the next one need not look at what has gone.
    fn forget_chains_of(&mut self, kind: OperationKind, block: u32) {
        if kind == OperationKind::Erase {
            self.chains.remove(&block);
        }
    }

    /// Chains of which no operation waits are of no use.
    #[cold]
    fn forget_chains(&mut self) {
        let first = self.first;
        self.chains.retain(|_, chains| chains.iter().any(|&last| last >= first));
        self.most_chains = 1024.max(2 * self.chains.len());
    }

    /// The last of a chain; 0 if it is empty.
    #[inline(always)]
    fn last(&self, of: usize, block: u32) -> u64 {
        self.chains.get(&block).map_or(0, |chains| chains[of])
    }

    /// The end of a read that others need, and that has waited.
    fn note_end(&mut self, number: u64, end: Nanos, now: Nanos) {
        self.ends.insert(number, end);
        if self.ends.len() > self.most_ends {
            self.ends.retain(|_, end| *end > now);
            self.most_ends = 1024.max(2 * self.ends.len());
        }
    }

    /// An operation waits no more.
    #[inline(always)]
    fn take(&mut self, number: u64) -> Late {
        let at = (number - self.first) as usize;
        let late = self.late[at].take().expect("what is due waits");
        self.waiting[late.op.kind as usize][usize::from(late.op.collection)] -= 1;
        *self.busy.of(late.block) -= u32::from(late.op.kind != OperationKind::Read);
        self.drop_front();
        late
    }

    fn drop_front(&mut self) {
        while let Some(None) = self.late.front() {
            self.late.pop_front();
            self.before.pop_front();
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

    /// A chain from its end: the operations, and nothing for each that waits no more.
    fn chain(&self, of: usize, block: u32) -> impl Iterator<Item = Option<(u64, &Late)>> {
        let mut next = self.last(of, block);
        std::iter::from_fn(move || {
            let number = next;
            let at = number.checked_sub(self.first)? as usize;
            next = self.before[at][of];
            Some(self.late[at].as_ref().map(|late| (number, late)))
        })
    }

    /// Which waiting operations on its blocks come before this one. Programs of a block and its
    /// erases wait for each other, so that the first of their chain that waits no more ends it.
    fn of_blocks(&mut self, op: &Operation, class: Class, block: u32, source: u32) {
        let mut found = std::mem::take(&mut self.predecessors);
        let programs = |block| self.chain(PROGRAMS, block).map_while(|late| late);
        match op.kind {
            OperationKind::Read if class == Class::Zeros => {}
            OperationKind::Read => {
                let is_its =
                    |late: &Late| late.op.kind != OperationKind::Erase && late.op.ppn == op.ppn;
                let its = programs(block).find(|(_, late)| is_its(late));
                found.extend(its.map(|(number, _)| number));
            }
            OperationKind::Erase => {
                // The last program has waited for those before it.
                found.extend(programs(block).next().map(|(number, _)| number));
                let is_read = |late: &Late| late.op.kind == OperationKind::Read;
                let reads = self.chain(ON, block).flatten().filter(|(_, late)| is_read(late));
                let all = reads.chain(self.chain(FROM, block).flatten());
                found.extend(all.map(|(number, _)| number));
                let copies = self.copies.remove(&block).into_iter().flatten();
                found.extend(copies.filter(|number| self.flights.contains_key(number)));
            }
            _ => {
                found.extend(programs(block).next().map(|(number, _)| number));
                if op.kind == OperationKind::Move {
                    found.extend(programs(source).next().map(|(number, _)| number));
                }
            }
        }
        self.predecessors = found;
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
