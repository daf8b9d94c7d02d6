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

/// The kind of an operation; page numbers count within a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Host read of a page; `slc` if its block is one of the SLC cache.
    R { page: u64, slc: bool },
    /// Host program of a page.
    W { page: u64, slc: bool },
    /// A collection moves a page; a fold moves it out of the SLC cache.
    M { from: u64, to: u64, fold: bool },
    /// Summary page.
    S,
    /// Block erase.
    E { slc: bool },
    /// No operation: a page that was never written, where a map read has to end first
    /// (`docs/spec/map-cache.md` 8).
    Zeros,
}

/// One entry of a unit's queue, from its submission to the end of the run.
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// An M, an E, or an S of a block that an M filled.
    pub(crate) collection: bool,
    /// Of a collection that a timer started.
    pub(crate) by_timer: bool,
    pub(crate) plane: usize,
    /// A map read or map program (`docs/spec/map-cache.md`).
    pub(crate) map: bool,
    /// An M of a map page.
    pub(crate) moves_map: bool,
    /// Blocks that it reads, moves a page out of, programs and erases, by plane and number there.
    pub(crate) reads: Option<(usize, usize)>,
    pub(crate) leaves: Option<(usize, usize)>,
    pub(crate) programs: Option<(usize, usize)>,
    pub(crate) erases: Option<(usize, usize)>,
    /// Block out of which it copies a page to another plane, which has been read.
    pub(crate) copies: Option<(usize, usize)>,
    /// Operations that it waits for (section 7 there).
    pub(crate) predecessors: Vec<usize>,
    /// It has no slot of the buffer yet.
    pub(crate) holds: bool,
    /// Its slot.
    pub(crate) slot: Option<usize>,
    /// When it entered its queue, and as which of all.
    pub(crate) entered: Option<(u64, usize)>,
    /// Name of the instant at which the host sees it done.
    pub(crate) later: Option<usize>,
    /// The page read or written by the host that made the device do it, by number.
    pub(crate) caused_by: u64,
    /// When it was decided on, which is when it enters its queue unless it waits for others.
    pub(crate) submitted: u64,
    /// The earliest instant at which it may start (`docs/spec/device-today.md` 2).
    pub(crate) ready: u64,
    /// How long its unit does nothing before it, because it is not ready.
    pub(crate) gap: u64,
    /// From start to end, waiting for a shared bus and suspensions included, but for the reads that
    /// were served meanwhile.
    pub(crate) duration: u64,
    /// From start to the end of the last bus phase.
    pub(crate) until_transferred: u64,
    /// The operation that programs the page an R reads, if it belongs to this run.
    pub(crate) reads_after: Option<usize>,
    /// When it is first served.
    pub(crate) start: Option<u64>,
    /// When it ends unless it is suspended; known while it is served.
    pub(crate) ends_at: Option<u64>,
    pub(crate) end: Option<u64>,
    /// Unit time in total, and unit time left (`docs/spec/gc-steps.md` 6).
    pub(crate) work: u64,
    pub(crate) rest: u64,
    pub(crate) suspensions: u64,
    /// When its last bus phase was served.
    pub(crate) transferred: Option<u64>,
    /// When the host sees it done, if that is not its end (`docs/spec/device-today.md` 5.3).
    pub(crate) done: Option<u64>,
}

impl Operation {
    /// So much of the rest has been served, in a stretch that would end it at this instant.
    pub(crate) fn serve(&mut self, would_end: u64, progress: u64) {
        let served = self.work - self.rest;
        if self.transferred.is_none() && self.until_transferred <= served + progress {
            self.transferred = Some(would_end - self.rest + self.until_transferred - served);
        }
        self.rest -= progress;
    }

    /// When the transfer of a program in service ends, if that is ahead.
    pub(crate) fn transfer_ends(&self) -> Option<u64> {
        let is_ahead = self.transferred.is_none() && matches!(self.kind, Kind::W { .. });
        let resumed = self.ends_at.expect("in service") - self.rest;
        is_ahead.then(|| resumed + self.until_transferred - (self.work - self.rest))
    }

    /// When the host has seen it done, if it has by now.
    pub(crate) fn done_by(&self, now: u64) -> Option<u64> {
        let (entered, _) = self.entered?;
        self.done.or(self.end).map(|done| done.max(entered)).filter(|&done| done <= now)
    }
}

impl Config {
    fn read(&self, page: u64, slc: bool) -> u64 {
        if slc {
            return self.interface.slc_read_ns; // one page type
        }
        let types = self.read_ns.len() as u64;
        self.read_ns[usize::try_from(page % types).expect("few types")]
    }

    fn program(&self, page: u64, slc: bool) -> u64 {
        if slc {
            return self.interface.slc_program_ns;
        }
        let types = self.program_ns.len() as u64;
        self.program_ns[usize::try_from(page % types).expect("few types")]
    }

    /// The table of 4.1.
    pub(crate) fn phases(&self, kind: Kind) -> Vec<Phase> {
        use Phase::{Bus, Cell};
        let c = self.cmd_ns;
        let x = self.page_transfer_ns;
        match kind {
            Kind::R { page, slc } => vec![Cell(c + self.read(page, slc)), Bus(x)],
            Kind::W { page, slc } => vec![Cell(c), Bus(x), Cell(self.program(page, slc))],
            Kind::M { from, to, fold } => {
                // A page that is folded comes from a block in SLC mode; all go to the main area.
                let (read, program) = (self.read(from, fold), self.program(to, false));
                match self.copyback {
                    true => vec![Cell(2 * c + read + program)],
                    false => vec![Cell(c + read), Bus(x), Cell(c), Bus(x), Cell(program)],
                }
            }
            Kind::S => {
                let last = self.pages_per_block - 1;
                vec![Cell(c), Bus(self.summary_transfer_ns), Cell(self.program(last, false))]
            }
            Kind::E { slc: false } => vec![Cell(c + self.erase_ns)],
            Kind::Zeros => Vec::new(),
            Kind::E { slc: true } => vec![Cell(c + self.interface.slc_erase_ns)],
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
