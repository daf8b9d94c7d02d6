//! Resident pages in any number of recency lists: what ECR and GCaR keep, a list per unit.
//!
//! ```text
//!   page ──table──▶ frame ──▶ { stamp, newer, older, list, dirty }
//!
//!   list 0   newest ◀─▶ ... ◀─▶ oldest      oldest[0] = its stamp
//!   list 1   newest ◀─▶ ... ◀─▶ oldest      oldest[1]
//!   ...                                     ...
//! ```
//!
//! Every access stamps its page, so pages of different lists can be compared: the older has the
//! smaller stamp. An eviction looks at the oldest page of every list; their stamps stand side by
//! side, 64 units in 512 bytes, and nothing else is read for the lists that lose.
//!
//! Against [`List`](destage_core::List): lists come into being when they are first used, as many
//! as the drive has units, and what is linked is frames, not pages. A device's working set is some
//! thousand times its cache, so nodes by page would be cold at every step; nodes by frame stay in
//! the processor's caches, and each access has one cold load, the page's entry in the table.
//!
//! Cost. O(1) but for the search over lists, which is O(lists).

use destage_core::pages::prefetch;
use destage_core::{Directory, Entry, Page, Plan, Slot, Table};

/// No frame.
pub(crate) const NIL: u32 = u32::MAX;

/// The stamp of an empty list's oldest page: newer than every other.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Frame of a page + 1, or 0 if it is not resident.
#[derive(Clone, Copy, Default, Debug)]
struct At(u32);

impl Entry for At {
    #[inline(always)]
    fn known(&self) -> bool {
        self.0 != 0
    }
}

/// State of a resident page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameState {
    /// Number of its last access.
    pub(crate) stamp: u64,
    newer: u32, // frames; NIL at the ends
    older: u32, // of a free frame: the next free one
    /// The list that it is on.
    pub(crate) list: u32,
    slot: u32, // names the page in the table
    /// Newer than flash.
    pub(crate) dirty: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    newest: u32,
    oldest: u32,
}

/// All resident pages, each on one list.
#[derive(Clone, Debug)]
pub(crate) struct UnitLists<D> {
    table: Table<D, At>,
    held: Vec<FrameState>, // by frame; grows with what is resident
    free: u32,             // first of the frames that were left, or NIL
    ends: Vec<Ends>,       // by list
    oldest: Vec<u64>,      // by list: stamp of its oldest page, or EMPTY
    resident: u32,
    accesses: u64, // stamped so far
}

impl<D: Directory> UnitLists<D> {
    /// Nothing resident, no list known.
    pub(crate) fn new(directory: D) -> Self {
        UnitLists {
            table: Table::new(directory),
            held: Vec::new(),
            free: NIL,
            ends: Vec::new(),
            oldest: Vec::new(),
            resident: 0,
            accesses: 0,
        }
    }

    /// The page's slot and frame.
    #[inline(always)]
    pub(crate) fn find(&self, page: Page) -> Option<(Slot, u32)> {
        self.table.find(page).map(|slot| (slot, self.table[slot].0 - 1))
    }

    /// State of the page in a frame.
    #[inline(always)]
    pub(crate) fn held(&self, frame: u32) -> &FrameState {
        &self.held[frame as usize]
    }

    /// The page in a frame becomes dirty if `written`, and the newest of `list`.
    #[inline(always)]
    pub(crate) fn touch(&mut self, frame: u32, list: u32, written: bool) {
        self.unlink(frame);
        self.held[frame as usize].dirty |= written;
        self.push(frame, list);
    }

    /// A page that is not resident becomes it, as the newest of `list`. Its slot and frame.
    #[inline(always)]
    pub(crate) fn insert(&mut self, page: Page, list: u32, dirty: bool) -> (Slot, u32) {
        let held = FrameState { stamp: 0, newer: NIL, older: NIL, list, slot: 0, dirty };
        let frame = self.free;
        let frame = if frame == NIL {
            self.held.push(held);
            self.held.len() as u32 - 1
        } else {
            self.free = self.held[frame as usize].older;
            self.held[frame as usize] = held;
            frame
        };
        let slot = self.table.insert(page, At(frame + 1));
        self.held[frame as usize].slot = slot.0;
        self.push(frame, list);
        self.resident += 1;
        (slot, frame)
    }

    /// The page in a frame leaves.
    #[inline(always)]
    pub(crate) fn evict(&mut self, frame: u32, plan: &mut Plan) {
        self.unlink(frame);
        let held = &mut self.held[frame as usize];
        held.older = self.free;
        self.free = frame;
        self.resident -= 1;
        plan.evict(self.table.remove(Slot(held.slot)), held.dirty);
    }

    /// The page in a frame is forgotten. Its dirty bit.
    pub(crate) fn forget(&mut self, frame: u32) -> bool {
        self.unlink(frame);
        let held = &mut self.held[frame as usize];
        held.older = self.free;
        self.free = frame;
        self.resident -= 1;
        self.table.remove(Slot(held.slot));
        held.dirty
    }

    /// By list, the stamp of its oldest page; [`EMPTY`] if it has none.
    #[inline(always)]
    pub(crate) fn oldest_stamps(&self) -> &[u64] {
        &self.oldest
    }

    /// The oldest page of a list, if it has one.
    #[inline(always)]
    pub(crate) fn oldest_of(&self, list: u32) -> Option<u32> {
        let ends = self.ends.get(list as usize)?;
        (ends.oldest != NIL).then_some(ends.oldest)
    }

    /// The oldest page of all lists that are wanted. A list is asked about only if its oldest page
    /// would win: of 64 lists some five are, unless most are unwanted.
    #[inline(always)]
    pub(crate) fn oldest(&self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let mut oldest = EMPTY;
        let mut winner = None;
        for (list, &stamp) in (0..).zip(&self.oldest) {
            if stamp < oldest && wanted(list) {
                oldest = stamp;
                winner = Some(list);
            }
        }
        self.oldest_of(winner?)
    }

    /// The logical name of the page in a frame.
    #[inline(always)]
    pub(crate) fn page(&self, frame: u32) -> Page {
        self.table.page(Slot(self.held[frame as usize].slot))
    }

    /// Pages resident.
    #[inline(always)]
    pub(crate) fn resident(&self) -> u32 {
        self.resident
    }

    /// Makes the page of a frame, which is on no list, the newest of one.
    #[inline(always)]
    fn push(&mut self, frame: u32, list: u32) {
        if list as usize >= self.ends.len() {
            self.know(list);
        }
        let stamp = self.accesses;
        self.accesses += 1;
        let ends = &mut self.ends[list as usize];
        let next = std::mem::replace(&mut ends.newest, frame);
        let held = &mut self.held[frame as usize];
        (held.stamp, held.list, held.newer, held.older) = (stamp, list, NIL, next);
        if next == NIL {
            ends.oldest = frame;
            self.oldest[list as usize] = stamp;
        } else {
            self.held[next as usize].newer = frame;
        }
    }

    #[inline(always)]
    fn unlink(&mut self, frame: u32) {
        let FrameState { newer, older, list, .. } = self.held[frame as usize];
        let ends = &mut self.ends[list as usize];
        if newer == NIL {
            ends.newest = older;
        } else {
            self.held[newer as usize].older = older;
        }
        if older == NIL {
            ends.oldest = newer;
            let stamp = self.held.get(newer as usize).map_or(EMPTY, |held| held.stamp);
            self.oldest[list as usize] = stamp;
        } else {
            self.held[older as usize].newer = newer;
        }
    }

    /// Lists up to this one exist from now on.
    #[cold]
    #[inline(never)]
    fn know(&mut self, list: u32) {
        let lists = list as usize + 1;
        self.ends.resize(lists, Ends { newest: NIL, oldest: NIL });
        self.oldest.resize(lists, EMPTY);
    }

    /// Frames of a list, newest first.
    pub(crate) fn iter(&self, list: u32) -> impl Iterator<Item = u32> {
        let mut at = self.ends[list as usize].newest;
        std::iter::from_fn(move || {
            let frame = at;
            at = self.held.get(frame as usize)?.older;
            Some(frame)
        })
    }

    /// Number of lists that exist.
    pub(crate) fn lists(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Every resident page with its dirty bit.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in 0..self.lists() {
            self.iter(list).for_each(|frame| visit(self.page(frame), self.held(frame).dirty));
        }
    }

    /// Hint: the page is about to be looked up.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: Page) {
        self.table.prefetch(page);
    }

    /// Hint, after [`prefetch`](UnitLists::prefetch): what is known of the page is about to be
    /// used.
    #[inline(always)]
    pub(crate) fn prefetch_held(&self, page: Page) {
        // The hint for a request without pages may name a page that no access ever does.
        if D::DENSE
            && page.0 < self.table.slots() as u64
            && let Some((_, frame)) = self.find(page)
        {
            prefetch(&self.held, frame as usize);
        }
    }

    /// Asserts that links agree in both directions, that stamps fall from newest to oldest, and
    /// that every page is found where it is.
    pub(crate) fn check(&self) {
        let mut count = 0;
        for list in 0..self.lists() {
            let (mut newer, mut last) = (NIL, self.accesses);
            for frame in self.iter(list) {
                let held = self.held(frame);
                assert_eq!(held.newer, newer, "links agree in both directions");
                assert_eq!(held.list, list, "a page knows its list");
                assert!(held.stamp < last, "a list is in recency order");
                assert_eq!(self.find(self.page(frame)), Some((Slot(held.slot), frame)));
                (newer, last) = (frame, held.stamp);
                count += 1;
            }
            assert_eq!(self.ends[list as usize].oldest, newer, "a list ends with its oldest page");
            let oldest = if newer == NIL { EMPTY } else { last };
            assert_eq!(self.oldest[list as usize], oldest, "a list's oldest stamp is true");
        }
        assert_eq!(count, self.resident, "every resident page is on one list");
        let free = std::iter::successors((self.free != NIL).then_some(self.free), |&frame| {
            let next = self.held[frame as usize].older;
            (next != NIL).then_some(next)
        });
        assert_eq!(self.held.len(), count as usize + free.count(), "a frame is held or free");
    }
}

/// Sets a value beside the frames; a frame that is used for the first time is the next one.
#[inline(always)]
pub(crate) fn set_by_frame<T>(values: &mut Vec<T>, frame: u32, value: T) {
    match values.get_mut(frame as usize) {
        Some(place) => *place = value,
        None => values.push(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{mixed, show};
    use destage_core::{Dense, Hashed};

    fn order<D: Directory>(lists: &UnitLists<D>, list: u32) -> String {
        lists.check();
        show(lists.iter(list).map(|frame| lists.page(frame).0))
    }

    #[test]
    fn pages_stand_newest_first_on_lists_that_come_with_them() {
        let mut lists = UnitLists::new(Hashed::new());
        for (page, list) in [(1 << 60, 3), (7, 3), (9, 0), (5, 3)] {
            lists.insert(Page(page), list, false);
        }
        assert_eq!(lists.lists(), 4);
        assert_eq!(order(&lists, 3), format!("5 7 {}", 1_u64 << 60));
        assert_eq!(lists.oldest_stamps(), [2, EMPTY, EMPTY, 0]);
        let (_, frame) = lists.find(Page(1 << 60)).unwrap();
        lists.touch(frame, 3, false);
        assert_eq!(lists.oldest_stamps()[3], 1, "page 7");
        lists.touch(frame, 900, true);
        assert_eq!((order(&lists, 3).as_str(), lists.lists()), ("5 7", 901));
        assert!(lists.held(frame).dirty);
    }

    #[test]
    fn a_frame_that_was_left_is_used_again() {
        let mut lists = UnitLists::new(Dense::new(64));
        let mut plan = Plan::new();
        for (op, page) in mixed(2000, 48) {
            if let Some((_, frame)) = lists.find(Page(page)) {
                lists.touch(frame, (page % 5) as u32, op.is_write());
                continue;
            }
            while lists.resident() >= 9 - u32::from(page.is_multiple_of(7)) {
                let frame = lists.oldest(|_| true).unwrap();
                lists.evict(frame, &mut plan);
                lists.check();
            }
            lists.insert(Page(page), (page % 5) as u32, op.is_write());
            lists.check();
        }
        assert_eq!(lists.held.len(), 9);
        let dirty = plan.evicted().iter().filter(|evicted| evicted.dirty).count();
        assert!(0 < dirty && dirty < plan.evicted().len());
    }

    #[test]
    fn the_oldest_page_is_that_of_the_lists_that_are_wanted() {
        let mut lists = UnitLists::new(Dense::new(64));
        for page in [4, 2, 3, 1, 0] {
            lists.insert(Page(page), page as u32, false);
        }
        let oldest = |wanted: &dyn Fn(u32) -> bool| lists.oldest(wanted).map(|f| lists.page(f).0);
        assert_eq!(oldest(&|_| true), Some(4));
        assert_eq!(oldest(&|list| list < 2), Some(1));
        assert_eq!(oldest(&|_| false), None);
    }
}
