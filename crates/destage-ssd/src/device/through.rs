//! Pages on their way through the interface, and what else the host asks for
//! (`docs/spec/device-today.md` 4 to 6).

use super::Device;
use crate::config::InterfaceConfig;
use crate::ended::Released;
use crate::ftl::Ftl;
use crate::geometry::DriveLpn;
use crate::interface::{Command, Interface, Slot};
use crate::pending_time::PendingTime;
use crate::placement::{Future, WriteHint};
use crate::queues::Served;
use crate::timing::OperationKind;
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

    /// When every host program has ended that has been decided on (6.4), and the flush has been
    /// processed.
    ///
    /// # Panics
    ///
    /// Without a call of [`serve_flushes`](Device::serve_flushes) at the start of the run.
    pub fn drained(&mut self, processed: Nanos) -> PendingTime {
        let now = self.queues.now();
        let interface = self.interface.as_mut().expect("the drive was told of flushes");
        if self.queues.is_ordered() {
            let upto = self.queues.host_operations();
            let times = self.queues.times();
            return interface.late_flush(processed.max(now), upto, || times.unknown());
        }
        PendingTime::at(interface.last_program_ns().max(now).max(processed))
    }

    pub(super) fn put_interface(&mut self, mut interface: Interface) {
        self.queues.keep_front(interface.is_buffered());
        if self.queues.is_ordered() {
            interface.keep_order();
            self.events = true;
        }
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
        if self.queues.is_ordered() {
            let times = self.queues.times();
            if let Some(done) = interface.late_read(lpn, now, || times.unknown()) {
                return Served { end: done, transferred: done, submission: NEVER };
            }
        } else if let Some(done) = interface.read_buffered(lpn, now) {
            return unnumbered(done);
        }
        let acting = interface.acting_ns(now);
        self.queues.acts(acting);
        self.queues.ready(acting);
        self.queues.next_page();
        let Some(served) = self.ftl.read(lpn, &mut self.queues) else {
            return unnumbered(interface.send(acting, now)); // zeros
        };
        let Some(end) = served.end.known() else {
            self.follow_ends(); // of one that takes no time
            return served;
        };
        let interface = self.interface.as_mut().expect("there is one");
        let done = interface.send(end, now);
        self.queues.done(done);
        Served { end: PendingTime::at(done), transferred: PendingTime::at(done), ..served }
    }

    /// Writes a page through the interface: it is done when it is in the buffer, and without one
    /// when it is programmed.
    pub(super) fn write_through(&mut self, lpn: DriveLpn, hint: WriteHint) -> Served {
        let now = self.queues.now();
        if self.queues.is_ordered() {
            return self.write_late(lpn, hint);
        }
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

    /// Writes a page through the interface where its program may have to wait for others
    /// (`docs/spec/map-cache.md` 8).
    fn write_late(&mut self, lpn: DriveLpn, hint: WriteHint) -> Served {
        let now = self.queues.now();
        let interface = self.interface.as_mut().expect("there is one");
        self.queues.acts(interface.acting_ns(now));
        let (arrives, acting) = match interface.late_slot(now) {
            Slot::From(from) => (Some(interface.late_arrival(from, now)), from),
            Slot::Later(acting) => (None, acting),
        };
        match arrives {
            Some(arrives) => self.queues.ready(arrives),
            None => self.queues.hold_next(),
        }
        self.queues.next_page();
        let served = self.ftl.write_as(lpn, hint, &mut self.queues);
        let program = (lpn, served.submission);
        let Some(arrives) = arrives else {
            let arrives = self.queues.times().unknown();
            interface.late_slotless(program, self.queues.last_late(), acting, arrives);
            return Served { end: arrives, transferred: arrives, ..served };
        };
        let end = served.end.known();
        interface.late_write(program, arrives, end, now);
        let is_buffered = interface.is_buffered();
        self.follow_ends();
        let done = if is_buffered { Some(arrives) } else { end };
        if end.is_some() {
            self.queues.done(done.expect("what has ended is done"));
        }
        match done {
            Some(done) if is_buffered => {
                let done = PendingTime::at(done);
                Served { end: done, transferred: done, ..served }
            }
            _ => served,
        }
    }

    /// Reads first: host operations have ended.
    #[inline]
    pub(super) fn follow_ends(&mut self) {
        while let Some(ended) = self.queues.next_ended() {
            self.released(ended);
        }
    }

    /// The end of an operation of the host is known, which it was not at its decision: the page
    /// crosses the link, or its slot has a time.
    pub(super) fn released(&mut self, released: Released) {
        let Released { kind, submission, end, name, ready } = released;
        let now = self.queues.now();
        let interface = self.interface.as_mut().expect("the host is behind it");
        let end = known(end);
        if kind != Some(OperationKind::Write) {
            let done = interface.send(end, now);
            self.queues.times().set(name, done);
            self.queues.done(done);
            return;
        }
        let is_buffered = interface.is_buffered();
        let times = self.queues.times();
        times.set(name, end);
        let next = interface.late_program(submission, end, now, &mut |name, at| {
            times.set(name, at);
        });
        self.queues.done(if is_buffered { ready } else { end });
        if let Some((number, arrives)) = next {
            self.queues.give_slot(number, arrives);
        }
    }

    /// Writes and trims that the first run of `fk` recorded.
    pub fn future(&self) -> Option<Future> {
        self.ftl.future()
    }
}

/// Of an operation that waits for no other, first come, first served.
fn known(end: PendingTime) -> Nanos {
    end.known().expect("its end is known")
}
