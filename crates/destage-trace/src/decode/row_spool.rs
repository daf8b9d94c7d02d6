//! Rows between the two passes of the decoder: kept in memory up to a bound, then in a temporary
//! file, so that a trace may be larger than memory.
//!
//! A row is one request's run of consecutive pages. Rows are kept in chunks of columns, which is
//! also how the second pass wants them.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::mpsc::channel;

use zerocopy::IntoBytes;

use crate::error::{Result, TraceError};
use crate::files::disk::{self, File};
use crate::record::ChainMark;

/// Rows per chunk.
pub(crate) const CHUNK_ROWS: usize = 1 << 16;

/// Chunks on their way through each thread beside.
const AHEAD: usize = 2;

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
    /// Place in a chain of each row; empty in a trace that has none so far.
    pub(crate) chains: Vec<ChainMark>,
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
        self.chains.clear();
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
}

/// A chunk as it is stored: page numbers relative to the smallest where that fits 32 bits, and one
/// value instead of a column where all rows are alike. Most chunks shrink to a third, which is time
/// saved: new memory costs more than packing.
#[derive(Default)]
pub(crate) struct PackedChunk {
    rows: usize,
    smallest_page: u64,
    /// Either `narrow` or `wide` has the pages.
    narrow: Vec<u32>,
    wide: Vec<u64>,
    /// One value if all are alike, else one a row.
    ops: Vec<u32>,
    arrivals: Vec<u64>,
    pub(crate) responses: Vec<u64>,
    pub(crate) chains: Vec<ChainMark>,
    runs: Vec<[u32; 2]>,
}

impl PackedChunk {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Operation and so on of each row; `buffer` has them where all are alike.
    pub(crate) fn ops<'a>(&'a self, buffer: &'a mut Vec<u32>) -> &'a [u32] {
        if self.ops.len() == self.rows {
            return &self.ops;
        }
        buffer.clear();
        buffer.resize(self.rows, self.ops[0]);
        buffer
    }

    fn of(chunk: &Chunk) -> Self {
        let smallest_page = chunk.pages.iter().copied().min().unwrap_or(0);
        let largest_page = chunk.pages.iter().copied().max().unwrap_or(0);
        let mut packed = PackedChunk {
            rows: chunk.rows(),
            smallest_page,
            arrivals: chunk.arrivals.clone(),
            responses: chunk.responses.clone(),
            chains: chunk.chains.clone(),
            runs: chunk.runs.clone(),
            ..PackedChunk::default()
        };
        if largest_page - smallest_page <= u64::from(u32::MAX) {
            packed.narrow = chunk.pages.iter().map(|page| (page - smallest_page) as u32).collect();
        } else {
            packed.wide = chunk.pages.clone();
        }
        let alike = chunk.ops.iter().all(|ops| *ops == chunk.ops[0]);
        packed.ops = if alike { chunk.ops[..1].to_vec() } else { chunk.ops.clone() };
        packed
    }

    fn unpack(&self, chunk: &mut Chunk) {
        self.unpack_accesses(chunk);
        chunk.arrivals.extend_from_slice(&self.arrivals);
        chunk.responses.extend_from_slice(&self.responses);
        chunk.chains.extend_from_slice(&self.chains);
    }

    /// Pages and operations, without times and chains.
    fn unpack_accesses(&self, chunk: &mut Chunk) {
        chunk.clear();
        chunk.pages.extend(self.narrow.iter().map(|page| self.smallest_page + u64::from(*page)));
        chunk.pages.extend_from_slice(&self.wide);
        chunk.ops.extend_from_slice(&self.ops);
        chunk.ops.resize(self.rows, self.ops[0]);
        chunk.runs.extend_from_slice(&self.runs);
    }

    fn bytes(&self) -> usize {
        8 * (self.wide.len() + self.arrivals.len() + self.responses.len() + self.runs.len())
            + 4 * (self.narrow.len() + self.ops.len())
            + 2 * self.chains.len()
    }

    /// Writes all columns; returns their lengths, from which [`read`](Self::read) makes them again.
    fn write(&self, file: &mut File) -> std::io::Result<ColumnLengths> {
        let columns = [
            self.narrow.as_bytes(),
            self.wide.as_bytes(),
            self.ops.as_bytes(),
            self.arrivals.as_bytes(),
            self.responses.as_bytes(),
            self.chains.as_bytes(),
            self.runs.as_bytes(),
        ];
        columns.iter().try_for_each(|column| file.write_all(column))?;
        let bytes = columns.map(<[u8]>::len);
        Ok(ColumnLengths { rows: self.rows, smallest_page: self.smallest_page, bytes })
    }

    fn read(file: &mut File, lengths: &ColumnLengths) -> std::io::Result<Self> {
        let [narrow, wide, ops, arrivals, responses, chains, runs] = lengths.bytes;
        let mut packed = PackedChunk {
            rows: lengths.rows,
            smallest_page: lengths.smallest_page,
            narrow: vec![0; narrow / 4],
            wide: vec![0; wide / 8],
            ops: vec![0; ops / 4],
            arrivals: vec![0; arrivals / 8],
            responses: vec![0; responses / 8],
            chains: vec![ChainMark::NONE; chains / 2],
            runs: vec![[0; 2]; runs / 8],
        };
        let columns = [
            packed.narrow.as_mut_bytes(),
            packed.wide.as_mut_bytes(),
            packed.ops.as_mut_bytes(),
            packed.arrivals.as_mut_bytes(),
            packed.responses.as_mut_bytes(),
            packed.chains.as_mut_bytes(),
            packed.runs.as_mut_bytes(),
        ];
        columns.into_iter().try_for_each(|column| file.read_exact(column))?;
        Ok(packed)
    }
}

/// Lengths of the columns of a chunk on disk, bytes.
struct ColumnLengths {
    rows: usize,
    smallest_page: u64,
    bytes: [usize; 7],
}

enum StoredChunk {
    Memory(PackedChunk),
    /// A chunk in the temporary file, behind the chunk before.
    Disk(ColumnLengths),
}

/// Chunks in order.
pub(crate) struct RowSpool {
    chunks: Vec<StoredChunk>,
    memory_bytes: usize,
    limit_bytes: usize,
    file: Option<File>,
    rows: u64,
}

impl RowSpool {
    /// Keeps up to `limit_bytes` in memory.
    pub(crate) fn new(limit_bytes: usize) -> Self {
        RowSpool { chunks: Vec::new(), memory_bytes: 0, limit_bytes, file: None, rows: 0 }
    }

    /// Rows of all chunks.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes a chunk's content; the chunk is empty afterwards, and keeps its memory.
    pub(crate) fn push(&mut self, chunk: &mut Chunk) -> Result<()> {
        if chunk.rows() == 0 {
            return Ok(());
        }
        self.rows += chunk.rows() as u64;
        let packed = PackedChunk::of(chunk);
        chunk.clear();
        if self.memory_bytes + packed.bytes() <= self.limit_bytes {
            self.memory_bytes += packed.bytes();
            self.chunks.push(StoredChunk::Memory(packed));
        } else {
            let lengths = self.write(&packed).map_err(temporary_file)?;
            self.chunks.push(StoredChunk::Disk(lengths));
        }
        Ok(())
    }

    fn write(&mut self, packed: &PackedChunk) -> std::io::Result<ColumnLengths> {
        if self.file.is_none() {
            self.file = Some(disk::tempfile()?);
        }
        let file = self.file.as_mut().expect("made above");
        packed.write(file)
    }

    /// Calls `f` with every chunk, in order. May be called again, but nothing is pushed after.
    pub(crate) fn for_each(&mut self, mut f: impl FnMut(&Chunk) -> Result<()>) -> Result<()> {
        self.rewind()?;
        let mut chunk = Chunk::default();
        for place in 0..self.chunks.len() {
            self.unpack(place, &mut chunk, PackedChunk::unpack)?;
            f(&chunk)?;
        }
        Ok(())
    }

    /// As [`for_each`](Self::for_each), for single columns: the chunk is not unpacked.
    pub(crate) fn for_each_packed(
        &mut self,
        mut f: impl FnMut(&PackedChunk) -> Result<()>,
    ) -> Result<()> {
        self.rewind()?;
        for chunk in &self.chunks {
            match chunk {
                StoredChunk::Memory(packed) => f(packed)?,
                StoredChunk::Disk(lengths) => f(&read(&mut self.file, lengths)?)?,
            }
        }
        Ok(())
    }

    /// Calls `make` with the accesses of every chunk, on so many threads beside this one, then
    /// `then`, here and in order, with the chunk and its result. With no threads all is done here.
    /// Times and chains are not unpacked.
    pub(crate) fn for_each_parallel<T: Default + Send>(
        &mut self,
        threads: usize,
        make: impl Fn(&Chunk, &mut T) + Sync,
        mut then: impl FnMut(&Chunk, &T) -> Result<()>,
    ) -> Result<()> {
        let (chunks, threads) = (self.chunks.len(), threads.min(self.chunks.len()));
        if threads == 0 {
            let mut made = T::default();
            return self.for_each(|chunk| {
                make(chunk, &mut made);
                then(chunk, &made)
            });
        }
        self.rewind()?;
        let make = &make;
        std::thread::scope(|scope| {
            // Thread k has every chunk k, k + threads and so on: what it made comes in order.
            let beside = || {
                let (chunks, given) = channel::<(Chunk, T)>();
                let (done, made) = channel();
                scope.spawn(move || {
                    for (chunk, mut of_chunk) in given {
                        make(&chunk, &mut of_chunk);
                        if done.send((chunk, of_chunk)).is_err() {
                            break; // the receiver was dropped
                        }
                    }
                });
                (chunks, made)
            };
            let threads: Vec<_> = (0..threads).map(|_| beside()).collect();
            let (mut given, mut used) = (0, Vec::new());
            for taken in 0..chunks {
                while given < chunks.min(taken + AHEAD * threads.len()) {
                    let (mut chunk, made): (Chunk, T) = used.pop().unwrap_or_default();
                    self.unpack(given, &mut chunk, PackedChunk::unpack_accesses)?;
                    // One that has panicked is met below.
                    let _ = threads[given % threads.len()].0.send((chunk, made));
                    given += 1;
                }
                let done = threads[taken % threads.len()].1.recv();
                let (chunk, made) = done.expect("a thread answers for each of its chunks");
                then(&chunk, &made)?;
                used.push((chunk, made));
            }
            Ok(())
        })
    }

    /// Rewinds to the first chunk on disk.
    fn rewind(&mut self) -> Result<()> {
        match &mut self.file {
            Some(file) => file.seek(SeekFrom::Start(0)).map(|_| ()).map_err(temporary_file),
            None => Ok(()),
        }
    }

    /// Chunks on disk come in their order.
    fn unpack(
        &mut self,
        place: usize,
        chunk: &mut Chunk,
        how: fn(&PackedChunk, &mut Chunk),
    ) -> Result<()> {
        match &self.chunks[place] {
            StoredChunk::Memory(packed) => how(packed, chunk),
            StoredChunk::Disk(lengths) => how(&read(&mut self.file, lengths)?, chunk),
        }
        Ok(())
    }
}

/// The next chunk on disk.
fn read(file: &mut Option<File>, lengths: &ColumnLengths) -> Result<PackedChunk> {
    let file = file.as_mut().expect("a chunk on disk has a file");
    PackedChunk::read(file, lengths).map_err(temporary_file)
}

/// The error of a temporary file that cannot be written or read back.
fn temporary_file(source: std::io::Error) -> TraceError {
    TraceError::Write { path: disk::temp_dir(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(seed: u64, rows: usize, arrivals: bool) -> Chunk {
        let mut chunk = Chunk::default();
        for k in 0..rows as u64 {
            // Every third chunk is too wide for 32 bits, every other has all operations alike.
            chunk.pages.push(seed * 1000 + (k << (seed % 3 * 16)));
            chunk.ops.push((seed + k * (seed % 2)) as u32);
            chunk.responses.push(k);
            chunk.chains.push(ChainMark::new(1 + k % 9, k % 4 == 0));
            if arrivals {
                chunk.arrivals.push(seed + k);
            }
            chunk.extend_runs((k / 3) as u32);
        }
        chunk
    }

    #[test]
    fn chunks_come_back_in_order_from_memory_and_from_disk() {
        for limit in [0, 800, usize::MAX] {
            let mut spool = RowSpool::new(limit);
            for seed in 0..9 {
                spool.push(&mut chunk(seed, 10 + seed as usize, seed % 2 == 0)).expect("room");
            }
            assert_eq!(spool.rows(), (0..9).map(|s| 10 + s).sum::<u64>());
            for threads in [0, 1, 2, 3, 20] {
                let mut seed = 0;
                let sum = |chunk: &Chunk, made: &mut u64| *made = chunk.pages.iter().sum();
                spool
                    .for_each_parallel(threads, sum, |got, sum| {
                        assert_eq!(*sum, got.pages.iter().sum::<u64>());
                        let want = chunk(seed, 10 + seed as usize, seed % 2 == 0);
                        assert_eq!(got.pages, want.pages);
                        assert_eq!(got.ops, want.ops);
                        assert_eq!(got.runs, want.runs);
                        seed += 1;
                        Ok(())
                    })
                    .expect("reads");
                assert_eq!(seed, 9);
            }
            let (mut seed, mut whole) = (0, Vec::new());
            spool
                .for_each(|got| {
                    let want = chunk(seed, 10 + seed as usize, seed % 2 == 0);
                    assert_eq!((&got.pages, &got.ops), (&want.pages, &want.ops));
                    assert_eq!((&got.arrivals, &got.runs), (&want.arrivals, &want.runs));
                    assert_eq!((&got.responses, &got.chains), (&want.responses, &want.chains));
                    seed += 1;
                    whole.push(want);
                    Ok(())
                })
                .expect("reads");
            let (mut whole, mut buffer) = (whole.into_iter(), Vec::new());
            spool
                .for_each_packed(|got| {
                    let want = whole.next().expect("as many");
                    assert_eq!((got.rows(), got.ops(&mut buffer)), (want.rows(), &want.ops[..]));
                    assert_eq!((&got.responses, &got.chains), (&want.responses, &want.chains));
                    Ok(())
                })
                .expect("reads");
            assert!(whole.next().is_none());
        }
    }
}
