//! `oracle-general`: libCacheSim's 24-byte records, one for each page of a request.
//!
//! An object is a page: id its number, size the page's. The record of an access holds the number of
//! the next access to its page, counted from 1 as libCacheSim's own converter does, or -1; so the
//! heads of the records wait in a temporary file until the last one is known. Pages of the i-th
//! device, from 0, are numbered from i x 2^44.

use std::io::{BufReader, BufWriter, Read, Seek, Write};

use rustc_hash::FxHashMap;

use super::output::Output;
use super::writer::{Loss, Losses, RecordWriter, Target, TraceEnd, WriteContext, WriterSetup};
use crate::error::{Result, TraceError};
use crate::record::{Record, RecordOp};

pub(super) static TARGET: Target = Target {
    name: "oracle-general",
    about: "libCacheSim's oracleGeneral: one record a page, times in whole seconds, no operations \
     (--lossy)",
    extension: "oracleGeneral",
    create,
};

/// Page size unless the trace or the user says one, bytes.
const PAGE_BYTES: u64 = 4096;
/// Distance of the devices' page numbers.
const DEVICE_PAGES: u64 = 1 << 44;
/// Next access of the last one.
const NEVER: i64 = -1;

/// Time, id and size of a record.
const HEAD_BYTES: usize = 16;

fn create(output: Output, setup: &WriterSetup) -> Result<Box<dyn RecordWriter>> {
    let page_bytes = setup.options.page_bytes.or(setup.page_bytes).unwrap_or(PAGE_BYTES);
    let Some(size) = u32::try_from(page_bytes).ok().filter(|&size| size > 0) else {
        return Err(TraceError::usage(format!(
            "oracle-general: page_bytes: expected 1 to 2^32 - 1, found {page_bytes}"
        )));
    };
    let heads = tempfile::tempfile()
        .map_err(|source| TraceError::Write { path: std::env::temp_dir(), source })?;
    Ok(Box::new(OracleGeneral {
        output,
        heads: BufWriter::with_capacity(1 << 16, heads),
        next: Vec::new(),
        last: FxHashMap::default(),
        size,
        fractions: false,
        widened: 0,
    }))
}

struct OracleGeneral {
    output: Output,
    /// Time, id and size of each record, which come before its next access.
    heads: BufWriter<std::fs::File>,
    /// Next access of each access, from 1.
    next: Vec<i64>,
    /// Index of the latest access to each page.
    last: FxHashMap<u64, usize>,
    size: u32,
    /// A time was no whole second.
    fractions: bool,
    /// Requests that begin or end within a page.
    widened: u64,
}

impl RecordWriter for OracleGeneral {
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64> {
        match record.op {
            RecordOp::Read => {}
            RecordOp::Write => context.losses.lose(Loss::Operation)?,
            RecordOp::Trim => return context.losses.lose(Loss::Trim).map(|()| 0),
            RecordOp::Flush => return context.losses.lose(Loss::Flush).map(|()| 0),
        }
        let seconds = record.time_ns / 1_000_000_000;
        self.fractions |= !record.time_ns.is_multiple_of(1_000_000_000);
        let Ok(time) = u32::try_from(seconds) else {
            return Err(TraceError::usage(format!(
                "oracle-general: request {}: {seconds} s do not fit 32 bits",
                context.losses.request
            )));
        };
        let page_bytes = u64::from(self.size);
        let first = record.offset_bytes / page_bytes;
        let end = record.offset_bytes + record.length_bytes;
        let last = (end - 1) / page_bytes;
        let is_whole = [record.offset_bytes, end].iter().all(|at| at.is_multiple_of(page_bytes));
        self.widened += u64::from(!is_whole);
        let base =
            u64::from(record.device).checked_mul(DEVICE_PAGES).filter(|_| last < DEVICE_PAGES);
        let Some(base) = base.filter(|base| *base < 1 << 62) else {
            return Err(TraceError::usage(format!(
                "oracle-general: request {}: page {last} of device {} does not fit an object id \
                 of 64 bits",
                context.losses.request,
                context.devices.name(record.device)
            )));
        };
        for page in first..=last {
            let id = base + page;
            let mut head = [0u8; HEAD_BYTES];
            head[0..4].copy_from_slice(&time.to_le_bytes());
            head[4..12].copy_from_slice(&id.to_le_bytes());
            head[12..16].copy_from_slice(&self.size.to_le_bytes());
            self.heads.write_all(&head).map_err(|source| self.output.failed(source))?;
            let index = self.next.len();
            if let Some(before) = self.last.insert(id, index) {
                self.next[before] = index as i64 + 1;
            }
            self.next.push(NEVER);
        }
        Ok(last - first + 1)
    }

    fn finish(self: Box<Self>, end: &TraceEnd, losses: &mut Losses) -> Result<Output> {
        let OracleGeneral { mut output, heads, next, size, fractions, widened, .. } = *self;
        let mut heads = heads.into_inner().map_err(|error| output.failed(error.into_error()))?;
        heads.rewind().map_err(|source| output.failed(source))?;
        let mut heads = BufReader::with_capacity(1 << 16, heads);
        for next in next {
            let mut record = [0u8; HEAD_BYTES + 8];
            heads.read_exact(&mut record[..HEAD_BYTES]).map_err(|source| output.failed(source))?;
            record[HEAD_BYTES..].copy_from_slice(&next.to_le_bytes());
            output.put(&record)?;
        }
        if fractions {
            losses
                .note("oracle-general has whole seconds: what is below was left out of the times");
        }
        if widened > 0 {
            losses.note(format!(
                "an object is a whole page: requests that begin or end within one: {widened}"
            ));
        }
        if u64::from(size) != PAGE_BYTES {
            losses
                .note(format!("an object is a page of {size} bytes: read it with --object opaque"));
        }
        for device in 1..end.devices.len() as u32 {
            let name = end.devices.name(device);
            losses.note(format!("pages of volume {name} are numbered from {device} x 2^44"));
        }
        Ok(output)
    }
}
