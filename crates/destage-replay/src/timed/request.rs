//! The steps of a request, from a trace ([`host`](super::host)) or a live run
//! ([`live`](super::live)).

use super::course::Course;
use super::frontend::{Access, Frontend, PageFrontend};
use crate::control_commands::ControlKind;
use crate::error::RunError;
use crate::observe::{Observer, Watcher};
use destage_core::Nanos;
use destage_ssd::Device;
use destage_ssd::config::LAST_NS;

/// Names of instants between two settlements, at least. A settlement looks at every page and at
/// every name that is left, so there must also have been that many new ones.
const NAMES: usize = 1 << 16;

/// Where counting begins, from the row of a request on: rows that do not count, if the cache does
/// not say so, and requests in all.
#[derive(Clone, Copy)]
pub(super) struct Counting {
    pub(super) row: usize,
    pub(super) warm_rows: Option<usize>,
    pub(super) requests: u64,
}

/// A read or write, of so many bytes, is issued at its instant (7.5, 7.6).
#[inline(always)]
pub(super) fn issue<C: Frontend + ?Sized>(
    (arrival_ns, is_write, bytes): (Nanos, bool, u64),
    counting: Counting,
    device: &mut Device,
    frontend: &mut C,
    course: &mut Course,
    observer: &mut Watcher<'_>,
) {
    course.close(frontend.host_operations(), observer);
    if device.queues().times().names() >= course.settle_at {
        course.settle(device, frontend.erased(), observer);
        settle_later(device, frontend, course);
    }
    course.await_completion(device, observer);
    let since = course.now;
    course.issue(arrival_ns, is_write);
    if frontend.uses_idle() {
        offer_idle(since, device, frontend.erased(), course, observer);
    }
    course.bytes = bytes;
    begin(counting, device, frontend, course);
}

/// Names are settled when there are as many again.
pub(super) fn settle_later<C: Frontend + ?Sized>(
    device: &mut Device,
    frontend: &C,
    course: &mut Course,
) {
    let left = device.queues().times().names();
    course.settle_at = left + NAMES.max(2 * frontend.pages()).max(left);
}

/// A trim or flush is issued.
pub(super) fn issue_control(
    (arrival_ns, kind): (Nanos, ControlKind),
    counting: Counting,
    device: &mut Device,
    frontend: &mut dyn Frontend,
    course: &mut Course,
    observer: &mut Watcher<'_>,
) {
    course.close(frontend.host_operations(), observer);
    course.await_completion(device, observer);
    let since = course.now;
    course.issue_control_command(arrival_ns, kind);
    if frontend.uses_idle() {
        offer_idle(since, device, frontend, course, observer);
    }
    begin(counting, device, frontend, course);
}

/// The instant of a request has come; it may be the first that counts.
#[inline(always)]
fn begin<C: Frontend + ?Sized>(
    Counting { row, warm_rows, requests }: Counting,
    device: &mut Device,
    frontend: &mut C,
    course: &mut Course,
) {
    if course.warming && warm_rows.map_or_else(|| frontend.is_full(), |warm| row >= warm) {
        course.start_counting(device, frontend, requests);
    }
    course.cut(device, frontend);
    device.advance(course.now);
    frontend.arrive(device);
}

/// One page of the request.
#[inline(always)]
pub(super) fn serve<C: PageFrontend + ?Sized>(
    access: Access,
    device: &mut Device,
    frontend: &mut C,
    course: &mut Course,
    observer: &mut Watcher<'_>,
) -> Result<(), RunError> {
    let done = frontend.access(device, access, &mut course.ledger, observer)?;
    course.end = device.queues().times().later(course.end, done);
    course.pages += 1;
    if observer.wants_gauges() {
        frontend.gauges(&mut |name, value| observer.gauge(name, value));
    }
    Ok(())
}

/// Offers the instants between two requests in which units are idle (`docs/spec/writer.md`, 2), and
/// ends them: all that happened before the second is over.
#[inline(never)]
fn offer_idle(
    since: Nanos,
    device: &mut Device,
    frontend: &mut dyn Frontend,
    course: &mut Course,
    observer: &mut Watcher<'_>,
) {
    let mut next = Some(since).filter(|&at| course.requests > 0 && at < course.now);
    while let Some(at) = next {
        device.advance_past_timers(at);
        let goes_on = frontend.offer(device, at, &mut course.ledger, observer);
        next = if goes_on { device.next_idle(at, course.now) } else { None };
    }
    device.advance(course.now);
    course.own(frontend.host_operations());
}

/// The FTL has not run out of blocks, and time has not run out: what was done since then would be
/// no result.
pub(super) fn goes_on(device: &Device, course: &Course) -> Result<(), RunError> {
    if let Some(full) = device.failure() {
        return Err(RunError::Impossible(full.to_string()));
    }
    if device.last_end().max(course.ledger.last_ns) > LAST_NS {
        let what = "the device is at work for more than 2^62 ns (146 years): it is far too slow \
            for this trace";
        return Err(RunError::Impossible(what.into()));
    }
    Ok(())
}

/// Every request was served, every page access reached the drive that should have, and the drive
/// accounts for every page: a simulator that loses work reports better numbers than it has.
pub(super) fn nothing_lost(
    device: &Device,
    (reads, programs): (u64, u64),
    (served, given): (u64, u64),
) -> Result<(), RunError> {
    let totals = device.counters();
    for (what, expected, found) in [
        ("requests completed", given, served),
        ("flash reads", reads, totals.flash_reads),
        ("flash programs for the host", programs, totals.flash_programs),
    ] {
        if expected != found {
            return Err(RunError::Bug(format!("{what}: {found} instead of {expected}")));
        }
    }
    device.check_conservation().map_err(RunError::Bug)
}
