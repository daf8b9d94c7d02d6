//! The next use of each access, which MIN needs: a pass from the last access to the first, kept
//! beside the trace and mapped.

use std::path::Path;

use zerocopy::{FromBytes, IntoBytes};

use crate::cache::open_entry;
use crate::cache::store::{NextUsePlace, store};
use crate::columns::{BLOCK_BYTES, ColumnKind, ColumnWriter, Columns, Target, Unusable};
use crate::error::Result;
use crate::files::disk::File;
use crate::hooks::{Hooks, Stage, step};
use crate::record::{ControlCommand, Extent};

/// No later access, in the narrow column.
pub const NEVER_NARROW: u32 = u32::MAX;
/// No later access, in the wide column.
pub const NEVER_WIDE: u64 = u64::MAX;

/// The rows of a trace, as its columns have them.
pub(crate) struct Rows<'a> {
    /// Dense id of each row's first page.
    pub(crate) first_ids: &'a [u32],
    /// [`Extent`] of each row.
    pub(crate) pages_ops: &'a [u32],
    /// Number of different pages.
    pub(crate) pages: u32,
    /// Pages of all rows.
    pub(crate) accesses: u64,
    /// Identity of the accesses.
    pub(crate) fingerprint: &'a str,
    /// Trims at which data die; none if they are no part of the run.
    pub(crate) trims: Trims<'a>,
}

/// Trims between the rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Trims<'a> {
    /// Trims and flushes, in the order of the run.
    pub(crate) control_commands: &'a [ControlCommand],
    /// LPN of each dense id, ascending.
    pub(crate) lpns: &'a [u64],
    /// Pages of the drive that the trace was wrapped into.
    pub(crate) logical_pages: Option<u64>,
}

impl Trims<'_> {
    /// Calls `f` with the dense ids of the pages that a command trims.
    fn for_each_id(&self, control_command: &ControlCommand, mut f: impl FnMut(usize)) {
        for pages in
            control_command.ranges(self.logical_pages).into_iter().filter(|p| !p.is_empty())
        {
            let rank = |page| self.lpns.partition_point(|&lpn| lpn < page);
            (rank(pages.start)..rank(pages.end)).for_each(&mut f);
        }
    }
}

/// Number of the next access to the same page, for each access in order.
pub struct NextUse {
    columns: Columns,
    accesses: u64,
}

/// The column, by width.
#[derive(Clone, Copy, Debug)]
pub enum NextUses<'a> {
    /// Fewer than 2^32 - 1 accesses; [`NEVER_NARROW`] if there is no later one.
    Narrow(&'a [u32]),
    /// 2^32 - 1 accesses or more; [`NEVER_WIDE`] if there is no later one.
    Wide(&'a [u64]),
}

impl NextUses<'_> {
    /// Next use of an access, as `destage-core` has it: `u64::MAX` if there is none.
    #[inline(always)]
    pub fn get(&self, access: usize) -> u64 {
        match self {
            NextUses::Narrow(column) => match column[access] {
                NEVER_NARROW => NEVER_WIDE,
                next => u64::from(next),
            },
            NextUses::Wide(column) => column[access],
        }
    }
}

impl NextUse {
    /// The column.
    #[inline]
    pub fn uses(&self) -> NextUses<'_> {
        if is_narrow(self.accesses) {
            NextUses::Narrow(self.columns.column(ColumnKind::NextNarrow))
        } else {
            NextUses::Wide(self.columns.column(ColumnKind::NextWide))
        }
    }

    /// Maps the file at its place, or makes it; without a place, in a temporary file.
    pub(crate) fn of(
        rows: &Rows<'_>,
        place: Option<&NextUsePlace>,
        hooks: &mut dyn Hooks,
    ) -> Result<Self> {
        let kept = place.map(|place| (place.path.as_path(), &place.folder));
        if let Some(kept) = kept.and_then(|(path, _)| NextUse::kept(rows, path)) {
            return Ok(kept);
        }
        let columns = store(kept, hooks, |target, hooks| make(rows, target, hooks))?;
        if let Some(place) = place {
            place.settle();
        }
        Ok(NextUse { columns, accesses: rows.accesses })
    }

    /// The next uses in the cache, if the entry is whole and this trace's.
    fn kept(rows: &Rows<'_>, path: &Path) -> Option<Self> {
        let columns =
            match open_entry(path).map_err(Unusable::Io).and_then(|f| Columns::map(&f, path)) {
                Ok(columns) => columns,
                Err(_) => return None,
            };
        let accesses = rows.accesses;
        let (kind, width) = width(accesses);
        let long = columns.bytes(kind)?.len() as u64 == accesses * width;
        let same = columns.bytes(ColumnKind::Meta)? == rows.fingerprint.as_bytes();
        (long && same).then_some(NextUse { columns, accesses })
    }
}

impl std::fmt::Debug for NextUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NextUse").field("accesses", &self.accesses).finish_non_exhaustive()
    }
}

fn is_narrow(accesses: u64) -> bool {
    accesses < u64::from(NEVER_NARROW)
}

fn width(accesses: u64) -> (ColumnKind, u64) {
    if is_narrow(accesses) { (ColumnKind::NextNarrow, 4) } else { (ColumnKind::NextWide, 8) }
}

fn make(rows: &Rows<'_>, target: &Target, hooks: &mut dyn Hooks) -> Result<File> {
    let mut writer = ColumnWriter::new(target)?;
    writer.make_room(rows.accesses.saturating_mul(width(rows.accesses).1))?;
    writer.section(ColumnKind::Meta, rows.fingerprint.as_bytes())?;
    if is_narrow(rows.accesses) {
        backwards::<u32>(rows, &mut writer, ColumnKind::NextNarrow, hooks)?;
    } else {
        backwards::<u64>(rows, &mut writer, ColumnKind::NextWide, hooks)?;
    }
    writer.finish()
}

/// A number of an access, or "never".
trait Number: Copy + FromBytes + IntoBytes + zerocopy::Immutable + zerocopy::KnownLayout {
    const NEVER: Self;
    fn of(access: u64) -> Self;
}

impl Number for u32 {
    const NEVER: u32 = NEVER_NARROW;
    #[inline(always)]
    fn of(access: u64) -> u32 {
        access as u32
    }
}

impl Number for u64 {
    const NEVER: u64 = NEVER_WIDE;
    #[inline(always)]
    fn of(access: u64) -> u64 {
        access
    }
}

/// Rows from the last to the first; of each page the access seen last. 4 or 8 bytes a page.
fn backwards<N: Number>(
    rows: &Rows<'_>,
    writer: &mut ColumnWriter,
    kind: ColumnKind,
    hooks: &mut dyn Hooks,
) -> Result<()> {
    let (first_ids, pages_ops) = (rows.first_ids, rows.pages_ops);
    let accesses = rows.accesses;
    let mut seen = vec![N::NEVER; rows.pages as usize];
    // The current row, and how many of its pages are still to come.
    let (mut row, mut left) = (first_ids.len(), 0u32);
    let mut trims = rows.trims.control_commands;
    let mut first = 0u32;
    let width = size_of::<N>();
    assert_eq!(BLOCK_BYTES % width, 0, "blocks hold whole numbers");
    writer.section_backwards(kind, accesses * width as u64, |offset, block| {
        let start = offset / width as u64;
        let Ok(block) = <[N]>::mut_from_bytes(block) else {
            panic!("blocks are aligned and hold whole numbers");
        };
        let mut at = block.len();
        while at > 0 {
            if left == 0 {
                // What is trimmed before the row that is done dies there.
                while let Some((trim, before)) = trims.split_last()
                    && trim.row >= row as u64
                {
                    rows.trims.for_each_id(trim, |id| seen[id] = N::NEVER);
                    trims = before;
                }
                row -= 1;
                first = first_ids[row];
                left = Extent(pages_ops[row]).pages();
                continue;
            }
            let take = (left as usize).min(at);
            for _ in 0..take {
                left -= 1;
                at -= 1;
                let page = &mut seen[(first + left) as usize];
                block[at] = *page;
                *page = N::of(start + at as u64);
            }
        }
        step(hooks, Stage::NextUse, accesses - start, Some(accesses))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::NoHooks;

    #[test]
    fn next_uses_that_no_disk_holds_are_refused_before_memory_or_disk_is_taken() {
        let rows = Rows {
            first_ids: &[0],
            pages_ops: &[Extent::new(1, false, false, false).0],
            pages: u32::MAX,
            accesses: 1 << 60,
            fingerprint: "",
            trims: Trims::default(),
        };
        let error = NextUse::of(&rows, None, &mut NoHooks).expect_err("no disk is so large");
        assert_eq!(error.exit_status(), 74);
        assert!(error.to_string().contains("no room for"), "{error}");
    }
}
