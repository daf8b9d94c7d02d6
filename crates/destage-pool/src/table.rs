//! The frames of all pages in memory, by page.
//!
//! A frame is found, and somebody's hand put on it, in one step: so none is taken out between.

use crate::apart::Apart;
use crate::bytes::{PageBytes, PageLayout};
use crate::frame::{Beside, Frame, FrameState};
use crate::quick::{Arrived, Quick};
use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, SHARDS};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Shard = HashMap<u64, Arc<Frame>, FixedState>;

/// Page to frame.
pub(crate) struct Table {
    shards: Box<[Apart<RwLock<Shard>>]>,
    pub(crate) beside: Beside,
    /// Memory of pages that have left, for those that come: a sync frees all of limbo on one
    /// thread. The standard library's lock: no other is taken under it, in no schedule.
    spares: Apart<Mutex<Vec<PageBytes>>>,
    most_spares: usize,
}

impl Table {
    /// For this many frames at a time and `most_spares` spare ones at most.
    pub(crate) fn new(frames: usize, most_spares: usize) -> Table {
        let shards = (0..SHARDS).map(|_| Apart::default()).collect();
        let beside = Beside { marks: Apart::default(), quick: Quick::new(frames) };
        Table { shards, beside, spares: Apart::default(), most_spares }
    }

    fn spares(&self) -> MutexGuard<'_, Vec<PageBytes>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of a page: of one that has left, or new.
    pub(crate) fn spare(&self, layout: PageLayout) -> PageBytes {
        let spare = PageBytes::spare(layout).or_else(|| self.spares().pop());
        spare.unwrap_or_else(|| PageBytes::new(layout))
    }

    fn keep(&self, frame: Arc<Frame>) {
        let bytes = Arc::into_inner(frame).and_then(Frame::into_bytes);
        if let Some(bytes) = bytes.and_then(PageBytes::keep) {
            let mut spares = self.spares();
            if spares.len() < self.most_spares {
                spares.push(bytes);
            }
        }
    }

    #[inline]
    fn read(&self, page: u64) -> RwLockReadGuard<'_, Shard> {
        self.shards[(page % SHARDS) as usize].read().expect("no holder of this lock panics")
    }

    #[inline]
    fn write(&self, page: u64) -> RwLockWriteGuard<'_, Shard> {
        self.shards[(page % SHARDS) as usize].write().expect("no holder of this lock panics")
    }

    /// Does something with the page's frame, if it is there.
    #[inline]
    pub(crate) fn with<R>(
        &self,
        page: u64,
        f: impl FnOnce(&Arc<Frame>, &mut FrameState) -> R,
    ) -> Option<R> {
        let shard = self.read(page);
        let frame = shard.get(&page)?;
        Some(f(frame, &mut frame.lock(&self.beside)))
    }

    /// Does something while the processor fetches the page's frame, if it is there. The frame stays
    /// in the table meanwhile.
    #[inline]
    pub(crate) fn near<R>(&self, page: u64, f: impl FnOnce(Option<&Arc<Frame>>) -> R) -> R {
        let shard = self.read(page);
        self.beside.quick.prefetch(page);
        let frame = shard.get(&page).inspect(|frame| frame.prefetch_state());
        f(frame)
    }

    /// Takes the shared latch of a page whose frame is in the table, and stays there meanwhile, and
    /// an access with it, without the frame's lock.
    #[inline]
    pub(crate) fn arrives(&self, page: u64, frame: &Arc<Frame>) -> bool {
        match self.beside.quick.arrive(page) {
            None => false,
            Some(Arrived::Reads(found, _)) if found.as_ptr().cast_const() == Arc::as_ptr(frame) => {
                true
            }
            Some(_) => unreachable!("the entry of a frame in the table is its own"),
        }
    }

    /// Does something with the page's frame, which is made if it is not there.
    pub(crate) fn with_new(&self, page: u64, mut f: impl FnMut(&mut FrameState)) -> Arc<Frame> {
        if let Some(frame) = self.with(page, |frame, state| {
            f(state);
            Arc::clone(frame)
        }) {
            return frame;
        }
        self.with_likely_new(page, f)
    }

    /// The same, where the frame is hardly ever there.
    pub(crate) fn with_likely_new(
        &self,
        page: u64,
        mut f: impl FnMut(&mut FrameState),
    ) -> Arc<Frame> {
        match self.write(page).entry(page) {
            Entry::Occupied(found) => {
                let frame = Arc::clone(found.get());
                f(&mut frame.lock(&self.beside));
                frame
            }
            Entry::Vacant(none) => {
                let frame = Frame::new(page);
                f(&mut frame.first_lock(&self.beside));
                none.insert(Arc::clone(&frame));
                frame
            }
        }
    }

    /// Does something with the page's frame, if it is there, and takes it out if it is unused then.
    pub(crate) fn let_go(&self, page: u64, f: impl FnOnce(&Arc<Frame>, &mut FrameState)) {
        let mut shard = self.write(page);
        let Entry::Occupied(found) = shard.entry(page) else { return };
        let mut state = found.get().lock(&self.beside);
        f(found.get(), &mut state);
        if state.is_free() {
            state.detached = true;
            state.give_place_back();
            drop(state);
            let frame = found.remove();
            drop(shard);
            self.keep(frame);
        }
    }

    /// Takes the frame out if it is unused.
    pub(crate) fn remove_if_free(&self, page: u64) {
        self.let_go(page, |_, _| {});
    }

    /// The frames of a range.
    pub(crate) fn pages_in(&self, range: &Range<u64>) -> Vec<u64> {
        let all = self.shards.iter();
        let lock = |shard: &Apart<RwLock<Shard>>| -> Vec<u64> {
            let shard = shard.read().expect("no holder of this lock panics");
            if range.end - range.start < shard.len() as u64 {
                range.clone().filter(|page| shard.contains_key(page)).collect()
            } else {
                shard.keys().copied().filter(|page| range.contains(page)).collect()
            }
        };
        all.flat_map(lock).collect()
    }

    /// The page has been trimmed: its bytes are gone. A write guard keeps them, and its drop will
    /// be a new write; a read guard keeps the frame, which no other thread reaches any more.
    pub(crate) fn drop_bytes(&self, page: u64) {
        let mut shard = self.write(page);
        let Some(frame) = shard.get(&page).map(Arc::clone) else { return };
        let mut state = frame.lock(&self.beside);
        state.mark = crate::frame::Mark::Clean;
        state.failed = false;
        if state.exclusive == crate::frame::Exclusive::Guard {
            return;
        }
        state.detached = true;
        state.kept = (state.users > 0).then(|| Arc::clone(&frame));
        state.give_place_back();
        drop(state);
        shard.remove(&page);
        frame.notify();
    }
}
