//! MIN: the fewest misses that any policy without bypass can have; an offline bound.
//!
//! Belady. A study of replacement algorithms for a virtual-storage computer. IBM Systems Journal
//! 5(2), 1966.
//!
//! Rules. Miss, cache full: the page whose next access (read or write alike) lies farthest ahead is
//! evicted. Pages that are never accessed again are farther than all others.
//!
//! Readings.
//! * Among pages that are never accessed again, the one whose last access is oldest goes. This
//!   cannot change hits, but it changes which dirty pages are flushed and when.
//! * It is blind to dirtiness: optimal in misses, **not** in flash writes.
//!
//! State. No heap: next accesses are distinct and a hit always takes the smallest of them, the one
//! at *now*. So time is cut into buckets of `W` accesses, each with a chain of the pages whose next
//! access falls into it, and a hit leaves its old chain as it is: no chain is walked once its time
//! has come. None needs to be, if `W` is at most the frames: `s` distinct next accesses after *now*
//! reach to *now* + `s`, and so beyond the bucket of *now*.
//!
//! ```text
//!   now
//!    ▼                                       ┌── front ──▶
//!    |....|....|....|....|....|....|....|....|....|....|....      time, in buckets
//!           │    │         │    │    │          sorted, farthest last:
//!           5    2         8    1    7          the next victims
//!                │                   │
//!                9                   3
//! ```
//!
//! The farthest next uses are kept sorted, in `front`: the last bucket that was opened, and all
//! that came in behind it since.
//!
//! Cost. O(1) amortised, but for a search in a three-level bitmap when a bucket is opened; eight
//! bytes per page, and about a third of a byte per access of the trace.

use crate::fifos::take;
use crate::info::StackOrder;
use crate::{Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Entry, Lookup, NEVER, Page, Plan, Policy, Request, Requirements,
    Slot, Table,
};
use std::collections::VecDeque;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "min",
    title: "Belady's MIN, the offline optimum",
    source: "Belady, IBM Systems Journal 5(2), 1966",
    about: "Evict the page whose next access lies farthest ahead: a bound for all others.",
    time: "O(1) amortised",
    stack_order: Some(StackOrder::NextUse),
    ..Info::BLANK
};

/// End of a chain.
const NONE: u32 = u32::MAX;

/// Most accesses of a bucket, as a power of two: about one page a bucket on the traces measured.
const MAX_WIDTH_LOG2: u32 = 4;

/// Pages in `front` before half of them go to their buckets; more than a bucket holds.
const FRONT_MAX: usize = 48;

/// Next use of a resident page.
#[derive(Clone, Copy, Default)]
struct Future {
    chain: u32, // next page of its bucket
    offset: u8, // of its next access in that bucket
    page: Brief,
}

impl Entry for Future {
    #[inline(always)]
    fn known(&self) -> bool {
        self.page.known()
    }
}

/// The policy.
pub struct Min<D> {
    pages: Table<D, Future>, // every resident page
    never: VecDeque<Slot>,   // those never accessed again, last access oldest first
    front: Vec<(u64, Slot)>, // next accesses in buckets >= opened, ascending; past ones are stale
    opened: u64,             // first bucket that belongs to front
    chains: Vec<u32>,        // head of each bucket's chain
    filled: Bitmap,          // buckets with a chain
    width_log2: u32,         // W, accesses per bucket
    now: u64,                // accesses so far; during an access one more than its number
    resident: u32,
    frames: u32,
}

impl<D: Directory> Min<D> {
    /// An empty cache of `setup.frames` frames. Accesses count from the first one that it is given.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Min {
            pages: Table::new(directory),
            never: VecDeque::new(),
            front: Vec::with_capacity(FRONT_MAX + 1),
            opened: NEVER,
            chains: Vec::new(),
            filled: Bitmap::default(),
            width_log2: MAX_WIDTH_LOG2.min(setup.frames.ilog2()),
            now: 0,
            resident: 0,
            frames: setup.frames,
        }
    }

    /// Notes the next access of a page that has just been accessed.
    #[inline(always)]
    fn expect(&mut self, slot: Slot, next_use: u64) {
        if next_use == NEVER {
            self.never.push_back(slot);
        } else if next_use >> self.width_log2 < self.opened {
            self.chain(slot, next_use);
        } else {
            self.insert_front(slot, next_use);
        }
    }

    /// Puts a page into the bucket of its next access.
    #[inline(always)]
    fn chain(&mut self, slot: Slot, next_use: u64) {
        let bucket = (next_use >> self.width_log2) as usize;
        if bucket >= self.chains.len() {
            self.lengthen(bucket);
        }
        let future = &mut self.pages[slot];
        future.offset = (next_use & ((1 << self.width_log2) - 1)) as u8;
        future.chain = self.chains[bucket];
        self.chains[bucket] = slot.0;
        self.filled.set(bucket);
    }

    #[cold]
    #[inline(never)]
    fn lengthen(&mut self, bucket: usize) {
        let buckets = (bucket + 1).next_power_of_two().max(64);
        self.chains.resize(buckets, NONE);
        self.filled.lengthen(buckets);
    }

    #[inline(always)]
    fn insert_front(&mut self, slot: Slot, next_use: u64) {
        let nearer = self.front.iter().rposition(|&(other, _)| other < next_use);
        self.front.insert(nearer.map_or(0, |at| at + 1), (next_use, slot));
        if self.front.len() > FRONT_MAX {
            self.spill_front();
        }
    }

    /// Gives the nearer half of `front` back to the buckets.
    #[cold]
    #[inline(never)]
    fn spill_front(&mut self) {
        let middle = self.front[self.front.len() / 2].0;
        self.opened = (middle >> self.width_log2) + 1;
        let stays = self.front.partition_point(|&(next, _)| next >> self.width_log2 < self.opened);
        for i in 0..stays {
            let (next_use, slot) = self.front[i];
            // A stale entry's page has another next access by now, or is gone.
            if next_use >= self.now {
                self.chain(slot, next_use);
            }
        }
        self.front.drain(..stays);
    }

    /// Takes the farthest page out.
    #[inline(always)]
    fn farthest(&mut self) -> Slot {
        if let Some(slot) = self.never.pop_front() {
            return slot;
        }
        loop {
            match self.front.pop() {
                Some((next_use, slot)) if next_use >= self.now => return slot,
                // The farthest is in the past, so all of them are.
                Some(_) => self.front.clear(),
                None => self.open_bucket(),
            }
        }
    }

    /// Moves the pages of the last filled bucket to `front`.
    #[inline(always)]
    fn open_bucket(&mut self) {
        let end = usize::try_from(self.opened).unwrap_or(usize::MAX).min(self.chains.len());
        let bucket = self.filled.last_before(end).expect("a full buffer has pages ahead of now");
        let start = (bucket as u64) << self.width_log2;
        let mut at = std::mem::replace(&mut self.chains[bucket], NONE);
        self.filled.clear(bucket);
        self.opened = bucket as u64;
        while at != NONE {
            let Future { chain, offset, .. } = self.pages[Slot(at)];
            self.front.push((start + u64::from(offset), Slot(at)));
            at = chain;
        }
        if self.front.len() > 1 {
            self.front.sort_unstable_by_key(|&(next_use, _)| next_use);
        }
        // The nodes of buckets that are opened soon are cold; ask for them now.
        if let Some(&slot) = self.chains.get(bucket.wrapping_sub(8)) {
            self.pages.prefetch_slot(Slot(slot));
        }
    }
}

impl<D: Directory> Policy for Min<D> {
    type Miss = ();
    const REQUIREMENTS: Requirements = Requirements::NEXT_USE;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.now += 1;
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        self.pages[slot].page.access(r.op.is_write());
        self.expect(slot, r.next_use);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.farthest();
        let dirty = self.pages[victim].page.dirty();
        plan.evict(self.pages.remove(victim), dirty);
        self.resident -= 1;
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let page = Brief::new(r.op.is_write(), 0);
        let slot = self.pages.insert(r.page, Future { chain: NONE, offset: 0, page });
        self.expect(slot, r.next_use);
        self.resident += 1;
        slot
    }

    counted! { self: self.resident, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.pages.iter() {
            visit(self.pages.page(slot), self.pages[slot].page.dirty());
        }
    }

    /// The caller says of a page that is trimmed before its next access that it is never
    /// accessed again: so it waits among those.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].page.dirty();
        let known = take(&mut self.never, slot);
        assert!(known, "a page is trimmed whose next use was said to come first");
        self.pages.remove(slot);
        self.resident -= 1;
        Some(dirty)
    }

    hints! { self.pages: prefetch }

    fn check(&self) {
        assert!(self.resident <= self.frames);
        assert_eq!(self.pages.iter().count(), self.resident as usize);
        assert!(1 << self.width_log2 <= self.frames, "the farthest is never in now's bucket");
        assert!(self.front.is_sorted_by(|a, b| a.0 < b.0), "next accesses are distinct");
        let mut seen: Vec<Slot> = self.never.iter().copied().collect();
        for &(next_use, slot) in &self.front {
            assert!(next_use >> self.width_log2 >= self.opened, "nearer pages are in their bucket");
            if next_use >= self.now {
                seen.push(slot);
            }
        }
        for bucket in 0..self.chains.len() {
            assert_eq!(self.filled.has(bucket), self.chains[bucket] != NONE);
            // The chain of a bucket whose time has come is stale.
            if bucket as u64 <= self.now >> self.width_log2 {
                continue;
            }
            assert!((bucket as u64) < self.opened || self.chains[bucket] == NONE);
            let mut at = self.chains[bucket];
            while at != NONE {
                seen.push(Slot(at));
                at = self.pages[Slot(at)].chain;
            }
        }
        assert!(seen.iter().all(|&slot| self.pages[slot].known()), "only resident pages wait");
        let waiting = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), waiting, "a page waits once");
    }
}

/// A set of small numbers that finds the largest one below a bound in three steps.
#[derive(Default)]
struct Bitmap {
    words: [Vec<u64>; 3], // a bit of level i + 1 says that a word of level i is not 0
}

impl Bitmap {
    /// Room for `0..numbers`.
    fn lengthen(&mut self, numbers: usize) {
        let mut bits = numbers;
        for level in &mut self.words {
            bits = bits.div_ceil(64);
            level.resize(bits, 0);
        }
    }

    #[inline(always)]
    fn has(&self, number: usize) -> bool {
        self.words[0][number / 64] & 1 << (number % 64) != 0
    }

    #[inline(always)]
    fn set(&mut self, number: usize) {
        let word = &mut self.words[0][number / 64];
        let was_empty = *word == 0;
        *word |= 1 << (number % 64);
        if was_empty {
            self.words[1][number / 64 / 64] |= 1 << (number / 64 % 64);
            self.words[2][number / 64 / 64 / 64] |= 1 << (number / 64 / 64 % 64);
        }
    }

    #[inline(always)]
    fn clear(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.words {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The largest number of the set below `end`.
    #[inline(always)]
    fn last_before(&self, end: usize) -> Option<usize> {
        let mut end = end;
        // Up until a word has a bit below `end`, ...
        for (i, level) in self.words.iter().enumerate() {
            let below = level.get(end / 64).map_or(0, |word| word & ((1 << (end % 64)) - 1));
            if below != 0 {
                let mut at = end / 64 * 64 + below.ilog2() as usize;
                // ... then down along the last bits.
                for lower in self.words[..i].iter().rev() {
                    at = at * 64 + lower[at].ilog2() as usize;
                }
                return Some(at);
            }
            end /= 64;
        }
        // Beyond 64^3 numbers the last level has several words.
        let word = self.words[2][..end.min(self.words[2].len())].iter().rposition(|&w| w != 0)?;
        let mut at = word;
        for level in self.words.iter().rev() {
            at = at * 64 + level[at].ilog2() as usize;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, victims};
    use destage_core::{Dense, Op::*};

    #[test]
    fn the_page_accessed_again_last_goes() {
        let mut min = Min::new(&Setup::new(3), Dense::new(6));
        let steps = drive(&mut min, &reads(&[1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]));
        assert_eq!(victims(&steps), [3, 4, 1, 2]);
    }

    #[test]
    fn of_pages_never_accessed_again_the_one_accessed_last_longest_ago_goes() {
        let mut min = Min::new(&Setup::new(3), Dense::new(8));
        let steps =
            drive(&mut min, &[(Write, 1), (Read, 2), (Read, 3), (Read, 1), (Read, 4), (Read, 5)]);
        assert_eq!(steps[4].evicted, [(2, false)]);
        assert_eq!(steps[5].evicted, [(3, false)]);
        let mut min = Min::new(&Setup::new(2), Dense::new(8));
        let steps = drive(&mut min, &[(Write, 1), (Read, 2), (Read, 1), (Read, 3), (Read, 4)]);
        assert_eq!(steps[4].evicted, [(1, true)]);
    }

    #[test]
    fn with_one_frame_every_other_page_misses() {
        let mut min = Min::new(&Setup::new(1), Dense::new(4));
        let steps = drive(&mut min, &reads(&[1, 1, 2, 1, 2, 2]));
        assert_eq!(steps.iter().filter(|s| s.hit).count(), 2);
    }

    #[test]
    fn after_a_long_run_of_hits_the_front_holds_no_stale_victim() {
        // 40 pages in 30 frames fill `front`; 500 hits leave it behind; then a new page comes, and
        // 10, 11, .. 29, 0, .. 9 is the order in which the old ones are accessed again.
        let mut trace: Vec<u64> = (0..40).chain(0..40).collect();
        trace.extend((0..500).map(|i| i % 30));
        trace.extend((100..200).flat_map(|i| [i, i % 30]));
        let mut min = Min::new(&Setup::new(30), Dense::new(200));
        let steps = drive(&mut min, &reads(&trace));
        assert!(steps[110..580].iter().all(|step| step.hit));
        assert_eq!(steps[580].evicted, [(9, false)]);
    }

    #[test]
    fn the_bitmap_finds_what_a_search_finds() {
        let mut bitmap = Bitmap::default();
        bitmap.lengthen(1 << 20);
        let mut set: Vec<usize> = vec![0, 63, 64, 4095, 4096, 262_143, 262_144, 900_000];
        for &number in &set {
            bitmap.set(number);
        }
        while let Some(largest) = set.pop() {
            assert_eq!(bitmap.last_before(1 << 20), Some(largest));
            assert_eq!(bitmap.last_before(largest), set.last().copied());
            bitmap.clear(largest);
        }
        assert_eq!(bitmap.last_before(1 << 20), None);
    }
}
