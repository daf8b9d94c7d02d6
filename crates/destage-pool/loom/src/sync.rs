//! Locks and the like of the model checker, in place of `../../src/sync.rs`.

pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

pub(crate) use loom::thread::yield_now;

/// A value for each thread.
macro_rules! per_thread {
    ($(static $name:ident: $type:ty = $value:expr;)+) => {
        loom::thread_local! { $(static $name: $type = $value;)+ }
    };
}
pub(crate) use per_thread;

/// One lock for all pages: a superset of what many have to wait for.
pub(crate) const SHARDS: u64 = 1;
/// The model checker sees each access to an [`UnsafeCell`]: none may go past it.
pub(crate) const CHECKS_ACCESS: bool = true;

/// Pages take each other's entries.
pub(crate) const ENTRIES_PER_FRAME: usize = 1;
pub(crate) const LOOKS: u32 = 0;
