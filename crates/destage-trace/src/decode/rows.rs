//! Rows on their way into the spool: pages marked, accesses counted, arrivals written.

use crate::aside::Aside;
use crate::columns::{ColumnKind, ColumnWriter, bytes_of};
use crate::error::Result;
use crate::extent::Extent;
use crate::meta::{Clock, Counts};
use crate::page_set::{MAX_UNIQUE_PAGES, PageSet, is_long, too_many_pages};
use crate::record::NO_RESPONSE;
use crate::spool::{CHUNK_ROWS, Chunk, Spool};

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
    /// Goes on with the request of the row before.
    pub(super) continued: bool,
}

/// Takes rows, and keeps them for the passes to come.
pub(super) struct Rows {
    pub(super) writer: ColumnWriter,
    pub(super) pages: PageSet,
    pub(super) spool: Spool,
    chunk: Chunk,
    /// Rows that go on with the request of the row before.
    pub(super) continuations: Vec<u64>,
    /// Trims and flushes, 40 bytes each.
    pub(super) asides: Vec<Aside>,
    /// Accesses of the rows taken.
    pub(super) counts: Counts,
    pub(super) clock: Clock,
    /// A row had a measured response.
    pub(super) responses: bool,
    /// Pages are marked as chunks are sealed; with wrapping only in its own pass, and there by it.
    marks: bool,
    /// Arrivals go to the file as chunks are sealed; with wrapping only in its own pass.
    writes_arrivals: bool,
}

impl Rows {
    /// None yet; with `wraps` they are to be cut by the drive's pages later.
    pub(super) fn new(mut writer: ColumnWriter, spool_bytes: usize, wraps: bool) -> Result<Self> {
        writer.begin(ColumnKind::Arrivals)?;
        Ok(Rows {
            writer,
            pages: PageSet::new(),
            spool: Spool::new(spool_bytes),
            chunk: Chunk::default(),
            continuations: Vec::new(),
            asides: Vec::new(),
            counts: Counts::default(),
            clock: Clock { first_ns: u64::MAX, ..Clock::default() },
            responses: false,
            marks: !wraps,
            writes_arrivals: !wraps,
        })
    }

    /// Begins anew, with rows that are cut; gives the spool of those before.
    pub(super) fn begin_wrapped(&mut self, spool_bytes: usize) -> Spool {
        self.counts = Counts::default();
        self.pages.grow(1);
        self.writes_arrivals = true;
        std::mem::replace(&mut self.spool, Spool::new(spool_bytes))
    }

    /// Rows taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.spool.rows() + self.chunk.rows() as u64
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
        self.pages.mark_checked(0, start, start + (fits - 1))?;
        if fits < pages {
            self.pages.mark_checked(0, 0, (pages - fits).min(logical_pages) - 1)?;
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

    /// Hands a full chunk to the spool. Its arrivals go straight to the file, unless rows may still
    /// be cut by wrapping.
    pub(super) fn seal_chunk(&mut self) -> Result<()> {
        if let Some(&last) = self.chunk.arrivals.last() {
            self.clock.first_ns = self.clock.first_ns.min(self.chunk.arrivals[0]);
            self.clock.last_ns = last;
        }
        self.count_accesses();
        if self.marks {
            self.mark_chunk()?;
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

    fn mark_chunk(&mut self) -> Result<()> {
        let (chunk, pages) = (&self.chunk, &mut self.pages);
        let runs = || {
            chunk.runs.iter().scan(0, |at, &[device, rows]| {
                let rows = *at..*at + rows as usize;
                *at = rows.end;
                Some((device as usize, &chunk.pages[rows.clone()], &chunk.ops[rows]))
            })
        };
        // Before memory is taken for any of them.
        if chunk.ops.iter().copied().max().is_some_and(|ops| is_long(Extent(ops).pages().into())) {
            for (device, firsts, ops) in runs() {
                pages.claim_rows(device, firsts, ops)?;
            }
        }
        for (device, firsts, ops) in runs() {
            pages.mark_rows(device, firsts, ops);
        }
        if pages.unique() > MAX_UNIQUE_PAGES {
            return Err(too_many_pages(pages.unique()));
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
}
