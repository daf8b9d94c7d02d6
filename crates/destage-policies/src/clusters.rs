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
//! hashed; elsewhere a block is found by its number. What is linked is frames, not pages: a buffer has far fewer frames than a trace has pages, and
//! so they stay in the processor's caches (as in `unit_lists.rs`).
//!
//! Cost. O(1) per page that comes and goes; sorting a cluster of n pages when it is destaged takes
//! O(n log n), none if they came in ascending order; padding O(b).

mod chain;
mod sizes;

pub(crate) use chain::{Chain, Linked, NIL, Pair};
pub(crate) use sizes::Sizes;

use destage_core::pages::prefetch;
use destage_core::{Directory, Hashed, Lpn, Page, Part, Plan, Slot, huge};
use std::ops::Range;
use std::sync::Arc;

/// The erase blocks of a decoded trace: those in which it has a page, numbered in ascending order.
#[derive(Clone, Debug)]
pub struct EraseBlocks {
    pages_per_block: u32,
    of_page: Vec<(u32, u32)>, // by dense id of a page: id of its block, and its offset there
    numbers: Vec<u64>,
    firsts: Vec<u32>, // dense id of each block's first page, and of none at the end
}

impl EraseBlocks {
    /// Of pages with these LPNs, ascending, in blocks of so many pages.
    pub fn new(lpns: impl IntoIterator<Item = u64>, pages_per_block: u32) -> Self {
        let size = BlockSize::new(pages_per_block);
        let mut of_page = Vec::new();
        let mut numbers: Vec<u64> = Vec::new();
        let mut firsts = Vec::new();
        for lpn in lpns {
            let (number, offset) = size.split(Lpn(lpn));
            if numbers.last() != Some(&number) {
                numbers.push(number);
                firsts.push(of_page.len() as u32); // ids have 32 bits
            }
            of_page.push((numbers.len() as u32 - 1, offset)); // no more blocks than pages
        }
        firsts.push(of_page.len() as u32);
        EraseBlocks { pages_per_block, of_page, numbers, firsts }
    }
}

impl EraseBlocks {
    /// Dense ids of a block's pages.
    #[inline(always)]
    fn ids(&self, id: u32) -> std::ops::Range<usize> {
        self.firsts[id as usize] as usize..self.firsts[id as usize + 1] as usize
    }
}

/// Splits LPNs into the number of a block and an offset.
#[derive(Clone, Copy, Debug)]
struct BlockSize {
    pages: u64,
    shift: Option<u32>, // pages is 2^shift
}

impl BlockSize {
    fn new(pages_per_block: u32) -> Self {
        let power = pages_per_block.is_power_of_two();
        let shift = power.then(|| pages_per_block.trailing_zeros());
        BlockSize { pages: pages_per_block.into(), shift }
    }

    #[inline(always)]
    fn split(&self, lpn: Lpn) -> (u64, u32) {
        match self.shift {
            Some(shift) => (lpn.0 >> shift, (lpn.0 & (self.pages - 1)) as u32),
            None => (lpn.0 / self.pages, (lpn.0 % self.pages) as u32),
        }
    }
}

/// Frames that are asked for before their turn: a cache miss lasts as long as a few pages.
const FRAMES_AHEAD: usize = 4;

/// Where a page is, and where it belongs.
#[derive(Clone, Copy, Debug)]
struct At {
    frame: u32,  // NIL: it is not resident
    id: u32,     // of its block, in a replay
    offset: u32, // in its block, in a replay
}

impl At {
    const NOWHERE: At = At { frame: NIL, id: NIL, offset: 0 };
}

/// How a block is found: over dense pages by its id, else by its number. Which of the two is known
/// at compile time, so that a replay never loads an LPN.
struct Names {
    ids: Arc<EraseBlocks>,
    by_id: Vec<u32>, // NIL where a block has no resident page
    numbers: Hashed, // the slot is the block's index
}

/// What is known of a resident page. Two share a line of the processor's caches, and none lies
/// across two: a hint brings one line near.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Held<T> {
    slot: u32, // names the page in the table; of a free frame: a page that has another, or none
    /// Index of its block.
    pub(crate) block: u32,
    /// Its place in the block.
    pub(crate) offset: u32,
    links: Pair, // in its cluster
    /// The policy's own.
    pub(crate) own: T,
}

impl<T> Linked<0> for Held<T> {
    #[inline(always)]
    fn pair(&self) -> Pair {
        self.links
    }
    #[inline(always)]
    fn pair_mut(&mut self) -> &mut Pair {
        &mut self.links
    }
}

impl<T: Linked<1>> Linked<1> for Held<T> {
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
    /// Its cluster.
    pub(crate) pages: Chain<0>,
    /// Pages of its cluster.
    pub(crate) len: u32,
    resident: u32, // pages in the buffer, in the cluster or not; 0: the index is free
    id: u32,       // in a replay; of a free one: the next free one
    /// The policy's own.
    pub(crate) own: U,
}

impl<U> Block<U> {
    /// Its only page has just come.
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

/// What goes with a cluster to flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Padding {
    /// Nothing.
    None,
    /// The other pages of the block, as far as they exist.
    WholeBlock,
}

/// A page that is about to be destaged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Leaving {
    offset: u32,
    frame: u32,
    slot: u32,
}

/// What becomes of a page when its block's cluster is destaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// It leaves.
    Leaves,
    /// It is in the cluster, and stays.
    Stays,
    /// It is not in the cluster.
    Elsewhere,
}

/// All resident pages, and their blocks.
pub(crate) struct Blocks<D, T, U> {
    directory: D,
    at: Vec<At>,                     // by slot
    pub(crate) frames: Vec<Held<T>>, // grows with what is resident
    free_frames: Vec<u32>,           // of those that have been in use
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
        let held = Held { slot: slot.0, block, offset, links: Pair::default(), own };
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
        let Held { block, slot, .. } = self.frames[frame as usize];
        self.blocks[block as usize].resident -= 1;
        self.forget_if_empty(block);
        self.free(frame, slot)
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

    /// Gathers those pages of a block's cluster that leave, at least one, for
    /// [`destage`](Blocks::destage).
    #[inline(always)]
    pub(crate) fn gather(&mut self, block: u32, share: impl Fn(&T) -> Share) {
        self.group.clear();
        self.present.clear();
        let Block { pages, len, id, .. } = self.blocks[block as usize];
        // Where the block's pages are is not asked for a few, since the answer is far away.
        let ids = if D::DENSE && len >= 4 { self.names.ids.ids(id) } else { 0..0 };
        if !ids.is_empty() && len as usize * 8 >= ids.len() {
            // The block's pages stand side by side in the table, in the order in which they leave;
            // its frames lie anywhere, and following their links would wait for one after another.
            for slot in ids {
                let At { frame, offset, .. } = self.at[slot];
                if frame == NIL {
                    continue;
                }
                match share(&self.frames[frame as usize].own) {
                    Share::Leaves => self.group.push(Leaving { offset, frame, slot: slot as u32 }),
                    Share::Stays => self.present.push(offset),
                    Share::Elsewhere => {}
                }
            }
        } else {
            let mut frame = pages.oldest().unwrap_or(NIL);
            while frame != NIL {
                let Held { offset, slot, links, own, .. } = &self.frames[frame as usize];
                match share(own) {
                    Share::Leaves => {
                        self.group.push(Leaving { offset: *offset, frame, slot: *slot });
                    }
                    Share::Stays => self.present.push(*offset),
                    Share::Elsewhere => {}
                }
                frame = links.newer;
            }
        }
        // Sequential writes come in the order in which they leave.
        if !self.group.is_sorted() {
            self.group.sort_unstable();
        }
    }

    /// Takes the pages that have been gathered off a list of the policy's own.
    #[inline(always)]
    pub(crate) fn unlink_gathered<const K: usize>(&mut self, list: &mut Chain<K>)
    where
        Held<T>: Linked<K>,
    {
        for leaving in &self.group {
            prefetch(&self.frames, leaving.frame as usize);
        }
        for k in 0..self.group.len() {
            if let Some(ahead) = self.group.get(k + FRAMES_AHEAD) {
                self.warm_linked::<K>(ahead.frame);
            }
            list.unlink(&mut self.frames, self.group[k].frame);
        }
    }

    /// Destages the pages that have been gathered as one group; they must be on none of the policy's
    /// lists. The block is forgotten if nothing of it stays resident, so it must be on none either;
    /// returns whether it was.
    #[inline(always)]
    pub(crate) fn destage(&mut self, block: u32, padding: Padding, plan: &mut Plan) -> bool {
        let whole = self.group.len() as u64 == self.size.pages;
        if padding == Padding::WholeBlock {
            plan.open_group();
            if !whole {
                self.pad(block, plan);
            }
        } else if self.group.len() > 1 {
            plan.open_group();
        }
        let alone = plan_alone(padding, self.group.len());
        for k in 0..self.group.len() {
            let Leaving { frame, slot, .. } = self.group[k];
            if !self.present.is_empty() {
                let pages = &mut self.blocks[block as usize].pages;
                pages.unlink(&mut self.frames, frame);
            }
            let page = self.free(frame, slot);
            if alone {
                plan.evict(page, true);
            } else {
                plan.flush_and_evict(page);
            }
        }
        let gone = self.group.len() as u32;
        let left = &mut self.blocks[block as usize];
        if self.present.is_empty() {
            left.pages = Chain::default();
        }
        left.len -= gone;
        left.resident -= gone;
        let forgotten = left.resident == 0;
        self.forget_if_empty(block);
        forgotten
    }

    /// Names the pages that complete the block, of which the group is collected.
    fn pad(&mut self, block: u32, plan: &mut Plan) {
        let first = self.number(block) * self.size.pages;
        // The pages that exist: those of the drive, and what a page number can name.
        let end = self.device_pages.map_or(u64::MAX, |pages| pages.saturating_sub(first));
        let end = end.min(self.size.pages).min((u64::MAX - first).saturating_add(1));
        self.present.sort_unstable();
        let mut present = self.present.iter().map(|&offset| u64::from(offset)).peekable();
        let mut from = 0;
        for offset in self.group.iter().map(|leaving| u64::from(leaving.offset)).chain([end]) {
            // From one page of the group to the next, with what the buffer has in between.
            while let Some(clean) = present.next_if(|&clean| clean < offset.min(end)) {
                if from < clean {
                    plan.pad_run(first + from..first + clean);
                }
                plan.pad(Lpn(first + clean), true);
                from = clean + 1;
            }
            if from < offset.min(end) {
                plan.pad_run(first + from..first + offset.min(end));
            }
            from = offset + 1;
        }
    }

    /// Every resident page with what the policy keeps of it.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Page, &T)) {
        for (_, held) in self.held() {
            visit(self.directory.page(Slot(held.slot)), &held.own);
        }
    }

    /// The frames that are not free.
    fn held(&self) -> impl Iterator<Item = (u32, &Held<T>)> {
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

    /// Hint: the page is about to be looked up.
    #[inline(always)]
    pub(crate) fn warm(&self, page: Page) {
        if D::DENSE {
            prefetch(&self.at, page.0 as usize);
        }
    }

    /// Hint, after [`warm`](Blocks::warm): what is known of the page is about to be used.
    #[inline(always)]
    pub(crate) fn warm_held(&self, page: Page) {
        // The hint for a request without pages may name a page that no access ever does. Frames and
        // blocks that are none are asked for in vain: cheaper than a branch.
        if D::DENSE
            && let Some(at) = self.at.get(page.0 as usize)
        {
            prefetch(&self.frames, at.frame as usize);
            prefetch(&self.names.by_id, at.id as usize);
        }
    }

    /// Hint, after [`warm_held`](Blocks::warm_held): so is its block. Returns the page's frame, or
    /// [`NIL`].
    #[inline(always)]
    pub(crate) fn warm_block(&self, page: Page) -> u32 {
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
    pub(crate) fn warm_linked<const K: usize>(&self, frame: u32)
    where
        Held<T>: Linked<K>,
    {
        if let Some(held) = self.frames.get(frame as usize) {
            let Pair { newer, older } = held.pair();
            prefetch(&self.frames, newer as usize);
            prefetch(&self.frames, older as usize);
        }
    }

    /// Hint: the page of this frame, which is near, is likely to leave soon.
    #[inline(always)]
    pub(crate) fn warm_leaving(&self, frame: u32) {
        let Held { slot, block, .. } = self.frames[frame as usize];
        prefetch(&self.at, slot as usize);
        prefetch(&self.blocks, block as usize);
        self.warm_linked::<0>(frame);
    }

    /// Hint: the number of this block, which is near, or [`NIL`], is about to be asked for.
    #[inline(always)]
    pub(crate) fn warm_number(&self, block: u32) {
        if D::DENSE
            && let Some(block) = self.blocks.get(block as usize)
        {
            prefetch(&self.names.ids.numbers, block.id as usize);
        }
    }

    /// Hint: this block's cluster is likely to be destaged soon, and `next` after it. Either may be
    /// [`NIL`].
    #[inline(always)]
    pub(crate) fn warm_victims(&self, block: u32, next: u32) {
        if let Some(block) = self.blocks.get(block as usize)
            && let Some(frame) = block.pages.oldest()
        {
            prefetch(&self.frames, frame as usize);
        }
        prefetch(&self.blocks, next as usize);
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

/// A group of one page without padding is what [`Plan::evict`] makes of it.
#[inline(always)]
fn plan_alone(padding: Padding, pages: usize) -> bool {
    padding == Padding::None && pages == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setup;
    use destage_core::Dense;

    #[test]
    fn the_blocks_of_a_trace_are_those_it_has_a_page_in() {
        for (pages_per_block, big) in [(4, 1 << 40), (5, 5 << 40)] {
            let blocks = EraseBlocks::new([1, 2, 9, big, big + 3], pages_per_block);
            let (b, last) = (u64::from(pages_per_block), big / u64::from(pages_per_block));
            assert_eq!(blocks.numbers, [0, 9 / b, last]);
            let offset = (9 % b) as u32;
            assert_eq!(blocks.of_page, [(0, 1), (0, 2), (1, offset), (2, 0), (2, 3)]);
            assert_eq!((blocks.ids(0), blocks.ids(1), blocks.ids(2)), (0..2, 2..3, 3..5));
        }
    }

    /// Pages 0 to 7 of a block of 8, admitted in this order.
    fn cluster(order: [u64; 8]) -> Blocks<Dense, bool, ()> {
        let setup = Setup { pages_per_block: 8, ..Setup::new(8) };
        let mut pages: Blocks<Dense, bool, ()> = Blocks::new(&setup, Dense::new(16));
        for page in order {
            let (_, frame) = pages.admit(Page(page), Lpn(page), page % 3 == 0);
            pages.link(frame);
        }
        pages
    }

    #[test]
    fn a_group_ascends_and_what_stays_is_padding_that_the_buffer_has() {
        for order in [[0, 1, 2, 3, 4, 5, 6, 7], [5, 1, 7, 0, 2, 6, 4, 3]] {
            let mut pages = cluster(order);
            let mut plan = Plan::new();
            let share = |stays: &bool| if *stays { Share::Stays } else { Share::Leaves };
            pages.gather(0, share);
            let forgotten = pages.destage(0, Padding::WholeBlock, &mut plan);
            assert!(!forgotten);
            pages.check();
            let (group, pads) = plan.groups().next().expect("a group");
            assert_eq!(group, [1, 2, 4, 5, 7].map(Page));
            assert!(pads.iter().all(|pad| pad.in_buffer));
            assert_eq!(pads.iter().map(|pad| pad.lpn.0).collect::<Vec<_>>(), [0, 3, 6]);
            assert_eq!((pages.resident(), pages.blocks[0].len), (3, 3));
            plan.clear();
            pages.gather(0, |_| Share::Leaves);
            assert!(pages.destage(0, Padding::None, &mut plan));
            pages.check();
            assert_eq!(plan.flushed(), [0, 3, 6].map(Page));
        }
    }

    #[test]
    fn a_block_that_was_forgotten_gives_its_place_to_another() {
        let mut pages = cluster([0, 1, 2, 3, 4, 5, 6, 7]);
        let mut plan = Plan::new();
        pages.gather(0, |_| Share::Leaves);
        pages.destage(0, Padding::None, &mut plan);
        let (_, frame) = pages.admit(Page(9), Lpn(9), false);
        pages.link(frame);
        pages.check();
        assert_eq!((pages.block_of(frame), pages.number(0)), (0, 1));
    }
}
