//! Encoding of flash state files: numbers in little-endian order and a checksum.

use std::io::{self, Read, Write};
use xxhash_rust::xxh3::Xxh3;

/// Numbers converted at a time.
const PIECE: usize = 1 << 14;

/// Why a saved state is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The stream could not be read to its end.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is no flash state of this version.
    #[error("it is not a saved flash state of this version")]
    Other,
    /// The state belongs to another configuration.
    #[error("it was saved for another configuration")]
    Stale,
    /// The checksum or the content is wrong.
    #[error("it is damaged")]
    Damaged,
}

/// A stream, and the checksum of what has passed.
pub(super) struct Hashing<'a, T> {
    pub(super) inner: &'a mut T,
    hash: Xxh3,
}

impl<'a, T> Hashing<'a, T> {
    pub(super) fn new(inner: &'a mut T) -> Self {
        Hashing { inner, hash: Xxh3::new() }
    }

    /// Of all that has passed.
    pub(super) fn digest(&self) -> [u8; 8] {
        self.hash.digest().to_le_bytes()
    }
}

impl<T: Write> Hashing<'_, T> {
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.inner.write_all(bytes)
    }

    pub(super) fn numbers(&mut self, mut numbers: impl Iterator<Item = u32>) -> io::Result<()> {
        let mut piece = Vec::with_capacity(4 * PIECE);
        loop {
            piece.clear();
            piece.extend(numbers.by_ref().take(PIECE).flat_map(u32::to_le_bytes));
            if piece.is_empty() {
                return Ok(());
            }
            self.write_all(&piece)?;
        }
    }
}

impl<T: Read> Hashing<'_, T> {
    pub(super) fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), ImageError> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ImageError::Damaged,
            _ => ImageError::Io(error),
        })?;
        self.hash.update(bytes);
        Ok(())
    }

    pub(super) fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], ImageError> {
        let mut bytes = [0; LENGTH];
        self.exactly(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn read_numbers(&mut self, numbers: &mut [u32]) -> Result<(), ImageError> {
        let mut piece = vec![0; 4 * PIECE];
        for numbers in numbers.chunks_mut(PIECE) {
            let piece = &mut piece[..4 * numbers.len()];
            self.exactly(piece)?;
            for (number, bytes) in numbers.iter_mut().zip(piece.chunks_exact(4)) {
                *number = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
        }
        Ok(())
    }
}
