//! A write buffer and flushes where the end of a program may not be known when it is decided on
//! (`docs/spec/map-cache.md` 8): a slot whose program waits has no time yet.

use super::{Interface, InterfaceCounts};
use crate::geometry::DriveLpn;
use crate::pending_time::PendingTime;
use destage_core::Nanos;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The newest version of a page, in a slot or before one.
#[derive(Clone, Copy, Debug)]
struct Held {
    write: u64,             // number of its program among the host's operations
    arrives: Option<Nanos>, // when its data are there
    until: Option<Nanos>,   // end of its program
}

/// A write without a slot.
#[derive(Clone, Debug)]
struct Slotless {
    lpn: u32,
    write: u64,
    number: u64, // of the program among the operations that wait
    acting: Nanos,
    arrives: PendingTime,
    /// Reads of it: when the drive acts on them, and names of when they are done.
    readers: Vec<(Nanos, PendingTime)>,
}

/// A flush that waits for programs.
#[derive(Clone, Debug)]
struct Flush {
    upto: u64, // host operations decided on before it
    left: u64, // programs among them that wait
    latest: Nanos,
    done: PendingTime,
}

/// Slots, and programs that wait.
#[derive(Clone, Debug)]
pub(crate) struct LateBuffer {
    pages: u64, // P
    slots: BinaryHeap<Reverse<Nanos>>,
    taken: u64, // slots whose time is not known
    waiting: VecDeque<Slotless>,
    held: FxHashMap<u32, Held>,
    pages_of: FxHashMap<u64, u32>, // by program that waits
    leaving: VecDeque<(Nanos, u32)>,
    counts: InterfaceCounts,
    programs: u64, // that wait
    flushes: Vec<Flush>,
}

/// The slot of a write.
pub(crate) enum Slot {
    /// Its data may come from this instant on.
    From(Nanos),
    /// It waits for one.
    Later(Nanos),
}

impl LateBuffer {
    pub(super) fn new(pages: u64) -> Self {
        LateBuffer {
            pages,
            slots: BinaryHeap::new(),
            taken: 0,
            waiting: VecDeque::new(),
            held: FxHashMap::default(),
            pages_of: FxHashMap::default(),
            leaving: VecDeque::new(),
            counts: InterfaceCounts::default(),
            programs: 0,
            flushes: Vec::new(),
        }
    }

    pub(super) fn counts(&self) -> InterfaceCounts {
        self.counts
    }

    pub(super) fn is_buffer(&self) -> bool {
        self.pages > 0
    }

    fn wait(&mut self, acting: Nanos, free: Nanos) -> Nanos {
        if free > acting {
            self.counts.buffer_waits += 1;
            let wait = &mut self.counts.buffer_wait_ns_sum;
            *wait = wait.saturating_add(free - acting);
        }
        acting.max(free)
    }

    fn take_slot(&mut self, acting: Nanos) -> Slot {
        if !self.is_buffer() {
            return Slot::From(acting);
        }
        self.counts.buffer_writes += 1;
        if self.slots.len() as u64 + self.taken < self.pages {
            self.taken += 1;
            return Slot::From(acting);
        }
        match self.slots.pop() {
            Some(Reverse(free)) => {
                self.taken += 1;
                Slot::From(self.wait(acting, free))
            }
            None => Slot::Later(acting),
        }
    }

    /// The end of a program is known: its version leaves at that instant.
    fn leaves(&mut self, lpn: u32, write: u64, end: Nanos) {
        if let Some(held) = self.held.get_mut(&lpn).filter(|held| held.write == write) {
            held.until = Some(end);
            self.leaving.push_back((end, lpn));
        }
    }

    fn forget(&mut self, now: Nanos) {
        while let Some(&(end, lpn)) = self.leaving.front().filter(|(end, _)| *end <= now) {
            self.leaving.pop_front();
            if self.held.get(&lpn).is_some_and(|held| held.until == Some(end)) {
                self.held.remove(&lpn);
            }
        }
    }
}

impl Interface {
    fn late(&mut self) -> &mut LateBuffer {
        self.late.as_mut().expect("operations may wait for others")
    }

    /// Ends of programs may not be known when they are decided on.
    pub(crate) fn keep_order(&mut self) {
        let pages = self.buffer.take().map_or(0, |buffer| buffer.pages());
        self.late = Some(Box::new(LateBuffer::new(pages)));
        self.link.keep_order();
    }

    /// A page comes in: what slot it has.
    pub(crate) fn late_slot(&mut self, now: Nanos) -> Slot {
        let acting = self.acting_ns(now);
        self.late().take_slot(acting)
    }

    /// A page comes in that has its slot; when it has arrived.
    pub(crate) fn late_arrival(&mut self, from: Nanos, now: Nanos) -> Nanos {
        self.link.take_in(from, now)
    }

    /// A write has been decided on that has its slot. Its program's end, if it is known.
    pub(crate) fn late_write(
        &mut self,
        (lpn, write): (DriveLpn, u64),
        arrives: Nanos,
        end: Option<Nanos>,
        now: Nanos,
    ) {
        let late = self.late();
        late.forget(now);
        if late.is_buffer() {
            let held = Held { write, arrives: Some(arrives), until: None };
            late.held.insert(lpn.0, held);
        }
        match end {
            Some(end) => {
                late.leaves(lpn.0, write, end);
                if late.is_buffer() {
                    late.taken -= 1;
                    late.slots.push(Reverse(end));
                }
                self.last_program_ns = self.last_program_ns.max(end);
            }
            None => {
                late.programs += 1;
                late.pages_of.insert(write, lpn.0);
            }
        }
    }

    /// A write has been decided on that has no slot: `number` of its program among the operations
    /// that wait, and a name for its arrival.
    pub(crate) fn late_slotless(
        &mut self,
        (lpn, write): (DriveLpn, u64),
        number: u64,
        acting: Nanos,
        arrives: PendingTime,
    ) {
        let late = self.late();
        late.programs += 1;
        late.pages_of.insert(write, lpn.0);
        late.held.insert(lpn.0, Held { write, arrives: None, until: None });
        let (lpn, readers) = (lpn.0, Vec::new());
        late.waiting.push_back(Slotless { lpn, write, number, acting, arrives, readers });
    }

    /// A program that has waited was submitted: what it gives its slot to, with the number of that
    /// program and its arrival. `set` names instants.
    pub(crate) fn late_program(
        &mut self,
        write: u64,
        end: Nanos,
        now: Nanos,
        set: &mut dyn FnMut(PendingTime, Nanos),
    ) -> Option<(u64, Nanos)> {
        self.last_program_ns = self.last_program_ns.max(end);
        let late = self.late.as_mut().expect("operations may wait for others");
        late.programs -= 1;
        if let Some(lpn) = late.pages_of.remove(&write) {
            late.leaves(lpn, write, end);
        }
        late.flushes.retain_mut(|flush| {
            if write < flush.upto {
                flush.left -= 1;
                flush.latest = flush.latest.max(end);
                if flush.left == 0 {
                    set(flush.done, flush.latest);
                }
            }
            flush.left > 0
        });
        if !late.is_buffer() {
            return None;
        }
        let Some(next) = late.waiting.pop_front() else {
            late.taken -= 1;
            late.slots.push(Reverse(end));
            return None;
        };
        let from = late.wait(next.acting, end);
        let arrives = self.link.take_in(from, now);
        set(next.arrives, arrives);
        if let Some(held) = late.held.get_mut(&next.lpn).filter(|held| held.write == next.write) {
            held.arrives = Some(arrives);
        }
        for (acting, done) in next.readers {
            set(done, self.link.send(acting.max(arrives), now));
        }
        Some((next.number, arrives))
    }

    /// The newest version of a page is in a slot or waits for one: when it has crossed the link.
    /// `name` names an instant.
    pub(crate) fn late_read(
        &mut self,
        lpn: DriveLpn,
        now: Nanos,
        name: impl FnOnce() -> PendingTime,
    ) -> Option<PendingTime> {
        let acting = self.acting_ns(now);
        let late = self.late.as_mut()?;
        let held = late.held.get(&lpn.0)?;
        if held.until.is_some_and(|until| until <= now) {
            return None;
        }
        late.counts.buffer_reads += 1;
        if let Some(arrives) = held.arrives {
            return Some(PendingTime::at(self.link.send(acting.max(arrives), now)));
        }
        let write = held.write;
        let slotless = late.waiting.iter_mut().find(|slotless| slotless.write == write);
        let done = name();
        slotless.expect("it waits for a slot").readers.push((acting, done));
        Some(done)
    }

    /// A flush: done at the earliest at `processed`, and when all programs have ended that the
    /// first `upto` operations of the host have caused.
    pub(crate) fn late_flush(
        &mut self,
        processed: Nanos,
        upto: u64,
        name: impl FnOnce() -> PendingTime,
    ) -> PendingTime {
        let latest = processed.max(self.last_program_ns);
        let late = self.late();
        if late.programs == 0 {
            return PendingTime::at(latest);
        }
        let done = name();
        let left = late.programs;
        late.flushes.push(Flush { upto, left, latest, done });
        done
    }

    /// The page was trimmed.
    pub(super) fn late_trimmed(&mut self, lpn: DriveLpn) {
        if let Some(late) = &mut self.late {
            late.held.remove(&lpn.0);
        }
    }
}
