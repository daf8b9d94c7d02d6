//! Flushes, syncs, and room in limbo (`docs/spec/pool.md` 5.2, 6).

use crate::bell::Helper;
use crate::copied::copy_of;
use crate::destage::Reason;
use crate::frame::{Exclusive, Frame, Mark};
use crate::lock::lock;
use crate::shared::Shared;
use crate::store::Store;
use crate::sync::yield_now;
use crate::work::Done;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// Most bytes of a group that a flush writes.
const MOST_BYTES: usize = 1 << 20;

/// Time from a failed early sync to the next.
const RETRY: Duration = Duration::from_secs(1);

impl<S: Store> Shared<S> {
    /// Starts the thread that syncs limbo before it is full. An error is that of the calls which
    /// find it full.
    pub(crate) fn start_early_syncs(self: &Arc<Self>) -> Helper {
        let (pool, mut next) = (Arc::clone(self), Instant::now());
        Helper::start("destage-sync", &self.early_sync, Duration::MAX, move || {
            if pool.is_limbo_half_full() && Instant::now() >= next && pool.sync_limbo().is_err() {
                next = Instant::now() + RETRY;
            }
        })
    }

    /// Writes all that is dirty, then syncs.
    ///
    /// # Errors
    ///
    /// The first of any write or sync that the flush depends on.
    pub(crate) fn flush(&self) -> io::Result<Done> {
        // Bytes are made durable also when the simulated SSD has come to its end.
        let completion_ns = self.core().flush().unwrap_or(None);
        self.tally.flushes.add(1);
        let failures = self.failed_syncs();
        let mut busy = Vec::new();
        for run in runs(&self.table.beside.marks.dirty(), MOST_BYTES / self.page_bytes()) {
            let frames = self.pin_dirty(run, |_| true);
            busy.extend(self.write_pinned(frames, Reason::Flush)?.busy);
        }
        for frame in busy {
            self.write_when_free(&frame)?;
        }
        self.sync(failures).map(|()| Done { completion_ns })
    }

    pub(crate) fn is_limbo_full(&self) -> bool {
        self.table.beside.marks.idle_limbo() >= self.options.limbo_pages as usize
    }

    /// While limbo is full: writes its dirty pages, then syncs.
    ///
    /// # Errors
    ///
    /// The first of these.
    #[inline(always)]
    pub(crate) fn make_room(&self) -> io::Result<()> {
        self.sync_early();
        if self.is_limbo_full() { self.empty_limbo() } else { Ok(()) }
    }

    #[cold]
    fn empty_limbo(&self) -> io::Result<()> {
        while self.is_limbo_full() {
            drop(lock(&self.sync.last)); // a sync under way may make room
            if self.is_limbo_full() {
                self.sync_limbo()?;
            }
            if self.is_limbo_full() {
                yield_now(); // to the thread that removes a page that is clean already
            }
        }
        Ok(())
    }

    /// Wakes the thread that makes room early, if there is one and limbo is half full.
    #[inline]
    pub(crate) fn sync_early(&self) {
        if self.options.early_sync && self.is_limbo_half_full() {
            self.early_sync.wake();
        }
    }

    fn is_limbo_half_full(&self) -> bool {
        self.table.beside.marks.idle_limbo() >= self.options.limbo_pages.div_ceil(2) as usize
    }

    /// Writes the dirty pages of limbo, then syncs.
    fn sync_limbo(&self) -> io::Result<()> {
        let failures = self.failed_syncs();
        let dirty = self.table.beside.marks.dirty_limbo();
        for run in runs(&dirty, MOST_BYTES / self.page_bytes()) {
            let frames = self.pin_dirty(run, |users| users == 0);
            self.write_pinned(frames, Reason::Late)?;
        }
        self.sync(failures)
    }

    /// The frames of those pages that are dirty, pinned.
    fn pin_dirty(&self, pages: &[u64], take: impl Fn(u32) -> bool) -> Vec<Arc<Frame>> {
        let pin = |page: &u64| {
            self.table.with(*page, |frame, state| {
                let is_taken = state.mark == Mark::Dirty && take(state.users);
                state.store_pins += u32::from(is_taken);
                is_taken.then(|| Arc::clone(frame))
            })?
        };
        pages.iter().filter_map(pin).collect()
    }

    /// Writes a page that somebody is changing, as soon as they have done. What was written to it
    /// before the flush is among its bytes.
    fn write_when_free(&self, frame: &Arc<Frame>) -> io::Result<()> {
        let mut state = frame.lock(&self.table.beside);
        while state.exclusive != Exclusive::No && !state.detached {
            state = state.wait();
        }
        if state.detached || state.mark != Mark::Dirty {
            return Ok(());
        }
        state.readers += 1; // keeps writers out until it is written
        state.store_pins += 1;
        drop(state);
        let pages = [frame.page];
        let taken = self.in_flight.take(&pages);
        let mut state = frame.lock(&self.table.beside);
        let result = if state.mark == Mark::Dirty && !state.detached {
            drop(state);
            self.write_latched(&[frame], Reason::Flush)
        } else {
            state.readers -= 1;
            drop(state);
            frame.notify();
            Ok(())
        };
        drop(taken);
        self.unpin(&[Arc::clone(frame)]);
        result
    }

    fn failed_syncs(&self) -> u64 {
        *self.sync.failures.read().expect("no holder of this lock panics")
    }

    /// Syncs what has been written. A sync of another thread that begins after this call will do.
    ///
    /// # Errors
    ///
    /// The sync's; also that of another one which failed since there were `failures` of them: it
    /// has made pages dirty that the caller had written.
    pub(crate) fn sync(&self, failures: u64) -> io::Result<()> {
        let begun = self.sync.started.load(SeqCst);
        let mut last = lock(&self.sync.last);
        if self.failed_syncs() != failures
            && let Some(error) = &last.error
        {
            return Err(copy_of(error));
        }
        if last.succeeded > begun {
            return Ok(());
        }
        self.repeat_discards()?;
        let number = self.sync.started.fetch_add(1, SeqCst) + 1;
        {
            let mut discards = lock(&self.sync.discards);
            discards.syncing = std::mem::take(&mut discards.unsynced);
        }
        let pages = self.table.beside.marks.take_unsynced();
        match self.store.sync() {
            Ok(()) => {
                lock(&self.sync.discards).syncing.clear();
                for page in pages.in_range(0..u64::MAX) {
                    self.now_clean(page);
                }
                self.tally.syncs.add(1);
                last.succeeded = number;
                Ok(())
            }
            Err(error) => {
                let mut failed = self.sync.failures.write().expect("no holder of this lock panics");
                *failed += 1;
                let since = self.table.beside.marks.take_unsynced();
                let all = pages.in_range(0..u64::MAX);
                for page in all.chain(since.in_range(0..u64::MAX)) {
                    self.table.with(page, |_, state| {
                        if state.mark == Mark::Unsynced {
                            state.mark = Mark::Dirty;
                            state.failed = true;
                        }
                    });
                }
                let all = &mut *lock(&self.sync.discards);
                all.repeat.append(&mut all.syncing);
                all.repeat.append(&mut all.unsynced);
                self.tally.failed_syncs.add(1);
                last.error = Some(copy_of(&error));
                Err(error)
            }
        }
    }

    /// A sync that began after the page's last write has succeeded, unless it was written again.
    fn now_clean(&self, page: u64) {
        self.table.let_go(page, |_, state| {
            if state.mark == Mark::Unsynced && !self.table.beside.marks.is_unsynced(page) {
                state.mark = Mark::Clean;
            }
        });
    }

    /// Discards again what a failed sync may have lost, but for pages written since.
    fn repeat_discards(&self) -> io::Result<()> {
        let ranges = lock(&self.sync.discards).repeat.clone();
        for range in ranges {
            let taken = self.in_flight.take_range(range.clone());
            let mut from = range.start;
            let written = self.table.beside.marks.unsynced_in(range.clone());
            for end in written.into_iter().chain([range.end]) {
                if from < end
                    && let Err(error) = self.store.discard(from..end)
                {
                    return Err(error);
                }
                from = end + 1;
            }
            let mut discards = lock(&self.sync.discards);
            let at = discards.repeat.iter().position(|other| *other == range);
            discards.repeat.swap_remove(at.expect("only a sync takes one out"));
            discards.unsynced.push(range);
            drop(discards);
            drop(taken);
        }
        Ok(())
    }
}

/// Runs of neighbours, each of at most `most` pages.
fn runs(pages: &[u64], most: usize) -> impl Iterator<Item = &[u64]> {
    let neighbours = pages.chunk_by(|a, b| a + 1 == *b);
    neighbours.flat_map(move |run| run.chunks(most.max(1)))
}
