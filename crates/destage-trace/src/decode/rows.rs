//! Rows on their way into the spool: arrivals are written here, the rest of a full chunk is done by
//! [`ChunkSink`], on another thread while the next rows come.

use super::chunk_sink::{ChunkSink, SinkThread};
use super::row_spool::{CHUNK_ROWS, Chunk, RowSpool};
use crate::columns::{
    ColumnKind, ColumnWriter, bytes_of,
    meta::{TraceClock, TraceCounts},
};
use crate::error::Result;
use crate::record::{ChainMark, ControlCommand, Extent, NO_RESPONSE};

/// One row on its way into the spool.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) device: u32,
    pub(super) first: u64,
    pub(super) pages: u64,
    pub(super) write: bool,
    pub(super) from_inside: bool,
    pub(super) to_inside: bool,
    pub(super) arrival_ns: u64,
    pub(super) response_ns: u64,
    /// Place in a chain of blocks.
    pub(super) chain: ChainMark,
    /// Goes on with the request of the row before.
    pub(super) continued: bool,
}

/// Takes rows, and keeps them for the passes to come.
pub(super) struct Rows {
    pub(super) writer: ColumnWriter,
    /// Rows of the chunks before; empty while another thread has them.
    pub(super) sink: ChunkSink,
    beside: Option<SinkThread>,
    /// Another thread may take chunks: the pass is one over the source.
    may_go_beside: bool,
    /// Threads that may number pages beside this one.
    pub(super) threads: usize,
    chunk: Chunk,
    /// Rows of the chunks before.
    sealed: u64,
    /// Devices that rows have named.
    pub(super) devices: usize,
    /// Rows that go on with the request of the row before.
    pub(super) continuations: Vec<u64>,
    /// Trims and flushes, 40 bytes each.
    pub(super) control_commands: Vec<ControlCommand>,
    pub(super) clock: TraceClock,
    /// A row had a measured response.
    pub(super) responses: bool,
    /// A row was of a chain.
    pub(super) chains: bool,
    /// Arrivals go to the file as chunks are sealed; with wrapping only in its own pass.
    writes_arrivals: bool,
}

impl Rows {
    /// No rows yet; with `wraps` they are to be cut by the drive's pages later.
    pub(super) fn new(
        mut writer: ColumnWriter,
        spool_bytes: usize,
        wraps: bool,
        threads: usize,
    ) -> Result<Self> {
        writer.begin(ColumnKind::Arrivals)?;
        Ok(Rows {
            writer,
            sink: ChunkSink::new(spool_bytes, !wraps),
            beside: None,
            may_go_beside: threads > 0,
            threads,
            chunk: Chunk::default(),
            sealed: 0,
            devices: 0,
            continuations: Vec::new(),
            control_commands: Vec::new(),
            clock: TraceClock { first_ns: u64::MAX, ..TraceClock::default() },
            responses: false,
            chains: false,
            writes_arrivals: !wraps,
        })
    }

    /// Starts over with rows that are cut; returns the spool of those before.
    pub(super) fn begin_wrapped(&mut self, spool_bytes: usize) -> RowSpool {
        self.sink.counts = TraceCounts::default();
        self.sink.pages.grow(1);
        self.writes_arrivals = true;
        self.sealed = 0;
        std::mem::replace(&mut self.sink.spool, RowSpool::new(spool_bytes))
    }

    /// Rows taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.sealed + self.chunk.rows() as u64
    }

    /// Takes a request that came in one row's length or more.
    #[inline(always)]
    pub(super) fn take(&mut self, row: &Row) -> Result<()> {
        if row.pages > u64::from(Extent::MAX_PAGES) {
            return self.push_cut(row, |page| (page, u64::MAX));
        }
        self.push_row(row);
        if self.chunk.rows() >= CHUNK_ROWS {
            self.seal_chunk()?;
        }
        Ok(())
    }

    /// Marks the pages of a row that begins at `start` of a drive and goes on at its first page.
    pub(super) fn mark_wrapped(
        &mut self,
        start: u64,
        pages: u64,
        logical_pages: u64,
    ) -> Result<()> {
        let fits = pages.min(logical_pages - start);
        self.sink.pages.mark_checked(0, start, start + (fits - 1))?;
        if fits < pages {
            self.sink.pages.mark_checked(0, 0, (pages - fits).min(logical_pages) - 1)?;
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
        if self.chains || row.chain != ChainMark::NONE {
            self.chains = true;
            self.chunk.chains.resize(self.chunk.rows() - 1, ChainMark::NONE);
            self.chunk.chains.push(row.chain);
        }
        self.chunk.extend_runs(row.device);
    }

    /// Pushes a request in pieces: `place` says where a page lies and how many pages fit from there
    /// on.
    pub(super) fn push_cut(
        &mut self,
        whole: &Row,
        place: impl Fn(u64) -> (u64, u64),
    ) -> Result<()> {
        let (mut page, mut left) = (whole.first, whole.pages);
        loop {
            let (first, room) = place(page);
            let pages = left.min(room).min(u64::from(Extent::MAX_PAGES));
            if page != whole.first || whole.continued {
                self.continuations.push(self.taken());
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

    /// Hands a full chunk on. Its arrivals go straight to the file, unless rows may still be cut by
    /// wrapping.
    pub(super) fn seal_chunk(&mut self) -> Result<()> {
        if let Some(&last) = self.chunk.arrivals.last() {
            self.clock.first_ns = self.clock.first_ns.min(self.chunk.arrivals[0]);
            self.clock.last_ns = last;
        }
        self.sealed += self.chunk.rows() as u64;
        if self.writes_arrivals {
            self.writer.put(bytes_of(&self.chunk.arrivals))?;
            self.chunk.arrivals.clear();
        }
        // A trace of one chunk is done before a thread has begun.
        let is_full = self.chunk.rows() >= CHUNK_ROWS;
        if self.may_go_beside && is_full && self.beside.is_none() {
            self.beside = SinkThread::new(&mut self.sink);
            self.may_go_beside = self.beside.is_some();
        }
        match &mut self.beside {
            None => self.sink.take(&mut self.chunk, self.devices),
            Some(beside) => match beside.put(&mut self.chunk, self.devices) {
                true => Ok(()),
                // Why it takes no more.
                false => self.gather(),
            },
        }
    }

    /// Ends the pass over the source: what another thread has kept is here again.
    pub(super) fn gather(&mut self) -> Result<()> {
        self.may_go_beside = false;
        if let Some(beside) = self.beside.take() {
            self.sink = beside.join()?;
        }
        Ok(())
    }
}
