//! Instants that may not be known yet.
//!
//! First come, first served, every end is known at submission. When reads go first, the end of a
//! program depends on reads that are still to come, and so do the frames that wait for it
//! (`docs/spec/device.md` 7.4). Decisions never ask for such an instant; so it is only a name until
//! then, and names are resolved in the order in which they were given.

use crate::staging::Staging;
use destage_core::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

const NAMED: u64 = 1 << 63;

/// Later than any instant; so is what lies shortly before it.
const NEVER: Nanos = NAMED - 1;

/// An instant: nanoseconds, or the name of an instant that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingTime(u64);

impl PendingTime {
    /// A known instant.
    #[inline(always)]
    pub const fn at(ns: Nanos) -> PendingTime {
        debug_assert!(ns < NAMED, "times stay below 2^63 ns");
        PendingTime(ns)
    }

    /// The instant, if it is known without looking it up.
    #[inline(always)]
    pub fn known(self) -> Option<Nanos> {
        (self.0 & NAMED == 0).then_some(self.0)
    }
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Unknown,
    Known(Nanos),
    Later(PendingTime, PendingTime),
    Before(PendingTime, Nanos),
    Freed(PendingTime, u32),
    Taken,
    Staged { end: PendingTime, now: Nanos, pages: u32 },
    StagingFree { now: Nanos, pages: u32 },
}

/// The named instants of a run, and the free frames and staging pages of its host, whose order
/// depends on them.
///
/// Names are forgotten once they have been [settled](PendingTimes::settle), so memory grows with
/// what is
/// outstanding.
#[derive(Clone, Default, Debug)]
pub struct PendingTimes {
    forgotten: u64, // names that are no more
    nodes: Vec<Node>,
    known: usize, // nodes in front that have been evaluated: each is a known instant
    frames: BinaryHeap<Reverse<(Nanos, u32)>>, // (free from, how many), as of the node after these
    staging: Staging, // ditto
    least: Nanos, // of the last look ahead
    latest: Ahead, // the names of that, with all that is unknown at its latest
    earliest: Ahead, // and at its earliest
    is_earliest_known: bool, // which is found when it is asked for
}

/// Instants that the nodes behind the evaluated ones would stand for.
#[derive(Clone, Default, Debug)]
struct Ahead {
    frames: BinaryHeap<Reverse<(Nanos, u32)>>,
    staging: Staging,
    values: Vec<Nanos>, // by node
}

impl PendingTimes {
    fn name(&mut self, node: Node) -> PendingTime {
        self.nodes.push(node);
        PendingTime(NAMED | (self.forgotten + self.nodes.len() as u64 - 1))
    }

    /// A new name; [`set`](PendingTimes::set) says what it is.
    pub(crate) fn unknown(&mut self) -> PendingTime {
        self.name(Node::Unknown)
    }

    /// Says what a name stands for.
    pub(crate) fn set(&mut self, name: PendingTime, ns: Nanos) {
        debug_assert!(name.known().is_none(), "only a name can be given a meaning");
        self.nodes[((name.0 & !NAMED) - self.forgotten) as usize] = Node::Known(ns);
    }

    /// The later one of two.
    #[inline(always)]
    pub fn later(&mut self, a: PendingTime, b: PendingTime) -> PendingTime {
        if (a.0 | b.0) & NAMED == 0 {
            PendingTime(a.0.max(b.0))
        } else {
            self.name(Node::Later(a, b))
        }
    }

    /// So many nanoseconds before an instant.
    pub(crate) fn before(&mut self, pending_time: PendingTime, ns: Nanos) -> PendingTime {
        match pending_time.known() {
            Some(known) => PendingTime(known - ns),
            None if ns == 0 => pending_time,
            None => self.name(Node::Before(pending_time, ns)),
        }
    }

    /// From this instant on, so many more frames are free.
    #[inline]
    pub fn free_frames(&mut self, pending_time: PendingTime, frames: u32) {
        match pending_time.known() {
            Some(ns) if self.is_current() => self.frames.push(Reverse((ns, frames))),
            _ => {
                self.name(Node::Freed(pending_time, frames));
            }
        }
    }

    /// Takes the frame that is free earliest, and says from when on it is. One was freed before.
    #[inline]
    pub fn take_frame(&mut self) -> PendingTime {
        match self.is_current() {
            true => PendingTime(take(&mut self.frames)),
            false => self.name(Node::Taken),
        }
    }

    /// A dirty victim that is evicted now has one of so many staging pages until its program ends.
    #[inline]
    pub fn stage(&mut self, end: PendingTime, now: Nanos, pages: u32) {
        match end.known() {
            Some(ns) if self.is_current() => self.staging.push(ns, now, pages),
            _ => {
                self.name(Node::Staged { end, now, pages });
            }
        }
    }

    /// When all but so many of the victims [staged](PendingTimes::stage) so far are programmed.
    #[inline]
    pub fn staging_free(&mut self, now: Nanos, pages: u32) -> PendingTime {
        match self.is_current() {
            true => PendingTime::at(self.staging.free(now, pages)),
            false => self.name(Node::StagingFree { now, pages }),
        }
    }

    /// Names that are remembered.
    #[inline]
    pub fn names(&self) -> usize {
        self.nodes.len()
    }

    /// Every name has a known instant: frames and staging pages are as they are now.
    #[inline(always)]
    fn is_current(&self) -> bool {
        self.known == self.nodes.len()
    }

    /// The instant, if it is known by the last [evaluation](PendingTimes::evaluate).
    #[inline]
    pub fn instant(&self, pending_time: PendingTime) -> Option<Nanos> {
        pending_time.known().or_else(|| {
            let at = ((pending_time.0 & !NAMED) - self.forgotten) as usize;
            match self.nodes.get(at).filter(|_| at < self.known)? {
                Node::Known(ns) => Some(*ns),
                _ => None,
            }
        })
    }

    /// Finds the instants of all names that were given before the first that has no meaning yet.
    pub fn evaluate(&mut self) {
        while let Some(&node) = self.nodes.get(self.known) {
            if matches!(node, Node::Unknown) {
                return;
            }
            let PendingTimes { nodes, frames, staging, forgotten, .. } = self;
            let of = |pending_time: PendingTime| match pending_time.known() {
                Some(ns) => ns,
                None => match nodes[((pending_time.0 & !NAMED) - *forgotten) as usize] {
                    Node::Known(ns) => ns,
                    _ => unreachable!("an earlier name is known"),
                },
            };
            let ns = instant_of(node, of, frames, staging);
            self.nodes[self.known] = Node::Known(ns);
            self.known += 1;
        }
    }

    /// Looks which names have a known instant beyond these, given that all without a meaning are
    /// `least` or later: those that have the same one however late these are.
    pub fn foresee(&mut self, least: Nanos) {
        self.evaluate();
        self.least = least;
        self.is_earliest_known = false;
        let mut latest = std::mem::take(&mut self.latest);
        self.look_ahead(&mut latest, NEVER);
        self.latest = latest;
    }

    /// The instant, if it is known by the last call of [`foresee`](PendingTimes::foresee).
    #[inline]
    pub fn foreseen(&mut self, pending_time: PendingTime) -> Option<Nanos> {
        self.instant(pending_time).or_else(|| {
            let at = ((pending_time.0 & !NAMED) - self.forgotten) as usize - self.known;
            let latest = *self.latest.values.get(at)?;
            // It waits for an instant without a meaning: most do, and need no second look.
            (latest < NEVER / 2 && self.earliest()[at] == latest).then_some(latest)
        })
    }

    /// The instants of the names of the last look ahead, with all that is unknown at its earliest.
    fn earliest(&mut self) -> &[Nanos] {
        if !std::mem::replace(&mut self.is_earliest_known, true) {
            let mut earliest = std::mem::take(&mut self.earliest);
            self.look_ahead(&mut earliest, self.least);
            self.earliest = earliest;
        }
        &self.earliest.values
    }

    /// The instants of all names behind the evaluated ones, if those without a meaning are this.
    fn look_ahead(&self, ahead: &mut Ahead, unknown: Nanos) {
        ahead.values.clear();
        if self.is_current() {
            return;
        }
        ahead.frames.clone_from(&self.frames);
        ahead.staging.copy_from(&self.staging);
        for &node in &self.nodes[self.known..] {
            let values = &ahead.values;
            let of = |pending_time: PendingTime| match pending_time.known() {
                Some(ns) => ns,
                None => {
                    let at = ((pending_time.0 & !NAMED) - self.forgotten) as usize;
                    match self.nodes[at] {
                        Node::Known(ns) => ns,
                        _ => values[at - self.known],
                    }
                }
            };
            let ns = match node {
                Node::Unknown => unknown,
                node => instant_of(node, of, &mut ahead.frames, &mut ahead.staging),
            };
            ahead.values.push(ns);
        }
    }

    /// Resolves and forgets all names that were given before the first that has no meaning yet.
    /// Holders of names must look all of them up in the returned instants.
    pub fn settle(&mut self) -> Settled {
        self.evaluate();
        let count = std::mem::take(&mut self.known);
        let mut settled = Settled { first: self.forgotten, values: Vec::with_capacity(count) };
        settled.values.extend(self.nodes.drain(..count).map(|node| match node {
            Node::Known(ns) => ns,
            _ => unreachable!("it has been evaluated"),
        }));
        self.forgotten += count as u64;
        for node in &mut self.nodes {
            match node {
                Node::Later(a, b) => (*a, *b) = (settled.now(*a), settled.now(*b)),
                Node::Before(pending_time, _) | Node::Freed(pending_time, _) => {
                    *pending_time = settled.now(*pending_time)
                }
                Node::Staged { end, .. } => *end = settled.now(*end),
                Node::Unknown | Node::Known(_) | Node::Taken | Node::StagingFree { .. } => {}
            }
        }
        settled
    }
}

/// The instant of a name, given those that it is made of.
fn instant_of(
    node: Node,
    of: impl Fn(PendingTime) -> Nanos,
    frames: &mut BinaryHeap<Reverse<(Nanos, u32)>>,
    staging: &mut Staging,
) -> Nanos {
    match node {
        Node::Unknown => unreachable!("it has no meaning yet"),
        Node::Known(ns) => ns,
        Node::Later(a, b) => of(a).max(of(b)),
        Node::Before(pending_time, ns) => of(pending_time).saturating_sub(ns),
        Node::Freed(pending_time, n) => {
            frames.push(Reverse((of(pending_time), n)));
            0
        }
        Node::Taken => take(frames),
        Node::Staged { end, now, pages } => {
            staging.push(of(end), now, pages);
            0
        }
        Node::StagingFree { now, pages } => staging.free(now, pages),
    }
}

/// Takes one frame of those that are free earliest.
fn take(frames: &mut BinaryHeap<Reverse<(Nanos, u32)>>) -> Nanos {
    let mut earliest = frames.peek_mut().expect("a frame is taken only after it was freed");
    let Reverse((ns, left)) = &mut *earliest;
    let ns = *ns;
    *left -= 1;
    if *left == 0 {
        PeekMut::pop(earliest);
    }
    ns
}

/// Instants of a range of names, once they are known.
pub struct Settled {
    first: u64,
    values: Vec<Nanos>,
}

impl Settled {
    /// An instant, nanoseconds. Its name is among the settled ones.
    pub fn ns(&self, pending_time: PendingTime) -> Nanos {
        self.now(pending_time).known().expect("this name has a meaning by now")
    }

    /// The instant, or the same name, if it has not been settled.
    #[inline]
    pub fn now(&self, pending_time: PendingTime) -> PendingTime {
        if pending_time.known().is_some() {
            return pending_time;
        }
        debug_assert!(pending_time.0 & !NAMED >= self.first, "a name was kept beyond its time");
        self.values
            .get(((pending_time.0 & !NAMED) - self.first) as usize)
            .map_or(pending_time, |&ns| PendingTime(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_resolved_through_each_other() {
        let mut times = PendingTimes::default();
        let program = times.unknown();
        let transfer = times.before(program, 200);
        let frame = times.later(transfer, PendingTime::at(500));
        let ready = times.later(frame, PendingTime::at(900));
        times.set(program, 1000);
        let settled = times.settle();
        assert_eq!(
            [program, transfer, frame, ready].map(|pending_time| settled.ns(pending_time)),
            [1000, 800, 800, 900]
        );
    }

    #[test]
    fn what_is_known_is_forgotten_and_the_rest_keeps_its_name() {
        let mut times = PendingTimes::default();
        let (early, late) = (times.unknown(), times.unknown());
        let after_both = times.later(early, late);
        assert_eq!(times.settle().now(early), early, "nothing is known yet");
        times.set(early, 700);
        let settled = times.settle();
        assert_eq!((settled.now(early), settled.now(late)), (PendingTime(700), late));
        assert_eq!(times.names(), 2);
        times.set(late, 300);
        let settled = times.settle();
        assert_eq!((settled.ns(late), settled.ns(after_both)), (300, 700));
        assert_eq!(times.names(), 0);
    }

    #[test]
    fn the_frame_that_is_free_earliest_is_taken_first_known_or_not() {
        let mut times = PendingTimes::default();
        times.free_frames(PendingTime::at(0), 1);
        times.free_frames(PendingTime::at(50), 2);
        assert_eq!((times.take_frame().known(), times.take_frame().known()), (Some(0), Some(50)));
        let program = times.unknown();
        times.free_frames(program, 1);
        let (first, second) = (times.take_frame(), times.take_frame());
        times.set(program, 20);
        let settled = times.settle();
        assert_eq!((settled.ns(first), settled.ns(second)), (20, 50));
    }

    #[test]
    fn a_staging_page_is_free_when_a_program_ends_known_or_not() {
        let mut times = PendingTimes::default();
        times.stage(PendingTime::at(80), 0, 1);
        assert_eq!(times.staging_free(0, 1).known(), Some(0));
        let program = times.unknown();
        times.stage(program, 10, 1);
        let free = times.staging_free(10, 1);
        times.set(program, 50);
        assert_eq!(times.settle().ns(free), 50);
        times.stage(PendingTime::at(90), 60, 1);
        assert_eq!(times.staging_free(60, 1).known(), Some(80));
    }

    #[test]
    fn known_instants_need_no_name() {
        let mut times = PendingTimes::default();
        assert_eq!(times.later(PendingTime::at(3), PendingTime::at(8)).known(), Some(8));
        assert_eq!(times.before(PendingTime::at(8), 2).known(), Some(6));
        assert!(times.nodes.is_empty());
    }
}
