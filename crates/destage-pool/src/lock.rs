//! Locks whose holders do not panic.

use crate::sync::{LOOKS, Mutex, MutexGuard};

/// Locks. A holder that panicked has left a policy or a table half changed: every later call
/// panics.
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a thread panicked inside the pool; its state is not known any more")
}

/// The same for a lock that is held shortly and taken all the time: looks for a while first. Where
/// one thread sleeps for it, the standard lock lets all others sleep at once, and threads that take
/// turns then wake each other by calls of the system, on and on.
#[inline]
pub(crate) fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    for _ in 0..LOOKS {
        if let Ok(held) = mutex.try_lock() {
            return held;
        }
        std::hint::spin_loop();
    }
    lock(mutex)
}
