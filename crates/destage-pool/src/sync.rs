//! Locks and the like of the standard library. `loom/` builds the pool with those of the model
//! checker in their place.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) use std::thread::yield_now;

/// A value for each thread.
macro_rules! per_thread {
    ($(static $name:ident: $type:ty = $value:expr;)+) => {
        std::thread_local! { $(static $name: $type = const { $value };)+ }
    };
}
pub(crate) use per_thread;

/// Locks that share the pages of a table.
pub(crate) const SHARDS: u64 = 64;

/// The model checker sees each access to an [`UnsafeCell`]: none may go past it.
pub(crate) const CHECKS_ACCESS: bool = false;

/// Entries of pages that are read without a lock, for each frame: so that hardly any page finds
/// its neighbourhood full.
pub(crate) const ENTRIES_PER_FRAME: usize = 2;

/// Looks at a lock before a thread sleeps for it: some microseconds.
pub(crate) const LOOKS: u32 = 100;

/// [`std::cell::UnsafeCell`], as the model checker has it.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(value.into())
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
        change(self.0.get())
    }
}
