//! Write points: a plane with several open blocks, one for each label of what is written to it
//! (`docs/spec/device-today.md` 7).
//!
//! A block belongs to the write point that opened it, until it is erased. Which one that is decides
//! where its pages go when it is collected.

use crate::config::{DeviceConfig, GcStream, Isolation, StreamsConfig};
use crate::ftl::counters::StreamCounts;
use crate::geometry::{BlockId, Geometry};
use crate::placement::{Assigns, Placement, Unassigned, Victim, WriteHint};
use destage_core::PlaneId;
use destage_core::pages::prefetch;

/// No block of a plane.
pub(super) const NONE: u32 = u32::MAX;

/// A place in a plane that has an open block of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) active: u32, // block of the plane; NONE if there is none
    pub(super) next: u32,   // index of the active block's next page
}

impl Point {
    /// No block is open.
    pub(super) const NONE: Point = Point { active: NONE, next: 0 };
}

/// Open blocks and the placement policy. Empty for a device with one open block per plane.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Points {
    config: StreamsConfig,
    points: u32,      // A, and that of map pages
    map_point: u32,   // that; u32::MAX if the whole map is in memory
    open: Vec<Point>, // by plane, then by write point
    openers: Vec<u8>, // by block, the write point that opened it last
    opened: Vec<u64>, // by block, the clock at which that was; empty unless used
    // By slot, of the last host write; empty with one handle, and where a block has pages of one.
    handles: Vec<u8>,
    writing: (u32, u32), // slot and handle of the last host write
    pub(super) placement: Placement,
    pub(super) clock: u64, // host page writes so far
    counts: StreamCounts,
}

impl Points {
    pub(super) fn new(config: &DeviceConfig, geometry: &Geometry, slots: usize) -> Self {
        let streams = config.streams;
        let points = config.write_points();
        let blocks = (geometry.planes * geometry.blocks_per_plane) as usize;
        let placement = Placement::new(config, slots);
        let many = if points > 1 { points as usize } else { 0 };
        let handles = if streams.handles > 1 { streams.handles as usize } else { 0 };
        // "a page stays where its last host write put it"
        let in_one = streams.isolation == Isolation::Persistent && config.slc.is_none();
        let mixes = handles > 0 && !in_one;
        Points {
            config: streams,
            points,
            map_point: config.map_cache.map_or(u32::MAX, |_| streams.write_points()),
            open: vec![Point::NONE; geometry.planes as usize * points as usize],
            openers: vec![0; blocks],
            opened: vec![0; if placement.looks_at_blocks() { blocks } else { 0 }],
            handles: vec![0; if mixes { slots } else { 0 }],
            writing: (u32::MAX, 0),
            placement,
            clock: 0,
            counts: StreamCounts {
                handle_programs: vec![0; handles],
                handle_moves: vec![0; handles],
                stream_programs: vec![0; many],
            },
        }
    }

    /// Write points of a device with one open block per plane.
    pub(super) fn none() -> Self {
        Points {
            config: StreamsConfig::ONE,
            points: 1,
            map_point: u32::MAX,
            open: Vec::new(),
            openers: Vec::new(),
            opened: Vec::new(),
            handles: Vec::new(),
            writing: (u32::MAX, 0),
            placement: Placement::Unassigned(Unassigned),
            clock: 0,
            counts: StreamCounts::default(),
        }
    }

    #[inline(always)]
    pub(super) fn at(&mut self, plane: PlaneId, point: u32) -> &mut Point {
        &mut self.open[(plane.0 * self.points + point) as usize]
    }

    /// The open blocks of a plane, by write point.
    pub(super) fn of(&self, plane: PlaneId) -> &[Point] {
        &self.open[plane.index() * self.points as usize..][..self.points as usize]
    }

    /// A write point takes a free block.
    #[inline]
    pub(super) fn opens(&mut self, block: BlockId, point: u32) {
        self.openers[block.index()] = point as u8; // at most 24 of them
        if let Some(opened) = self.opened.get_mut(block.index()) {
            *opened = self.clock;
        }
    }

    /// The host writes a page: the clock grows, and the page has a handle.
    #[inline]
    pub(super) fn assign(&mut self, slot: u32, hint: WriteHint) -> u32 {
        self.clock += 1;
        let handle = self.placement.written(slot, hint, self.clock);
        self.writing = (slot, handle);
        if let Some(of_page) = self.handles.get_mut(slot as usize) {
            *of_page = handle as u8;
        }
        if let Some(programs) = self.counts.handle_programs.get_mut(handle as usize) {
            *programs += 1;
        }
        handle
    }

    /// Counts `pages` first writes in a row, all with this handle.
    pub(super) fn assigned(&mut self, pages: u64, handle: u32) {
        self.clock += pages;
        self.handles.fill(handle as u8);
    }

    /// Counts `pages` more writes, all with the handle so far.
    pub(super) fn go_on(&mut self, pages: u64) {
        self.clock += pages;
    }

    /// Counts `pages` programs at a write point.
    #[inline(always)]
    pub(super) fn programmed(&mut self, point: u32, pages: usize) {
        if let Some(count) = self.counts.stream_programs.get_mut(point as usize) {
            *count += pages as u64;
        }
    }

    /// A block is going to be collected.
    pub(super) fn collects(&mut self, block: BlockId) -> Victim {
        let opened = self.opened.get(block.index()).copied().unwrap_or(0);
        let victim = Victim { point: self.openers[block.index()].into(), opened };
        if !self.is_of_map(victim.point) {
            self.placement.collected(victim, self.clock);
        }
        victim
    }

    /// The write point of map pages.
    #[inline(always)]
    pub(super) fn is_of_map(&self, point: u32) -> bool {
        point == self.map_point
    }

    /// The write point that opened a block last.
    pub(super) fn opener(&self, block: BlockId) -> u32 {
        self.openers[block.index()].into()
    }

    /// These pages of it are moved.
    pub(super) fn moves(&mut self, victim: Victim, slots: &[u32]) {
        if self.is_of_map(victim.point) {
            return;
        }
        let moves = &mut self.counts.handle_moves;
        if !self.handles.is_empty() {
            for &slot in slots {
                moves[self.handles[slot as usize] as usize] += 1;
            }
        } else if let Some(of_handle) = moves.get_mut((victim.point % self.config.handles) as usize)
        {
            *of_handle += slots.len() as u64;
            // The old version of the page that is being written has its new handle already.
            let (writing, handle) = self.writing;
            if slots.contains(&writing) {
                *of_handle -= 1;
                moves[handle as usize] += 1;
            }
        }
    }

    /// The handle of the last host write of a page, where blocks have pages of several.
    #[inline(always)]
    pub(super) fn handle_of(&self, slot: u32) -> u32 {
        self.handles.get(slot as usize).copied().unwrap_or(0).into()
    }

    /// Brings near what is said of a page.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        if !self.handles.is_empty() {
            prefetch(&self.handles, slot as usize);
        }
        self.placement.prefetch(slot);
    }

    /// Where the next of these pages of the victim go, and how many of them (7.3).
    #[inline]
    pub(super) fn destination(&self, victim: Victim, slots: &[u32]) -> (u32, usize) {
        if self.is_of_map(victim.point) {
            return (victim.point, slots.len());
        }
        let handles = self.config.handles;
        let to = match (self.config.isolation, self.config.gc_stream) {
            (Isolation::Assigned, _) => {
                let class = |slot| self.placement.moved(slot, victim, self.clock);
                let first = class(slots[0]);
                let alike = slots.iter().take_while(|&&slot| class(slot) == first).count();
                return (first, alike);
            }
            (Isolation::Initial, GcStream::Shared) => handles - 1,
            (Isolation::Initial, GcStream::Own) => handles,
            (Isolation::Initial, GcStream::ByGeneration) => {
                handles + u32::from(victim.point >= handles)
            }
            (Isolation::Persistent, GcStream::Shared) => victim.point,
            (Isolation::Persistent, GcStream::Own) => handles + victim.point % handles,
            (Isolation::Persistent, GcStream::ByGeneration) => {
                let generation = if victim.point < handles { handles } else { 2 * handles };
                generation + victim.point % handles
            }
        };
        (to, slots.len())
    }

    /// Counts begin.
    pub(super) fn begin(&mut self) {
        let StreamCounts { handle_programs, handle_moves, stream_programs } = &mut self.counts;
        for counts in [handle_programs, handle_moves, stream_programs] {
            counts.fill(0);
        }
    }

    pub(super) fn counts(&self) -> &StreamCounts {
        &self.counts
    }
}
