//! Where pages live when they are not in memory.

use crate::decide::Decider;
use crate::options::{OpenError, Options};
use destage_core::AnyPolicy;
use std::io;
use std::ops::{Deref, Range};

/// Where pages live when they are not in memory.
///
/// The pool never asks for two operations on one page at the same time; operations on different
/// pages come from any number of threads.
pub trait Store: Send + Sync + 'static {
    /// Pages of the store; they are numbered from 0.
    fn pages(&self) -> u64;

    /// Reads a page whole. What `into` holds after an error does not matter.
    ///
    /// # Errors
    ///
    /// Any.
    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes pages whole, in ascending order. Not atomic: after an error or a power cut, any
    /// sectors of them may have been written.
    ///
    /// # Errors
    ///
    /// Any; the pool then takes all pages of the group for unwritten.
    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()>;

    /// Makes the pages read as zeros. An empty range does nothing and shows whether the store can.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if the store cannot, and then it has done nothing; any other.
    fn discard(&self, pages: Range<u64>) -> io::Result<()>;

    /// Returns when everything that was written or discarded before is durable.
    ///
    /// # Errors
    ///
    /// Any; the pool then takes all that was written since the last success for lost.
    fn sync(&self) -> io::Result<()>;

    /// Writes are durable when they return: [`sync`](Store::sync) has nothing to do.
    fn writes_are_durable(&self) -> bool {
        false
    }

    /// Alignment of the memory of pages that [`read`](Store::read) and [`write`](Store::write) are
    /// given, bytes: a power of two.
    fn alignment(&self) -> usize {
        1
    }

    /// The simulated SSD that it stands behind, if there is one.
    fn device(&self) -> Option<&dyn Device> {
        None
    }
}

/// A simulated SSD that a store can stand behind: `SimulatedDevice`, with the feature `device`.
pub trait Device: Send + Sync {
    /// A policy with the SSD behind it, for a store of so many pages.
    ///
    /// # Errors
    ///
    /// The reason why the two do not go together.
    #[doc(hidden)]
    fn decider(
        &self,
        policy: Chosen<'_>,
        options: &Options,
        pages: u64,
    ) -> Result<Box<dyn Decider>, OpenError>;
}

/// A policy that is to decide.
pub enum Chosen<'a> {
    /// As users write it.
    Named(&'a str),
    /// One's own.
    Own(AnyPolicy),
}

/// A pointer to a store: `Arc<S>`, `Box<dyn Store>`.
impl<P: Deref<Target: Store> + Send + Sync + 'static> Store for P {
    fn pages(&self) -> u64 {
        (**self).pages()
    }
    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        (**self).read(page, into)
    }
    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        (**self).write(group)
    }
    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        (**self).discard(pages)
    }
    fn sync(&self) -> io::Result<()> {
        (**self).sync()
    }
    fn writes_are_durable(&self) -> bool {
        (**self).writes_are_durable()
    }
    fn alignment(&self) -> usize {
        (**self).alignment()
    }
    fn device(&self) -> Option<&dyn Device> {
        (**self).device()
    }
}
