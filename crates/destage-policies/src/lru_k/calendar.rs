//! Resident pages by a time of theirs that only grows: whose is the least?
//!
//! A calendar queue (Brown, CACM 31(10), 1988): pages wait in buckets of so many accesses each, and
//! only those before the first bucket, the *front*, are in order. The time that a page waits under
//! may be older than its own; it is put right when its bucket comes to the front, so that a hit
//! does nothing here.
//!
//! ```text
//!   front: a heap │ bucket │ bucket │ .. │ bucket of the present
//!   noted < start ┘        └ 2^width accesses
//! ```
//!
//! Cost. O(1) amortised for a page that comes or leaves, but for the heap, which holds one bucket
//! and what came in late. There are so many buckets and no more, so memory does not grow with the
//! run.

use destage_core::Slot;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of a calendar, a power of two.
const BUCKETS: u64 = 4096;

/// Frames that share a bucket's width: with 2^12 buckets the calendar spans eight times as many
/// accesses as there are frames, and hardly a page is put right before it is asked for.
const FRAMES_PER_ACCESS: u32 = 512;

/// Pages of a bucket that are asked for before their turn.
const AHEAD: usize = 8;

/// Pages by time.
#[derive(Debug)]
pub(super) struct Calendar {
    front: BinaryHeap<Reverse<(u64, u32)>>, // noted time and slot, before the first bucket
    buckets: Vec<Vec<Slot>>,                // bucket i of time: i modulo BUCKETS
    first: u64,                             // number of the first bucket
    waiting: usize,                         // pages in buckets
    width: u32,                             // log2 of the accesses of a bucket
}

impl Calendar {
    /// An empty calendar of `frames` frames.
    pub(super) fn new(frames: u32) -> Self {
        let accesses = (frames / FRAMES_PER_ACCESS).clamp(64, 1 << 30).next_power_of_two();
        Calendar {
            front: BinaryHeap::new(),
            buckets: vec![Vec::new(); BUCKETS as usize],
            first: 0,
            waiting: 0,
            width: accesses.trailing_zeros(),
        }
    }

    /// Files a page that is not here.
    #[inline(always)]
    pub(super) fn insert(&mut self, time: u64, slot: Slot) {
        if self.waiting == 0 && self.front.is_empty() {
            self.first = time >> self.width;
        }
        self.file(time, slot);
    }

    #[inline(always)]
    fn file(&mut self, time: u64, slot: Slot) {
        let bucket = time >> self.width;
        if bucket < self.first {
            self.front.push(Reverse((time, slot.0)));
        } else {
            // What is too late for the last bucket waits there.
            let bucket = bucket.min(self.first + BUCKETS - 1);
            self.buckets[(bucket % BUCKETS) as usize].push(slot);
            self.waiting += 1;
        }
    }

    /// Takes a page out, wherever it is filed; false if it is not here. Walks over all pages.
    pub(super) fn remove(&mut self, slot: Slot) -> bool {
        for bucket in &mut self.buckets {
            if let Some(at) = bucket.iter().position(|&other| other == slot) {
                bucket.swap_remove(at);
                self.waiting -= 1;
                return true;
            }
        }
        let before = self.front.len();
        self.front.retain(|&Reverse((_, other))| other != slot.0);
        self.front.len() < before
    }

    /// Takes the page whose own time is least.
    ///
    /// `time_of` says a page's own time, or, by `None`, that the page is no longer one of this
    /// calendar's: it is then taken out. `prefetch` brings near what `time_of` looks at.
    #[inline(always)]
    pub(super) fn take_least(
        &mut self,
        mut time_of: impl FnMut(Slot) -> Option<u64>,
        prefetch: impl Fn(Slot),
    ) -> Option<Slot> {
        loop {
            let Some(Reverse((noted, slot))) = self.front.pop() else {
                if self.waiting == 0 {
                    return None;
                }
                self.open(&mut time_of, &prefetch);
                continue;
            };
            if let Some(&Reverse((_, next))) = self.front.peek() {
                prefetch(Slot(next));
            }
            let slot = Slot(slot);
            match time_of(slot) {
                Some(time) if time == noted => return Some(slot),
                Some(time) => self.insert(time, slot),
                None => {}
            }
        }
    }

    /// The first bucket goes to the front, but for pages whose own time is later.
    fn open(&mut self, time_of: &mut impl FnMut(Slot) -> Option<u64>, prefetch: &impl Fn(Slot)) {
        let at = (self.first % BUCKETS) as usize;
        let mut bucket = std::mem::take(&mut self.buckets[at]);
        self.first += 1;
        self.waiting -= bucket.len();
        for (i, &slot) in bucket.iter().enumerate() {
            if let Some(&soon) = bucket.get(i + AHEAD) {
                prefetch(soon);
            }
            if let Some(time) = time_of(slot) {
                self.file(time, slot);
            }
        }
        bucket.clear();
        // Its memory serves again, unless its place has been taken.
        if self.buckets[at].is_empty() {
            self.buckets[at] = bucket;
        }
    }

    /// Every page, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> {
        let front = self.front.iter().map(|&Reverse((_, slot))| Slot(slot));
        front.chain(self.buckets.iter().flatten().copied())
    }

    /// Asserts that no page is noted under a time later than its own.
    pub(super) fn check(&self, time_of: impl Fn(Slot) -> Option<u64>) {
        assert_eq!(self.waiting, self.buckets.iter().map(Vec::len).sum::<usize>());
        for &Reverse((noted, slot)) in &self.front {
            assert!(noted >> self.width < self.first, "the front is before the first bucket");
            assert!(time_of(Slot(slot)).is_none_or(|time| noted <= time), "times only grow");
        }
        for bucket in self.first..self.first + BUCKETS {
            for &slot in &self.buckets[(bucket % BUCKETS) as usize] {
                let own = time_of(slot);
                assert!(own.is_none_or(|time| bucket <= time >> self.width), "times only grow");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Pages with times, as a policy would keep them.
    struct Kept {
        calendar: Calendar,
        times: BTreeMap<u32, u64>,
    }

    impl Kept {
        fn insert(&mut self, slot: u32, time: u64) {
            self.times.insert(slot, time);
            self.calendar.insert(time, Slot(slot));
        }

        fn pop(&mut self) -> Option<u64> {
            let times = &self.times;
            let slot = self.calendar.take_least(|slot| times.get(&slot.0).copied(), |_| ())?;
            self.times.remove(&slot.0)
        }
    }

    #[test]
    fn pages_leave_by_their_own_times_however_far_those_lie_apart() {
        let mut kept = Kept { calendar: Calendar::new(8), times: BTreeMap::new() };
        let span = BUCKETS << kept.calendar.width;
        let mut state = 1_u64;
        let mut now = 1;
        for step in 0..20_000_u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            now += if state >> 60 == 0 { state % (3 * span) } else { 1 + state % 100 };
            match (state >> 40) % 4 {
                0 => kept.insert(step, now),
                1 => kept.insert(step, now - (state >> 20) % now), // late
                2 => {
                    // A hit: the time grows, the calendar stays.
                    if let Some(time) = kept.times.values_mut().nth((state % 7) as usize) {
                        *time = now;
                    }
                }
                _ => {
                    let least = kept.times.values().min().copied();
                    assert_eq!(kept.pop(), least, "step {step}");
                }
            }
            if step % 500 == 0 {
                kept.calendar.check(|slot| kept.times.get(&slot.0).copied());
            }
        }
    }
}
