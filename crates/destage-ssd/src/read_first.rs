//! Reads first (`docs/spec/device.md` 4.3): two queues per unit, advanced lazily.
//!
//! A unit that becomes free takes the oldest waiting read whose page has been programmed, else the
//! oldest waiting operation that is no read. Only the order changes, never the amount of work: the
//! backlog is that of `fcfs` and is kept there. With suspension (`docs/spec/gc-steps.md` 6) a read
//! interrupts what is in service, and the work grows by what that costs.

use crate::config::{GcStepsConfig, Suspend};
use crate::ended::{Released, Undone};
use crate::geometry::Ppn;
use crate::pending_time::PendingTime;
use crate::timing::{Operation, OperationKind};
use destage_core::{Nanos, Unfinished};
use std::collections::{HashMap, VecDeque};

/// An operation that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) kind: OperationKind,
    pub(crate) collection: bool,
    pub(crate) ppn: Ppn,
    /// From start to end, suspensions included, but for reads served meanwhile.
    pub(crate) duration_ns: Nanos,
    pub(crate) submitted_ns: Nanos,
    /// Begin of its service; right once it is served.
    pub(crate) start_ns: Nanos,
    /// Unit time in total, unit time left, and unit time before the transfer of the data,
    /// nanoseconds.
    work_ns: Nanos,
    rest_ns: Nanos,
    pub(crate) transfer_ns: Nanos,
    /// End of the data transfer; valid once the operation has ended.
    pub(crate) transferred_ns: Option<Nanos>,
    /// Name of that instant, if someone asked for it and it does not follow from the end.
    pub(crate) transferred: Option<PendingTime>,
    suspensions: u32,
    /// Name of its end, if someone asked for it.
    pub(crate) end: Option<PendingTime>,
    /// Number among the host's operations, if it is one.
    pub(crate) submission: Option<u64>,
    /// Whether its latency enters the sums: a host operation while latencies are counted.
    pub(crate) counts_latency: bool,
    /// Number among all operations, if they are recorded.
    pub(crate) number: Option<u64>,
    /// Others may wait for its end, under this number (`docs/spec/map-cache.md` 7).
    pub(crate) watch: Option<u64>,
    /// A timer caused it.
    pub(crate) by_timer: bool,
    /// R: so many operations of the unit that are no reads must have ended.
    after: u64,
}

impl Waiting {
    pub(crate) fn new(op: &Operation, duration_ns: Nanos, submitted_ns: Nanos) -> Self {
        Waiting {
            kind: op.kind,
            collection: op.collection,
            ppn: op.ppn,
            duration_ns,
            submitted_ns,
            start_ns: 0,
            work_ns: duration_ns,
            rest_ns: duration_ns,
            transfer_ns: duration_ns,
            transferred_ns: None,
            transferred: None,
            suspensions: 0,
            end: None,
            submission: None,
            counts_latency: false,
            number: None,
            watch: None,
            by_timer: false,
            after: 0,
        }
    }
}

impl Waiting {
    /// The host's answer at its end, by this name.
    pub(crate) fn ended_for_host(
        &self,
        name: PendingTime,
        end: Nanos,
    ) -> Option<(Undone, Released)> {
        let submission = self.submission?;
        let undone = Undone {
            submission,
            is_read: self.kind == OperationKind::Read,
            service_ns: self.duration_ns,
            decided: self.submitted_ns,
            counts: self.counts_latency,
        };
        let end = PendingTime::at(end);
        let kind = Some(self.kind);
        Some((undone, Released { kind, submission, end, name, ready: 0 }))
    }

    /// When its transfer ends, in a stretch of service that would end it at this instant.
    fn transfer_ends(&self, would_end: Nanos) -> Nanos {
        would_end - self.rest_ns + self.transfer_ns - (self.work_ns - self.rest_ns)
    }

    /// So much of the rest has been served, in a stretch that would end it at this instant.
    fn serve(&mut self, would_end: Nanos, progress: Nanos) {
        let served = self.work_ns - self.rest_ns;
        if self.transferred_ns.is_none() && self.transfer_ns <= served + progress {
            self.transferred_ns = Some(self.transfer_ends(would_end));
        }
        self.rest_ns -= progress;
    }
}

/// The queues of one unit.
#[derive(Clone, Default, Debug)]
pub(crate) struct ReadFirstQueue {
    reads: VecDeque<Waiting>,
    others: VecDeque<Waiting>, // W, M, S, E: in their own order
    serving: Option<(Waiting, Nanos)>,
    // What gave way to reads, and what it costs to go on with it.
    suspended: Option<(Waiting, Nanos)>,
    suspending_until: Option<Nanos>,
    others_submitted: u64,
    others_ended: u64,
    collections: u32, // collection operations that have not ended
    // Programs that have not ended: the place of the page's last one among `others`.
    programs: HashMap<Ppn, u64>,
}

impl ReadFirstQueue {
    /// Serves what ends at or before `now`, and starts what follows. `ended` is told of each
    /// operation with its start and end.
    pub(crate) fn advance(&mut self, now: Nanos, mut ended: impl FnMut(&Waiting, Nanos, Nanos)) {
        loop {
            if let Some(until) = self.suspending_until.take_if(|until| *until <= now) {
                self.start(until);
            }
            let Some((mut op, end)) = self.serving.take_if(|(_, end)| *end <= now) else { break };
            op.serve(end, op.rest_ns);
            ended(&op, op.start_ns, end);
            if op.kind != OperationKind::Read {
                self.others_ended += 1;
                if self.programs.get(&op.ppn) == Some(&self.others_ended) {
                    self.programs.remove(&op.ppn);
                }
            }
            self.collections -= u32::from(op.collection);
            self.start(end);
        }
    }

    /// The transfer of the program in service has ended by now: its name, and when that was.
    pub(crate) fn transferred(&mut self, now: Nanos) -> Option<(PendingTime, Nanos)> {
        let (op, end) = self.serving.as_mut()?;
        let name = op.transferred?;
        let ns = op.transferred_ns.unwrap_or_else(|| op.transfer_ends(*end));
        (ns <= now).then(|| {
            op.transferred_ns = Some(ns);
            op.transferred = None;
            (name, ns)
        })
    }

    /// When the transfer of the program in service ends, if that has a name.
    pub(crate) fn next_transfer(&self) -> Option<Nanos> {
        let (op, end) = self.serving.as_ref()?;
        op.transferred.map(|_| op.transferred_ns.unwrap_or_else(|| op.transfer_ends(*end)))
    }

    /// When it chooses what it does next.
    pub(crate) fn next_choice(&self) -> Option<Nanos> {
        self.suspending_until.or(self.serving.map(|(_, end)| end))
    }

    /// Place of the read that is served next: the oldest of those that may be.
    fn eligible(&self) -> Option<usize> {
        self.reads.iter().position(|read| read.after <= self.others_ended)
    }

    fn start(&mut self, now: Nanos) {
        let next = match self.eligible() {
            Some(at) => self.reads.remove(at),
            None => {
                if let Some((op, resume_ns)) = self.suspended.take() {
                    self.serving = Some((op, now + resume_ns + op.rest_ns));
                    return;
                }
                self.others.pop_front()
            }
        };
        self.serving = next.map(|op| (Waiting { start_ns: now, ..op }, now + op.duration_ns));
    }

    /// A read that has been taken in interrupts what is in service, if it may: by how much that
    /// lengthens the work of the unit.
    pub(crate) fn suspend(&mut self, now: Nanos, steps: &GcStepsConfig) -> Option<Nanos> {
        let read = self.reads.back().filter(|read| read.after <= self.others_ended);
        let may = |op: &Waiting, end: Nanos| {
            let named = match op.kind {
                OperationKind::Read => false,
                OperationKind::Erase => steps.suspend != Suspend::None,
                _ => steps.suspend == Suspend::Program,
            };
            named && op.suspensions < steps.suspend_max && end > now + steps.suspend_ns
        };
        let (mut op, end) = self.serving.take_if(|(op, end)| read.is_some() && may(op, *end))?;
        let rest = op.rest_ns.min(end - now);
        op.serve(end, op.rest_ns - rest);
        op.suspensions += 1;
        let longer = steps.suspend_ns + steps.resume_ns + rest - (end - now);
        op.duration_ns += longer;
        self.suspended = Some((op, steps.resume_ns));
        self.suspending_until = Some(now + steps.suspend_ns);
        Some(longer)
    }

    /// Takes an operation in; the lane has been advanced to `now`.
    pub(crate) fn submit(&mut self, mut op: Waiting, now: Nanos) {
        self.collections += u32::from(op.collection);
        if op.kind == OperationKind::Read {
            op.after = self.programs.get(&op.ppn).copied().unwrap_or(0);
            self.reads.push_back(op);
        } else {
            self.others_submitted += 1;
            if matches!(op.kind, OperationKind::Write | OperationKind::Move) {
                self.programs.insert(op.ppn, self.others_submitted);
            }
            self.others.push_back(op);
        }
        if self.is_idle() {
            self.start(now);
        }
    }

    /// Everything has ended.
    pub(crate) fn is_idle(&self) -> bool {
        self.serving.is_none() && self.suspending_until.is_none()
    }

    /// A collection operation has not ended.
    pub(crate) fn in_gc(&self) -> bool {
        self.collections > 0
    }

    /// A collection operation has begun and not ended; with `suspend_ns = 0` a read begins at the
    /// instant at which another operation gives way to it.
    pub(crate) fn collects(&self, now: Nanos) -> bool {
        let begun = self.serving.iter().chain(&self.suspended).map(|(op, _)| op);
        let begins = self.suspending_until.is_some_and(|until| until <= now);
        let next = self.eligible().filter(|_| begins).map(|at| &self.reads[at]);
        begun.chain(next).any(|op| op.collection)
    }

    /// Operations that have not ended, by kind.
    pub(crate) fn unfinished(&self) -> Unfinished {
        let mut counts = Unfinished::default();
        let begun = self.serving.iter().chain(&self.suspended).map(|(op, _)| op);
        for op in self.reads.iter().chain(&self.others).chain(begun) {
            count(&mut counts, op.kind);
        }
        counts
    }
}

/// Counts one operation.
pub(crate) fn count(counts: &mut Unfinished, kind: OperationKind) {
    match kind {
        OperationKind::Read => counts.reads += 1,
        OperationKind::Write => counts.writes += 1,
        OperationKind::Move => counts.moves += 1,
        OperationKind::Summary => counts.summaries += 1,
        OperationKind::Erase => counts.erases += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StepPages;

    fn op(kind: OperationKind, ppn: Ppn, now: Nanos) -> Waiting {
        let op = Operation {
            kind,
            collection: false,
            plane: destage_core::PlaneId(0),
            index: 0,
            from: 0,
            ppn,
        };
        Waiting::new(&op, 10, now)
    }

    fn ends(lane: &mut ReadFirstQueue, now: Nanos) -> Vec<(OperationKind, Ppn, Nanos)> {
        let mut ends = Vec::new();
        lane.advance(now, |op, _, end| ends.push((op.kind, op.ppn, end)));
        ends
    }

    #[test]
    fn a_read_overtakes_programs_but_not_the_one_of_its_own_page() {
        let mut lane = ReadFirstQueue::default();
        for ppn in [1, 2, 3] {
            lane.submit(op(OperationKind::Write, ppn, 0), 0);
        }
        lane.submit(op(OperationKind::Read, 2, 0), 0);
        lane.submit(op(OperationKind::Read, 9, 0), 0);
        let order: Vec<_> = ends(&mut lane, 1000).into_iter().map(|(k, p, _)| (k, p)).collect();
        let (r, w) = (OperationKind::Read, OperationKind::Write);
        assert_eq!(order, [(w, 1), (r, 9), (w, 2), (r, 2), (w, 3)]);
    }

    #[test]
    fn a_read_of_a_collection_begins_at_once_where_giving_way_takes_no_time() {
        for (suspend_ns, begins) in [(0, 7), (5, 12)] {
            let steps = GcStepsConfig {
                gc_step_pages: StepPages::WholeBlocks,
                suspend: Suspend::Program,
                suspend_ns,
                resume_ns: 0,
                suspend_max: 1,
            };
            let mut lane = ReadFirstQueue::default();
            lane.submit(Waiting { rest_ns: 90, work_ns: 90, ..op(OperationKind::Write, 1, 0) }, 0);
            lane.serving = lane.serving.map(|(op, _)| (op, 90));
            lane.advance(7, |_, _, _| {});
            lane.submit(Waiting { collection: true, ..op(OperationKind::Read, 2, 7) }, 7);
            lane.suspend(7, &steps).expect("the program gives way");
            for now in 7..begins {
                lane.advance(now, |_, _, _| {});
                assert!(lane.in_gc());
                assert!(!lane.collects(now), "at {now}, {suspend_ns} ns");
            }
            assert!(lane.collects(begins), "{suspend_ns} ns");
        }
    }

    #[test]
    fn a_read_suspends_an_erase_as_the_document_works_out() {
        let steps = GcStepsConfig {
            gc_step_pages: StepPages::WholeBlocks,
            suspend: Suspend::Erase,
            suspend_ns: 10,
            resume_ns: 20,
            suspend_max: 4,
        };
        let timed = |kind, duration, now| {
            let mut op = op(kind, 0, now);
            (op.duration_ns, op.work_ns, op.rest_ns) = (duration, duration, duration);
            op
        };
        let (mut lane, mut longer) = (ReadFirstQueue::default(), 0);
        lane.submit(timed(OperationKind::Erase, 1000, 0), 0);
        let mut found = Vec::new();
        for now in [100, 105, 215] {
            lane.advance(now, |op, start, end| found.push((op.kind, start, end, op.duration_ns)));
            lane.submit(timed(OperationKind::Read, 50, now), now);
            longer += lane.suspend(now, &steps).unwrap_or(0);
        }
        lane.advance(2000, |op, start, end| found.push((op.kind, start, end, op.duration_ns)));
        let reads =
            [(110, 160), (160, 210), (225, 275)].map(|(s, e)| (OperationKind::Read, s, e, 50));
        assert_eq!(found, [&reads[..], &[(OperationKind::Erase, 0, 1195, 1045)]].concat());
        assert_eq!(longer, 45);
        assert!(lane.is_idle());
    }

    #[test]
    fn a_read_at_the_end_of_a_program_loses_to_a_program_that_waits() {
        let mut lane = ReadFirstQueue::default();
        lane.submit(op(OperationKind::Write, 1, 0), 0);
        lane.submit(op(OperationKind::Write, 2, 0), 0);
        assert_eq!(ends(&mut lane, 10), [(OperationKind::Write, 1, 10)]);
        lane.submit(op(OperationKind::Read, 9, 10), 10);
        assert_eq!(
            ends(&mut lane, 30),
            [(OperationKind::Write, 2, 20), (OperationKind::Read, 9, 30)]
        );
    }
}
