//! Which of CFDC's clusters has the lowest priority `IPD / (n^2 (globaltime - timestamp))`.
//!
//! Clusters of equal n and IPD are in the order of their timestamps, whatever `globaltime` is. So
//! there is one ordered set for each such pair, and choosing compares the oldest of each.

use destage_core::{Directory, Hashed, Page, Slot};
use std::collections::BTreeSet;

/// Size n and IPD of a cluster, in one word.
///
/// With clusters of at most 2^20 pages, n is at most 2^20 and IPD below 2^40.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair(u64);

impl Pair {
    pub(super) fn new(n: u64, ipd: u64) -> Self {
        debug_assert!(n <= 1 << 20 && ipd < 1 << 40, "clusters of at most 2^20 pages");
        Pair(n << 40 | ipd)
    }

    pub(super) fn n(self) -> u64 {
        self.0 >> 40
    }

    fn ipd(self) -> u64 {
        self.0 & ((1 << 40) - 1)
    }
}

/// A cluster among those of its pair: the order of its fields is that of the tie-break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Entry {
    pub(super) timestamp: u64,
    pub(super) number: u64,
    pub(super) index: u32,
}

/// What choosing looks at: the oldest cluster of a pair.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// n^2 / IPD, rounded: what a unit of age adds to the inverse priority. 0: the pair is gone.
    gain: f64,
    oldest: Entry,
}

/// All clusters that wait to be chosen.
pub(super) struct Waiting {
    pairs: Hashed, // pair -> index of the two tables
    heads: Vec<Head>,
    sets: Vec<BTreeSet<Entry>>,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Waiting { pairs: Hashed::new(), heads: Vec::new(), sets: Vec::new() }
    }

    pub(super) fn insert(&mut self, pair: Pair, entry: Entry) {
        let key = Page(pair.0);
        let Some(slot) = self.pairs.slot(key) else {
            let i = self.pairs.insert(key).index();
            let head =
                Head { gain: (pair.n() * pair.n()) as f64 / pair.ipd() as f64, oldest: entry };
            if i == self.heads.len() {
                self.heads.push(head);
                self.sets.push(BTreeSet::from([entry]));
            } else {
                self.heads[i] = head;
                self.sets[i].insert(entry);
            }
            return;
        };
        let i = slot.index();
        self.sets[i].insert(entry);
        self.heads[i].oldest = self.heads[i].oldest.min(entry);
    }

    pub(super) fn remove(&mut self, pair: Pair, entry: Entry) {
        let slot = self.pairs.slot(Page(pair.0)).expect("a cluster that waits is in a set");
        let i = slot.index();
        let removed = self.sets[i].remove(&entry);
        debug_assert!(removed, "a cluster waits under what it was filed under");
        if self.heads[i].oldest != entry {
            return;
        }
        match self.sets[i].first() {
            Some(&oldest) => self.heads[i].oldest = oldest,
            None => {
                self.heads[i].gain = 0.0;
                self.pairs.remove(slot);
            }
        }
    }

    /// Index of the cluster of lowest priority; ties: smaller timestamp, then smaller number.
    ///
    /// The comparison is exact; rounded values only pass over heads that are clearly behind.
    pub(super) fn lowest(&self, globaltime: u64) -> Option<u32> {
        let mut lowest: Option<(Priority, Entry)> = None;
        let mut behind = 0.0; // an inverse priority that the lowest one is certainly above
        for (i, head) in self.heads.iter().enumerate() {
            // As a signed number, which converts in one instruction.
            let age = (globaltime - head.oldest.timestamp) as i64;
            let inverse = age as f64 * head.gain;
            if inverse <= behind {
                continue;
            }
            let pair = Pair(self.pairs.page(Slot(i as u32)).0);
            let priority = Priority { ipd: pair.ipd(), n: pair.n(), age: age as u64 };
            if lowest.is_none_or(|(p, e)| priority.cmp(p).then(head.oldest.cmp(&e)).is_lt()) {
                lowest = Some((priority, head.oldest));
                // Rounding errors are below 2^-50 of the value.
                behind = inverse * (1.0 - 1.0 / (1u64 << 40) as f64);
            }
        }
        lowest.map(|(_, entry)| entry.index)
    }

    /// Asserts that exactly these clusters wait.
    pub(super) fn check(&self, filed: &[(Pair, Entry)]) {
        let mut waiting = 0;
        for (i, (head, set)) in self.heads.iter().zip(&self.sets).enumerate() {
            waiting += set.len();
            assert_eq!(head.gain > 0.0, !set.is_empty(), "an empty set has no pair");
            if let Some(oldest) = set.first() {
                assert_eq!(head.oldest, *oldest);
                let key = self.pairs.page(Slot(i as u32));
                assert_eq!(self.pairs.slot(key).map(Slot::index), Some(i));
            }
        }
        assert_eq!(waiting, filed.len());
        for (pair, entry) in filed {
            let slot = self.pairs.slot(Page(pair.0)).expect("a cluster that waits is in a set");
            assert!(self.sets[slot.index()].contains(entry));
        }
    }
}

/// `ipd / (n^2 age)`.
#[derive(Clone, Copy, Debug)]
struct Priority {
    ipd: u64,
    n: u64,
    age: u64,
}

impl Priority {
    /// Exactly: n^2 and IPD are at most 2^40, which leaves 2^48 dirty pages demoted before a
    /// product could pass 2^128.
    fn cmp(self, other: Priority) -> std::cmp::Ordering {
        let product = |a: Priority, b: Priority| {
            u128::from(a.ipd) * u128::from(b.n * b.n) * u128::from(b.age)
        };
        product(self, other).cmp(&product(other, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(clusters: &[(u64, u64, u64, u64)]) -> Waiting {
        let mut waiting = Waiting::new();
        for (index, &(n, ipd, timestamp, number)) in (0..).zip(clusters) {
            waiting.insert(Pair::new(n, ipd), Entry { timestamp, number, index });
        }
        waiting
    }

    #[test]
    fn equal_fractions_written_differently_tie_and_the_smaller_timestamp_wins() {
        // At time 10: 1 / (1 * 4), 2 / (4 * 2), 3 / (4 * 3): all are 1/4.
        let waiting = waiting(&[(1, 1, 6, 0), (2, 2, 8, 1), (2, 3, 7, 2)]);
        assert_eq!(waiting.lowest(10), Some(0));
    }

    #[test]
    fn equal_timestamps_leave_the_tie_to_the_smaller_number() {
        // 2 / (4 * 5) and 8 / (16 * 5).
        let waiting = waiting(&[(2, 2, 5, 9), (4, 8, 5, 3), (2, 2, 5, 4)]);
        assert_eq!(waiting.lowest(10), Some(1));
    }

    #[test]
    fn a_difference_far_below_the_margin_of_rounding_decides() {
        // 1 / (1 * age) against 4 / (4 * (age + 1)), whichever is looked at first.
        let now = (1 << 47) + 1;
        assert_eq!(waiting(&[(1, 1, 1, 0), (2, 4, 0, 1)]).lowest(now), Some(1));
        assert_eq!(waiting(&[(2, 4, 0, 1), (1, 1, 1, 0)]).lowest(now), Some(0));
    }

    #[test]
    fn the_largest_clusters_compare_exactly() {
        let (n, ipd, age) = (1 << 20, (1 << 40) - 1, (1 << 47) - 1);
        let p = |ipd, age| Priority { ipd, n, age };
        assert!(p(ipd, age).cmp(p(ipd, age + 1)).is_gt());
        assert!(p(ipd - 1, age).cmp(p(ipd, age)).is_lt());
    }

    #[test]
    fn a_pair_whose_last_cluster_has_left_is_not_chosen_and_its_place_is_used_again() {
        let mut waiting = waiting(&[(1, 1, 0, 0), (2, 9, 0, 1)]);
        waiting.remove(Pair::new(1, 1), Entry { timestamp: 0, number: 0, index: 0 });
        assert_eq!(waiting.lowest(10), Some(1));
        waiting.insert(Pair::new(3, 2), Entry { timestamp: 4, number: 7, index: 2 });
        assert_eq!(waiting.lowest(10), Some(2));
        assert_eq!(waiting.heads.len(), 2);
    }
}
