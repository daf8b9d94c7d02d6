//! Record of every flash operation with its times, for observers.

use crate::config::DeviceConfig;
use crate::divisor::Divisor;
use crate::geometry::{Geometry, PlaneLocation, Ppn};
use crate::timing::{Operation, OperationKind};
use destage_core::Nanos;
use std::collections::HashMap;

/// An operation as it was served: what a timeline shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationRecord {
    /// Number among all operations of the drive, by submission, from 0.
    pub number: u64,
    /// Number among the host's operations (R and W), by submission, from 0; else
    /// [`NEVER`](destage_core::NEVER).
    pub submission: u64,
    /// Operation type.
    pub kind: OperationKind,
    /// The FTL's own work: garbage collection, merges, map pages; not the host's page.
    pub collection: bool,
    /// Flash unit that served the operation.
    pub unit: u32,
    /// The channel of the unit.
    pub channel: u32,
    /// Plane, numbered over the whole device.
    pub plane: u32,
    /// Its block, over the whole drive: erased, read from or programmed. `None` for the read of a
    /// page that was never written.
    pub block: Option<u32>,
    /// Index in the block of the page read or programmed; 0 for an erase.
    pub index: u32,
    /// Time of entering the unit's queue, nanoseconds.
    pub submitted_ns: Nanos,
    /// The unit began with it, nanoseconds.
    pub start_ns: Nanos,
    /// Time of its end, nanoseconds.
    pub end_ns: Nanos,
}

/// Numbers of blocks in records of operations: those of the main area over the whole
/// drive, then SLC blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    by_block_pages: Divisor,
    main_pages: u32,
    main_blocks: u32,
    slc_pages: u32, // of a block
    slc_blocks: u32,
}

impl Numbering {
    pub(crate) fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        Numbering {
            by_block_pages: Divisor::new(geometry.pages_per_block),
            main_pages: geometry.physical_pages(),
            main_blocks: geometry.planes * geometry.blocks_per_plane,
            slc_pages: config.slc.map_or(1, |slc| slc.slc_pages_per_block),
            slc_blocks: config.slc.map_or(0, |slc| slc.slc_blocks * geometry.planes),
        }
    }

    /// Blocks of the drive.
    pub(crate) fn blocks(&self) -> usize {
        (self.main_blocks + self.slc_blocks) as usize
    }

    /// Block of a page.
    #[inline(always)]
    pub(crate) fn block(&self, ppn: Ppn) -> u32 {
        if ppn < self.main_pages { self.by_block_pages.quotient(ppn) } else { self.of(ppn).0 }
    }

    /// Block of a page, and the page's index in it.
    pub(crate) fn of(&self, ppn: Ppn) -> (u32, u32) {
        match ppn.checked_sub(self.main_pages) {
            None => self.by_block_pages.split(ppn),
            Some(slc) => (self.main_blocks + slc / self.slc_pages, slc % self.slc_pages),
        }
    }
}

impl OperationRecord {
    pub(crate) fn new(
        op: &Operation,
        place: PlaneLocation,
        number: u64,
        submission: u64,
        numbering: &Numbering,
    ) -> Self {
        let Operation { kind, collection, plane, index, ppn, .. } = *op;
        let PlaneLocation { unit, channel } = place;
        let place = (ppn != Operation::NO_PAGE).then(|| numbering.of(ppn));
        // The timing's index of an SLC page is none of its block.
        let in_slc = place.is_some_and(|(block, _)| block >= numbering.main_blocks);
        let index = place.filter(|_| in_slc).map_or(index, |(_, index)| index);
        let block = place.map(|(block, _)| block);
        let (submitted_ns, start_ns, end_ns) = (0, 0, 0);
        OperationRecord {
            number,
            submission,
            kind,
            collection,
            unit: unit.0,
            channel,
            plane: plane.0,
            block,
            index,
            submitted_ns,
            start_ns,
            end_ns,
        }
    }

    pub(crate) fn served(self, submitted_ns: Nanos, start_ns: Nanos, end_ns: Nanos) -> Self {
        OperationRecord { submitted_ns, start_ns, end_ns, ..self }
    }
}

/// Operations that have been served and not been fetched yet.
#[derive(Clone, Default, Debug)]
pub(crate) struct Recorder {
    submitted: u64,
    // read_first: submitted and not served, by number.
    pub(crate) waiting: HashMap<u64, OperationRecord>,
    pub(crate) served: Vec<OperationRecord>,
}

impl Recorder {
    /// The number of the next operation.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.submitted += 1;
        self.submitted - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slc_blocks_are_numbered_behind_those_of_the_main_area() {
        let numbering = Numbering {
            by_block_pages: Divisor::new(8),
            main_pages: 80,
            main_blocks: 10,
            slc_pages: 3,
            slc_blocks: 2,
        };
        let found = [0, 79, 80, 85].map(|ppn| numbering.of(ppn));
        assert_eq!(found, [(0, 0), (9, 7), (10, 0), (11, 2)]);
    }
}
