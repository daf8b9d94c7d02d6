//! What an FTL is: it turns page reads and writes into operations on planes it names
//! (`docs/spec/device.md` 12).
//!
//! It decides at once and never sees a time, but for the backlog that dynamic allocation asks for.
//!
//! ```text
//!  page                    the drive's own, over many planes           `docs/spec/device.md` 5, 6
//!  machine                 what the FTLs of `docs/spec/ftl.md` are
//!  bast, fast, log_blocks  log blocks                                  `docs/spec/ftl.md` 2 to 4
//!  page_ideal, dftl, pool  page maps and greedy collection             `docs/spec/ftl.md` 5, 6
//!  blocks, lists, bitmap   free queue, recency, valid pages
//!  machines, untimed       any of them; alone, as the vectors have it  `docs/spec/ftl.md` 1
//!  placed, any             any of them on the planes of a drive        `docs/spec/device.md` 12
//! ```

mod any;
pub mod bast;
mod bitmap;
mod blocks;
mod catalogue;
mod counters;
pub mod dftl;
pub mod fast;
mod lists;
mod log_blocks;
pub mod machine;
mod machines;
pub mod page;
pub mod page_ideal;
mod placed;
mod pool;
mod tournament;
mod untimed;

pub use any::AnyFtl;
pub use blocks::NoFreeBlock;
pub use catalogue::{FTLS, Info};
pub use counters::FtlCounters;
pub use machines::AnyMachine;
pub use placed::Placed;
pub use untimed::{DeviceFull, Untimed, UntimedError};

use crate::geometry::Ppn;
use crate::precondition::{Instantly, Interrupted, Writing};
use crate::timing::{Kind, Operation, Timing};
use destage_core::Nanos;

/// Where an FTL's operations go: the queues of the units, or nowhere while a drive is prepared.
pub trait Sink {
    /// What is known of a submitted operation.
    type Served: Copy;

    /// Appends an operation to its unit's queue.
    fn submit(&mut self, op: Operation) -> Self::Served;

    /// Appends the moves of a collection to their unit's queue, in order.
    fn submit_moves(&mut self, moves: Moves) {
        moves.operations().for_each(|op| {
            self.submit(op);
        });
    }

    /// Nothing depends on the page of an operation or on the order of those of one instant:
    /// [`submit_equal`](Sink::submit_equal) may be called.
    fn is_uniform(&self) -> bool {
        false
    }

    /// Appends so many operations of the FTL's own that differ in their pages alone.
    fn submit_equal(&mut self, op: Operation, operations: u32);

    /// Remaining work of a unit, nanoseconds (4.5).
    fn backlog_ns(&self, unit: u32) -> Nanos;

    /// A collection or merge begins.
    fn collection(&mut self);
}

/// Pages of one block that a collection moves in a row to pages in a row.
#[derive(Clone, Copy, Debug)]
pub struct Moves<'a> {
    /// Plane, over the whole drive.
    pub plane: u32,
    /// Indices in the block of the pages read, ascending.
    pub from: &'a [u32],
    /// Index in its block of the first page programmed.
    pub index: u32,
    /// The first physical page programmed.
    pub ppn: Ppn,
}

impl Moves<'_> {
    /// One by one.
    #[inline(always)]
    pub fn operations(&self) -> impl Iterator<Item = Operation> {
        let &Moves { plane, from, index, ppn } = self;
        (0u32..).zip(from).map(move |(i, &from)| Operation {
            kind: Kind::Move,
            collection: true,
            plane,
            index: index + i,
            from,
            ppn: ppn + i,
        })
    }
}

/// How many logical pages there are, and how long a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PagesOfBlocks {
    /// L, at least 1.
    pub logical_pages: u32,
    /// B, at least 1.
    pub pages_per_block: u32,
}

impl PagesOfBlocks {
    /// Logical blocks; the last one may be short.
    pub fn logical_blocks(self) -> u32 {
        self.logical_pages.div_ceil(self.pages_per_block)
    }
}

/// What the flash itself says was done to it, whoever counted what.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlashState {
    /// Logical pages that have a place.
    pub mapped_pages: u64,
    /// Physical pages that hold the current version of a logical page.
    pub valid_pages: u64,
    /// Data pages programmed since the drive was made.
    pub programs: u64,
    /// Summary pages programmed since the drive was made.
    pub summaries: u64,
    /// Blocks erased since the drive was made.
    pub erases: u64,
}

/// A flash translation layer. Pages are `0..L`.
pub trait Ftl {
    /// Reads a page. `None` if that costs nothing, because it was never written.
    fn read<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> Option<S::Served>;

    /// Writes a page and does what must be done before and after it. Returns the page's own program.
    fn write<S: Sink>(&mut self, lpn: u32, sink: &mut S) -> S::Served;

    /// Writes the pages of a flush group, in the order of the record.
    fn write_group<S: Sink>(
        &mut self,
        lpns: &[u32],
        sink: &mut S,
        mut written: impl FnMut(u32, S::Served),
    ) {
        for &lpn in lpns {
            written(lpn, self.write(lpn, sink));
        }
    }

    /// A hint that the page is written or read soon: brings what says where it is near.
    fn warm(&self, _lpn: u32) {}

    /// A hint that the page is written very soon, some ten pages after [`warm`](Ftl::warm): brings
    /// near what changes when its old version becomes invalid.
    fn warm_old(&self, _lpn: u32) {}

    /// Writes page 0, 1, .., L-1 of an empty drive, in no time (5.6).
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the caller wants no more of it.
    fn fill(&mut self, logical_pages: u32, writing: &mut Writing) -> Result<(), Interrupted> {
        self.write_ahead(0..logical_pages, writing)
    }

    /// Writes pages in order, in no time: every backlog is 0.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the caller wants no more of it.
    fn write_ahead(
        &mut self,
        lpns: impl Iterator<Item = u32> + Clone,
        writing: &mut Writing,
    ) -> Result<(), Interrupted> {
        for lpn in lpns {
            self.write(lpn, &mut Instantly);
            writing.wrote(1)?;
        }
        Ok(())
    }

    /// The drive has been filled: counts begin.
    fn begin(&mut self) {}

    /// Counts since then, of an FTL of `docs/spec/ftl.md`.
    fn counters(&self) -> Option<FtlCounters> {
        None
    }

    /// Why it could not go on. What it did since then is no result.
    fn failure(&self) -> Option<&DeviceFull> {
        None
    }

    /// A unit has been idle for long: collects one block, if that is any use (5.5).
    fn collect_idle<S: Sink>(&mut self, _unit: u32, _sink: &mut S) -> bool {
        false
    }

    /// The plane that a program of the page would go to now.
    fn target(&self, lpn: u32, backlog_ns: impl Fn(u32) -> Nanos) -> u32;

    /// The plane that holds the page; its home if it was never written.
    fn holder(&self, lpn: u32) -> u32;

    /// A dirty page belongs to no unit until it is written (`docs/spec/device-policies.md` 2.2).
    fn dirty_pages_have_no_unit(&self) -> bool;

    /// Time of the collection that the next program to the plane would set off (section 6).
    fn gc_cost_ns(&self, plane: u32, timing: &Timing) -> Nanos;

    /// Valid pages of the block that it would collect; `None` if none would run.
    fn gc_victim_pages(&self, plane: u32) -> Option<u32>;

    /// Pages of the active block that are not programmed yet, summary page included.
    fn active_block_free_pages(&self, plane: u32) -> u32;

    /// Erase count of every block, preconditioning included.
    fn erase_counts(&self) -> impl Iterator<Item = u32>;

    /// Sums over all blocks and pages, from the state of the flash and not from counters.
    fn flash_state(&self) -> FlashState;

    /// Asserts every invariant. Slow; for tests and checked runs.
    fn check(&self);
}
