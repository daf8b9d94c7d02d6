//! Any FTL of `docs/spec/ftl.md`, chosen when a drive is made: one branch per page, always the
//! same.

use super::block_ftl::{BlockFtl, FlashOps};
use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::layer::FlashState;
use super::{AnyBlockFtl, each_machine, machine_named};
use crate::config::{FtlConfig, PagesOfBlocks};
use crate::geometry::{BlockId, DriveLpn, Ppn};

impl BlockFtl for AnyBlockFtl {
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self {
        machine_named!(config.info().name, M, any => any(M::build(config, pages, blocks)))
    }

    #[inline]
    fn read<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        each_machine!(self, block_ftl => block_ftl.read(lpn, flash))
    }

    #[inline]
    fn write<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<F::Served, NoFreeBlock> {
        each_machine!(self, block_ftl => block_ftl.write(lpn, flash))
    }

    #[inline(always)]
    fn prefetch(&self, lpn: DriveLpn) {
        each_machine!(self, block_ftl => block_ftl.prefetch(lpn));
    }

    #[inline(always)]
    fn prefetch_old(&self, lpn: DriveLpn) {
        each_machine!(self, block_ftl => block_ftl.prefetch_old(lpn));
    }

    fn counters(&self) -> FtlCounters {
        each_machine!(self, block_ftl => block_ftl.counters())
    }

    fn reset(&mut self, wear: bool) {
        each_machine!(self, block_ftl => block_ftl.reset(wear));
    }

    fn place(&self, lpn: DriveLpn) -> Option<Ppn> {
        each_machine!(self, block_ftl => block_ftl.place(lpn))
    }

    fn next_free(&self) -> Option<BlockId> {
        each_machine!(self, block_ftl => block_ftl.next_free())
    }

    fn blocks(&self) -> u32 {
        each_machine!(self, block_ftl => block_ftl.blocks())
    }

    fn erase_counts(&self) -> &[u32] {
        each_machine!(self, block_ftl => block_ftl.erase_counts())
    }

    fn flash_state(&self) -> FlashState {
        each_machine!(self, block_ftl => block_ftl.flash_state())
    }

    fn check(&self) {
        each_machine!(self, block_ftl => block_ftl.check());
    }
}
