//! Guards: the bytes of a page while somebody reads or changes them.

use crate::frame::Used;
use crate::held;
use crate::shared::{Inner, Shared};
use crate::store::Store;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Takes latches back; a guard does not name the store.
pub(crate) trait Latches {
    fn inner(&self) -> &Inner;
    fn release_read(&self, frame: Used);
    fn release_change(&self, frame: Used, through: bool);
}

impl<S: Store> Latches for Shared<S> {
    fn inner(&self) -> &Inner {
        self
    }
    fn release_read(&self, frame: Used) {
        self.end_read(frame);
    }
    fn release_change(&self, frame: Used, through: bool) {
        self.end_change(&frame.counted(), through);
    }
}

/// A page that is being read. It stays in memory, unchanged, until the guard is
/// dropped.
pub struct ReadGuard<'a> {
    pool: &'a dyn Latches,
    frame: Used,
    /// Guards held are tracked per thread.
    not_send: PhantomData<*const ()>,
}

impl<'a> ReadGuard<'a> {
    /// The caller has the shared latch, which the guard takes over.
    pub(crate) fn new(pool: &'a dyn Latches, frame: Used) -> Self {
        held::hold(pool.inner(), frame.page, false);
        ReadGuard { pool, frame, not_send: PhantomData }
    }
}

impl Deref for ReadGuard<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the guard has the shared latch of a valid page until it is dropped.
        unsafe { self.frame.bytes() }
    }
}

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        held::release(self.pool.inner(), self.frame.page, false);
        self.pool.release_read(self.frame);
    }
}

/// A page that is being changed by this guard alone. The page is dirty when the guard is dropped,
/// also by a panic.
pub struct WriteGuard<'a> {
    pool: &'a dyn Latches,
    frame: Used,
    through: bool,
    not_send: PhantomData<*const ()>,
}

impl<'a> WriteGuard<'a> {
    /// The caller has the exclusive latch, which the guard takes over.
    pub(crate) fn new(pool: &'a dyn Latches, frame: Used, through: bool) -> Self {
        held::hold(pool.inner(), frame.page, true);
        WriteGuard { pool, frame, through, not_send: PhantomData }
    }
}

impl Deref for WriteGuard<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the guard has the exclusive latch of a valid page until it is dropped.
        unsafe { self.frame.bytes() }
    }
}

impl DerefMut for WriteGuard<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        let pool = self.pool.inner();
        // SAFETY: as above, and `&mut self` is the only access through the guard.
        unsafe { self.frame.bytes_mut(|| pool.zeros()) }
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        held::release(self.pool.inner(), self.frame.page, true);
        self.pool.release_change(self.frame, self.through);
    }
}
