//! Doubts about a reading: numbers that a workload can hardly have, each with its likely cause and
//! the option that mends it (`docs/spec/trace-formats.md` section 1).
//!
//! One function judges every format. A recorder that writes its units itself ([`Format::exact`]) is
//! only asked for the order of its times. Thresholds leave room for every trace that we know
//! (`tests/it/real_traces.rs`); a handful of requests is not judged.

use crate::format::{Facts, Format};
use crate::options::flags::flags;
use crate::options::{OPTIONS, Order, ReaderOptions, TimeOrigin, TimeUnit, Unit};
use crate::record::{NO_RESPONSE, Record};
use crate::stream::summary::Summary;

/// Fewer requests are not judged.
const LEAST_REQUESTS: u64 = 16;
/// Fewer records have no order.
const LEAST_IN_ORDER: u64 = 4;
/// Requests per second that no trace of a storage system has on average, and the fewest.
const MOST_PER_S: f64 = 1e5;
const LEAST_PER_S: f64 = 1.0 / 60.0;
/// Prompts per second that no server of a language model reaches.
const MOST_PROMPTS_PER_S: f64 = 1e2;
/// Requests in flight on average that no host has.
const MOST_IN_FLIGHT: f64 = 1e3;
/// Bytes of a sector, and units beyond which lengths are bytes.
const SECTOR_BYTES: u64 = 512;
const MANY_UNITS: f64 = 1024.0;
/// Requests that are hardly longer on average.
const LONG_BYTES: f64 = 1048576.0;
/// Steps back that are kept, the longest; as many are no recordings that follow each other.
pub(crate) const STEPS_KEPT: usize = 64;

/// Subject of a doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The unit of the times.
    TimeUnit,
    /// The unit of the addresses.
    OffsetUnit,
    /// The unit of the lengths.
    LengthUnit,
    /// Which column is what.
    Columns,
    /// Times that start again. No doubt about the format.
    Order,
}

/// A number that a workload can hardly have.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Doubt {
    /// Its subject.
    pub about: About,
    /// The finding, and its likely cause.
    pub cause: String,
    /// The option or command that mends it.
    pub remedy: String,
}

impl Doubt {
    /// Cause and remedy on a line.
    pub fn text(&self) -> String {
        format!("{}: {}", self.cause, self.remedy)
    }
}

/// Counts over requests that doubts need beside those of the summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// Lengths, and offsets, that are no multiple of a sector.
    pub(crate) odd_lengths: u64,
    pub(crate) odd_offsets: u64,
    /// Lengths below a sector.
    pub(crate) short_lengths: u64,
    /// All offsets, and all lengths, or-ed together: bits below a power of two that each is a
    /// multiple of are 0.
    pub(crate) offset_bits: u64,
    pub(crate) length_bits: u64,
    /// Measured responses.
    pub(crate) responses: u64,
    pub(crate) response_ns: u128,
    /// Requests that begin a chain of blocks.
    pub(crate) prompts: u64,
    /// Records as read, before filters.
    pub(crate) records: u64,
    /// The longest steps back, the longest first.
    pub(crate) steps_ns: [u64; STEPS_KEPT],
}

impl Default for Evidence {
    fn default() -> Self {
        Evidence {
            odd_lengths: 0,
            odd_offsets: 0,
            short_lengths: 0,
            offset_bits: 0,
            length_bits: 0,
            responses: 0,
            response_ns: 0,
            prompts: 0,
            records: 0,
            steps_ns: [0; STEPS_KEPT],
        }
    }
}

impl Evidence {
    /// Counts a request that has an extent.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        let (offset, length) = (record.offset_bytes, record.length_bytes);
        self.odd_offsets += u64::from(!offset.is_multiple_of(SECTOR_BYTES));
        self.odd_lengths += u64::from(!length.is_multiple_of(SECTOR_BYTES));
        self.short_lengths += u64::from(length < SECTOR_BYTES);
        self.offset_bits |= offset;
        self.length_bits |= length;
        self.prompts += u64::from(record.chain.begins());
        if record.response_ns != NO_RESPONSE {
            self.responses += 1;
            self.response_ns += u128::from(record.response_ns);
        }
    }
}

/// A reading that is judged: its summary, and how it was read.
pub(crate) struct Reading<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) format: &'static Format,
    pub(crate) facts: Facts,
    pub(crate) options: &'a ReaderOptions,
}

/// Counts over the first requests of a file.
pub(crate) struct Sampled {
    pub(crate) devices: u64,
    pub(crate) zero_length: u64,
}

/// All doubts about a reading.
pub(crate) fn doubts(reading: &Reading) -> Vec<Doubt> {
    let mut found = Vec::new();
    if reading.summary.requests >= LEAST_REQUESTS && !reading.is_exact() {
        reading.clocks(&mut found);
        reading.columns(&mut found);
        reading.extents(&mut found);
    }
    reading.order(&mut found);
    found
}

/// Doubts about the first requests of a file, in the order of the file.
pub(crate) fn sampled_doubts(
    mut records: Vec<Record>,
    sampled: Sampled,
    format: &'static Format,
    facts: Facts,
    options: &ReaderOptions,
) -> Vec<Doubt> {
    let steps = records.windows(2).filter(|pair| pair[1].time_ns < pair[0].time_ns).count();
    records.sort_by_key(|record| record.time_ns);
    let mut summary = Summary {
        devices: sampled.devices,
        zero_length: sampled.zero_length,
        stepped_back: steps as u64,
        has_times: facts.has_times.unwrap_or(format.has_times),
        coarse_clock_ns: format.coarse_ns,
        ..Summary::default()
    };
    summary.add(&records);
    summary.evidence.records = records.len() as u64;
    doubts(&Reading { summary: &summary, format, facts, options })
}

/// The options of `csv` by which a file of this format is read, with these changed; `None` if no
/// mapping reads it.
pub(crate) fn as_csv(format: &Format, changes: &[(&str, String)]) -> Option<String> {
    if format.as_csv.is_empty() {
        return None;
    }
    let changed = |key: &str| changes.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str());
    let has_op = changes.iter().any(|(key, _)| key.starts_with("op_"));
    let mut settings: Vec<(&str, String)> = vec![("format", "csv".to_owned())];
    for &(key, value) in format.as_csv {
        if key == "default_op" && has_op {
            continue;
        }
        let mut value = changed(key).unwrap_or(value).to_owned();
        if key == "columns" && has_op && !value.contains("op=") {
            value.push_str(",op=COLUMN");
        }
        settings.push((key, value));
    }
    for (key, value) in changes {
        if !format.as_csv.iter().any(|(k, _)| k == key) {
            settings.push((key, value.clone()));
        }
    }
    Some(flags(settings.iter().map(|(key, value)| (*key, value.as_str()))))
}

/// Units of time from the largest to the smallest, in ns.
const LADDER: [(TimeUnit, &str, u64); 4] = [
    (TimeUnit::S, "s", 1_000_000_000),
    (TimeUnit::Ms, "ms", 1_000_000),
    (TimeUnit::Us, "us", 1_000),
    (TimeUnit::Ns, "ns", 1),
];

impl Reading<'_> {
    fn is_exact(&self) -> bool {
        self.format.exact || self.facts.exact
    }

    /// The evidence.
    fn counted(&self) -> &Evidence {
        &self.summary.evidence
    }

    /// The default of an option in this format, or what was given.
    fn setting(&self, key: &str) -> Option<&'static str> {
        self.format.as_csv.iter().find(|(k, _)| *k == key).map(|&(_, value)| value)
    }

    /// Unit of the times, as a place in the ladder.
    fn time_unit(&self) -> Option<usize> {
        let unit = self.options.time_unit.filter(|_| self.has("time_unit")).or_else(|| {
            match (self.setting("time_unit"), self.format.name) {
                (Some(text), _) => LADDER.iter().find(|(_, name, _)| *name == text).map(|u| u.0),
                (None, "mooncake") => Some(TimeUnit::Ms),
                (None, "qwen-bailian") => Some(TimeUnit::S),
                (None, "fio-iolog") => Some(TimeUnit::Us),
                (None, "bin" | "fiu") => Some(TimeUnit::Ns),
                _ => None,
            }
        });
        LADDER.iter().position(|(known, ..)| Some(*known) == unit)
    }

    /// Whether the format has an option.
    fn has(&self, key: &str) -> bool {
        OPTIONS.iter().any(|f| f.key.name == key && f.key.applies_to(self.format.name))
    }

    /// Flags for these settings.
    fn remedy(&self, changes: &[(&str, String)]) -> String {
        if changes.iter().all(|(key, _)| self.has(key)) {
            return flags(changes.iter().map(|(key, value)| (*key, value.as_str())));
        }
        as_csv(self.format, changes).unwrap_or_else(|| self.by_columns())
    }

    /// Where only the user knows the columns.
    fn by_columns(&self) -> String {
        match self.format.name {
            "csv" | "parquet" => "--columns".to_owned(),
            "bin" => "--fields".to_owned(),
            "fio-iolog" => "awk '/ (read|write|trim) / {$(NF-1) *= 512; $NF *= 512} 1' FILE > NEW \
                            turns sectors into bytes"
                .to_owned(),
            _ => "--format csv --columns time=...,op=...,offset=...,length=... with units \
                  (`destage trace formats csv`)"
                .to_owned(),
        }
    }

    /// Flags for a larger unit of time (`up`), or a smaller one, until `fits`.
    fn other_unit(&self, up: bool, fits: impl Fn(f64) -> bool) -> String {
        let Some(at) = self.time_unit() else { return self.by_columns() };
        let (_, _, now_ns) = LADDER[at];
        let others: Vec<_> = if up {
            LADDER[..at].iter().rev().collect()
        } else {
            LADDER[at + 1..].iter().collect()
        };
        let fitting = others.iter().find(|(_, _, ns)| fits(*ns as f64 / now_ns as f64));
        match fitting.or(others.last()) {
            Some((_, name, _)) => self.remedy(&[("time_unit", (*name).to_owned())]),
            None => self.by_columns(),
        }
    }

    /// Times, rates and responses.
    fn clocks(&self, found: &mut Vec<Doubt>) {
        if !self.summary.has_times {
            return;
        }
        let mut doubt =
            |about, cause: String, remedy: String| found.push(Doubt { about, cause, remedy });
        if let Some((cause, remedy)) = self.epoch().or_else(|| self.digits()) {
            return doubt(About::TimeUnit, cause, remedy);
        }
        let duration_s = self.summary.duration_ns() as f64 / 1e9;
        let prompts = self.counted().prompts;
        let (count, what, most) = match prompts {
            0 => (self.summary.requests, "requests", MOST_PER_S),
            _ => (prompts, "prompts", MOST_PROMPTS_PER_S),
        };
        let rate = count as f64 / duration_s;
        // Absolute times of this century have the right unit.
        let dated = self.format.year_2000_ns.is_some();
        if self.summary.coarse_clock_ns.is_none() && rate > most && !dated {
            let cause = match duration_s {
                0.0 => format!("all {count} {what} have one time"),
                _ => format!("{rate:.0} {what}/s in {duration_s} s: is the time unit larger?"),
            };
            let remedy = self.other_unit(true, |times| rate / times <= most);
            return doubt(About::TimeUnit, cause, remedy);
        }
        if rate < LEAST_PER_S && count >= LEAST_REQUESTS && !dated {
            let cause = format!(
                "{count} {what} in {:.1} hours, less than one a minute: is the time unit smaller?",
                duration_s / 3600.0
            );
            let remedy = self.other_unit(false, |times| rate / times >= LEAST_PER_S);
            return doubt(About::TimeUnit, cause, remedy);
        }
        let responses = self.counted().responses;
        if responses < LEAST_REQUESTS || duration_s == 0.0 {
            return;
        }
        let sum_s = self.counted().response_ns as f64 / 1e9;
        let (mean_s, volumes) = (sum_s / responses as f64, self.summary.devices.max(1) as f64);
        if mean_s > duration_s || sum_s / duration_s > MOST_IN_FLIGHT * volumes {
            let cause = format!(
                "responses of {mean_s} s on average in a trace of {duration_s} s: is the unit of \
                 the times larger, or that of the responses smaller?"
            );
            let remedy = self.other_unit(true, |times| {
                mean_s <= duration_s * times && sum_s / duration_s / times <= MOST_IN_FLIGHT
            });
            doubt(About::TimeUnit, cause, remedy);
        }
    }

    /// A clock that counts from an epoch, and says a year that cannot be; or one that should not.
    fn epoch(&self) -> Option<(String, String)> {
        const CENTURY_NS: u64 = 3_155_760_000_000_000_000;
        let first = self.summary.first_time_ns;
        if self.options.concat || self.options.time_origin == TimeOrigin::File {
            return None;
        }
        // Seconds since 1970 in a column of milliseconds from the start.
        if self.is_in_ms() {
            let seconds = 946_684_800_000_000..2_200_000_000_000_000;
            let cause = "times begin like seconds since 1970, and are read as milliseconds";
            return seconds
                .contains(&first)
                .then(|| (cause.to_owned(), self.remedy(&[("time_unit", "s".to_owned())])));
        }
        let milliseconds = 946_684_800_000_000..2_200_000_000_000_000;
        let in_us = self.is_mapped() && self.options.time_unit == Some(TimeUnit::Us);
        if in_us && milliseconds.contains(&first) {
            let cause = "times begin like milliseconds since 1970, and are read as microseconds";
            return Some((cause.to_owned(), self.remedy(&[("time_unit", "ms".to_owned())])));
        }
        let from = self.format.year_2000_ns?;
        if (from..from.saturating_add(CENTURY_NS)).contains(&first) {
            return None;
        }
        let when = if first < from { "before the year 2000" } else { "after the year 2100" };
        let cause = format!("times of {} are absolute, and lie {when} here", self.format.name);
        // As another unit they may be right.
        let now_ns = LADDER.get(self.time_unit()?).map(|&(_, _, ns)| ns)?;
        let count = first / now_ns;
        let other = LADDER.iter().find(|(_, _, ns)| {
            count.checked_mul(*ns).is_some_and(|t| (from..from + CENTURY_NS).contains(&t))
        });
        let remedy = match other {
            Some((_, name, _)) => self.remedy(&[("time_unit", (*name).to_owned())]),
            None => self.by_columns(),
        };
        Some((cause, remedy))
    }

    /// Times are milliseconds by default, or as said of a table.
    fn is_in_ms(&self) -> bool {
        match self.options.time_unit {
            None => matches!(self.format.name, "disksim" | "mooncake"),
            unit => self.is_mapped() && unit == Some(TimeUnit::Ms),
        }
    }

    /// The user said which column is what.
    fn is_mapped(&self) -> bool {
        matches!(self.format.name, "csv" | "parquet" | "bin")
    }

    /// More digits behind the point than milliseconds have.
    fn digits(&self) -> Option<(String, String)> {
        let digits = self.facts.time_digits;
        let is_odd = match self.format.name {
            "mooncake" => digits > 0,
            // Libraries print numbers with as many as it takes.
            "csv" => digits == 9,
            _ => digits > 6,
        };
        if !self.is_in_ms() || !is_odd {
            return None;
        }
        let cause = format!(
            "times have {digits} digits behind the point, as seconds have, and are read as \
             milliseconds"
        );
        Some((cause, self.remedy(&[("time_unit", "s".to_owned())])))
    }

    /// Columns that are something else.
    fn columns(&self, found: &mut Vec<Doubt>) {
        let mut doubt = |cause| {
            found.push(Doubt { about: About::Columns, cause, remedy: self.by_columns() });
        };
        let (requests, devices) = (self.summary.requests, self.summary.devices);
        // A clock that says a year of ours is a column in its place.
        let is_dated =
            self.format.year_2000_ns.is_some() && self.epoch().is_none() && self.summary.has_times;
        // Each request with a volume of its own: that column counts the requests.
        let counted = devices == requests && requests >= 2 * LEAST_REQUESTS;
        if (counted || devices * 2 > requests && !is_dated) && self.format.has_volumes {
            doubt(format!(
                "{devices} volumes for {requests} requests: is the column of the volume another \
                 one?"
            ));
        }
        let (empty, all) = (self.summary.zero_length, requests + self.summary.zero_length);
        if empty * 5 >= all {
            doubt(format!(
                "{empty} of {all} requests have length 0: is the column of the length another one?"
            ));
        }
        if let Some(what) = self.facts.odd_columns {
            doubt(what.to_owned());
        }
        let (back, records) = (self.summary.stepped_back, self.counted().records);
        // A stored order that is kept has times that stand still.
        let sorted = self.options.order == Order::Time;
        if sorted && back * 5 > records * 2 && records >= LEAST_REQUESTS {
            doubt(format!(
                "the time steps back at {back} of {records} requests: is the column of the time \
                 another one?"
            ));
        }
    }

    /// Long requests of many lengths that all begin within half of one: addresses and lengths in
    /// each other's columns.
    fn swapped(&self, mean_bytes: f64) -> Option<Doubt> {
        let Evidence { offset_bits, length_bits, .. } = *self.counted();
        let is_likely = mean_bytes >= LONG_BYTES
            && offset_bits as f64 * 2.0 < mean_bytes
            && length_bits.count_ones() > 4;
        let columns = self.setting("columns").unwrap_or_default();
        let mut roles: Vec<(&str, &str)> =
            columns.split(',').filter_map(|pair| pair.split_once('=')).collect();
        for (role, _) in &mut roles {
            *role = match *role {
                "offset" => "length",
                "length" => "offset",
                other => other,
            };
        }
        let exchanged: Vec<String> =
            roles.iter().map(|(role, at)| format!("{role}={at}")).collect();
        let changes = [("columns", exchanged.join(","))];
        let remedy = as_csv(self.format, &changes).unwrap_or_else(|| self.by_columns());
        let cause = format!(
            "requests of {mean_bytes:.0} bytes on average all begin below byte {}: are the \
             columns of address and length exchanged?",
            offset_bits.saturating_add(1)
        );
        is_likely.then_some(Doubt { about: About::Columns, cause, remedy })
    }

    /// Addresses and lengths in another unit.
    fn extents(&self, found: &mut Vec<Doubt>) {
        let counted = self.counted();
        let extents = self.summary.requests - self.summary.flushes;
        if extents < LEAST_REQUESTS || !self.format.blocks {
            return;
        }
        let mean = self.summary.mean_bytes().unwrap_or(0.0);
        if let Some(doubt) = self.swapped(mean) {
            return found.push(doubt);
        }
        let (offset_unit, length_unit) = self.units();
        let mut causes = Vec::new();
        let mut changes = Vec::new();
        let sector = || "sector".to_owned();
        if counted.odd_offsets * 2 > extents {
            causes.push((
                About::OffsetUnit,
                "most offsets are no multiple of 512 bytes: are they sectors?".to_owned(),
            ));
            changes.push(("offset_unit", sector()));
        }
        if mean < SECTOR_BYTES as f64 || counted.short_lengths * 2 > extents {
            causes.push((
                About::LengthUnit,
                format!(
                    "requests of {mean:.1} bytes on average are shorter than a sector: are the \
                     lengths sectors?"
                ),
            ));
            changes.push(("length_unit", sector()));
        } else if counted.odd_lengths * 2 > extents {
            causes.push((
                About::LengthUnit,
                "most lengths are no multiple of 512 bytes: are they sectors?".to_owned(),
            ));
            changes.push(("length_unit", sector()));
        }
        let all = |bits: u64, unit: u64| {
            unit > 1
                && unit.is_power_of_two()
                && unit.checked_mul(SECTOR_BYTES).is_some_and(|step| bits & (step - 1) == 0)
        };
        let bytes = |what: &str, unit: u64| {
            format!("every {what} is a multiple of 512 units of {unit} bytes: are they bytes?")
        };
        if counted.offset_bits > 0 && all(counted.offset_bits, offset_unit) {
            causes.push((About::OffsetUnit, bytes("address", offset_unit)));
            changes.push(("offset_unit", "byte".to_owned()));
        }
        let units = mean / length_unit as f64;
        if units >= MANY_UNITS && all(counted.length_bits, length_unit) {
            causes.push((About::LengthUnit, bytes("length", length_unit)));
            changes.push(("length_unit", "byte".to_owned()));
        }
        if causes.is_empty() {
            return;
        }
        let to_bytes = changes.iter().all(|(_, unit)| unit == "byte");
        let both = changes.len() == 2 || self.format.name == "spc";
        let remedy = match to_bytes && both && self.has("block_bytes") {
            true => "--block-bytes 1".to_owned(),
            false => self.remedy(&changes),
        };
        let doubt = |(about, cause)| Doubt { about, cause, remedy: remedy.clone() };
        found.extend(causes.into_iter().map(doubt));
    }

    /// Bytes of the units of addresses and lengths.
    fn units(&self) -> (u64, u64) {
        let bytes = |unit: Option<Unit>| match unit {
            Some(Unit::Bytes(bytes)) => bytes,
            Some(Unit::Page) => self.options.page_bytes.unwrap_or(4096),
            None => 1,
        };
        let block = self.options.block_bytes.unwrap_or(SECTOR_BYTES);
        match self.format.name {
            "csv" | "parquet" | "bin" => {
                (bytes(self.options.offset_unit), bytes(self.options.length_unit))
            }
            "disksim" => (block, block),
            "spc" => (block, 1),
            "mqsim" | "tencent" => (SECTOR_BYTES, SECTOR_BYTES),
            "arc" | "pages" => self.facts.page_bytes.map_or((1, 1), |bytes| (bytes, bytes)),
            _ => (1, 1),
        }
    }

    /// Times that start again: a few steps back as long as a good part of the trace.
    fn order(&self, found: &mut Vec<Doubt>) {
        let duration_ns = self.summary.duration_ns();
        let counted = self.counted();
        // Records of a recorder that writes at completion step back by a response time.
        let floor_ns = if self.is_exact() { 1_000_000_000 } else { 1 };
        let floor_ns = floor_ns.max(self.summary.coarse_clock_ns.unwrap_or(0) * 2 + 1);
        if self.options.order != Order::Time || counted.records < LEAST_IN_ORDER {
            return;
        }
        let steps = counted.steps_ns.iter().take_while(|&&step| step >= floor_ns);
        let long: Vec<u64> = steps.copied().filter(|step| *step >= duration_ns / 10).collect();
        let few = long.len() < STEPS_KEPT;
        let (Some(&longest), true, true) = (long.first(), few, duration_ns > 0) else { return };
        let share = longest as f64 * 100.0 / duration_ns as f64;
        let count = long.len();
        let what =
            if count == 1 { "one step back".to_owned() } else { format!("{count} steps back") };
        let seconds = longest as f64 / 1e9;
        let wraps = wrapped_clock(longest);
        let (cause, remedy) = match wraps {
            Some(unit) => (
                format!(
                    "{what} of {seconds:.6} s, about 2^32 {unit}: does a clock of 32 bits start \
                     again?"
                ),
                format!(
                    "add 2^32 {unit} to the times behind each step; --order file keeps the stored \
                     order"
                ),
            ),
            None => (
                format!(
                    "{what} of {seconds:.6} s, {share:.0} % of the trace: are several recordings \
                     in one file?"
                ),
                "--order file keeps the stored order; --concat puts files one after another, with \
                 a file for each recording"
                    .to_owned(),
            ),
        };
        found.push(Doubt { about: About::Order, cause, remedy });
    }
}

/// The unit of which a step has about 2^32: the clock of 32 bits that started again. A step is
/// shorter than that by the gap between the two requests.
fn wrapped_clock(step_ns: u64) -> Option<&'static str> {
    let units = [("ns", 1), ("ticks of 100 ns", 100), ("us", 1_000), ("ms", 1_000_000)];
    let near = |unit_ns: u64| {
        let full = (1u64 << 32) * unit_ns;
        (full - full / 50..=full).contains(&step_ns)
    };
    units.into_iter().find(|&(_, unit_ns)| near(unit_ns)).map(|(name, _)| name)
}

/// Inserts a step into the longest, which stay in order.
pub(crate) fn keep_step(steps_ns: &mut [u64; STEPS_KEPT], step_ns: u64) {
    if steps_ns[STEPS_KEPT - 1] >= step_ns {
        return;
    }
    let Some(at) = steps_ns.iter().position(|&kept| kept < step_ns) else { return };
    steps_ns[at..].rotate_right(1);
    steps_ns[at] = step_ns;
}
