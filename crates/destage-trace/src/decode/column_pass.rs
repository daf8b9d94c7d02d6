//! Pass 2: rows become columns.

use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::Xxh3;

use super::chunk_sink::ChunkSink;
use super::row_spool::Chunk;
use super::rows::Rows;
use crate::columns::{ColumnKind, bytes_of};
use crate::error::Result;
use crate::hooks::{Hooks, Stage, step};
use crate::record::{ChainMark, Extent, NO_RESPONSE};

/// The address space that pages are numbered in.
pub(super) struct AddressSpace<'a> {
    /// Devices of the address space, in order.
    pub(super) order: &'a [usize],
    /// LPN of the first page of each, by its index.
    pub(super) bases: &'a [u64],
}

impl Rows {
    /// Writes all columns behind the arrivals; returns the identity of accesses, trims and flushes.
    ///
    /// # Errors
    ///
    /// `Usage` for more pages than can be numbered; `Write`, before much is written where the disk
    /// has no room for all; `Interrupted`.
    pub(super) fn write_columns(
        &mut self,
        page_bytes: u64,
        space: &AddressSpace<'_>,
        hooks: &mut dyn Hooks,
    ) -> Result<String> {
        let mut hash = Xxh3::new();
        hash.update(&page_bytes.to_le_bytes());
        hash.update(&self.writer.end()?.to_le_bytes());
        let row_bytes = 8 + 8 * u64::from(self.responses) + 2 * u64::from(self.chains);
        let control_commands = size_of_val(&self.control_commands[..]) as u64;
        let rest =
            8 * self.sink.pages.unique() + row_bytes * self.sink.spool.rows() + control_commands;
        self.writer.make_room(rest)?;
        self.write_responses()?;
        let chains = self.write_chains()?;
        hash.update(&self.write_lpns(space)?.to_le_bytes());
        hash.update(&self.write_ops()?.to_le_bytes());
        hash.update(&self.write_ids(hooks)?.to_le_bytes());
        if !self.continuations.is_empty() {
            let bytes = bytes_of(&self.continuations);
            let section = self.writer.section(ColumnKind::Continuations, bytes)?;
            hash.update(&section.to_le_bytes());
        }
        hash.update(bytes_of(&self.control_commands));
        if let Some(chains) = chains {
            hash.update(&chains.to_le_bytes());
        }
        Ok(format!("{:032x}", hash.digest128()))
    }

    fn write_responses(&mut self) -> Result<()> {
        if !self.responses {
            return Ok(());
        }
        let writer = &mut self.writer;
        writer.begin(ColumnKind::Responses)?;
        self.sink.spool.for_each_packed(|chunk| {
            writer.put(bytes_of(&chunk.responses))?;
            // A chunk read before the first response has none, and its rows neither.
            for _ in chunk.responses.len()..chunk.rows() {
                writer.put(&NO_RESPONSE.to_ne_bytes())?;
            }
            Ok(())
        })?;
        writer.end().map(|_| ())
    }

    /// Writes the places of rows in their chains, if there are chains; returns the section's hash.
    fn write_chains(&mut self) -> Result<Option<u64>> {
        if !self.chains {
            return Ok(None);
        }
        let writer = &mut self.writer;
        writer.begin(ColumnKind::Chains)?;
        self.sink.spool.for_each_packed(|chunk| {
            writer.put(bytes_of(&chunk.chains))?;
            // As of responses.
            for _ in chunk.chains.len()..chunk.rows() {
                writer.put(bytes_of(&[ChainMark::NONE]))?;
            }
            Ok(())
        })?;
        writer.end().map(Some)
    }

    /// Numbers the pages, writing each one's LPN on the way; returns the section's hash.
    fn write_lpns(&mut self, space: &AddressSpace<'_>) -> Result<u64> {
        const BUFFERED: usize = 8192;
        let writer = &mut self.writer;
        writer.begin(ColumnKind::Lpns)?;
        let mut buffer = Vec::with_capacity(BUFFERED);
        self.sink.pages.number(space.order, |device, page| {
            buffer.push(space.bases[device] + page);
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
        writer.begin(ColumnKind::PagesOps)?;
        let mut buffer = Vec::new();
        self.sink.spool.for_each_packed(|chunk| writer.put(bytes_of(chunk.ops(&mut buffer))))?;
        writer.end()
    }

    /// Writes the id of each row's first page, and counts pages by what was done to them.
    fn write_ids(&mut self, hooks: &mut dyn Hooks) -> Result<u64> {
        let total = self.sink.spool.rows();
        let unique = self.sink.pages.unique() as usize;
        // With one kind of request alone there is nothing to tell apart.
        let both = self.sink.counts.write_accesses > 0
            && self.sink.counts.write_accesses < self.sink.counts.accesses;
        let words = if both { unique.div_ceil(64) } else { 0 };
        let none = || (0..words).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let touched = [none(), none()];
        let ChunkSink { pages, spool, .. } = &mut self.sink;
        let (writer, pages) = (&mut self.writer, &*pages);
        writer.begin(ColumnKind::FirstIds)?;
        let number = |chunk: &Chunk, ids: &mut Vec<u32>| {
            ids.clear();
            let mut at = 0;
            for &[device, rows] in &chunk.runs {
                let firsts = &chunk.pages[at..at + rows as usize];
                ids.extend(firsts.iter().map(|page| pages.rank(device as usize, *page)));
                at += rows as usize;
            }
            if both {
                for (&id, &ops) in ids.iter().zip(&chunk.ops) {
                    touch(&touched[(ops & 1) as usize], id, Extent(ops).pages());
                }
            }
        };
        let mut done = 0;
        spool.for_each_parallel(self.threads, number, |chunk, ids| {
            writer.put(bytes_of(ids))?;
            done += chunk.rows() as u64;
            step(hooks, Stage::Numbering, done, Some(total))
        })?;
        let touched = touched.map(|bits| bits.into_iter().map(AtomicU64::into_inner).collect());
        let [read, written]: [Vec<u64>; 2] = touched;
        let counts = &mut self.sink.counts;
        if both {
            for (&read, &written) in read.iter().zip(&written) {
                counts.unique_read += u64::from(read.count_ones());
                counts.unique_written += u64::from(written.count_ones());
                counts.unique_both += u64::from((read & written).count_ones());
            }
        } else if counts.write_accesses > 0 {
            counts.unique_written = unique as u64;
        } else {
            counts.unique_read = unique as u64;
        }
        writer.end()
    }
}

/// Sets the bits of `pages` ids from `first` on; other threads may set others, in any order.
#[inline(always)]
fn touch(bits: &[AtomicU64], first: u32, pages: u32) {
    let mut id = first as usize;
    let end = id + pages as usize;
    while id < end {
        let stop = (id / 64 * 64 + 64).min(end);
        let mask = (u64::MAX >> (64 - (stop - id))) << (id % 64);
        let word = &bits[id / 64];
        // Most are set already, and to look is cheaper than to set.
        if word.load(Ordering::Relaxed) & mask != mask {
            word.fetch_or(mask, Ordering::Relaxed);
        }
        id = stop;
    }
}
