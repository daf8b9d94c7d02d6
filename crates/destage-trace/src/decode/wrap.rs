//! Wrapping: page numbers modulo those of a drive, before ids are given.

use super::rows::{Row, Rows};
use crate::columns::meta::{DeviceMeta, WrapCounts};
use crate::error::Result;
use crate::files::{disk, disk_space};
use crate::hooks::{Hooks, Stage, step};
use crate::record::{ChainMark, Extent, NO_RESPONSE};

/// Bytes of a row between the passes and in the file, at least.
const ROW_BYTES: u64 = 28;

/// Takes every row modulo the drive's pages, and marks what comes out.
///
/// # Errors
///
/// `Usage` for more pages than can be numbered, `Write` without room for the pieces, `Interrupted`.
pub(super) fn wrap(
    rows: &mut Rows,
    devices: &[DeviceMeta],
    logical_pages: u64,
    spool_bytes: usize,
    hooks: &mut dyn Hooks,
) -> Result<WrapCounts> {
    // Every piece but the last of a request ends where the drive does.
    let pieces = rows.sink.counts.accesses / logical_pages;
    let bytes = pieces.saturating_mul(ROW_BYTES);
    disk_space::room_for(&disk::temp_dir(), bytes, "requests cut at the end of the device")?;
    let mut wrap = WrapCounts { logical_pages, ..WrapCounts::default() };
    let mut unwrapped = rows.begin_wrapped(spool_bytes);
    let continued = std::mem::take(&mut rows.continuations);
    let mut next_continued = continued.iter().copied().peekable();
    let mut control_commands = std::mem::take(&mut rows.control_commands);
    let mut next_control_command = 0;
    let total = Some(unwrapped.rows());
    let mut index = 0;
    unwrapped.for_each(|chunk| {
        let mut at = 0;
        for &[device, count] in &chunk.runs {
            let base = devices[device as usize].base_lpn;
            for k in at..at + count as usize {
                while let Some(control_command) =
                    control_commands.get_mut(next_control_command).filter(|a| a.row == index)
                {
                    control_command.row = rows.taken();
                    next_control_command += 1;
                }
                let extent = Extent(chunk.ops[k]);
                let continued = next_continued.next_if_eq(&index).is_some();
                let (first, pages) = (base + chunk.pages[k], u64::from(extent.pages()));
                let beyond = (first + (pages - 1)).saturating_sub(logical_pages - 1).min(pages);
                wrap.accesses += beyond;
                wrap.requests += u64::from(beyond > 0 && !continued);
                let row = Row {
                    device: 0,
                    first,
                    pages,
                    write: extent.is_write(),
                    from_inside: extent.starts_inside(),
                    to_inside: extent.ends_inside(),
                    arrival_ns: chunk.arrivals[k],
                    response_ns: chunk.responses.get(k).copied().unwrap_or(NO_RESPONSE),
                    chain: chunk.chains.get(k).copied().unwrap_or(ChainMark::NONE),
                    continued,
                };
                rows.mark_wrapped(first % logical_pages, pages, logical_pages)?;
                rows.push_cut(&row, |page| {
                    (page % logical_pages, logical_pages - page % logical_pages)
                })?;
                index += 1;
            }
            at += count as usize;
        }
        step(hooks, Stage::Numbering, index, total)
    })?;
    rows.seal_chunk()?;
    control_commands[next_control_command..]
        .iter_mut()
        .for_each(|control_command| control_command.row = rows.taken());
    rows.control_commands = control_commands;
    Ok(wrap)
}
