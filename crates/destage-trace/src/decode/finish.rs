//! After pass 1: devices are placed, rows wrapped, columns written, and what they say of themselves
//! is put together.

use super::address_space::{StackedDevices, stack_devices};
use super::column_pass::AddressSpace;
use super::read_pass::Reading;
use super::rows::Rows;
use super::source::RecordSource;
use super::wrap::wrap;
use crate::columns::{
    ColumnKind, FORMAT_VERSION, bytes_of,
    meta::{DeviceMeta, SourceMeta, TraceClock, TraceCounts, TraceMeta},
};
use crate::error::{Location, Result, TraceError};
use crate::files::disk::File;
use crate::hooks::Hooks;
use crate::record::ControlCommand;

/// Makes the file of columns of what was read.
///
/// # Errors
///
/// `Data` if there is no read or write; `Usage` for more pages than can be numbered; `Write`;
/// `Interrupted`.
pub(super) fn finish<S: RecordSource + ?Sized>(
    reading: Reading<'_>,
    source: &mut S,
    sources: Vec<SourceMeta>,
    hooks: &mut dyn Hooks,
) -> Result<File> {
    let Reading { options, mut rows, loads, sizes, page_bytes, .. } = reading;
    if rows.sink.spool.rows() == 0 {
        return Err(nothing(&sources));
    }
    let placed = stack_devices(source.devices(), &loads, page_bytes, options)?;
    let StackedDevices { mut devices, order } = placed;
    let wrapped = match options.wrap_pages {
        Some(pages) => Some(wrap(&mut rows, &devices, pages, options.spool_limit_bytes, hooks)?),
        None => None,
    };
    place_control_commands(&mut rows.control_commands, &devices, &order, options.wrap_pages);
    let bases: Vec<u64> = devices.iter().map(|d| d.base_lpn).collect();
    let space = match wrapped {
        // One drive, whose pages belong to no device.
        Some(_) => AddressSpace { order: &[0], bases: &[0] },
        None => AddressSpace { order: &order, bases: &bases },
    };
    let fingerprint = rows.write_columns(page_bytes, &space, hooks)?;
    if wrapped.is_none() {
        for (index, device) in devices.iter_mut().enumerate() {
            device.unique_pages = rows.sink.pages.unique_of(index);
        }
    }
    let mut counts = counts_of(&rows, &devices, page_bytes);
    (counts.trims, counts.flushes) = (reading.trims, reading.flushes);
    let [read_sizes, write_sizes] =
        [(0, counts.read_bytes), (1, counts.write_bytes)].map(|(k, sum)| sizes[k].profile(sum));
    let meta = TraceMeta {
        format_version: FORMAT_VERSION,
        page_bytes,
        sources,
        devices: order.iter().map(|&index| std::mem::take(&mut devices[index])).collect(),
        counts,
        clock: TraceClock {
            timed: source.has_times(),
            origin_ns: reading.origin_ns.unwrap_or(0),
            ..rows.clock
        },
        wrap: wrapped,
        read_sizes,
        write_sizes,
        summary: source.summary(),
        fingerprint,
    };
    if !rows.control_commands.is_empty() {
        rows.writer.section(ColumnKind::ControlCommands, bytes_of(&rows.control_commands))?;
    }
    let text = serde_json::to_vec(&meta).expect("plain data becomes JSON");
    rows.writer.section(ColumnKind::Meta, &text)?;
    rows.writer.finish()
}

/// Gives trims their place in the one address space. Among several devices, what lies past the span
/// of its own is left out: there begins the next one, and nothing of this one was ever there.
fn place_control_commands(
    control_commands: &mut [ControlCommand],
    devices: &[DeviceMeta],
    order: &[usize],
    wrap_pages: Option<u64>,
) {
    let mut places = vec![0; devices.len()];
    order.iter().enumerate().for_each(|(place, &index)| places[index] = place as u32);
    for control_command in control_commands {
        let device = &devices[control_command.device as usize];
        if devices.len() > 1 {
            let room = device.span_pages.saturating_sub(control_command.first_lpn);
            control_command.pages = control_command.pages.min(room);
        }
        control_command.first_lpn = device.base_lpn.saturating_add(control_command.first_lpn);
        if let Some(logical_pages) = wrap_pages {
            control_command.first_lpn %= logical_pages;
        }
        control_command.device = places[control_command.device as usize];
    }
}

/// The accesses that rows counted, and what follows from rows, pages and devices.
fn counts_of(rows: &Rows, devices: &[DeviceMeta], page_bytes: u64) -> TraceCounts {
    let unique_pages = rows.sink.pages.unique();
    TraceCounts {
        rows: rows.sink.spool.rows(),
        requests: rows.sink.spool.rows() - rows.continuations.len() as u64,
        reads: devices.iter().map(|d| d.reads).sum(),
        writes: devices.iter().map(|d| d.writes).sum(),
        read_bytes: devices.iter().map(|d| d.read_bytes).sum(),
        write_bytes: devices.iter().map(|d| d.write_bytes).sum(),
        unique_pages,
        footprint_bytes: unique_pages.saturating_mul(page_bytes),
        ..rows.sink.counts.clone()
    }
}

fn nothing(sources: &[SourceMeta]) -> TraceError {
    let files: Vec<&str> = sources.iter().map(|s| s.name.as_str()).collect();
    TraceError::data(files.join(", "), Location::File, "0 read or write requests")
}
