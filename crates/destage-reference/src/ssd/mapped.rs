//! The FTLs of `docs/spec/ftl.md` on the device (`docs/spec/device.md` 12): what they make the
//! flash do becomes operations of the planes, in the same order.
//!
//! The FTLs are those of [`crate::ftl`], which know one row of blocks and no time. Block k of the
//! row is block k / planes of plane k mod planes.

use std::collections::BTreeMap;

use super::config::Config;
use super::operation::Kind;
use super::queue::{Full, Ssd};
use crate::ftl::{Content, Ftl, Place, Work, ftl};

/// An FTL with what the device knows beside it.
pub(crate) struct Mapped {
    ftl: Box<dyn Ftl>,
    /// Operations that programmed a slot since the last erase; none if that was before the run.
    programmed_by: BTreeMap<Place, usize>,
    versions: BTreeMap<u64, u64>, // the newest of each page
    writes: u64,
}

impl Mapped {
    pub(crate) fn new(config: &Config) -> Option<Mapped> {
        let (name, params) = config.ftl.as_ref()?;
        let ftl = ftl(name, params).expect("an FTL of the table");
        let (programmed_by, versions) = (BTreeMap::new(), BTreeMap::new());
        Some(Mapped { ftl, programmed_by, versions, writes: 0 })
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
        Ok(self.submit_work())
    }

    /// A page write of the host; its operation, but for preconditioning.
    pub(super) fn write_through(&mut self, lpn: u64) -> Result<Option<usize>, Full> {
        let mapped = self.mapped.as_mut().expect("another FTL");
        mapped.writes += 1;
        mapped.versions.insert(lpn, mapped.writes);
        mapped.ftl.write(lpn, mapped.writes).map_err(|_| Full)?;
        mapped.count("host_writes", 1);
        Ok(self.submit_work())
    }

    /// Submits what the FTL has done; the operation of the host's own page, if there is one.
    fn submit_work(&mut self) -> Option<usize> {
        let mapped = self.mapped.as_mut().expect("another FTL");
        let mut own = None;
        for work in std::mem::take(&mut mapped.ftl.flash_mut().work) {
            match work {
                Work::Read { from, host: true } => own = self.submit_read(from, false),
                Work::Program { to, host: true } => own = self.submit_program(to, false),
                Work::Read { from, host: false } => _ = self.submit_read(from, true),
                Work::Program { to, host: false } => _ = self.submit_program(to, true),
                Work::Copy { from, to } => self.submit_copy(from, to),
                Work::Erase { block } => {
                    self.submit(Kind::E { slc: false }, self.plane_of_block(block), true, None, 0);
                    let mapped = self.mapped.as_mut().expect("another FTL");
                    mapped.programmed_by.retain(|&(other, _), _| other != block);
                }
            }
        }
        own
    }

    fn submit_read(&mut self, (block, slot): Place, collection: bool) -> Option<usize> {
        let mapped = self.mapped.as_ref().expect("another FTL");
        let by = mapped.programmed_by.get(&(block, slot)).copied();
        let page = slot as u64;
        self.submit(Kind::R { page, slc: false }, self.plane_of_block(block), collection, by, 0)
    }

    fn submit_program(&mut self, (block, slot): Place, collection: bool) -> Option<usize> {
        let page = slot as u64;
        let by = self.submit(
            Kind::W { page, slc: false },
            self.plane_of_block(block),
            collection,
            None,
            0,
        );
        self.note_program((block, slot), by);
        by
    }

    /// "A copy within a plane is an M, between planes an R on the source's unit and a W on the
    /// target's, both collection operations, neither waiting for the other."
    fn submit_copy(&mut self, from: Place, to: Place) {
        let plane = self.plane_of_block(from.0);
        if plane != self.plane_of_block(to.0) {
            self.submit_read(from, true);
            self.submit_program(to, true);
            return;
        }
        let kind = Kind::M { from: from.1 as u64, to: to.1 as u64, fold: false };
        let by = self.submit(kind, plane, true, None, 0);
        self.note_program(to, by);
    }

    fn note_program(&mut self, place: Place, by: Option<usize>) {
        let mapped = self.mapped.as_mut().expect("another FTL");
        if let Some(by) = by {
            mapped.programmed_by.insert(place, by);
        }
    }

    pub(super) fn plane_of_block(&self, block: usize) -> usize {
        block % self.config.planes()
    }
}
