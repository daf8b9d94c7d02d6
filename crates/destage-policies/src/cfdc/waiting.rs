//! Choice of CFDC's cluster with the lowest priority `IPD / (n^2 (globaltime - timestamp))`.
//!
//! Clusters of equal n and IPD are in the order of their timestamps, whatever `globaltime` is. So
//! there is one queue for each such pair, and choosing compares the oldest of each: first rounded
//! and many at a time, then exactly those that are within a rounding of the lowest.

use destage_core::{Directory, Hashed, Page, Slot};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Size n and IPD of a cluster, in one word.
///
/// Size n and inter-page distance IPD of a cluster: of at most 2^20 pages, with IPD below 2^40.
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

/// The clusters of one pair. Of those that have left, all but the oldest may still be in here.
///
/// Most come in the order of their timestamps, since those are of late; a heap has the others.
#[derive(Default)]
struct Peers {
    in_order: VecDeque<Entry>,
    late: BinaryHeap<Reverse<Entry>>,
    live: usize,
}

impl Peers {
    fn push(&mut self, entry: Entry) {
        self.live += 1;
        if self.in_order.back().is_none_or(|last| *last < entry) {
            self.in_order.push_back(entry);
        } else {
            self.late.push(Reverse(entry));
        }
    }

    fn oldest(&self) -> Option<&Entry> {
        let first = self.in_order.front();
        match self.late.peek() {
            Some(Reverse(late)) if first.is_none_or(|first| late < first) => Some(late),
            _ => first,
        }
    }

    fn pop(&mut self) {
        let oldest = self.oldest();
        if oldest == self.in_order.front() {
            self.in_order.pop_front();
        } else {
            self.late.pop();
        }
    }

    fn len(&self) -> usize {
        self.in_order.len() + self.late.len()
    }

    fn retain(&mut self, waits: impl Fn(&Entry) -> bool) {
        self.in_order.retain(|entry| waits(entry));
        self.late.retain(|Reverse(entry)| waits(entry));
    }
}

/// Pairs that have a bound together.
const TOGETHER: usize = 16;

/// All clusters that wait to be chosen, in sets of equal pairs.
///
/// Of each set, the inverse priority of its oldest is a line over `globaltime`. A group of sets has
/// a line that none of theirs is above, from the time at which the group was looked at; most groups
/// stay below the highest set by that for long.
pub(super) struct Waiting {
    pairs: Hashed, // pair -> index of a set
    sets: Vec<Peers>,
    // Per set, filled up to whole groups.
    gains: Vec<f64>, // n^2 / IPD, rounded: what a unit of age adds to the inverse priority; 0: gone
    since: Vec<f64>, // timestamp of the oldest; below 2^53, hence exact
    bounds: Vec<Bound>, // per group
    heights: Vec<f64>, // per group, of the bounds, while the lowest priority is looked for
}

/// A line over time.
#[derive(Clone, Copy, Default)]
struct Bound {
    height: f64, // at time `at`
    at: f64,
    slope: f64,
}

impl Bound {
    #[inline(always)]
    fn height(&self, now: f64) -> f64 {
        self.height + self.slope * (now - self.at)
    }
}

impl Waiting {
    pub(super) fn new() -> Self {
        Waiting {
            pairs: Hashed::new(),
            sets: Vec::new(),
            gains: Vec::new(),
            since: Vec::new(),
            bounds: Vec::new(),
            heights: Vec::new(),
        }
    }

    /// Takes a cluster in; the set that it waits in.
    pub(super) fn insert(&mut self, pair: Pair, entry: Entry, globaltime: u64) -> u32 {
        let key = Page(pair.0);
        let set = match self.pairs.slot(key) {
            Some(slot) => slot.0,
            None => self.insert_pair(pair),
        };
        let i = set as usize;
        self.sets[i].push(entry);
        if (entry.timestamp as f64) < self.since[i] {
            self.since[i] = entry.timestamp as f64;
            let (gain, now) = (self.gains[i], globaltime as f64);
            let bound = &mut self.bounds[i / TOGETHER];
            *bound = Bound {
                height: larger(bound.height(now), (now - self.since[i]) * gain),
                at: now,
                slope: larger(bound.slope, gain),
            };
        }
        set
    }

    fn insert_pair(&mut self, pair: Pair) -> u32 {
        let i = self.pairs.insert(Page(pair.0)).index();
        if i == self.sets.len() {
            self.sets.push(Peers::default());
            let groups = self.sets.len().div_ceil(TOGETHER);
            self.gains.resize(groups * TOGETHER, 0.0);
            self.since.resize(groups * TOGETHER, 0.0);
            self.bounds.resize(groups, Bound::default());
        }
        self.gains[i] = (pair.n() * pair.n()) as f64 / pair.ipd() as f64;
        self.since[i] = f64::INFINITY;
        i as u32
    }

    /// A cluster of this set, filed at this time, has left; `waits` says which entries of the set
    /// still stand for one.
    pub(super) fn remove(&mut self, set: u32, timestamp: u64, waits: impl Fn(&Entry) -> bool) {
        let i = set as usize;
        let peers = &mut self.sets[i];
        peers.live -= 1;
        if timestamp as f64 > self.since[i] {
            if peers.len() > 2 * peers.live + 64 {
                peers.retain(waits);
            }
            return;
        }
        while peers.oldest().is_some_and(|entry| !waits(entry)) {
            peers.pop();
        }
        match peers.oldest() {
            Some(oldest) => self.since[i] = oldest.timestamp as f64,
            None => {
                self.gains[i] = 0.0;
                self.since[i] = 0.0;
                self.pairs.remove(Slot(set));
            }
        }
    }

    /// Index of the cluster of lowest priority; ties: smaller timestamp, then smaller number.
    ///
    /// The comparison is exact; rounded values only pass over sets that are clearly behind.
    pub(super) fn lowest(&mut self, globaltime: u64) -> Option<u32> {
        let now = globaltime as f64;
        self.heights.clear();
        self.heights.extend(self.bounds.iter().map(|bound| bound.height(now)));
        let likely = highest(&self.heights)?;
        let mut most = self.look_at(likely, now);
        for group in 0..self.heights.len() {
            if self.heights[group] > behind(most) {
                most = larger(most, self.look_at(group, now));
            }
        }
        let mut lowest = None;
        for group in 0..self.heights.len() {
            if self.heights[group] > behind(most) {
                self.compare(group, globaltime, behind(most), &mut lowest);
            }
        }
        lowest.map(|(_, entry): (Priority, Entry)| entry.index)
    }

    /// Brings the bound of a group up to date; its height.
    #[inline(always)]
    fn look_at(&mut self, group: usize, now: f64) -> f64 {
        let sets = group * TOGETHER..(group + 1) * TOGETHER;
        let (gains, since) = (&self.gains[sets.clone()], &self.since[sets]);
        let (mut heights, mut slopes) = ([0.0; 4], [0.0; 4]);
        for (gains, since) in gains.chunks_exact(4).zip(since.chunks_exact(4)) {
            for k in 0..4 {
                heights[k] = larger(heights[k], (now - since[k]) * gains[k]);
                slopes[k] = larger(slopes[k], gains[k]);
            }
        }
        let [height, slope] = [heights, slopes].map(|four| four.into_iter().fold(0.0, larger));
        self.bounds[group] = Bound { height, at: now, slope };
        self.heights[group] = height;
        height
    }

    /// Compares the sets of a group that are not behind.
    fn compare(
        &self,
        group: usize,
        globaltime: u64,
        behind: f64,
        lowest: &mut Option<(Priority, Entry)>,
    ) {
        let sets = group * TOGETHER..((group + 1) * TOGETHER).min(self.sets.len());
        for i in sets.filter(|&i| (globaltime as f64 - self.since[i]) * self.gains[i] > behind) {
            let Some(&oldest) = self.sets[i].oldest() else { continue };
            let pair = Pair(self.pairs.page(Slot(i as u32)).0);
            let age = globaltime - oldest.timestamp;
            let priority = Priority { ipd: pair.ipd(), n: pair.n(), age };
            if lowest.is_none_or(|(p, e)| priority.cmp(p).then(oldest.cmp(&e)).is_lt()) {
                *lowest = Some((priority, oldest));
            }
        }
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
            assert_eq!(own().min(), peers.oldest());
            assert_eq!(self.gains[i] > 0.0, peers.live > 0, "an empty set has no pair");
            if let Some(oldest) = own().min() {
                assert_eq!(self.since[i], oldest.timestamp as f64);
                let key = self.pairs.page(Slot(i as u32));
                assert_eq!(self.pairs.slot(key).map(Slot::index), Some(i));
            }
            let all = || peers.in_order.iter().chain(peers.late.iter().map(|Reverse(e)| e));
            let is_there = |entry| all().any(|e| e == entry);
            assert!(own().all(is_there), "a cluster that waits is in its set");
            assert!(peers.in_order.iter().is_sorted());
        }
    }
}

/// Index of the highest; `None` if none is above 0.
fn highest(heights: &[f64]) -> Option<usize> {
    let (mut highest, mut most) = (None, 0.0);
    for (i, &height) in heights.iter().enumerate() {
        if height > most {
            (highest, most) = (Some(i), height);
        }
    }
    highest
}

/// Height below which a set is clearly behind: rounding errors are below 2^-50 of a height.
#[inline(always)]
fn behind(most: f64) -> f64 {
    most * (1.0 - 1.0 / (1u64 << 40) as f64)
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
            waiting.insert(Pair::new(n, ipd), Entry { timestamp, number, index }, timestamp);
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
        waiting.insert(Pair::new(3, 2), Entry { timestamp: 4, number: 7, index: 2 }, 10);
        assert_eq!(waiting.lowest(10), Some(2));
        assert_eq!(waiting.sets.len(), 2);
    }

    #[test]
    fn clusters_that_leave_behind_the_oldest_are_forgotten_in_time() {
        let mut waiting = waiting(&[(1, 1, 0, 0)]);
        for index in 1..1000 {
            let entry = Entry { timestamp: u64::from(index), number: index.into(), index };
            let set = waiting.insert(Pair::new(1, 1), entry, entry.timestamp);
            waiting.remove(set, entry.timestamp, |entry| entry.index == 0);
        }
        assert!(waiting.sets[0].len() < 100);
        assert_eq!(waiting.lowest(1000), Some(0));
    }
}
