//! Locks and the like of shuttle, in place of `../../src/sync.rs`.

pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
pub(crate) use shuttle::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

pub(crate) use shuttle::thread::yield_now;

/// A value for each thread.
macro_rules! per_thread {
    ($(static $name:ident: $type:ty = $value:expr;)+) => {
        shuttle::thread_local! { $(static $name: $type = $value;)+ }
    };
}
pub(crate) use per_thread;

/// Fewer than pages, and more than one.
pub(crate) const SHARDS: u64 = 2;
/// The model checker sees each access to an [`UnsafeCell`]: none may go past it.
pub(crate) const CHECKS_ACCESS: bool = false;

/// Pages take each other's entries.
pub(crate) const ENTRIES_PER_FRAME: usize = 1;
pub(crate) const LOOKS: u32 = 0;

/// [`std::cell::UnsafeCell`], as loom has it.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(value.into())
    }

    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
        change(self.0.get())
    }
}
