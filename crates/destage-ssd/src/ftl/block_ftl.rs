//! FTLs of `docs/spec/ftl.md`: state machines over one row of erase blocks that report their flash
//! operations in order.
//!
//! They know nothing of planes, queues or times. What they do goes to a [`FlashOps`]: to
//! [`CountOnly`]
//! where only counts are wanted, to the queues of a drive, or to a test that looks at every page.
//! All of them count the same operations, since the same code decides.

use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::layer::FlashState;
use crate::config::{FtlConfig, PagesOfBlocks};
use crate::geometry::{BlockId, DriveLpn, Ppn};

/// Receiver of an FTL's flash operations, in order. Page `p` is slot `p mod B` of block `p / B`.
pub trait FlashOps {
    /// Completion of a host operation, as far as the receiver knows it.
    type Served: Copy;

    /// A read that another operation depends on.
    type Read: Copy;

    /// Reads the page that the host asked for.
    fn read(&mut self, page: Ppn) -> Self::Served;

    /// Programs the page that the host wrote.
    fn program(&mut self, page: Ppn) -> Self::Served;

    /// Reads a page of the map.
    fn read_map(&mut self, page: Ppn) -> Self::Read;

    /// Programs a page of the map, whose old version has been read.
    fn program_map(&mut self, page: Ppn, old: Option<Self::Read>);

    /// An entry of the map comes into memory by this read, or without one.
    fn fetched(&mut self, _entry: u32, _read: Option<Self::Read>) {}

    /// The next operation of the host is on the page of this entry of the map.
    fn needs(&mut self, _entry: u32) {}

    /// Copies pages of a logical block to their slots of another block.
    fn gather(&mut self, pages: &Gathered<'_>);

    /// Copies pages of one block to slots in a row.
    fn copy(&mut self, pages: &Copied<'_>);

    /// Erases a block.
    fn erase(&mut self, block: BlockId);

    /// A merge or collection begins.
    fn collection(&mut self);
}

/// Pages of a logical block that a merge copies, ascending, each to the slot of its offset.
///
/// As bitmaps, so that a backend that only counts pages counts words.
#[derive(Clone, Copy, Debug)]
pub struct Gathered<'a> {
    /// The block that they are copied to.
    pub to: BlockId,
    /// The data block.
    pub data: BlockId,
    /// Offsets that come out of the same slots of the data block.
    pub from_data: &'a [u64],
    /// Offsets that come out of log blocks.
    pub from_log: &'a [u64],
    /// By offset: the page of a log block; meaningless but for `from_log`.
    pub log_pages: &'a [Ppn],
}

/// Pages of a block that a collection copies to slots in a row.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    /// The block.
    pub from: BlockId,
    /// Slots in it, ascending.
    pub slots: &'a [u32],
    /// The first page that is programmed.
    pub to: Ppn,
}

/// A flash backend that discards operations: the FTL's counters are all that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct CountOnly;

impl FlashOps for CountOnly {
    type Served = ();
    type Read = ();
    #[inline(always)]
    fn read(&mut self, _: Ppn) {}
    #[inline(always)]
    fn program(&mut self, _: Ppn) {}
    #[inline(always)]
    fn read_map(&mut self, _: Ppn) {}
    #[inline(always)]
    fn program_map(&mut self, _: Ppn, _: Option<()>) {}
    #[inline(always)]
    fn gather(&mut self, _: &Gathered<'_>) {}
    #[inline(always)]
    fn copy(&mut self, _: &Copied<'_>) {}
    #[inline(always)]
    fn erase(&mut self, _: BlockId) {}
    #[inline(always)]
    fn collection(&mut self) {}
}

/// An FTL of `docs/spec/ftl.md`.
pub trait BlockFtl: Sized {
    /// Nothing written. There are at least [`FtlConfig::least_blocks`].
    fn build(config: &FtlConfig, pages: PagesOfBlocks, blocks: u32) -> Self;

    /// Reads a page. `None` if it was never written.
    ///
    /// # Errors
    ///
    /// [`NoFreeBlock`]: the run cannot go on.
    fn read<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<Option<F::Served>, NoFreeBlock>;

    /// Writes a page.
    ///
    /// # Errors
    ///
    /// [`NoFreeBlock`]: the run cannot go on.
    fn write<F: FlashOps>(
        &mut self,
        lpn: DriveLpn,
        flash: &mut F,
    ) -> Result<F::Served, NoFreeBlock>;

    /// A hint that the page is read or written soon: brings what says where it is near.
    fn prefetch(&self, lpn: DriveLpn);

    /// A hint that the page is written very soon, some pages after
    /// [`prefetch`](BlockFtl::prefetch): brings
    /// near what changes when its old version becomes invalid.
    fn prefetch_old(&self, _lpn: DriveLpn) {}

    /// Counts since they were set to zero.
    fn counters(&self) -> FtlCounters;

    /// Sets all counts to zero, and with `wear` those of every block's erases.
    fn reset(&mut self, wear: bool);

    /// Where the newest version of a page is; `None` if it was never written.
    fn place(&self, lpn: DriveLpn) -> Option<Ppn>;

    /// The block that is allocated next.
    fn next_free(&self) -> Option<BlockId>;

    /// Blocks of the flash.
    fn blocks(&self) -> u32;

    /// Erase count of every block.
    fn erase_counts(&self) -> &[u32];

    /// Sums over all blocks and pages, from the state of the flash and not from counters.
    fn flash_state(&self) -> FlashState;

    /// Asserts every invariant. Slow; for tests and checked runs.
    fn check(&self);
}
