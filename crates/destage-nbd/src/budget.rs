//! Bytes of requests under way: of a connection, and of all in the pool.

use std::sync::{Condvar, Mutex, PoisonError};

/// A number of bytes that requests share.
pub(crate) struct Budget {
    most: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// A share of the budget, until it is dropped.
pub(crate) struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Budget {
        Budget { most, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room. One request may always go on.
    pub(crate) fn take(&self, bytes: u64) -> Share<'_> {
        if bytes == 0 {
            return Share { budget: self, bytes };
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > self.most {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        Share { budget: self, bytes }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            *self.budget.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
            self.budget.freed.notify_all();
        }
    }
}
