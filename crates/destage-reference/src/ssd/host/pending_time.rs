//! Instants that the host waits for, which may lie ahead.

use crate::ssd::queue::Ssd;
use crate::ssd::way::Sent;

/// An instant that may lie ahead: `at_least`, and not before some operations have come so far and
/// at most some of others are ahead.
#[derive(Clone, Default, PartialEq)]
pub(super) struct PendingTime {
    pub(super) at_least: u64,
    pub(super) operations: Vec<(usize, Until)>,
    /// Names of instants.
    pub(super) instants: Vec<usize>,
    /// So many of these instants may still be ahead (7.4, `staged`).
    pub(super) all_but: Vec<(u64, Vec<PendingTime>)>,
}

/// How far an operation has to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Until {
    Transferred,
    Ended,
}

impl PendingTime {
    pub(super) fn at(instant: u64) -> PendingTime {
        PendingTime { at_least: instant, ..PendingTime::default() }
    }

    /// When the host sees a page read or written: done, or so far (`docs/spec/device-today.md`
    /// 5.3).
    pub(super) fn of(sent: Sent, until: Until) -> PendingTime {
        match sent {
            Sent { done: Some(done), .. } => PendingTime::at(done),
            Sent { later: Some(later), .. } => {
                PendingTime { instants: vec![later], ..PendingTime::default() }
            }
            Sent { operation, .. } => {
                let operations = operation.into_iter().map(|number| (number, until)).collect();
                PendingTime { operations, ..PendingTime::default() }
            }
        }
    }

    pub(super) fn max(&self, other: &PendingTime) -> PendingTime {
        // Frames that one group left wait for the same operations.
        let mut operations = [&self.operations[..], &other.operations[..]].concat();
        operations.sort_unstable();
        operations.dedup();
        let mut instants = [&self.instants[..], &other.instants[..]].concat();
        instants.sort_unstable();
        instants.dedup();
        let all_but = [&self.all_but[..], &other.all_but[..]].concat();
        PendingTime { at_least: self.at_least.max(other.at_least), operations, instants, all_but }
    }

    /// The instant as far as it is known: operations that tell theirs are not waited for any more.
    pub(super) fn known(&self, ssd: &Ssd) -> PendingTime {
        let mut when = PendingTime::at(self.at_least);
        for &(number, until) in &self.operations {
            let operation = &ssd.operations[number];
            if ssd.config.steps.suspends_programs {
                let passed = match until {
                    Until::Transferred => operation.transferred,
                    Until::Ended => operation.end,
                };
                match passed {
                    Some(at) => when.at_least = when.at_least.max(at),
                    None => when.operations.push((number, until)),
                }
                continue;
            }
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
        for &instant in &self.instants {
            match ssd.instants[instant] {
                Some(at) => when.at_least = when.at_least.max(at),
                None => when.instants.push(instant),
            }
        }
        for (most, instants) in &self.all_but {
            let instants: Vec<PendingTime> =
                instants.iter().map(|instant| instant.known(ssd)).collect();
            if instants.iter().all(PendingTime::is_known) {
                let mut ends: Vec<u64> = instants.iter().map(|instant| instant.at_least).collect();
                ends.sort_unstable();
                let latest = ends.iter().rev().nth(usize::try_from(*most).unwrap_or(usize::MAX));
                when.at_least = when.at_least.max(latest.copied().unwrap_or(0));
            } else {
                when.all_but.push((*most, instants));
            }
        }
        when
    }

    /// The instant, with this one for all that is not known yet.
    pub(super) fn with(&self, ssd: &Ssd, unknown: u64) -> u64 {
        let when = self.known(ssd);
        let mut at = when.at_least;
        if !when.operations.is_empty() || !when.instants.is_empty() {
            at = at.max(unknown);
        }
        for (most, instants) in &when.all_but {
            let mut ends: Vec<u64> =
                instants.iter().map(|instant| instant.with(ssd, unknown)).collect();
            ends.sort_unstable();
            let latest = ends.iter().rev().nth(usize::try_from(*most).unwrap_or(usize::MAX));
            at = at.max(latest.copied().unwrap_or(0));
        }
        at
    }

    pub(super) fn is_known(&self) -> bool {
        self.operations.is_empty() && self.instants.is_empty() && self.all_but.is_empty()
    }

    pub(super) fn value(&self, ssd: &Ssd) -> u64 {
        let known = self.known(ssd);
        assert!(known.is_known(), "an instant is asked for before it is known");
        known.at_least
    }
}
