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
//! and readers in the page's entry of `quick`, without the lock.
//!
//! A frame leaves memory when the policy does not hold its page, no guard holds it, and it is
//! clean.

use crate::apart::Apart;
use crate::bytes::{PageBytes, prefetch};
use crate::lock::lock;
use crate::marks::{Class, Marks};
use crate::quick::{Place, Quick};
use crate::sync::{AtomicU32, Condvar, Mutex, MutexGuard, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

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
    /// Its entry in `quick`.
    place: Option<Place>,
}

/// Structures that follow the states of all frames.
pub(crate) struct Beside {
    pub(crate) marks: Apart<Marks>,
    pub(crate) quick: Quick<Frame>,
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

/// A page in memory.
pub(crate) struct Frame {
    waiting: AtomicU32, // threads, changed under the lock
    pub(crate) page: u64,
    bytes: UnsafeCell<Option<PageBytes>>,
    state: Mutex<FrameState>,
    changed: Condvar,
    /// The frame itself, as its `Arc` names it: where the count of references is reached from.
    this: AtomicPtr<Frame>,
}

// SAFETY: `bytes` is read under the shared latch and changed under the exclusive one, and the state
// keeps the two apart.
unsafe impl Sync for Frame {}

impl Frame {
    /// A frame in limbo, without bytes and without holders. It counts from its first lock on.
    pub(crate) fn new(page: u64) -> Arc<Frame> {
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
            place: None,
        };
        let (state, bytes) = (Mutex::new(state), UnsafeCell::new(None));
        let (changed, waiting) = (Condvar::new(), AtomicU32::new(0));
        let this = AtomicPtr::new(ptr::null_mut());
        let frame = Arc::new(Frame { page, waiting, state, changed, bytes, this });
        frame.this.store(Arc::as_ptr(&frame).cast_mut(), Relaxed);
        frame
    }

    /// Locks the state; the sets follow when the lock is given back.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, beside: &'a Beside) -> FrameLock<'a> {
        let mut state = lock(&self.state);
        if let Some(place) = state.place {
            let readers = beside.quick.close(place);
            state.readers += readers;
            state.users += readers;
        }
        FrameLock { frame: self, beside, before: state.class(), state: Some(state) }
    }

    /// The first lock of a frame that has just been put into the table.
    pub(crate) fn first_lock<'a>(&'a self, beside: &'a Beside) -> FrameLock<'a> {
        let state = lock(&self.state);
        FrameLock { frame: self, beside, before: Class::default(), state: Some(state) }
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

    /// Where the bytes are: there as long as the frame is.
    ///
    /// # Safety
    ///
    /// As of [`bytes`](Frame::bytes).
    unsafe fn start(&self) -> *mut u8 {
        // SAFETY: under the latch no thread changes them.
        self.bytes
            .with(|bytes| unsafe { (*bytes).as_ref().expect("valid bytes are there").start() })
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
pub(crate) struct Used {
    frame: NonNull<Frame>,
    /// Its entry in `quick`, of a reader that came by it.
    pub(crate) place: Option<Place>,
}

impl Used {
    /// The caller is a user of the frame, and is none from now on.
    #[inline]
    pub(crate) fn new(frame: &Arc<Frame>) -> Used {
        let frame = NonNull::new(Arc::as_ptr(frame).cast_mut()).expect("no reference is null");
        Used { frame, place: None }
    }

    /// The same of a reader that has come by an entry.
    #[inline]
    pub(crate) fn by(frame: NonNull<Frame>, place: Place) -> Used {
        Used { frame, place: Some(place) }
    }

    /// The frame, to be compared.
    pub(crate) fn at(&self) -> *const Frame {
        self.frame.as_ptr()
    }

    /// Where the bytes are.
    ///
    /// # Safety
    ///
    /// As of [`Frame::bytes`].
    #[inline]
    pub(crate) unsafe fn start(&self, beside: &Beside) -> *mut u8 {
        match self.place {
            Some(place) => beside.quick.bytes(place),
            // SAFETY: as the caller promises.
            None => unsafe { Frame::start(self) },
        }
    }

    /// The same with a reference of its own, which outlives the use.
    pub(crate) fn counted(&self) -> Arc<Frame> {
        let frame = self.frame.as_ptr();
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
        unsafe { self.frame.as_ref() }
    }
}

/// The lock of a frame's state.
pub(crate) struct FrameLock<'a> {
    frame: &'a Frame,
    beside: &'a Beside,
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

    /// The frame has left the table: its entry is free as soon as it has no user.
    pub(crate) fn give_place_back(&mut self) {
        let Some(place) = self.place else { return };
        if self.users > 0 {
            self.beside.quick.hide(place);
        } else {
            self.place = None;
            self.beside.quick.free(place);
        }
    }

    /// Lets readers come without the lock, if nothing follows from that.
    #[inline]
    fn open(&mut self) {
        let Some(state) = &mut self.state else { return };
        // A thread that waits is told of each reader that goes.
        if !state.is_quick() || self.frame.waiting.load(Relaxed) > 0 {
            return;
        }
        let Beside { quick, .. } = self.beside;
        if state.place.is_none() {
            // SAFETY: the bytes are valid, and no thread has the exclusive latch.
            let start = unsafe { self.frame.start() };
            state.place = quick.claim(self.frame.page, self.frame.this.load(Relaxed), start);
        }
        if let Some(place) = state.place {
            quick.open(place);
        }
    }

    #[inline]
    fn follow(&mut self) {
        if let Some(state) = &self.state {
            let after = state.class();
            self.beside.marks.moved(self.frame.page, self.before, after);
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
        self.open();
    }
}
