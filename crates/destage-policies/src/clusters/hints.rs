//! Prefetches, so that no access waits for memory. No decision is made
//! here.

use super::{Blocks, Linked, NIL, Pair, ResidentPage};
use destage_core::pages::prefetch;
use destage_core::{Directory, Page};

impl<D: Directory, T: Copy, U: Copy + Default> Blocks<D, T, U> {
    /// Hint: the page is about to be looked up.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: Page) {
        if D::DENSE {
            prefetch(&self.at, page.0 as usize);
        }
    }

    /// Hint, after [`prefetch`](Blocks::prefetch): what is known of the page is about to be used.
    #[inline(always)]
    pub(crate) fn prefetch_held(&self, page: Page) {
        // The hint for a request without pages may name a page that no access ever does. Frames and
        // blocks that are none are asked for in vain: cheaper than a branch.
        if D::DENSE
            && let Some(at) = self.at.get(page.0 as usize)
        {
            prefetch(&self.frames, at.frame as usize);
            prefetch(&self.names.by_id, at.id as usize);
        }
    }

    /// Hint, after [`prefetch_held`](Blocks::prefetch_held): so is its block. Returns the page's
    /// frame, or [`NIL`].
    #[inline(always)]
    pub(crate) fn prefetch_block(&self, page: Page) -> u32 {
        if D::DENSE
            && let Some(at) = self.at.get(page.0 as usize)
            && let Some(&block) = self.names.by_id.get(at.id as usize)
        {
            prefetch(&self.blocks, block as usize);
            return at.frame;
        }
        NIL
    }

    /// Hint: the neighbours of a frame, or of none, on a list of the policy's are about to be used.
    #[inline(always)]
    pub(crate) fn prefetch_linked<const K: usize>(&self, frame: u32)
    where
        ResidentPage<T>: Linked<K>,
    {
        if let Some(held) = self.frames.get(frame as usize) {
            let Pair { newer, older } = held.pair();
            prefetch(&self.frames, newer as usize);
            prefetch(&self.frames, older as usize);
        }
    }

    /// Hint: the page of this frame, which is near, is likely to leave soon.
    #[inline(always)]
    pub(crate) fn prefetch_leaving(&self, frame: u32) {
        let ResidentPage { slot, block, .. } = self.frames[frame as usize];
        prefetch(&self.at, slot as usize);
        prefetch(&self.blocks, block as usize);
        self.prefetch_linked::<0>(frame);
    }

    /// Hint: the number of this block, which is near, or [`NIL`], is about to be asked for.
    #[inline(always)]
    pub(crate) fn prefetch_number(&self, block: u32) {
        if D::DENSE
            && let Some(block) = self.blocks.get(block as usize)
        {
            prefetch(&self.names.ids.numbers, block.id as usize);
        }
    }

    /// Hint: this block's cluster is likely to be destaged soon, and `next` after it. Either may be
    /// [`NIL`].
    #[inline(always)]
    pub(crate) fn prefetch_victims(&self, block: u32, next: u32) {
        if let Some(block) = self.blocks.get(block as usize)
            && let Some(frame) = block.pages.oldest()
        {
            prefetch(&self.frames, frame as usize);
        }
        prefetch(&self.blocks, next as usize);
    }
}
