//! Which of CFDC's clusters has the lowest priority `IPD / (n^2 (globaltime - timestamp))`.
//!
//! Clusters of equal n and IPD are in the order of their timestamps, whatever `globaltime` is. So
//! there is one heap for each such pair, and choosing compares the oldest of each: first rounded
//! and many at a time, then exactly those that are within a rounding of the lowest.

use destage_core::{Directory, Hashed, Page, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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

/// The clusters of one pair. Of those that have left, all but the oldest may still be in the heap.
#[derive(Default)]
struct Peers {
    heap: BinaryHeap<Reverse<Entry>>,
    live: usize,
}

/// Pairs that choosing looks at together.
const TOGETHER: usize = 8;

/// All clusters that wait to be chosen, in sets of equal pairs.
pub(super) struct Waiting {
    pairs: Hashed, // pair -> index of a set
    sets: Vec<Peers>,
    // Per set, filled up to whole groups, what choosing looks at.
    gains: Vec<f64>, // n^2 / IPD, rounded: what a unit of age adds to the inverse priority; 0: gone
    since: Vec<f64>, // timestamp of the oldest; below 2^53, hence exact
    best: Vec<f64>,  // the highest inverse priority of each group
}

impl Waiting {
    pub(super) fn new() -> Self {
        Waiting {
            pairs: Hashed::new(),
            sets: Vec::new(),
            gains: Vec::new(),
            since: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Takes a cluster in; the set that it waits in.
    pub(super) fn insert(&mut self, pair: Pair, entry: Entry) -> u32 {
        let key = Page(pair.0);
        let set = match self.pairs.slot(key) {
            Some(slot) => slot.0,
            None => self.insert_pair(pair),
        };
        let i = set as usize;
        self.sets[i].heap.push(Reverse(entry));
        self.sets[i].live += 1;
        self.since[i] = self.since[i].min(entry.timestamp as f64);
        set
    }

    #[cold]
    fn insert_pair(&mut self, pair: Pair) -> u32 {
        let i = self.pairs.insert(Page(pair.0)).index();
        if i == self.sets.len() {
            self.sets.push(Peers::default());
            let groups = self.sets.len().div_ceil(TOGETHER);
            self.gains.resize(groups * TOGETHER, 0.0);
            self.since.resize(groups * TOGETHER, 0.0);
            self.best.resize(groups, 0.0);
        }
        self.gains[i] = (pair.n() * pair.n()) as f64 / pair.ipd() as f64;
        self.since[i] = f64::INFINITY;
        i as u32
    }

    /// A cluster of this set, filed at this time, has left; `waits` says which entries of the set
    /// still stand for one.
    ///
    /// Returns the oldest of the set if that was the one that left.
    pub(super) fn remove(
        &mut self,
        set: u32,
        timestamp: u64,
        waits: impl Fn(&Entry) -> bool,
    ) -> Option<Entry> {
        let i = set as usize;
        let peers = &mut self.sets[i];
        peers.live -= 1;
        if timestamp as f64 > self.since[i] {
            if peers.heap.len() > 2 * peers.live + 64 {
                peers.heap.retain(|Reverse(entry)| waits(entry));
            }
            return None;
        }
        while let Some(Reverse(entry)) = peers.heap.peek()
            && !waits(entry)
        {
            peers.heap.pop();
        }
        let oldest = peers.heap.peek().map(|&Reverse(oldest)| oldest);
        match oldest {
            Some(oldest) => self.since[i] = oldest.timestamp as f64,
            None => {
                self.gains[i] = 0.0;
                self.since[i] = 0.0;
                self.pairs.remove(Slot(set));
            }
        }
        oldest
    }

    /// Index of the cluster of lowest priority; ties: smaller timestamp, then smaller number.
    ///
    /// The comparison is exact; rounded values only pass over sets that are clearly behind.
    pub(super) fn lowest(&mut self, globaltime: u64) -> Option<u32> {
        let now = globaltime as f64;
        let groups = self.gains.chunks_exact(TOGETHER).zip(self.since.chunks_exact(TOGETHER));
        let mut most = 0.0;
        for (best, (gains, since)) in self.best.iter_mut().zip(groups) {
            let mut inverse = [0.0; TOGETHER];
            for ((inverse, gain), since) in inverse.iter_mut().zip(gains).zip(since) {
                *inverse = (now - since) * gain;
            }
            *best = inverse.into_iter().fold(0.0, larger);
            most = larger(most, *best);
        }
        // Rounding errors are below 2^-50 of the value.
        let behind = most * (1.0 - 1.0 / (1u64 << 40) as f64);
        let mut lowest: Option<(Priority, Entry)> = None;
        for (group, _) in self.best.iter().enumerate().filter(|&(_, &best)| best > behind) {
            let sets = group * TOGETHER..((group + 1) * TOGETHER).min(self.sets.len());
            for i in sets.filter(|&i| (now - self.since[i]) * self.gains[i] > behind) {
                let Some(&Reverse(oldest)) = self.sets[i].heap.peek() else { continue };
                let pair = Pair(self.pairs.page(Slot(i as u32)).0);
                let age = globaltime - oldest.timestamp;
                let priority = Priority { ipd: pair.ipd(), n: pair.n(), age };
                if lowest.is_none_or(|(p, e)| priority.cmp(p).then(oldest.cmp(&e)).is_lt()) {
                    lowest = Some((priority, oldest));
                }
            }
        }
        lowest.map(|(_, entry)| entry.index)
    }

    /// Pair of a set.
    pub(super) fn pair(&self, set: u32) -> Pair {
        Pair(self.pairs.page(Slot(set)).0)
    }

    /// Asserts that exactly these clusters wait, each in its set.
    pub(super) fn check(&self, filed: &[(u32, Entry)]) {
        assert_eq!(filed.len(), self.sets.iter().map(|peers| peers.live).sum::<usize>());
        for (i, peers) in self.sets.iter().enumerate() {
            let own =
                || filed.iter().filter(|&&(set, _)| set as usize == i).map(|(_, entry)| entry);
            assert_eq!(own().count(), peers.live, "a set knows how many wait in it");
            assert_eq!(own().min(), peers.heap.peek().map(|Reverse(oldest)| oldest));
            assert_eq!(self.gains[i] > 0.0, peers.live > 0, "an empty set has no pair");
            if let Some(oldest) = own().min() {
                assert_eq!(self.since[i], oldest.timestamp as f64);
                let key = self.pairs.page(Slot(i as u32));
                assert_eq!(self.pairs.slot(key).map(Slot::index), Some(i));
            }
            let in_heap = |entry| peers.heap.iter().any(|Reverse(e)| e == entry);
            assert!(own().all(in_heap), "a cluster that waits is in its set");
        }
    }
}

/// The larger of two numbers, in the form that the processor has an instruction for.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
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
        let mut waiting = waiting(&[(1, 1, 6, 0), (2, 2, 8, 1), (2, 3, 7, 2)]);
        assert_eq!(waiting.lowest(10), Some(0));
    }

    #[test]
    fn equal_timestamps_leave_the_tie_to_the_smaller_number() {
        // 2 / (4 * 5) and 8 / (16 * 5).
        let mut waiting = waiting(&[(2, 2, 5, 9), (4, 8, 5, 3), (2, 2, 5, 4)]);
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
        waiting.remove(0, 0, |entry| entry.index != 0);
        assert_eq!(waiting.lowest(10), Some(1));
        waiting.insert(Pair::new(3, 2), Entry { timestamp: 4, number: 7, index: 2 });
        assert_eq!(waiting.lowest(10), Some(2));
        assert_eq!(waiting.sets.len(), 2);
    }

    #[test]
    fn clusters_that_leave_behind_the_oldest_are_forgotten_in_time() {
        let mut waiting = waiting(&[(1, 1, 0, 0)]);
        for index in 1..1000 {
            let entry = Entry { timestamp: u64::from(index), number: index.into(), index };
            let set = waiting.insert(Pair::new(1, 1), entry);
            waiting.remove(set, entry.timestamp, |entry| entry.index == 0);
        }
        assert!(waiting.sets[0].heap.len() < 100);
        assert_eq!(waiting.lowest(1000), Some(0));
    }
}
