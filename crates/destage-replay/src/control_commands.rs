//! Trims and flushes of a run, between the rows of its accesses.

use destage_trace::Trace;
pub use destage_trace::{ControlCommand, ControlKind};
use std::ops::Range;

/// Trims and flushes in the order of the run, and how their pages are named.
#[derive(Clone, Copy, Default, Debug)]
pub struct ControlCommands<'a> {
    /// Each comes before the row that it names.
    pub list: &'a [ControlCommand],
    /// Pages of the drive that the trace was wrapped into, if it was.
    pub logical_pages: Option<u64>,
}

impl<'a> ControlCommands<'a> {
    /// No commands, for runs that ignore them.
    pub const NONE: ControlCommands<'static> = ControlCommands { list: &[], logical_pages: None };

    /// Control commands of a trace.
    pub fn of(trace: &'a Trace) -> Self {
        let wrap = trace.meta().wrap.as_ref();
        ControlCommands {
            list: trace.control_commands(),
            logical_pages: wrap.map(|wrap| wrap.logical_pages),
        }
    }

    /// Pages of a trim as ranges of LPNs, each page once, in the order in which they are trimmed.
    pub fn lpns(&self, trim: &ControlCommand) -> [Range<u64>; 2] {
        trim.ranges(self.logical_pages)
    }

    /// Pages of a trim that the run has, as ranges of dense ids. `lpns` is its table.
    pub fn ids(&self, trim: &ControlCommand, lpns: &[u64]) -> [Range<u32>; 2] {
        let rank = |page| lpns.partition_point(|&lpn| lpn < page) as u32; // ids are below 2^32
        self.lpns(trim).map(|pages| match pages.is_empty() {
            true => 0..0,
            false => rank(pages.start)..rank(pages.end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_trim_are_those_of_the_pages_that_the_run_has() {
        let lpns = [3, 4, 8, 100];
        let trim = |first: u64, pages: u64| {
            ControlCommand::new(ControlKind::Trim, 0, 0, 0).over(first * 4096, pages * 4096, 4096)
        };
        let ids = |first, pages, logical_pages| {
            ControlCommands { list: &[], logical_pages }.ids(&trim(first, pages), &lpns)
        };
        assert_eq!(ids(4, 5, None), [1..3, 0..0]);
        assert_eq!(ids(5, 3, None), [2..2, 0..0]);
        assert_eq!(ids(0, 1 << 50, None), [0..4, 0..0]);
        assert_eq!(ids(8, 100, Some(104)), [2..4, 0..1], "8 to 103, and 0 to 3");
        assert_eq!(ids(8, 0, Some(104)), [0..0, 0..0]);
    }
}
