//! Pages on their way through the interface, and what else the host asks for
//! (`docs/spec/device-today.md` 4 to 6).

use super::Device;
use crate::config::InterfaceConfig;
use crate::ftl::Ftl;
use crate::geometry::DriveLpn;
use crate::interface::{Command, Interface};
use crate::pending_time::PendingTime;
use crate::placement::{Future, WriteHint};
use crate::queues::Served;
use destage_core::{NEVER, Nanos};

impl Device {
    /// The host sends a command; what is read and written until the next belongs to it. Returns
    /// when it has been processed.
    #[inline(always)]
    pub fn command(&mut self, command: Command) -> Nanos {
        self.commands += 1;
        let now = self.queues.now();
        match &mut self.interface {
            None => now,
            Some(interface) => interface.command(command, now),
        }
    }

    /// The host drops a page: true if the drive held it (4.1).
    pub fn trim(&mut self, lpn: DriveLpn) -> bool {
        let was_mapped = self.ftl.trim(lpn);
        self.trims[usize::from(!was_mapped)] += 1;
        if let Some(interface) = &mut self.interface {
            interface.trimmed(lpn);
        }
        was_mapped
    }

    /// The host drops so many pages that it has dropped already.
    pub fn miss_trims(&mut self, pages: u64) {
        self.trims[1] += pages;
    }

    /// The run has flushes: the drive remembers when its last program ends. Before the first.
    pub fn serve_flushes(&mut self) {
        if self.interface.is_none() {
            self.put_interface(Interface::new(&InterfaceConfig::NONE, 1));
        }
    }

    /// When every host program has ended that has been submitted (6.4).
    ///
    /// # Panics
    ///
    /// Without a call of [`serve_flushes`](Device::serve_flushes) at the start of the run.
    pub fn drained_ns(&self) -> Nanos {
        let interface = self.interface.as_ref().expect("the drive was told of flushes");
        interface.last_program_ns().max(self.queues.now())
    }

    pub(super) fn put_interface(&mut self, interface: Interface) {
        self.queues.keep_front();
        self.interface = Some(Box::new(interface));
    }

    /// Reads a page through the interface: it is done when its data have crossed the link. One that
    /// reached no flash has no number.
    pub(super) fn read_through(&mut self, lpn: DriveLpn) -> Served {
        let now = self.queues.now();
        let interface = self.interface.as_mut().expect("there is one");
        let unnumbered = |done| {
            let done = PendingTime::at(done);
            Served { end: done, transferred: done, submission: NEVER }
        };
        if let Some(done) = interface.read_buffered(lpn, now) {
            return unnumbered(done);
        }
        let acting = interface.acting_ns(now);
        self.queues.ready(acting);
        self.queues.next_page();
        let Some(served) = self.ftl.read(lpn, &mut self.queues) else {
            return unnumbered(interface.send(acting, now)); // zeros
        };
        let done = interface.send(known(served.end), now);
        self.queues.done(done);
        Served { end: PendingTime::at(done), transferred: PendingTime::at(done), ..served }
    }

    /// Writes a page through the interface: it is done when it is in the buffer, and without one
    /// when it is programmed.
    pub(super) fn write_through(&mut self, lpn: DriveLpn, hint: WriteHint) -> Served {
        let now = self.queues.now();
        let interface = self.interface.as_mut().expect("there is one");
        let ready = interface.receive(now);
        self.queues.ready(ready);
        self.queues.next_page();
        let served = self.ftl.write_as(lpn, hint, &mut self.queues);
        let done = interface.received(lpn, ready, known(served.end), now);
        self.queues.done(done);
        let end = PendingTime::at(done);
        let transferred = if interface.is_buffered() { end } else { served.transferred };
        Served { end, transferred, ..served }
    }

    /// Writes and trims that the first run of `fk` recorded.
    pub fn future(&self) -> Option<Future> {
        self.ftl.future()
    }
}

/// First come, first served: every end is known.
fn known(end: PendingTime) -> Nanos {
    end.known().expect("an interface needs sched = fcfs")
}
