//! Values that threads change all the time, each on cache lines of its own.

use std::ops::Deref;

/// A value whose cache lines hold nothing else: a thread that changes it does not take the lines of
/// others away. Processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> Deref for Apart<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
