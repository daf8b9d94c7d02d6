//! Any FTL of `docs/spec/ftl.md`, chosen when a drive is made: one branch per page, always the
//! same.

use super::FlashState;
use super::PagesOfBlocks;
use super::bast::{Bast, BastConfig};
use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::dftl::{Dftl, DftlConfig};
use super::fast::{Fast, FastConfig};
use super::machine::{Flash, Machine};
use super::page_ideal::PageIdeal;
use crate::config::FtlConfig;
use crate::geometry::Ppn;

/// One of them.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a drive")]
pub enum AnyMachine {
    /// `bast`.
    Bast(Bast),
    /// `fast`.
    Fast(Fast),
    /// `dftl`.
    Dftl(Dftl),
    /// `page-ideal`.
    PageIdeal(PageIdeal),
}

macro_rules! each {
    ($self:expr, $machine:ident => $body:expr) => {
        match $self {
            AnyMachine::Bast($machine) => $body,
            AnyMachine::Fast($machine) => $body,
            AnyMachine::Dftl($machine) => $body,
            AnyMachine::PageIdeal($machine) => $body,
        }
    };
}

impl AnyMachine {
    /// Nothing written. `blocks` is at least [`FtlConfig::least_blocks`]. `None` for `page`.
    pub fn new(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Option<Self> {
        let PagesOfBlocks { logical_pages, pages_per_block } = pages;
        Some(match *config {
            FtlConfig::Page => return None,
            FtlConfig::Bast { log_blocks, victim } => {
                AnyMachine::Bast(Bast::new(pages, blocks, BastConfig { log_blocks, victim }))
            }
            FtlConfig::Fast { log_blocks } => {
                AnyMachine::Fast(Fast::new(pages, blocks, FastConfig { log_blocks }))
            }
            FtlConfig::Dftl {
                cmt_entries,
                entries_per_translation_page,
                cmt_policy,
                protected_fraction,
                batch_update,
                gc_reserve_blocks,
            } => {
                let protected_entries =
                    FtlConfig::protected_entries(cmt_entries, cmt_policy, protected_fraction);
                let config = DftlConfig {
                    cmt_entries,
                    entries_per_translation_page,
                    protected_entries,
                    batch_update,
                    gc_reserve_blocks,
                };
                AnyMachine::Dftl(Dftl::new(logical_pages, pages_per_block, blocks, config))
            }
            FtlConfig::PageIdeal { gc_reserve_blocks } => AnyMachine::PageIdeal(PageIdeal::new(
                logical_pages,
                pages_per_block,
                blocks,
                gc_reserve_blocks,
            )),
        })
    }
}

impl Machine for AnyMachine {
    #[inline]
    fn read<F: Flash>(
        &mut self,
        lpn: u32,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        each!(self, machine => machine.read(lpn, flash))
    }

    #[inline]
    fn write<F: Flash>(&mut self, lpn: u32, flash: &mut F) -> Result<F::Served, NoFreeBlock> {
        each!(self, machine => machine.write(lpn, flash))
    }

    #[inline(always)]
    fn warm(&self, lpn: u32) {
        each!(self, machine => machine.warm(lpn));
    }

    #[inline(always)]
    fn warm_old(&self, lpn: u32) {
        each!(self, machine => machine.warm_old(lpn));
    }

    fn counters(&self) -> FtlCounters {
        each!(self, machine => machine.counters())
    }

    fn reset(&mut self, wear: bool) {
        each!(self, machine => machine.reset(wear));
    }

    fn place(&self, lpn: u32) -> Option<Ppn> {
        each!(self, machine => machine.place(lpn))
    }

    fn next_free(&self) -> Option<u32> {
        each!(self, machine => machine.next_free())
    }

    fn blocks(&self) -> u32 {
        each!(self, machine => machine.blocks())
    }

    fn erase_counts(&self) -> &[u32] {
        each!(self, machine => machine.erase_counts())
    }

    fn flash_state(&self) -> FlashState {
        each!(self, machine => machine.flash_state())
    }

    fn check(&self) {
        each!(self, machine => machine.check());
    }
}
