//! Summary of a reading: the numbers that a result reports, the plausibility line, and
//! the warnings about what can hardly be meant (`docs/spec/trace-formats.md` section 1).

use std::collections::BTreeMap;

use crate::error::Category;
use crate::format::{Skips, Tally};
use crate::record::{Record, RecordOp};
use crate::stream::doubts::{About, Doubt, Evidence};

const SECOND_NS: u64 = 1_000_000_000;
const YEAR_NS: u64 = 31_557_600 * SECOND_NS;

/// One file or archive member of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileSummary {
    /// Name in messages.
    pub name: String,
    /// Format of the file.
    pub format: String,
    /// Why detection chose it; `None` if it was given.
    pub reason: Option<String>,
    /// Requests read from it, before devices, slices and filters.
    pub records: u64,
}

/// Summary of a reading. Times in ns, addresses and sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// The files, in the order of the merge's ties.
    pub files: Vec<FileSummary>,
    /// Requests delivered: reads, writes, trims and flushes together.
    pub requests: u64,
    /// Read requests.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes trimmed.
    pub trimmed_bytes: u64,
    /// Time of the first request, on the formats' clock.
    pub first_time_ns: u64,
    /// Time of the last.
    pub last_time_ns: u64,
    /// Smallest address touched on any device.
    pub first_offset_bytes: u64,
    /// End of the highest extent on any device.
    pub end_offset_bytes: u64,
    /// Requests whose offset is a multiple of 4 KiB.
    pub aligned_4k: u64,
    /// Devices.
    pub devices: u64,
    /// Records earlier than the one stored before them.
    pub stepped_back: u64,
    /// The largest such step.
    pub largest_step_ns: u64,
    /// Sorted in temporary files, because steps reached beyond the window.
    pub sorted_externally: bool,
    /// Requests left out by slices and by filters of operation and address.
    pub filtered_out: u64,
    /// Lines, or records of binary formats, looked at.
    pub lines: u64,
    /// Header lines.
    pub header: u64,
    /// Blank lines.
    pub blank: u64,
    /// Comments and markers.
    pub comment: u64,
    /// Reads, writes and trims without length.
    pub zero_length: u64,
    /// Events that are no requests.
    pub ignored_events: BTreeMap<String, u64>,
    /// Malformed records that were skipped.
    pub errors: BTreeMap<Category, Skips>,
    /// A stream ended early and what came was used.
    pub truncated: bool,
    /// Tick of the coarsest clock among the formats, if it is coarse.
    pub coarse_clock_ns: Option<u64>,
    /// Records carry times.
    pub has_times: bool,
    /// Records tell reads from writes.
    pub has_ops: bool,
    /// One page reference, in page-reference traces.
    pub page_bytes: Option<u64>,
    /// Archive members that were not read, with the reason.
    pub left_out: Vec<String>,
    /// Assumptions.
    pub notes: Vec<String>,
    /// Findings that may make a result wrong.
    pub warnings: Vec<String>,
    /// Numbers that a workload can hardly have; the warnings have them too.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
    /// Counts for the doubts.
    #[serde(skip)]
    pub(crate) evidence: Evidence,
}

impl Summary {
    /// Counts delivered requests.
    pub(crate) fn add(&mut self, records: &[Record]) {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return };
        if self.requests == 0 {
            self.first_time_ns = first.time_ns;
            self.first_offset_bytes = u64::MAX;
        }
        self.last_time_ns = last.time_ns;
        self.requests += records.len() as u64;
        // By operation, without a branch on it: nothing predicts whether a request reads or writes.
        let (mut requests, mut bytes) = ([0; RecordOp::NAMES.len()], [0u64; RecordOp::NAMES.len()]);
        for record in records {
            requests[record.op as usize] += 1;
            if record.op == RecordOp::Flush {
                continue;
            }
            let bytes = &mut bytes[record.op as usize];
            *bytes = bytes.saturating_add(record.length_bytes);
            self.first_offset_bytes = self.first_offset_bytes.min(record.offset_bytes);
            self.end_offset_bytes =
                self.end_offset_bytes.max(record.offset_bytes + record.length_bytes);
            self.aligned_4k += u64::from(record.offset_bytes.is_multiple_of(4096));
            self.evidence.add(record);
        }
        let [reads, writes, trims, flushes] = requests;
        self.reads += reads;
        self.writes += writes;
        self.trims += trims;
        self.flushes += flushes;
        let [read, written, trimmed, _] = bytes;
        self.read_bytes = self.read_bytes.saturating_add(read);
        self.written_bytes = self.written_bytes.saturating_add(written);
        self.trimmed_bytes = self.trimmed_bytes.saturating_add(trimmed);
    }

    pub(crate) fn take_tally(&mut self, tally: &Tally) {
        self.lines = tally.lines;
        self.header = tally.header;
        self.blank = tally.blank;
        self.comment = tally.comment;
        self.zero_length = tally.zero_length;
        self.ignored_events = tally.ignored_events.clone();
        self.errors = tally.errors.clone();
        self.truncated = tally.truncated;
        self.notes.extend(tally.notes.iter().cloned());
        self.warnings.extend(tally.warnings.iter().cloned());
        for (category, skips) in &tally.errors {
            let records = if skips.count == 1 { "record" } else { "records" };
            self.warnings.push(format!(
                "{} {records} skipped ({}); the first: {}",
                skips.count,
                category.spoken(),
                skips.first.join("\n")
            ));
        }
        if self.truncated {
            self.warnings
                .push("the trace ends early: only the records before the cut are used".to_owned());
        }
    }

    /// Time from the first to the last request, ns.
    pub fn duration_ns(&self) -> u64 {
        self.last_time_ns.saturating_sub(self.first_time_ns)
    }

    /// Requests with an extent.
    fn extents(&self) -> u64 {
        self.requests - self.flushes
    }

    /// Requests per second; `None` without duration.
    pub fn rate_per_s(&self) -> Option<f64> {
        let duration = self.duration_ns();
        (duration > 0).then(|| self.requests as f64 * SECOND_NS as f64 / duration as f64)
    }

    /// Mean bytes of a request with an extent.
    pub fn mean_bytes(&self) -> Option<f64> {
        let bytes = self.read_bytes as f64 + self.written_bytes as f64 + self.trimmed_bytes as f64;
        (self.extents() > 0).then(|| bytes / self.extents() as f64)
    }

    /// Reads among reads and writes.
    pub fn read_share(&self) -> Option<f64> {
        let both = self.reads + self.writes;
        (both > 0).then(|| self.reads as f64 / both as f64)
    }

    /// Duration, rate, mean size, address span, devices, read share: what shows a wrong unit at
    /// once.
    pub fn plausibility_line(&self) -> String {
        let mut parts = vec![format!("{} requests", self.requests)];
        if self.has_times {
            parts.push(format!("{:.3} s", self.duration_ns() as f64 / SECOND_NS as f64));
            parts.extend(self.rate_per_s().map(|rate| format!("{rate:.1} requests/s")));
        } else {
            parts.push("no times".to_owned());
        }
        parts.extend(self.mean_bytes().map(|mean| format!("mean {mean:.0} bytes")));
        if self.extents() > 0 {
            parts.push(format!("addresses {}..{}", self.first_offset_bytes, self.end_offset_bytes));
        }
        parts.push(if self.devices == 1 {
            "1 device".to_owned()
        } else {
            format!("{} devices", self.devices)
        });
        if self.has_ops {
            parts.extend(self.read_share().map(|share| format!("{:.1} % reads", share * 100.0)));
        } else {
            parts.push("no operations".to_owned());
        }
        parts.join(", ")
    }

    /// Takes the doubts about the reading, which are warnings too, and warns of a duration that is
    /// odd where there are too few requests for a doubt.
    pub(crate) fn take_doubts(&mut self, doubts: Vec<Doubt>, is_exact: bool) {
        let doubted = doubts.iter().any(|doubt| doubt.about == About::TimeUnit);
        // One request has no duration; a handful may well share an instant of a coarse clock.
        if self.has_times && self.requests > 1 && !doubted {
            let duration = self.duration_ns();
            if duration < 1_000_000 && self.coarse_clock_ns.is_none() && !is_exact {
                let text = match duration {
                    0 => format!(
                        "all {} requests have one time: is the time unit right?",
                        self.requests
                    ),
                    _ => format!("the trace lasts only {duration} ns: is the time unit right?"),
                };
                self.warnings.push(text);
            }
            if duration > 10 * YEAR_NS {
                let text = "the trace lasts more than 10 years: is the time unit right?";
                self.warnings.push(text.to_owned());
            }
        }
        if self.has_ops && self.reads + self.writes > 1 && self.reads.min(self.writes) == 0 {
            let kind = if self.writes == 0 { "reads" } else { "writes" };
            self.notes.push(format!("all requests are {kind}"));
        }
        self.warnings.extend(doubts.iter().map(Doubt::text));
        self.doubts = doubts;
    }
}
