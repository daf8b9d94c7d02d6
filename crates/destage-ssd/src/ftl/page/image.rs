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
//! the order of victims follow from the map. A drive with several open blocks a plane is not kept,
//! nor one with pages in SLC blocks, which `precondition = steady` leaves there.

use super::points::{NONE, Point};
use super::state::{PageFtl, UNMAPPED};
use crate::config::{Alloc, DeviceConfig, GcMode, PreconditionEnd};
use crate::ftl::image::{Hashing, ImageError};
use crate::ftl::tournament::OUT;
use crate::geometry::Geometry;
use destage_core::PlaneId;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::xxh3_128;

const MAGIC: [u8; 8] = *b"DSTGFLSH";

/// Changes with the layout of the file and with whatever gives another state for a configuration.
const VERSION: u32 = 1;

/// A hash of all that decides the flash state: sizes, placement, thresholds and preconditioning,
/// and never a latency, since every backlog is 0 meanwhile.
pub(super) fn fingerprint(config: &DeviceConfig) -> u128 {
    let sizes = config.sizes();
    let background = config.gc_mode == GcMode::Background;
    let units = (config.alloc == Alloc::Dynamic).then_some(config.queue_level);
    let mut text = format!(
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
    if config.precondition_end == Some(PreconditionEnd::High) {
        text.push_str(&format!(" {}", config.gc_high_pages));
    }
    xxh3_128(text.as_bytes())
}

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// [`Ftl::save`](crate::ftl::Ftl::save).
    pub(super) fn write_image(
        &self,
        config: &DeviceConfig,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut out = Hashing::new(out);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[0; 4])?;
        out.write_all(&fingerprint(config).to_le_bytes())?;
        out.numbers(self.map.iter().copied())?;
        out.numbers(self.erases.iter().copied())?;
        let free: Vec<u8> = self.free.keys().iter().map(|&key| u8::from(key != OUT)).collect();
        out.write_all(&free)?;
        let planes = (0..self.geometry.planes).map(PlaneId);
        let open = planes.map(|plane| self.points_of(plane)[0]);
        out.numbers(open.flat_map(|open| [open.active, open.next]))?;
        let sum = out.digest();
        out.inner.write_all(&sum)
    }

    /// [`Ftl::load`](crate::ftl::Ftl::load).
    pub(super) fn read_image(
        config: &DeviceConfig,
        input: &mut impl Read,
    ) -> Result<Self, ImageError> {
        let geometry = Geometry::new(config);
        let mut ftl = Self::all_free(config, &geometry);
        let mut input = Hashing::new(input);
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
        let sum = input.digest();
        if input.bytes()? != sum || input.inner.read(&mut [0])? != 0 {
            return Err(ImageError::Damaged);
        }
        for (plane, open) in (0..).map(PlaneId).zip(open.chunks_exact(2)) {
            *ftl.point_mut(plane, 0) = Point { active: open[0], next: open[1] };
        }
        ftl.rebuild(&free).ok_or(ImageError::Damaged)?;
        Ok(ftl)
    }

    /// Everything that follows from map, erase counts, free and active blocks. `None` if they
    /// contradict each other.
    fn rebuild(&mut self, free: &[u8]) -> Option<()> {
        let (blocks, data) = (self.geometry.blocks_per_plane, self.geometry.data_pages);
        let planes = (0..self.geometry.planes).map(PlaneId);
        let points: Vec<Point> = planes.map(|plane| self.points_of(plane)[0]).collect();
        let mut room = vec![0; self.planes.len()];
        for (number, (point, free)) in points.iter().zip(free.chunks(blocks as usize)).enumerate() {
            let open = point.active != NONE;
            let is_free = |local: u32| free.get(local as usize).copied();
            if open && (is_free(point.active)? != 0 || point.next >= data) {
                return None;
            }
            let count = free.iter().filter(|&&free| free != 0).count() as u32;
            room[number] = count * data + if open { data - point.next } else { 0 };
        }
        let map = std::mem::take(&mut self.map);
        for (slot, &place) in (0u32..).zip(map.iter()) {
            if place == UNMAPPED {
                continue;
            }
            let ppn = place - 1;
            let (block, index) = self.by_block_pages.split(ppn);
            let (plane, local) = self.by_plane_blocks.split(block);
            *self.owners.get_mut(ppn as usize)? = slot;
            self.planes[plane as usize].valid += 1;
            let point = points.get(plane as usize)?;
            let end = if point.active == local { point.next } else { data };
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
        self.play_all(|plane, local| free[(plane.0 * blocks + local) as usize] != 0);
        Some(())
    }
}
