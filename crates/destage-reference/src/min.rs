//! MIN: the fewest misses that any policy without bypass can have; an offline bound.
//!
//! Belady, IBM Systems Journal 5(2), 1966. Mirrors `docs/spec/page-policies.md` 3.9.

use crate::{Buffer, Decision, Model, Op, Step, show};

pub(crate) struct Min {
    buffer: Buffer,
    trace: Vec<Step>, // all of it
    index: usize,     // of the current step
}

impl Min {
    pub(crate) fn new(frames: usize, trace: &[Step]) -> Min {
        Min { buffer: Buffer::new(frames), trace: trace.to_vec(), index: 0 }
    }

    /// None as well if the page is trimmed before that.
    fn next_access(&self, page: u64) -> Option<usize> {
        let later = &self.trace[self.index + 1..];
        let next = later.iter().position(|step| step.page() == page)?;
        matches!(later[next], Step::Access(..)).then_some(next)
    }

    fn last_access(&self, page: u64) -> usize {
        let last = self.trace[..self.index].iter().rposition(|step| step.page() == page);
        last.expect("a resident page was accessed before")
    }

    /// Pages never accessed again are farther than all others; the longest unused goes first.
    fn victim(&self) -> u64 {
        let mut never_again = self.buffer.resident_pages();
        never_again.retain(|&page| self.next_access(page).is_none());
        let longest_unused = never_again.into_iter().min_by_key(|&page| self.last_access(page));
        let farthest =
            self.buffer.resident_pages().into_iter().max_by_key(|&page| self.next_access(page));
        longest_unused.or(farthest).expect("a full cache has resident pages")
    }
}

impl Model for Min {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        assert!(
            self.trace.get(self.index) == Some(&Step::Access(op, page)),
            "MIN is driven with the trace that it was given"
        );
        let decision = if self.buffer.hit(op, page) {
            Decision::hit()
        } else {
            let decision = if self.buffer.full() {
                let victim = self.victim();
                self.buffer.evict(victim)
            } else {
                Decision::miss()
            };
            self.buffer.install(op, page);
            decision
        };
        self.index += 1;
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        assert!(
            self.trace.get(self.index) == Some(&Step::Trim(page)),
            "MIN is driven with the trace that it was given"
        );
        self.index += 1;
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        show("resident", self.buffer.resident_pages())
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
