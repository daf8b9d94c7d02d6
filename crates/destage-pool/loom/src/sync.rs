//! Locks and the like of the model checker, in place of `../../src/sync.rs`.

pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize};
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
pub(crate) use loom::thread_local;

/// One lock for all pages: a superset of what many have to wait for.
pub(crate) const SHARDS: u64 = 1;
