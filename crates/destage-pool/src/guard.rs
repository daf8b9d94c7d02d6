//! Guards: the bytes of a page while somebody reads or changes them.

use crate::frame::Used;
use crate::held;
use crate::shared::{Inner, Shared};
use crate::store::Store;
use crate::sync::CHECKS_ACCESS;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Takes latches back; a guard does not name the store.
pub(crate) trait Latches {
    fn release_read(&self, frame: Used);
    fn release_change(&self, frame: Used, through: bool);
}

impl<S: Store> Latches for Shared<S> {
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
    inner: &'a Inner,
    page: u64,
    bytes: NonNull<u8>,
    frame: Used,
    /// Guards held are tracked per thread.
    not_send: PhantomData<*const ()>,
}

impl<'a> ReadGuard<'a> {
    /// The caller has the shared latch of the page, which the guard takes over.
    #[inline]
    pub(crate) fn new<S: Store>(pool: &'a Shared<S>, page: u64, frame: Used) -> Self {
        let inner: &Inner = pool;
        // SAFETY: the shared latch of a valid page.
        let bytes = unsafe { frame.start(&inner.table.beside) };
        let bytes = NonNull::new(bytes).expect("valid bytes are there");
        held::hold(inner, page, false);
        ReadGuard { pool, inner, page, bytes, frame, not_send: PhantomData }
    }
}

impl Deref for ReadGuard<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        if CHECKS_ACCESS {
            // SAFETY: as below.
            _ = unsafe { self.frame.bytes() };
        }
        // SAFETY: the guard has the shared latch of a valid page until it is dropped, and all pages
        // have this length.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr(), self.inner.page_bytes()) }
    }
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        held::release(self.inner, self.page, false);
        let quick = &self.inner.table.beside.quick;
        if !self.frame.place.is_some_and(|place| quick.leave(place)) {
            self.pool.release_read(self.frame);
        }
    }
}

/// A page that is being changed by this guard alone. The page is dirty when the guard is dropped,
/// also by a panic.
pub struct WriteGuard<'a> {
    pool: &'a dyn Latches,
    inner: &'a Inner,
    frame: Used,
    through: bool,
    not_send: PhantomData<*const ()>,
}

impl<'a> WriteGuard<'a> {
    /// The caller has the exclusive latch, which the guard takes over.
    pub(crate) fn new<S: Store>(pool: &'a Shared<S>, frame: Used, through: bool) -> Self {
        held::hold(pool, frame.page, true);
        WriteGuard { pool, inner: pool, frame, through, not_send: PhantomData }
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
        // SAFETY: as above, and `&mut self` is the only access through the guard.
        unsafe { self.frame.bytes_mut(|| self.inner.zeros()) }
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        held::release(self.inner, self.frame.page, true);
        self.pool.release_change(self.frame, self.through);
    }
}
