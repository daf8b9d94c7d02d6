//! FAST: any log block takes the updates of any logical block; one is kept for sequential writes
//! (`docs/spec/ftl.md` 4).
//!
//! Lee, Park, Chung, Lee, Park, Song. A log buffer-based flash translation layer using
//! fully-associative sector translation. ACM Transactions on Embedded Computing Systems 6(3), 2007.
//!
//! Rules. The first version of a page goes to its slot of the data block. A later one of offset 0
//! opens the sequential log block (SW) for its logical block, and those that continue it are
//! appended there; all others go to the next slot of the newest random log block (RW). SW is merged
//! by copying what is missing into it: when another logical block takes it, and when its owner
//! does not continue. When the RW blocks are all full the oldest is reclaimed: every logical block
//! that has a valid page in it is merged in full.
//!
//! Readings. An owner's write that does not continue the sequence merges SW and goes to RW, so that
//! SW stays an in-order prefix. A page about to be overwritten is copied if it lies in the block
//! that is reclaimed: it is the newest copy until the new one is on flash.
//!
//! Cost. O(1) per page, O(pages per block / 64) per merge, O(pages per block) per RW block
//! reclaimed.

use super::block_ftl::{BlockFtl, FlashOps};
use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::layer::FlashState;
use super::log_blocks::{self, LogBlocks};
use crate::config::{FtlConfig, IfAbsent, Info, Kind, MOST_PAGES, PagesOfBlocks, key};
use crate::geometry::{BlockId, DriveLpn, Ppn};
use std::collections::VecDeque;

/// Catalogue entry of FAST.
pub static INFO: Info = Info {
    name: "fast",
    title: "FAST",
    source: "Lee, Park, Chung, Lee, Park, Song, ACM TECS 6(3), 2007",
    about: "Block-mapped data, and log blocks that take the updates of any logical block; one of \
            them is kept for sequential writes. Reclaiming a log block merges every logical block \
            that has a page in it.",
    keys: &[key(
        "log_blocks",
        Kind::int(2, MOST_PAGES),
        IfAbsent::Int(50),
        "blocks",
        "most log blocks in use, the sequential one among them",
    )],
    device_keys: &[],
    counters: log_blocks::COUNTERS,
    remedy: "",
    row: Some(log_blocks::ROW),
};

/// SW: its slots below `next` hold the owner's offsets in order, all valid.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sequential {
    owner: u32,
    block: BlockId,
    next: u32,
}

/// An RW block: which page each of its slots was programmed with.
#[derive(Clone, PartialEq, Debug)]
struct Random {
    block: BlockId,
    lpns: Vec<DriveLpn>,
}

/// The FTL.
#[derive(Clone, PartialEq, Debug)]
pub struct Fast {
    common: LogBlocks,
    sequential: Option<Sequential>,
    random: VecDeque<Random>, // oldest first; only the newest may have free slots
    most_random: usize,
    pages_per_block: u32,
}

impl Fast {
    /// Log blocks in use.
    fn used(&self) -> u32 {
        (self.random.len() + usize::from(self.sequential.is_some())) as u32
    }

    /// SW becomes the data block of its owner; there is none then.
    fn merge_sequential<F: FlashOps>(&mut self, flash: &mut F) {
        if let Some(Sequential { owner, block, next }) = self.sequential.take() {
            self.common.prefix_merge(owner, block, next, flash);
        }
    }

    /// Case 1: offset 0 opens SW for its logical block.
    fn open_sequential<F: FlashOps>(
        &mut self,
        (lpn, lbn): (DriveLpn, u32),
        flash: &mut F,
    ) -> Result<F::Served, NoFreeBlock> {
        self.merge_sequential(flash);
        let block = self.common.take_log(self.used() + 1)?;
        self.sequential = Some(Sequential { owner: lbn, block, next: 1 });
        Ok(self.common.write_to_log(lpn, self.common.page(block, 0), flash))
    }

    /// Case 4: the next slot of the newest RW block.
    fn write_random<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<F::Served, NoFreeBlock> {
        let full = |random: &Random| random.lpns.len() as u32 == self.pages_per_block;
        if self.random.back().is_none_or(full) {
            self.open_random(flash)?;
        }
        let newest = self.random.back_mut().expect("it has just been opened");
        let page = self.common.page(newest.block, newest.lpns.len() as u32);
        newest.lpns.push(lpn);
        Ok(self.common.write_to_log(lpn, page, flash))
    }

    /// Reclaims the oldest RW block if there are as many as may be, and takes a new one.
    fn open_random<F: FlashOps>(&mut self, flash: &mut F) -> Result<(), NoFreeBlock> {
        let mut lpns = Vec::new();
        if self.random.len() >= self.most_random
            && let Some(oldest) = self.random.pop_front()
        {
            self.reclaim(&oldest, flash)?;
            lpns = oldest.lpns; // its memory serves the new one
            lpns.clear();
        }
        lpns.reserve_exact(self.pages_per_block as usize);
        let block = self.common.take_log(self.used() + 1)?;
        self.random.push_back(Random { block, lpns });
        Ok(())
    }

    /// Merges every logical block that has a valid page in an RW block, and erases it.
    fn reclaim<F: FlashOps>(&mut self, random: &Random, flash: &mut F) -> Result<(), NoFreeBlock> {
        let Random { block, ref lpns } = *random;
        for (slot, &lpn) in (0..).zip(lpns) {
            if self.common.place(lpn) != Some(self.common.page(block, slot)) {
                continue;
            }
            let (lbn, _) = self.common.split(lpn);
            match self.sequential {
                Some(Sequential { owner, .. }) if owner == lbn => self.merge_sequential(flash),
                _ => self.common.full_merge(lbn, flash)?,
            }
        }
        self.common.erase(block, lpns.len() as u32, flash);
        Ok(())
    }

    /// The log blocks in use, each with its next slot.
    fn logs(&self) -> impl Iterator<Item = (BlockId, u32)> {
        let random = self.random.iter().map(|random| (random.block, random.lpns.len() as u32));
        random.chain(self.sequential.iter().map(|sw| (sw.block, sw.next)))
    }
}

impl BlockFtl for Fast {
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self {
        Fast {
            common: LogBlocks::new(pages, blocks),
            sequential: None,
            random: VecDeque::new(),
            most_random: config.get::<u32>("log_blocks") as usize - 1,
            pages_per_block: pages.pages_per_block,
        }
    }

    #[inline]
    fn read<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        Ok(self.common.read(lpn, flash))
    }

    #[inline]
    fn write<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<F::Served, NoFreeBlock> {
        let (lbn, offset) = self.common.split(lpn);
        if let Some(served) = self.common.write_in_place((lbn, offset), flash)? {
            return Ok(served);
        }
        if offset == 0 {
            return self.open_sequential((lpn, lbn), flash);
        }
        match &mut self.sequential {
            // Case 2: it continues the sequence.
            Some(sw) if sw.owner == lbn && sw.next == offset => {
                sw.next += 1;
                let page = self.common.page(sw.block, offset);
                return Ok(self.common.write_to_log(lpn, page, flash));
            }
            // Case 3: it breaks it.
            Some(sw) if sw.owner == lbn => self.merge_sequential(flash),
            _ => {}
        }
        self.write_random(lpn, flash)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        self.common.prefetch(lpn);
    }

    fn counters(&self) -> FtlCounters {
        self.common.counted()
    }

    fn reset(&mut self, wear: bool) {
        self.common.reset(wear);
        self.common.counters.log_blocks_used_max = self.used().into();
    }

    fn place(&self, lpn: DriveLpn) -> Option<Ppn> {
        self.common.place(lpn)
    }

    fn next_free(&self) -> Option<BlockId> {
        self.common.blocks.next_free()
    }

    fn blocks(&self) -> u32 {
        self.common.blocks.total()
    }

    fn erase_counts(&self) -> &[u32] {
        self.common.blocks.erase_counts()
    }

    fn flash_state(&self) -> FlashState {
        self.common.flash_state(self.logs().map(|(_, next)| u64::from(next)).sum())
    }

    fn check(&self) {
        assert!(self.random.len() <= self.most_random, "RW blocks are as many as may be");
        let older = self.random.len().saturating_sub(1);
        let full = |random: &Random| random.lpns.len() as u32 == self.pages_per_block;
        assert!(self.random.iter().take(older).all(full), "only the newest RW block has room");
        if let Some(Sequential { owner, block, next }) = self.sequential {
            for offset in 0..next {
                let place = self.common.place(DriveLpn(owner * self.pages_per_block + offset));
                assert_eq!(place, Some(self.common.page(block, offset)), "SW is a valid prefix");
            }
        }
        self.common.check(&self.logs().collect::<Vec<_>>());
    }
}
