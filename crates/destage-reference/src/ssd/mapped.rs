//! The FTLs of `docs/spec/ftl.md` on the device (`docs/spec/device.md` 12): what they make the
//! flash do becomes operations of the planes, in the same order.
//!
//! The FTLs are those of [`crate::ftl`], which know one row of blocks and no time. Block k of the
//! row is block k / planes of plane k mod planes.

use std::collections::BTreeMap;

use super::config::Config;
use super::operation::Kind;
use super::queue::{Decision, Full, Ssd};
use crate::ftl::{Content, Ftl, Place, Work, ftl};

/// An FTL with what the device knows beside it.
pub(crate) struct Mapped {
    ftl: Box<dyn Ftl>,
    /// Operations that programmed a slot since the last erase; none if that was before the run.
    programmed_by: BTreeMap<Place, usize>,
    /// Reads by which the places of pages came into memory, likewise.
    fetches: BTreeMap<u64, Option<usize>>,
    versions: BTreeMap<u64, u64>, // the newest of each page
    writes: u64,
}

impl Mapped {
    pub(crate) fn new(config: &Config) -> Option<Mapped> {
        let (name, params) = config.ftl.as_ref()?;
        let ftl = ftl(name, params).expect("an FTL of the table");
        let programmed_by = BTreeMap::new();
        let (fetches, versions) = (BTreeMap::new(), BTreeMap::new());
        Some(Mapped { ftl, programmed_by, fetches, versions, writes: 0 })
    }

    /// The block that is next in the free queue.
    pub(crate) fn next_block(&self) -> Option<usize> {
        self.ftl.flash().free.front().copied()
    }

    /// The block of the newest version of a page.
    pub(crate) fn block_of(&self, lpn: u64) -> Option<usize> {
        self.ftl.place(lpn).map(|(block, _)| block)
    }

    pub(crate) fn erase_counts(&self) -> &[u64] {
        &self.ftl.flash().erase_counts
    }

    fn count(&mut self, counter: &'static str, by: u64) {
        *self.ftl.flash_mut().counters.entry(counter).or_default() += by;
    }

    /// Counts of the run: what was done before it is forgotten, but for the erases of blocks.
    pub(crate) fn begin(&mut self) {
        self.ftl.flash_mut().counters.clear();
    }

    /// Counters of `docs/spec/ftl.md` 1.4.
    pub(crate) fn counters(&self) -> BTreeMap<&'static str, u64> {
        let flash = self.ftl.flash();
        let mut counters = flash.counters.clone();
        counters.insert("free_blocks", flash.free.len() as u64);
        counters
    }
}

impl Ssd {
    /// A page read of the host; its operation, unless the page was never written.
    pub(super) fn read_through(&mut self, lpn: u64) -> Result<Option<usize>, Full> {
        let mapped = self.mapped.as_mut().expect("another FTL");
        let found = mapped.ftl.read(lpn).map_err(|_| Full)?;
        let newest = mapped.versions.get(&lpn);
        let newest = newest.map(|&version| Content::Data { lpn, version });
        assert_eq!(found, newest, "a read returns the newest version");
        mapped.count("host_reads", 1);
        mapped.count("unmapped_reads", u64::from(found.is_none()));
        Ok(self.submit_work(lpn))
    }

    /// A page write of the host; its operation, but for preconditioning.
    pub(super) fn write_through(&mut self, lpn: u64) -> Result<Option<usize>, Full> {
        let mapped = self.mapped.as_mut().expect("another FTL");
        mapped.writes += 1;
        mapped.versions.insert(lpn, mapped.writes);
        mapped.ftl.write(lpn, mapped.writes).map_err(|_| Full)?;
        mapped.count("host_writes", 1);
        Ok(self.submit_work(lpn))
    }

    /// Submits what the FTL has done for a page; the operation of the host's own page, if there is
    /// one.
    fn submit_work(&mut self, lpn: u64) -> Option<usize> {
        let mapped = self.mapped.as_mut().expect("another FTL");
        let mut own = None;
        let mut old = None; // the read of the map page of which a new version is programmed next
        for work in std::mem::take(&mut mapped.ftl.flash_mut().work) {
            let mapped = self.mapped.as_ref().expect("another FTL");
            let fetch = mapped.fetches.get(&lpn).copied().flatten();
            match work {
                Work::Read { from, host: true } => own = self.decide_read(from, false, fetch),
                Work::Program { to, host: true } => {
                    own = self.decide_program(to, false, fetch, None);
                }
                Work::LookUp { lpn, from } => {
                    let read = from.and_then(|from| self.decide_read(from, true, None));
                    let mapped = self.mapped.as_mut().expect("another FTL");
                    mapped.fetches.insert(lpn, read);
                }
                Work::Read { from, host: false } => old = self.decide_read(from, true, None),
                Work::Program { to, host: false } => {
                    self.decide_program(to, true, old.take(), None);
                }
                Work::Copy { from, to } => self.decide_copy(from, to),
                Work::Erase { block } => self.decide_erase(block),
            }
        }
        own
    }

    fn decide_read(
        &mut self,
        from: Place,
        collection: bool,
        fetch: Option<usize>,
    ) -> Option<usize> {
        let mapped = self.mapped.as_ref().expect("another FTL");
        let by = mapped.programmed_by.get(&from).copied();
        let (block, page) = (self.block(from.0), from.1 as u64);
        let reads = Some(block);
        let of = Decision::of(Kind::R { page, slc: false }, block.0);
        self.decide(Decision { collection, by, reads, fetch, ..of })
    }

    /// `copies`: the block that holds the page until then.
    fn decide_program(
        &mut self,
        to: Place,
        collection: bool,
        fetch: Option<usize>,
        copies: Option<usize>,
    ) -> Option<usize> {
        let (block, page) = (self.block(to.0), to.1 as u64);
        let (programs, copies) = (Some(block), copies.map(|block| self.block(block)));
        let of = Decision::of(Kind::W { page, slc: false }, block.0);
        let by = self.decide(Decision { collection, programs, copies, fetch, ..of });
        self.note_program(to, by);
        by
    }

    /// "A copy within a plane is an M, between planes an R on the source's unit and then a W on the
    /// target's, both collection operations."
    fn decide_copy(&mut self, from: Place, to: Place) {
        let (source, target) = (self.block(from.0), self.block(to.0));
        if source.0 != target.0 {
            let read = self.decide_read(from, true, None);
            self.decide_program(to, true, read, Some(from.0));
            return;
        }
        let kind = Kind::M { from: from.1 as u64, to: to.1 as u64, fold: false };
        let (leaves, programs) = (Some(source), Some(target));
        let of = Decision::of(kind, target.0);
        let by = self.decide(Decision { collection: true, leaves, programs, ..of });
        self.note_program(to, by);
    }

    fn decide_erase(&mut self, block: usize) {
        let erases = Some(self.block(block));
        let of = Decision::of(Kind::E { slc: false }, self.plane_of_block(block));
        self.decide(Decision { collection: true, erases, ..of });
        let mapped = self.mapped.as_mut().expect("another FTL");
        mapped.programmed_by.retain(|&(other, _), _| other != block);
    }

    fn note_program(&mut self, place: Place, by: Option<usize>) {
        let mapped = self.mapped.as_mut().expect("another FTL");
        if let Some(by) = by {
            mapped.programmed_by.insert(place, by);
        }
    }

    /// Plane and number of a block of the row.
    fn block(&self, block: usize) -> (usize, usize) {
        (self.plane_of_block(block), block)
    }

    pub(super) fn plane_of_block(&self, block: usize) -> usize {
        block % self.config.planes()
    }
}
