//! The interface of a cache between host and drive, and no cache (`docs/spec/device.md` 7.2).

use super::ledger::Ledger;
use crate::counters::OwnCounters;
use crate::error::RunError;
use crate::observe::{Observer, Watcher};
use destage_core::{Lpn, NEVER, Nanos, Op, Page, Request};
use destage_ssd::{Command, Device, DriveLpn, PendingTime, Settled, WriteHint};

/// A page access of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The instant of its request.
    pub(super) now: Nanos,
    pub(super) op: Op,
    /// Dense id and number of the page.
    pub(super) id: u32,
    pub(super) lpn: DriveLpn,
    /// Number of the access, from 0.
    pub(super) index: u64,
    pub(super) first_of_request: bool,
    /// Length of its request, bytes, if the drive looks at it; else 0.
    pub(super) bytes: u64,
}

/// Stands between host and drive.
pub(super) trait Frontend {
    /// Itself, for what is compiled once.
    fn erased(&mut self) -> &mut dyn Frontend;

    /// The instant of a request has come.
    fn arrive(&mut self, _: &mut Device) {}

    /// A row of the trace is next, which arrived at this time of the trace.
    #[inline(always)]
    fn row(&mut self, _arrival_ns: Nanos) {}

    /// Somebody writes while units are idle. Always the same answer.
    fn uses_idle(&self) -> bool {
        false
    }

    /// The instant of an offer (`docs/spec/writer.md`, 2) has come. False: before the next request
    /// no other one could be of use.
    fn offer(&mut self, _: &mut Device, _: Nanos, _: &mut Ledger, _: &mut Watcher<'_>) -> bool {
        false
    }

    /// The host has trimmed a page: it is in no cache any more (`docs/spec/device-today.md` 4.2).
    /// Its dirty bit, if it was.
    fn forget(&mut self, _: &mut Device, _id: u32, _: &mut Ledger) -> Option<bool> {
        None
    }

    /// A trim of the host is one of the device: its pages are those of the trace.
    fn trims_pages_of_the_trace(&self) -> bool {
        true
    }

    /// Time that every request with pages takes at its end, nanoseconds.
    fn after_ns(&self) -> Nanos {
        0
    }

    /// Every frame is taken.
    fn is_full(&self) -> bool {
        true
    }

    /// Reads and programs that were submitted for the host so far.
    fn host_operations(&self) -> (u64, u64);

    /// Names of instants that are kept from one request to the next.
    fn settle(&mut self, _: &Settled) {}

    /// Pages of which instants are kept.
    fn pages(&self) -> usize {
        0
    }

    /// The policy's own counters, since the start.
    fn own_counters(&self) -> OwnCounters {
        OwnCounters::default()
    }

    /// Where the policy has adapted to.
    fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}

    /// Pages that are newer here than on flash.
    fn dirty(&self) -> u64 {
        0
    }

    /// Writes every dirty page, in ascending order; returns how many.
    fn flush(&mut self, _: &mut Device) -> u64 {
        0
    }
}

/// Serves page accesses.
pub(super) trait PageFrontend: Frontend {
    /// Hint: a page, its LPN, and what is done to it, some requests ahead.
    fn prefetch(&self, device: &Device, id: u32, lpn: DriveLpn, op: Op);

    /// Hint, fewer requests ahead.
    fn prefetch_links(&self, device: &Device, id: u32, lpn: DriveLpn);

    /// One page access. Returns its completion, [`after_ns`](Frontend::after_ns) not included.
    fn access(
        &mut self,
        device: &mut Device,
        access: Access,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> Result<PendingTime, RunError>;
}

/// No cache (7.2).
#[derive(Default)]
pub(super) struct NoCache {
    reads: u64,
    programs: u64,
}

impl Frontend for NoCache {
    fn erased(&mut self) -> &mut dyn Frontend {
        self
    }

    fn host_operations(&self) -> (u64, u64) {
        (self.reads, self.programs)
    }
}

impl PageFrontend for NoCache {
    #[inline(always)]
    fn prefetch(&self, device: &Device, _: u32, lpn: DriveLpn, _: Op) {
        device.prefetch(lpn);
    }

    #[inline(always)]
    fn prefetch_links(&self, device: &Device, _: u32, lpn: DriveLpn) {
        device.prefetch_old(lpn);
    }

    #[inline]
    fn access(
        &mut self,
        device: &mut Device,
        access: Access,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> Result<PendingTime, RunError> {
        let Access { now, op, id, lpn, first_of_request, bytes, .. } = access;
        ledger.pages.miss(op);
        if first_of_request {
            device.command(Command::Access(op));
        }
        if observer.watches() {
            let mut r = Request::new(Page(id.into()), Lpn(lpn.0.into()), op);
            r.first_of_request = first_of_request;
            observer.access(&r, false, None);
        }
        let served = match op {
            Op::Read => device.read(lpn),
            Op::Write => Some(device.write_as(lpn, WriteHint { bytes, label: 0 })),
        };
        match op {
            // One that the drive served without its flash has no number.
            Op::Read => {
                self.reads += u64::from(served.is_some_and(|read| read.submission != NEVER));
            }
            Op::Write => self.programs += 1,
        }
        Ok(served.map_or(PendingTime::at(now), |served| served.end))
    }
}
