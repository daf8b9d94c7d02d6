//! Resident pages and the erase blocks that they belong to: what FAB, BPLRU, CLC, BPAC and AALRU
//! share (`docs/spec/block-policies.md` 1.2 to 1.4).
//!
//! ```text
//!   page ──▶ frame ──▶ { block, offset, links, .. }
//!        └─▶ id of its block ──▶ block ──▶ { pages ─▶ frame ◀─▶ frame ◀─▶ .., len, .. }
//! ```
//!
//! Page p belongs to block `p / b` at offset `p mod b`. A block is known while it has a resident
//! page. Its *cluster* is those of its pages that are linked to it, in the order in which they were
//! linked; which order clusters leave in is each policy's own. What a policy keeps of a page is the
//! type `T`, of a block `U`.
//!
//! In a replay the block of every page is known from the start ([`EraseBlocks`]), so nothing is
//! hashed; elsewhere a block is found by its number. What is linked is frames, not pages: a buffer
//! has far fewer frames than a trace has pages, and so they stay in the processor's caches (as in
//! `unit_lists.rs`).
//!
//! ```text
//!   (here)  pages come, join and leave clusters, and go     held    a page, a block
//!   flush   a cluster leaves as a group, padded or not      chain   lists through an array
//!   trace   the blocks of a decoded trace                   sizes   clusters by size
//!   hints   what is brought near before it is used
//! ```
//!
//! Cost. O(1) per page that comes and goes; sorting a cluster of n pages when it is destaged takes
//! O(n log n), none if they came in ascending order; padding O(b).

mod chain;
mod flush;
mod held;
mod hints;
mod sizes;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use chain::{Chain, Linked, NIL, Pair, newer_of};
pub(crate) use flush::{Padding, Share};
pub(crate) use held::{Block, ResidentPage};
pub(crate) use sizes::Sizes;
pub use trace::EraseBlocks;

use destage_core::pages::prefetch;
use destage_core::{Directory, Hashed, Lpn, Page, Part, Slot, huge};
use flush::Leaving;
use std::ops::Range;
use std::sync::Arc;
use trace::BlockSize;

/// Frames that are asked for before their turn: a cache miss lasts as long as a few pages.
const FRAMES_AHEAD: usize = 4;

/// Frame and block of a page.
#[derive(Clone, Copy, Debug)]
struct At {
    frame: u32,  // NIL: it is not resident
    id: u32,     // of its block, in a replay
    offset: u32, // in its block, in a replay
}

impl At {
    const NOWHERE: At = At { frame: NIL, id: NIL, offset: 0 };
}

/// Look-up of blocks: over dense pages by its id, else by its number. Which of the two is known
/// at compile time, so that a replay never loads an LPN.
struct Names {
    ids: Arc<EraseBlocks>,
    by_id: Vec<u32>, // NIL where a block has no resident page
    numbers: Hashed, // the slot is the block's index
}

/// All resident pages, and their blocks.
pub(crate) struct Blocks<D, T, U> {
    directory: D,
    at: Vec<At>,                             // by slot
    pub(crate) frames: Vec<ResidentPage<T>>, // grows with what is resident
    free_frames: Vec<u32>,                   // of those that have been in use
    names: Names,
    pub(crate) blocks: Vec<Block<U>>,
    free_block: u32, // of those that have ids
    resident: u32,
    size: BlockSize,
    device_pages: Option<u64>,
    group: Vec<Leaving>, // gathered from a cluster, ascending
    present: Vec<u32>,   // offsets of those pages of the cluster that stay
}

impl<D: Directory, T: Copy, U: Copy + Default> Blocks<D, T, U> {
    /// Nothing resident.
    pub(crate) fn new(setup: &crate::Setup, directory: D) -> Self {
        let slots = directory.initial_slots() as usize;
        let mut at = huge::table(At::NOWHERE, slots);
        let names = if D::DENSE {
            let all = || Arc::new(EraseBlocks::new(0..slots as u64, setup.pages_per_block));
            let of = setup.erase_blocks.clone().unwrap_or_else(all);
            assert_eq!(of.pages_per_block, setup.pages_per_block, "blocks of one size");
            assert_eq!(of.of_page.len(), slots, "the blocks are those of this trace's pages");
            for (at, &(id, offset)) in at.iter_mut().zip(&of.of_page) {
                (at.id, at.offset) = (id, offset);
            }
            let by_id = huge::table(NIL, of.numbers.len());
            Names { ids: of, by_id, numbers: Hashed::new() }
        } else {
            let ids = Arc::new(EraseBlocks::new([], setup.pages_per_block));
            Names { ids, by_id: Vec::new(), numbers: Hashed::new() }
        };
        Blocks {
            directory,
            at,
            frames: huge::room(slots.min(setup.frames as usize)),
            free_frames: Vec::new(),
            blocks: huge::room(names.by_id.len().min(setup.frames as usize)),
            names,
            free_block: NIL,
            resident: 0,
            size: BlockSize::new(setup.pages_per_block),
            device_pages: setup.device_pages,
            group: Vec::new(),
            present: Vec::new(),
        }
    }

    /// Pages resident.
    #[inline(always)]
    pub(crate) fn resident(&self) -> u32 {
        self.resident
    }

    /// Pages of an erase block.
    #[inline(always)]
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.size.pages as u32 // it was one
    }

    /// The page's slot and frame.
    #[inline(always)]
    pub(crate) fn find(&self, page: Page) -> Option<(Slot, u32)> {
        let slot = self.directory.slot(page)?;
        let frame = self.at[slot.index()].frame;
        (frame != NIL).then_some((slot, frame))
    }

    /// A page that is not resident becomes it, in no cluster yet. Its slot and frame.
    #[inline(always)]
    pub(crate) fn admit(&mut self, page: Page, lpn: Lpn, own: T) -> (Slot, u32) {
        let slot = self.directory.insert(page);
        if !D::DENSE && slot.index() == self.at.len() {
            self.at.push(At::NOWHERE);
        }
        let At { id, mut offset, .. } = self.at[slot.index()];
        let block = if D::DENSE {
            let place = || (self.names.ids.numbers[id as usize], offset);
            debug_assert_eq!(self.size.split(lpn), place(), "the trace's blocks");
            match self.names.by_id[id as usize] {
                NIL => self.know(id, 0),
                block => block,
            }
        } else {
            let number;
            (number, offset) = self.size.split(lpn);
            match self.names.numbers.slot(Page(number)) {
                Some(Slot(block)) => block,
                None => self.know(NIL, number),
            }
        };
        self.blocks[block as usize].resident += 1;
        let held = ResidentPage { slot: slot.0, block, offset, links: Pair::default(), own };
        let frame = match self.free_frames.pop() {
            None => {
                self.frames.push(held);
                self.frames.len() as u32 - 1
            }
            Some(frame) => {
                self.frames[frame as usize] = held;
                if let Some(soon) = self.free_frames.len().checked_sub(FRAMES_AHEAD) {
                    prefetch(&self.frames, self.free_frames[soon] as usize);
                }
                frame
            }
        };
        self.at[slot.index()].frame = frame;
        self.resident += 1;
        (slot, frame)
    }

    /// A block, of this id or this number, has its first resident page.
    #[inline(always)]
    fn know(&mut self, id: u32, number: u64) -> u32 {
        let block = if !D::DENSE {
            self.names.numbers.insert(Page(number)).0
        } else {
            let block = match self.free_block {
                NIL => self.blocks.len() as u32,
                free => {
                    self.free_block = self.blocks[free as usize].id;
                    free
                }
            };
            self.names.by_id[id as usize] = block;
            block
        };
        let new = Block { id, ..Block::default() };
        match self.blocks.get_mut(block as usize) {
            Some(before) => *before = new,
            None => self.blocks.push(new),
        }
        block
    }

    /// The block that a page belongs to, if it has a resident page.
    #[inline(always)]
    pub(crate) fn block_of(&self, frame: u32) -> u32 {
        self.frames[frame as usize].block
    }

    /// Puts a page that is in no cluster into that of its block.
    #[inline(always)]
    pub(crate) fn link(&mut self, frame: u32) {
        let block = &mut self.blocks[self.frames[frame as usize].block as usize];
        block.len += 1;
        block.pages.push_newest(&mut self.frames, frame);
    }

    /// Takes a page out of its cluster.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, frame: u32) {
        let block = &mut self.blocks[self.frames[frame as usize].block as usize];
        block.len -= 1;
        block.pages.unlink(&mut self.frames, frame);
    }

    /// A page that is in no cluster leaves the buffer. Its block is forgotten with its last page.
    pub(crate) fn leave(&mut self, frame: u32) -> Page {
        let ResidentPage { block, slot, .. } = self.frames[frame as usize];
        self.blocks[block as usize].resident -= 1;
        self.forget_if_empty(block);
        self.free(frame, slot)
    }

    /// A page of a cluster is trimmed: it leaves, and its block is forgotten with its last page.
    pub(crate) fn forget(&mut self, frame: u32) {
        self.unlink(frame);
        self.leave(frame);
    }

    /// The frame's page leaves; the frame itself is not looked at, since it need not be near.
    #[inline(always)]
    fn free(&mut self, frame: u32, slot: u32) -> Page {
        self.free_frames.push(frame);
        self.resident -= 1;
        self.at[slot as usize].frame = NIL;
        let page = self.directory.page(Slot(slot));
        self.directory.remove(Slot(slot));
        page
    }

    #[inline(always)]
    fn forget_if_empty(&mut self, block: u32) {
        if self.blocks[block as usize].resident > 0 {
            return;
        }
        if D::DENSE {
            let id = std::mem::replace(&mut self.blocks[block as usize].id, self.free_block);
            self.names.by_id[id as usize] = NIL;
            self.free_block = block;
        } else {
            self.names.numbers.remove(Slot(block));
        }
    }

    /// Every resident page with what the policy keeps of it.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Page, &T)) {
        for (_, held) in self.held() {
            visit(self.directory.page(Slot(held.slot)), &held.own);
        }
    }

    /// The frames that are not free.
    fn held(&self) -> impl Iterator<Item = (u32, &ResidentPage<T>)> {
        let all = (0..).zip(&self.frames);
        all.filter(|&(frame, held)| self.at[held.slot as usize].frame == frame)
    }

    /// The page of a frame.
    pub(crate) fn page(&self, frame: u32) -> Page {
        self.directory.page(Slot(self.frames[frame as usize].slot))
    }

    /// Number of a block.
    pub(crate) fn number(&self, block: u32) -> u64 {
        if D::DENSE {
            self.names.ids.numbers[self.blocks[block as usize].id as usize]
        } else {
            self.names.numbers.page(Slot(block)).0
        }
    }

    /// The pages of a block that exist: those of the drive, and what a page number can name.
    pub(crate) fn existing(&self, block: u32) -> Range<u64> {
        let first = self.number(block) * self.size.pages;
        let end = self.device_pages.unwrap_or(u64::MAX).min(first.saturating_add(self.size.pages));
        first..end
    }

    /// The pages of a block's cluster.
    pub(crate) fn lpns(&self, block: u32) -> impl Iterator<Item = Lpn> {
        let first = self.number(block) * self.size.pages;
        let frames = self.blocks[block as usize].pages.iter(&self.frames);
        frames.map(move |frame| Lpn(first + u64::from(self.frames[frame as usize].offset)))
    }

    /// Every block that is known.
    pub(crate) fn known(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.blocks).filter(|(_, block)| block.resident > 0).map(|(index, _)| index)
    }

    /// Number of a block, and the pages of its cluster in ascending order.
    pub(crate) fn show(&self, block: u32) -> [Part; 2] {
        let mut frames: Vec<u32> = self.blocks[block as usize].pages.iter(&self.frames).collect();
        frames.sort_unstable_by_key(|&frame| self.frames[frame as usize].offset);
        let pages = Part::pages(frames.into_iter().map(|frame| self.page(frame)));
        [Part::Count(self.number(block)), pages]
    }

    /// Asserts that pages, frames and blocks agree.
    pub(crate) fn check(&self) {
        let mut resident = vec![0; self.blocks.len()];
        let mut count = 0;
        for (frame, held) in self.held() {
            assert_eq!(self.find(self.page(frame)), Some((Slot(held.slot), frame)));
            assert!(u64::from(held.offset) < self.size.pages, "an offset is in the block");
            resident[held.block as usize] += 1;
            count += 1;
        }
        assert_eq!(count, self.resident, "every resident page has a frame");
        let free = self.free_frames.len();
        assert_eq!(self.frames.len(), count as usize + free, "a frame is held or free");
        for block in self.known() {
            let Block { pages, len, resident: known, .. } = self.blocks[block as usize];
            assert_eq!(known, resident[block as usize], "a block knows how many pages it has");
            assert_eq!(pages.check(&self.frames), len, "a cluster knows its pages");
            assert!(pages.iter(&self.frames).all(|f| self.frames[f as usize].block == block));
            let found = if D::DENSE {
                self.names.by_id[self.blocks[block as usize].id as usize]
            } else {
                self.names.numbers.slot(Page(self.number(block))).map_or(NIL, |slot| slot.0)
            };
            assert_eq!(found, block, "a block is found");
        }
    }
}
