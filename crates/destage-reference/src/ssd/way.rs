//! The way from the host to the flash: the command processor, the link, and the write buffer
//! (`docs/spec/device-today.md` 5 and 6). With every key at its default it takes no time.

use std::collections::BTreeMap;

use super::host_interface::HostInterface;
use super::operation::Kind;
use super::queue::{Full, Ssd, reserve};

/// A command of the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Read,
    Write,
    /// A trim or a flush.
    Other,
}

/// A page read or written, on its way.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    /// Its operation of the flash, if it has one.
    pub(crate) operation: Option<usize>,
    /// When it is done, if that is not the end of the operation.
    pub(crate) done: Option<u64>,
}

/// The newest version of a page, in a slot of the buffer.
struct Buffered {
    /// When its data are there.
    from: u64,
    /// When its program ends.
    until: u64,
}

pub(crate) struct Way {
    /// When the command processor is free.
    processor: u64,
    /// Reserved intervals of the link: towards the drive, and away from it. With half duplex the
    /// first has those of both.
    link: [Vec<(u64, u64)>; 2],
    /// When each slot of the buffer is free.
    slots: Vec<u64>,
    buffered: BTreeMap<u64, Buffered>,
    pub(crate) commands: u64,
    pub(crate) link_busy_ns: u64,
    pub(crate) buffer_writes: u64,
    pub(crate) buffer_waits: u64,
    pub(crate) buffer_wait_ns: u64,
    pub(crate) buffer_reads: u64,
}

const IN: usize = 0;
const OUT: usize = 1;

impl Way {
    pub(crate) fn new(today: &HostInterface) -> Way {
        Way {
            processor: 0,
            link: [Vec::new(), Vec::new()],
            slots: vec![0; usize::try_from(today.buffer_pages).expect("few slots")],
            buffered: BTreeMap::new(),
            commands: 0,
            link_busy_ns: 0,
            buffer_writes: 0,
            buffer_waits: 0,
            buffer_wait_ns: 0,
            buffer_reads: 0,
        }
    }
}

impl Ssd {
    /// The drive gets a command; from when on it acts (5.1).
    pub(crate) fn command(&mut self, command: Command) -> u64 {
        let today = &self.config.today;
        self.way.commands += 1;
        self.way.processor = self.way.processor.max(self.now)
            + match command {
                Command::Read => today.command_read_ns,
                Command::Write => today.command_write_ns,
                Command::Other => today.command_ns,
            };
        self.way.processor
            + match command {
                Command::Read => today.firmware_read_ns,
                Command::Write => today.firmware_write_ns,
                Command::Other => 0,
            }
    }

    /// A page crosses the link, ready at an instant; when it is there (5.2).
    fn transfer_page(&mut self, direction: usize, ready: u64) -> u64 {
        let direction = if self.config.today.half_duplex { 0 } else { direction };
        let ns = self.config.today.page_link_ns;
        self.way.link_busy_ns += ns;
        reserve(&mut self.way.link[direction], ready, ns) + ns
    }

    /// A page read by a command on which the drive acts at `acting`.
    pub(crate) fn host_read(&mut self, page: u64, acting: u64) -> Result<Sent, Full> {
        let now = self.now;
        // "its program's end > now"
        if let Some(held) = self.way.buffered.get(&page).filter(|held| held.until > now) {
            let there = acting.max(held.from);
            self.way.buffer_reads += 1;
            let done = Some(self.transfer_page(OUT, there));
            return Ok(Sent { operation: None, done });
        }
        let operation = self.read(page, acting)?;
        let Some(number) = operation else {
            let done = Some(self.transfer_page(OUT, acting));
            return Ok(Sent { operation, done });
        };
        let mut done = None;
        if self.config.today.page_link_ns > 0 {
            done = Some(self.transfer_page(OUT, self.end(number)));
            self.operations[number].done = done;
        }
        Ok(Sent { operation, done })
    }

    /// A page written by a command on which the drive acts at `acting`.
    pub(crate) fn host_write(
        &mut self,
        page: u64,
        acting: u64,
        size: u64,
        label: u64,
    ) -> Result<Sent, Full> {
        let slots = 0..self.way.slots.len();
        let slot = slots.min_by_key(|&slot| self.way.slots[slot]);
        let mut ready = acting;
        if let Some(slot) = slot {
            let free = self.way.slots[slot];
            self.way.buffer_writes += 1;
            self.way.buffer_waits += u64::from(free > acting);
            self.way.buffer_wait_ns += free.saturating_sub(acting);
            ready = acting.max(free);
        }
        let there = self.transfer_page(IN, ready);
        let operation = self.write(page, size, label, there)?;
        let number = operation.expect("the run has begun");
        let mut done = None;
        if let Some(slot) = slot {
            let end = self.end(number);
            self.way.slots[slot] = end;
            self.way.buffered.insert(page, Buffered { from: there, until: end });
            done = Some(there);
            self.operations[number].done = done;
        }
        Ok(Sent { operation, done })
    }

    /// The host trims a page; whether it was mapped (4.1). What a slot still holds of it is no
    /// version of the page any more.
    pub(crate) fn host_trim(&mut self, page: u64) -> bool {
        self.way.buffered.remove(&page);
        self.trim(page)
    }

    /// The programs that the host's writes have caused so far.
    pub(crate) fn host_programs(&self) -> impl Iterator<Item = usize> + '_ {
        let all = 0..self.operations.len();
        all.filter(|&number| {
            let operation = &self.operations[number];
            matches!(operation.kind, Kind::W { .. }) && !operation.collection
        })
    }
}
