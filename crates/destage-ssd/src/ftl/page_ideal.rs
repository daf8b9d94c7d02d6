//! page-ideal: the page map in memory, with greedy garbage collection (`docs/spec/ftl.md` 5).
//!
//! The yardstick that Gupta, Kim and Urgaonkar compare DFTL with (ASPLOS 2009). It is not the timed
//! FTL `page` of `docs/spec/device.md` 5, which has planes, thresholds and wear levelling of its
//! own.
//!
//! Rules. Writes go to the next slot of the frontier block. When that is full and fewer than the
//! reserve of blocks are free, the block with the most invalid slots is collected, the lowest one
//! among equals: its valid pages are copied to the frontier, and it is erased.
//!
//! Cost. O(1) per page and O(log blocks) per invalidation of a page, rarely more than one step.

use super::block_ftl::{BlockFtl, FlashOps};
use super::blocks::{NoFreeBlock, Wear};
use super::counters::FtlCounters;
use super::layer::FlashState;
use super::pool::{ALONE, Collections, Frontier, Pool};
use crate::config::{FtlConfig, IfAbsent, Info, Kind, MOST_PAGES, PagesOfBlocks, Row, key};
use crate::geometry::{BlockId, DriveLpn, Ppn};
use destage_core::pages::prefetch;

/// Catalogue entry of the ideal page map.
pub static INFO: Info = Info {
    name: "page-ideal",
    title: "Ideal page map",
    source: "docs/spec/ftl.md, section 5; the yardstick of DFTL's paper",
    about: "DFTL with the whole map in memory: one row of blocks over all planes, programmed in \
            order, and greedy collection. What DFTL costs beside it is the map's share.",
    keys: &[key(
        "gc_reserve_blocks",
        Kind::int(2, MOST_PAGES),
        IfAbsent::Int(2),
        "blocks",
        "collect while fewer are free",
    )],
    device_keys: &[],
    counters: &[Collections::DECLARED, Wear::DECLARED],
    remedy: "",
    row: Some(Row {
        stored_pages: |_, logical_pages| logical_pages.into(),
        // The reserve and the frontier: one is always free for the copies of a collection.
        least_beside: |config| u64::from(config.get::<u32>("gc_reserve_blocks")) + 1,
        alone: &ALONE,
    }),
};

/// Map entry of a page that was never written; else its physical page + 1.
const UNMAPPED: u32 = 0;

/// The FTL.
#[derive(Clone, PartialEq, Debug)]
pub struct PageIdeal {
    map: Vec<u32>,
    frontier: Option<Frontier>,
    pool: Pool,
}

impl PageIdeal {
    /// Copies what is valid in a block to the frontier, and erases it.
    fn collect<F: FlashOps>(&mut self, victim: BlockId, flash: &mut F) -> Result<(), NoFreeBlock> {
        let taken = self.pool.take_out(victim, flash);
        let mut done = 0;
        while done < taken.slots.len() {
            let (to, count) = self.pool.copy(victim, &taken, done, &mut self.frontier, flash)?;
            for (&lpn, place) in taken.owners[done..done + count].iter().zip(to + 1..) {
                self.map[lpn as usize] = place;
            }
            done += count;
        }
        self.pool.counters.gc_runs += 1;
        self.pool.counters.gc_copies += done as u64;
        self.pool.erase(victim, taken, flash);
        Ok(())
    }
}

impl BlockFtl for PageIdeal {
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self {
        let reserve = config.get("gc_reserve_blocks");
        PageIdeal {
            map: vec![UNMAPPED; pages.logical_pages as usize],
            frontier: None,
            pool: Pool::new(blocks, pages.pages_per_block, reserve),
        }
    }

    #[inline]
    fn read<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        let c = &mut self.pool.common;
        c.host_reads += 1;
        Ok(match self.map[lpn.index()].checked_sub(1) {
            None => {
                c.unmapped_reads += 1;
                None
            }
            Some(page) => {
                c.flash_reads += 1;
                Some(flash.read(page))
            }
        })
    }

    #[inline]
    fn write<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<F::Served, NoFreeBlock> {
        self.pool.common.host_writes += 1;
        if !self.pool.has_room(self.frontier) {
            while let Some(victim) = self.pool.victim() {
                self.collect(victim, flash)?;
            }
        }
        if let Some(old) = self.map[lpn.index()].checked_sub(1) {
            self.pool.invalidate(old);
        }
        let page = self.pool.program(&mut self.frontier, lpn.0)?;
        self.map[lpn.index()] = page + 1;
        self.pool.common.flash_programs += 1;
        Ok(flash.program(page))
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        prefetch(&self.map, lpn.index());
    }

    #[inline(always)]
    fn prefetch_old(&self, lpn: DriveLpn) {
        self.pool.prefetch(self.map[lpn.index()].saturating_sub(1));
    }

    fn counters(&self) -> FtlCounters {
        self.pool.counted().with(Wear::DECLARED, &self.pool.wear())
    }

    fn reset(&mut self, wear: bool) {
        self.pool.reset(wear);
    }

    fn place(&self, lpn: DriveLpn) -> Option<Ppn> {
        self.map[lpn.index()].checked_sub(1)
    }

    fn next_free(&self) -> Option<BlockId> {
        self.pool.blocks.next_free()
    }

    fn blocks(&self) -> u32 {
        self.pool.blocks.total()
    }

    fn erase_counts(&self) -> &[u32] {
        self.pool.blocks.erase_counts()
    }

    fn flash_state(&self) -> FlashState {
        FlashState {
            mapped_pages: self.map.iter().filter(|&&place| place != UNMAPPED).count() as u64,
            valid_pages: self.pool.valid_pages(),
            programs: self.pool.programs(&[self.frontier]),
            summaries: 0,
            erases: self.erase_counts().iter().copied().map(u64::from).sum(),
        }
    }

    fn check(&self) {
        self.pool.check(&[self.frontier]);
        for (lpn, place) in (0..).zip(&self.map) {
            if let Some(page) = place.checked_sub(1) {
                assert!(self.pool.holds(page, lpn), "a mapped page is where the map says");
            }
        }
        let state = self.flash_state();
        assert_eq!(state.valid_pages, state.mapped_pages, "a valid page is mapped");
    }
}
