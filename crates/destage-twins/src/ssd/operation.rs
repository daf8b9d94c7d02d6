//! Operations: what is in a unit's queue, and how long it takes (`docs/spec/device.md` 4.1).

use super::config::Config;

/// A step of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// Occupies the unit only.
    Cell(u64),
    /// Occupies the unit and, with a shared bus, the channel.
    Bus(u64),
}

/// What an operation does; page numbers count within a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Host read of a page.
    R { page: u64 },
    /// Host program of a page.
    W { page: u64 },
    /// A collection moves a page.
    M { from: u64, to: u64 },
    /// Summary page.
    S,
    /// Block erase.
    E,
}

/// One entry of a unit's queue, from its submission to the end of the run.
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// An M, an E, or an S of a block that an M filled.
    pub(crate) collection: bool,
    /// Of a collection that a timer started.
    pub(crate) by_timer: bool,
    pub(crate) plane: usize,
    /// The page read or written by the host that made the device do it, by number.
    pub(crate) caused_by: u64,
    pub(crate) submitted: u64,
    /// From start to end, waiting for a shared bus included.
    pub(crate) duration: u64,
    /// From start to the end of the last bus phase.
    pub(crate) until_transferred: u64,
    /// The operation that programs the page an R reads, if it belongs to this run.
    pub(crate) reads_after: Option<usize>,
    pub(crate) start: Option<u64>,
    pub(crate) end: Option<u64>,
}

impl Config {
    fn read(&self, page: u64) -> u64 {
        let types = self.read_ns.len() as u64;
        self.read_ns[usize::try_from(page % types).expect("few types")]
    }

    fn program(&self, page: u64) -> u64 {
        let types = self.program_ns.len() as u64;
        self.program_ns[usize::try_from(page % types).expect("few types")]
    }

    /// The table of 4.1.
    pub(crate) fn phases(&self, kind: Kind) -> Vec<Phase> {
        use Phase::{Bus, Cell};
        let c = self.cmd_ns;
        let x = self.page_transfer_ns;
        match kind {
            Kind::R { page } => vec![Cell(c + self.read(page)), Bus(x)],
            Kind::W { page } => vec![Cell(c), Bus(x), Cell(self.program(page))],
            Kind::M { from, to } if self.copyback => {
                vec![Cell(2 * c + self.read(from) + self.program(to))]
            }
            Kind::M { from, to } => {
                vec![Cell(c + self.read(from)), Bus(x), Cell(c), Bus(x), Cell(self.program(to))]
            }
            Kind::S => {
                let last = self.pages_per_block - 1;
                vec![Cell(c), Bus(self.summary_transfer_ns), Cell(self.program(last))]
            }
            Kind::E => vec![Cell(c + self.erase_ns)],
        }
    }

    /// How long an operation takes where no bus is shared.
    pub(crate) fn private_duration(&self, kind: Kind) -> u64 {
        let phases = self.phases(kind).into_iter();
        phases
            .map(|phase| match phase {
                Phase::Cell(ns) | Phase::Bus(ns) => ns,
            })
            .sum()
    }

    /// The time on the bus, without waiting for it.
    pub(crate) fn transfer(&self, kind: Kind) -> u64 {
        let phases = self.phases(kind).into_iter();
        phases
            .map(|phase| match phase {
                Phase::Cell(_) => 0,
                Phase::Bus(ns) => ns,
            })
            .sum()
    }
}
