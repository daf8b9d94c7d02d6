//! Where an FTL's operations go.

use crate::geometry::Ppn;
use crate::timing::{Operation, OperationKind};
use destage_core::{Nanos, PlaneId, UnitId};

/// A map read that an operation waits for (`docs/spec/map-cache.md` 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// Its end, nanoseconds, or with [`OPEN`](Need::OPEN) its number, if that is not known.
    pub(crate) at: u64,
    pub(crate) unit: UnitId,
}

impl Need {
    /// There is nothing to wait for.
    pub const MET: Need = Need { at: 0, unit: UnitId(0) };

    /// Bit of a number.
    pub(crate) const OPEN: u64 = 1 << 63;
}

/// Where an FTL's operations go: the queues of the units, or nowhere while a drive is prepared.
pub trait Sink {
    /// Completion of a submitted operation, as far as the sink knows it.
    type Served: Copy;

    /// No operation takes time: the device is being preconditioned.
    const IN_NO_TIME: bool = false;

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

    /// Reads a page for operations of the FTL that follow: a map page of `docs/spec/ftl.md` 6, or a
    /// page that is copied to another plane.
    fn read_own(&mut self, op: Operation) -> Need {
        self.submit(op);
        Need::MET
    }

    /// Programs such a page, once it has been read; with `from`, the copy of that physical page.
    fn program_own(&mut self, op: Operation, _read: Need, _from: Option<Ppn>) {
        self.submit(op);
    }

    /// The next operation of the host needs this.
    fn needs(&mut self, _: Need) {}

    /// A page of the host that costs no operation, once what it needs is there; `None` if it is.
    fn unmapped(&mut self, _: Need) -> Option<Self::Served> {
        None
    }

    /// Reads a map page: for a look-up of the host's command, once the drive acts on that, or for
    /// a new version.
    fn read_map(&mut self, _: Operation, _is_fetch: bool) -> Need {
        Need::MET
    }

    /// Programs a map page whose old version has been read.
    fn write_map(&mut self, _: Operation, _read: Need) {}

    /// The moves that follow are out of the block of this page.
    fn moves_from(&mut self, _: Ppn) {}

    /// Remaining work of a unit, nanoseconds (4.5).
    fn backlog_ns(&self, unit: UnitId) -> Nanos;

    /// A collection or merge begins.
    fn collection(&mut self);
}

/// Pages of one block that a collection moves in a row to pages in a row.
#[derive(Clone, Copy, Debug)]
pub struct Moves<'a> {
    /// Their plane.
    pub plane: PlaneId,
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
            kind: OperationKind::Move,
            collection: true,
            plane,
            index: index + i,
            from,
            ppn: ppn + i,
        })
    }
}

/// Takes operations in no time: every backlog is 0 and nothing is counted.
#[derive(Clone, Copy, Debug)]
pub struct Instantly;

impl Sink for Instantly {
    type Served = ();
    const IN_NO_TIME: bool = true;
    #[inline(always)]
    fn submit(&mut self, _: Operation) {}
    #[inline(always)]
    fn submit_moves(&mut self, _: Moves) {}
    #[inline(always)]
    fn is_uniform(&self) -> bool {
        true
    }
    #[inline(always)]
    fn submit_equal(&mut self, _: Operation, _: u32) {}
    #[inline(always)]
    fn backlog_ns(&self, _: UnitId) -> Nanos {
        0
    }
    #[inline(always)]
    fn collection(&mut self) {}
}
