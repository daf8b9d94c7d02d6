//! From records to columns: splits requests into page accesses and numbers the pages.
//!
//! ```text
//!  records ──pass 1──▶ rows in a spool, arrivals in the file, pages marked in a bitmap
//!                      [wrapping: rows of the drive's pages, which are marked instead]
//!          ──pass 2──▶ LPN of each id, operations, ids
//! ```
//!
//! The pages of one request follow each other, and no untouched page lies between two of them, so
//! their ids follow each other too: a request is kept as the id of its first page and a count, and
//! no column has an entry per access. The bits of a row are those of [`Extent`].
//!
//! Readings. A device's span is the end of its highest read or write; trims do not stretch it. A
//! span is rounded up to the alignment and then to a whole page, so that no page lies on two
//! devices when the page size does not divide the alignment. The time origin is the smallest time
//! of all records, trims and flushes included.

use xxhash_rust::xxh3::Xxh3;

use crate::columns::{ColumnWriter, FORMAT_VERSION, Kind, bytes_of};
use crate::device_table::DeviceTable;
use crate::error::{Place, Result, TraceError};
use crate::extent::Extent;
use crate::hooks::step;
use crate::meta::{Clock, Counts, DeviceMeta, SizeCounter, SourceMeta, TraceMeta, Wrap};
use crate::page_set::{MAX_UNIQUE_PAGES, PageSet, too_many_pages};
use crate::record::{NO_RESPONSE, Record, RecordOp};
use crate::spool::{CHUNK_ROWS, Chunk, Spool};

pub use crate::hooks::{Hooks, NoHooks, Progress, Stage};

/// Where records come from: a reader's stream, or a synthetic workload.
pub trait RecordSource {
    /// Puts the next records into `batch`, which is empty; `false` when there are none left.
    /// Records come in the order of the run, with times that do not decrease.
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool>;

    /// The devices that records named so far.
    fn devices(&self) -> &DeviceTable;

    /// What reading reported, for the result; asked for after the last batch.
    fn summary(&self) -> serde_json::Value;

    /// Page size that the trace itself counts in, bytes (page-reference traces).
    fn page_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether records carry times; asked for after the last batch.
    fn has_times(&self) -> bool {
        true
    }

    /// How far reading has come, and of how much, in the source's own unit.
    fn position(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

/// How records become page accesses.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DecodeOptions {
    /// Page size, bytes, 1..=2^40. `None`, the default, is the trace's own unit in a
    /// page-reference trace, else 4096.
    pub page_bytes: Option<u64>,
    /// `wrap = "modulo"`: page numbers are taken modulo this many logical pages, at least 1.
    pub wrap_pages: Option<u64>,
    /// What each device's span is rounded up to, bytes: the erase block, or 1 MiB (the default)
    /// without a device model.
    pub span_align_bytes: u64,
    /// Keeps times as the format has them (`time_origin = "absolute"`).
    pub absolute_time: bool,
    /// Rows between the passes stay in memory up to this many bytes. Default 512 MiB; changes
    /// nothing in the result.
    #[serde(skip)]
    pub spool_limit_bytes: usize,
}

/// Page size where neither the user nor the trace says one, bytes.
pub const DEFAULT_PAGE_BYTES: u64 = 4096;

impl Default for DecodeOptions {
    fn default() -> Self {
        DecodeOptions {
            page_bytes: None,
            wrap_pages: None,
            span_align_bytes: 1 << 20,
            absolute_time: false,
            spool_limit_bytes: 512 << 20,
        }
    }
}

impl DecodeOptions {
    /// # Errors
    ///
    /// `Usage` for a value out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(TraceError::Usage { message });
        match (self.page_bytes, self.wrap_pages, self.span_align_bytes) {
            (Some(bytes), ..) if !(1..=1 << 40).contains(&bytes) => {
                wrong(format!("page size: expected 1 byte to 1 TiB, found {bytes} bytes"))
            }
            (_, Some(0), _) => wrong("wrapping needs a drive of at least one page".into()),
            (.., 0) => wrong("the alignment of spans is at least one byte".into()),
            _ => Ok(()),
        }
    }
}

/// Divides byte addresses by the page size.
#[derive(Clone, Copy)]
struct Splitter {
    page_bytes: u64,
    /// Set if the page size is a power of two.
    shift: Option<u32>,
}

impl Splitter {
    fn new(page_bytes: u64) -> Self {
        let shift = page_bytes.is_power_of_two().then(|| page_bytes.trailing_zeros());
        Splitter { page_bytes, shift }
    }

    /// Page of a byte, and the byte's place in it.
    #[inline(always)]
    fn page(&self, byte: u64) -> (u64, u64) {
        match self.shift {
            Some(shift) => (byte >> shift, byte & (self.page_bytes - 1)),
            None => (byte / self.page_bytes, byte % self.page_bytes),
        }
    }

    /// First and last page of a request, and whether it starts or ends inside a page.
    #[inline(always)]
    fn pages(&self, offset_bytes: u64, length_bytes: u64) -> (u64, u64, bool, bool) {
        let (first, start) = self.page(offset_bytes);
        let (last, end) = self.page(offset_bytes + (length_bytes - 1));
        (first, last, start != 0, end != self.page_bytes - 1)
    }
}

/// Decodes `source` into `writer`; returns the file, whole.
///
/// # Errors
///
/// What the source returns; `Usage` for options out of range and for more than
/// [`MAX_UNIQUE_PAGES`] different pages; `Write` if a file cannot be written; `Interrupted`.
pub(crate) fn decode<S: RecordSource + ?Sized>(
    source: &mut S,
    options: &DecodeOptions,
    sources: Vec<SourceMeta>,
    writer: ColumnWriter,
    hooks: &mut dyn Hooks,
) -> Result<std::fs::File> {
    options.check()?;
    let mut decoder = Decoder::new(options, writer);
    decoder.read(source, hooks)?;
    decoder.number(source, sources, hooks)
}

struct Decoder<'a> {
    options: &'a DecodeOptions,
    writer: ColumnWriter,
    pages: PageSet,
    spool: Spool,
    chunk: Chunk,
    continuations: Vec<u64>,
    devices: Vec<DeviceMeta>,
    counts: Counts,
    /// Of each device, by its index.
    tallies: Vec<Tally>,
    /// Of reads and writes.
    sizes: [SizeCounter; 2],
    origin_ns: Option<u64>,
    last_time_ns: u64,
    /// 0 until the first records came.
    page_bytes: u64,
    responses: bool,
    /// Arrivals go to the file as chunks are sealed; with wrapping only in its own pass.
    writes_arrivals: bool,
    clock: Clock,
}

impl<'a> Decoder<'a> {
    fn new(options: &'a DecodeOptions, writer: ColumnWriter) -> Self {
        Decoder {
            options,
            writer,
            pages: PageSet::new(),
            spool: Spool::new(options.spool_limit_bytes),
            chunk: Chunk::default(),
            continuations: Vec::new(),
            devices: Vec::new(),
            counts: Counts::default(),
            tallies: Vec::new(),
            sizes: [SizeCounter::new(), SizeCounter::new()],
            origin_ns: None,
            last_time_ns: 0,
            page_bytes: 0,
            responses: false,
            writes_arrivals: options.wrap_pages.is_none(),
            clock: Clock { first_ns: u64::MAX, ..Clock::default() },
        }
    }

    /// Pass 1.
    fn read<S: RecordSource + ?Sized>(
        &mut self,
        source: &mut S,
        hooks: &mut dyn Hooks,
    ) -> Result<()> {
        self.writer.begin(Kind::Arrivals)?;
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
                self.tallies.resize_with(source.devices().len(), Tally::default);
                self.pages.grow(source.devices().len());
                self.take_batch(&batch)?;
            }
            let (done, total) = source.position();
            step(hooks, Stage::Reading, done, total)?;
            if !more {
                break;
            }
        }
        self.seal_chunk()
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
                RecordOp::Trim => {
                    self.counts.trims += 1;
                    continue;
                }
                RecordOp::Flush => {
                    self.counts.flushes += 1;
                    continue;
                }
            };
            let (first, last, from_inside, to_inside) =
                splitter.pages(record.offset_bytes, record.length_bytes);
            let tally = &mut self.tallies[record.device as usize];
            tally.last_byte = tally.last_byte.max(record.offset_bytes + (record.length_bytes - 1));
            tally.requests[usize::from(write)] += 1;
            tally.bytes[usize::from(write)] += record.length_bytes;
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
                continued: false,
            };
            if row.pages <= u64::from(Extent::MAX_PAGES) {
                self.push_row(&row);
                if self.chunk.rows() >= CHUNK_ROWS {
                    self.seal_chunk()?;
                }
            } else {
                self.push_cut(&row, |page| (page, u64::MAX))?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn push_row(&mut self, row: &Row) {
        let extent = Extent::new(row.pages as u32, row.write, row.from_inside, row.to_inside);
        self.chunk.pages.push(row.first);
        self.chunk.ops.push(extent.0);
        self.chunk.arrivals.push(row.arrival_ns);
        if self.responses || row.response_ns != NO_RESPONSE {
            self.responses = true;
            // Rows before the first response have none.
            self.chunk.responses.resize(self.chunk.rows() - 1, NO_RESPONSE);
            self.chunk.responses.push(row.response_ns);
        }
        self.chunk.extend_runs(row.device);
    }

    /// Pushes a request in pieces: `place` says where a page lies and how many pages fit from there
    /// on.
    fn push_cut(&mut self, whole: &Row, place: impl Fn(u64) -> (u64, u64)) -> Result<()> {
        let (mut page, mut left) = (whole.first, whole.pages);
        loop {
            let (first, room) = place(page);
            let pages = left.min(room).min(u64::from(Extent::MAX_PAGES));
            if page != whole.first || whole.continued {
                self.continuations.push(self.spool.rows() + self.chunk.rows() as u64);
            }
            self.push_row(&Row {
                first,
                pages,
                from_inside: whole.from_inside && page == whole.first,
                to_inside: whole.to_inside && pages == left,
                ..*whole
            });
            if self.chunk.rows() >= CHUNK_ROWS {
                self.seal_chunk()?;
            }
            left -= pages;
            if left == 0 {
                return Ok(());
            }
            page += pages;
        }
    }

    /// Hands a full chunk to the spool. Its arrivals go straight to the file, unless rows may still
    /// be cut by wrapping.
    fn seal_chunk(&mut self) -> Result<()> {
        if let Some(&last) = self.chunk.arrivals.last() {
            self.clock.first_ns = self.clock.first_ns.min(self.chunk.arrivals[0]);
            self.clock.last_ns = last;
        }
        self.count_accesses();
        if self.options.wrap_pages.is_none() {
            let mut at = 0;
            for &[device, rows] in &self.chunk.runs {
                let rows = at..at + rows as usize;
                at = rows.end;
                let (firsts, ops) = (&self.chunk.pages[rows.clone()], &self.chunk.ops[rows]);
                self.pages.mark_rows(device as usize, firsts, ops);
            }
            if self.pages.unique() > MAX_UNIQUE_PAGES {
                return Err(too_many_pages(self.pages.unique()));
            }
        }
        if self.writes_arrivals {
            let mut arrivals = std::mem::take(&mut self.chunk.arrivals);
            self.writer.put(bytes_of(&arrivals))?;
            arrivals.clear();
            self.spool.push(&mut self.chunk)?;
            self.chunk.arrivals = arrivals;
        } else {
            self.spool.push(&mut self.chunk)?;
        }
        Ok(())
    }

    /// Counts the accesses of the chunk's rows, apart from making them: this loop has no branches.
    fn count_accesses(&mut self) {
        let (mut accesses, mut partial) = ([0u64; 2], [0u64; 2]);
        for &ops in &self.chunk.ops {
            let extent = Extent(ops);
            accesses[(ops & 1) as usize] += u64::from(extent.pages());
            partial[(ops & 1) as usize] += u64::from(extent.partial_pages());
        }
        let counts = &mut self.counts;
        counts.accesses += accesses[0] + accesses[1];
        counts.write_accesses += accesses[1];
        counts.partial_reads += partial[0];
        counts.partial_writes += partial[1];
    }

    /// Gives every device its place in the address space; returns the devices in that order.
    fn place_devices(&mut self, table: &DeviceTable) -> Result<Vec<usize>> {
        let order: Vec<usize> = table.in_name_order().into_iter().map(|d| d as usize).collect();
        self.tallies.resize_with(table.len(), Tally::default);
        self.devices.resize_with(table.len(), DeviceMeta::default);
        let mut base = 0u128;
        for &index in &order {
            let device = &mut self.devices[index];
            let tally = &self.tallies[index];
            device.name = table.name(index as u32);
            [device.reads, device.writes] = tally.requests;
            [device.read_bytes, device.write_bytes] = tally.bytes;
            device.requests = device.reads + device.writes;
            let last = base + u128::from(tally.last_byte / self.page_bytes);
            let (Ok(base_lpn), Ok(_)) = (u64::try_from(base), u64::try_from(last)) else {
                return Err(TraceError::Usage {
                    message: format!(
                        "devices = \"stack\": device {} would reach page {last}, past 2^64; \
                         choose devices, or give each a run of its own",
                        device.name
                    ),
                });
            };
            device.base_lpn = base_lpn;
            if device.requests == 0 {
                continue;
            }
            let end = u128::from(tally.last_byte) + 1;
            let aligned = end.next_multiple_of(u128::from(self.options.span_align_bytes));
            let pages = aligned.div_ceil(u128::from(self.page_bytes));
            device.span_bytes = u64::try_from(end).unwrap_or(u64::MAX);
            device.span_pages = u64::try_from(pages).unwrap_or(u64::MAX);
            base += pages;
        }
        Ok(order)
    }

    /// Takes every row modulo the drive's pages, and marks what comes out.
    fn wrap(&mut self, logical_pages: u64, hooks: &mut dyn Hooks) -> Result<Wrap> {
        let mut wrap = Wrap { logical_pages, ..Wrap::default() };
        let mut unwrapped =
            std::mem::replace(&mut self.spool, Spool::new(self.options.spool_limit_bytes));
        let continued = std::mem::take(&mut self.continuations);
        let mut next_continued = continued.iter().copied().peekable();
        self.counts =
            Counts { trims: self.counts.trims, flushes: self.counts.flushes, ..Counts::default() };
        self.pages.grow(1);
        self.writes_arrivals = true;
        let total = Some(unwrapped.rows());
        let mut index = 0;
        unwrapped.for_each(|chunk| {
            let mut at = 0;
            for &[device, rows] in &chunk.runs {
                let base = self.devices[device as usize].base_lpn;
                for k in at..at + rows as usize {
                    let extent = Extent(chunk.ops[k]);
                    let continued = next_continued.next_if_eq(&index).is_some();
                    let (first, pages) = (base + chunk.pages[k], u64::from(extent.pages()));
                    let beyond = (first + (pages - 1)).saturating_sub(logical_pages - 1).min(pages);
                    wrap.accesses += beyond;
                    wrap.requests += u64::from(beyond > 0 && !continued);
                    let start = first % logical_pages;
                    let fits = pages.min(logical_pages - start);
                    self.pages.mark(0, start, start + (fits - 1));
                    if fits < pages {
                        self.pages.mark(0, 0, (pages - fits).min(logical_pages) - 1);
                    }
                    let row = Row {
                        device: 0,
                        first,
                        pages,
                        write: extent.is_write(),
                        from_inside: extent.starts_inside(),
                        to_inside: extent.ends_inside(),
                        arrival_ns: chunk.arrivals[k],
                        response_ns: chunk.responses.get(k).copied().unwrap_or(NO_RESPONSE),
                        continued,
                    };
                    self.push_cut(&row, |page| {
                        (page % logical_pages, logical_pages - page % logical_pages)
                    })?;
                    index += 1;
                }
                at += rows as usize;
            }
            step(hooks, Stage::Numbering, index, total)
        })?;
        self.seal_chunk()?;
        Ok(wrap)
    }

    /// Pass 2.
    fn number<S: RecordSource + ?Sized>(
        mut self,
        source: &mut S,
        sources: Vec<SourceMeta>,
        hooks: &mut dyn Hooks,
    ) -> Result<std::fs::File> {
        if self.spool.rows() == 0 {
            let files: Vec<&str> = sources.iter().map(|s| s.name.as_str()).collect();
            return Err(TraceError::Data {
                file: files.join(", "),
                place: Place::File,
                message: "0 read or write requests".into(),
                hint: None,
            });
        }
        let mut order = self.place_devices(source.devices())?;
        let wrap = match self.options.wrap_pages {
            Some(logical_pages) => {
                let wrap = self.wrap(logical_pages, hooks)?;
                Some(wrap)
            }
            None => None,
        };
        let mut hash = Xxh3::new();
        hash.update(&self.page_bytes.to_le_bytes());
        hash.update(&self.writer.end()?.to_le_bytes());
        self.write_responses()?;
        let bases: Vec<u64> = self.devices.iter().map(|d| d.base_lpn).collect();
        let (ranked, bases) =
            if wrap.is_some() { (vec![0], vec![0]) } else { (order.clone(), bases) };
        hash.update(&self.write_lpns(&ranked, &bases)?.to_le_bytes());
        hash.update(&self.write_ops()?.to_le_bytes());
        hash.update(&self.write_ids(hooks)?.to_le_bytes());
        if !self.continuations.is_empty() {
            let section =
                self.writer.section(Kind::Continuations, bytes_of(&self.continuations))?;
            hash.update(&section.to_le_bytes());
        }
        let counts = &mut self.counts;
        counts.rows = self.spool.rows();
        counts.requests = counts.rows - self.continuations.len() as u64;
        counts.reads = self.devices.iter().map(|d| d.reads).sum();
        counts.writes = self.devices.iter().map(|d| d.writes).sum();
        counts.read_bytes = self.devices.iter().map(|d| d.read_bytes).sum();
        counts.write_bytes = self.devices.iter().map(|d| d.write_bytes).sum();
        counts.unique_pages = self.pages.unique();
        counts.footprint_bytes = counts.unique_pages.saturating_mul(self.page_bytes);
        if wrap.is_none() {
            for (index, device) in self.devices.iter_mut().enumerate() {
                device.unique_pages = self.pages.unique_of(index);
            }
        }
        let [read_sizes, write_sizes] = [(0, counts.read_bytes), (1, counts.write_bytes)]
            .map(|(k, sum)| self.sizes[k].profile(sum));
        let meta = TraceMeta {
            format_version: FORMAT_VERSION,
            page_bytes: self.page_bytes,
            sources,
            devices: order
                .drain(..)
                .map(|index| std::mem::take(&mut self.devices[index]))
                .collect(),
            counts: self.counts,
            clock: Clock {
                timed: source.has_times(),
                origin_ns: self.origin_ns.unwrap_or(0),
                ..self.clock
            },
            wrap,
            read_sizes,
            write_sizes,
            summary: source.summary(),
            fingerprint: format!("{:032x}", hash.digest128()),
        };
        let text = serde_json::to_vec(&meta).expect("plain data becomes JSON");
        self.writer.section(Kind::Meta, &text)?;
        self.writer.finish()
    }

    fn write_responses(&mut self) -> Result<()> {
        if !self.responses {
            return Ok(());
        }
        let writer = &mut self.writer;
        writer.begin(Kind::Responses)?;
        self.spool.for_each(|chunk| {
            writer.put(bytes_of(&chunk.responses))?;
            // A chunk read before the first response has none, and its rows neither.
            for _ in chunk.responses.len()..chunk.rows() {
                writer.put(&NO_RESPONSE.to_ne_bytes())?;
            }
            Ok(())
        })?;
        writer.end().map(|_| ())
    }

    /// Numbers the pages, writing each one's LPN on the way; returns the section's hash.
    fn write_lpns(&mut self, order: &[usize], bases: &[u64]) -> Result<u64> {
        const BUFFERED: usize = 8192;
        let writer = &mut self.writer;
        writer.begin(Kind::Lpns)?;
        let mut buffer = Vec::with_capacity(BUFFERED);
        self.pages.number(order, |device, page| {
            buffer.push(bases[device] + page);
            if buffer.len() == BUFFERED {
                writer.put(bytes_of(&buffer))?;
                buffer.clear();
            }
            Ok(())
        })?;
        writer.put(bytes_of(&buffer))?;
        writer.end()
    }

    fn write_ops(&mut self) -> Result<u64> {
        let writer = &mut self.writer;
        writer.begin(Kind::PagesOps)?;
        self.spool.for_each(|chunk| writer.put(bytes_of(&chunk.ops)))?;
        writer.end()
    }

    /// Writes the id of each row's first page, and counts pages by what was done to them.
    fn write_ids(&mut self, hooks: &mut dyn Hooks) -> Result<u64> {
        let total = self.spool.rows();
        let unique = self.pages.unique() as usize;
        // With one kind of request alone there is nothing to tell apart.
        let both =
            self.counts.write_accesses > 0 && self.counts.write_accesses < self.counts.accesses;
        let words = if both { unique.div_ceil(64) } else { 0 };
        let mut touched = [vec![0u64; words], vec![0u64; words]];
        let (writer, pages) = (&mut self.writer, &self.pages);
        writer.begin(Kind::FirstIds)?;
        let mut ids: Vec<u32> = Vec::with_capacity(CHUNK_ROWS);
        let mut done = 0;
        self.spool.for_each(|chunk| {
            ids.clear();
            let mut at = 0;
            for &[device, rows] in &chunk.runs {
                let firsts = &chunk.pages[at..at + rows as usize];
                ids.extend(firsts.iter().map(|page| pages.rank(device as usize, *page)));
                at += rows as usize;
            }
            if both {
                for (&id, &ops) in ids.iter().zip(&chunk.ops) {
                    touch(&mut touched[(ops & 1) as usize], id, Extent(ops).pages());
                }
            }
            writer.put(bytes_of(&ids))?;
            done += chunk.rows() as u64;
            step(hooks, Stage::Numbering, done, Some(total))
        })?;
        let counts = &mut self.counts;
        if both {
            let ones = |word: u64| u64::from(word.count_ones());
            counts.unique_read = touched[0].iter().map(|w| ones(*w)).sum();
            counts.unique_written = touched[1].iter().map(|w| ones(*w)).sum();
            counts.unique_both = touched[0].iter().zip(&touched[1]).map(|(r, w)| ones(r & w)).sum();
        } else if counts.write_accesses > 0 {
            counts.unique_written = unique as u64;
        } else {
            counts.unique_read = unique as u64;
        }
        writer.end()
    }
}

/// What was asked of one device; arrays are of reads and writes.
#[derive(Clone, Copy, Default)]
struct Tally {
    requests: [u64; 2],
    bytes: [u64; 2],
    /// Highest byte touched. Not the end of it, which may overflow.
    last_byte: u64,
}

/// One row on its way into the spool.
#[derive(Clone, Copy)]
struct Row {
    device: u32,
    first: u64,
    pages: u64,
    write: bool,
    from_inside: bool,
    to_inside: bool,
    arrival_ns: u64,
    response_ns: u64,
    /// Goes on with the request of the row before.
    continued: bool,
}

/// Sets the bits of `pages` ids from `first` on.
#[inline(always)]
fn touch(bits: &mut [u64], first: u32, pages: u32) {
    let mut id = first as usize;
    if pages == 1 {
        bits[id / 64] |= 1 << (id % 64);
        return;
    }
    let end = id + pages as usize;
    while id < end {
        let stop = (id / 64 * 64 + 64).min(end);
        bits[id / 64] |= (u64::MAX >> (64 - (stop - id))) << (id % 64);
        id = stop;
    }
}
