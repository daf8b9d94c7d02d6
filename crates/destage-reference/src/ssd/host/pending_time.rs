//! Instants that the host waits for, which may lie ahead.

use crate::ssd::queue::Ssd;
use crate::ssd::way::Sent;

/// An instant that may lie ahead: `at_least`, and not before some operations have come so far.
#[derive(Clone)]
pub(super) struct When {
    pub(super) at_least: u64,
    pub(super) operations: Vec<(usize, Until)>,
}

/// How far an operation has to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Until {
    Transferred,
    Ended,
}

impl When {
    pub(super) fn at(instant: u64) -> When {
        When { at_least: instant, operations: Vec::new() }
    }

    /// When the host sees a page read or written: done, or so far (`docs/spec/device-today.md`
    /// 5.3).
    pub(super) fn of(sent: Sent, until: Until) -> When {
        match sent {
            Sent { done: Some(done), .. } => When::at(done),
            Sent { operation, .. } => {
                let operations = operation.into_iter().map(|number| (number, until)).collect();
                When { at_least: 0, operations }
            }
        }
    }

    pub(super) fn max(&self, other: &When) -> When {
        // Frames that one group left wait for the same operations.
        let mut operations = [&self.operations[..], &other.operations[..]].concat();
        operations.sort_unstable();
        operations.dedup();
        When { at_least: self.at_least.max(other.at_least), operations }
    }

    /// The instant as far as it is known: operations that tell theirs are not waited for any more.
    pub(super) fn known(&self, ssd: &Ssd) -> When {
        let mut when = When::at(self.at_least);
        for &(number, until) in &self.operations {
            let operation = &ssd.operations[number];
            match ssd.start(number) {
                Some(start) => {
                    let take = match until {
                        Until::Transferred => operation.until_transferred,
                        Until::Ended => operation.duration,
                    };
                    when.at_least = when.at_least.max(start + take);
                }
                None => when.operations.push((number, until)),
            }
        }
        when
    }

    pub(super) fn value(&self, ssd: &Ssd) -> u64 {
        let known = self.known(ssd);
        assert!(known.operations.is_empty(), "an instant is asked for before it is known");
        known.at_least
    }
}
