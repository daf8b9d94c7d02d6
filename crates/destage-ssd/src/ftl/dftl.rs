//! DFTL: a page map that lives on flash, with a small part of it in memory (`docs/spec/ftl.md` 6).
//!
//! Gupta, Kim, Urgaonkar. DFTL: a flash translation layer employing demand-based selective caching
//! of page-level address mappings. ASPLOS 2009. AALRU's paper runs over it.
//!
//! Rules. The map is cut into translation pages of E entries, which lie on flash like data, in
//! blocks of their own; the GTD in memory says where. The CMT holds at most C entries; a page
//! whose entry is not there costs a read of its translation page, and an entry that must leave and
//! is newer than flash costs a read, a change and a program of its. Data and translation blocks
//! are collected as page-ideal does. A collected page whose entry is in the CMT is changed there
//! alone; of the others, every translation page is written once.
//!
//! Readings. The CMT is a segmented LRU, of which the paper gives no sizes. A dirty entry takes all
//! dirty entries of its translation page along, the paper's batch update; it can be turned off.
//!
//! Cost. O(1) per page, and O(log blocks) per invalidation of a page, rarely more than one step.

use super::block_ftl::{BlockFtl, FlashOps};
use super::blocks::{NoFreeBlock, Wear};
use super::cmt::{Cmt, Sizes};
use super::counters::{FtlCounters, counters};
use super::layer::FlashState;
use super::pool::{ALONE, Collections, Frontier, Pool};
use crate::config::{COUNT, FtlConfig, IfAbsent, Info, Kind, MOST_PAGES, PagesOfBlocks, Row, key};
use crate::geometry::{BlockId, DriveLpn, Ppn};
use destage_core::pages::prefetch;
use destage_keys::words;

/// Entry of a page that was never written, and of a translation page; else its physical page + 1.
const UNMAPPED: u32 = 0;

words! {
    /// Which entry leaves the cached mapping table.
    CmtPolicy {
        /// That of a segmented LRU.
        Slru = "slru",
        /// The one used least recently.
        Lru = "lru",
    }
}

counters! {
    /// Cost of the map on flash, in operations.
    pub struct Translation {
        /// Translation blocks collected.
        gc_translation_runs: Count,
        /// Translation pages read, for whatever reason.
        translation_reads: Count,
        /// Translation pages programmed, for whatever reason.
        translation_writes: Count,
        /// Look-ups that found their entry in the cached mapping table.
        cmt_hits: Count,
        /// Look-ups that missed the cached mapping table.
        cmt_misses: Count,
        /// Entries that left the cached mapping table.
        cmt_evictions: Count,
        /// Dirty entries that left the cached mapping table.
        cmt_dirty_evictions: Count,
        /// Entries that a collection changed in the cached mapping table alone.
        lazy_updates: Count,
        /// Dirty entries that were written back with another one.
        batched_entries: Count,
    }
}

/// Catalogue entry of DFTL.
#[rustfmt::skip] // one key, two lines: it is a table
pub static INFO: Info = Info {
    name: "dftl",
    title: "DFTL",
    source: "Gupta, Kim, Urgaonkar, ASPLOS 2009",
    about: "A page map that lies on flash, of which a cached part is in memory: a page whose entry \
            is not there costs a read of a translation page, an entry that leaves and is newer \
            than flash a read and a program. Data and translation blocks are collected greedily.",
    keys: &[
        key("cmt_entries", COUNT, IfAbsent::Int(4096), "entries",
            "size of the cached mapping table"),
        key("entries_per_translation_page", COUNT, IfAbsent::Int(1024), "entries",
            "mappings that lie on one translation page"),
        key("cmt_policy", Kind::Choice(CmtPolicy::NAMES), IfAbsent::Word("slru"), "",
            "which entry leaves the table: segmented LRU or LRU"),
        key("protected_fraction", Kind::real(0.0, 1.0), IfAbsent::Real(0.8), "",
            "share of the table that is its protected segment, with cmt_policy = slru"),
        key("batch_update", Kind::Bool, IfAbsent::Bool(true), "",
            "a dirty entry that leaves takes all of its translation page along"),
        key("gc_reserve_blocks", Kind::int(4, MOST_PAGES), IfAbsent::Int(4), "blocks",
            "collect while fewer are free"),
    ],
    device_keys: &[],
    counters: &[Collections::DECLARED, Translation::DECLARED, Wear::DECLARED],
    // One collection may take more pages than it frees, if the entries of what it copies lie on as
    // many translation pages: a larger reserve outlasts that.
    remedy: " (a larger reserve leaves it room: --ftl \"dftl[gc_reserve_blocks=16]\")",
    row: Some(Row {
        stored_pages: |config, logical_pages| {
            u64::from(logical_pages) + u64::from(translation_pages(config, logical_pages))
        },
        least_beside: |config| u64::from(config.get::<u32>("gc_reserve_blocks")) + 2,
        alone: &ALONE,
    }),
};

/// Translation pages of so many logical ones.
fn translation_pages(config: &FtlConfig, logical_pages: u32) -> u32 {
    logical_pages.div_ceil(config.get("entries_per_translation_page"))
}

/// Q: most entries of the protected segment; 0 makes the table a plain LRU.
fn protected_entries(config: &FtlConfig) -> u32 {
    let entries = f64::from(config.get::<u32>("cmt_entries"));
    match config.get("cmt_policy") {
        CmtPolicy::Lru => 0,
        CmtPolicy::Slru => {
            (config.get::<f64>("protected_fraction") * entries + 1e-9).floor() as u32
        }
    }
}

/// The FTL.
#[derive(Clone, PartialEq, Debug)]
pub struct Dftl {
    map: Vec<u32>, // every entry as it is now: in the CMT, else on flash
    cmt: Cmt,
    gtd: Vec<u32>,
    pool: Pool,
    data: Option<Frontier>,
    translation: Option<Frontier>,
    is_translation: Vec<bool>, // by block, right while it is in use
    batch_update: bool,
    gathered: Vec<u32>, // translation pages that a collection has to update
    counters: Translation,
}

impl Dftl {
    /// "Look-up": afterwards the entry is in the CMT.
    #[inline]
    fn look_up<F: FlashOps>(&mut self, lpn: DriveLpn, flash: &mut F) -> Result<u32, NoFreeBlock> {
        if let Some(entry) = self.cmt.find(lpn) {
            self.counters.cmt_hits += 1;
            self.cmt.touch(entry);
            return Ok(entry);
        }
        self.counters.cmt_misses += 1;
        if let Some(victim) = self.cmt.victim() {
            self.counters.cmt_evictions += 1;
            if self.cmt.is_dirty(victim) {
                self.counters.cmt_dirty_evictions += 1;
                self.write_back(victim, flash)?;
            }
            self.cmt.remove(victim);
        }
        let version = self.gtd[self.cmt.tvpn(lpn) as usize].checked_sub(1);
        let read = version.map(|page| self.read_translation(page, flash));
        let entry = self.cmt.insert(lpn);
        flash.fetched(entry, read);
        Ok(entry)
    }

    fn read_translation<F: FlashOps>(&mut self, page: Ppn, flash: &mut F) -> F::Read {
        self.pool.common.flash_reads += 1;
        self.counters.translation_reads += 1;
        flash.read_map(page)
    }

    /// "Write back" of a dirty entry.
    fn write_back<F: FlashOps>(&mut self, victim: u32, flash: &mut F) -> Result<(), NoFreeBlock> {
        if !self.pool.has_room(self.translation) {
            self.make_room(flash)?; // may make more entries dirty
        }
        let tvpn = self.cmt.tvpn(self.cmt.lpn(victim));
        self.cmt.make_clean(victim);
        if self.batch_update {
            while let Some(entry) = self.cmt.any_dirty(tvpn) {
                self.cmt.make_clean(entry);
                self.counters.batched_entries += 1;
            }
        }
        self.update(tvpn, flash)
    }

    /// "Update": a new version of a translation page.
    fn update<F: FlashOps>(&mut self, tvpn: u32, flash: &mut F) -> Result<(), NoFreeBlock> {
        let old = self.gtd[tvpn as usize].checked_sub(1);
        let read = old.map(|old| self.read_translation(old, flash));
        if let Some(old) = old {
            self.pool.invalidate(old);
        }
        let page = self.pool.program(&mut self.translation, tvpn)?;
        self.is_translation[self.pool.block_of(page).index()] = true;
        self.gtd[tvpn as usize] = page + 1;
        self.pool.common.flash_programs += 1;
        self.counters.translation_writes += 1;
        flash.program_map(page, read);
        Ok(())
    }

    fn make_room<F: FlashOps>(&mut self, flash: &mut F) -> Result<(), NoFreeBlock> {
        while let Some(victim) = self.pool.victim() {
            self.collect(victim, flash)?;
        }
        Ok(())
    }

    fn collect<F: FlashOps>(&mut self, victim: BlockId, flash: &mut F) -> Result<(), NoFreeBlock> {
        if self.is_translation[victim.index()] {
            self.is_translation[victim.index()] = false;
            self.collect_translation(victim, flash)
        } else {
            self.collect_data(victim, flash)
        }
    }

    fn collect_translation<F: FlashOps>(
        &mut self,
        victim: BlockId,
        flash: &mut F,
    ) -> Result<(), NoFreeBlock> {
        let taken = self.pool.take_out(victim, flash);
        let mut done = 0;
        while done < taken.slots.len() {
            let (to, count) = self.pool.copy(victim, &taken, done, &mut self.translation, flash)?;
            self.is_translation[self.pool.block_of(to).index()] = true;
            for (&tvpn, place) in taken.owners[done..done + count].iter().zip(to + 1..) {
                self.gtd[tvpn as usize] = place;
            }
            done += count;
        }
        let c = &mut self.counters;
        c.gc_translation_runs += 1;
        c.translation_reads += done as u64;
        c.translation_writes += done as u64;
        self.pool.erase(victim, taken, flash);
        Ok(())
    }

    fn collect_data<F: FlashOps>(
        &mut self,
        victim: BlockId,
        flash: &mut F,
    ) -> Result<(), NoFreeBlock> {
        let taken = self.pool.take_out(victim, flash);
        let mut gathered = std::mem::take(&mut self.gathered);
        let mut done = 0;
        while done < taken.slots.len() {
            let (to, count) = self.pool.copy(victim, &taken, done, &mut self.data, flash)?;
            for (&lpn, place) in taken.owners[done..done + count].iter().zip(to + 1..) {
                let lpn = DriveLpn(lpn);
                self.map[lpn.index()] = place;
                match self.cmt.find(lpn) {
                    Some(entry) => {
                        self.cmt.make_dirty(entry);
                        self.counters.lazy_updates += 1;
                    }
                    None => gathered.push(self.cmt.tvpn(lpn)),
                }
            }
            done += count;
        }
        self.pool.counters.gc_runs += 1;
        self.pool.counters.gc_copies += done as u64;
        gathered.sort_unstable();
        gathered.dedup();
        for &tvpn in &gathered {
            self.update(tvpn, flash)?;
        }
        gathered.clear();
        self.gathered = gathered;
        self.pool.erase(victim, taken, flash);
        Ok(())
    }
}

impl BlockFtl for Dftl {
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self {
        let PagesOfBlocks { logical_pages, pages_per_block } = pages;
        Dftl {
            map: vec![UNMAPPED; logical_pages as usize],
            cmt: Cmt::new(Sizes {
                entries: config.get("cmt_entries"),
                protected: protected_entries(config),
                pages: logical_pages,
                per_page: config.get("entries_per_translation_page"),
            }),
            gtd: vec![UNMAPPED; translation_pages(config, logical_pages) as usize],
            pool: Pool::new(blocks, pages_per_block, config.get("gc_reserve_blocks")),
            data: None,
            translation: None,
            is_translation: vec![false; blocks as usize],
            batch_update: config.get("batch_update"),
            gathered: Vec::new(),
            counters: Translation::default(),
        }
    }

    #[inline]
    fn read<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        self.pool.common.host_reads += 1;
        let entry = self.look_up(lpn, flash)?;
        let c = &mut self.pool.common;
        Ok(match self.map[lpn.index()].checked_sub(1) {
            None => {
                c.unmapped_reads += 1;
                None
            }
            Some(page) => {
                c.flash_reads += 1;
                flash.needs(entry);
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
        let entry = self.look_up(lpn, flash)?;
        if !self.pool.has_room(self.data) {
            self.make_room(flash)?;
        }
        if let Some(old) = self.map[lpn.index()].checked_sub(1) {
            self.pool.invalidate(old);
        }
        let page = self.pool.program(&mut self.data, lpn.0)?;
        self.map[lpn.index()] = page + 1;
        self.cmt.make_dirty(entry);
        self.pool.common.flash_programs += 1;
        flash.needs(entry);
        Ok(flash.program(page))
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        prefetch(&self.map, lpn.index());
        self.cmt.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_old(&self, lpn: DriveLpn) {
        self.pool.prefetch(self.map[lpn.index()].saturating_sub(1));
    }

    fn counters(&self) -> FtlCounters {
        self.pool
            .counted()
            .with(Translation::DECLARED, &self.counters.values())
            .with(Wear::DECLARED, &self.pool.wear())
    }

    fn reset(&mut self, wear: bool) {
        self.pool.reset(wear);
        self.counters = Translation::default();
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

    /// Translation pages count as mapped pages: they have a place as data have.
    fn flash_state(&self) -> FlashState {
        let mapped = self.map.iter().chain(&self.gtd).filter(|&&place| place != UNMAPPED);
        FlashState {
            mapped_pages: mapped.count() as u64,
            valid_pages: self.pool.valid_pages(),
            programs: self.pool.programs(&[self.data, self.translation]),
            summaries: 0,
            erases: self.erase_counts().iter().copied().map(u64::from).sum(),
        }
    }

    fn check(&self) {
        self.pool.check(&[self.data, self.translation]);
        for (map, translation) in [(&self.map, false), (&self.gtd, true)] {
            for (owner, place) in (0..).zip(map) {
                if let Some(page) = place.checked_sub(1) {
                    assert!(self.pool.holds(page, owner), "a mapped page is where the map says");
                    let kind = self.is_translation[self.pool.block_of(page).index()];
                    assert_eq!(kind, translation, "data and translation pages lie apart");
                }
            }
        }
        let state = self.flash_state();
        assert_eq!(state.valid_pages, state.mapped_pages, "a valid page is mapped");
        self.cmt.check();
        for (lpn, &place) in (0..).map(DriveLpn).zip(&self.map) {
            let known = place == UNMAPPED || self.gtd[self.cmt.tvpn(lpn) as usize] != UNMAPPED;
            assert!(known || self.cmt.find(lpn).is_some(), "an entry is in memory or on flash");
        }
    }
}
