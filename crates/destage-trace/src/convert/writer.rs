//! Parts shared by all written formats: options, losses, lines, device numbers.

use std::collections::BTreeMap;
use std::io::Write;

use super::output::Output;
use crate::error::{Result, TraceError};
use crate::options::TimeUnit;
use crate::record::{DeviceTable, Record};

/// Bytes of a sector in the formats that count in those.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Options of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Parts that the target cannot hold are left out or widened, and counted, instead of an error.
    pub lossy: bool,
    /// Times stay as the source has them; else the first request is at 0.
    pub absolute_time: bool,
    /// Unit of the time column, where the target leaves it open (`mqsim`): ns (the default), us or
    /// ps.
    pub time_unit: Option<TimeUnit>,
    /// Bytes of one object, where requests are cut into those (`oracle-general`). Default: the
    /// trace's own unit, else 4096.
    pub page_bytes: Option<u64>,
    /// Name of the format that the records come from, for our own export.
    pub source_format: Option<String>,
}

/// Summary of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ConvertSummary {
    /// Name of the target.
    pub format: &'static str,
    /// Requests read.
    pub requests: u64,
    /// Records written.
    pub records: u64,
    /// Losses that `lossy` allowed, each with the number of requests.
    pub losses: BTreeMap<&'static str, u64>,
    /// Parts that the target has no place for, and the names used instead.
    pub notes: Vec<String>,
}

/// A format that can be written.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Target {
    /// As in `--to`; the reader of the same name reads it (`fio` is read as `fio-iolog`).
    pub name: &'static str,
    /// One line: what it holds.
    pub about: &'static str,
    /// Usual ending of its files.
    pub extension: &'static str,
    #[serde(skip)]
    pub(super) create: fn(Output, &WriterSetup) -> Result<Box<dyn RecordWriter>>,
}

/// State of a writer before the first record.
pub(super) struct WriterSetup<'a> {
    pub(super) options: &'a ConvertOptions,
    /// Bytes of one page reference, if the source is a list of those.
    pub(super) page_bytes: Option<u64>,
}

/// State of a writer at each record.
pub(super) struct WriteContext<'a> {
    /// Names behind the records' indices.
    pub(super) devices: &'a DeviceTable,
    pub(super) losses: &'a mut Losses,
}

/// State of a writer after the last record.
pub(super) struct TraceEnd<'a> {
    pub(super) devices: &'a DeviceTable,
    pub(super) has_times: bool,
    /// Time of the first request on the source's clock, taken off all times.
    pub(super) origin_ns: u64,
}

/// Writes records one by one.
pub(super) trait RecordWriter {
    /// Writes one record, whose time counts from the origin; returns how many it became.
    fn write(&mut self, record: &Record, context: &mut WriteContext) -> Result<u64>;

    /// Writes what stands at the end, and hands the output back.
    fn finish(self: Box<Self>, end: &TraceEnd, losses: &mut Losses) -> Result<Output>;
}

/// A part of a record that a target cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// Trims.
    Trim,
    /// Flushes.
    Flush,
    /// Addresses between sectors.
    PartSector,
    /// Operations.
    Operation,
}

impl Loss {
    /// The lost part, in words.
    fn what(self) -> &'static str {
        match self {
            Loss::Trim => "trims",
            Loss::Flush => "flushes",
            Loss::PartSector => "addresses between sectors",
            Loss::Operation => "operations other than read",
        }
    }

    /// Effect of `--lossy` on it, in words.
    fn remedy(self) -> &'static str {
        match self {
            Loss::Trim | Loss::Flush => "leaves them out and counts them",
            Loss::PartSector => "widens such requests to whole sectors and counts them",
            Loss::Operation => "writes them as accesses without an operation and counts them",
        }
    }
}

/// Losses so far.
pub(super) struct Losses {
    pub(super) allowed: bool,
    pub(super) format: &'static str,
    /// Number of the current request, from 0.
    pub(super) request: u64,
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) notes: Vec<String>,
}

impl Losses {
    /// Counts a loss, or refuses it.
    pub(super) fn lose(&mut self, loss: Loss) -> Result<()> {
        if !self.allowed {
            return Err(TraceError::usage(format!(
                "{} cannot hold {}, as in request {}: --lossy {}",
                self.format,
                loss.what(),
                self.request,
                loss.remedy()
            )));
        }
        *self.counts.entry(loss.what()).or_default() += 1;
        Ok(())
    }

    /// Adds a note, once.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// First sector and number of sectors of an extent.
    pub(super) fn sectors(&mut self, record: &Record) -> Result<(u64, u64)> {
        let end = record.offset_bytes + record.length_bytes;
        if !record.offset_bytes.is_multiple_of(SECTOR_BYTES) || !end.is_multiple_of(SECTOR_BYTES) {
            self.lose(Loss::PartSector)?;
        }
        let first = record.offset_bytes / SECTOR_BYTES;
        Ok((first, end.div_ceil(SECTOR_BYTES) - first))
    }
}

/// A writer of lines, which only formats them.
pub(super) struct Lines {
    pub(super) output: Output,
}

impl Lines {
    /// Writes one line, its end included in `text`.
    pub(super) fn put(&mut self, text: std::fmt::Arguments) -> Result<()> {
        self.output.write_fmt(text).map_err(|source| self.output.failed(source))
    }
}

/// Device numbers for formats without names: a name that is a number keeps it, every other one gets
/// the lowest that is free when it is met.
#[derive(Default)]
pub(super) struct DeviceNumbers {
    given: Vec<Option<u64>>,
    used: std::collections::BTreeSet<u64>,
}

impl DeviceNumbers {
    /// Number of the record's device.
    pub(super) fn number(&mut self, device: u32, context: &mut WriteContext) -> u64 {
        let own = |name: &str| name.parse().ok().filter(|&n| n <= u64::from(u32::MAX));
        self.assign(device, context, 0, own, |number| format!("number {number}"))
    }

    /// The device's `own` number if it has one that is free, else the lowest free one from `first`
    /// on; `shown` is that number in a note.
    pub(super) fn assign(
        &mut self,
        device: u32,
        context: &mut WriteContext,
        first: u64,
        own: impl Fn(&str) -> Option<u64>,
        shown: impl Fn(u64) -> String,
    ) -> u64 {
        let index = device as usize;
        if self.given.len() <= index {
            self.given.resize(index + 1, None);
        }
        if let Some(number) = self.given[index] {
            return number;
        }
        let name = context.devices.name(device);
        let own = own(&name).filter(|number| !self.used.contains(number));
        let free = || (first..).find(|number| !self.used.contains(number)).unwrap_or(first);
        let number = own.unwrap_or_else(free);
        if own.is_none() {
            context.losses.note(format!("volume {name} is {}", shown(number)));
        }
        self.used.insert(number);
        self.given[index] = Some(number);
        number
    }
}
