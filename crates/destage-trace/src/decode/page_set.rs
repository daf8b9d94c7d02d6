//! The pages that a trace touches, and the rank of each among them.
//!
//! The dense id of a page is its rank in ascending (device, page) order, so two passes over the
//! requests are needed: the first [`mark`](PageSet::mark)s pages, then [`number`](PageSet::number)
//! counts, and the second asks for [`rank`](PageSet::rank)s.
//!
//! ```text
//!  page number   63 ......... 19 | 18 ...... 9 | 8 .. 6 | 5 .. 0
//!                root of device    mid, 1024     leaf, 8 words of 64 bits,
//!                                  leaves        each with the rank of its first page
//! ```
//!
//! Why not a hash table: a look-up here touches one cache line of the words, and the words of the
//! pages that a trace uses together lie together. A bitmap of one level would need memory for the
//! span, and devices are mostly empty. Page numbers that no bitmap suits (hashes of objects, a few
//! pages scattered over a huge span) go into a table that is sorted once: the structure never
//! holds more than a fixed number of bytes per touched page plus [`FLOOR_BYTES`].

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::error::{Result, TraceError};
use crate::record::Extent;

/// Pages per leaf: one leaf is two cache lines, so that a lone page costs little.
const LEAF_PAGES: u64 = 512;
const LEAF_WORDS: usize = 8;
const MID_LEAVES: usize = 1024;
/// Page number >> this = index into the root.
const ROOT_SHIFT: u32 = 19;
/// Roots up to 4 MiB: page numbers below 2^39, which is 2 PiB of 4-KiB pages.
const ROOT_LIMIT: u64 = 1 << 20;
/// Bitmaps may hold this much whatever they hold: a device that looks sparse early may fill up.
const FLOOR_BYTES: u64 = 128 << 20;
/// Beyond the floor, a device whose bitmap needs more than this per page is sorted instead.
const BYTES_PER_PAGE: u64 = 32;

/// Largest number of unique pages: ids are `u32`, and the top 256 values stay free as marks.
pub const MAX_UNIQUE_PAGES: u64 = (1 << 32) - 256;

/// Rows of so many pages are claimed before they are marked. Chosen: marking that many takes longer
/// than looking up a stretch.
const LONG_PAGES: u64 = 1 << 14;

/// Whether a row of this many pages is to be claimed first.
#[inline(always)]
pub(crate) fn is_long(pages: u64) -> bool {
    pages >= LONG_PAGES
}

/// 64 pages: which are touched, and the rank of the first of them.
#[derive(Clone, Copy, Default)]
struct Word {
    bits: u64,
    rank: u32,
}

#[derive(Default)]
struct DevicePages {
    /// Index into `mids`, in units of a mid; 0 = none.
    root: Vec<u32>,
    /// Pages of a space that no bitmap suits, with their ranks.
    sorted: Option<HashMap<u64, u32>>,
    /// Touched pages.
    unique: u64,
    /// Leaves and mids in use.
    bytes: u64,
    /// Stretches of pages, apart from each other, that long rows touch: first and last.
    claims: BTreeMap<u64, u64>,
}

impl DevicePages {
    /// Its bitmap needs more memory than a table.
    fn is_wasteful(&self) -> bool {
        self.bytes > BYTES_PER_PAGE * self.unique
    }
}

/// Touched pages of a run's devices.
pub(crate) struct PageSet {
    spaces: Vec<DevicePages>,
    /// Leaf numbers, 1024 to a mid; mid 0 and leaf 0 stand for "none".
    mids: Vec<u32>,
    words: Vec<Word>,
    free_leaves: Vec<u32>,
    free_mids: Vec<u32>,
    /// Leaves and mids in use.
    bytes: u64,
    unique: u64,
    /// Pages of all claims.
    claimed: u64,
    floor_bytes: u64,
}

impl PageSet {
    pub(crate) fn new() -> Self {
        Self::with_floor(FLOOR_BYTES)
    }

    /// With another floor, so that tests reach the sorted form with small traces.
    pub(crate) fn with_floor(floor_bytes: u64) -> Self {
        PageSet {
            spaces: Vec::new(),
            mids: vec![0; MID_LEAVES],
            words: vec![Word::default(); LEAF_WORDS],
            free_leaves: Vec::new(),
            free_mids: Vec::new(),
            bytes: 0,
            unique: 0,
            claimed: 0,
            floor_bytes,
        }
    }

    /// Makes room for devices `0..count`.
    pub(crate) fn grow(&mut self, count: usize) {
        if self.spaces.len() < count {
            self.spaces.resize_with(count, DevicePages::default);
        }
    }

    /// Touched pages of all devices.
    pub(crate) fn unique(&self) -> u64 {
        self.unique
    }

    /// Touched pages of one device.
    pub(crate) fn unique_of(&self, device: usize) -> u64 {
        self.spaces.get(device).map_or(0, |s| s.unique)
    }

    /// Claims the long ones among rows of a device.
    ///
    /// # Errors
    ///
    /// `Usage` if they alone touch more than [`MAX_UNIQUE_PAGES`]: known here before memory is
    /// taken for any of them, which is what a page size of some bytes would otherwise come to.
    pub(crate) fn claim_rows(
        &mut self,
        device: usize,
        firsts: &[u64],
        extents: &[u32],
    ) -> Result<()> {
        for (&first, &extent) in firsts.iter().zip(extents) {
            let pages = u64::from(Extent(extent).pages());
            if is_long(pages) {
                self.claim(device, first, first + (pages - 1))?;
            }
        }
        Ok(())
    }

    fn claim(&mut self, device: usize, first: u64, last: u64) -> Result<()> {
        let claims = &mut self.spaces[device].claims;
        let (mut from, mut to) = (first, last);
        while let Some((&start, &end)) = claims.range(..=to).next_back()
            && end >= from
        {
            claims.remove(&start);
            self.claimed -= end - start + 1;
            (from, to) = (from.min(start), to.max(end));
        }
        claims.insert(from, to);
        self.claimed += to - from + 1;
        if self.claimed > MAX_UNIQUE_PAGES { Err(too_many_pages(self.claimed)) } else { Ok(()) }
    }

    /// Marks the pages `first..=last`, claimed first if they are many.
    ///
    /// # Errors
    ///
    /// `Usage` above [`MAX_UNIQUE_PAGES`].
    pub(crate) fn mark_checked(&mut self, device: usize, first: u64, last: u64) -> Result<()> {
        if is_long((last - first).saturating_add(1)) {
            self.claim(device, first, last)?;
        }
        self.mark(device, first, last);
        if self.unique > MAX_UNIQUE_PAGES { Err(too_many_pages(self.unique)) } else { Ok(()) }
    }

    /// Marks rows of pages of a device below the count given to [`grow`](Self::grow).
    ///
    /// A loop of its own, with little else in it, so that the processor has many look-ups in
    /// flight at once (measured: two thirds of the time of marking each row as it is made).
    pub(crate) fn mark_rows(&mut self, device: usize, firsts: &[u64], extents: &[u32]) {
        let mut new = 0;
        for (&first, &extent) in firsts.iter().zip(extents) {
            let pages = Extent(extent).pages();
            // Most rows lie in one word.
            if (first & 63) + u64::from(pages) <= 64
                && let Some(at) = self.word_of(device, first)
            {
                let word = &mut self.words[at];
                let mask = (u64::MAX >> (64 - pages)) << (first & 63);
                let unmarked = mask & !word.bits;
                if unmarked != 0 {
                    new += u64::from(unmarked.count_ones());
                    word.bits |= mask;
                }
            } else {
                self.mark(device, first, first + u64::from(pages - 1));
            }
        }
        self.unique += new;
        self.spaces[device].unique += new;
    }

    /// Marks the pages `first..=last`.
    pub(crate) fn mark(&mut self, device: usize, first: u64, last: u64) {
        let mut page = first;
        loop {
            let end = (page | 63).min(last);
            if self.spaces[device].sorted.is_none() {
                let at = self.word_of(device, page).or_else(|| self.make_leaf(device, page));
                if let Some(at) = at {
                    let mask = (u64::MAX << (page & 63)) & (u64::MAX >> (63 - (end & 63)));
                    let word = &mut self.words[at];
                    let new = u64::from((mask & !word.bits).count_ones());
                    word.bits |= mask;
                    self.unique += new;
                    self.spaces[device].unique += new;
                }
            }
            if let Some(sorted) = &mut self.spaces[device].sorted {
                let before = sorted.len();
                for page in page..=end {
                    sorted.insert(page, 0);
                }
                let new = (sorted.len() - before) as u64;
                self.unique += new;
                self.spaces[device].unique += new;
            }
            if end == last {
                return;
            }
            page = end + 1;
        }
    }

    /// Index of the word that holds the page, if its leaf exists.
    #[inline(always)]
    fn word_of(&self, device: usize, page: u64) -> Option<usize> {
        let root = &self.spaces[device].root;
        let mid = *root.get((page >> ROOT_SHIFT) as usize)? as usize;
        let leaf = self.mids[mid * MID_LEAVES + (page / LEAF_PAGES) as usize % MID_LEAVES] as usize;
        if leaf == 0 {
            return None;
        }
        Some(leaf * LEAF_WORDS + (page >> 6) as usize % LEAF_WORDS)
    }

    /// Makes the leaf of a page; `None` if the device was turned into the sorted form instead.
    #[cold]
    fn make_leaf(&mut self, device: usize, page: u64) -> Option<usize> {
        let is_full = self.bytes > self.floor_bytes + BYTES_PER_PAGE * self.unique;
        if page >> ROOT_SHIFT >= ROOT_LIMIT || is_full && self.spaces[device].is_wasteful() {
            self.sort_instead(device);
            return None;
        }
        if is_full {
            // Many devices of a few pages each.
            let others = (0..self.spaces.len()).filter(|&other| other != device);
            let wasteful: Vec<usize> = others.filter(|&o| self.spaces[o].is_wasteful()).collect();
            wasteful.into_iter().for_each(|other| self.sort_instead(other));
        }
        let space = &mut self.spaces[device];
        let before = space.bytes;
        let top = (page >> ROOT_SHIFT) as usize;
        if space.root.len() <= top {
            space.root.resize(top + 1, 0);
        }
        if space.root[top] == 0 {
            space.root[top] = self.free_mids.pop().unwrap_or_else(|| {
                let mid = (self.mids.len() / MID_LEAVES) as u32;
                self.mids.resize(self.mids.len() + MID_LEAVES, 0);
                mid
            });
            space.bytes += 4 * MID_LEAVES as u64;
        }
        let leaf = self.free_leaves.pop().unwrap_or_else(|| {
            let leaf = (self.words.len() / LEAF_WORDS) as u32;
            self.words.resize(self.words.len() + LEAF_WORDS, Word::default());
            leaf
        });
        space.bytes += (LEAF_WORDS * size_of::<Word>()) as u64;
        self.bytes += space.bytes - before;
        let mid = space.root[top] as usize;
        self.mids[mid * MID_LEAVES + (page / LEAF_PAGES) as usize % MID_LEAVES] = leaf;
        Some(leaf as usize * LEAF_WORDS + (page >> 6) as usize % LEAF_WORDS)
    }

    /// Moves a device's pages from bitmap to table.
    #[cold]
    fn sort_instead(&mut self, device: usize) {
        let mut sorted = HashMap::with_capacity(self.spaces[device].unique as usize);
        let root = std::mem::take(&mut self.spaces[device].root);
        for_each_leaf(&root, &self.mids, |first, leaf| {
            for_each_bit(&self.words, first, leaf, |page| {
                sorted.insert(page, 0);
            });
        });
        for_each_leaf(&root, &self.mids, |_, leaf| {
            self.free_leaves.push(leaf as u32);
            self.words[leaf * LEAF_WORDS..(leaf + 1) * LEAF_WORDS].fill(Word::default());
        });
        for &mid in root.iter().filter(|mid| **mid != 0) {
            self.free_mids.push(mid);
            self.mids[mid as usize * MID_LEAVES..(mid as usize + 1) * MID_LEAVES].fill(0);
        }
        let space = &mut self.spaces[device];
        self.bytes -= std::mem::take(&mut space.bytes);
        space.sorted = Some(sorted);
    }

    /// Gives every page its rank, devices in the order given, and calls `emit` with each device
    /// and page in that order.
    ///
    /// # Errors
    ///
    /// `Usage` above [`MAX_UNIQUE_PAGES`], and what `emit` returns.
    pub(crate) fn number(
        &mut self,
        order: &[usize],
        mut emit: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        if self.unique > MAX_UNIQUE_PAGES {
            return Err(too_many_pages(self.unique));
        }
        let mut next = 0u32;
        for &device in order {
            let Some(space) = self.spaces.get_mut(device) else { continue };
            if let Some(sorted) = &mut space.sorted {
                let mut pages: Vec<u64> = sorted.keys().copied().collect();
                pages.sort_unstable();
                for page in pages {
                    if let Some(rank) = sorted.get_mut(&page) {
                        *rank = next;
                    }
                    next += 1;
                    emit(device, page)?;
                }
                continue;
            }
            let mut outcome = Ok(());
            let words = &mut self.words;
            for_each_leaf(&space.root, &self.mids, |first, leaf| {
                if outcome.is_err() {
                    return;
                }
                for word in &mut words[leaf * LEAF_WORDS..(leaf + 1) * LEAF_WORDS] {
                    word.rank = next;
                    next += word.bits.count_ones();
                }
                for_each_bit(words, first, leaf, |page| {
                    if outcome.is_ok() {
                        outcome = emit(device, page);
                    }
                });
            });
            outcome?;
        }
        Ok(())
    }

    /// Rank of a marked page, after [`number`](Self::number).
    #[inline(always)]
    pub(crate) fn rank(&self, device: usize, page: u64) -> u32 {
        match self.word_of(device, page) {
            Some(at) => {
                let word = self.words[at];
                word.rank + (word.bits & ((1u64 << (page & 63)) - 1)).count_ones()
            }
            None => self.rank_sorted(device, page),
        }
    }

    #[cold]
    fn rank_sorted(&self, device: usize, page: u64) -> u32 {
        let sorted = self.spaces[device].sorted.as_ref();
        *sorted.and_then(|s| s.get(&page)).expect("only marked pages are looked up")
    }
}

/// The error for a trace with more unique pages than ids.
pub(crate) fn too_many_pages(found: u64) -> TraceError {
    TraceError::usage(format!(
        "the trace touches {found} different pages or more, at most {MAX_UNIQUE_PAGES} can be \
             numbered: use a larger page size, fewer devices or a part of the trace"
    ))
}

/// Calls `f` with the first page and the number of every leaf, in ascending page order.
fn for_each_leaf(root: &[u32], mids: &[u32], mut f: impl FnMut(u64, usize)) {
    for (top, &mid) in root.iter().enumerate().filter(|(_, mid)| **mid != 0) {
        let leaves = &mids[mid as usize * MID_LEAVES..(mid as usize + 1) * MID_LEAVES];
        for (k, &leaf) in leaves.iter().enumerate().filter(|(_, leaf)| **leaf != 0) {
            f(((top as u64) << ROOT_SHIFT) + k as u64 * LEAF_PAGES, leaf as usize);
        }
    }
}

/// Calls `f` with every touched page of a leaf, ascending.
fn for_each_bit(words: &[Word], first: u64, leaf: usize, mut f: impl FnMut(u64)) {
    for (k, word) in words[leaf * LEAF_WORDS..(leaf + 1) * LEAF_WORDS].iter().enumerate() {
        let mut bits = word.bits;
        while bits != 0 {
            f(first + k as u64 * 64 + u64::from(bits.trailing_zeros()));
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Ranks and pages as a sorted set of (device, page) has them.
    fn agrees_with_a_sorted_set(floor: u64, extents: &[(usize, u64, u64)]) {
        let mut set = PageSet::with_floor(floor);
        set.grow(3);
        let mut model = BTreeSet::new();
        for &(device, first, pages) in extents {
            let last = first.saturating_add(pages - 1);
            set.mark(device, first, last);
            // Device 2 comes first in the order below.
            model.extend((first..=last).map(|page| ((device + 1) % 3, page)));
        }
        assert_eq!(set.unique(), model.len() as u64);
        let mut emitted = Vec::new();
        set.number(&[2, 0, 1], |device, page| {
            emitted.push(((device + 1) % 3, page));
            Ok(())
        })
        .expect("few pages");
        assert_eq!(emitted, model.iter().copied().collect::<Vec<_>>());
        for (rank, &(device, page)) in model.iter().enumerate() {
            assert_eq!(set.rank((device + 2) % 3, page), rank as u32);
        }
    }

    fn extents() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
        let page = prop_oneof![
            0u64..2000,
            0u64..1 << 22,
            (0u64..1 << 40).prop_map(|p| p & !0xfff),
            any::<u64>(),
            u64::MAX - 100..=u64::MAX,
        ];
        prop::collection::vec((0usize..3, page, prop_oneof![Just(1u64), 1u64..1500]), 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn ranks_are_those_of_a_sorted_set(extents in extents()) {
            agrees_with_a_sorted_set(FLOOR_BYTES, &extents);
        }

        #[test]
        fn ranks_do_not_depend_on_bitmap_or_table(extents in extents()) {
            agrees_with_a_sorted_set(0, &extents);
        }
    }

    #[test]
    fn claims_count_pages_once_and_refuse_too_many_before_any_is_marked() {
        let mut set = PageSet::new();
        set.grow(2);
        for (device, first, last, claimed) in [
            (0, 100, 199, 100),
            (0, 300, 399, 200),
            (0, 150, 349, 300),
            (0, 120, 130, 300),
            (1, 120, 130, 311),
            (0, 0, 1000, 1012),
        ] {
            set.claim(device, first, last).expect("few pages");
            assert_eq!(set.claimed, claimed);
        }
        let held = set.words.len();
        let error = set.claim(1, 1 << 40, (1 << 40) + MAX_UNIQUE_PAGES).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("can be numbered"), "{error}");
        assert_eq!((set.words.len(), set.unique()), (held, 0));
    }

    #[test]
    fn scattered_pages_do_not_keep_a_bitmap() {
        let mut set = PageSet::with_floor(1 << 16);
        set.grow(1);
        for page in 0..10_000u64 {
            set.mark(0, page * 4096, page * 4096);
        }
        assert!(set.spaces[0].sorted.is_some());
        assert!(set.words.len() * size_of::<Word>() < 1 << 19);
        assert_eq!(set.unique(), 10_000);
    }

    #[test]
    fn many_devices_of_a_few_pages_keep_no_bitmaps_and_a_full_one_does() {
        let mut set = PageSet::with_floor(1 << 20);
        let devices = 20_000;
        set.grow(devices + 1);
        for device in 0..devices {
            set.mark(device, 7, 7 + device as u64 % 3);
            if device % 4 == 0 {
                set.mark(devices, device as u64 * 32, device as u64 * 32 + 127);
            }
        }
        let held = set.words.len() * size_of::<Word>() + set.mids.len() * 4;
        // A bitmap each would be 84 MB.
        assert!(held < 30 << 20, "{held} bytes of bitmaps");
        assert!(set.spaces[devices].sorted.is_none());
        assert!(set.spaces[0].sorted.is_some());
        let mut pages = BTreeSet::new();
        let order: Vec<usize> = (0..=devices).collect();
        set.number(&order, |device, page| {
            assert!(pages.insert((device, page)));
            Ok(())
        })
        .expect("few pages");
        assert_eq!(pages.len() as u64, set.unique());
        for (rank, &(device, page)) in pages.iter().enumerate() {
            assert_eq!(set.rank(device, page), rank as u32);
        }
    }

    #[test]
    fn pages_close_together_keep_their_bitmap() {
        let mut set = PageSet::with_floor(0);
        set.grow(1);
        set.mark(0, 1 << 30, (1 << 30) + 100_000);
        for page in 0..100_000u64 {
            set.mark(0, page, page);
        }
        assert!(set.spaces[0].sorted.is_none());
    }
}
