//! BAST: every log block belongs to one logical block (`docs/spec/ftl.md` 3).
//!
//! Kim, Kim, Noh, Min, Cho. A space-efficient flash translation layer for CompactFlash systems.
//! IEEE Transactions on Consumer Electronics 48(2), 2002. BPAC's paper runs over it (its section
//! 2.2, table III).
//!
//! Rules. The first version of a page goes to its slot of the data block. A later one goes to the
//! next slot of the logical block's log block. A log block that is full is merged before the next
//! page; if all log blocks are in use and a logical block without one needs one, the victim is
//! merged. A log block whose slots hold their own offsets in order becomes the data block (switch
//! or partial merge), any other is merged in full and erased.
//!
//! Readings. The victim is the log block programmed least recently, or on request the one allocated
//! first; the papers do not say. A full sequential log block is merged when the room is needed,
//! not at once.
//!
//! Cost. O(1) per page, and per merge O(pages per block / 64).

use super::block_ftl::{BlockFtl, FlashOps};
use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::layer::FlashState;
use super::lists::Lists;
use super::log_blocks::{self, LogBlocks};
use crate::config::{COUNT, FtlConfig, IfAbsent, Info, Kind, PagesOfBlocks, key};
use crate::geometry::{BlockId, DriveLpn, Ppn};
use destage_keys::words;

words! {
    /// Which log block is merged when all are in use.
    Victim {
        /// The one programmed least recently.
        Lru = "lru",
        /// The one allocated first.
        Fifo = "fifo",
    }
}

/// Catalogue entry of BAST.
pub static INFO: Info = Info {
    name: "bast",
    title: "BAST",
    source: "Kim, Kim, Noh, Min, Cho, IEEE Transactions on Consumer Electronics 48(2), 2002",
    about: "Block-mapped data, and log blocks that belong to one logical block each. A log block \
            written in order becomes the data block (switch or partial merge); any other is merged \
            with it into a free block (full merge).",
    keys: &[
        key("log_blocks", COUNT, IfAbsent::Int(50), "blocks", "most log blocks in use"),
        key(
            "victim",
            Kind::Choice(Victim::NAMES),
            IfAbsent::Word("lru"),
            "",
            "log block merged when all are in use: programmed least recently, or allocated \
             first",
        ),
    ],
    device_keys: &[],
    counters: log_blocks::COUNTERS,
    remedy: "",
    row: Some(log_blocks::ROW),
};

/// A log block in use.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Log {
    lbn: u32,
    block: BlockId,
    next: u32,      // slot
    in_order: bool, // slot i holds offset i, so far
}

/// The FTL.
#[derive(Clone, PartialEq, Debug)]
pub struct Bast {
    common: LogBlocks,
    log_of: Vec<u32>, // logical block -> its log + 1; 0 if it has none
    logs: Vec<Log>,
    unused: Vec<u32>, // logs without a block
    order: Lists,     // of logs, the next victim first
    victim: Victim,
    pages_per_block: u32,
}

/// The one list of `order`.
const IN_USE: u32 = 0;

impl Bast {
    /// Logs in use.
    fn used(&self) -> u32 {
        (self.logs.len() - self.unused.len()) as u32
    }

    /// "Log write", steps 1 and 2: the logical block has a log block with a free slot.
    #[inline]
    fn log_with_room<F: FlashOps>(&mut self, lbn: u32, flash: &mut F) -> Result<u32, NoFreeBlock> {
        if let Some(log) = self.log_of[lbn as usize].checked_sub(1) {
            if self.logs[log as usize].next < self.pages_per_block {
                return Ok(log);
            }
            self.merge(log, flash)?;
        }
        if self.unused.is_empty() {
            let victim = self.order.oldest(IN_USE).expect("every log is in use");
            self.merge(victim, flash)?;
        }
        let log = self.unused.pop().expect("a merge frees a log");
        let block = self.common.take_log(self.used())?;
        self.logs[log as usize] = Log { lbn, block, next: 0, in_order: true };
        self.log_of[lbn as usize] = log + 1;
        self.order.push(IN_USE, log);
        Ok(log)
    }

    /// Merges a logical block with its log block.
    fn merge<F: FlashOps>(&mut self, log: u32, flash: &mut F) -> Result<(), NoFreeBlock> {
        let Log { lbn, block, next, in_order } = self.logs[log as usize];
        if in_order {
            self.common.prefix_merge(lbn, block, next, flash);
        } else {
            self.common.full_merge(lbn, flash)?;
            self.common.erase(block, next, flash);
        }
        self.log_of[lbn as usize] = 0;
        self.order.remove(log);
        self.unused.push(log);
        Ok(())
    }
}

impl BlockFtl for Bast {
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self {
        let logical_blocks = pages.logical_blocks();
        // No logical block has two: more would never be used.
        let log_blocks = config.get::<u32>("log_blocks").min(logical_blocks);
        Bast {
            common: LogBlocks::new(pages, blocks),
            log_of: vec![0; logical_blocks as usize],
            logs: vec![Log::default(); log_blocks as usize],
            unused: (0..log_blocks).rev().collect(),
            order: Lists::new(log_blocks, 1),
            victim: config.get("victim"),
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
        let at = self.log_with_room(lbn, flash)?;
        let log = &mut self.logs[at as usize];
        let page = self.common.page(log.block, log.next);
        log.in_order &= log.next == offset;
        log.next += 1;
        if self.victim == Victim::Lru {
            self.order.remove(at);
            self.order.push(IN_USE, at);
        }
        Ok(self.common.write_to_log(lpn, page, flash))
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
        let in_use = self.order.iter(IN_USE).map(|log| u64::from(self.logs[log as usize].next));
        self.common.flash_state(in_use.sum())
    }

    fn check(&self) {
        let in_use: Vec<Log> = self.order.iter(IN_USE).map(|log| self.logs[log as usize]).collect();
        assert_eq!(in_use.len(), self.used() as usize, "a log is in use or it is not");
        let owned = self.log_of.iter().filter(|&&log| log != 0).count();
        assert_eq!(owned, in_use.len(), "a log in use has one owner");
        for (at, log) in self.order.iter(IN_USE).zip(&in_use) {
            assert_eq!(self.log_of[log.lbn as usize], at + 1, "a log and its owner agree");
            assert!((1..=self.pages_per_block).contains(&log.next), "a log in use holds a page");
        }
        let blocks: Vec<(BlockId, u32)> = in_use.iter().map(|log| (log.block, log.next)).collect();
        self.common.check(&blocks);
    }
}
