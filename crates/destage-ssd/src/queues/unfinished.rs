//! Operations of a unit that have not ended: how many of each kind, without a look at each.

use super::counts::KINDS;
use crate::timing::OperationKind;
use destage_core::{Nanos, Unfinished};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Operations of each kind, up to one of them. They wrap: only what lies between two counts.
type Counts = [u32; KINDS];

/// The operations of a unit that serves them in the order in which they come.
#[derive(Default, Debug)]
pub(super) struct Log {
    served: VecDeque<(Nanos, Counts)>, // the end of each, and all up to it
    before: Counts,                    // up to the first of them
    /// How many had ended at the last look. Threads share a filled drive that they start from.
    ended: AtomicUsize,
}

impl Clone for Log {
    fn clone(&self) -> Self {
        let ended = self.ended.load(Relaxed).into();
        Self { served: self.served.clone(), before: self.before, ended }
    }
}

impl Log {
    /// An operation was submitted at `now`; it ends at `end`, not before any other.
    pub(super) fn push(&mut self, now: Nanos, end: Nanos, kind: OperationKind) {
        while let Some(&(_, counts)) = self.served.front().filter(|&&(end, _)| end <= now) {
            self.before = counts;
            self.served.pop_front();
            let ended = self.ended.get_mut();
            *ended = ended.saturating_sub(1);
        }
        let mut counts = self.all();
        counts[kind as usize] = counts[kind as usize].wrapping_add(1);
        self.served.push_back((end, counts));
    }

    /// Operations that end after `now`, by kind.
    pub(super) fn unfinished(&self, now: Nanos) -> Unfinished {
        let ended = self.ended_by(now);
        let before = ended.checked_sub(1).map_or(self.before, |last| self.served[last].1);
        let all = self.all();
        let of = |kind: OperationKind| all[kind as usize].wrapping_sub(before[kind as usize]);
        Unfinished {
            reads: of(OperationKind::Read),
            writes: of(OperationKind::Write),
            moves: of(OperationKind::Move),
            erases: of(OperationKind::Erase),
            summaries: of(OperationKind::Summary),
        }
    }

    /// How many of those served have ended by `now`. A policy that weighs queues looks at every
    /// unit at every eviction, and time goes on: from the last look on, each operation is passed
    /// once. A look back in time searches.
    fn ended_by(&self, now: Nanos) -> usize {
        let has_ended = |&(end, _): &(Nanos, Counts)| end <= now;
        let mut ended = self.ended.load(Relaxed);
        if ended > 0 && !has_ended(&self.served[ended - 1]) {
            ended = self.served.partition_point(has_ended);
        }
        while self.served.get(ended).is_some_and(has_ended) {
            ended += 1;
        }
        self.ended.store(ended, Relaxed);
        ended
    }

    /// All up to the last.
    fn all(&self) -> Counts {
        self.served.back().map_or(self.before, |&(_, counts)| counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_first::count;

    #[test]
    fn what_has_not_ended_is_what_a_look_at_every_operation_counts() {
        let kinds = [
            OperationKind::Read,
            OperationKind::Write,
            OperationKind::Move,
            OperationKind::Erase,
            OperationKind::Summary,
        ];
        // One log counts from near the end of its numbers.
        for before in [0, u32::MAX - 3] {
            let mut log = Log { before: [before; KINDS], ..Log::default() };
            let (mut now, mut tail, mut all) = (0, 0, Vec::new());
            let mut random = 12345u64;
            for _ in 0..1000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                now += random >> 59;
                tail = now.max(tail) + (random >> 40) % 45;
                let kind = kinds[(random >> 33) as usize % KINDS];
                log.push(now, tail, kind);
                all.push((tail, kind));
                for later in [now, now + 25, now + 500, now + 25] {
                    let mut want = Unfinished::default();
                    all.iter().filter(|one| one.0 > later).for_each(|one| count(&mut want, one.1));
                    assert_eq!(log.unfinished(later), want);
                }
            }
        }
    }
}
