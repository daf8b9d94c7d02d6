//! Requests of bytes: several pages, decided in one piece, then moved page by page.

use crate::copied::copy_of;
use crate::decide::Core;
use crate::frame::{Frame, Used};
use crate::held;
use crate::shared::Shared;
use crate::store::Store;
use crate::sync::MutexGuard;
use crate::work::{Accesses, Asked, Done, Work};
use destage_core::Op;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Pages of a long write after which limbo is looked at again.
const PAGES_BETWEEN: usize = 256;

/// New bytes of a range.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Bytes(&'a [u8]),
    Zeros,
}

impl Source<'_> {
    fn copy(self, at: usize, into: &mut [u8]) {
        match self {
            Source::Bytes(bytes) => into.copy_from_slice(&bytes[at..at + into.len()]),
            Source::Zeros => into.fill(0),
        }
    }
}

/// Accesses of a request that have not been carried out. What is left of them when it fails ends.
pub(crate) struct Pending<'p, S: Store> {
    pool: &'p Shared<S>,
    accesses: Accesses,
}

impl<'p, S: Store> Pending<'p, S> {
    pub(crate) fn none(pool: &'p Shared<S>) -> Self {
        Pending { pool, accesses: Accesses::default() }
    }

    pub(crate) fn of(pool: &'p Shared<S>, accesses: Accesses) -> Self {
        Pending { pool, accesses }
    }
}

impl<S: Store> Pending<'_, S> {
    /// Asks the policy about each page of the request, in ascending order.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end.
    pub(crate) fn decide(
        &mut self,
        core: &mut Core,
        asked: &Asked,
        work: &mut Work,
    ) -> io::Result<()> {
        core.decide(&self.pool.table, asked, Some(&mut self.accesses), work)
    }
}

impl<S: Store> Drop for Pending<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.accesses.left().for_each(|access| self.pool.end_access(access));
    }
}

impl<S: Store> Shared<S> {
    /// Pages that a range of bytes touches.
    pub(crate) fn pages_of(&self, bytes: &Range<u64>) -> Range<u64> {
        let page_bytes = u64::from(self.options.page_bytes);
        let shift = page_bytes.trailing_zeros(); // a power of two
        bytes.start >> shift..(bytes.end + (page_bytes - 1)) >> shift
    }

    /// The range that begins at `offset`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if it is empty, [`io::ErrorKind::UnexpectedEof`] if it does
    /// not end in the store.
    pub(crate) fn range(&self, offset: u64, length: u64) -> io::Result<Range<u64>> {
        let all = self.pages * u64::from(self.options.page_bytes);
        if length == 0 {
            let what = format!("offset {offset}: the range is empty");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        match offset.checked_add(length).filter(|&end| end <= all) {
            Some(end) => Ok(offset..end),
            None => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("offset {offset}, length {length}: the store has {all} bytes"),
            )),
        }
    }

    /// Decides a request of its own, and carries out what the decisions ask for.
    #[inline]
    fn decided(&self, bytes: &Range<u64>, op: Op) -> io::Result<(Pending<'_, S>, Done)> {
        let pages = self.pages_of(bytes);
        held::check(self, &pages, op.is_write())?;
        let latches = pages.end - pages.start == 1;
        let asked = Asked { op, bytes: bytes.clone(), pages, latches };
        if op.is_write() {
            self.make_room()?;
        } else if self.is_limbo_full() {
            return self.decided_in_full_limbo(&asked);
        } else {
            self.sync_early();
        }
        self.decide_under(self.core_for(&asked.pages), &asked)
    }

    /// Inlined, since what it returns is long.
    #[inline(always)]
    fn decide_under(
        &self,
        mut core: MutexGuard<'_, Core>,
        asked: &Asked,
    ) -> io::Result<(Pending<'_, S>, Done)> {
        let (mut work, mut pending) = (Work::default(), Pending::none(self));
        held::drain_into(self, &mut core);
        let decided = pending.decide(&mut core, asked, &mut work);
        drop(core);
        let done = self.finish(work);
        decided.map(|()| (pending, done))
    }

    /// Decides a read while limbo is full. Resident pages need no room; where there is none for
    /// others, the policy is not asked: their bytes come from limbo or the store.
    #[cold]
    fn decided_in_full_limbo(&self, asked: &Asked) -> io::Result<(Pending<'_, S>, Done)> {
        let is_resident = |page| self.table.with(page, |_, state| state.resident) == Some(true);
        let core = self.core_for(&asked.pages);
        if asked.pages.clone().all(is_resident) {
            self.early_sync.wake();
            return self.decide_under(core, asked);
        }
        drop(core);
        let room = self.make_room();
        let core = self.core_for(&asked.pages);
        if room.is_ok() {
            return self.decide_under(core, asked);
        }
        let pages = asked.pages.end - asked.pages.start;
        self.tally.bypassed_reads.add(pages as usize);
        Ok((self.undecided(Op::Read, &asked.pages), Done::default()))
    }

    #[inline(always)]
    pub(crate) fn finish(&self, work: Work) -> Done {
        if work.dirty_victim {
            self.wake_writer();
        }
        let done = Done { completion_ns: work.completion_ns };
        if work.is_some() {
            self.carry_out(work);
        }
        done
    }

    /// A request would neither fetch a page nor make room in limbo, as far as can be seen now.
    pub(crate) fn is_at_once(&self, bytes: &Range<u64>, op: Op) -> bool {
        let is_there = |page| self.table.with(page, |_, state| state.valid) == Some(true);
        let mut pages = self.pages_of(bytes);
        !self.is_limbo_full()
            && pages.all(|page| op.is_write() && self.is_whole(bytes, page) || is_there(page))
    }

    /// Reads a range; without `into` only into the cache.
    pub(crate) fn read_bytes(
        &self,
        bytes: &Range<u64>,
        mut into: Option<&mut [u8]>,
    ) -> io::Result<Done> {
        let (mut pending, done) = self.decided(bytes, Op::Read)?;
        // Pages that are not there come first: others wait for them. A page that does not stay is
        // given back before the next one comes.
        let length = pending.accesses.len();
        for at in 0..length {
            let kept = pending.accesses.at(at);
            let access = kept.as_mut().expect("carried out once");
            if !access.latched {
                self.fill(access, false, into.is_some())?;
            }
            match &mut into {
                None => self.end_access(&kept.take().expect("just looked at")),
                Some(into) if access.latched => {
                    self.copy_out(&kept.take().expect("just looked at").frame, bytes, into);
                }
                Some(_) => {}
            }
        }
        let Some(into) = into else { return Ok(done) };
        for at in 0..length {
            let kept = pending.accesses.at(at);
            let Some(access) = kept else { continue };
            self.latch(access, false)?;
            self.copy_out(&kept.take().expect("just looked at").frame, bytes, into);
        }
        Ok(done)
    }

    /// Copies the part of a request that lies in a page whose shared latch the caller has, and
    /// gives the latch back.
    #[inline]
    fn copy_out(&self, frame: &Arc<Frame>, bytes: &Range<u64>, into: &mut [u8]) {
        let (inside, outside) = self.part(bytes, frame.page);
        // SAFETY: the shared latch of a valid page.
        into[outside].copy_from_slice(&unsafe { frame.bytes() }[inside]);
        self.end_read(Used::new(frame));
    }

    /// Writes a range.
    pub(crate) fn write_bytes(&self, bytes: &Range<u64>, from: Source<'_>) -> io::Result<Done> {
        let (pending, done) = self.decided(bytes, Op::Write)?;
        self.write_decided(bytes, pending, from).map(|()| done)
    }

    /// The bytes of a write that has been decided.
    pub(crate) fn write_decided(
        &self,
        bytes: &Range<u64>,
        mut pending: Pending<'_, S>,
        from: Source<'_>,
    ) -> io::Result<()> {
        let write = |frame: &Arc<Frame>, through| {
            let (inside, outside) = self.part(bytes, frame.page);
            // Memory that has none of its bytes yet is covered whole.
            // SAFETY: both callers have the exclusive latch.
            from.copy(outside.start, &mut unsafe { frame.bytes_mut(|| self.memory()) }[inside]);
            self.end_change(frame, through);
        };
        // Pages that are not there come first: others wait for them.
        for at in 0..pending.accesses.len() {
            if at % PAGES_BETWEEN == PAGES_BETWEEN - 1 {
                self.make_room()?; // pages of a long request that do not stay
            }
            let kept = pending.accesses.at(at);
            let access = kept.as_mut().expect("carried out once");
            if !access.latched {
                self.fill(access, self.is_whole(bytes, access.frame.page), false)?;
            }
            if access.latched {
                let access = kept.take().expect("just looked at");
                write(&access.frame, access.through);
            }
        }
        for at in 0..pending.accesses.len() {
            let kept = pending.accesses.at(at);
            let Some(access) = kept else { continue };
            self.latch(access, self.is_whole(bytes, access.frame.page))?;
            let access = kept.take().expect("just looked at");
            write(&access.frame, access.through);
        }
        Ok(())
    }

    /// One page, for a guard: its frame, and whether the policy bypassed the write. The caller has
    /// the latch.
    pub(crate) fn one_page(&self, page: u64, op: Op, whole: bool) -> io::Result<(Used, bool)> {
        let page_bytes = u64::from(self.options.page_bytes);
        let bytes = self.range(page.saturating_mul(page_bytes), page_bytes)?;
        let change = op.is_write();
        if self.options.batch > 1 {
            held::check(self, &(page..page + 1), change)?;
            if let Some(frame) = self.latch_resident(page, change) {
                held::note(&self.inner, page, op);
                return Ok((frame, false));
            }
        }
        let (mut pending, _) = self.decided(&bytes, op)?;
        let kept = pending.accesses.at(0);
        self.latch(kept.as_mut().expect("the only page"), whole)?;
        let access = kept.take().expect("the only page");
        if whole {
            // SAFETY: the access has the exclusive latch.
            _ = unsafe { access.frame.bytes_mut(|| self.zeros()) };
        }
        Ok((Used::new(&access.frame), access.through))
    }

    fn is_whole(&self, bytes: &Range<u64>, page: u64) -> bool {
        let page_bytes = u64::from(self.options.page_bytes);
        bytes.start <= page * page_bytes && (page + 1) * page_bytes <= bytes.end
    }

    /// The part of a request that lies in a page: where in the page, and where in the request.
    fn part(&self, bytes: &Range<u64>, page: u64) -> (Range<usize>, Range<usize>) {
        let page_bytes = u64::from(self.options.page_bytes);
        let first = page * page_bytes;
        let inside = bytes.start.max(first)..bytes.end.min(first + page_bytes);
        let from = |start: u64| (inside.start - start) as usize..(inside.end - start) as usize;
        (from(first), from(bytes.start))
    }

    /// Writes what the record and the decisions still keep in memory.
    ///
    /// # Errors
    ///
    /// The first of any write of either.
    pub(crate) fn flush_record(&self) -> io::Result<()> {
        let mut core = self.core();
        let record = core.log.record.as_mut().map_or(Ok(()), |record| record.lines.flush());
        let decisions = core.log.decisions.as_mut().map_or(Ok(()), |log| log.lines.flush());
        record.and(decisions).map_err(|error| copy_of(&error))
    }
}
