//! Block pool of page-ideal and DFTL (`docs/spec/ftl.md` 5): blocks programmed in slot order, and
//! greedy collection.
//!
//! ```text
//!  valid    one bit per physical page
//!  owners   physical page -> what it holds, right while valid
//!  sealed   blocks that may be collected, by (valid pages, number)
//! ```
//!
//! A *frontier* is the block that is being programmed, one for each kind of page.

use super::bitmap::{count, pages};
use super::block_ftl::{Copied, FlashOps};
use super::blocks::{Blocks, NoFreeBlock};
use super::counters::{Common, FtlCounters, counters};
use super::tournament::{OUT, Tournaments};
use crate::config::{
    Alone, COUNT, ConfigError, FtlConfig, IfAbsent, Kind, PagesOfBlocks, Reader, key,
};
use crate::divisor::Divisor;
use crate::geometry::{BlockId, Ppn};
use destage_core::PlaneId;
use destage_core::pages::prefetch;

counters! {
    /// Collections of data blocks.
    pub struct Collections {
        /// Data blocks collected.
        gc_runs: Count,
        /// Data pages copied by that.
        gc_copies: Count,
    }
}

/// How page-ideal and DFTL are sized where no drive says it.
pub(super) static ALONE: Alone = Alone {
    keys: &[
        key(
            "over_provisioning",
            Kind::real(0.0, f64::INFINITY),
            IfAbsent::Real(0.2),
            "",
            "blocks beyond those of the stored pages, as a share of these",
        ),
        key("physical_blocks", COUNT, IfAbsent::From("none"), "blocks", "blocks of the flash"),
    ],
    blocks: physical_blocks,
};

/// Spare blocks: the given number, or the number that the over-provisioning leaves.
fn physical_blocks(
    config: &FtlConfig,
    pages: PagesOfBlocks,
    keys: &Reader<'_>,
) -> Result<u64, ConfigError> {
    let least = config.least_blocks(pages);
    let stored = config.stored_pages(pages.logical_pages) as f64;
    let share = 1.0 + keys.get::<f64>("over_provisioning")?;
    if keys.says("physical_blocks") {
        return keys.or("physical_blocks", least, least);
    }
    let blocks = (stored * share / f64::from(pages.pages_per_block) - 1e-9).ceil();
    // More than there can be stays that: a conversion saturates.
    Ok(least.max(blocks as u64))
}

/// The one plane of `sealed`.
const ALL: PlaneId = PlaneId(0);

/// The block that is being programmed: full after a write that used it up, until the next one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Frontier {
    block: BlockId,
    next: u32,
}

/// Blocks and what is in them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pool {
    by_block: Divisor,
    pages_per_block: u32,
    words: usize, // of `valid` per block
    valid: Vec<u64>,
    owners: Vec<u32>,
    sealed: Tournaments, // key: valid pages
    reserve: u32,
    taken: Taken,
    pub(super) blocks: Blocks,
    pub(super) common: Common,
    pub(super) counters: Collections,
}

/// Valid pages that a collection takes out of its victim.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Taken {
    /// Slots of the victim, ascending.
    pub(super) slots: Vec<u32>,
    /// Owner of each slot's page.
    pub(super) owners: Vec<u32>,
}

impl Pool {
    /// All blocks are free. Collections keep `reserve` of them so.
    pub(super) fn new(blocks: u32, pages_per_block: u32, reserve: u32) -> Self {
        let words = pages_per_block.div_ceil(64) as usize;
        Pool {
            by_block: Divisor::new(pages_per_block),
            pages_per_block,
            words,
            valid: vec![0; blocks as usize * words],
            owners: vec![0; blocks as usize * pages_per_block as usize],
            sealed: Tournaments::new(1, blocks, OUT),
            reserve,
            taken: Taken::default(),
            blocks: Blocks::new(blocks),
            common: Common::default(),
            counters: Collections::default(),
        }
    }

    fn words_of(&self, block: BlockId) -> std::ops::Range<usize> {
        let first = block.index() * self.words;
        first..first + self.words
    }

    /// The first page of a block.
    #[inline(always)]
    fn first_page(&self, block: BlockId) -> Ppn {
        block.0 * self.pages_per_block
    }

    /// A frontier has a free slot: nothing is collected before the next program.
    #[inline(always)]
    pub(super) fn has_room(&self, frontier: Option<Frontier>) -> bool {
        frontier.is_some_and(|frontier| frontier.next < self.pages_per_block)
    }

    /// The next victim of "make room", which has begun because a frontier was full: collecting goes
    /// on until the reserve is free, even if a collection has opened a new frontier.
    #[inline(always)]
    pub(super) fn victim(&self) -> Option<BlockId> {
        if self.blocks.free() >= self.reserve {
            return None;
        }
        let (valid, block) = self.sealed.least(ALL)?;
        (valid < self.pages_per_block.into()).then_some(BlockId(block))
    }

    /// The next slot of a frontier, which becomes valid; a free block if it has none.
    #[inline]
    pub(super) fn program(
        &mut self,
        frontier: &mut Option<Frontier>,
        owner: u32,
    ) -> Result<Ppn, NoFreeBlock> {
        let at = self.open(frontier)?;
        let (block, slot) = (at.block, at.next);
        at.next += 1;
        let page = self.first_page(block) + slot;
        self.owners[page as usize] = owner;
        self.valid[block.index() * self.words + (slot / 64) as usize] |= 1 << (slot % 64);
        Ok(page)
    }

    /// A frontier with a free slot. The full one may be collected from now on.
    #[inline]
    fn open<'f>(
        &mut self,
        frontier: &'f mut Option<Frontier>,
    ) -> Result<&'f mut Frontier, NoFreeBlock> {
        if !self.has_room(*frontier) {
            if let Some(full) = *frontier {
                let valid = count(&self.valid[self.words_of(full.block)]);
                self.sealed.lower(ALL, full.block.0, valid.into());
            }
            *frontier = Some(Frontier { block: self.blocks.take()?, next: 0 });
        }
        Ok(frontier.as_mut().expect("it has just been opened"))
    }

    /// The block of the frontier, for callers that mark blocks.
    pub(super) fn block_of(&self, page: Ppn) -> BlockId {
        BlockId(self.by_block.quotient(page))
    }

    /// A page holds the newest version of nothing any more.
    #[inline]
    pub(super) fn invalidate(&mut self, page: Ppn) {
        let (block, slot) = self.by_block.split(page);
        self.valid[block as usize * self.words + (slot / 64) as usize] &= !(1 << (slot % 64));
        let valid = self.sealed.key(BlockId(block));
        if valid != OUT {
            self.sealed.lower(ALL, block, valid - 1);
        }
    }

    /// Takes the valid pages out of a victim, in slot order: they are invalid now. Give it back to
    /// [`erase`](Pool::erase).
    pub(super) fn take_out<F: FlashOps>(&mut self, victim: BlockId, flash: &mut F) -> Taken {
        flash.collection();
        self.sealed.remove(ALL, victim.0);
        let words = self.words_of(victim);
        let mut taken = std::mem::take(&mut self.taken);
        taken.slots.extend(pages(&self.valid[words.clone()]));
        let owners = &self.owners[self.first_page(victim) as usize..];
        taken.owners.extend(taken.slots.iter().map(|&slot| owners[slot as usize]));
        self.valid[words].fill(0);
        taken
    }

    /// Copies as many of the pages from the `done`-th on as a frontier takes. Returns the first
    /// page programmed, and how many.
    pub(super) fn copy<F: FlashOps>(
        &mut self,
        victim: BlockId,
        taken: &Taken,
        done: usize,
        frontier: &mut Option<Frontier>,
        flash: &mut F,
    ) -> Result<(Ppn, usize), NoFreeBlock> {
        let at = self.open(frontier)?;
        let (block, first) = (at.block, at.next);
        let count = (taken.slots.len() - done).min((self.pages_per_block - first) as usize);
        at.next += count as u32;
        let to = self.first_page(block) + first;
        let owners = &taken.owners[done..done + count];
        self.owners[to as usize..][..count].copy_from_slice(owners);
        for slot in first..first + count as u32 {
            self.valid[block.index() * self.words + (slot / 64) as usize] |= 1 << (slot % 64);
        }
        flash.copy(&Copied { from: victim, slots: &taken.slots[done..done + count], to });
        let c = &mut self.common;
        c.flash_reads += count as u64;
        c.flash_programs += count as u64;
        Ok((to, count))
    }

    /// Erases a victim whose pages have been copied.
    pub(super) fn erase<F: FlashOps>(&mut self, victim: BlockId, mut taken: Taken, flash: &mut F) {
        taken.slots.clear();
        taken.owners.clear();
        self.taken = taken; // its memory serves the next collection
        self.common.erases += 1;
        self.blocks.erase(victim, self.pages_per_block);
        flash.erase(victim);
    }

    /// Brings near what changes when a page becomes invalid.
    #[inline(always)]
    pub(super) fn prefetch(&self, page: Ppn) {
        let block = self.by_block.quotient(page);
        prefetch(&self.valid, block as usize * self.words);
        prefetch(self.sealed.keys(), block as usize);
    }

    /// Counters of all FTLs, and those of collections.
    pub(super) fn counted(&self) -> FtlCounters {
        FtlCounters::new(self.common).with(Collections::DECLARED, &self.counters.values())
    }

    /// The state of the flash.
    pub(super) fn wear(&self) -> [u64; 2] {
        self.blocks.wear().values()
    }

    /// Sets all counts to zero, and with `wear` those of every block's erases.
    pub(super) fn reset(&mut self, wear: bool) {
        (self.common, self.counters) = (Common::default(), Collections::default());
        if wear {
            self.blocks.reset_wear();
        }
    }

    /// Valid pages.
    pub(super) fn valid_pages(&self) -> u64 {
        self.valid.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Pages programmed since the flash was made: sealed blocks are full.
    pub(super) fn programs(&self, frontiers: &[Option<Frontier>]) -> u64 {
        let sealed = self.sealed.keys().iter().filter(|&&key| key != OUT).count() as u64;
        let open: u32 = frontiers.iter().flatten().map(|frontier| frontier.next).sum();
        self.blocks.erased_pages + sealed * u64::from(self.pages_per_block) + u64::from(open)
    }

    /// The page is valid and holds this.
    pub(super) fn holds(&self, page: Ppn, owner: u32) -> bool {
        let (block, slot) = self.by_block.split(page);
        let word = self.valid[block as usize * self.words + (slot / 64) as usize];
        word >> (slot % 64) & 1 == 1 && self.owners[page as usize] == owner
    }

    /// Asserts that every block is free, sealed or a frontier, and has the pages of its kind.
    pub(super) fn check(&self, frontiers: &[Option<Frontier>]) {
        let mut uses = vec![0; self.blocks.total() as usize];
        for block in self.blocks.queue() {
            uses[block.index()] += 1;
            assert_eq!(count(&self.valid[self.words_of(block)]), 0, "a free block is empty");
        }
        for frontier in frontiers.iter().flatten() {
            uses[frontier.block.index()] += 1;
            let last = pages(&self.valid[self.words_of(frontier.block)]).last();
            assert!(last.is_none_or(|last| last < frontier.next), "the rest is not programmed");
        }
        for (block, &valid) in (0..).zip(self.sealed.keys()) {
            if valid != OUT {
                uses[block as usize] += 1;
                let counted = count(&self.valid[self.words_of(BlockId(block))]);
                assert_eq!(u64::from(counted), valid, "a sealed block knows its valid pages");
            }
        }
        assert!(uses.iter().all(|&uses| uses == 1), "a block is free, sealed or a frontier");
    }
}
