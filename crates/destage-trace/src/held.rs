//! Streams that must be had from any place, or more than once: kept in memory, then in a temporary
//! file, up to a limit.
//!
//! A zip archive and a Parquet file are read from their end, and a run may start over: inside a
//! compression, or on standard input, they cannot be read where they lie. What they hold decides
//! how much that takes, so there is a bound on it.

use std::fs::File;
use std::io::Write;

use crate::disk;
use crate::error::{Place, Result, TraceError};

/// Bytes written at once.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// What may still be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Of memory, bytes.
    pub(crate) memory_bytes: u64,
    /// Of temporary files, bytes.
    pub(crate) disk_bytes: u64,
}

impl Default for Budget {
    /// 256 MiB and 16 GiB. Chosen: the memory that a reader may take unasked, and more than any
    /// archive that people send through a pipe.
    fn default() -> Self {
        Budget { memory_bytes: 256 << 20, disk_bytes: 16 << 30 }
    }
}

impl Budget {
    /// Takes `bytes` of memory, if there are so many.
    pub(crate) fn take_memory(&mut self, bytes: u64) -> bool {
        let left = self.memory_bytes.checked_sub(bytes);
        self.memory_bytes = left.unwrap_or(self.memory_bytes);
        left.is_some()
    }
}

/// A stream that was kept.
pub(crate) enum Held {
    /// In memory.
    Memory(Vec<u8>),
    /// In a file that is gone when it is closed.
    Disk(File),
}

/// Keeps a stream as it comes.
pub(crate) struct Holder<'a> {
    name: &'a str,
    budget: &'a mut Budget,
    bytes: Vec<u8>,
    file: Option<File>,
    length: u64,
}

impl<'a> Holder<'a> {
    /// Nothing yet; `name` is what messages call the file.
    pub(crate) fn new(name: &'a str, budget: &'a mut Budget) -> Self {
        Holder { name, budget, bytes: Vec::new(), file: None, length: 0 }
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
            self.file = Some(tempfile::tempfile().map_err(unwritable)?);
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
        disk::room_for(&std::env::temp_dir(), block.len() as u64, "what is unpacked")?;
        let file = self.file.as_mut().expect("made before it is written to");
        file.write_all(block).map_err(unwritable)
    }

    fn too_large(&self) -> TraceError {
        let limit = disk::size(Budget::default().disk_bytes);
        TraceError::Data {
            file: self.name.to_owned(),
            place: Place::File,
            message: format!(
                "too much to be unpacked while it is read: the archives of a run may take {limit} \
                 of temporary files"
            ),
            hint: Some("unpack it first".to_owned()),
        }
    }

    /// What was kept, and its length.
    pub(crate) fn finish(self) -> (Held, u64) {
        (self.file.map_or(Held::Memory(self.bytes), Held::Disk), self.length)
    }
}

fn unwritable(source: std::io::Error) -> TraceError {
    TraceError::Write { path: std::env::temp_dir(), source }
}
