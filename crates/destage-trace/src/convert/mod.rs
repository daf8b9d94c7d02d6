//! Records into other tools' formats, and into our own export.
//!
//! A target rarely holds all that a record has. What it drops without changing the requests
//! (response times, device names, fractions of its clock's tick) is a note in the summary. What
//! would change the requests (a trim where there is none, a write where all are reads, an address
//! between sectors) is an error, unless the caller agrees with [`ConvertOptions::lossy`]; then it
//! is counted.
//!
//! One file a target, listed once in [`TARGETS`].

mod blktrace;
mod csv;
mod disksim;
mod fio;
mod mqsim;
mod oracle_general;
mod output;
mod parquet;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use destage_keys::Unknown;

use crate::decode::{Hooks, Progress, RecordSource, Stage};
use crate::device_table::DeviceTable;
use crate::error::{Result, TraceError};
use crate::options::TimeUnit;
use crate::record::{NO_RESPONSE, Record};

pub use output::Output;

/// Bytes of a sector in the formats that count in those.
const SECTOR_BYTES: u64 = 512;

/// How records are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertOptions {
    /// What the target cannot hold is left out or widened, and counted, instead of an error.
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

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ConvertSummary {
    /// Name of the target.
    pub format: &'static str,
    /// Requests read.
    pub requests: u64,
    /// Records written.
    pub records: u64,
    /// What `lossy` allowed, each with the number of requests.
    pub losses: BTreeMap<&'static str, u64>,
    /// What the target has no place for, and how it was named instead.
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
    create: fn(Output, &Setting) -> Result<Box<dyn RecordWriter>>,
}

/// Every target, in the order of help and documentation.
pub static TARGETS: &[&Target] = &[
    &mqsim::TARGET,
    &disksim::TARGET,
    &fio::TARGET,
    &blktrace::TARGET,
    &oracle_general::TARGET,
    &csv::TARGET,
    &parquet::TARGET,
];

/// The target of this name.
///
/// # Errors
///
/// `Usage` that names the nearest, or all.
pub fn find(name: &str) -> Result<&'static Target> {
    let found = TARGETS.iter().find(|target| target.name.eq_ignore_ascii_case(name));
    // The readers' name for what fio writes.
    let found =
        found.or_else(|| TARGETS.iter().find(|target| target.name == "fio" && name == "fio-iolog"));
    found.copied().ok_or_else(|| {
        let known = TARGETS.iter().map(|target| target.name).collect();
        let hint = Unknown { name: name.into(), known }.hint();
        let message = format!("{name}: no format that can be written; {hint}");
        TraceError::Usage { message }
    })
}

/// What a writer knows before the first record.
struct Setting<'a> {
    options: &'a ConvertOptions,
    /// Bytes of one page reference, if the source is a list of those.
    page_bytes: Option<u64>,
}

/// What a writer hears with each record.
struct Scene<'a> {
    /// Names behind the records' indices.
    devices: &'a DeviceTable,
    losses: &'a mut Losses,
}

/// What a writer hears after the last record.
struct End<'a> {
    devices: &'a DeviceTable,
    has_times: bool,
    /// Time of the first request on the source's clock, taken off all times.
    origin_ns: u64,
}

/// Writes records one by one.
trait RecordWriter {
    /// Writes one record, whose time counts from the origin; returns how many it became.
    fn write(&mut self, record: &Record, scene: &mut Scene) -> Result<u64>;

    /// Writes what stands at the end, and hands the output back.
    fn finish(self: Box<Self>, end: &End, losses: &mut Losses) -> Result<Output>;
}

/// What a target cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// It has no trims.
    Trim,
    /// It has no flushes.
    Flush,
    /// It knows whole sectors only.
    PartSector,
    /// It has no operations.
    Operation,
}

impl Loss {
    /// What cannot be held.
    fn what(self) -> &'static str {
        match self {
            Loss::Trim => "trims",
            Loss::Flush => "flushes",
            Loss::PartSector => "addresses between sectors",
            Loss::Operation => "operations other than read",
        }
    }

    /// What consent does with it.
    fn remedy(self) -> &'static str {
        match self {
            Loss::Trim | Loss::Flush => "leaves them out and counts them",
            Loss::PartSector => "widens such requests to whole sectors and counts them",
            Loss::Operation => "writes them as accesses without an operation and counts them",
        }
    }
}

/// What was lost so far.
struct Losses {
    allowed: bool,
    format: &'static str,
    /// Number of the current request, from 0.
    request: u64,
    counts: BTreeMap<&'static str, u64>,
    notes: Vec<String>,
}

impl Losses {
    /// Counts a loss, or refuses it.
    fn lose(&mut self, loss: Loss) -> Result<()> {
        if !self.allowed {
            return Err(TraceError::Usage {
                message: format!(
                    "{} cannot hold {}, as in request {}: --lossy {}",
                    self.format,
                    loss.what(),
                    self.request,
                    loss.remedy()
                ),
            });
        }
        *self.counts.entry(loss.what()).or_default() += 1;
        Ok(())
    }

    /// Adds a note, once.
    fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// First sector and number of sectors of an extent.
    fn sectors(&mut self, record: &Record) -> Result<(u64, u64)> {
        let end = record.offset_bytes + record.length_bytes;
        if !record.offset_bytes.is_multiple_of(SECTOR_BYTES) || !end.is_multiple_of(SECTOR_BYTES) {
            self.lose(Loss::PartSector)?;
        }
        let first = record.offset_bytes / SECTOR_BYTES;
        Ok((first, end.div_ceil(SECTOR_BYTES) - first))
    }
}

/// Writes all records of `source` to `destination` (`-` is standard output) in the format `target`.
///
/// The file gets its name when it is whole; an error or an interrupt leaves an older one as it was.
///
/// # Errors
///
/// Those of `source`; `Usage` for what the target cannot hold, no request at all, or an option that
/// makes no sense; `Write`; `Interrupted`.
pub fn convert(
    source: &mut dyn RecordSource,
    target: &'static Target,
    destination: &Path,
    options: &ConvertOptions,
    hooks: &mut dyn Hooks,
) -> Result<ConvertSummary> {
    let output = Output::create(destination)?;
    let mut writer =
        (target.create)(output, &Setting { options, page_bytes: source.page_bytes() })?;
    let mut losses = Losses {
        allowed: options.lossy,
        format: target.name,
        request: 0,
        counts: BTreeMap::new(),
        notes: Vec::new(),
    };
    let (mut batch, mut records, mut responses) = (Vec::new(), 0, false);
    let mut origin_ns = None;
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch)?;
        for record in &batch {
            let origin_ns =
                *origin_ns.get_or_insert(if options.absolute_time { 0 } else { record.time_ns });
            let time_ns = record.time_ns.saturating_sub(origin_ns);
            responses |= record.response_ns != NO_RESPONSE;
            let mut scene = Scene { devices: source.devices(), losses: &mut losses };
            records += writer.write(&Record { time_ns, ..*record }, &mut scene)?;
            losses.request += 1;
        }
        if hooks.interrupted() {
            return Err(TraceError::Interrupted);
        }
        let (done, total) = source.position();
        hooks.progress(Progress { stage: Stage::Reading, done, total });
        if !more {
            break;
        }
    }
    let origin_ns = origin_ns.unwrap_or(0);
    let end = End { devices: source.devices(), has_times: source.has_times(), origin_ns };
    if responses && !matches!(target.name, "csv" | "parquet") {
        losses.note(format!("{} has no response times: left out", target.name));
    }
    writer.finish(&end, &mut losses)?.finish()?;
    Ok(ConvertSummary {
        format: target.name,
        requests: losses.request,
        records,
        losses: losses.counts,
        notes: losses.notes,
    })
}

/// A writer of lines, which only formats them.
struct Lines {
    output: Output,
}

impl Lines {
    /// Writes one line, its end included in `text`.
    fn put(&mut self, text: std::fmt::Arguments) -> Result<()> {
        self.output.write_fmt(text).map_err(|source| self.output.failed(source))
    }
}

/// Device numbers for formats without names: a name that is a number keeps it, every other one gets
/// the lowest that is free when it is met.
#[derive(Default)]
struct DeviceNumbers {
    given: Vec<Option<u64>>,
    used: std::collections::BTreeSet<u64>,
}

impl DeviceNumbers {
    /// Number of the record's device.
    fn number(&mut self, device: u32, scene: &mut Scene) -> u64 {
        let index = device as usize;
        if self.given.len() <= index {
            self.given.resize(index + 1, None);
        }
        if let Some(number) = self.given[index] {
            return number;
        }
        let name = scene.devices.name(device);
        let own = name
            .parse::<u64>()
            .ok()
            .filter(|&n| n <= u64::from(u32::MAX) && !self.used.contains(&n));
        let number = own.unwrap_or_else(|| (0..).find(|n| !self.used.contains(n)).unwrap_or(0));
        if own.is_none() {
            scene.losses.note(format!("device {name} is number {number}"));
        }
        self.used.insert(number);
        self.given[index] = Some(number);
        number
    }
}

#[cfg(test)]
mod tests;
