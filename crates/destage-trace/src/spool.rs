//! Rows between the two passes of the decoder: kept in memory up to a bound, then in a temporary
//! file, so that a trace may be larger than memory.
//!
//! A row is one request's run of consecutive pages. Rows are kept in chunks of columns, which is
//! also how the second pass wants them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use zerocopy::IntoBytes;

use crate::error::{Result, TraceError};

/// Rows per chunk.
pub(crate) const CHUNK_ROWS: usize = 1 << 16;

/// Consecutive rows as columns.
#[derive(Clone, Default)]
pub(crate) struct Chunk {
    /// First page of each row, numbered within its device.
    pub(crate) pages: Vec<u64>,
    /// Pages, operation and partial ends of each row.
    pub(crate) ops: Vec<u32>,
    /// Arrival of each row, ns after the run's origin; empty once it was written out.
    pub(crate) arrivals: Vec<u64>,
    /// Measured response of each row; empty in a trace that has none so far.
    pub(crate) responses: Vec<u64>,
    /// Runs of rows on one device: device, rows.
    pub(crate) runs: Vec<[u32; 2]>,
}

impl Chunk {
    pub(crate) fn rows(&self) -> usize {
        self.ops.len()
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.ops.clear();
        self.arrivals.clear();
        self.responses.clear();
        self.runs.clear();
    }

    /// Counts one more row for a device.
    #[inline(always)]
    pub(crate) fn extend_runs(&mut self, device: u32) {
        match self.runs.last_mut() {
            Some([last, rows]) if *last == device => *rows += 1,
            _ => self.runs.push([device, 1]),
        }
    }

    fn bytes(&self) -> usize {
        8 * (self.pages.len() + self.arrivals.len() + self.responses.len() + self.runs.len())
            + 4 * self.ops.len()
    }

    fn lengths(&self) -> Lengths {
        Lengths {
            rows: self.rows(),
            arrivals: self.arrivals.len(),
            responses: self.responses.len(),
            runs: self.runs.len(),
        }
    }
}

#[derive(Clone, Copy)]
struct Lengths {
    rows: usize,
    arrivals: usize,
    responses: usize,
    runs: usize,
}

enum Kept {
    Memory(Chunk),
    /// Offset in the temporary file.
    Disk(u64, Lengths),
}

/// Chunks in order.
pub(crate) struct Spool {
    kept: Vec<Kept>,
    memory_bytes: usize,
    limit_bytes: usize,
    file: Option<File>,
    file_bytes: u64,
    rows: u64,
}

impl Spool {
    /// Keeps up to `limit_bytes` in memory.
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Spool { kept: Vec::new(), memory_bytes: 0, limit_bytes, file: None, file_bytes: 0, rows: 0 }
    }

    /// Rows of all chunks.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes a chunk's content; the chunk is empty afterwards.
    pub(crate) fn push(&mut self, chunk: &mut Chunk) -> Result<()> {
        self.rows += chunk.rows() as u64;
        let bytes = chunk.bytes();
        if self.memory_bytes + bytes <= self.limit_bytes {
            self.memory_bytes += bytes;
            // The kept vectors stay as large as they were grown, which for full chunks is exact.
            self.kept.push(Kept::Memory(std::mem::take(chunk)));
            return Ok(());
        }
        let lengths = chunk.lengths();
        let at = self.file_bytes;
        self.write(chunk).map_err(temporary_file)?;
        self.file_bytes += bytes as u64;
        self.kept.push(Kept::Disk(at, lengths));
        chunk.clear();
        Ok(())
    }

    fn write(&mut self, chunk: &Chunk) -> std::io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(chunk.pages.as_bytes())?;
        file.write_all(chunk.arrivals.as_bytes())?;
        file.write_all(chunk.responses.as_bytes())?;
        file.write_all(chunk.runs.as_bytes())?;
        file.write_all(chunk.ops.as_bytes())
    }

    /// Calls `f` with every chunk, in order. May be called again.
    pub(crate) fn for_each(&mut self, mut f: impl FnMut(&Chunk) -> Result<()>) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0)).map_err(temporary_file)?;
        }
        let mut buffer = Chunk::default();
        for kept in &self.kept {
            match kept {
                Kept::Memory(chunk) => f(chunk)?,
                Kept::Disk(at, lengths) => {
                    let file = self.file.as_mut().expect("a chunk on disk has a file");
                    read(file, *at, *lengths, &mut buffer).map_err(temporary_file)?;
                    f(&buffer)?;
                }
            }
        }
        Ok(())
    }
}

fn read(file: &mut File, at: u64, lengths: Lengths, chunk: &mut Chunk) -> std::io::Result<()> {
    chunk.pages.resize(lengths.rows, 0);
    chunk.arrivals.resize(lengths.arrivals, 0);
    chunk.responses.resize(lengths.responses, 0);
    chunk.ops.resize(lengths.rows, 0);
    chunk.runs.resize(lengths.runs, [0; 2]);
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(chunk.pages.as_mut_bytes())?;
    file.read_exact(chunk.arrivals.as_mut_bytes())?;
    file.read_exact(chunk.responses.as_mut_bytes())?;
    file.read_exact(chunk.runs.as_mut_bytes())?;
    file.read_exact(chunk.ops.as_mut_bytes())?;
    Ok(())
}

/// The error of a temporary file that cannot be written or read back.
fn temporary_file(source: std::io::Error) -> TraceError {
    TraceError::Write { path: std::env::temp_dir(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(seed: u64, rows: usize, arrivals: bool) -> Chunk {
        let mut chunk = Chunk::default();
        for k in 0..rows as u64 {
            chunk.pages.push(seed * 1000 + k);
            chunk.ops.push((seed + k) as u32);
            chunk.responses.push(k);
            if arrivals {
                chunk.arrivals.push(seed + k);
            }
            chunk.extend_runs((k / 3) as u32);
        }
        chunk
    }

    #[test]
    fn chunks_come_back_in_order_from_memory_and_from_disk() {
        for limit in [0, 2000, usize::MAX] {
            let mut spool = Spool::new(limit);
            for seed in 0..9 {
                spool.push(&mut chunk(seed, 10 + seed as usize, seed % 2 == 0)).expect("room");
            }
            assert_eq!(spool.rows(), (0..9).map(|s| 10 + s).sum::<u64>());
            for _ in 0..2 {
                let mut seed = 0;
                spool
                    .for_each(|got| {
                        let want = chunk(seed, 10 + seed as usize, seed % 2 == 0);
                        assert_eq!(got.pages, want.pages);
                        assert_eq!(got.ops, want.ops);
                        assert_eq!(got.arrivals, want.arrivals);
                        assert_eq!(got.responses, want.responses);
                        assert_eq!(got.runs, want.runs);
                        seed += 1;
                        Ok(())
                    })
                    .expect("reads");
                assert_eq!(seed, 9);
            }
        }
    }
}
