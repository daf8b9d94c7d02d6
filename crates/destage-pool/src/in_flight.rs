//! Store operations under way: one for a page at a time.
//!
//! A thread that holds pages here waits for the store alone, so waits are short.

use crate::lock::lock;
use crate::sync::{Condvar, Mutex, MutexGuard};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::ops::Range;

/// Pages on which the store is at work.
#[derive(Default)]
pub(crate) struct InFlight {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    pages: HashSet<u64, FixedState>,
    discards: Vec<Range<u64>>,
    waiting: usize, // threads
}

impl State {
    fn is_busy(&self, page: u64) -> bool {
        self.pages.contains(&page) || self.discards.iter().any(|range| range.contains(&page))
    }
}

impl InFlight {
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = self.ended.wait(state).expect("no holder of this lock panics");
        state.waiting -= 1;
        state
    }

    /// Waking up is a call of the system, also where no thread waits.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let some = state.waiting > 0;
        drop(state);
        if some {
            self.ended.notify_all();
        }
    }

    /// Takes all the pages, once no thread has any of them.
    pub(crate) fn take<'a>(&'a self, pages: &'a [u64]) -> Taken<'a> {
        let mut state = lock(&self.state);
        while pages.iter().any(|&page| state.is_busy(page)) {
            state = self.wait(state);
        }
        state.pages.extend(pages);
        Taken { all: self, pages }
    }

    /// Takes a range: no access begins there from now on; waits until those under way end.
    pub(crate) fn take_range(&self, range: Range<u64>) -> TakenRange<'_> {
        let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        let mut state = lock(&self.state);
        while state.discards.iter().any(overlaps) {
            state = self.wait(state);
        }
        state.discards.push(range.clone());
        while state.pages.iter().any(|page| range.contains(page)) {
            state = self.wait(state);
        }
        TakenRange { all: self, range }
    }
}

/// Pages that are the holder's until it is dropped.
pub(crate) struct Taken<'a> {
    all: &'a InFlight,
    pages: &'a [u64],
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.all.state);
        for page in self.pages {
            state.pages.remove(page);
        }
        self.all.wake(state);
    }
}

/// A range that is the holder's until it is dropped.
pub(crate) struct TakenRange<'a> {
    all: &'a InFlight,
    range: Range<u64>,
}

impl Drop for TakenRange<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.all.state);
        let at = state.discards.iter().position(|range| *range == self.range);
        state.discards.swap_remove(at.expect("taken before"));
        self.all.wake(state);
    }
}
