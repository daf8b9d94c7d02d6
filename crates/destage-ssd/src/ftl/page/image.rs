//! A flash state as bytes, so that preconditioning need not be done again.
//!
//! ```text
//!  "DSTGFLSH", format version, 0      8 + 4 + 4 bytes
//!  fingerprint of the configuration   16
//!  map                                4 per slot
//!  erase counts                       4 per block
//!  free blocks                        1 per block, then per plane active block and its next page
//!  XXH3-64 of all that                8
//! ```
//!
//! Numbers are little-endian; their amounts follow from the configuration. Owners, valid pages and
//! the order of victims follow from the map.

use super::{NONE, OUT, PageFtl, UNMAPPED};
use crate::config::DeviceConfig;
use crate::geometry::Geometry;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

const MAGIC: [u8; 8] = *b"DSTGFLSH";

/// Changes with the layout of the file and with whatever gives another state for a configuration.
const VERSION: u32 = 1;

/// Numbers converted at a time.
const PIECE: usize = 1 << 14;

/// Why a saved state is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It could not be read to its end.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is not a saved flash state of this version")]
    Other,
    /// It belongs to another drive.
    #[error("it was saved for another configuration")]
    Stale,
    /// Its checksum or its content is wrong.
    #[error("it is damaged")]
    Damaged,
}

/// A hash of all that decides the flash state: sizes, placement, thresholds and preconditioning,
/// and never a latency, since every backlog is 0 meanwhile.
pub fn fingerprint(config: &DeviceConfig) -> u128 {
    use crate::config::{Alloc, GcMode};
    let sizes = config.sizes();
    let background = config.gc_mode == GcMode::Background;
    let units = (config.alloc == Alloc::Dynamic).then_some(config.queue_level);
    let text = format!(
        "page {VERSION} {} {sizes:?} {} {} {} {} {:?} {} {} {background} {} {units:?} {:?} {} {}",
        env!("CARGO_PKG_VERSION"),
        config.blocks_per_plane,
        config.pages_per_block,
        config.logical_pages,
        config.summary_page,
        config.alloc,
        config.striping.name(),
        config.stripe_pages,
        config.gc_low_pages,
        config.precondition,
        config.precondition_writes,
        config.precondition_seed,
    );
    xxh3_128(text.as_bytes())
}

impl PageFtl {
    /// Writes the state, as the configuration's preconditioning left it.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn save(&self, config: &DeviceConfig, out: &mut impl Write) -> io::Result<()> {
        let mut out = Hashing { inner: out, hash: Xxh3::new() };
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[0; 4])?;
        out.write_all(&fingerprint(config).to_le_bytes())?;
        out.numbers(self.map.iter().copied())?;
        out.numbers(self.erases.iter().copied())?;
        let free: Vec<u8> = self.free.keys().iter().map(|&key| u8::from(key != OUT)).collect();
        out.write_all(&free)?;
        out.numbers(self.planes.iter().flat_map(|plane| [plane.active, plane.next]))?;
        let sum = out.hash.digest();
        out.inner.write_all(&sum.to_le_bytes())
    }

    /// Reads what [`save`](PageFtl::save) wrote.
    ///
    /// # Errors
    ///
    /// [`ImageError`]: it was cut short or damaged, or saved for another configuration or by
    /// another version.
    pub fn load(config: &DeviceConfig, input: &mut impl Read) -> Result<Self, ImageError> {
        let geometry = Geometry::new(config);
        let mut ftl = PageFtl::new(config, &geometry);
        let mut input = Hashing { inner: input, hash: Xxh3::new() };
        if input.bytes::<8>()? != MAGIC || input.bytes::<8>()?[..4] != VERSION.to_le_bytes() {
            return Err(ImageError::Other);
        }
        if input.bytes()? != fingerprint(config).to_le_bytes() {
            return Err(ImageError::Stale);
        }
        input.read_numbers(&mut ftl.map)?;
        input.read_numbers(&mut ftl.erases)?;
        let mut free = vec![0; ftl.erases.len()];
        input.exactly(&mut free)?;
        let mut open = vec![0; 2 * ftl.planes.len()];
        input.read_numbers(&mut open)?;
        let sum = input.hash.digest().to_le_bytes();
        if input.bytes()? != sum || input.inner.read(&mut [0])? != 0 {
            return Err(ImageError::Damaged);
        }
        for (plane, open) in ftl.planes.iter_mut().zip(open.chunks_exact(2)) {
            (plane.active, plane.next) = (open[0], open[1]);
        }
        ftl.rebuild(&free).ok_or(ImageError::Damaged)?;
        Ok(ftl)
    }

    /// Everything that follows from map, erase counts, free and active blocks. `None` if they
    /// contradict each other.
    fn rebuild(&mut self, free: &[u8]) -> Option<()> {
        let (blocks, data) = (self.geometry.blocks_per_plane, self.geometry.data_pages);
        let mut room = vec![0; self.planes.len()];
        for (number, (plane, free)) in
            self.planes.iter().zip(free.chunks(blocks as usize)).enumerate()
        {
            let open = plane.active != NONE;
            let is_free = |local: u32| free.get(local as usize).copied();
            if open && (is_free(plane.active)? != 0 || plane.next >= data) {
                return None;
            }
            let count = free.iter().filter(|&&free| free != 0).count() as u32;
            room[number] = count * data + if open { data - plane.next } else { 0 };
        }
        let map = std::mem::take(&mut self.map);
        for (slot, &place) in (0u32..).zip(&map) {
            if place == UNMAPPED {
                continue;
            }
            let ppn = place - 1;
            let (block, index) = self.by_block_pages.split(ppn);
            let (plane, local) = self.by_plane_blocks.split(block);
            *self.owners.get_mut(ppn as usize)? = slot;
            let at = &mut self.planes[plane as usize];
            at.valid += 1;
            let end = if at.active == local { at.next } else { data };
            let word = &mut self.valid[(block * self.words + index / 64) as usize];
            let bit = 1 << (index % 64);
            if *word & bit != 0 || index >= end || free[block as usize] != 0 {
                return None;
            }
            *word |= bit;
        }
        self.map = map;
        for (plane, room) in self.planes.iter_mut().zip(room) {
            plane.free_pages = room;
            if plane.valid > self.cap || room + data <= self.low {
                return None;
            }
        }
        self.play_all(|plane, local| free[(plane * blocks + local) as usize] != 0);
        Some(())
    }
}

/// A stream, and the checksum of what has passed.
struct Hashing<'a, T> {
    inner: &'a mut T,
    hash: Xxh3,
}

impl<T: Write> Hashing<'_, T> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.inner.write_all(bytes)
    }

    fn numbers(&mut self, mut numbers: impl Iterator<Item = u32>) -> io::Result<()> {
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
    fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), ImageError> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ImageError::Damaged,
            _ => ImageError::Io(error),
        })?;
        self.hash.update(bytes);
        Ok(())
    }

    fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], ImageError> {
        let mut bytes = [0; LENGTH];
        self.exactly(&mut bytes)?;
        Ok(bytes)
    }

    fn read_numbers(&mut self, numbers: &mut [u32]) -> Result<(), ImageError> {
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
