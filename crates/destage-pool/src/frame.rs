//! A page in memory: who holds it, and what the pool knows of its bytes.
//!
//! ```text
//!  users       accesses under way, and guards
//!  store_pins  group writes that have the page, planned or under way
//!  readers     who reads the bytes: read guards, group writes     (shared latch)
//!  exclusive   who changes them: a fetch, a write guard           (exclusive latch)
//! ```
//!
//! A frame leaves memory when the policy does not hold its page, no guard holds it, and it is
//! clean.

use crate::bytes::{PageBytes, prefetch};
use crate::lock::lock;
use crate::marks::{Class, Marks};
use crate::sync::{AtomicU32, Condvar, Mutex, MutexGuard, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::Relaxed;

/// State of a page's bytes relative to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// As in the store, durably.
    Clean,
    /// Written since the last successful sync.
    Unsynced,
    /// Newer than the store.
    Dirty,
}

/// Holder of the exclusive latch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exclusive {
    /// Not latched.
    No,
    /// A fetch, which waits for the store alone.
    Fill,
    /// A write guard.
    Guard,
}

/// State of a frame, under its lock.
#[derive(Debug)]
pub(crate) struct FrameState {
    /// The policy holds the page.
    pub(crate) resident: bool,
    /// Another number after each arrival of the page and each destage that keeps it.
    pub(crate) stay: u32,
    /// Trimmed: the table has another frame for the page, or none.
    pub(crate) detached: bool,
    pub(crate) users: u32,
    pub(crate) store_pins: u32,
    pub(crate) readers: u32,
    pub(crate) exclusive: Exclusive,
    /// The bytes are there.
    pub(crate) valid: bool,
    /// Accesses that will make the bytes valid: others wait for them.
    pub(crate) fillers: u32,
    pub(crate) mark: Mark,
    /// Dirty because a write or a sync failed.
    pub(crate) failed: bool,
    /// To be written when the last user goes: the policy does not hold the page.
    pub(crate) late: bool,
    /// Writes that the policy bypassed, to be written when the last user goes.
    pub(crate) through: u32,
}

impl FrameState {
    #[inline]
    fn class(&self) -> Class {
        let limbo = !self.resident;
        match self.detached {
            true => Class::default(),
            false => Class {
                dirty: self.mark == Mark::Dirty,
                unsynced: self.mark == Mark::Unsynced,
                limbo,
                idle_limbo: limbo && self.users == 0 && self.store_pins == 0,
            },
        }
    }

    /// Takes the latch, shared or exclusive, if the bytes are there and no other latch is in the
    /// way.
    #[inline]
    pub(crate) fn try_latch(&mut self, change: bool) -> bool {
        let is_free = self.exclusive == Exclusive::No && !(change && self.readers > 0);
        if !(self.valid && is_free) {
            return false;
        }
        match change {
            true => self.exclusive = Exclusive::Guard,
            false => self.readers += 1,
        }
        true
    }

    /// Whether the frame may leave memory: no guard, policy or destage needs it.
    pub(crate) fn is_free(&self) -> bool {
        !self.resident && self.users == 0 && self.store_pins == 0 && self.mark == Mark::Clean
    }
}

/// A page in memory.
pub(crate) struct Frame {
    pub(crate) page: u64,
    state: Mutex<FrameState>,
    changed: Condvar,
    waiting: AtomicU32, // threads, changed under the lock
    bytes: UnsafeCell<Option<PageBytes>>,
}

// SAFETY: `bytes` is read under the shared latch and changed under the exclusive one, and the state
// keeps the two apart.
unsafe impl Sync for Frame {}

impl Frame {
    /// A frame in limbo, without bytes and without holders. It counts from its first lock on.
    pub(crate) fn new(page: u64) -> Frame {
        let state = FrameState {
            resident: false,
            stay: 0,
            detached: false,
            users: 0,
            store_pins: 0,
            readers: 0,
            exclusive: Exclusive::No,
            valid: false,
            fillers: 0,
            mark: Mark::Clean,
            failed: false,
            late: false,
            through: 0,
        };
        let (state, bytes) = (Mutex::new(state), UnsafeCell::new(None));
        let (changed, waiting) = (Condvar::new(), AtomicU32::new(0));
        Frame { page, state, changed, waiting, bytes }
    }

    /// Locks the state; the sets follow when the lock is given back.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, marks: &'a Marks) -> FrameLock<'a> {
        let state = lock(&self.state);
        FrameLock { frame: self, marks, before: state.class(), state: Some(state) }
    }

    /// The first lock of a frame that has just been put into the table.
    pub(crate) fn first_lock<'a>(&'a self, marks: &'a Marks) -> FrameLock<'a> {
        let state = lock(&self.state);
        FrameLock { frame: self, marks, before: Class::default(), state: Some(state) }
    }

    /// Waiting threads look again.
    #[inline]
    pub(crate) fn notify(&self) {
        // Waking up is a call of the system, also where no thread waits. The caller has had the
        // lock after its change: a thread that waits for that change has been counted before.
        if self.waiting.load(Relaxed) > 0 {
            self.changed.notify_all();
        }
    }

    /// The bytes, to be read.
    ///
    /// # Safety
    ///
    /// The caller has the shared or the exclusive latch for as long as it uses them, and the bytes
    /// are valid.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: under the latch no thread changes them.
        self.bytes.with(|bytes| unsafe { (*bytes).as_ref().expect("valid bytes are there") })
    }

    /// The state is used soon: the processor fetches it. It lies on two cache lines.
    #[inline]
    pub(crate) fn prefetch_state(&self) {
        let start: *const u8 = std::ptr::from_ref(self).cast();
        [0, 64].iter().for_each(|&line| prefetch(start.wrapping_add(line)));
    }

    /// The bytes are read or changed soon.
    ///
    /// # Safety
    ///
    /// As of [`bytes`](Frame::bytes).
    #[inline]
    pub(crate) unsafe fn prefetch(&self) {
        // SAFETY: under the latch no thread changes them.
        self.bytes.with(|bytes| unsafe { (*bytes).as_ref().inspect(|bytes| bytes.prefetch()) });
    }

    /// The bytes, to be changed; new ones if there were none.
    ///
    /// # Safety
    ///
    /// The caller has the exclusive latch for as long as it uses them.
    #[expect(clippy::mut_from_ref, reason = "the latch makes the reference unique")]
    pub(crate) unsafe fn bytes_mut(&self, new: impl FnOnce() -> PageBytes) -> &mut [u8] {
        // SAFETY: under the exclusive latch no other thread reads or changes them.
        let bytes = self.bytes.with_mut(|bytes| unsafe { &mut *bytes });
        bytes.get_or_insert_with(new)
    }

    /// The memory of its bytes, to be used again.
    pub(crate) fn into_bytes(self) -> Option<PageBytes> {
        // SAFETY: the frame is the caller's alone.
        self.bytes.with_mut(|bytes| unsafe { (*bytes).take() })
    }
}

/// The lock of a frame's state.
pub(crate) struct FrameLock<'a> {
    frame: &'a Frame,
    marks: &'a Marks,
    before: Class,
    state: Option<MutexGuard<'a, FrameState>>, // `None` only while it waits
}

impl FrameLock<'_> {
    /// Gives the lock back until something has changed.
    pub(crate) fn wait(mut self) -> Self {
        self.follow();
        let state = self.state.take().expect("locked");
        self.frame.waiting.fetch_add(1, Relaxed);
        let state = self.frame.changed.wait(state).expect("no holder of this lock panics");
        self.frame.waiting.fetch_sub(1, Relaxed);
        self.before = state.class();
        self.state = Some(state);
        self
    }

    #[inline]
    fn follow(&mut self) {
        if let Some(state) = &self.state {
            let after = state.class();
            self.marks.moved(self.frame.page, self.before, after);
            self.before = after;
        }
    }
}

impl Deref for FrameLock<'_> {
    type Target = FrameState;
    #[inline(always)]
    fn deref(&self) -> &FrameState {
        self.state.as_ref().expect("locked")
    }
}

impl DerefMut for FrameLock<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut FrameState {
        self.state.as_mut().expect("locked")
    }
}

impl Drop for FrameLock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.follow();
    }
}
