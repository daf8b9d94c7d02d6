//! Where each device lies in the run's one address space.

use super::options::DecodeOptions;
use super::read_pass::DeviceLoad;
use crate::columns::meta::DeviceMeta;
use crate::error::{Result, TraceError};
use crate::record::DeviceTable;

/// The devices of a run, stacked.
pub(super) struct StackedDevices {
    /// Devices by index.
    pub(super) devices: Vec<DeviceMeta>,
    /// Indices in the order of the address space.
    pub(super) order: Vec<usize>,
}

/// Gives every device its place in the address space.
///
/// # Errors
///
/// `Usage` where they reach past 2^64 pages.
pub(super) fn stack_devices(
    table: &DeviceTable,
    loads: &[DeviceLoad],
    page_bytes: u64,
    options: &DecodeOptions,
) -> Result<StackedDevices> {
    let order: Vec<usize> = table.in_name_order().into_iter().map(|d| d as usize).collect();
    let mut devices = vec![DeviceMeta::default(); table.len()];
    let mut base = 0u128;
    for &index in &order {
        let device = &mut devices[index];
        let load = loads.get(index).copied().unwrap_or_default();
        device.name = table.name(index as u32);
        [device.reads, device.writes] = load.requests;
        [device.read_bytes, device.write_bytes] = load.bytes;
        device.requests = device.reads + device.writes;
        let last = base + u128::from(load.last_byte / page_bytes);
        let (Ok(base_lpn), Ok(_)) = (u64::try_from(base), u64::try_from(last)) else {
            return Err(TraceError::usage(format!(
                "devices = \"stack\": device {} would reach page {last}, past 2^64; \
                     choose devices, or give each a run of its own",
                device.name
            )));
        };
        device.base_lpn = base_lpn;
        if device.requests == 0 {
            continue;
        }
        let end = u128::from(load.last_byte) + 1;
        let aligned = end.next_multiple_of(u128::from(options.span_align_bytes));
        let pages = aligned.div_ceil(u128::from(page_bytes));
        device.span_bytes = u64::try_from(end).unwrap_or(u64::MAX);
        device.span_pages = u64::try_from(pages).unwrap_or(u64::MAX);
        base += pages;
    }
    Ok(StackedDevices { devices, order })
}
