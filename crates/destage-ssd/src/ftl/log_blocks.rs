//! Log-block mechanism of BAST and FAST (`docs/spec/ftl.md` 2): data blocks, newest copies in log
//! blocks, merges.
//!
//! ```text
//!  data       logical block -> its data block + 1; 0 if it has none
//!  offsets    logical block -> bits of the pages written, and of those whose newest copy is in a
//!             log
//!  log_pages  logical page -> page of a log block, right where the second bit says so
//! ```
//!
//! A page is valid in its data block if it was written and its newest copy is not in a log. A merge
//! clears the second bits, whatever log blocks they stood for: it never visits a page.

use super::bitmap::{below, count, pages};
use super::block_ftl::{FlashOps, Gathered};
use super::blocks::{Blocks, NoFreeBlock, Wear};
use super::counters::{Common, FtlCounters, counters};
use super::layer::FlashState;
use crate::config::{Alone, COUNT, Counter, IfAbsent, PagesOfBlocks, Row, key};
use crate::divisor::Divisor;
use crate::geometry::{BlockId, DriveLpn, Ppn};
use destage_core::pages::prefetch;

counters! {
    /// Merges, and how full log blocks are.
    pub struct Merges {
        /// Merges in which a log block became the data block as it was.
        switch_merges: Count,
        /// Merges in which a log block became the data block after copies into it.
        partial_merges: Count,
        /// Merges of data block and log blocks into a free block.
        full_merges: Count,
        /// Pages read by merges.
        merge_reads: Count,
        /// Pages programmed by merges.
        merge_programs: Count,
        /// Log blocks that were allocated.
        log_blocks_taken: Count beside,
        /// Pages programmed in log blocks for the host.
        log_pages: Count beside,
        /// Most log blocks in use at a time.
        log_blocks_used_max: State beside,
    }
}

/// Counters of BAST and FAST.
pub(super) const COUNTERS: &[&[Counter]] = &[Merges::DECLARED, Wear::DECLARED];

/// Requirements of BAST and FAST on their blocks: the log blocks, and one that a merge copies to.
pub(super) const ROW: Row = Row {
    stored_pages: |_, logical_pages| logical_pages.into(),
    least_beside: |config| u64::from(config.get::<u32>("log_blocks")) + 1,
    alone: &Alone {
        keys: &[key(
            "spare_blocks",
            COUNT,
            IfAbsent::Int(1),
            "blocks",
            "beside data and log blocks",
        )],
        blocks: |config, pages, keys| {
            Ok(config.least_blocks(pages) - 1 + keys.get::<u64>("spare_blocks")?)
        },
    },
};

/// Data blocks, and where the newest copies are.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LogBlocks {
    by_block: Divisor,
    pages_per_block: u32,
    words: usize, // of a bitmap
    data: Vec<u32>,
    offsets: Vec<u64>,
    log_pages: Vec<Ppn>,
    gathered: Words, // scratch of a merge
    pub(super) blocks: Blocks,
    pub(super) common: Common,
    pub(super) counters: Merges,
}

/// Which offsets a merge copies, and where from.
#[derive(Clone, PartialEq, Debug)]
struct Words {
    from_data: Vec<u64>,
    from_log: Vec<u64>,
}

impl LogBlocks {
    /// All blocks are free, nothing is written.
    pub(super) fn new(pages: PagesOfBlocks, blocks: u32) -> Self {
        let PagesOfBlocks { logical_pages, pages_per_block } = pages;
        let words = pages_per_block.div_ceil(64) as usize;
        let logical_blocks = logical_pages.div_ceil(pages_per_block) as usize;
        LogBlocks {
            by_block: Divisor::new(pages_per_block),
            pages_per_block,
            words,
            data: vec![0; logical_blocks],
            offsets: vec![0; logical_blocks * 2 * words],
            log_pages: vec![0; logical_pages as usize],
            gathered: Words { from_data: vec![0; words], from_log: vec![0; words] },
            blocks: Blocks::new(blocks),
            common: Common::default(),
            counters: Merges::default(),
        }
    }

    /// Logical block and offset of a page.
    #[inline(always)]
    pub(super) fn split(&self, lpn: DriveLpn) -> (u32, u32) {
        self.by_block.split(lpn.0)
    }

    /// Page of a slot.
    #[inline(always)]
    pub(super) fn page(&self, block: BlockId, slot: u32) -> Ppn {
        block.0 * self.pages_per_block + slot
    }

    /// Where the word of an offset is: of the pages written; `words` after it of those in a log.
    #[inline(always)]
    fn word(&self, lbn: u32, offset: u32) -> usize {
        lbn as usize * 2 * self.words + (offset / 64) as usize
    }

    /// The data block of a logical block, which has one.
    #[inline(always)]
    fn data_block(&self, lbn: u32) -> BlockId {
        BlockId(self.data[lbn as usize] - 1)
    }

    #[inline(always)]
    fn written(&self, lbn: u32) -> &[u64] {
        &self.offsets[lbn as usize * 2 * self.words..][..self.words]
    }

    #[inline(always)]
    fn in_log(&self, lbn: u32) -> &[u64] {
        &self.offsets[(lbn as usize * 2 + 1) * self.words..][..self.words]
    }

    /// Brings near what says where a page is.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: DriveLpn) {
        let (lbn, offset) = self.split(lpn);
        prefetch(&self.offsets, self.word(lbn, offset));
        prefetch(&self.log_pages, lpn.index());
    }

    /// Where the newest copy of a page is.
    #[inline(always)]
    pub(super) fn place(&self, lpn: DriveLpn) -> Option<Ppn> {
        let (lbn, offset) = self.split(lpn);
        let (word, bit) = (self.word(lbn, offset), 1 << (offset % 64));
        if self.offsets[word] & bit == 0 {
            return None;
        }
        if self.offsets[word + self.words] & bit != 0 {
            return Some(self.log_pages[lpn.index()]);
        }
        Some(self.page(self.data_block(lbn), offset))
    }

    /// "Read. From the newest copy."
    #[inline]
    pub(super) fn read<F: FlashOps>(&mut self, lpn: DriveLpn, flash: &mut F) -> Option<F::Served> {
        self.common.host_reads += 1;
        let place = self.place(lpn);
        match place {
            None => self.common.unmapped_reads += 1,
            Some(_) => self.common.flash_reads += 1,
        }
        place.map(|page| flash.read(page))
    }

    /// The first two steps of a write: the first version of a page goes into its data block. `None`
    /// if it is not the first: the write goes to a log block.
    #[inline]
    pub(super) fn write_in_place<F: FlashOps>(
        &mut self,
        (lbn, offset): (u32, u32),
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        self.common.host_writes += 1;
        let (word, bit) = (self.word(lbn, offset), 1 << (offset % 64));
        if self.offsets[word] & bit != 0 {
            return Ok(None);
        }
        if self.data[lbn as usize] == 0 {
            self.data[lbn as usize] = self.blocks.take()?.0 + 1;
        }
        self.offsets[word] |= bit;
        self.common.flash_programs += 1;
        Ok(Some(flash.program(self.page(self.data_block(lbn), offset))))
    }

    /// Programs a page of a log block with a new version of a page.
    #[inline]
    pub(super) fn write_to_log<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        page: Ppn,
        flash: &mut F,
    ) -> F::Served {
        let (lbn, offset) = self.split(lpn);
        let word = self.word(lbn, offset) + self.words;
        self.offsets[word] |= 1 << (offset % 64);
        self.log_pages[lpn.index()] = page;
        self.common.flash_programs += 1;
        self.counters.log_pages += 1;
        flash.program(page)
    }

    /// Takes a free block for a log; so many are in use then.
    #[inline]
    pub(super) fn take_log(&mut self, used: u32) -> Result<BlockId, NoFreeBlock> {
        let block = self.blocks.take()?;
        let c = &mut self.counters;
        c.log_blocks_taken += 1;
        c.log_blocks_used_max = c.log_blocks_used_max.max(used.into());
        Ok(block)
    }

    /// A log block holds exactly the offsets below `n` of a logical block in their slots, all
    /// valid: the others are copied to it, and it becomes the data block. A *switch* if there are
    /// none, else a *partial* merge.
    pub(super) fn prefix_merge<F: FlashOps>(
        &mut self,
        lbn: u32,
        log: BlockId,
        n: u32,
        flash: &mut F,
    ) {
        let copied = self.gather(lbn, log, n, flash);
        if copied > 0 {
            self.counters.partial_merges += 1;
        } else {
            self.counters.switch_merges += 1;
        }
    }

    /// All pages of a logical block are copied to a free block, which becomes its data block.
    pub(super) fn full_merge<F: FlashOps>(
        &mut self,
        lbn: u32,
        flash: &mut F,
    ) -> Result<(), NoFreeBlock> {
        let to = self.blocks.take()?;
        self.gather(lbn, to, 0, flash);
        self.counters.full_merges += 1;
        Ok(())
    }

    /// Copies what was written from offset `n` on to a block, which becomes the data block; the old
    /// one is erased. Returns how many pages were copied.
    #[inline]
    fn gather<F: FlashOps>(&mut self, lbn: u32, to: BlockId, n: u32, flash: &mut F) -> u32 {
        flash.collection();
        let data = self.data_block(lbn);
        let (mut programmed, mut copied) = (0, 0);
        let offsets = &mut self.offsets[lbn as usize * 2 * self.words..][..2 * self.words];
        let (written, in_log) = offsets.split_at_mut(self.words);
        let Words { from_data, from_log } = &mut self.gathered;
        for (word, start) in (0..self.words).zip((0..).step_by(64)) {
            let copies = written[word] & !below(n, start);
            programmed += written[word].count_ones();
            copied += copies.count_ones();
            from_data[word] = copies & !in_log[word];
            from_log[word] = copies & in_log[word];
            in_log[word] = 0;
        }
        if copied > 0 {
            let first = (lbn * self.pages_per_block) as usize;
            flash.gather(&Gathered {
                to,
                data,
                from_data,
                from_log,
                log_pages: &self.log_pages[first..],
            });
        }
        let c = &mut self.counters;
        c.merge_reads += u64::from(copied);
        c.merge_programs += u64::from(copied);
        self.common.flash_reads += u64::from(copied);
        self.common.flash_programs += u64::from(copied);
        self.data[lbn as usize] = to.0 + 1;
        self.erase(data, programmed, flash);
        copied
    }

    /// Erases a block in which so many pages have been programmed.
    pub(super) fn erase<F: FlashOps>(&mut self, block: BlockId, programmed: u32, flash: &mut F) {
        self.common.erases += 1;
        self.blocks.erase(block, programmed);
        flash.erase(block);
    }

    /// All that is counted.
    pub(super) fn counted(&self) -> FtlCounters {
        FtlCounters::new(self.common)
            .with(Merges::DECLARED, &self.counters.values())
            .with(Wear::DECLARED, &self.blocks.wear().values())
    }

    /// Sets all counts to zero, and with `wear` those of every block's erases.
    pub(super) fn reset(&mut self, wear: bool) {
        (self.common, self.counters) = (Common::default(), Merges::default());
        if wear {
            self.blocks.reset_wear();
        }
    }

    /// From the tables; `log_programs`: pages that have been programmed in the log blocks there
    /// are.
    pub(super) fn flash_state(&self, log_programs: u64) -> FlashState {
        let written = (0..self.data.len() as u32).map(|lbn| u64::from(count(self.written(lbn))));
        let written: u64 = written.sum();
        FlashState {
            mapped_pages: written,
            valid_pages: self.distinct_places(),
            programs: self.blocks.erased_pages + written + log_programs,
            summaries: 0,
            erases: self.blocks.erase_counts().iter().copied().map(u64::from).sum(),
        }
    }

    /// Physical pages that hold the newest copy of some page.
    fn distinct_places(&self) -> u64 {
        let mut held = vec![0u64; self.held_words()];
        for lpn in (0..self.log_pages.len() as u32).map(DriveLpn) {
            if let Some(page) = self.place(lpn) {
                held[(page / 64) as usize] |= 1 << (page % 64);
            }
        }
        held.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn held_words(&self) -> usize {
        (self.blocks.total() as usize * self.pages_per_block as usize).div_ceil(64)
    }

    /// Asserts that every block is either free, a data block or one of these log blocks, and that
    /// a newest copy in a log is in one of them, below its next slot.
    pub(super) fn check(&self, logs: &[(BlockId, u32)]) {
        let mut uses = vec![0; self.blocks.total() as usize];
        let data = self.data.iter().filter(|&&data| data != 0).map(|data| BlockId(data - 1));
        for block in self.blocks.queue().chain(data).chain(logs.iter().map(|&(block, _)| block)) {
            uses[block.index()] += 1;
        }
        assert!(uses.iter().all(|&uses| uses == 1), "a block is free, a data block or a log block");
        for lbn in 0..self.data.len() as u32 {
            let (written, in_log) = (self.written(lbn), self.in_log(lbn));
            let only_written = in_log.iter().zip(written).all(|(log, written)| log & !written == 0);
            assert!(only_written, "a page in a log has a slot in its data block");
            for offset in pages(in_log) {
                let place = self.log_pages[(lbn * self.pages_per_block + offset) as usize];
                let (block, slot) = self.by_block.split(place);
                let holds = |&(log, next): &(BlockId, u32)| log.0 == block && slot < next;
                assert!(logs.iter().any(holds), "a newest copy in a log is in a log block");
            }
        }
        let state = self.flash_state(0);
        assert_eq!(state.valid_pages, state.mapped_pages, "no two pages have one place");
    }
}
