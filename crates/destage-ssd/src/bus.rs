//! Reservations of a shared channel (`docs/spec/device.md` 4.4).

use destage_core::Nanos;
use std::collections::VecDeque;

/// The reserved intervals `[a, b)` of one channel: disjoint, ascending, touching ones joined.
#[derive(Clone, Default, Debug)]
pub struct Reservations(VecDeque<(Nanos, Nanos)>);

impl Reservations {
    /// Reserves `length` from the earliest instant, not before `ready`, at which it fits between
    /// what is reserved. Returns its end. Nothing is reserved for a length of 0.
    pub fn reserve(&mut self, ready: Nanos, length: Nanos) -> Nanos {
        if length == 0 {
            return ready;
        }
        let intervals = &mut self.0;
        let mut start = ready;
        let mut at = intervals.partition_point(|&(_, end)| end <= ready);
        while let Some(&(from, to)) = intervals.get(at) {
            if start + length <= from {
                break;
            }
            start = to;
            at += 1;
        }
        let end = start + length;
        let joins_next = intervals.get(at).is_some_and(|next| next.0 == end);
        let joins_last = at > 0 && intervals[at - 1].1 == start;
        match (joins_last, joins_next) {
            (true, true) => {
                intervals[at - 1].1 = intervals[at].1;
                intervals.remove(at);
            }
            (true, false) => intervals[at - 1].1 = end,
            (false, true) => intervals[at].0 = start,
            (false, false) => intervals.insert(at, (start, end)),
        }
        end
    }

    /// Forgets what ends at or before `now`: no later phase is ready before it.
    pub fn forget(&mut self, now: Nanos) {
        while self.0.front().is_some_and(|&(_, end)| end <= now) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_the_first_gap_that_is_long_enough() {
        let mut bus = Reservations::default();
        assert_eq!(bus.reserve(10, 10), 20);
        assert_eq!(bus.reserve(25, 5), 30);
        assert_eq!(bus.reserve(12, 6), 36, "the gap of 5 is too short");
        assert_eq!(bus.reserve(12, 5), 25, "it just fits: intervals may touch");
        assert_eq!(bus.0, [(10, 36)]);
        assert_eq!(bus.reserve(0, 10), 10);
        assert_eq!(bus.0, [(0, 36)]);
    }

    #[test]
    fn a_transfer_of_no_length_reserves_nothing_and_does_not_wait() {
        let mut bus = Reservations::default();
        bus.reserve(0, 100);
        assert_eq!(bus.reserve(50, 0), 50);
        bus.forget(99);
        assert_eq!(bus.0.len(), 1);
        bus.forget(100);
        assert!(bus.0.is_empty());
    }
}
