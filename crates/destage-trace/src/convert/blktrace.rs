//! `blktrace`: binary records of the event "issue" (D), as blkparse reads them, little-endian.

use super::output::Output;
use super::writer::{
    DeviceNumbers, Losses, RecordWriter, SECTOR_BYTES, Target, TraceEnd, WriteContext, WriterSetup,
};
use crate::error::Result;
use crate::record::{Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "blktrace",
    about: "binary blktrace (read it with blkparse): one D event a request, whole sectors, times \
     in ns",
    extension: "blktrace.0",
    create,
};

/// The first word of every record: version 7.
const MAGIC: u32 = 0x6561_7407;
/// Major number of devices whose name is no `major:minor`: NVMe's block devices.
const NAMELESS_MAJOR: u64 = 259;
/// Low half of `action`: issued to the driver; and its category.
const ISSUE: u32 = 7 | 1 << 22;
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const DISCARD: u32 = 1 << 29;
/// Longest extent of one record, a multiple of the sector: longer trims become several records.
const MAX_BYTES: u64 = u32::MAX as u64 / SECTOR_BYTES * SECTOR_BYTES;

fn create(output: Output, _: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    Ok(Box::new(Blktrace { output, sequence: 0, devices: DeviceNumbers::default() }))
}

struct Blktrace {
    output: Output,
    sequence: u32,
    devices: DeviceNumbers,
}

/// The kernel's number of `major:minor` or `major,minor`.
fn kernel_number(name: &str) -> Option<u64> {
    let (major, minor) = name.split_once([':', ','])?;
    let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(u64::from(major << 20 | minor))
}

impl Blktrace {
    fn put(
        &mut self,
        time_ns: u64,
        sector: u64,
        bytes: u32,
        action: u32,
        device: u32,
    ) -> Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut record = [0u8; 48];
        record[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        record[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        record[8..16].copy_from_slice(&time_ns.to_le_bytes());
        record[16..24].copy_from_slice(&sector.to_le_bytes());
        record[24..28].copy_from_slice(&bytes.to_le_bytes());
        record[28..32].copy_from_slice(&action.to_le_bytes());
        record[36..40].copy_from_slice(&device.to_le_bytes());
        self.output.put(&record)
    }
}

impl RecordWriter for Blktrace {
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64> {
        let shown = |number: u64| format!("{}:{}", number >> 20, number & 0xf_ffff);
        let device =
            self.devices.assign(record.device, context, NAMELESS_MAJOR << 20, kernel_number, shown);
        let device = device as u32;
        let action = ISSUE
            | match record.op {
                RecordOp::Read => READ,
                RecordOp::Write => WRITE,
                RecordOp::Trim => WRITE | DISCARD,
                RecordOp::Flush => {
                    self.put(record.time_ns, 0, 0, ISSUE | FLUSH, device)?;
                    return Ok(1);
                }
            };
        let (mut sector, sectors) = context.losses.sectors(record)?;
        let (mut left, mut written) = (sectors * SECTOR_BYTES, 0);
        while left > 0 {
            let bytes = left.min(MAX_BYTES);
            self.put(record.time_ns, sector, bytes as u32, action, device)?;
            sector += bytes / SECTOR_BYTES;
            left -= bytes;
            written += 1;
        }
        Ok(written)
    }

    fn finish(self: Box<Self>, _: &TraceEnd, _: &mut Losses) -> Result<Output> {
        Ok(self.output)
    }
}
