//! The way from the host to the flash: the command processor, the link, and the write buffer
//! (`docs/spec/device-today.md` 5 and 6). With every key at its default it takes no time.

use std::collections::{BTreeMap, VecDeque};

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
    /// Name of the instant at which it is done, if it is not known yet.
    pub(crate) later: Option<usize>,
}

/// The newest version of a page, in a slot of the buffer.
struct Buffered {
    /// Its program.
    by: usize,
    /// When its data are there.
    from: Option<u64>,
    /// When its program ends.
    until: Option<u64>,
}

/// A write that waits for a slot (`docs/spec/map-cache.md` 8).
struct Slotless {
    page: u64,
    number: usize,
    acting: u64,
    /// Reads of it: when the drive acts on them, and the name of when they are done.
    readers: Vec<(u64, usize)>,
}

pub(crate) struct Way {
    /// When the command processor is free.
    processor: u64,
    /// Reserved intervals of the link: towards the drive, and away from it. With half duplex the
    /// first has those of both.
    link: [Vec<(u64, u64)>; 2],
    /// When each slot of the buffer is free, if that is known.
    slots: Vec<Option<u64>>,
    slotless: VecDeque<Slotless>,
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
    pub(crate) fn new(interface: &HostInterface) -> Way {
        Way {
            processor: 0,
            link: [Vec::new(), Vec::new()],
            slots: vec![Some(0); usize::try_from(interface.buffer_pages).expect("few slots")],
            slotless: VecDeque::new(),
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
        let interface = &self.config.interface;
        self.way.commands += 1;
        self.way.processor = self.way.processor.max(self.now)
            + match command {
                Command::Read => interface.command_read_ns,
                Command::Write => interface.command_write_ns,
                Command::Other => interface.command_ns,
            };
        self.way.processor
            + match command {
                Command::Read => interface.firmware_read_ns,
                Command::Write => interface.firmware_write_ns,
                Command::Other => 0,
            }
    }

    /// A page crosses the link, ready at an instant; when it is there (5.2).
    fn transfer_page(&mut self, direction: usize, ready: u64) -> u64 {
        let direction = if self.config.interface.half_duplex { 0 } else { direction };
        let ns = self.config.interface.page_link_ns;
        self.way.link_busy_ns += ns;
        reserve(&mut self.way.link[direction], ready, ns) + ns
    }

    /// A page goes to the host, ready at an instant; when it is there.
    pub(super) fn transfer_out(&mut self, ready: u64) -> u64 {
        self.transfer_page(OUT, ready)
    }

    /// A page read by a command on which the drive acts at `acting`.
    pub(crate) fn host_read(&mut self, page: u64, acting: u64) -> Result<Sent, Full> {
        let now = self.now;
        let sent = |operation, done| Sent { operation, done, later: None };
        // "its program's end > now"
        let held = self.way.buffered.get(&page);
        if let Some(held) = held.filter(|held| held.until.is_none_or(|until| until > now)) {
            let (from, by) = (held.from, held.by);
            self.way.buffer_reads += 1;
            if let Some(from) = from {
                return Ok(sent(None, Some(self.transfer_page(OUT, acting.max(from)))));
            }
            let later = self.later();
            let slotless = self.way.slotless.iter_mut().find(|slotless| slotless.number == by);
            slotless.expect("it waits for a slot").readers.push((acting, later));
            return Ok(Sent { operation: None, done: None, later: Some(later) });
        }
        self.acting = acting;
        let operation = self.read(page, acting)?;
        let Some(number) = operation else {
            return Ok(sent(None, Some(self.transfer_page(OUT, acting))));
        };
        if self.operations[number].kind == Kind::Zeros {
            let later = Some(self.later());
            self.operations[number].later = later;
            return Ok(Sent { operation: None, done: None, later });
        }
        if self.config.interface.page_link_ns == 0 {
            return Ok(sent(operation, None));
        }
        let Some(end) = self.known_end(number) else {
            let later = Some(self.later());
            self.operations[number].later = later;
            return Ok(Sent { operation, done: None, later });
        };
        let done = Some(self.transfer_page(OUT, end));
        self.operations[number].done = done;
        Ok(sent(operation, done))
    }

    /// When a write's data may come that takes a slot which is free at an instant.
    fn with_slot(&mut self, acting: u64, free: u64) -> u64 {
        self.way.buffer_waits += u64::from(free > acting);
        self.way.buffer_wait_ns += free.saturating_sub(acting);
        acting.max(free)
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
        let free = slots.filter_map(|slot| Some((self.way.slots[slot]?, slot))).min();
        let is_buffered = !self.way.slots.is_empty();
        self.way.buffer_writes += u64::from(is_buffered);
        let holds = is_buffered && free.is_none();
        let mut ready = acting;
        if let Some((free, slot)) = free {
            ready = self.with_slot(acting, free);
            self.way.slots[slot] = None;
        }
        let there = (!holds).then(|| self.transfer_page(IN, ready));
        self.acting = acting;
        let operation = self.write(page, size, label, there.unwrap_or(0), holds)?;
        let number = operation.expect("the run has begun");
        let mut sent = Sent { operation, done: None, later: None };
        if !is_buffered {
            return Ok(sent);
        }
        let until = self.known_end(number);
        self.way.buffered.insert(page, Buffered { by: number, from: there, until });
        self.operations[number].done = there;
        self.operations[number].slot = free.map(|(_, slot)| slot);
        sent.done = there;
        if let (Some((_, slot)), Some(end)) = (free, until) {
            self.way.slots[slot] = Some(end);
        }
        if holds {
            sent.later = Some(self.later());
            self.operations[number].later = sent.later;
            self.way.slotless.push_back(Slotless { page, number, acting, readers: Vec::new() });
        }
        Ok(sent)
    }

    /// The end of an operation: known when it is submitted, or where reads overtake when it comes.
    fn known_end(&self, number: usize) -> Option<u64> {
        let operation = &self.operations[number];
        match self.config.read_first {
            true => operation.end,
            false => operation.entered.map(|_| self.end(number)),
        }
    }

    /// The end of a program is known: its slot has a time, and goes on to a write that has none
    /// (`docs/spec/map-cache.md` 8).
    pub(super) fn pass_slot(&mut self, number: usize) {
        let Some(slot) = self.operations[number].slot else { return };
        let end = self.known_end(number).expect("it is known");
        let held = self.way.buffered.values_mut().find(|held| held.by == number);
        if let Some(held) = held {
            held.until = Some(end);
        }
        let Some(next) = self.way.slotless.pop_front() else {
            self.way.slots[slot] = Some(end);
            return;
        };
        let ready = self.with_slot(next.acting, end);
        let there = self.transfer_page(IN, ready);
        let program = &mut self.operations[next.number];
        program.ready = there;
        program.done = Some(there);
        program.holds = false;
        program.slot = Some(slot);
        self.instants[program.later.expect("it is waited for")] = Some(there);
        let held = self.way.buffered.get_mut(&next.page).filter(|held| held.by == next.number);
        if let Some(held) = held {
            held.from = Some(there);
        }
        for (acting, later) in next.readers {
            let done = self.transfer_page(OUT, acting.max(there));
            self.instants[later] = Some(done);
        }
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
            matches!(operation.kind, Kind::W { .. }) && !operation.collection && !operation.map
        })
    }
}
