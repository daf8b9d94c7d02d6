//! Guards of the calling thread, and hits that the policy has not seen yet.

use crate::decide::Core;
use crate::shared::{Inner, PART};
use crate::sync::per_thread;
use destage_core::Op;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// A guard: its pool, its page, whether it changes the page.
type Guard = (*const Inner, u64, bool);

per_thread! {
    static GUARDS: RefCell<Vec<Guard>> = RefCell::new(Vec::new());
    static BATCHES: RefCell<Vec<Batch>> = RefCell::new(Vec::new());
}

/// Hits that were noted without the lock (`docs/spec/pool.md` 8.2).
struct Batch {
    pool: Weak<Inner>,
    hits: Vec<(u64, Op)>,
}

impl Batch {
    #[inline]
    fn is_of(&self, pool: &Inner) -> bool {
        std::ptr::eq(self.pool.as_ptr(), pool)
    }

    /// The number of a new one.
    #[cold]
    fn begin(batches: &mut Vec<Batch>, pool: &Arc<Inner>) -> usize {
        batches.retain(|batch| batch.pool.strong_count() > 0);
        batches.push(Batch { pool: Arc::downgrade(pool), hits: Vec::new() });
        batches.len() - 1
    }
}

impl Drop for Batch {
    /// The thread ends.
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.note_hits(&mut self.hits);
        }
    }
}

/// The thread has a guard from now on.
#[inline]
pub(crate) fn hold(pool: &Inner, page: u64, change: bool) {
    GUARDS.with(|guards| guards.borrow_mut().push((pool, page, change)));
}

/// It has one less.
#[inline]
pub(crate) fn release(pool: *const Inner, page: u64, change: bool) {
    _ = GUARDS.try_with(|guards| {
        let mut guards = guards.borrow_mut();
        if let Some(at) = guards.iter().rposition(|guard| *guard == (pool, page, change)) {
            guards.swap_remove(at);
        }
    });
}

/// Refuses to wait for a guard of the calling thread.
///
/// # Errors
///
/// [`io::ErrorKind::Deadlock`] if the thread is changing one of the pages, or would change one that
/// it is reading.
pub(crate) fn check(pool: &Inner, pages: &Range<u64>, change: bool) -> io::Result<()> {
    let is_in_the_way = |guard: &&Guard| {
        std::ptr::eq(guard.0, pool) && pages.contains(&guard.1) && (guard.2 || change)
    };
    GUARDS.with(|guards| match guards.borrow().iter().find(is_in_the_way) {
        None => Ok(()),
        Some(&(_, page, changes)) => {
            let kind = if changes { "write" } else { "read" };
            let what = format!("page {page}: this thread holds its {kind} guard");
            Err(io::Error::new(io::ErrorKind::Deadlock, what))
        }
    })
}

/// Notes a hit; the policy sees the batch when it is full, or when it is large and the lock free.
#[inline]
pub(crate) fn note(pool: &Arc<Inner>, page: u64, op: Op) {
    BATCHES.with(|batches| {
        let batches = &mut *batches.borrow_mut();
        let found = batches.iter().position(|batch| batch.is_of(pool));
        let at = found.unwrap_or_else(|| Batch::begin(batches, pool));
        let hits = &mut batches[at].hits;
        hits.push((page, op));
        if hits.len().is_multiple_of(PART) || hits.len() >= pool.options.batch as usize {
            pool.note_part(hits);
        }
    });
}

/// The policy sees what the thread has noted.
pub(crate) fn drain(pool: &Inner) {
    noted(pool, |hits| pool.note_hits(hits));
}

/// The same, under the pool's one lock.
pub(crate) fn drain_into(pool: &Inner, core: &mut Core) {
    noted(pool, |hits| pool.note_hits_into(core, hits));
}

fn noted(pool: &Inner, and: impl FnOnce(&mut Vec<(u64, Op)>)) {
    if pool.options.batch > 1 {
        BATCHES.with(|batches| {
            let batches = &mut *batches.borrow_mut();
            if let Some(batch) = batches.iter_mut().find(|batch| batch.is_of(pool)) {
                and(&mut batch.hits);
            }
        });
    }
}
