//! Which pages are dirty, which are unsynced, and how many are in limbo.
//!
//! The mark of a page is in its frame; these sets follow it, changed under the frame's lock, so
//! that a flush sees every page whose guard was dropped before it.

use crate::lock::lock;
use crate::page_set::PageSet;
use crate::sync::{AtomicUsize, Mutex};
use std::sync::atomic::Ordering::Relaxed;

/// Set membership of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Class {
    pub(crate) dirty: bool,
    pub(crate) unsynced: bool,
    pub(crate) limbo: bool,
    /// In limbo, and neither an access nor the store has to do with it.
    pub(crate) idle_limbo: bool,
}

/// The sets of all pages of a pool.
#[derive(Default)]
pub(crate) struct Marks {
    sets: Mutex<Sets>,
    limbo: AtomicUsize,
    limbo_max: AtomicUsize,
    idle_limbo: AtomicUsize,
    pending: AtomicUsize,
}

#[derive(Default)]
struct Sets {
    dirty: PageSet,
    dirty_limbo: PageSet,
    unsynced: PageSet,
}

fn follow(set: &mut PageSet, page: u64, before: bool, after: bool) {
    match (before, after) {
        (false, true) => set.add(page),
        (true, false) => set.remove(page),
        _ => {}
    }
}

fn count(counter: &AtomicUsize, before: bool, after: bool) {
    match (before, after) {
        (false, true) => _ = counter.fetch_add(1, Relaxed),
        (true, false) => _ = counter.fetch_sub(1, Relaxed),
        _ => {}
    }
}

impl Marks {
    /// A frame has changed. Its lock is held.
    #[inline]
    pub(crate) fn moved(&self, page: u64, before: Class, after: Class) {
        if before != after {
            self.changed(page, before, after);
        }
    }

    fn changed(&self, page: u64, before: Class, after: Class) {
        count(&self.limbo, before.limbo, after.limbo);
        count(&self.idle_limbo, before.idle_limbo, after.idle_limbo);
        count(&self.pending, before.dirty, after.dirty);
        if after.limbo && !before.limbo {
            self.limbo_max.fetch_max(self.limbo.load(Relaxed), Relaxed);
        }
        let marked = |class: Class| (class.dirty, class.unsynced, class.dirty && class.limbo);
        if marked(before) != marked(after) {
            let mut sets = lock(&self.sets);
            follow(&mut sets.dirty, page, before.dirty, after.dirty);
            let in_limbo = |class: Class| class.dirty && class.limbo;
            follow(&mut sets.dirty_limbo, page, in_limbo(before), in_limbo(after));
            follow(&mut sets.unsynced, page, before.unsynced, after.unsynced);
        }
    }

    /// Dirty pages, ascending.
    pub(crate) fn dirty(&self) -> Vec<u64> {
        lock(&self.sets).dirty.in_range(0..u64::MAX).collect()
    }

    /// Dirty pages in limbo, ascending.
    pub(crate) fn dirty_limbo(&self) -> Vec<u64> {
        lock(&self.sets).dirty_limbo.in_range(0..u64::MAX).collect()
    }

    /// Unsynced pages. The set is empty afterwards: what is written from now on is distinguished
    /// from earlier writes.
    pub(crate) fn take_unsynced(&self) -> PageSet {
        std::mem::take(&mut lock(&self.sets).unsynced)
    }

    /// The page was written after the set was taken.
    pub(crate) fn is_unsynced(&self, page: u64) -> bool {
        lock(&self.sets).unsynced.has(page)
    }

    /// Unsynced pages of a range, ascending.
    pub(crate) fn unsynced_in(&self, range: std::ops::Range<u64>) -> Vec<u64> {
        lock(&self.sets).unsynced.in_range(range).collect()
    }

    /// Dirty pages now.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Relaxed)
    }

    /// Pages in limbo now.
    pub(crate) fn limbo(&self) -> usize {
        self.limbo.load(Relaxed)
    }

    /// Most pages in limbo at a time.
    pub(crate) fn limbo_max(&self) -> usize {
        self.limbo_max.load(Relaxed)
    }

    /// Pages in limbo without a guard.
    pub(crate) fn idle_limbo(&self) -> usize {
        self.idle_limbo.load(Relaxed)
    }
}
