//! Resident pages and the erase blocks that they belong to: what FAB, BPLRU, CLC, BPAC and AALRU
//! share (`spec/block-policies.md` 1.2 to 1.4).
//!
//! ```text
//!   page ──table──▶ frame ──▶ { block, offset, links, .. }
//!   number of a block ──▶ block ──▶ { pages ─▶ frame ◀─▶ frame ◀─▶ .., len, .. }
//! ```
//!
//! Page p belongs to block `p / b` at offset `p mod b`. A block is known while it has a resident
//! page. Its *cluster* is those of its pages that are linked to it, in the order in which they were
//! linked; which order clusters leave in is each policy's own. What a policy keeps of a page is the
//! type `T`, of a block `U`.
//!
//! What is linked is frames, not pages: a buffer has far fewer frames than a trace has pages, and
//! so they stay in the processor's caches (as in `unit_lists.rs`).
//!
//! Cost. O(1) per page that comes and goes; sorting a cluster of n pages when it is destaged takes
//! O(n log n), none if they came in ascending order; padding O(b).

mod chain;
mod sizes;

pub(crate) use chain::{Chain, Linked, NIL, Pair};
pub(crate) use sizes::Sizes;

use destage_core::pages::prefetch;
use destage_core::{Directory, Entry, Hashed, Lpn, Page, Part, Plan, Slot, Table};

/// Where a page is: its frame + 1, or 0 if it is not resident.
#[derive(Clone, Copy, Default, Debug)]
struct At(u32);

impl Entry for At {
    #[inline(always)]
    fn known(&self) -> bool {
        self.0 != 0
    }
}

/// What is known of a resident page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<T> {
    slot: u32, // names the page in the table; NIL: the frame is free
    /// Index of its block.
    pub(crate) block: u32,
    /// Its place in the block.
    pub(crate) offset: u32,
    links: Pair, // in its cluster; of a free frame: the next free one is the older
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

/// A block with a resident page.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Block<U> {
    /// Its cluster.
    pub(crate) pages: Chain<0>,
    /// Pages of its cluster.
    pub(crate) len: u32,
    resident: u32, // pages in the buffer, in the cluster or not; 0: the index is free
    /// The policy's own.
    pub(crate) own: U,
}

impl<U> Block<U> {
    /// Its only page has just come.
    #[inline(always)]
    pub(crate) fn is_new(&self) -> bool {
        self.resident == 1
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

/// All resident pages, and their blocks.
pub(crate) struct Blocks<D, T, U> {
    table: Table<D, At>,
    pub(crate) frames: Vec<Held<T>>, // grows with what is resident
    free_frame: u32,
    numbers: Hashed, // number of a block -> its index
    pub(crate) blocks: Vec<Block<U>>,
    resident: u32,
    pages_per_block: u64,
    shift: Option<u32>, // pages_per_block is 2^shift
    device_pages: Option<u64>,
    group: Vec<u64>,   // offset and frame of the pages that are destaged
    present: Vec<u32>, // offsets of those of the block that stay
}

impl<D: Directory, T: Copy, U: Copy + Default> Blocks<D, T, U> {
    /// Nothing resident.
    pub(crate) fn new(setup: &crate::Setup, directory: D) -> Self {
        let pages_per_block = setup.pages_per_block;
        let power = pages_per_block.is_power_of_two();
        Blocks {
            table: Table::new(directory),
            frames: Vec::new(),
            free_frame: NIL,
            numbers: Hashed::new(),
            blocks: Vec::new(),
            resident: 0,
            pages_per_block: pages_per_block.into(),
            shift: power.then(|| pages_per_block.trailing_zeros()),
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
        self.pages_per_block as u32 // it was one
    }

    /// The page's slot and frame.
    #[inline(always)]
    pub(crate) fn find(&self, page: Page) -> Option<(Slot, u32)> {
        self.table.find(page).map(|slot| (slot, self.table[slot].0 - 1))
    }

    /// Number and offset of a page.
    #[inline(always)]
    fn split(&self, lpn: Lpn) -> (u64, u32) {
        match self.shift {
            Some(shift) => (lpn.0 >> shift, (lpn.0 & (self.pages_per_block - 1)) as u32),
            None => (lpn.0 / self.pages_per_block, (lpn.0 % self.pages_per_block) as u32),
        }
    }

    /// A page that is not resident becomes it, in no cluster yet. Its slot and frame.
    #[inline(always)]
    pub(crate) fn admit(&mut self, page: Page, lpn: Lpn, own: T) -> (Slot, u32) {
        let (number, offset) = self.split(lpn);
        let block = match self.numbers.slot(Page(number)) {
            Some(Slot(block)) => block,
            None => self.know(number),
        };
        self.blocks[block as usize].resident += 1;
        let held = Held { slot: 0, block, offset, links: Pair::default(), own };
        let frame = self.free_frame;
        let frame = if frame == NIL {
            self.frames.push(held);
            self.frames.len() as u32 - 1
        } else {
            self.free_frame = self.frames[frame as usize].links.older;
            self.frames[frame as usize] = held;
            frame
        };
        let slot = self.table.insert(page, At(frame + 1));
        self.frames[frame as usize].slot = slot.0;
        self.resident += 1;
        (slot, frame)
    }

    fn know(&mut self, number: u64) -> u32 {
        let Slot(block) = self.numbers.insert(Page(number));
        match self.blocks.get_mut(block as usize) {
            Some(before) => *before = Block::default(),
            None => self.blocks.push(Block::default()),
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

    /// The page that was linked to a cluster before this one of it.
    #[inline(always)]
    pub(crate) fn older_in_cluster(&self, frame: u32) -> Option<u32> {
        let older = self.frames[frame as usize].links.older;
        (older != NIL).then_some(older)
    }

    /// A page that is in no cluster leaves the buffer. Its block is forgotten with its last page.
    pub(crate) fn leave(&mut self, frame: u32) -> Page {
        let block = self.block_of(frame);
        self.blocks[block as usize].resident -= 1;
        self.forget_if_empty(block);
        self.free(frame)
    }

    #[inline(always)]
    fn free(&mut self, frame: u32) -> Page {
        let held = &mut self.frames[frame as usize];
        let slot = std::mem::replace(&mut held.slot, NIL);
        held.links.older = self.free_frame;
        self.free_frame = frame;
        self.resident -= 1;
        self.table.remove(Slot(slot))
    }

    #[inline(always)]
    fn forget_if_empty(&mut self, block: u32) {
        if self.blocks[block as usize].resident == 0 {
            self.numbers.remove(Slot(block));
        }
    }

    /// Destages those pages of a block's cluster that are `wanted`, at least one, as one group; the
    /// others stay in it. The block is forgotten if nothing of it stays resident, so it must be on
    /// none of the policy's lists then; returns whether it was.
    #[inline(always)]
    pub(crate) fn destage(
        &mut self,
        block: u32,
        padding: Padding,
        plan: &mut Plan,
        wanted: impl Fn(&T) -> bool,
    ) -> bool {
        self.group.clear();
        self.present.clear();
        let mut at = self.blocks[block as usize].pages.oldest().unwrap_or(NIL);
        while at != NIL {
            let held = &self.frames[at as usize];
            if wanted(&held.own) {
                self.group.push(u64::from(held.offset) << 32 | u64::from(at));
            } else {
                self.present.push(held.offset);
            }
            at = held.links.newer;
        }
        // Sequential writes come in the order in which they leave.
        if !self.group.is_sorted() {
            self.group.sort_unstable();
        }
        if padding == Padding::WholeBlock {
            plan.open_group();
            self.pad(block, plan);
        } else if self.group.len() > 1 {
            plan.open_group();
        }
        let alone = plan_alone(padding, self.group.len());
        for k in 0..self.group.len() {
            let frame = self.group[k] as u32;
            if !self.present.is_empty() {
                let pages = &mut self.blocks[block as usize].pages;
                pages.unlink(&mut self.frames, frame);
            }
            let page = self.free(frame);
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
        let first = self.numbers.page(Slot(block)).0 * self.pages_per_block;
        // The pages that exist: those of the drive, and what a page number can name.
        let end = self.device_pages.map_or(u64::MAX, |pages| pages.saturating_sub(first));
        let end = end.min(self.pages_per_block).min((u64::MAX - first).saturating_add(1));
        self.present.sort_unstable();
        let mut own = self.group.iter().map(|entry| entry >> 32).peekable();
        let mut present = self.present.iter().map(|&offset| u64::from(offset)).peekable();
        for offset in 0..end {
            if own.next_if_eq(&offset).is_none() {
                let in_buffer = present.next_if_eq(&offset).is_some();
                plan.pad(Lpn(first + offset), in_buffer);
            }
        }
    }

    /// Every resident page with what the policy keeps of it.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Page, &T)) {
        let held = self.frames.iter().filter(|held| held.slot != NIL);
        held.for_each(|held| visit(self.table.page(Slot(held.slot)), &held.own));
    }

    /// The page of a frame.
    pub(crate) fn page(&self, frame: u32) -> Page {
        self.table.page(Slot(self.frames[frame as usize].slot))
    }

    /// Number of a block.
    pub(crate) fn number(&self, block: u32) -> u64 {
        self.numbers.page(Slot(block)).0
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
        self.table.warm(page);
    }

    /// Hint, after [`warm`](Blocks::warm): what is known of the page is about to be used.
    #[inline(always)]
    pub(crate) fn warm_held(&self, page: Page) {
        // The hint for a request without pages may name a page that no access ever does.
        if D::DENSE
            && page.0 < self.table.slots() as u64
            && let Some((_, frame)) = self.find(page)
        {
            prefetch(&self.frames, frame as usize);
        }
    }

    /// Asserts that pages, frames and blocks agree.
    pub(crate) fn check(&self) {
        let mut resident = vec![0; self.blocks.len()];
        let mut count = 0;
        for (frame, held) in (0..).zip(&self.frames).filter(|(_, held)| held.slot != NIL) {
            assert_eq!(self.find(self.page(frame)), Some((Slot(held.slot), frame)));
            assert!(u64::from(held.offset) < self.pages_per_block, "an offset is in the block");
            resident[held.block as usize] += 1;
            count += 1;
        }
        assert_eq!(count, self.resident, "every resident page has a frame");
        let free =
            std::iter::successors((self.free_frame != NIL).then_some(self.free_frame), |&f| {
                let next = self.frames[f as usize].links.older;
                (next != NIL).then_some(next)
            });
        assert_eq!(self.frames.len(), count as usize + free.count(), "a frame is held or free");
        for block in self.known() {
            let Block { pages, len, resident: known, .. } = self.blocks[block as usize];
            assert_eq!(known, resident[block as usize], "a block knows how many pages it has");
            assert_eq!(pages.check(&self.frames), len, "a cluster knows its pages");
            assert!(pages.iter(&self.frames).all(|f| self.frames[f as usize].block == block));
            assert_eq!(self.numbers.slot(Page(self.number(block))), Some(Slot(block)));
        }
    }
}

/// A group of one page without padding is what [`Plan::evict`] makes of it.
#[inline(always)]
fn plan_alone(padding: Padding, pages: usize) -> bool {
    padding == Padding::None && pages == 1
}
