//! Stretches in which a unit serves collection operations, for `in_gc = executing`
//! (`docs/spec/device.md` 4.6).

use destage_core::Nanos;
use std::collections::VecDeque;

/// Stretches `[begin, end)` of a unit that serves first come, first served: in time order, and no
/// two of them touch.
#[derive(Clone, Default, Debug)]
pub(super) struct Stretches(VecDeque<[Nanos; 2]>);

impl Stretches {
    /// A collection operation was submitted at `now`, and is served from `begin` to `end`.
    pub(super) fn push(&mut self, now: Nanos, begin: Nanos, end: Nanos) {
        while self.0.front().is_some_and(|&[_, end]| end <= now) {
            self.0.pop_front();
        }
        match self.0.back_mut() {
            Some(last) if last[1] == begin => last[1] = end,
            _ if begin == end => {}
            _ => self.0.push_back([begin, end]),
        }
    }

    /// One is being served at `now`.
    pub(super) fn holds(&self, now: Nanos) -> bool {
        let next = self.0.partition_point(|&[_, end]| end <= now);
        self.0.get(next).is_some_and(|&[begin, _]| begin <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_holds_its_begin_and_not_its_end() {
        let mut stretches = Stretches::default();
        for [begin, end] in [[5, 8], [8, 9], [9, 9], [12, 20]] {
            stretches.push(0, begin, end);
        }
        assert_eq!(stretches.0, [[5, 9], [12, 20]]);
        let held: Vec<Nanos> = (0..25).filter(|&now| stretches.holds(now)).collect();
        assert_eq!(held, (5..9).chain(12..20).collect::<Vec<_>>());
        stretches.push(12, 30, 31);
        assert_eq!(stretches.0, [[12, 20], [30, 31]], "what has ended is forgotten");
    }
}
