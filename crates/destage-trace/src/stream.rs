//! All files of a run as one stream of records: in one order, with the devices, the time slice and the
//! operations that were asked for, and with everything counted that a result must own up to.
//!
//! Offsets stay relative to their device, and times stay on the formats' clocks (unless `time_origin =
//! "file"` or `concat`): the decoder stacks devices and subtracts the smallest time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use destage_keys::{Unknown, nearest_alone};

use crate::detect;
use crate::device_table::DeviceTable;
use crate::error::{Place, Result, TraceError};
use crate::format::{BATCH_RECORDS, Format, Opening};
use crate::formats;
use crate::options::{ReaderOptions, Spread, TimeOrigin, is_major_minor};
use crate::record::{Record, RecordOp};
use crate::sample::Sample;
use crate::sorting::{Lane, Reach, Shared};
use crate::source::{self, Leaf};
use crate::summary::{FileSummary, Summary};
use crate::tally::Tally;

pub use crate::source::Progress;

/// Window that is tried first: it stays in the cache, and most traces need no larger one.
const SMALL_WINDOW: usize = 8192;

/// How the outside takes part in a long reading.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Set by someone else to stop; the next batch is then [`TraceError::Interrupted`].
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Counted up while reading.
    pub progress: Option<Arc<Progress>>,
}

/// Records of all files in one order.
pub struct Stream {
    options: Arc<ReaderOptions>,
    hooks: Hooks,
    shared: Shared,
    lanes: Vec<Lane>,
    /// Lanes with records at hand, by the time of the first: the merge.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lanes that have not begun: all at first, and with `concat` those whose turn has not come.
    waiting: VecDeque<usize>,
    /// What is subtracted from and added to a lane's times.
    shifts: Vec<Option<(u64, u64)>>,
    concat_at_ns: u64,
    /// The devices asked for, by their names; and for every device met, its index in the output.
    selected: DeviceTable,
    indices: Vec<Option<u32>>,
    /// Records of the current tick, held until it is whole (`spread = "uniform"`).
    tick: Vec<Record>,
    spread_ns: Option<u64>,
    first_ns: Option<u64>,
    /// The slice is over.
    closed: bool,
    ended: bool,
    summary: Summary,
}

/// Runs `work` over a stream of records. Where a record steps back further than the window in use, the
/// whole of `work` runs again over a stream with a larger one, and at last over an external sort: so
/// `work` must make its state anew each time.
///
/// Errors: those of [`Stream`] and of `work`.
pub fn with_stream<T>(
    paths: &[PathBuf],
    options: &ReaderOptions,
    hooks: Hooks,
    mut work: impl FnMut(&mut Stream) -> Result<T>,
) -> Result<T> {
    let window = options.sort_window_records.max(1);
    let once = reads_once(paths);
    let first = if once { window } else { SMALL_WINDOW.min(window) };
    for reach in [Reach::Window(first), Reach::Window(window), Reach::ANYWHERE] {
        if let Some(progress) = &hooks.progress {
            progress.done_bytes.store(0, Ordering::Relaxed);
            progress.total_bytes.store(0, Ordering::Relaxed);
            progress.records.store(0, Ordering::Relaxed);
        }
        let result =
            Stream::open_reach(paths, options, hooks.clone(), reach).and_then(|mut s| work(&mut s));
        match result {
            Err(TraceError::BeyondWindow) if !once => {}
            Err(TraceError::BeyondWindow) => break,
            other => return other,
        }
    }
    Err(TraceError::Data {
        file: "-".to_owned(),
        place: Place::File,
        message: format!(
            "a record steps back by more than {window} records, and standard input cannot be read again"
        ),
        hint: Some("write it to a file, or keep the stored order with --order file".to_owned()),
    })
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
    /// Errors: a file is missing or unreadable, its format cannot be told, an option does not fit.
    pub fn open(paths: &[PathBuf], options: &ReaderOptions) -> Result<Stream> {
        Stream::open_with(paths, options, Hooks::default())
    }

    /// [`Stream::open`] with hooks.
    pub fn open_with(paths: &[PathBuf], options: &ReaderOptions, hooks: Hooks) -> Result<Stream> {
        let window = options.sort_window_records.max(1);
        Stream::open_reach(paths, options, hooks, Reach::Window(window))
    }

    fn open_reach(
        paths: &[PathBuf],
        options: &ReaderOptions,
        hooks: Hooks,
        reach: Reach,
    ) -> Result<Stream> {
        let usage = |message: &str| Err(TraceError::Usage { message: message.to_owned() });
        if paths.is_empty() {
            return usage("no trace given");
        }
        if options.concat && options.time_origin == TimeOrigin::Absolute {
            return usage(
                "concat: files placed one after another have no absolute times; use time_origin = \"file\"",
            );
        }
        let given = match &options.format {
            Some(name) => Some(known_format(name)?),
            None => None,
        };
        let options = Arc::new(options.clone());
        let mut summary = Summary::default();
        let lanes = open_lanes(paths, &options, given, &hooks, &mut summary)?;
        let coarse_ns = lanes.iter().filter_map(|l| l.format.coarse_ns).max();
        let mut tally = Tally::new(&options);
        let spread_ns = match (options.spread, coarse_ns) {
            (Some(Spread::Uniform), Some(tick)) => Some(tick),
            (Some(Spread::Uniform), None) => {
                tally.warn("spread = \"uniform\" has no effect: the clock is not coarse");
                None
            }
            _ => None,
        };
        if matches!(reach, Reach::Anywhere(_)) {
            let window = options.sort_window_records;
            tally.note(format!(
                "records step back by more than {window} places: sorted in temporary files"
            ));
            summary.sorted_externally = true;
        }
        summary.coarse_clock_ns = coarse_ns;
        let mut selected = DeviceTable::new();
        let blocks = lanes.iter().any(|lane| named_by_numbers(lane.format));
        let names: Vec<String> =
            options.device.iter().flat_map(|name| device_names(name, blocks)).collect();
        for name in &names {
            selected.index(name.as_bytes());
        }
        Ok(Stream {
            shared: Shared {
                devices: DeviceTable::new(),
                tally,
                stepped_back: 0,
                largest_step_ns: 0,
                order: options.order,
                reach,
                interrupt: hooks.interrupt.clone(),
            },
            options,
            hooks,
            heads: BinaryHeap::new(),
            waiting: (0..lanes.len()).collect(),
            shifts: vec![None; lanes.len()],
            lanes,
            concat_at_ns: 0,
            selected,
            indices: Vec::new(),
            tick: Vec::new(),
            spread_ns,
            first_ns: None,
            closed: false,
            ended: false,
            summary,
        })
    }

    /// The devices, by `Record::device`. Whole after the end; with `device` only those asked for.
    pub fn devices(&self) -> &DeviceTable {
        if self.options.device.is_empty() { &self.shared.devices } else { &self.selected }
    }

    /// Bytes read of all files, as they lie on disk, and of how many; needs [`Hooks::progress`].
    pub fn position(&self) -> (u64, Option<u64>) {
        let Some(progress) = &self.hooks.progress else { return (0, None) };
        let total = progress.total_bytes.load(Ordering::Relaxed);
        (progress.done_bytes.load(Ordering::Relaxed), Some(total).filter(|total| *total > 0))
    }

    /// The format of each file and why.
    pub fn formats(&self) -> Vec<(&str, &'static Format, Option<&str>)> {
        self.lanes.iter().map(|l| (l.name.as_str(), l.format, l.reason.as_deref())).collect()
    }

    /// Fills `out` with the next records, some thousands of them; `false`, and nothing in `out`, at
    /// the end.
    ///
    /// Errors: what cannot be read, malformed records as `on_error` says, no request at all, a device
    /// that is not there, [`TraceError::Interrupted`], [`TraceError::BeyondWindow`].
    pub fn next_batch(&mut self, out: &mut Vec<Record>) -> Result<bool> {
        out.clear();
        while out.is_empty() {
            if self.ended {
                return Ok(false);
            }
            self.shared.check_interrupt()?;
            let more = !self.closed && self.merge(out)?;
            self.shared.check_interrupt()?;
            self.check_devices()?;
            self.select(out);
            self.spread(out, more);
            self.slice(out);
            self.count(out);
            if let Some(progress) = &self.hooks.progress {
                progress.records.store(self.summary.requests, Ordering::Relaxed);
            }
            if !more && out.is_empty() {
                self.ended = true;
                self.finish()?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was read and counted; whole after the end.
    pub fn summary(&self) -> Summary {
        let mut summary = self.summary.clone();
        let tally = &self.shared.tally;
        summary.files = self
            .lanes
            .iter()
            .map(|lane| FileSummary {
                name: lane.name.clone(),
                format: lane.format.name.to_owned(),
                reason: lane.reason.clone(),
                records: lane.records,
            })
            .collect();
        summary.devices = match self.options.device.is_empty() {
            true => self.shared.devices.len() as u64,
            false => self.selected.len() as u64,
        };
        summary.stepped_back = self.shared.stepped_back;
        summary.largest_step_ns = self.shared.largest_step_ns;
        let facts: Vec<_> = self.lanes.iter().map(|l| (l.format, l.facts())).collect();
        summary.has_times = facts.iter().all(|(format, f)| f.has_times.unwrap_or(format.has_times));
        summary.has_ops = facts.iter().all(|(format, f)| f.has_ops.unwrap_or(format.has_ops));
        summary.page_bytes = facts.iter().find_map(|(_, f)| f.page_bytes);
        summary.take_tally(tally);
        if self.ended {
            summary.warn_of_the_implausible();
        }
        summary
    }

    /// Brings the next records of the merge into `out`; `false` when all lanes are empty.
    fn merge(&mut self, out: &mut Vec<Record>) -> Result<bool> {
        self.start_lanes()?;
        let Some(Reverse((_, lane))) = self.heads.pop() else { return Ok(false) };
        // Everything of this lane that comes before the next lane's first record; equal times keep the
        // order of the files.
        let next = self.heads.peek().map(|&Reverse(head)| head);
        let (take_off, add) = self.shifts[lane].unwrap_or((0, 0));
        match next {
            None => self.lanes[lane].take_all(out),
            Some((time, other)) => {
                let bound = time.saturating_sub(add).saturating_add(take_off);
                let before = |r: &Record| r.time_ns < bound || (r.time_ns == bound && lane < other);
                let at_hand = self.lanes[lane].at_hand();
                let count =
                    at_hand.iter().take(BATCH_RECORDS).take_while(|r| before(r)).count().max(1);
                out.extend_from_slice(&at_hand[..count]);
                self.lanes[lane].take(count);
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
        if self.lanes[lane].peek().is_some() || self.lanes[lane].refill(&mut self.shared)? {
            self.push_head(lane);
        }
        Ok(true)
    }

    /// Lets lanes begin: all of them, or with `concat` the next one when there is none.
    fn start_lanes(&mut self) -> Result<()> {
        while !self.waiting.is_empty() && (!self.options.concat || self.heads.is_empty()) {
            let Some(lane) = self.waiting.pop_front() else { return Ok(()) };
            if !self.lanes[lane].refill(&mut self.shared)? {
                continue;
            }
            let first = self.lanes[lane].peek().map_or(0, |r| r.time_ns);
            if self.options.concat {
                self.shifts[lane] = Some((first, self.concat_at_ns));
            } else if self.options.time_origin == TimeOrigin::File {
                self.shifts[lane] = Some((first, 0));
            }
            self.push_head(lane);
        }
        Ok(())
    }

    fn push_head(&mut self, lane: usize) {
        let (take_off, add) = self.shifts[lane].unwrap_or((0, 0));
        if let Some(record) = self.lanes[lane].peek() {
            self.heads.push(Reverse(((record.time_ns - take_off).saturating_add(add), lane)));
        }
    }

    /// A block-layer trace holds a volume and the disk beneath it: several devices must be meant.
    fn check_devices(&self) -> Result<()> {
        let devices = &self.shared.devices;
        if devices.len() < 2 || !self.options.device.is_empty() || self.options.devices.is_some() {
            return Ok(());
        }
        if !self.lanes.iter().any(|l| named_by_numbers(l.format)) {
            return Ok(());
        }
        Err(TraceError::Usage {
            message: format!(
                "the trace holds requests of several block devices ({}), perhaps of a volume and of the disk beneath \
                 it: choose with --volume, or take all with --volumes stack",
                devices.names().join(", ")
            ),
        })
    }

    /// Keeps the devices asked for, under their new indices.
    fn select(&mut self, out: &mut Vec<Record>) {
        if self.options.device.is_empty() {
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

    /// Spaces the requests of each tick of a coarse clock evenly; the last tick waits for the rest of it.
    fn spread(&mut self, out: &mut Vec<Record>, more: bool) {
        let Some(tick_ns) = self.spread_ns else { return };
        self.tick.append(out);
        let open = match self.tick.last() {
            Some(last) if more => self.tick.partition_point(|r| r.time_ns < last.time_ns),
            _ => self.tick.len(),
        };
        out.extend(self.tick.drain(..open));
        for group in out.chunk_by_mut(|a, b| a.time_ns == b.time_ns) {
            let count = group.len() as u128;
            for (i, record) in group.iter_mut().enumerate() {
                record.time_ns += (u128::from(tick_ns) * i as u128 / count) as u64;
            }
        }
    }

    /// Applies `from`, `for`, `ops`, `offset_from`, `offset_to` and `requests`.
    fn slice(&mut self, out: &mut Vec<Record>) {
        let Some(first) = out.first() else { return };
        let first_ns = *self.first_ns.get_or_insert(first.time_ns);
        let options = Arc::clone(&self.options);
        let before = out.len();
        if options.from_ns.is_some() || options.for_ns.is_some() {
            let from = first_ns.saturating_add(options.from_ns.unwrap_or(0));
            let to = options.for_ns.map_or(u64::MAX, |length| from.saturating_add(length));
            self.closed |= out.last().is_some_and(|r| r.time_ns >= to) && options.for_ns.is_some();
            out.retain(|r| r.time_ns >= from && (r.time_ns < to || options.for_ns.is_none()));
        }
        if !options.ops.is_empty() {
            out.retain(|r| options.ops.contains(&r.op));
        }
        if options.offset_from.is_some() || options.offset_to.is_some() {
            let (from, to) =
                (options.offset_from.unwrap_or(0), options.offset_to.unwrap_or(u64::MAX));
            out.retain(|r| {
                r.op == RecordOp::Flush
                    || r.offset_bytes < to && r.offset_bytes + r.length_bytes > from
            });
        }
        self.summary.filtered_out += (before - out.len()) as u64;
        if let Some(requests) = options.requests {
            let left = requests - self.summary.requests;
            if out.len() as u64 >= left {
                out.truncate(left as usize);
                self.closed = true;
            }
        }
    }

    fn count(&mut self, out: &[Record]) {
        self.summary.add(out);
    }

    /// The end: was there anything, and was everything there that was asked for?
    fn finish(&mut self) -> Result<()> {
        self.shared.tally.finish()?;
        if !self.closed {
            for (index, name) in (0..).zip(self.selected.names()) {
                if self.shared.devices.find(self.selected.bytes(index)).is_none() {
                    return Err(self.no_such_device(&name));
                }
            }
        }
        if self.summary.requests == 0 {
            return Err(self.nothing());
        }
        Ok(())
    }

    fn no_such_device(&self, name: &str) -> TraceError {
        let mut names = self.shared.devices.names();
        let near = nearest_alone(name, names.iter().map(String::as_str)).map(str::to_owned);
        let count = names.len();
        names.truncate(20);
        let more = if count > names.len() { ", ..." } else { "" };
        let message = match near {
            Some(near) => format!("device {name}: not in the trace; did you mean {near}?"),
            None => format!(
                "device {name}: not in the trace, whose {count} devices are {}{more}",
                names.join(", ")
            ),
        };
        TraceError::Usage { message }
    }

    fn nothing(&self) -> TraceError {
        let tally = &self.shared.tally;
        let files: Vec<&str> = self.lanes.iter().map(|l| l.name.as_str()).collect();
        let formats: Vec<&str> = self.lanes.iter().map(|l| l.format.name).collect();
        let mut found = Vec::new();
        let mut add = |count: u64, what: &str| {
            if count > 0 {
                found.push(format!("{count} {what}"));
            }
        };
        for (event, count) in &tally.ignored_events {
            add(*count, &format!("ignored events {event}"));
        }
        add(tally.header, "header lines");
        add(tally.comment, "comments");
        add(tally.blank, "blank lines");
        add(tally.zero_length, "of zero length");
        add(tally.error_count(), "malformed");
        add(self.summary.filtered_out, "left out by the options");
        let format = formats.first().copied().unwrap_or("");
        let read: u64 = self.lanes.iter().map(|l| l.records).sum();
        let mut message =
            format!("0 requests in {} lines or records read as {format}", tally.lines);
        if !found.is_empty() {
            message.push_str(&format!(": {}", found.join(", ")));
        }
        let blocks = matches!(format, "blkparse" | "blktrace");
        let hint = match read {
            0 if blocks => Some(format!(
                "the requests are the {} events; --event chooses others",
                self.options.event.letter()
            )),
            0 => None,
            _ => Some("the slice or the filters leave nothing".to_owned()),
        };
        TraceError::Data { file: files.join(", "), place: Place::File, message, hint }
    }
}

/// Formats whose devices are called `major:minor`.
fn named_by_numbers(format: &Format) -> bool {
    matches!(format.name, "blkparse" | "blktrace")
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

fn known_format(name: &str) -> Result<&'static Format> {
    formats::find(name).ok_or_else(|| {
        let known = formats::FORMATS.iter().map(|f| f.name).collect();
        let hint = Unknown { name: name.into(), known }.hint();
        let message = format!("format {name}: no such format; {hint}");
        TraceError::Usage { message }
    })
}

/// Opens every file and member, finds its format, and brings in the files that belong to it.
fn open_lanes(
    paths: &[PathBuf],
    options: &Arc<ReaderOptions>,
    given: Option<&'static Format>,
    hooks: &Hooks,
    summary: &mut Summary,
) -> Result<Vec<Lane>> {
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut lanes = Vec::new();
    let mut total = Some(0u64);
    for path in paths {
        let mut queue: VecDeque<(PathBuf, bool)> = VecDeque::from([(path.clone(), true)]);
        while let Some((path, ask_siblings)) = queue.pop_front() {
            if !ask_siblings && seen.contains(&identity(&path)) {
                continue;
            }
            let listing = source::list(&path, options)?;
            summary.left_out.extend(listing.left_out);
            for leaf in listing.leaves {
                let (opening, reason, input) = open_leaf(&leaf, options, given, hooks)?;
                let siblings =
                    opening.format.siblings.filter(|_| ask_siblings && !options.only_this_file);
                if let (Some(siblings), Some(plain)) = (siblings, input.plain_path()) {
                    // All files of the set in their own order, this one among them, once.
                    if seen.contains(&identity(plain)) {
                        continue;
                    }
                    let set = siblings(plain);
                    if set.len() > 1 {
                        queue.extend(set.into_iter().map(|p| (p, false)));
                        continue;
                    }
                }
                if let Some(plain) = input.plain_path()
                    && opening.format.siblings.is_some()
                {
                    seen.insert(identity(plain));
                }
                total = total.zip(leaf.raw_bytes()).map(|(a, b)| a + b);
                let reader = (opening.format.open)(input, &opening)?;
                lanes.push(Lane::new(leaf.name.clone(), opening.format, reason, reader));
            }
        }
    }
    if let Some(progress) = &hooks.progress {
        progress.total_bytes.store(total.unwrap_or(0), Ordering::Relaxed);
    }
    Ok(lanes)
}

fn identity(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn open_leaf(
    leaf: &Leaf,
    options: &Arc<ReaderOptions>,
    given: Option<&'static Format>,
    hooks: &Hooks,
) -> Result<(Opening, Option<String>, crate::input::Input)> {
    let mut input = leaf.open(options, hooks.progress.as_ref())?;
    let sample = Sample::of(&mut input)?;
    if sample.bytes.is_empty() {
        return Err(TraceError::Data {
            file: leaf.name.clone(),
            place: Place::File,
            message: "0 requests: the file is empty".to_owned(),
            hint: None,
        });
    }
    let (format, reason) = match given {
        Some(format) => (format, None),
        None => {
            let (format, why) = detect::require(&sample)?;
            (format, Some(why))
        }
    };
    let opening = Opening {
        options: Arc::clone(options),
        format,
        detected: reason.is_some(),
        closest: Some(detect::closest),
    };
    Ok((opening, reason, input))
}
