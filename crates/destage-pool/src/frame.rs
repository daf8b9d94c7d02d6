//! A page in memory: who holds it, and what the pool knows of its bytes.
//!
//! ```text
//!  users       accesses under way, and guards
//!  store_pins  group writes that have the page, planned or under way
//!  readers     who reads the bytes: read guards, group writes     (shared latch)
//!  exclusive   who changes them: a fetch, a write guard           (exclusive latch)
//! ```
//!
//! Most accesses read a resident page that no other thread changes: these count themselves as users
//! and readers in one atomic number, `quick`, without the lock. Taking the lock closes that number
//! and adds it to the state, so under the lock the state is whole. Readers are alike: one that came
//! with the lock may go without it, and the other way round.
//!
//! A frame leaves memory when the policy does not hold its page, no guard holds it, and it is
//! clean.

use crate::bytes::{PageBytes, prefetch};
use crate::lock::lock;
use crate::marks::{Class, Marks};
use crate::sync::{AtomicU32, Condvar, Mutex, MutexGuard, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The value of `quick` while the lock is taken or the page is not to be read without it.
const CLOSED: u32 = 1 << 31;

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
    /// The frame itself, of a page that was trimmed while it had users: until the last one goes.
    pub(crate) kept: Option<Arc<Frame>>,
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

    /// Whether a reader may come and go without the lock: nothing follows from either.
    fn is_quick(&self) -> bool {
        self.resident
            && self.valid
            && self.exclusive == Exclusive::No
            && !(self.detached || self.late)
            && self.through == 0
    }

    /// Whether the frame may leave memory: no guard, policy or destage needs it.
    pub(crate) fn is_free(&self) -> bool {
        !self.resident && self.users == 0 && self.store_pins == 0 && self.mark == Mark::Clean
    }
}

/// A page in memory. A reader that takes no lock needs the first fields alone, which lie together.
#[repr(C)]
pub(crate) struct Frame {
    quick: AtomicU32,   // readers that came without the lock, or `CLOSED`
    waiting: AtomicU32, // threads, changed under the lock
    pub(crate) page: u64,
    bytes: UnsafeCell<Option<PageBytes>>,
    state: Mutex<FrameState>,
    changed: Condvar,
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
            kept: None,
        };
        let (state, bytes) = (Mutex::new(state), UnsafeCell::new(None));
        let (changed, waiting) = (Condvar::new(), AtomicU32::new(0));
        Frame { page, quick: AtomicU32::new(CLOSED), waiting, state, changed, bytes }
    }

    /// Locks the state; the sets follow when the lock is given back.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, marks: &'a Marks) -> FrameLock<'a> {
        let mut state = lock(&self.state);
        // Opened and closed under the lock alone.
        if self.quick.load(Relaxed) != CLOSED {
            let readers = self.quick.swap(CLOSED, Acquire);
            state.readers += readers;
            state.users += readers;
        }
        FrameLock { frame: self, marks, before: state.class(), state: Some(state) }
    }

    /// Takes the shared latch, and the access with it, without the lock. False: it takes the lock.
    #[inline]
    pub(crate) fn try_quick_read(&self) -> bool {
        self.count_quick(|readers| Some(readers + 1))
    }

    /// Gives a shared latch back, and the access with it, without the lock, as long as nothing
    /// follows from it. False: it takes the lock.
    #[inline]
    pub(crate) fn try_quick_end(&self) -> bool {
        self.count_quick(|readers| readers.checked_sub(1))
    }

    #[inline]
    fn count_quick(&self, next: impl Fn(u32) -> Option<u32>) -> bool {
        // Acquire: the bytes as the thread that opened it left them. Release: they have been read.
        let next = |readers| if readers == CLOSED { None } else { next(readers) };
        self.quick.fetch_update(AcqRel, Relaxed, next).is_ok()
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

/// A frame of which the holder is a user: it stays until this is given back, in the table or, once
/// its page is trimmed, kept by itself. A count of references would be a second count of users.
#[derive(Clone, Copy)]
pub(crate) struct Used(NonNull<Frame>);

impl Used {
    /// The caller is a user of the frame, and is none from now on.
    #[inline]
    pub(crate) fn new(frame: &Arc<Frame>) -> Used {
        Used(NonNull::new(Arc::as_ptr(frame).cast_mut()).expect("no reference is null"))
    }

    /// The same with a reference of its own, which outlives the use.
    pub(crate) fn counted(&self) -> Arc<Frame> {
        let frame = self.0.as_ptr();
        // SAFETY: it comes from an `Arc`, and a frame that has a user is alive. Paid for by the
        // `pool` bench.
        unsafe {
            Arc::increment_strong_count(frame);
            Arc::from_raw(frame)
        }
    }
}

impl Deref for Used {
    type Target = Frame;
    #[inline(always)]
    fn deref(&self) -> &Frame {
        // SAFETY: as above.
        unsafe { self.0.as_ref() }
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
        // A thread that waits is told of each reader that goes.
        if self.state.as_ref().is_some_and(|state| state.is_quick())
            && self.frame.waiting.load(Relaxed) == 0
        {
            self.frame.quick.store(0, Release);
        }
    }
}
