//! State of a resident page and of its block, and the lists that go through them.

use super::{Chain, Linked, Pair};

/// State of a resident page. Two share a line of the processor's caches, and none lies
/// across two: a hint brings one line near.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct ResidentPage<T> {
    /// Names the page in the table; of a free frame: a page that has another, or none.
    pub(super) slot: u32,
    /// Index of its block.
    pub(crate) block: u32,
    /// Place in the block.
    pub(crate) offset: u32,
    pub(super) links: Pair, // in its cluster
    /// The policy's own.
    pub(crate) own: T,
}

impl<T> Linked<0> for ResidentPage<T> {
    #[inline(always)]
    fn pair(&self) -> Pair {
        self.links
    }
    #[inline(always)]
    fn pair_mut(&mut self) -> &mut Pair {
        &mut self.links
    }
}

impl<T: Linked<1>> Linked<1> for ResidentPage<T> {
    #[inline(always)]
    fn pair(&self) -> Pair {
        self.own.pair()
    }
    #[inline(always)]
    fn pair_mut(&mut self) -> &mut Pair {
        self.own.pair_mut()
    }
}

/// A block with a resident page, in a line of its own.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
pub(crate) struct Block<U> {
    /// Pages of its cluster.
    pub(crate) pages: Chain<0>,
    /// Pages of its cluster.
    pub(crate) len: u32,
    pub(super) resident: u32, // pages in the buffer, in the cluster or not; 0: the index is free
    pub(super) id: u32,       // in a replay; of a free one: the next free one
    /// The policy's own.
    pub(crate) own: U,
}

impl<U> Block<U> {
    /// Whether its only page has just come.
    #[inline(always)]
    pub(crate) fn is_new(&self) -> bool {
        self.resident == 1
    }

    /// Pages of it are resident and in no cluster.
    #[inline(always)]
    pub(crate) fn has_more_than_its_cluster(&self) -> bool {
        self.resident > self.len
    }
}

macro_rules! linked_block {
    ($($k:literal)*) => {
        $(impl<U: Linked<$k>> Linked<$k> for Block<U> {
            #[inline(always)]
            fn pair(&self) -> Pair {
                <U as Linked<$k>>::pair(&self.own)
            }
            #[inline(always)]
            fn pair_mut(&mut self) -> &mut Pair {
                <U as Linked<$k>>::pair_mut(&mut self.own)
            }
        })*
    };
}
linked_block!(1 2);
