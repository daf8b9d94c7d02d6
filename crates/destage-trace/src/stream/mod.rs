//! All files of a run as one stream of records: in one order, with the devices, the time slice and
//! the operations selected, and with everything counted that a result reports.
//!
//! ```text
//!  open_files  one reader per file and member, with its format
//!  sorting     one file's records in order of time
//!  (here)      the merge of the files, the devices that are kept
//!  shape       ticks spread out, the slice
//!  resample    another trace of the same workload
//!  summary     the counts of a reading
//!  doubts      numbers that a workload can hardly have
//!  missing     errors of a run without requests
//! ```
//!
//! Offsets stay relative to their device, and times stay on the formats' clocks (unless
//! `time_origin = "file"` or `concat`): the decoder stacks devices and subtracts the smallest time.

pub(crate) mod doubts;
mod missing;
mod open_files;
mod resample;
mod shape;
pub(crate) mod sorting;
pub mod summary;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use doubts::{About, Doubt, Reading, STEPS_KEPT};
use missing::{no_such_device, nothing};
use open_files::{known_format, open_files};
use resample::Resampler;
use shape::{Slice, Spreader};

use crate::error::{Location, Result, TraceError};
use crate::format::{BATCH_RECORDS, Facts, Format, Tally};
use crate::hooks::ReadControls;
use crate::options::{Event, ReaderOptions, TimeOrigin, is_major_minor};
use crate::record::{DeviceTable, Record};
use crate::stream::sorting::{SharedState, SortReach, SortedFile};
use crate::stream::summary::{FileSummary, Summary};

/// Window that is tried first: it stays in the cache, and most traces need no larger one.
const SMALL_WINDOW: usize = 8192;

/// Formats of the block layer, and their event of a request that is issued again later.
const REQUEUES: [(&str, &str); 3] =
    [("blkparse", "R"), ("blktrace", "R requeue"), ("tracefs", "block_rq_requeue")];

/// Records of all files in one order.
pub struct Stream {
    options: Arc<ReaderOptions>,
    controls: ReadControls,
    shared: SharedState,
    files: Vec<SortedFile>,
    /// Files with records ready, by the time of the first: the merge.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// Files that have not begun: all at first, and with `concat` those whose turn has not come.
    waiting: VecDeque<usize>,
    /// Time subtracted from and added to a file's times.
    shifts: Vec<Option<(u64, u64)>>,
    concat_at_ns: u64,
    /// The selected devices, by their names; and for every device met, its index in the output.
    selected: DeviceTable,
    indices: Vec<Option<u32>>,
    /// `spread = "uniform"`.
    spreader: Option<Spreader>,
    slice: Slice,
    /// `resample`, once the trace is read.
    resampler: Option<Resampler>,
    ended: bool,
    summary: Summary,
}

/// Runs `work` over a stream of records. Where a record steps back further than the window in use,
/// the whole of `work` runs again over a stream with a larger one, and at last over an external
/// sort: so `work` must start with fresh state each time.
///
/// # Errors
///
/// Errors of [`Stream`] and of `work`.
pub fn with_stream<T>(
    paths: &[PathBuf],
    options: &ReaderOptions,
    controls: ReadControls,
    mut work: impl FnMut(&mut Stream) -> Result<T>,
) -> Result<T> {
    let window = options.sort_window_records.max(1);
    let once = reads_once(paths);
    let first = if once { window } else { SMALL_WINDOW.min(window) };
    for reach in [SortReach::Window(first), SortReach::Window(window), SortReach::ANYWHERE] {
        if let Some(meter) = &controls.meter {
            meter.reset();
        }
        let result = Stream::open_reach(paths, options, controls.clone(), reach)
            .and_then(|mut stream| work(&mut stream));
        match result {
            Err(TraceError::BeyondWindow) if !once => {}
            Err(TraceError::BeyondWindow) => break,
            other => return other,
        }
    }
    Err(TraceError::data(
        "-",
        Location::File,
        format!(
            "a record steps back by more than {window} records, and standard input cannot be read \
             again"
        ),
    )
    .with_hint("write it to a file, or keep the stored order with --order file"))
}

/// Whether a path can be read only once: standard input, a pipe.
fn reads_once(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| {
        path.as_os_str() == "-"
            || std::fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir())
    })
}

impl Stream {
    /// Opens files for [`Stream::next_batch`]; sorts within the whole window.
    ///
    /// # Errors
    ///
    /// A file is missing or unreadable, its format cannot be detected, an option does not fit.
    pub fn open(paths: &[PathBuf], options: &ReaderOptions) -> Result<Stream> {
        Stream::open_with(paths, options, ReadControls::default())
    }

    /// [`Stream::open`], with shared flags and counters.
    pub fn open_with(
        paths: &[PathBuf],
        options: &ReaderOptions,
        controls: ReadControls,
    ) -> Result<Stream> {
        let window = options.sort_window_records.max(1);
        Stream::open_reach(paths, options, controls, SortReach::Window(window))
    }

    fn open_reach(
        paths: &[PathBuf],
        options: &ReaderOptions,
        controls: ReadControls,
        reach: SortReach,
    ) -> Result<Stream> {
        let usage = |message: &str| Err(TraceError::usage(message.to_owned()));
        if paths.is_empty() {
            return usage("no trace given");
        }
        if options.concat && options.time_origin == TimeOrigin::Absolute {
            return usage(
                "concat: files placed one after another have no absolute times; use time_origin = \
                 \"file\"",
            );
        }
        let is_default = options.defaults.iter().any(|key| key == "resample_block");
        if options.resample_block.is_some() && options.resample.is_none() && !is_default {
            return usage("resample_block (--resample-block): add resample (--resample SEED)");
        }
        let given = options.format.as_deref().map(known_format).transpose()?;
        let options = Arc::new(options.clone());
        let mut summary = Summary::default();
        let files = open_files(paths, &options, given, &controls, &mut summary)?;
        let coarse_ns = files.iter().filter_map(|l| l.format.coarse_ns).max();
        let mut tally = Tally::new(&options);
        let spreader = Spreader::new(&options, coarse_ns).unwrap_or_else(|warning| {
            tally.warn(warning);
            None
        });
        if matches!(reach, SortReach::Anywhere(_)) {
            let window = options.sort_window_records;
            tally.note(format!(
                "records step back by more than {window} places: sorted in temporary files"
            ));
            summary.sorted_externally = true;
        }
        summary.coarse_clock_ns = coarse_ns;
        let shared = SharedState {
            devices: DeviceTable::new(),
            tally,
            stepped_back: 0,
            largest_step_ns: 0,
            steps_ns: [0; STEPS_KEPT],
            order: options.order,
            reach,
            interrupt: controls.interrupt.clone(),
        };
        Ok(Stream {
            selected: selected_devices(&options, &files),
            slice: Slice::new(&options),
            resampler: options.resample.map(|seed| Resampler::new(seed, options.resample_block)),
            options,
            controls,
            shared,
            heads: BinaryHeap::new(),
            waiting: (0..files.len()).collect(),
            shifts: vec![None; files.len()],
            files,
            concat_at_ns: 0,
            indices: Vec::new(),
            spreader,
            ended: false,
            summary,
        })
    }

    /// The devices, by `Record::device`. Whole after the end; with `device` only those selected.
    pub fn devices(&self) -> &DeviceTable {
        if self.options.volume.is_empty() { &self.shared.devices } else { &self.selected }
    }

    /// Bytes read of all files, as they lie on disk, and of how many; needs
    /// [`ReadControls::meter`].
    pub fn position(&self) -> (u64, Option<u64>) {
        let Some(meter) = &self.controls.meter else { return (0, None) };
        let total = meter.total_bytes.load(Ordering::Relaxed);
        (meter.done_bytes.load(Ordering::Relaxed), Some(total).filter(|total| *total > 0))
    }

    /// The format of each file and why.
    pub fn formats(&self) -> Vec<(&str, &'static Format, Option<&str>)> {
        self.files.iter().map(|l| (l.name.as_str(), l.format, l.reason.as_deref())).collect()
    }

    /// Fills `out` with the next records, some thousands of them; `false`, and nothing in `out`, at
    /// the end.
    ///
    /// # Errors
    ///
    /// Unreadable input, malformed records as `on_error` says, no request at all, a device that
    /// is not there, [`TraceError::Interrupted`], [`TraceError::BeyondWindow`].
    pub fn next_batch(&mut self, out: &mut Vec<Record>) -> Result<bool> {
        let Some(mut resampler) = self.resampler.take() else { return self.next_read(out) };
        if !self.ended {
            while self.next_read(out)? {
                resampler.take(out);
            }
            resampler.close();
        }
        out.clear();
        let more = resampler.next(out);
        self.resampler = Some(resampler);
        Ok(more)
    }

    /// [`Stream::next_batch`] of the trace as it is.
    fn next_read(&mut self, out: &mut Vec<Record>) -> Result<bool> {
        out.clear();
        while out.is_empty() {
            if self.ended {
                return Ok(false);
            }
            self.shared.check_interrupt()?;
            let more = !self.slice.closed && self.merge(out)?;
            self.shared.check_interrupt()?;
            self.check_devices()?;
            self.select(out);
            if let Some(spreader) = &mut self.spreader {
                spreader.apply(out, more);
            }
            self.slice.apply(out);
            self.summary.add(out);
            if let Some(meter) = &self.controls.meter {
                meter.records.store(self.summary.requests, Ordering::Relaxed);
            }
            if !more && out.is_empty() {
                self.ended = true;
                self.finish()?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Summary so far; whole after the end.
    pub fn summary(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.filtered_out = self.slice.filtered_out;
        let tally = &self.shared.tally;
        summary.files = self
            .files
            .iter()
            .map(|file| FileSummary {
                name: file.name.clone(),
                format: file.format.name.to_owned(),
                reason: file.reason.clone(),
                records: file.records,
            })
            .collect();
        summary.devices = match self.options.volume.is_empty() {
            true => self.shared.devices.len() as u64,
            false => self.selected.len() as u64,
        };
        summary.stepped_back = self.shared.stepped_back;
        summary.largest_step_ns = self.shared.largest_step_ns;
        let facts: Vec<_> = self.files.iter().map(|l| (l.format, l.facts())).collect();
        summary.has_times = facts.iter().all(|(format, f)| f.has_times.unwrap_or(format.has_times));
        summary.has_ops = facts.iter().all(|(format, f)| f.has_ops.unwrap_or(format.has_ops));
        summary.page_bytes = facts.iter().find_map(|(_, f)| f.page_bytes);
        summary.take_tally(tally);
        if self.ended {
            summary.warnings.extend(self.requeues(&summary));
            summary.evidence.steps_ns = self.shared.steps_ns;
            summary.evidence.records = summary.files.iter().map(|file| file.records).sum();
            let doubts = self.doubts(&summary);
            let is_exact = self.files.iter().all(|f| f.format.exact || f.facts().exact);
            summary.take_doubts(doubts, is_exact);
        }
        summary
    }

    /// A request that the device refused at first was issued twice. Its second issue comes after
    /// the first was handed on, so both stay. Of a part of the trace the number is an upper bound.
    fn requeues(&self, summary: &Summary) -> Option<String> {
        if self.options.event != Event::D {
            return None;
        }
        let events = REQUEUES
            .iter()
            .filter(|(format, _)| self.files.iter().any(|file| file.format.name == *format));
        let ignored = &summary.ignored_events;
        let count: u64 = events.filter_map(|(_, event)| ignored.get(*event)).sum();
        let whole = self.options.volume.is_empty() && summary.filtered_out == 0;
        let up_to = if whole { "" } else { "up to " };
        match count {
            0 => None,
            1 => Some(format!(
                "{up_to}1 request was requeued (R) and counts twice: --event C counts it once"
            )),
            _ => Some(format!(
                "{up_to}{count} requests were requeued (R) and count twice: --event C counts each \
                 once"
            )),
        }
    }

    /// Doubts about the reading; of several formats, as of the first.
    fn doubts(&self, summary: &Summary) -> Vec<Doubt> {
        let Some(file) = self.files.first() else { return Vec::new() };
        let alike = self.files.iter().all(|other| other.format.name == file.format.name);
        let facts = Facts { exact: file.facts().exact || !alike, ..file.facts() };
        doubts::doubts(&Reading { summary, format: file.format, facts, options: &self.options })
    }

    /// A format that was detected, and whose numbers can hardly be: is it another one?
    fn question(&self) -> Result<()> {
        let Some(file) = self.files.iter().find(|file| file.reason.is_some()) else {
            return Ok(());
        };
        let doubts = self.summary().doubts;
        let open: Vec<&Doubt> = doubts.iter().filter(|d| d.about != About::Order).collect();
        if open.is_empty() {
            return Ok(());
        }
        let causes: Vec<&str> = open.iter().map(|doubt| doubt.cause.as_str()).collect();
        let mut remedies: Vec<&str> = open.iter().map(|doubt| doubt.remedy.as_str()).collect();
        remedies.dedup();
        let name = file.format.name;
        Err(TraceError::data(
            &file.name,
            Location::File,
            format!("detected as {name}, but {}", causes.join("; and ")),
        )
        .with_hint(format!(
            "if so: {}\n  if {name} is right: --format {name}",
            remedies.join("\n      or: ")
        )))
    }

    /// Brings the next records of the merge into `out`; `false` when all files are empty.
    fn merge(&mut self, out: &mut Vec<Record>) -> Result<bool> {
        self.start_files()?;
        let Some(Reverse((_, file))) = self.heads.pop() else { return Ok(false) };
        // Everything of this file that comes before the next file's first record; equal times keep
        // the order of the files.
        let next = self.heads.peek().map(|&Reverse(head)| head);
        let (take_off, add) = self.shifts[file].unwrap_or((0, 0));
        match next {
            None => self.files[file].take_all(out),
            Some((time, other)) => {
                let bound = time.saturating_sub(add).saturating_add(take_off);
                let before = |r: &Record| r.time_ns < bound || (r.time_ns == bound && file < other);
                let at_hand = self.files[file].at_hand();
                let count =
                    at_hand.iter().take(BATCH_RECORDS).take_while(|r| before(r)).count().max(1);
                out.extend_from_slice(&at_hand[..count]);
                self.files[file].take(count);
            }
        }
        if take_off > 0 || add > 0 {
            for record in out.iter_mut() {
                record.time_ns = (record.time_ns - take_off).saturating_add(add);
            }
        }
        if self.options.concat {
            self.concat_at_ns = out.last().map_or(self.concat_at_ns, |r| r.time_ns);
        }
        if self.files[file].peek().is_some() || self.files[file].refill(&mut self.shared)? {
            self.push_head(file);
        }
        Ok(true)
    }

    /// Lets files begin: all of them, or with `concat` the next one when there is none.
    fn start_files(&mut self) -> Result<()> {
        while !self.waiting.is_empty() && (!self.options.concat || self.heads.is_empty()) {
            let Some(file) = self.waiting.pop_front() else { return Ok(()) };
            if !self.files[file].refill(&mut self.shared)? {
                continue;
            }
            let first = self.files[file].peek().map_or(0, |r| r.time_ns);
            if self.options.concat {
                self.shifts[file] = Some((first, self.concat_at_ns));
            } else if self.options.time_origin == TimeOrigin::File {
                self.shifts[file] = Some((first, 0));
            }
            self.push_head(file);
        }
        Ok(())
    }

    fn push_head(&mut self, file: usize) {
        let (take_off, add) = self.shifts[file].unwrap_or((0, 0));
        if let Some(record) = self.files[file].peek() {
            self.heads.push(Reverse(((record.time_ns - take_off).saturating_add(add), file)));
        }
    }

    /// A block-layer trace holds a volume and the disk beneath it: several devices must be meant.
    fn check_devices(&self) -> Result<()> {
        let devices = &self.shared.devices;
        if devices.len() < 2 || !self.options.volume.is_empty() || self.options.volumes.is_some() {
            return Ok(());
        }
        if !self.files.iter().any(|l| l.format.layered) {
            return Ok(());
        }
        Err(TraceError::usage(format!(
            "the trace holds requests of several block devices ({}), perhaps of a volume and \
                 of the disk beneath \
                 it: choose with --volume, or take all with --volumes stack",
            devices.names().join(", ")
        )))
    }

    /// Keeps the selected devices, under their new indices.
    fn select(&mut self, out: &mut Vec<Record>) {
        if self.options.volume.is_empty() {
            return;
        }
        for raw in self.indices.len()..self.shared.devices.len() {
            self.indices.push(self.selected.find(self.shared.devices.bytes(raw as u32)));
        }
        out.retain_mut(|record| match self.indices[record.device as usize] {
            Some(index) => {
                record.device = index;
                true
            }
            None => false,
        });
    }

    /// The end: was there anything, and was everything there that was asked for?
    fn finish(&mut self) -> Result<()> {
        self.shared.tally.finish()?;
        if !self.slice.closed {
            for (index, name) in (0..).zip(self.selected.names()) {
                if self.shared.devices.find(self.selected.bytes(index)).is_none() {
                    return Err(no_such_device(&name, &self.shared.devices));
                }
            }
        }
        if self.summary.requests == 0 {
            return Err(nothing(&self.files, &self.shared.tally, &self.slice, &self.options));
        }
        self.question()
    }
}

/// The devices that the user named, by their names.
fn selected_devices(options: &ReaderOptions, files: &[SortedFile]) -> DeviceTable {
    let mut selected = DeviceTable::new();
    let blocks = files.iter().any(|file| file.format.layered);
    for name in options.volume.iter().flat_map(|name| device_names(name, blocks)) {
        selected.index(name.as_bytes());
    }
    selected
}

/// `8,16`, as blkparse prints it, is the block device `8:16`, and two numbered devices elsewhere.
fn device_names(name: &str, blocks: bool) -> Vec<String> {
    match name.split_once(',') {
        Some((major, minor)) if is_major_minor(name) => match blocks {
            true => vec![format!("{major}:{minor}")],
            false => vec![major.to_owned(), minor.to_owned()],
        },
        _ => vec![name.to_owned()],
    }
}
