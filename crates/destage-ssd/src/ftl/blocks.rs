//! Erase blocks: the queue of free ones (`docs/spec/ftl.md` 1.3) and how often each was erased.

use super::counters::counters;
use crate::geometry::BlockId;
use std::collections::VecDeque;

counters! {
    /// Erase counts and free blocks of the flash.
    pub struct Wear {
        /// Largest number of erases of one block.
        max_erase_count: State,
        /// Length of the free queue at the end.
        free_blocks: State,
    }
}

/// A free block is needed, and there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFreeBlock;

/// The blocks of a flash. Allocation takes the head of the queue, an erased block goes to its tail.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Blocks {
    erases: Vec<u32>,
    fresh: u32, // the head of the queue: blocks from here on were never taken
    erased: VecDeque<BlockId>,
    max_erases: u32,
    /// Pages that had been programmed in blocks when they were erased, ever.
    pub(super) erased_pages: u64,
}

impl Blocks {
    /// All blocks are free: 0, 1, 2, ..
    pub(super) fn new(blocks: u32) -> Self {
        Blocks {
            erases: vec![0; blocks as usize],
            fresh: 0,
            erased: VecDeque::new(),
            max_erases: 0,
            erased_pages: 0,
        }
    }

    /// Blocks of the flash.
    pub(super) fn total(&self) -> u32 {
        self.erases.len() as u32
    }

    /// Free blocks.
    #[inline(always)]
    pub(super) fn free(&self) -> u32 {
        self.total() - self.fresh + self.erased.len() as u32
    }

    /// The head of the queue.
    pub(super) fn next_free(&self) -> Option<BlockId> {
        if self.fresh < self.total() {
            Some(BlockId(self.fresh))
        } else {
            self.erased.front().copied()
        }
    }

    /// Takes the head of the queue.
    #[inline]
    pub(super) fn take(&mut self) -> Result<BlockId, NoFreeBlock> {
        if self.fresh < self.total() {
            self.fresh += 1;
            return Ok(BlockId(self.fresh - 1));
        }
        self.erased.pop_front().ok_or(NoFreeBlock)
    }

    /// Erases a block in which so many pages have been programmed.
    #[inline]
    pub(super) fn erase(&mut self, block: BlockId, programmed: u32) {
        let erases = &mut self.erases[block.index()];
        *erases += 1;
        self.max_erases = self.max_erases.max(*erases);
        self.erased_pages += u64::from(programmed);
        self.erased.push_back(block);
    }

    /// Erase count of every block.
    pub(super) fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// Erase counts and free blocks of the flash.
    pub(super) fn wear(&self) -> Wear {
        Wear { max_erase_count: self.max_erases.into(), free_blocks: self.free().into() }
    }

    /// Sets all erase counts to 0.
    pub(super) fn reset_wear(&mut self) {
        self.erases.fill(0);
        self.max_erases = 0;
    }

    /// The free blocks in the order of the queue.
    pub(super) fn queue(&self) -> impl Iterator<Item = BlockId> {
        (self.fresh..self.total()).map(BlockId).chain(self.erased.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_in_order_and_come_back_at_the_tail() {
        let mut blocks = Blocks::new(3);
        assert_eq!((blocks.take(), blocks.take()), (Ok(BlockId(0)), Ok(BlockId(1))));
        blocks.erase(BlockId(1), 4);
        assert_eq!(blocks.queue().collect::<Vec<_>>(), [BlockId(2), BlockId(1)]);
        assert_eq!((blocks.free(), blocks.next_free()), (2, Some(BlockId(2))));
        blocks.erase(BlockId(0), 2);
        assert_eq!(
            [blocks.take(), blocks.take(), blocks.take()],
            [2, 1, 0].map(|block| Ok(BlockId(block)))
        );
        assert_eq!((blocks.take(), blocks.next_free()), (Err(NoFreeBlock), None));
        let wear = Wear { max_erase_count: 1, free_blocks: 0 };
        assert_eq!((blocks.erase_counts(), blocks.wear()), (&[1, 1, 0][..], wear));
        assert_eq!(blocks.erased_pages, 6);
    }
}
