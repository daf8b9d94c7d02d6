//! Any FTL of `docs/spec/ftl.md`, chosen when a drive is made: one branch per page, always the
//! same.

use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::layer::FlashState;
use super::machine::{Flash, Machine};
use super::{AnyMachine, each_machine, machine_named};
use crate::config::{FtlConfig, PagesOfBlocks};
use crate::geometry::{BlockId, DriveLpn, Ppn};

impl Machine for AnyMachine {
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self {
        machine_named!(config.info().name, M, any => any(M::build(config, pages, blocks)))
    }

    #[inline]
    fn read<F: Flash>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock> {
        each_machine!(self, machine => machine.read(lpn, flash))
    }

    #[inline]
    fn write<F: Flash>(&mut self, lpn: DriveLpn, flash: &mut F) -> Result<F::Served, NoFreeBlock> {
        each_machine!(self, machine => machine.write(lpn, flash))
    }

    #[inline(always)]
    fn warm(&self, lpn: DriveLpn) {
        each_machine!(self, machine => machine.warm(lpn));
    }

    #[inline(always)]
    fn warm_old(&self, lpn: DriveLpn) {
        each_machine!(self, machine => machine.warm_old(lpn));
    }

    fn counters(&self) -> FtlCounters {
        each_machine!(self, machine => machine.counters())
    }

    fn reset(&mut self, wear: bool) {
        each_machine!(self, machine => machine.reset(wear));
    }

    fn place(&self, lpn: DriveLpn) -> Option<Ppn> {
        each_machine!(self, machine => machine.place(lpn))
    }

    fn next_free(&self) -> Option<BlockId> {
        each_machine!(self, machine => machine.next_free())
    }

    fn blocks(&self) -> u32 {
        each_machine!(self, machine => machine.blocks())
    }

    fn erase_counts(&self) -> &[u32] {
        each_machine!(self, machine => machine.erase_counts())
    }

    fn flash_state(&self) -> FlashState {
        each_machine!(self, machine => machine.flash_state())
    }

    fn check(&self) {
        each_machine!(self, machine => machine.check());
    }
}
