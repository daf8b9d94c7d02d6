//! Trims and zeroes (`docs/spec/pool.md` 7).

use crate::decide::Core;
use crate::held;
use crate::lock::lock;
use crate::requests::{Pending, Source};
use crate::shared::Shared;
use crate::store::Store;
use crate::work::{Access, Accesses, Asked, Done, Work};
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
    pub(crate) fn trim(&self, bytes: &Range<u64>) -> io::Result<Done> {
        let pages = self.whole_pages(bytes);
        held::check(self, &pages, false)?;
        held::drain(self);
        let mut work = Work::default();
        let mut core = self.core_for(&pages);
        let asked =
            Asked { op: Op::Write, bytes: bytes.clone(), pages: pages.clone(), latches: false };
        core.forget(&self.table, &asked, &mut work)?;
        let done = Done { completion_ns: work.completion_ns };
        if pages.is_empty() {
            return Ok(done);
        }
        core.trimming.push(pages.clone());
        drop(core);
        match self.discard(&pages) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(done),
            result => result.map(|()| done),
        }
    }

    /// Makes a range zero: its whole pages as a trim does, its ends as writes.
    ///
    /// # Errors
    ///
    /// The store's.
    pub(crate) fn zero(&self, bytes: &Range<u64>) -> io::Result<Done> {
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
        let mut pending = [Pending::none(self), Pending::none(self)];
        let mut decided = Ok(());
        for (at, end) in ends.iter().enumerate() {
            if at == 1 && decided.is_ok() {
                let (op, bytes, pages) = (Op::Write, middle.clone(), whole.clone());
                let asked = Asked { op, bytes, pages, latches: false };
                decided = core.forget(&self.table, &asked, &mut work);
            }
            if !end.is_empty() && decided.is_ok() {
                decided = self.decide_end(&mut core, end, &mut pending[at], &mut work);
            }
        }
        if decided.is_ok() {
            core.trimming.push(whole.clone());
        }
        drop(core);
        let done = self.finish(work);
        decided?;
        let mut discarded = self.discard(&whole);
        if matches!(&discarded, Err(error) if error.kind() == io::ErrorKind::Unsupported) {
            // The store could, and cannot any more: zeros are written past the policy.
            discarded =
                self.write_decided(&middle, self.undecided(Op::Write, &whole), Source::Zeros);
        }
        let written = ends
            .iter()
            .zip(pending)
            .map(|(end, pending)| self.write_decided(end, pending, Source::Zeros));
        written.fold(discarded, |all, one| all.and(one)).map(|()| done)
    }

    /// Decides the write of an end. It takes no latch yet: the other end's is before or after it.
    fn decide_end(
        &self,
        core: &mut Core,
        end: &Range<u64>,
        pending: &mut Pending<'_, S>,
        work: &mut Work,
    ) -> io::Result<()> {
        let pages = self.pages_of(end);
        let asked = Asked { op: Op::Write, bytes: end.clone(), pages, latches: false };
        pending.decide(core, &asked, work)
    }

    /// Accesses that the policy does not see.
    pub(crate) fn undecided(&self, op: Op, pages: &Range<u64>) -> Pending<'_, S> {
        let mut accesses = Accesses::default();
        for page in pages.clone() {
            let frame = self.table.with_new(page, |state| {
                state.users += 1;
                state.fillers += 1;
            });
            let (fills, missed) = (true, false);
            accesses.push(Access { frame, op, fills, missed, through: false, latched: false });
        }
        Pending::of(self, accesses)
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
