//! Full chunks of rows: their pages marked, their accesses counted, the rows in the
//! spool.
//!
//! ```text
//!  threads that parse ─▶ the pass: records become rows ─▶ ChunkSink, beside it ─▶ (pass 2)
//! ```

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::page_set::{MAX_UNIQUE_PAGES, PageSet, is_long, too_many_pages};
use super::row_spool::{Chunk, RowSpool};
use crate::columns::meta::TraceCounts;
use crate::error::Result;
use crate::record::Extent;

/// Chunks that may wait for the thread beside.
const WAITING: usize = 2;

/// Takes chunks.
pub(super) struct ChunkSink {
    pub(super) pages: PageSet,
    pub(super) spool: RowSpool,
    /// Accesses of the rows taken.
    pub(super) counts: TraceCounts,
    /// Pages are marked as chunks come; with wrapping only in its own pass, and there by it.
    marks: bool,
}

impl Default for ChunkSink {
    /// Stands for what another thread has.
    fn default() -> Self {
        ChunkSink::new(0, false)
    }
}

impl ChunkSink {
    pub(super) fn new(spool_bytes: usize, marks: bool) -> Self {
        let (pages, spool) = (PageSet::new(), RowSpool::new(spool_bytes));
        ChunkSink { pages, spool, counts: TraceCounts::default(), marks }
    }

    /// Takes a chunk, whose rows name so many devices; it is empty afterwards.
    pub(super) fn take(&mut self, chunk: &mut Chunk, devices: usize) -> Result<()> {
        self.count_accesses(chunk);
        if self.marks {
            self.pages.grow(devices);
            self.mark(chunk)?;
        }
        self.spool.push(chunk)
    }

    fn mark(&mut self, chunk: &Chunk) -> Result<()> {
        let pages = &mut self.pages;
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
    fn count_accesses(&mut self, chunk: &Chunk) {
        let (mut accesses, mut partial) = ([0u64; 2], [0u64; 2]);
        for &ops in &chunk.ops {
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

/// A thread that takes chunks, in order.
pub(super) struct SinkThread {
    /// `None` when no more will come.
    chunks: Option<SyncSender<(Chunk, usize)>>,
    /// Chunks that were taken, to be filled again.
    empty: Receiver<Chunk>,
    thread: Option<JoinHandle<Result<ChunkSink>>>,
}

impl SinkThread {
    /// Takes along what was kept so far; `None`, and nothing, where the system has no thread.
    pub(super) fn new(sink: &mut ChunkSink) -> Option<Self> {
        let (chunks, taken) = sync_channel(WAITING);
        let (done, empty) = channel();
        let (hand_over, handed) = channel();
        let work = move || take_all(handed.recv().unwrap_or_default(), &taken, &done);
        let thread = std::thread::Builder::new().spawn(work).ok()?;
        hand_over.send(std::mem::take(sink)).expect("the thread waits for it");
        Some(SinkThread { chunks: Some(chunks), empty, thread: Some(thread) })
    }

    /// Takes a chunk and leaves an empty one; waits while others wait. False when the thread has
    /// ended: [`join`](SinkThread::join) says why.
    pub(super) fn put(&mut self, chunk: &mut Chunk, devices: usize) -> bool {
        let full = std::mem::replace(chunk, self.empty.try_recv().unwrap_or_default());
        self.chunks.as_ref().is_some_and(|chunks| chunks.send((full, devices)).is_ok())
    }

    /// The sink of all chunks, once the thread has taken them.
    ///
    /// # Errors
    ///
    /// That of the first chunk that could not be kept.
    pub(super) fn join(mut self) -> Result<ChunkSink> {
        self.chunks = None;
        let thread = self.thread.take().expect("it is joined once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for SinkThread {
    fn drop(&mut self) {
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            // A caller that drops it reports another error.
            let _ = thread.join();
        }
    }
}

fn take_all(
    mut sink: ChunkSink,
    taken: &Receiver<(Chunk, usize)>,
    done: &Sender<Chunk>,
) -> Result<ChunkSink> {
    for (mut chunk, devices) in taken {
        sink.take(&mut chunk, devices)?;
        // Not needed when no more will come.
        let _ = done.send(chunk);
    }
    Ok(sink)
}
