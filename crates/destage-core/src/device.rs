//! Questions that a policy may ask the device at an eviction (`docs/spec/device-policies.md` 2.1).
//!
//! Decisions take no time, so the answers hold from the choice of a victim to its write-back.

use crate::types::{Lpn, Nanos, PlaneId, UnitId};

/// Operations of a unit that are submitted and not ended, by kind; the one in service included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unfinished {
    /// R: host page reads.
    pub reads: u32,
    /// W: host page programs.
    pub writes: u32,
    /// M: pages moved by a collection (one read and one program each).
    pub moves: u32,
    /// E: erases.
    pub erases: u32,
    /// S: programs of summary pages.
    pub summaries: u32,
}

/// Nominal times of single operations, transfers included, nothing waiting: nanoseconds
/// (`docs/spec/device-policies.md` 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NominalTimes {
    /// L_r, read one page.
    pub read_ns: Nanos,
    /// L_w, program one page.
    pub program_ns: Nanos,
    /// L_gc, erase one block.
    pub erase_ns: Nanos,
    /// L_sp, program one summary page; `None` on a drive that has none.
    pub summary_ns: Option<Nanos>,
}

/// The device as a policy sees it, at the instant of an eviction.
pub trait DeviceView {
    /// Number of units; list U of dynamic allocation is not among them.
    fn units(&self) -> u32;

    /// Remaining work of a unit, nanoseconds (`docs/spec/device.md` 4.5). 0 when idle.
    fn backlog_ns(&self, unit: UnitId) -> Nanos;

    /// [`backlog_ns`](DeviceView::backlog_ns) of the units 0, 1, .., as many as there is room for.
    ///
    /// One call in place of one per unit, for policies that compare all units.
    fn backlogs_ns(&self, backlogs: &mut [Nanos]) {
        for (unit, backlog) in (0..).zip(backlogs) {
            *backlog = self.backlog_ns(UnitId(unit));
        }
    }

    /// A collection is in the unit's queue or in service there (4.6).
    fn in_gc(&self, unit: UnitId) -> bool;

    /// Time of the collection that the next program to this plane would set off; 0 if none (6).
    fn gc_cost_ns(&self, plane: PlaneId) -> Nanos;

    /// Valid pages of the block that such a collection would clean; `None` if none would run.
    fn gc_victim_pages(&self, plane: PlaneId) -> Option<u32>;

    /// Pages of the plane's active block that are not programmed yet, summary page included.
    fn active_block_free_pages(&self, plane: PlaneId) -> u32;

    /// Pages of an erase block, summary page included.
    fn pages_per_block(&self) -> u32;

    /// The plane that a write-back of this page would go to now.
    fn target(&self, lpn: Lpn) -> PlaneId;

    /// The unit that a plane belongs to.
    fn unit_of(&self, plane: PlaneId) -> UnitId;

    /// Unfinished operations of a unit by kind.
    fn unfinished(&self, unit: UnitId) -> Unfinished;

    /// Nominal times of the drive; `None` without a device.
    fn nominal_times(&self) -> Option<NominalTimes>;

    /// Logical pages of the drive; pages from there on do not exist. `None`: no end.
    fn logical_pages(&self) -> Option<u64>;
}

/// No device: one unit that is always idle and never collects.
#[derive(Clone, Copy, Default, Debug)]
pub struct Blind;

impl DeviceView for Blind {
    fn units(&self) -> u32 {
        1
    }
    fn backlog_ns(&self, _: UnitId) -> Nanos {
        0
    }
    fn in_gc(&self, _: UnitId) -> bool {
        false
    }
    fn gc_cost_ns(&self, _: PlaneId) -> Nanos {
        0
    }
    fn gc_victim_pages(&self, _: PlaneId) -> Option<u32> {
        None
    }
    fn active_block_free_pages(&self, _: PlaneId) -> u32 {
        0
    }
    fn pages_per_block(&self) -> u32 {
        1
    }
    fn target(&self, _: Lpn) -> PlaneId {
        PlaneId(0)
    }
    fn unit_of(&self, _: PlaneId) -> UnitId {
        UnitId(0)
    }
    fn unfinished(&self, _: UnitId) -> Unfinished {
        Unfinished::default()
    }
    fn nominal_times(&self) -> Option<NominalTimes> {
        None
    }
    fn logical_pages(&self) -> Option<u64> {
        None
    }
}
