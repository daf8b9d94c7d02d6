//! One file's records in order: sorted by time within a bounded window, or by an external sort.
//!
//! Most traces are in order, or nearly so: a record then lies at most a few places from where it
//! belongs, and a window of a bounded number of records sorts a trace of any length. Where a step
//! back reaches beyond the window, [`TraceError::BeyondWindow`] sends the caller back to the start,
//! this time through sorted runs in temporary files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Location, Result, TraceError};
use crate::files::disk::{self, File};
use crate::format::{BATCH_RECORDS, Facts, Format, RecordReader, Tally};
use crate::options::Order;
use crate::record::{ChainMark, DeviceTable, Record, RecordOp};
use crate::stream::doubts::{STEPS_KEPT, keep_step};

/// Records sorted in memory for one run of the external sort: 160 MB.
const RUN_RECORDS: usize = 4 << 20;

/// Bytes of a record in a temporary file.
const RECORD_BYTES: usize = 39;

/// Largest distance of a record from its sorted place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SortReach {
    /// At most this many records.
    Window(usize),
    /// Anywhere: runs of this many records in temporary files.
    Anywhere(usize),
}

impl SortReach {
    /// The external sort.
    pub(crate) const ANYWHERE: SortReach = SortReach::Anywhere(RUN_RECORDS);
}

/// State shared by all files of a run while they are read.
pub(crate) struct SharedState {
    pub(crate) devices: DeviceTable,
    pub(crate) tally: Tally,
    pub(crate) stepped_back: u64,
    pub(crate) largest_step_ns: u64,
    /// The longest steps back, the longest first.
    pub(crate) steps_ns: [u64; STEPS_KEPT],
    pub(crate) order: Order,
    pub(crate) reach: SortReach,
    pub(crate) interrupt: Option<Arc<AtomicBool>>,
}

impl SharedState {
    /// Whether the user asked to stop.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        match &self.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(TraceError::Interrupted),
            _ => Ok(()),
        }
    }
}

/// One file on its way to the merge.
pub(crate) struct SortedFile {
    pub(crate) name: String,
    pub(crate) format: &'static Format,
    /// Why detection chose the format; `None` if it was given.
    pub(crate) reason: Option<String>,
    reader: Option<Box<dyn RecordReader>>,
    facts: Facts,
    /// Records read from the file.
    pub(crate) records: u64,
    /// Records in order, from `at` on.
    ready: Vec<Record>,
    at: usize,
    /// Sorted records that a late one may still come before.
    hold: Vec<Record>,
    previous_ns: u64,
    /// Time of the last record that left.
    last_ns: u64,
    runs: Option<Runs>,
}

impl SortedFile {
    pub(crate) fn new(
        name: String,
        format: &'static Format,
        reason: Option<String>,
        reader: Box<dyn RecordReader>,
    ) -> Self {
        SortedFile {
            name,
            format,
            reason,
            reader: Some(reader),
            facts: Facts::default(),
            records: 0,
            ready: Vec::new(),
            at: 0,
            hold: Vec::new(),
            previous_ns: 0,
            last_ns: 0,
            runs: None,
        }
    }

    /// Facts beyond the format's row; whole after the end.
    pub(crate) fn facts(&self) -> Facts {
        self.reader.as_ref().map_or(self.facts, |r| r.facts())
    }

    /// The next record, if one is ready.
    pub(crate) fn peek(&self) -> Option<&Record> {
        self.ready.get(self.at)
    }

    /// The records that are ready.
    pub(crate) fn at_hand(&self) -> &[Record] {
        &self.ready[self.at..]
    }

    /// Takes `count` of the ready records.
    pub(crate) fn take(&mut self, count: usize) {
        self.at += count;
    }

    /// Takes all ready records into an empty `out`, without copying.
    pub(crate) fn take_all(&mut self, out: &mut Vec<Record>) {
        if self.at == 0 {
            std::mem::swap(out, &mut self.ready);
        } else {
            out.extend_from_slice(&self.ready[self.at..]);
        }
        self.ready.clear();
        self.at = 0;
    }

    /// Reads until records are ready; `false` if there are no more.
    pub(crate) fn refill(&mut self, shared: &mut SharedState) -> Result<bool> {
        while self.at == self.ready.len() {
            self.ready.clear();
            self.at = 0;
            shared.check_interrupt()?;
            let more = match (shared.order, shared.reach) {
                (Order::Time, SortReach::Window(window)) => self.windowed(shared, window)?,
                (Order::Time, SortReach::Anywhere(run)) => self.external(shared, run)?,
                _ => {
                    let mut ready = std::mem::take(&mut self.ready);
                    let more = self.read(shared, &mut ready, 1);
                    self.ready = ready;
                    more?
                }
            };
            if !more && self.ready.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads at least `count` records, as stored; `false` at the end of the file.
    fn read(
        &mut self,
        shared: &mut SharedState,
        out: &mut Vec<Record>,
        count: usize,
    ) -> Result<bool> {
        let target = out.len() + count;
        while out.len() < target {
            shared.check_interrupt()?;
            let Some(reader) = &mut self.reader else { return Ok(false) };
            let before = out.len();
            let more = reader.fill(out, &mut shared.devices, &mut shared.tally);
            let fresh = &mut out[before..];
            self.records += fresh.len() as u64;
            let more = more.map_err(|error| match error {
                TraceError::Truncated { file, layer, offset, .. } => {
                    TraceError::Truncated { file, layer, offset, records: self.records }
                }
                other => other,
            })?;
            let first = self.records - fresh.len() as u64;
            for (i, record) in fresh.iter_mut().enumerate() {
                if record.time_ns < self.previous_ns {
                    let step = self.previous_ns - record.time_ns;
                    shared.stepped_back += 1;
                    shared.largest_step_ns = shared.largest_step_ns.max(step);
                    keep_step(&mut shared.steps_ns, step);
                    match shared.order {
                        Order::Time => {}
                        Order::File => record.time_ns = self.previous_ns,
                        Order::Strict => return Err(self.steps_back(first + i as u64, step)),
                    }
                }
                self.previous_ns = record.time_ns;
            }
            if !more {
                self.facts = reader.facts();
                self.reader = None;
            }
        }
        Ok(true)
    }

    fn steps_back(&self, request: u64, step: u64) -> TraceError {
        TraceError::data(
            &self.name,
            Location::File,
            format!(
                "time steps back by {step} ns at request {request} (from 0), and order = \
                 \"strict\" forbids it"
            ),
        )
    }

    /// Two windows at a time: the older half of both leaves.
    fn windowed(&mut self, shared: &mut SharedState, window: usize) -> Result<bool> {
        let mut fresh = std::mem::take(&mut self.ready);
        let steps = shared.stepped_back;
        let more = self.read(shared, &mut fresh, window)?;
        if shared.stepped_back != steps {
            fresh.sort_by_key(|r| r.time_ns);
        }
        let in_order = match (self.hold.last(), fresh.first()) {
            (Some(last), Some(first)) => last.time_ns <= first.time_ns,
            _ => true,
        };
        if in_order {
            self.ready = std::mem::replace(&mut self.hold, fresh);
        } else {
            // Stable: what was read earlier goes first among equals.
            let both = merge(&self.hold, &fresh);
            let split = both.len().saturating_sub(window);
            self.hold = both[split..].to_vec();
            self.ready = both;
            self.ready.truncate(split);
        }
        if !more && self.ready.is_empty() {
            self.ready = std::mem::take(&mut self.hold);
        }
        if let (Some(first), Some(last)) = (self.ready.first(), self.ready.last()) {
            if first.time_ns < self.last_ns {
                return Err(TraceError::BeyondWindow);
            }
            self.last_ns = last.time_ns;
        }
        Ok(more || !self.hold.is_empty())
    }

    fn external(&mut self, shared: &mut SharedState, run_records: usize) -> Result<bool> {
        if self.runs.is_none() {
            self.runs = Some(self.sort_runs(shared, run_records)?);
        }
        match &mut self.runs {
            Some(runs) => runs.next(&mut self.ready),
            None => Ok(false),
        }
    }

    fn sort_runs(&mut self, shared: &mut SharedState, run_records: usize) -> Result<Runs> {
        let mut runs = Runs { files: Vec::new(), heads: BinaryHeap::new() };
        loop {
            let mut run = Vec::new();
            let more = self.read(shared, &mut run, run_records)?;
            run.sort_by_key(|r| r.time_ns);
            if !run.is_empty() {
                runs.add(run, more)?;
            }
            if !more {
                return Ok(runs);
            }
        }
    }
}

/// Stable merge of two sorted lists.
fn merge(earlier: &[Record], later: &[Record]) -> Vec<Record> {
    let mut both = Vec::with_capacity(earlier.len() + later.len());
    let (mut i, mut j) = (0, 0);
    while i < earlier.len() && j < later.len() {
        if later[j].time_ns < earlier[i].time_ns {
            both.push(later[j]);
            j += 1;
        } else {
            both.push(earlier[i]);
            i += 1;
        }
    }
    both.extend_from_slice(&earlier[i..]);
    both.extend_from_slice(&later[j..]);
    both
}

/// Sorted runs, merged.
struct Runs {
    files: Vec<Run>,
    /// (time of its next record, run): ties keep the order of reading.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
}

enum Run {
    Memory { records: Vec<Record>, at: usize },
    File { reader: BufReader<File>, head: Option<Record> },
}

impl Runs {
    /// The last run, if it is the only one, never reaches a disk.
    fn add(&mut self, records: Vec<Record>, more: bool) -> Result<()> {
        let time = records[0].time_ns;
        let run = if more || !self.files.is_empty() {
            let mut reader = spill(&records).map_err(temporary)?;
            let head = read_record(&mut reader).map_err(temporary)?;
            Run::File { reader, head }
        } else {
            Run::Memory { records, at: 0 }
        };
        self.heads.push(Reverse((time, self.files.len())));
        self.files.push(run);
        Ok(())
    }

    fn next(&mut self, out: &mut Vec<Record>) -> Result<bool> {
        while out.len() < BATCH_RECORDS {
            let Some(Reverse((_, run))) = self.heads.pop() else { return Ok(false) };
            let next = match &mut self.files[run] {
                Run::Memory { records, at } => {
                    out.push(records[*at]);
                    *at += 1;
                    records.get(*at).map(|r| r.time_ns)
                }
                Run::File { reader, head } => {
                    out.extend(head.take());
                    *head = read_record(reader).map_err(temporary)?;
                    head.map(|r| r.time_ns)
                }
            };
            self.heads.extend(next.map(|time| Reverse((time, run))));
        }
        Ok(true)
    }
}

fn temporary(source: std::io::Error) -> TraceError {
    TraceError::Write { path: disk::temp_dir(), source }
}

/// Writes a run to a file that is gone when it is closed.
fn spill(records: &[Record]) -> std::io::Result<BufReader<File>> {
    let mut writer = BufWriter::with_capacity(1 << 20, disk::tempfile()?);
    for r in records {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&r.time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&r.offset_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&r.length_bytes.to_le_bytes());
        bytes[24..32].copy_from_slice(&r.response_ns.to_le_bytes());
        bytes[32..36].copy_from_slice(&r.device.to_le_bytes());
        bytes[36] = r.op as u8;
        bytes[37..39].copy_from_slice(&r.chain.bits().to_le_bytes());
        writer.write_all(&bytes)?;
    }
    let mut file = writer.into_inner().map_err(|e| e.into_error())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::with_capacity(256 * 1024, file))
}

fn read_record(reader: &mut BufReader<File>) -> std::io::Result<Option<Record>> {
    let mut bytes = [0; RECORD_BYTES];
    match reader.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(e),
    }
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    Ok(Some(Record {
        time_ns: word(0),
        offset_bytes: word(8),
        length_bytes: word(16),
        response_ns: word(24),
        device: u32::from_le_bytes([bytes[32], bytes[33], bytes[34], bytes[35]]),
        op: [RecordOp::Read, RecordOp::Write, RecordOp::Trim, RecordOp::Flush]
            [usize::from(bytes[36] & 3)],
        chain: ChainMark::from_bits(u16::from_le_bytes([bytes[37], bytes[38]])),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::options::ReaderOptions;

    /// Gives out records three at a time.
    struct Listed(Vec<Record>);

    impl RecordReader for Listed {
        fn fill(
            &mut self,
            out: &mut Vec<Record>,
            _: &mut DeviceTable,
            _: &mut Tally,
        ) -> Result<bool> {
            let count = self.0.len().min(3);
            out.extend(self.0.drain(..count));
            Ok(!self.0.is_empty())
        }
    }

    /// (time, place in the file) of each record, the steps back, and the largest of them.
    type Sorted = (Vec<(u64, u64)>, u64, u64);

    fn sorted(times: &[u64], order: Order, reach: SortReach) -> Result<Sorted> {
        let records = times.iter().enumerate().map(|(i, &time_ns)| Record {
            time_ns,
            offset_bytes: i as u64,
            length_bytes: 1,
            device: 7,
            op: RecordOp::Trim,
            ..Record::EMPTY
        });
        let mut shared = SharedState {
            devices: DeviceTable::new(),
            tally: Tally::new(&ReaderOptions::default()),
            stepped_back: 0,
            largest_step_ns: 0,
            steps_ns: [0; STEPS_KEPT],
            order,
            reach,
            interrupt: None,
        };
        let reader = Box::new(Listed(records.collect()));
        let mut file = SortedFile::new("x".into(), crate::FORMATS[0], None, reader);
        let mut all = Vec::new();
        while file.refill(&mut shared)? {
            assert!(
                file.at_hand()
                    .iter()
                    .all(|r| r.device == 7 && r.op == RecordOp::Trim && r.length_bytes == 1)
            );
            all.extend(file.at_hand().iter().map(|r| (r.time_ns, r.offset_bytes)));
            file.take(file.at_hand().len());
        }
        Ok((all, shared.stepped_back, shared.largest_step_ns))
    }

    proptest! {
        #[test]
        fn every_reach_sorts_stably_or_says_that_it_cannot(
            times in prop::collection::vec(0u64..40, 0..200),
            window in 1usize..60,
            run in 1usize..60,
        ) {
            let mut expected: Vec<(u64, u64)> = times.iter().copied().zip(0..).collect();
            expected.sort_by_key(|&(time, _)| time);
            let steps = times.windows(2).filter(|w| w[1] < w[0]).count() as u64;
            let all = sorted(&times, Order::Time, SortReach::Anywhere(run)).unwrap();
            prop_assert_eq!(&all.0, &expected);
            prop_assert_eq!(all.1, steps);
            match sorted(&times, Order::Time, SortReach::Window(window)) {
                Ok(all) => prop_assert_eq!(all.0, expected),
                Err(TraceError::BeyondWindow) => {
                    // Only if some record really is further than the window from its place.
                    let far = (0..times.len()).any(|i| {
                        let later = (0..i).filter(|&j| times[j] > times[i]);
                        later.map(|j| i - j).max().unwrap_or(0) > window
                    });
                    prop_assert!(far);
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn file_order_lifts_late_records_and_strict_order_refuses_them() {
        let (all, steps, largest) =
            sorted(&[5, 3, 4, 9, 2], Order::File, SortReach::Window(4)).unwrap();
        assert_eq!(all, [(5, 0), (5, 1), (5, 2), (9, 3), (9, 4)]);
        assert_eq!((steps, largest), (3, 7));
        let error = sorted(&[5, 6, 4], Order::Strict, SortReach::Window(4)).unwrap_err();
        assert!(error.to_string().contains("steps back by 2 ns at request 2"), "{error}");
    }
}
