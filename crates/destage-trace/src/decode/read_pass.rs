//! Pass 1: records become rows.

use super::options::{DEFAULT_PAGE_BYTES, DecodeOptions};
use super::rows::{Row, Rows};
use super::source::RecordSource;
use super::splitter::Splitter;
use crate::columns::{ColumnWriter, meta::SizeCounter};
use crate::error::Result;
use crate::hooks::{Hooks, Stage, step};
use crate::record::{ControlCommand, ControlKind, Record, RecordOp};

/// Requests and bytes of one device; arrays are of reads and writes.
#[derive(Clone, Copy, Default)]
pub(super) struct DeviceLoad {
    pub(super) requests: [u64; 2],
    pub(super) bytes: [u64; 2],
    /// Highest byte touched. Not the end of it, which may overflow.
    pub(super) last_byte: u64,
}

/// Results of pass 1.
pub(super) struct Reading<'a> {
    pub(super) options: &'a DecodeOptions,
    pub(super) rows: Rows,
    /// Load of each device, by its index.
    pub(super) loads: Vec<DeviceLoad>,
    /// Lengths of reads and writes.
    pub(super) sizes: [SizeCounter; 2],
    pub(super) trims: u64,
    pub(super) flushes: u64,
    pub(super) origin_ns: Option<u64>,
    last_time_ns: u64,
    /// 0 until the first records came.
    pub(super) page_bytes: u64,
}

impl<'a> Reading<'a> {
    /// An empty result, with this many threads beside the caller's.
    pub(super) fn new(
        options: &'a DecodeOptions,
        writer: ColumnWriter,
        threads: usize,
    ) -> Result<Self> {
        let wraps = options.wrap_pages.is_some();
        Ok(Reading {
            options,
            rows: Rows::new(writer, options.spool_limit_bytes, wraps, threads)?,
            loads: Vec::new(),
            sizes: [SizeCounter::new(), SizeCounter::new()],
            trims: 0,
            flushes: 0,
            origin_ns: None,
            last_time_ns: 0,
            page_bytes: 0,
        })
    }

    /// Takes all records of the source.
    pub(super) fn read<S: RecordSource + ?Sized>(
        &mut self,
        source: &mut S,
        hooks: &mut dyn Hooks,
    ) -> Result<()> {
        let ended = self.read_all(source, hooks);
        // What could not be kept came before what could not be read.
        self.rows.gather()?;
        ended
    }

    fn read_all<S: RecordSource + ?Sized>(
        &mut self,
        source: &mut S,
        hooks: &mut dyn Hooks,
    ) -> Result<()> {
        let mut batch = Vec::new();
        loop {
            batch.clear();
            let more = source.next_batch(&mut batch)?;
            if !batch.is_empty() {
                if self.page_bytes == 0 {
                    // Not before: a stream may learn it with its first records.
                    let own = self.options.page_bytes.or_else(|| source.page_bytes());
                    self.page_bytes = own.unwrap_or(DEFAULT_PAGE_BYTES);
                }
                self.loads.resize_with(source.devices().len(), DeviceLoad::default);
                self.rows.devices = source.devices().len();
                self.take_batch(&batch)?;
            }
            let (done, total) = source.position();
            step(hooks, Stage::Reading, done, total)?;
            if !more {
                break;
            }
        }
        self.rows.seal_chunk()
    }

    fn take_batch(&mut self, batch: &[Record]) -> Result<()> {
        let splitter = Splitter::new(self.page_bytes);
        let origin = match self.origin_ns {
            Some(origin) => origin,
            None if self.options.absolute_time => 0,
            None => batch[0].time_ns,
        };
        self.origin_ns = Some(origin);
        for record in batch {
            assert!(
                record.time_ns >= self.last_time_ns,
                "records come to the decoder in the order of their times"
            );
            self.last_time_ns = record.time_ns;
            let write = match record.op {
                RecordOp::Read => false,
                RecordOp::Write => true,
                RecordOp::Trim | RecordOp::Flush => {
                    self.take_control_command(record, origin);
                    continue;
                }
            };
            let (first, last, from_inside, to_inside) =
                splitter.pages(record.offset_bytes, record.length_bytes);
            let load = &mut self.loads[record.device as usize];
            load.last_byte = load.last_byte.max(record.offset_bytes + (record.length_bytes - 1));
            load.requests[usize::from(write)] += 1;
            load.bytes[usize::from(write)] += record.length_bytes;
            self.sizes[usize::from(write)].add(record.length_bytes);
            let row = Row {
                device: record.device,
                first,
                pages: last - first + 1,
                write,
                from_inside,
                to_inside,
                arrival_ns: record.time_ns - origin,
                response_ns: record.response_ns,
                chain: record.chain,
                continued: false,
            };
            self.rows.take(&row)?;
        }
        Ok(())
    }

    /// Keeps a trim or flush; its pages are those of its device until devices are placed.
    fn take_control_command(&mut self, record: &Record, origin_ns: u64) {
        let (row, arrival_ns) = (self.rows.taken(), record.time_ns - origin_ns);
        let control_command = if record.op == RecordOp::Trim {
            self.trims += 1;
            ControlCommand::new(ControlKind::Trim, row, arrival_ns, record.device).over(
                record.offset_bytes,
                record.length_bytes,
                self.page_bytes,
            )
        } else {
            self.flushes += 1;
            ControlCommand::new(ControlKind::Flush, row, arrival_ns, record.device)
        };
        self.rows.control_commands.push(control_command);
    }
}
