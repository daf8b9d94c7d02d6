//! Trims and flushes of a run, between its accesses (`docs/spec/device-today.md` 4 and 6.4).

use super::course::Course;
use super::frontend::Frontend;
use super::request::Counting;
use crate::accesses::Extent;
use crate::control_commands::{ControlCommand, ControlCommands, ControlKind};
use crate::input::Input;
use destage_core::NEVER;
use destage_ssd::config::{FlushMode, TrimMode};
use destage_ssd::{Command, Device, DriveLpn, HostConfig, PendingTime};
use std::ops::Range;

/// Control commands of the run in order, and request sizes row by row.
pub(super) struct ControlQueue<'a> {
    control_commands: ControlCommands<'a>,
    input: Input<'a>,
    page_bytes: Option<u32>, // if sizes are looked at
    host: HostConfig,
    at: usize, // of the list
    row: u64,  // that the next one comes before; NEVER: there is none
    warm_rows: Option<usize>,
    requests: u64,
}

/// Tells the drive which of them will be asked of it.
pub(super) fn prepare(host: HostConfig, device: &mut Device) {
    if host.flush == FlushMode::Drain {
        device.serve_flushes();
    }
    if host.flush == FlushMode::Drain || host.trim == TrimMode::Drop {
        device.count_interface();
    }
}

/// Serves a flush at the instant that the drive has come to.
pub(super) fn flush(device: &mut Device, course: &mut Course) {
    let processed = device.command(Command::Other);
    course.end = device.drained(processed);
}

/// Serves a trim at that instant, but for its pages.
pub(super) fn begin_trim(device: &mut Device, course: &mut Course) {
    course.end = PendingTime::at(device.command(Command::Other));
}

/// Trims pages out of the drive, as far as it has them; returns how many it has.
pub(super) fn trim_pages(device: &mut Device, lpns: Range<u64>) -> u64 {
    let logical_pages = u64::from(device.geometry().logical_pages);
    let lpns = lpns.start.min(logical_pages)..lpns.end.min(logical_pages);
    for lpn in lpns.clone() {
        device.trim(DriveLpn(lpn as u32)); // pages of the drive: fewer than 2^32
    }
    lpns.end - lpns.start
}

impl<'a> ControlQueue<'a> {
    /// Queue of a run; announces its commands to the device.
    pub(super) fn new(input: &Input<'a>, host: HostConfig, device: &mut Device) -> Self {
        prepare(host, device);
        let mut all = ControlQueue {
            control_commands: input.control_commands,
            input: *input,
            page_bytes: device.looks_at_sizes().then(|| device.config().page_bytes),
            host,
            at: 0,
            row: NEVER,
            warm_rows: None,
            requests: 0,
        };
        all.find();
        all
    }

    fn is_part(&self, control_command: &ControlCommand) -> bool {
        match control_command.kind() {
            ControlKind::Flush => self.host.flush == FlushMode::Drain,
            ControlKind::Trim | ControlKind::Empty => self.host.trim == TrimMode::Drop,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.control_commands
            .list
            .iter()
            .filter(|control_command| self.is_part(control_command))
            .count() as u64
    }

    /// Length of the request that begins with a row, if the drive looks at it; else 0.
    #[inline(always)]
    pub(super) fn request_bytes(&self, row: usize) -> u64 {
        self.page_bytes.map_or(0, |page_bytes| self.bytes_of(row, page_bytes))
    }

    /// In whole pages, without further details.
    #[inline(never)]
    fn bytes_of(&self, row: usize, page_bytes: u32) -> u64 {
        let Input { columns, continuations, request_bytes, .. } = self.input;
        if let Some(&bytes) = request_bytes.get(row) {
            return bytes;
        }
        let after = continuations.partition_point(|&continued| continued <= row as u64);
        let mut next = row as u64;
        let more = continuations[after..].iter().take_while(|&&continued| {
            next += 1;
            continued == next
        });
        let rows = row..row + 1 + more.count();
        let pages = columns.extents[rows].iter().map(|&extent| u64::from(Extent(extent).pages()));
        pages.sum::<u64>() * u64::from(page_bytes)
    }

    /// Rows that do not count, if the cache does not say so, and requests in all.
    pub(super) fn counts_from(&mut self, warm_rows: Option<usize>, requests: u64) {
        (self.warm_rows, self.requests) = (warm_rows, requests);
    }

    /// Where counting begins, seen from a row.
    #[inline(always)]
    pub(super) fn counting(&self, row: usize) -> Counting {
        Counting { row, warm_rows: self.warm_rows, requests: self.requests }
    }

    /// One comes before this row.
    #[inline(always)]
    pub(super) fn come_before(&self, row: usize) -> bool {
        self.row == row as u64
    }

    /// Goes on to the next that is part of the run.
    fn find(&mut self) {
        let rest = &self.control_commands.list[self.at..];
        let next = rest.iter().position(|control_command| self.is_part(control_command));
        self.at += next.unwrap_or(rest.len());
        self.row = self
            .control_commands
            .list
            .get(self.at)
            .map_or(NEVER, |control_command| control_command.row);
    }

    /// The next one, which comes before this row.
    pub(super) fn next(&mut self, row: usize) -> Option<&'a ControlCommand> {
        if !self.come_before(row) {
            return None;
        }
        let next = self.control_commands.list.get(self.at);
        self.at += 1;
        self.find();
        next
    }

    /// Serves one at the instant that the drive has come to.
    pub(super) fn serve(
        &self,
        control_command: &ControlCommand,
        device: &mut Device,
        frontend: &mut dyn Frontend,
        course: &mut Course,
    ) {
        match control_command.kind() {
            ControlKind::Empty => {}
            ControlKind::Flush => flush(device, course),
            ControlKind::Trim => {
                begin_trim(device, course);
                self.trim(control_command, device, frontend, course);
            }
        }
    }

    /// Page by page: out of the cache, then out of the drive. A page that the range meets again is
    /// not there any more; one beyond the drive is none, if nothing wraps.
    fn trim(
        &self,
        control_command: &ControlCommand,
        device: &mut Device,
        frontend: &mut dyn Frontend,
        course: &mut Course,
    ) {
        for ids in self.control_commands.ids(control_command, self.input.columns.lpns) {
            for id in ids {
                frontend.forget(device, id, &mut course.ledger);
            }
        }
        if !frontend.trims_pages_of_the_trace() {
            return;
        }
        let mut pages = 0;
        for lpns in self.control_commands.lpns(control_command) {
            pages += trim_pages(device, lpns);
        }
        if self.control_commands.logical_pages.is_some() {
            device.miss_trims(control_command.pages - pages);
        }
    }
}
