//! Planes, blocks and pages, and the page-mapped FTL over them: placement, programs, collections,
//! preconditioning, and what a collection would cost (`docs/spec/device.md` 5.1 to 5.6 and 6).
//!
//! A page of a block is valid if it is where the mapping says its logical page is; nothing else
//! records that. Free pages, valid pages and victims are counted and looked for each time.

use std::cmp::Reverse;

use super::config::{Config, GcMode, Precondition};
use super::operation::Kind;
use super::queue::{Full, Ssd};

/// One page that has been programmed since the last erase.
pub(crate) struct Programmed {
    lpn: u64,
    /// The operation that programmed it, unless that was preconditioning.
    by: Option<usize>,
}

#[derive(Default)]
pub(crate) struct Block {
    pub(crate) erases: u64,
    pages: Vec<Programmed>, // without the summary page
}

/// A block is free if nothing is programmed, active if the plane says so, else sealed.
pub(crate) struct Plane {
    pub(crate) blocks: Vec<Block>,
    active: Option<usize>,
}

impl Plane {
    pub(crate) fn new(config: &Config) -> Plane {
        Plane {
            blocks: (0..config.blocks_per_plane).map(|_| Block::default()).collect(),
            active: None,
        }
    }

    fn free_blocks(&self) -> Vec<usize> {
        let all = 0..self.blocks.len();
        all.filter(|&b| self.blocks[b].pages.is_empty() && self.active != Some(b)).collect()
    }

    fn sealed_blocks(&self) -> Vec<usize> {
        let all = 0..self.blocks.len();
        all.filter(|&b| !self.blocks[b].pages.is_empty() && self.active != Some(b)).collect()
    }

    /// Pages of the active block that are programmed; `None` without one.
    fn active_pages(&self) -> Option<u64> {
        Some(self.blocks[self.active?].pages.len() as u64)
    }
}

/// What goes into the next page of an active block.
#[derive(Clone, Copy)]
enum Source {
    Host,
    /// Moved from this page of a victim.
    Victim(u64),
}

impl Ssd {
    /// The indices of the valid pages of a block, ascending.
    fn valid_pages(&self, plane: usize, block: usize) -> Vec<usize> {
        let pages = self.planes[plane].blocks[block].pages.iter().enumerate();
        let valid = pages.filter(|&(page, programmed)| {
            self.places[index(programmed.lpn)] == Some((plane, block, page))
        });
        valid.map(|(page, _)| page).collect()
    }

    fn valid_pages_of_plane(&self, plane: usize) -> u64 {
        let blocks = 0..self.planes[plane].blocks.len();
        blocks.map(|block| self.valid_pages(plane, block).len() as u64).sum()
    }

    /// Data pages of a plane that can be programmed without an erase (5.1).
    pub(crate) fn free_pages(&self, plane: usize) -> u64 {
        let d = self.config.data_pages;
        let plane = &self.planes[plane];
        let in_active = plane.active_pages().map_or(0, |programmed| d - programmed);
        d * plane.free_blocks().len() as u64 + in_active
    }

    /// The block that a collection would take now (5.4), if it has an invalid page.
    pub(crate) fn victim(&self, plane: usize) -> Option<usize> {
        let sealed = self.planes[plane].sealed_blocks();
        let key = |&block: &usize| {
            let erases = self.planes[plane].blocks[block].erases;
            (self.valid_pages(plane, block).len(), erases, block)
        };
        let victim = sealed.into_iter().min_by_key(key)?;
        let invalid = self.config.data_pages - self.valid_pages(plane, victim).len() as u64;
        (invalid > 0).then_some(victim)
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

    /// Whether the next program on a plane starts a collection (5.3 step 2, 6).
    pub(crate) fn collection_is_due(&self, plane: usize) -> bool {
        self.mapped.is_none()
            && self.config.gc_mode != GcMode::Background
            && self.free_pages(plane) <= self.config.gc_low_pages
            && self.victim(plane).is_some()
    }

    /// Reads a page for the host; the operation, unless it was never written and that is free.
    pub(crate) fn read(&mut self, lpn: u64) -> Result<Option<usize>, Full> {
        self.host_pages += 1;
        if self.mapped.is_some() {
            return self.read_through(lpn);
        }
        Ok(match self.places[index(lpn)] {
            Some((plane, block, page)) => {
                let by = self.planes[plane].blocks[block].pages[page].by;
                self.submit(Kind::R { page: page as u64 }, plane, false, by)
            }
            None if self.config.unmapped_read_is_free => None,
            None => self.submit(Kind::R { page: 0 }, self.config.home(lpn), false, None),
        })
    }

    /// Writes a page for the host (5.3); the operation, but for preconditioning.
    pub(crate) fn write(&mut self, lpn: u64) -> Result<Option<usize>, Full> {
        self.host_pages += 1;
        if self.mapped.is_some() {
            return self.write_through(lpn);
        }
        let plane = self.target(lpn);
        if self.config.gc_mode != GcMode::Background {
            self.collect_while_low(plane);
        }
        let program = self.program(lpn, plane, Source::Host);
        if self.config.gc_mode == GcMode::Background {
            self.collect_while_low(plane);
        }
        Ok(program)
    }

    fn collect_while_low(&mut self, plane: usize) {
        while self.free_pages(plane) <= self.config.gc_low_pages && self.victim(plane).is_some() {
            self.collect(plane);
        }
    }

    /// Steps 3 to 5 of 5.3.
    fn program(&mut self, lpn: u64, plane: usize, source: Source) -> Option<usize> {
        let state = &mut self.planes[plane];
        let active = state.active.unwrap_or_else(|| {
            let free = state.free_blocks().into_iter();
            free.min_by_key(|&block| (state.blocks[block].erases, block)).expect("a free block")
        });
        state.active = Some(active);
        let page = state.blocks[active].pages.len();

        let moved = matches!(source, Source::Victim(_));
        let kind = match source {
            Source::Host => Kind::W { page: page as u64 },
            Source::Victim(from) => Kind::M { from, to: page as u64 },
        };
        let by = self.submit(kind, plane, moved, None);
        self.planes[plane].blocks[active].pages.push(Programmed { lpn, by });
        self.places[index(lpn)] = Some((plane, active, page));

        if page as u64 + 1 == self.config.data_pages {
            self.planes[plane].active = None;
            if self.config.summary_page {
                self.submit(Kind::S, plane, moved, None);
            }
        }
        by
    }

    /// Collects one block of a plane (5.4), which has a victim.
    pub(crate) fn collect(&mut self, plane: usize) {
        let victim = self.victim(plane).expect("a collection has a victim");
        for page in self.valid_pages(plane, victim) {
            let lpn = self.planes[plane].blocks[victim].pages[page].lpn;
            self.program(lpn, plane, Source::Victim(page as u64));
        }
        self.submit(Kind::E, plane, true, None);
        let block = &mut self.planes[plane].blocks[victim];
        block.pages.clear();
        block.erases += 1;
        if !self.preconditioning {
            self.gc_runs += 1;
        }
    }

    /// The time by which a collection would delay a program submitted to a plane now (6).
    pub(crate) fn gc_cost(&self, plane: usize) -> u64 {
        if !self.collection_is_due(plane) {
            return 0;
        }
        let victim = self.victim(plane).expect("a collection that is due has a victim");
        let mut to = self.planes[plane].active_pages().unwrap_or(0);
        let mut cost = 0;
        for from in self.valid_pages(plane, victim) {
            cost += self.config.private_duration(Kind::M { from: from as u64, to });
            to += 1;
            if to == self.config.data_pages {
                to = 0;
                if self.config.summary_page {
                    cost += self.config.private_duration(Kind::S);
                }
            }
        }
        cost + self.config.private_duration(Kind::E)
    }

    /// Valid pages of the block that the next collection of a plane takes.
    pub(crate) fn valid_pages_of_victim(&self, plane: usize) -> u64 {
        let victim = self.victim(plane).expect("a collection that is due has a victim");
        self.valid_pages(plane, victim).len() as u64
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
        for lpn in 0..self.config.logical_pages {
            self.write(lpn)?;
        }
        if self.config.precondition == Precondition::Random {
            let mut state = self.config.precondition_seed;
            for _ in 0..self.config.precondition_writes {
                let r = split_mix_64(&mut state);
                let lpn = (u128::from(r) * u128::from(self.config.logical_pages)) >> 64;
                self.write(u64::try_from(lpn).expect("below the logical pages"))?;
            }
        }
        Ok(())
    }
}

fn split_mix_64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn index(lpn: u64) -> usize {
    usize::try_from(lpn).expect("few pages")
}
