//! Planes, blocks and pages, and the page-mapped FTL over them: placement, programs, collections,
//! preconditioning, and what a collection would cost (`docs/spec/device.md` 5.1 to 5.6 and 6).
//!
//! A page of a block is valid if it is where the mapping says its logical page is; nothing else
//! records that. Free pages, valid pages and victims are counted and looked for each time.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use super::config::{Config, GcMode, Precondition};
use super::host_interface::Isolation;
use super::operation::Kind;
use super::placement::{Event, HostWrite};
use super::queue::{Decision, Full, Ssd};
use super::steps::Open;

/// One page that has been programmed since the last erase.
#[derive(Clone, Copy)]
pub(crate) struct Programmed {
    /// The page, or the map page.
    lpn: u64,
    is_map: bool,
    /// The operation that programmed it, unless that was preconditioning.
    by: Option<usize>,
}

#[derive(Default)]
pub(crate) struct Block {
    pub(crate) erases: u64,
    pages: Vec<Programmed>, // without the summary page
    /// The write point that opened it, and the clock then (`docs/spec/device-today.md` 7).
    write_point: usize,
    opened: u64,
    /// The clock of the last program into it or invalidation of one of its pages
    /// (`docs/spec/collectors.md` 3).
    pub(crate) touched: u64,
}

impl Block {
    pub(super) fn lpn(&self, page: usize) -> u64 {
        self.pages[page].lpn
    }

    pub(super) fn programmed_by(&self, page: usize) -> Option<usize> {
        self.pages[page].by
    }
}

/// A block is free if nothing is programmed, active if the plane says so, else sealed.
pub(crate) struct Plane {
    /// The main area, then the SLC cache.
    pub(crate) blocks: Vec<Block>,
    main: usize, // blocks of the main area
    /// By write point, the block that is open.
    active: Vec<Option<usize>>,
    /// Sealed blocks of the main area, oldest first, and the generator
    /// (`docs/spec/collectors.md` 3).
    pub(crate) queue: Vec<usize>,
    pub(crate) generator: u64,
    /// The collection that goes on in steps.
    pub(super) collecting: Option<Open>,
    slc_active: Option<usize>,
    /// Sealed blocks of the SLC cache; at the front that which was sealed first.
    pub(crate) slc_sealed: VecDeque<usize>,
}

impl Plane {
    pub(crate) fn new(config: &Config, number: usize) -> Plane {
        let blocks = config.blocks_per_plane + config.interface.slc_blocks;
        Plane {
            blocks: (0..blocks).map(|_| Block::default()).collect(),
            main: index(config.blocks_per_plane),
            active: vec![None; config.interface.write_points()],
            queue: Vec::new(),
            generator: config.rule.seed.wrapping_add(number as u64),
            collecting: None,
            slc_active: None,
            slc_sealed: VecDeque::new(),
        }
    }

    fn is_open(&self, block: usize) -> bool {
        self.active.contains(&Some(block)) || self.slc_active == Some(block)
    }

    /// Erase counts of the main area, and of the SLC cache.
    pub(crate) fn erase_counts(&self) -> (Vec<u64>, Vec<u64>) {
        let counts = |blocks: &[Block]| blocks.iter().map(|block| block.erases).collect();
        let (main, slc) = self.blocks.split_at(self.main);
        (counts(main), counts(slc))
    }

    fn free_of(&self, mut blocks: Range<usize>) -> Vec<usize> {
        let free = |&b: &usize| self.blocks[b].pages.is_empty() && !self.is_open(b);
        blocks.by_ref().filter(free).collect()
    }

    fn free_blocks(&self) -> Vec<usize> {
        self.free_of(0..self.main)
    }

    fn slc_free_blocks(&self) -> Vec<usize> {
        self.free_of(self.main..self.blocks.len())
    }

    /// The block to open of those that are free: "dynamic wear levelling".
    fn next_of(&self, free: Vec<usize>) -> usize {
        let next = free.into_iter().min_by_key(|&block| (self.blocks[block].erases, block));
        next.expect("a free block")
    }

    /// Pages of the active block that are programmed; `None` without one. Asked where a plane has
    /// one write point.
    fn active_pages(&self) -> Option<u64> {
        assert_eq!(self.active.len(), 1, "which of the open blocks?");
        Some(self.blocks[self.active[0]?].pages.len() as u64)
    }
}

/// The content of the next page of an active block of the main area.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// The host's, whose data are there at this instant; with the map read that it needs, and
    /// whether it waits for a slot of the buffer.
    Host { ready: u64, fetch: Option<usize>, holds: bool },
    /// Moved from this page of a victim; of map pages or of data.
    Victim { page: u64, block: usize, is_map: bool },
    /// Moved from this page of an SLC block.
    Slc { page: u64, block: usize },
    /// A map page, whose old version this operation reads.
    Map { read: Option<usize> },
}

impl Ssd {
    /// The indices of the valid pages of a block, ascending.
    pub(super) fn valid_pages(&self, plane: usize, block: usize) -> Vec<usize> {
        let pages = self.planes[plane].blocks[block].pages.iter().enumerate();
        let valid = pages.filter(|&(page, programmed)| {
            let place = match (&self.map, programmed.is_map) {
                (Some(map), true) => map.places.get(&programmed.lpn).copied(),
                _ => self.places[index(programmed.lpn)],
            };
            place == Some((plane, block, page))
        });
        valid.map(|(page, _)| page).collect()
    }

    /// Map pages count where they are at home, written or not (`docs/spec/map-cache.md` 3).
    fn valid_pages_of_plane(&self, plane: usize) -> u64 {
        let data = self.places.iter().flatten().filter(|&&(at, _, _)| at == plane).count();
        data as u64 + self.homed_map_pages(plane)
    }

    /// Data pages of a plane that can be programmed without an erase (5.1).
    pub(crate) fn free_pages(&self, plane: usize) -> u64 {
        let d = self.config.data_pages;
        let plane = &self.planes[plane];
        let open = plane.active.iter().flatten();
        let in_open: u64 = open.map(|&block| d - plane.blocks[block].pages.len() as u64).sum();
        d * plane.free_blocks().len() as u64 + in_open
    }

    /// Pages of a plane's SLC cache that can be programmed without an erase.
    pub(crate) fn slc_free_pages(&self, plane: usize) -> u64 {
        let n = self.config.interface.slc_pages_per_block;
        let plane = &self.planes[plane];
        let in_open =
            plane.slc_active.map_or(0, |block| n - plane.blocks[block].pages.len() as u64);
        n * plane.slc_free_blocks().len() as u64 + in_open
    }

    /// The block that a collection would take now (5.4), if it has an invalid page.
    pub(crate) fn victim(&self, plane: usize) -> Option<usize> {
        self.choose(plane, self.clock, &mut self.planes[plane].generator.clone())
    }

    /// The block that a collection would take if a host page write to the plane came next
    /// (`docs/spec/collectors.md` 5).
    pub(super) fn next_victim(&self, plane: usize) -> usize {
        let next = self.choose(plane, self.clock + 1, &mut self.planes[plane].generator.clone());
        next.expect("a collection that is due has a victim")
    }

    fn touch(&mut self, (plane, block, _): (usize, usize, usize)) {
        self.planes[plane].blocks[block].touched = self.clock;
    }

    /// The plane of the page's current version, or its home plane if it was never written.
    pub(crate) fn plane_of(&self, lpn: u64) -> usize {
        let held_by = match &self.mapped {
            Some(mapped) => mapped.block_of(lpn).map(|block| self.plane_of_block(block)),
            None => self.places[index(lpn)].map(|(plane, _, _)| plane),
        };
        held_by.unwrap_or_else(|| self.config.home(lpn))
    }

    /// Where a write of the page would go now (5.2).
    pub(crate) fn target(&self, lpn: u64) -> usize {
        if self.config.places_late() { self.next_plane() } else { self.config.home(lpn) }
    }

    /// The plane that list U answers for (`docs/spec/device-policies.md` 2.2), the same for every
    /// page: the choice of dynamic allocation, or the plane of the block that is next in the free
    /// queue.
    pub(crate) fn next_plane(&self) -> usize {
        if let Some(mapped) = &self.mapped {
            return self.plane_of_block(mapped.next_block().expect("a block is free at rest"));
        }
        let open = |&plane: &usize| self.valid_pages_of_plane(plane) < self.config.cap;
        let units = 0..self.config.units();
        let units = units.filter(|&unit| self.config.planes_of(unit).any(|plane| open(&plane)));
        let key = |&unit: &usize| {
            let free: u64 = self.config.planes_of(unit).map(|plane| self.free_pages(plane)).sum();
            (self.backlog(unit), Reverse(free), unit)
        };
        let unit = units.min_by_key(key).expect("a plane with room for a valid page");
        let planes = self.config.planes_of(unit).filter(open);
        planes.min_by_key(|&plane| (Reverse(self.free_pages(plane)), plane)).expect("an open plane")
    }

    /// Reads a page for the host, not before `ready`; the operation, unless it was never written
    /// and that is free.
    pub(crate) fn read(&mut self, lpn: u64, ready: u64) -> Result<Option<usize>, Full> {
        self.host_pages += 1;
        if self.mapped.is_some() {
            return self.read_through(lpn);
        }
        let fetch = self.look_up(lpn);
        let read = match self.places[index(lpn)] {
            Some((plane, block, page)) => {
                let by = self.planes[plane].blocks[block].pages[page].by;
                let slc = block >= self.planes[plane].main;
                let kind = Kind::R { page: page as u64, slc };
                let reads = Some((plane, block));
                self.decide(Decision { by, ready, reads, fetch, ..Decision::of(kind, plane) })
            }
            None if self.config.unmapped_read_is_free => self.zeros(fetch, ready),
            None => {
                let kind = Kind::R { page: 0, slc: false };
                let plane = self.config.home(lpn);
                self.decide(Decision { ready, fetch, ..Decision::of(kind, plane) })
            }
        };
        self.write_deferred();
        Ok(read)
    }

    /// Writes a page for the host (5.3, `docs/spec/device-today.md` 8.1 and 9.2), whose data are
    /// there at `ready`; the operation, but for preconditioning.
    pub(crate) fn write(
        &mut self,
        lpn: u64,
        size: u64,
        label: u64,
        ready: u64,
        holds: bool,
    ) -> Result<Option<usize>, Full> {
        self.host_pages += 1;
        if self.mapped.is_some() {
            return self.write_through(lpn);
        }
        self.clock += 1;
        self.history.push(Event::Write(lpn));
        let clock = self.clock;
        let handle = self.placement.handle(&HostWrite { page: lpn, size, label, clock });
        self.handles[index(lpn)] = handle;
        let fetch = self.look_up(lpn);
        let program = self.write_page(lpn, handle, (ready, fetch, holds));
        self.note_written(lpn);
        self.write_deferred();
        Ok(program)
    }

    /// The page goes to its plane.
    fn write_page(
        &mut self,
        lpn: u64,
        handle: usize,
        waits: (u64, Option<usize>, bool),
    ) -> Option<usize> {
        let plane = self.target(lpn);
        if !self.preconditioning {
            self.tallies.handle_programs[handle] += 1;
        }
        let past_it = self.preconditioning && !self.fills_slc;
        let main_only = self.config.interface.slc_blocks == 0 || past_it;
        if !main_only {
            if self.config.interface.slc_folds {
                self.fold_for_room(plane);
            }
            if self.slc_has_room(plane) {
                return self.program_slc(lpn, plane, waits);
            }
        }
        if self.config.gc_mode != GcMode::Background {
            self.make_room(plane);
        }
        let (ready, fetch, holds) = waits;
        let program = self.program(lpn, plane, handle, Source::Host { ready, fetch, holds });
        if self.config.gc_mode == GcMode::Background {
            self.make_room(plane);
        }
        program
    }

    /// A trim of the page; whether it was mapped (`docs/spec/device-today.md` 4.1).
    pub(crate) fn trim(&mut self, lpn: u64) -> bool {
        let place = self.places[index(lpn)].take();
        let was_mapped = place.is_some();
        if let Some(place) = place {
            self.touch(place);
            self.history.push(Event::Trim(lpn));
            self.placement.trimmed(lpn);
        }
        was_mapped
    }

    pub(super) fn collect_while_low(&mut self, plane: usize) {
        while self.free_pages(plane) <= self.config.gc_low_pages && self.victim(plane).is_some() {
            self.collect(plane);
        }
    }

    /// Steps 3 to 5 of 5.3: a page goes to a write point of a plane.
    pub(super) fn program(
        &mut self,
        lpn: u64,
        plane: usize,
        write_point: usize,
        source: Source,
    ) -> Option<usize> {
        let state = &mut self.planes[plane];
        let active = state.active[write_point].unwrap_or_else(|| {
            let block = state.next_of(state.free_blocks());
            state.blocks[block].write_point = write_point;
            state.blocks[block].opened = self.clock;
            block
        });
        state.active[write_point] = Some(active);
        let page = state.blocks[active].pages.len();
        let to = page as u64;

        let moved = matches!(source, Source::Victim { .. } | Source::Slc { .. });
        let is_map = matches!(source, Source::Map { .. } | Source::Victim { is_map: true, .. });
        let w = Kind::W { page: to, slc: false };
        let programs = Some((plane, active));
        let by = self.decide(match source {
            Source::Host { ready, fetch, holds } => {
                Decision { ready, fetch, holds, programs, ..Decision::of(w, plane) }
            }
            Source::Victim { page: from, block, .. } => {
                let kind = Kind::M { from, to, fold: false };
                let leaves = Some((plane, block));
                Decision {
                    collection: true,
                    moves_map: is_map,
                    leaves,
                    programs,
                    ..Decision::of(kind, plane)
                }
            }
            Source::Slc { page: from, block } => {
                let kind = Kind::M { from, to, fold: true };
                let leaves = Some((plane, block));
                Decision { collection: true, leaves, programs, ..Decision::of(kind, plane) }
            }
            Source::Map { read } => {
                Decision { map: true, fetch: read, programs, ..Decision::of(w, plane) }
            }
        });
        self.planes[plane].blocks[active].pages.push(Programmed { lpn, is_map, by });
        let place = (plane, active, page);
        let old = match (&mut self.map, is_map) {
            (Some(map), true) => map.places.insert(lpn, place),
            _ => self.places[index(lpn)].replace(place),
        };
        if let Some(old) = old {
            self.touch(old);
        }
        self.touch((plane, active, page));
        if !self.preconditioning {
            self.tallies.stream_programs[write_point] += 1;
        }

        if to + 1 == self.config.data_pages {
            self.planes[plane].active[write_point] = None;
            self.planes[plane].queue.push(active);
            if self.config.summary_page {
                self.decide(Decision {
                    collection: moved,
                    programs,
                    ..Decision::of(Kind::S, plane)
                });
            }
        }
        by
    }

    /// Collects one block of a plane (5.4), which has a victim.
    pub(super) fn collect(&mut self, plane: usize) {
        let (victim, write_point) = self.begin_collection(plane);
        for page in self.valid_pages(plane, victim) {
            self.move_page(plane, victim, write_point, page);
        }
        self.end_collection(plane, victim);
    }

    /// The rule names the victim, which this write point had opened.
    pub(super) fn begin_collection(&mut self, plane: usize) -> (usize, usize) {
        let mut generator = self.planes[plane].generator;
        let victim = self.choose(plane, self.clock, &mut generator);
        let victim = victim.expect("a collection has a victim");
        self.planes[plane].generator = generator;
        self.planes[plane].queue.retain(|&block| block != victim);
        let block = &self.planes[plane].blocks[victim];
        let (write_point, opened) = (block.write_point, block.opened);
        if write_point != self.config.interface.streams() {
            self.placement.victim(write_point, opened, self.clock);
        }
        if !self.preconditioning {
            self.tallies.gc_runs += 1;
        }
        (victim, write_point)
    }

    /// The victim has no valid page any more.
    pub(super) fn end_collection(&mut self, plane: usize, victim: usize) {
        self.submit_erase(plane, victim, false);
        self.erase(plane, victim);
    }

    fn submit_erase(&mut self, plane: usize, block: usize, slc: bool) {
        self.decide(Decision {
            collection: true,
            erases: Some((plane, block)),
            ..Decision::of(Kind::E { slc }, plane)
        });
    }

    fn erase(&mut self, plane: usize, block: usize) {
        let block = &mut self.planes[plane].blocks[block];
        block.pages.clear();
        block.erases += 1;
    }

    /// Where a page of a victim goes that this write point had filled
    /// (`docs/spec/device-today.md` 7.3).
    pub(super) fn destination(&mut self, write_point: usize, lpn: u64) -> usize {
        if write_point == self.config.interface.streams() {
            return write_point; // map pages
        }
        let handles = self.config.interface.handles;
        let own = self.config.interface.own_gc_stream;
        let later = write_point >= handles; // collected before
        match self.config.interface.isolation {
            Isolation::Initial if self.config.interface.by_generation => {
                handles + usize::from(later)
            }
            Isolation::Persistent if self.config.interface.by_generation => {
                handles * (1 + usize::from(later)) + write_point % handles
            }
            Isolation::Initial if own => handles,
            Isolation::Initial => handles - 1,
            Isolation::Persistent if own => handles + write_point % handles,
            Isolation::Persistent => write_point,
            Isolation::Assigned => self.placement.moved(lpn, write_point, self.clock),
        }
    }

    /// "if it has an open block or a free one" (`docs/spec/device-today.md` 9.2)
    pub(super) fn slc_has_room(&self, plane: usize) -> bool {
        let plane = &self.planes[plane];
        plane.slc_active.is_some() || !plane.slc_free_blocks().is_empty()
    }

    /// A host program in the SLC cache, which has room.
    fn program_slc(
        &mut self,
        lpn: u64,
        plane: usize,
        (ready, fetch, holds): (u64, Option<usize>, bool),
    ) -> Option<usize> {
        let state = &mut self.planes[plane];
        let open = state.slc_active.unwrap_or_else(|| state.next_of(state.slc_free_blocks()));
        state.slc_active = Some(open);
        let page = state.blocks[open].pages.len();
        let kind = Kind::W { page: page as u64, slc: true };
        let programs = Some((plane, open));
        let by =
            self.decide(Decision { ready, fetch, holds, programs, ..Decision::of(kind, plane) });
        let state = &mut self.planes[plane];
        state.blocks[open].pages.push(Programmed { lpn, is_map: false, by });
        if page as u64 + 1 == self.config.interface.slc_pages_per_block {
            state.slc_active = None;
            state.slc_sealed.push_back(open);
        }
        if let Some(old) = self.places[index(lpn)].replace((plane, open, page)) {
            self.touch(old);
        }
        by
    }

    /// Folds the SLC block of a plane that was sealed first (`docs/spec/device-today.md` 9.3).
    pub(crate) fn fold(&mut self, plane: usize) {
        self.fold_pages(plane, usize::MAX);
    }

    /// So many pages of it, and the erase if none is left.
    pub(super) fn fold_pages(&mut self, plane: usize, most: usize) {
        let block = *self.planes[plane].slc_sealed.front().expect("a sealed SLC block");
        for page in self.valid_pages(plane, block).into_iter().take(most) {
            let Programmed { lpn, .. } = self.planes[plane].blocks[block].pages[page];
            if self.config.gc_mode != GcMode::Background {
                self.make_room(plane);
            }
            // Where a host page of its handle would go.
            let handle = self.handles[index(lpn)];
            self.program(lpn, plane, handle, Source::Slc { page: page as u64, block });
            self.note_moved(lpn);
            if self.config.gc_mode == GcMode::Background {
                self.make_room(plane);
            }
        }
        if !self.valid_pages(plane, block).is_empty() {
            return;
        }
        self.submit_erase(plane, block, true);
        self.erase(plane, block);
        self.planes[plane].slc_sealed.pop_front();
        self.tallies.slc_folds += u64::from(!self.preconditioning);
    }

    /// The time by which a collection would delay a program submitted to a plane now (6).
    pub(crate) fn gc_cost(&self, plane: usize) -> u64 {
        if !self.collection_is_due(plane) {
            return 0;
        }
        let (moves, erases) = self.next_moves(plane);
        let mut to = self.planes[plane].active_pages().unwrap_or(0);
        let mut cost = 0;
        for from in moves {
            cost += self.config.private_duration(Kind::M { from: from as u64, to, fold: false });
            to += 1;
            if to == self.config.data_pages {
                to = 0;
                if self.config.summary_page {
                    cost += self.config.private_duration(Kind::S);
                }
            }
        }
        let erase = self.config.private_duration(Kind::E { slc: false });
        cost + if erases { erase } else { 0 }
    }

    /// Pages of the active block not yet programmed, the summary page included; a whole block
    /// without an active one (`docs/spec/device-policies.md` 3.2).
    pub(crate) fn unprogrammed_pages(&self, plane: usize) -> u64 {
        self.config.pages_per_block - self.planes[plane].active_pages().unwrap_or(0)
    }

    /// Brings the device to its state at time 0 (5.6).
    pub(crate) fn precondition(&mut self) -> Result<(), Full> {
        if self.config.precondition == Precondition::None {
            return Ok(());
        }
        let size = self.config.page_bytes;
        for lpn in 0..self.config.logical_pages {
            self.write(lpn, size, 0, 0, false)?;
        }
        let mut state = self.config.precondition_seed;
        match self.config.precondition {
            Precondition::Random => {
                self.write_random(self.config.precondition_writes, &mut state)?
            }
            Precondition::Steady => self.write_until_steady(&mut state)?,
            _ => {}
        }
        if self.config.precondition_ends_high && self.config.gc_mode == GcMode::Idle {
            for plane in 0..self.planes.len() {
                while self.free_pages(plane) < self.config.gc_high_pages
                    && self.victim(plane).is_some()
                {
                    self.collect(plane);
                    self.write_deferred();
                }
            }
        }
        Ok(())
    }

    fn write_random(&mut self, writes: u64, state: &mut u64) -> Result<(), Full> {
        for _ in 0..writes {
            let r = split_mix_64(state);
            let lpn = (u128::from(r) * u128::from(self.config.logical_pages)) >> 64;
            let lpn = u64::try_from(lpn).expect("below the logical pages");
            self.write(lpn, self.config.page_bytes, 0, 0, false)?;
        }
        Ok(())
    }

    /// Rounds of a quarter of the pages, at most 64, until the programs of two in a row that erased
    /// blocks differ by less than 1 %.
    fn write_until_steady(&mut self, state: &mut u64) -> Result<(), Full> {
        let round = (self.config.logical_pages / 4).max(1);
        self.fills_slc = true;
        let mut last = None;
        for _ in 0..64 {
            let (programs, erases) = self.programs_and_erases();
            self.write_random(round, state)?;
            let (programs_now, erases_now) = self.programs_and_erases();
            let this = (erases_now > erases).then_some(programs_now - programs);
            if let (Some(last), Some(this)) = (last, this) {
                let last: u64 = last;
                if 100 * last.abs_diff(this) < last {
                    return Ok(());
                }
            }
            last = this;
        }
        Ok(())
    }

    /// Data pages that were ever programmed, and blocks of the main area that were ever erased.
    fn programs_and_erases(&self) -> (u64, u64) {
        if let Some(mapped) = &self.mapped {
            let counters = mapped.counters();
            let count = |name: &str| counters.get(name).copied().unwrap_or(0);
            return (count("flash_programs"), count("erases"));
        }
        let programs = |plane: &Plane| {
            let (main, slc) = plane.blocks.split_at(plane.main);
            let of = |blocks: &[Block], pages: u64| {
                blocks.iter().map(|b| b.erases * pages + b.pages.len() as u64).sum::<u64>()
            };
            of(main, self.config.data_pages) + of(slc, self.config.interface.slc_pages_per_block)
        };
        let erases = |plane: &Plane| plane.erase_counts().0.iter().sum::<u64>();
        (self.planes.iter().map(programs).sum(), self.planes.iter().map(erases).sum())
    }
}

pub(super) fn split_mix_64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn index(lpn: u64) -> usize {
    usize::try_from(lpn).expect("few pages")
}
