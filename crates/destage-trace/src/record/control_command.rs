//! Requests that access no page: trims and flushes, beside the rows that they come between.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Kind of a [`ControlCommand`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ControlKind {
    /// The content of its pages is no longer wanted.
    Trim = 0,
    /// Make earlier writes durable; no pages.
    Flush = 1,
    /// A trim of no bytes: asks for nothing, and completes when it is met. No trace file has one,
    /// since readers leave out requests without length; a test vector may.
    Empty = 2,
}

/// A trim or a flush, in the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ControlCommand {
    /// Row before which the command comes, after the one before it; the number of rows if it comes
    /// last.
    /// Never between the rows of one request.
    pub row: u64,
    /// Arrival, ns after the origin; not decreasing among commands, nor against the rows.
    pub arrival_ns: u64,
    /// First page that lies wholly inside the range, as an LPN; in a wrapped trace modulo the
    /// drive's pages, and the pages go on at page 0 where the drive ends.
    pub first_lpn: u64,
    /// Pages wholly inside the range (`docs/spec/device-today.md` 4.1); may be none, and more than
    /// the drive has.
    pub pages: u64,
    kind: u32,
    /// Index of its device in [`TraceMeta::devices`](crate::meta::TraceMeta::devices).
    pub device: u32,
}

impl ControlCommand {
    /// A command before a row, of a device.
    pub fn new(kind: ControlKind, row: u64, arrival_ns: u64, device: u32) -> Self {
        ControlCommand { row, arrival_ns, first_lpn: 0, pages: 0, kind: kind as u32, device }
    }

    /// Sets the pages that lie wholly inside a range of bytes.
    pub fn over(self, offset_bytes: u64, length_bytes: u64, page_bytes: u64) -> Self {
        let first = offset_bytes.div_ceil(page_bytes);
        let end = offset_bytes.saturating_add(length_bytes) / page_bytes;
        ControlCommand { first_lpn: first, pages: end.saturating_sub(first), ..self }
    }

    /// Kind of the command.
    #[inline(always)]
    pub fn kind(&self) -> ControlKind {
        match self.kind {
            0 => ControlKind::Trim,
            1 => ControlKind::Flush,
            _ => ControlKind::Empty,
        }
    }

    /// Pages of the command in the order in which they are trimmed, each once, as ranges of LPNs:
    /// one, or two
    /// where it runs over the end of a drive of so many pages. What it covers more often than once
    /// is not there a second time.
    pub fn ranges(&self, logical_pages: Option<u64>) -> [std::ops::Range<u64>; 2] {
        let Some(logical) = logical_pages else {
            return [self.first_lpn..self.first_lpn.saturating_add(self.pages), 0..0];
        };
        let first = self.first_lpn % logical;
        let before_end = self.pages.min(logical - first);
        let after = (self.pages - before_end).min(first);
        [first..first + before_end, 0..after]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trim(offset: u64, length: u64) -> ControlCommand {
        ControlCommand::new(ControlKind::Trim, 0, 0, 0).over(offset, length, 4096)
    }

    #[test]
    fn pages_are_those_wholly_inside_the_range() {
        for (offset, length, first, pages) in [
            (0, 4096, 0, 1),
            (0, 4095, 0, 0),
            (1, 4096, 1, 0),
            (1, 8191, 1, 1),
            (4096, 12_289, 1, 3),
            (100, 10, 1, 0),
            (8191, 1 << 63, 2, (1 << 51) - 1),
        ] {
            let control_command = trim(offset, length);
            assert_eq!(
                (control_command.first_lpn, control_command.pages),
                (first, pages),
                "{offset} + {length}"
            );
        }
    }

    #[test]
    fn a_trim_that_runs_over_the_end_of_a_drive_goes_on_at_its_first_page_and_once_at_most() {
        let ranges = |first: u64, pages: u64, logical| {
            trim(first * 4096, pages * 4096).ranges(logical).map(|r| (r.start, r.end))
        };
        assert_eq!(ranges(3, 4, None), [(3, 7), (0, 0)]);
        assert_eq!(ranges(3, 4, Some(10)), [(3, 7), (0, 0)]);
        assert_eq!(ranges(8, 4, Some(10)), [(8, 10), (0, 2)]);
        assert_eq!(ranges(18, 4, Some(10)), [(8, 10), (0, 2)]);
        assert_eq!(ranges(8, 400, Some(10)), [(8, 10), (0, 8)]);
        assert_eq!(ranges(0, 400, Some(10)), [(0, 10), (0, 0)]);
    }

    #[test]
    fn a_kind_comes_back_as_given() {
        for kind in [ControlKind::Trim, ControlKind::Flush, ControlKind::Empty] {
            assert_eq!(ControlCommand::new(kind, 0, 0, 0).kind(), kind);
        }
    }
}
