//! Trims and zeroes (`docs/spec/pool.md` 7).

use crate::decide::{Access, Work};
use crate::held;
use crate::lock::lock;
use crate::record::Recorded;
use crate::requests::Source;
use crate::shared::Shared;
use crate::store::Store;
use destage_core::Op;
use std::io;
use std::ops::Range;

impl<S: Store> Shared<S> {
    /// Pages wholly inside a range of bytes.
    fn whole_pages(&self, bytes: &Range<u64>) -> Range<u64> {
        let page_bytes = u64::from(self.options.page_bytes);
        let first = bytes.start.div_ceil(page_bytes);
        first..(bytes.end / page_bytes).max(first)
    }

    /// Trims the pages wholly inside the range.
    ///
    /// # Errors
    ///
    /// The store's, but for [`io::ErrorKind::Unsupported`].
    pub(crate) fn trim(&self, bytes: &Range<u64>) -> io::Result<()> {
        let pages = self.whole_pages(bytes);
        held::check(self, &pages, false)?;
        held::drain(self);
        let mut core = self.core_for(&pages);
        core.record(Recorded::Trim, bytes);
        core.forget(&self.table, &pages);
        if pages.is_empty() {
            return Ok(());
        }
        core.trimming.push(pages.clone());
        drop(core);
        match self.discard(&pages) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            result => result,
        }
    }

    /// Makes a range zero: its whole pages as a trim does, its ends as writes.
    ///
    /// # Errors
    ///
    /// The store's.
    pub(crate) fn zero(&self, bytes: &Range<u64>) -> io::Result<()> {
        let whole = self.whole_pages(bytes);
        if whole.is_empty() || !self.can_discard() {
            return self.write_bytes(bytes, Source::Zeros);
        }
        let pages = self.pages_of(bytes);
        held::check(self, &pages, true)?;
        held::drain(self);
        self.make_room()?;
        let page_bytes = u64::from(self.options.page_bytes);
        let middle = whole.start * page_bytes..whole.end * page_bytes;
        let ends = [bytes.start..middle.start, middle.end..bytes.end];
        let mut work = Work::default();
        let mut core = self.core_for(&pages);
        let mut accesses = [Vec::new(), Vec::new()];
        for (at, end) in ends.iter().enumerate() {
            if at == 1 {
                core.record(Recorded::Trim, &middle);
                core.forget(&self.table, &whole);
                core.trimming.push(whole.clone());
            }
            if !end.is_empty() {
                accesses[at] = self.decide(&mut core, end, Op::Write, &mut work);
            }
        }
        drop(core);
        self.finish(work);
        let mut discarded = self.discard(&whole);
        if matches!(&discarded, Err(error) if error.kind() == io::ErrorKind::Unsupported) {
            // The store could, and cannot any more: zeros are written past the policy.
            discarded = self.write_decided(&middle, self.undecided(&whole), Source::Zeros);
        }
        let written = ends
            .iter()
            .zip(accesses)
            .map(|(end, accesses)| self.write_decided(end, accesses, Source::Zeros));
        written.fold(discarded, |all, one| all.and(one))
    }

    /// Accesses that the policy does not see.
    fn undecided(&self, pages: &Range<u64>) -> Vec<Option<Access>> {
        let access = |page| {
            let frame = self.table.with_new(page, |state| {
                state.users += 1;
                state.fillers += 1;
            });
            Some(Access { frame, op: Op::Write, fills: true, missed: false, through: false })
        };
        pages.clone().map(access).collect()
    }

    /// Whether the store makes pages zero by discarding them.
    pub(crate) fn can_discard(&self) -> bool {
        !matches!(self.store.discard(0..0), Err(e) if e.kind() == io::ErrorKind::Unsupported)
    }

    /// Discards pages that the policy has forgotten, and ends their trim. Their bytes leave memory
    /// unless the store fails.
    fn discard(&self, pages: &Range<u64>) -> io::Result<()> {
        let taken = self.in_flight.take_range(pages.clone());
        let failures = *self.sync.failures.read().expect("no holder of this lock panics");
        let result = self.store.discard(pages.clone());
        let is_unsupported =
            matches!(&result, Err(error) if error.kind() == io::ErrorKind::Unsupported);
        if result.is_ok() || is_unsupported {
            if let Some(sums) = &self.sums {
                sums.forget_all(pages);
            }
            for page in self.table.pages_in(pages) {
                self.table.drop_bytes(page);
            }
        }
        if result.is_ok() && !self.store.writes_are_durable() {
            let now = self.sync.failures.read().expect("no holder of this lock panics");
            let mut discards = lock(&self.sync.discards);
            match *now == failures {
                true => discards.unsynced.push(pages.clone()),
                false => discards.repeat.push(pages.clone()),
            }
        }
        drop(taken);
        self.end_trim(pages);
        result
    }
}
