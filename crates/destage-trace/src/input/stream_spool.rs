//! Streams that must be had from any place, or more than once: kept in memory, then in a temporary
//! file, up to a limit.
//!
//! A zip archive and a Parquet file are read from their end, and a run may start over: inside a
//! compression, or on standard input, they cannot be read where they lie. What they hold decides
//! how much that takes, so there is a bound on it.

use std::io::Write;

use crate::error::{Location, Result, TraceError};
use crate::files::disk::{self, File};
use crate::files::disk_space;

/// Bytes written at once.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// Memory and disk that spooled streams may still take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpoolBudget {
    /// Memory, bytes.
    pub(crate) memory_bytes: u64,
    /// Temporary files, bytes.
    pub(crate) disk_bytes: u64,
}

impl Default for SpoolBudget {
    /// 256 MiB and 16 GiB. Chosen: the memory that a reader may take unasked, and more than any
    /// archive that people send through a pipe.
    fn default() -> Self {
        SpoolBudget { memory_bytes: 256 << 20, disk_bytes: 16 << 30 }
    }
}

impl SpoolBudget {
    /// Takes `bytes` of memory, if there are so many.
    pub(crate) fn take_memory(&mut self, bytes: u64) -> bool {
        let left = self.memory_bytes.checked_sub(bytes);
        self.memory_bytes = left.unwrap_or(self.memory_bytes);
        left.is_some()
    }
}

/// A stream that was kept.
pub(crate) enum SpooledStream {
    /// Bytes in memory.
    Memory(Vec<u8>),
    /// A file that is deleted when it is closed.
    Disk(File),
}

/// Keeps a stream as it comes.
pub(crate) struct StreamSpool<'a> {
    name: &'a str,
    budget: &'a mut SpoolBudget,
    bytes: Vec<u8>,
    file: Option<File>,
    length: u64,
}

impl<'a> StreamSpool<'a> {
    /// An empty spool; `name` is the file's name in messages.
    pub(crate) fn new(name: &'a str, budget: &'a mut SpoolBudget) -> Self {
        StreamSpool { name, budget, bytes: Vec::new(), file: None, length: 0 }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// `Data` past the budget; `Write` if no temporary file can be written.
    pub(crate) fn take(&mut self, block: &[u8]) -> Result<()> {
        self.length += block.len() as u64;
        if self.file.is_none() && self.budget.take_memory(block.len() as u64) {
            self.bytes.extend_from_slice(block);
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(disk::tempfile().map_err(unwritable)?);
            let bytes = std::mem::take(&mut self.bytes);
            self.budget.memory_bytes += bytes.len() as u64;
            for block in bytes.chunks(BLOCK_BYTES) {
                self.append(block)?;
            }
        }
        self.append(block)
    }

    fn append(&mut self, block: &[u8]) -> Result<()> {
        let Some(left) = self.budget.disk_bytes.checked_sub(block.len() as u64) else {
            return Err(self.too_large());
        };
        self.budget.disk_bytes = left;
        disk_space::room_for(&disk::temp_dir(), block.len() as u64, "what is unpacked")?;
        let file = self.file.as_mut().expect("made before it is written to");
        file.write_all(block).map_err(unwritable)
    }

    fn too_large(&self) -> TraceError {
        let limit = disk_space::size(SpoolBudget::default().disk_bytes);
        TraceError::data(
            self.name,
            Location::File,
            format!(
                "too much to be unpacked while it is read: the archives of a run may take {limit} \
                 of temporary files"
            ),
        )
        .with_hint("unpack it first")
    }

    /// The spooled stream, and its length.
    pub(crate) fn finish(self) -> (SpooledStream, u64) {
        (self.file.map_or(SpooledStream::Memory(self.bytes), SpooledStream::Disk), self.length)
    }
}

fn unwritable(source: std::io::Error) -> TraceError {
    TraceError::Write { path: disk::temp_dir(), source }
}
