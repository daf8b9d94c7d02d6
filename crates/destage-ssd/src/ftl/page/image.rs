//! A flash state as bytes, so that preconditioning need not be done again.
//!
//! ```text
//!  "DSTGFLSH", format version, 0      8 + 4 + 4 bytes
//!  fingerprint of the configuration   16
//!  map                                4 per slot
//!  erase counts                       4 per block
//!  blocks: 1 if free, + 2 if of map   1 per block
//!  active block, its next page        4 + 4 per plane and write point
//!  of a map cache: map pages' places  4 per map page
//!   deferred map pages                4, then 4 each
//!   items, then the protected ones    4 + 4, then 4 each, then 1 each if it is newer than flash
//!  XXH3-64 of all that                8
//! ```
//!
//! Numbers are little-endian; their other amounts follow from the configuration. Owners, valid
//! pages and the order of victims follow from the map. A drive with several open blocks of data a
//! plane is not kept, nor one with pages in SLC blocks, which `precondition = steady` leaves there.

use super::map_cache::MapCache;
use super::points::{NONE, Point};
use super::state::PageFtl;
use crate::config::{Alloc, DeviceConfig, GcMode, PreconditionEnd};
use crate::ftl::cmt::Entry;
use crate::ftl::image::{Hashing, ImageError};
use crate::ftl::tournament::OUT;
use crate::geometry::{BlockId, DriveLpn, Geometry};
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
    if let Some(map) = &config.map_cache {
        text.push_str(&format!(" {} {map:?}", config.page_bytes));
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
        let is_free = self.free.keys().iter().map(|&key| u8::from(key != OUT));
        let is_of_map = (0..).map(|block| u8::from(self.is_of_map(BlockId(block))));
        let blocks: Vec<u8> = is_free.zip(is_of_map).map(|(free, map)| free + 2 * map).collect();
        out.write_all(&blocks)?;
        let planes = (0..self.geometry.planes).map(PlaneId);
        let open = planes.flat_map(|plane| self.points_of(plane));
        out.numbers(open.flat_map(|open| [open.active, open.next]))?;
        if let Some(map) = &self.map_cache {
            map.write(&mut out)?;
        }
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
        let mut blocks = vec![0; ftl.erases.len()];
        input.exactly(&mut blocks)?;
        let points = ftl.points_of(PlaneId(0)).len();
        let mut open = vec![0; 2 * points * ftl.planes.len()];
        input.read_numbers(&mut open)?;
        if let Some(map) = &mut ftl.map_cache {
            map.read(&mut input)?;
        }
        let sum = input.digest();
        if input.bytes()? != sum || input.inner.read(&mut [0])? != 0 {
            return Err(ImageError::Damaged);
        }
        for (plane, open) in (0..).map(PlaneId).zip(open.chunks_exact(2 * points)) {
            for (point, open) in (0..).zip(open.chunks_exact(2)) {
                *ftl.point_mut(plane, point) = Point { active: open[0], next: open[1] };
            }
        }
        ftl.rebuild(&blocks).ok_or(ImageError::Damaged)?;
        Ok(ftl)
    }

    /// The block was opened for map pages.
    fn is_of_map(&self, block: BlockId) -> bool {
        EXTENDED && self.points.is_of_map(self.points.opener(block))
    }

    /// Everything that follows from map, erase counts, free and active blocks. `None` if they
    /// contradict each other.
    fn rebuild(&mut self, blocks: &[u8]) -> Option<()> {
        let (in_plane, data) = (self.geometry.blocks_per_plane, self.geometry.data_pages);
        let is_free = |block: u32| blocks[block as usize] & 1 != 0;
        for (number, of_plane) in (0..).map(PlaneId).zip(blocks.chunks(in_plane as usize)) {
            let mut room = of_plane.iter().filter(|&&block| block & 1 != 0).count() as u32 * data;
            for open in self.points_of(number).iter().filter(|open| open.active != NONE) {
                if *of_plane.get(open.active as usize)? & 1 != 0 || open.next >= data {
                    return None;
                }
                room += data - open.next;
            }
            self.planes[number.index()].free_pages = room;
            if room + data <= self.low {
                return None;
            }
        }
        if let Some(map) = &self.map_cache {
            let point = map.point;
            for (block, _) in (0..).map(BlockId).zip(blocks).filter(|&(_, &block)| block & 2 != 0) {
                self.points.opens(block, point);
            }
        }
        let map = std::mem::take(&mut self.map);
        for (slot, place) in (0..).zip(map.iter()) {
            if let Some(ppn) = place.checked_sub(1) {
                let plane = self.take_back(ppn, slot, false, is_free)?;
                self.planes[plane.index()].valid += 1;
            }
        }
        self.map = map;
        let places = self.map_cache.as_ref().map_or(vec![], |map| map.places.clone());
        for (map_page, place) in (0..).zip(places) {
            if let Some(ppn) = place.checked_sub(1) {
                // It counted as valid before it was written.
                self.take_back(ppn, map_page, true, is_free)?;
            }
        }
        if self.planes.iter().any(|plane| plane.valid > self.cap) {
            return None;
        }
        self.play_all(|plane, local| is_free(plane.0 * in_plane + local));
        Some(())
    }

    /// A physical page is valid again. Its plane; `None` if it cannot be.
    fn take_back(
        &mut self,
        ppn: u32,
        owner: u32,
        of_map: bool,
        is_free: impl Fn(u32) -> bool,
    ) -> Option<PlaneId> {
        let (block, index) = self.by_block_pages.split(ppn);
        let (plane, local) = self.by_plane_blocks.split(block);
        *self.owners.get_mut(ppn as usize)? = owner;
        let plane = PlaneId(plane);
        let open = self.points_of(plane).iter().find(|open| open.active == local);
        let end = open.map_or(self.geometry.data_pages, |open| open.next);
        let is_written = index < end && !is_free(block) && self.is_of_map(BlockId(block)) == of_map;
        let word = &mut self.valid[(block * self.words + index / 64) as usize];
        let was_valid = std::mem::replace(word, *word | 1 << (index % 64)) == *word;
        (is_written && !was_valid).then_some(plane)
    }
}

impl MapCache {
    fn write(&self, out: &mut Hashing<'_, impl Write>) -> io::Result<()> {
        out.numbers(self.places.iter().copied())?;
        let deferred = || (0..).zip(&self.is_deferred).filter(|&(_, &is)| is).map(|(page, _)| page);
        out.numbers(std::iter::once(deferred().count() as u32).chain(deferred()))?;
        let items: Vec<_> = self.items.in_order().collect();
        let protected = items.iter().filter(|item| item.protected).count();
        out.numbers([items.len() as u32, protected as u32].into_iter())?;
        out.numbers(items.iter().map(|item| item.lpn.0))?;
        let dirty: Vec<u8> = items.iter().map(|item| item.dirty.into()).collect();
        out.write_all(&dirty)
    }

    fn read(&mut self, input: &mut Hashing<'_, impl Read>) -> Result<(), ImageError> {
        let ensure = |good: bool| good.then_some(()).ok_or(ImageError::Damaged);
        input.read_numbers(&mut self.places)?;
        let mut count = [0];
        input.read_numbers(&mut count)?;
        ensure(count[0] as usize <= self.places.len())?;
        self.deferred.resize(count[0] as usize, 0);
        input.read_numbers(&mut self.deferred)?;
        for &map_page in &self.deferred {
            *self.is_deferred.get_mut(map_page as usize).ok_or(ImageError::Damaged)? = true;
        }
        let mut counts = [0; 2];
        input.read_numbers(&mut counts)?;
        let [items, protected] = counts.map(|count| count as usize);
        ensure(items <= self.fetches.len() && protected <= items)?;
        let (mut lpns, mut dirty) = (vec![0; items], vec![0; items]);
        input.read_numbers(&mut lpns)?;
        input.exactly(&mut dirty)?;
        for (number, (lpn, dirty)) in lpns.into_iter().map(DriveLpn).zip(dirty).enumerate() {
            let item = Entry { lpn, dirty: dirty != 0, protected: number >= items - protected };
            ensure(self.items.put_back(item))?;
        }
        Ok(())
    }
}
