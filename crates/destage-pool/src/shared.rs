//! State that all threads of a pool share.

use crate::apart::Apart;
use crate::bell::Bell;
use crate::bytes::{PageBytes, PageLayout};
use crate::counters::{PoolCounters, Tally};
use crate::decide::Core;
use crate::in_flight::InFlight;
use crate::lock::lock_soon;
use crate::options::Options;
use crate::sums::Sums;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::sync_state::SyncState;
use crate::table::Table;
use destage_core::Op;
use std::ops::Range;
use std::sync::Arc;

/// Hits of a batch between two looks at the lock.
pub(crate) const PART: usize = 8;

/// All of a pool but its store.
pub(crate) struct Inner {
    core: Apart<Mutex<Core>>,
    trimmed: Condvar,
    pub(crate) table: Table,
    pub(crate) in_flight: Apart<InFlight>,
    pub(crate) tally: Apart<Tally>,
    pub(crate) sync: Apart<SyncState>,
    pub(crate) sums: Option<Sums>,
    pub(crate) writer: Arc<Bell>,
    pub(crate) early_sync: Arc<Bell>,
    pub(crate) options: Options,
    pub(crate) layout: PageLayout,
    /// Pages of the store.
    pub(crate) pages: u64,
}

impl Inner {
    pub(crate) fn new(core: Core, options: Options, pages: u64, alignment: usize) -> Inner {
        let limbo_pages = options.limbo_pages as usize;
        // No more than pages of the store, which may be as many as it likes.
        let frames = usize::try_from(pages).unwrap_or(usize::MAX);
        let frames = frames.min(options.frames as usize + limbo_pages);
        Inner {
            core: Apart(Mutex::new(core)),
            trimmed: Condvar::new(),
            table: Table::new(frames, limbo_pages),
            in_flight: Apart::default(),
            tally: Apart::default(),
            sync: Apart::default(),
            sums: options.checksums.then(Sums::default),
            writer: Arc::default(),
            early_sync: Arc::default(),
            layout: PageLayout::new(options.page_bytes as usize, alignment),
            options,
            pages,
        }
    }

    /// The pool's one lock.
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        lock_soon(&self.core)
    }

    /// The pool's one lock, when no trim of these pages is under way.
    pub(crate) fn core_for(&self, pages: &Range<u64>) -> MutexGuard<'_, Core> {
        let mut core = self.core();
        let overlaps = |other: &Range<u64>| other.start < pages.end && pages.start < other.end;
        while core.trimming.iter().any(overlaps) {
            core = self.trimmed.wait(core).expect("no holder of this lock panics");
        }
        core
    }

    /// A trim has ended.
    pub(crate) fn end_trim(&self, pages: &Range<u64>) {
        let mut core = self.core();
        let at = core.trimming.iter().position(|range| range == pages);
        core.trimming.swap_remove(at.expect("begun before"));
        drop(core);
        self.trimmed.notify_all();
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.options.page_bytes as usize
    }

    /// Memory of a page, to be overwritten whole.
    pub(crate) fn memory(&self) -> PageBytes {
        self.table.spare(self.layout)
    }

    /// A page of zeros.
    pub(crate) fn zeros(&self) -> PageBytes {
        let mut bytes = self.memory();
        bytes.fill(0);
        bytes
    }

    /// Asks the policy about the hits that a thread has noted.
    pub(crate) fn note_hits(&self, hits: &mut Vec<(u64, Op)>) {
        if !hits.is_empty() {
            self.note_hits_into(&mut self.core(), hits);
        }
    }

    /// Asks the policy about a batch that has grown by a part: if it is full, or half full and the
    /// lock is free. Threads that find it taken go on meanwhile.
    pub(crate) fn note_part(&self, hits: &mut Vec<(u64, Op)>) {
        let most = self.options.batch as usize;
        if hits.len() >= most {
            self.note_hits(hits);
        } else if hits.len() >= most / 2
            && let Ok(mut core) = self.core.try_lock()
        {
            self.note_hits_into(&mut core, hits);
        }
    }

    /// The same, under the pool's one lock.
    pub(crate) fn note_hits_into(&self, core: &mut Core, hits: &mut Vec<(u64, Op)>) {
        let page_bytes = u64::from(self.options.page_bytes);
        let noted = hits.len();
        hits.retain(|(page, _)| core.log.resident.has(*page)); // a hit makes no page leave
        self.tally.stale_accesses.add(noted - hits.len());
        core.note_hits(&self.table, hits, page_bytes);
        hits.clear();
    }

    pub(crate) fn counters(&self) -> PoolCounters {
        let core = self.core();
        let (policy, trims) = (core.log.counters, core.log.trims);
        drop(core);
        let marks = &self.table.beside.marks;
        let mut store = self.tally.counted();
        store.pending_writes = marks.pending() as u64;
        store.limbo_pages = marks.limbo() as u64;
        store.limbo_pages_max = marks.limbo_max() as u64;
        PoolCounters { policy, trims, store }
    }
}

/// A pool's state and its store.
pub(crate) struct Shared<S> {
    pub(crate) store: S,
    pub(crate) inner: Arc<Inner>,
}

impl<S> std::ops::Deref for Shared<S> {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.inner
    }
}
