//! Locks whose holders do not panic.

use crate::sync::{Mutex, MutexGuard};

/// Locks. A holder that panicked has left a policy or a table half changed: every later call
/// panics.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a thread panicked inside the pool; its state is not known any more")
}
