//! The way from the host to the flash and back: command processor, link, write buffer
//! (`docs/spec/device-today.md` 5 and 6).
//!
//! ```text
//!  write   command ── slot ── link ──▶ buffer ─── program
//!  read    command ── flash or buffer ── link ──▶ host
//! ```
//!
//! Whatever takes its turn here takes it in the order of decisions, so that every end is known as
//! soon as it is asked for, and nothing decided later moves it.

mod buffer;
mod late;
mod link;

use crate::config::InterfaceConfig;
use crate::geometry::DriveLpn;
use buffer::Buffer;
use destage_core::{Nanos, Op};
use late::LateBuffer;
pub(crate) use late::Slot;
use link::Link;

/// Type of a host command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// To read or write.
    Access(Op),
    /// To trim or flush.
    Other,
}

/// Counters of the host interface.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct InterfaceCounts {
    /// Sum of all transfers, nanoseconds.
    pub link_busy_ns: Nanos,
    /// Pages that crossed the link.
    pub link_transfers: u64,
    /// How long they waited for it, all together: from when they were ready.
    pub link_wait_ns_sum: Nanos,
    /// Pages that took a slot.
    pub buffer_writes: u64,
    /// Of these, those that waited for it.
    pub buffer_waits: u64,
    /// For how long, all together.
    pub buffer_wait_ns_sum: Nanos,
    /// Pages read from the buffer.
    pub buffer_reads: u64,
}

/// Command processor, link and buffer of a drive.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    command_ns: Nanos,
    command_read_ns: Nanos,
    command_write_ns: Nanos,
    read_ns: Nanos,   // firmware
    write_ns: Nanos,  // firmware
    free_ns: Nanos,   // the command processor
    acting_ns: Nanos, // the drive acts on the last command from here on
    link: Link,
    buffer: Option<Buffer>,
    late: Option<Box<LateBuffer>>, // instead of that, where programs may wait for others
    last_program_ns: Nanos,        // latest end of a host program
}

impl Interface {
    pub(crate) fn new(config: &InterfaceConfig, page_bytes: u32) -> Self {
        Interface {
            command_ns: config.command_ns,
            command_read_ns: config.command_read_ns.unwrap_or(config.command_ns),
            command_write_ns: config.command_write_ns.unwrap_or(config.command_ns),
            read_ns: config.firmware_read_ns,
            write_ns: config.firmware_write_ns,
            free_ns: 0,
            acting_ns: 0,
            link: Link::new(config, page_bytes),
            buffer: (config.buffer_pages > 0).then(|| Buffer::new(config.buffer_pages)),
            late: None,
            last_program_ns: 0,
        }
    }

    /// The host sends a command; when it has been processed (5.1).
    #[inline]
    pub(crate) fn command(&mut self, command: Command, now: Nanos) -> Nanos {
        let (processing_ns, firmware_ns) = match command {
            Command::Access(Op::Read) => (self.command_read_ns, self.read_ns),
            Command::Access(Op::Write) => (self.command_write_ns, self.write_ns),
            Command::Other => (self.command_ns, 0),
        };
        self.free_ns = self.free_ns.max(now) + processing_ns;
        self.acting_ns = self.free_ns + firmware_ns;
        self.free_ns
    }

    /// The instant from which on the drive acts on the last command.
    #[inline(always)]
    pub(crate) fn acting_ns(&self, now: Nanos) -> Nanos {
        self.acting_ns.max(now)
    }

    /// The page's newest version is in the buffer: when it has crossed the link (6.3).
    #[inline]
    pub(crate) fn read_buffered(&mut self, lpn: DriveLpn, now: Nanos) -> Option<Nanos> {
        let arrived = self.buffer.as_mut()?.holds(lpn, now)?;
        Some(self.link.send(self.acting_ns(now).max(arrived), now))
    }

    /// A page that is ready to leave at some instant; when it has crossed the link.
    #[inline]
    pub(crate) fn send(&mut self, ready_ns: Nanos, now: Nanos) -> Nanos {
        self.link.send(ready_ns, now)
    }

    /// A page comes in: it takes a slot, then the link (6.1). When it has arrived.
    #[inline]
    pub(crate) fn receive(&mut self, now: Nanos) -> Nanos {
        let acting = self.acting_ns(now);
        let slot = self.buffer.as_mut().map_or(acting, |buffer| buffer.take_slot(acting));
        self.link.take_in(slot, now)
    }

    /// The end of its program is known. When the write is done for the host.
    #[inline]
    pub(crate) fn received(
        &mut self,
        lpn: DriveLpn,
        arrives_ns: Nanos,
        program_end_ns: Nanos,
        now: Nanos,
    ) -> Nanos {
        self.last_program_ns = self.last_program_ns.max(program_end_ns);
        match &mut self.buffer {
            None => program_end_ns,
            Some(buffer) => {
                buffer.keep(lpn, arrives_ns, program_end_ns, now);
                arrives_ns
            }
        }
    }

    /// There is a buffer.
    pub(crate) fn is_buffered(&self) -> bool {
        self.buffer.is_some() || self.late.as_ref().is_some_and(|late| late.is_buffer())
    }

    /// The page was trimmed: the buffer has no version of it any more.
    pub(crate) fn trimmed(&mut self, lpn: DriveLpn) {
        if let Some(buffer) = &mut self.buffer {
            buffer.drop_page(lpn);
        }
        self.late_trimmed(lpn);
    }

    /// The latest end of a host program that has been submitted.
    pub(crate) fn last_program_ns(&self) -> Nanos {
        self.last_program_ns
    }

    pub(crate) fn counts(&self) -> InterfaceCounts {
        let late = self.late.as_ref().map(|late| late.counts());
        let mut counts = self.buffer.as_ref().map(Buffer::counts).or(late).unwrap_or_default();
        self.link.count(&mut counts);
        counts
    }
}
