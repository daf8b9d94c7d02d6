//! Requests of bytes: several pages, decided in one piece, then moved page by page.

use crate::decide::Core;
use crate::frame::Frame;
use crate::held;
use crate::shared::Shared;
use crate::store::{Store, copy_of};
use crate::work::{Access, Asked, Done, Work};
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
    accesses: Vec<Option<Access>>,
}

impl<'p, S: Store> Pending<'p, S> {
    pub(crate) fn none(pool: &'p Shared<S>) -> Self {
        Pending { pool, accesses: Vec::new() }
    }

    pub(crate) fn of(pool: &'p Shared<S>, accesses: Vec<Option<Access>>) -> Self {
        Pending { pool, accesses }
    }
}

impl<S: Store> Drop for Pending<'_, S> {
    fn drop(&mut self) {
        self.accesses.iter().flatten().for_each(|access| self.pool.end_access(access));
    }
}

impl<S: Store> Shared<S> {
    /// Pages that a range of bytes touches.
    pub(crate) fn pages_of(&self, bytes: &Range<u64>) -> Range<u64> {
        let page_bytes = u64::from(self.options.page_bytes);
        bytes.start / page_bytes..bytes.end.div_ceil(page_bytes)
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

    /// Asks the policy about each page of a request, in ascending order.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end.
    pub(crate) fn decide(
        &self,
        core: &mut Core,
        bytes: &Range<u64>,
        op: Op,
        pending: &mut Pending<'_, S>,
        work: &mut Work,
    ) -> io::Result<()> {
        let asked = Asked { op, bytes: bytes.clone(), pages: self.pages_of(bytes) };
        core.decide(&self.table, &asked, Some(&mut pending.accesses), work)
    }

    /// Decides a request of its own, and carries out what the decisions ask for.
    fn decided(&self, bytes: &Range<u64>, op: Op) -> io::Result<(Pending<'_, S>, Done)> {
        let pages = self.pages_of(bytes);
        held::check(self, &pages, op.is_write())?;
        held::drain(self);
        self.make_room()?;
        let (mut work, mut pending) = (Work::default(), Pending::none(self));
        let mut core = self.core_for(&pages);
        let decided = self.decide(&mut core, bytes, op, &mut pending, &mut work);
        drop(core);
        let done = self.finish(work);
        decided.map(|()| (pending, done))
    }

    pub(crate) fn finish(&self, work: Work) -> Done {
        if work.dirty_victim {
            self.wake_writer();
        }
        let done = Done { completion_ns: work.completion_ns };
        self.carry_out(work);
        done
    }

    /// Reads a range; without `into` only into the cache.
    pub(crate) fn read_bytes(
        &self,
        bytes: &Range<u64>,
        mut into: Option<&mut [u8]>,
    ) -> io::Result<Done> {
        let (mut pending, done) = self.decided(bytes, Op::Read)?;
        for access in pending.accesses.iter_mut().flatten() {
            self.fill(access, false)?;
        }
        for at in 0..pending.accesses.len() {
            let access = pending.accesses[at].as_mut().expect("carried out once");
            if let Some(into) = &mut into {
                self.latch(access, false, false)?;
                let frame = Arc::clone(&access.frame);
                pending.accesses[at] = None;
                let (inside, outside) = self.part(bytes, frame.page);
                // SAFETY: the shared latch of a valid page.
                into[outside].copy_from_slice(&unsafe { frame.bytes() }[inside]);
                self.end_read(&frame);
            }
        }
        Ok(done)
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
            // SAFETY: both callers have the exclusive latch.
            from.copy(outside.start, &mut unsafe { frame.bytes_mut(self.page_bytes()) }[inside]);
            self.end_change(frame, through);
        };
        // Pages that are not there come first: others wait for them.
        for (at, kept) in pending.accesses.iter_mut().enumerate() {
            if at % PAGES_BETWEEN == PAGES_BETWEEN - 1 {
                self.make_room()?; // pages of a long request that do not stay
            }
            let access = kept.as_mut().expect("carried out once");
            if self.fill(access, self.is_whole(bytes, access.frame.page))? {
                let access = kept.take().expect("just looked at");
                write(&access.frame, access.through);
            }
        }
        for kept in &mut pending.accesses {
            let Some(access) = kept else { continue };
            self.latch(access, true, self.is_whole(bytes, access.frame.page))?;
            let access = kept.take().expect("just looked at");
            write(&access.frame, access.through);
        }
        Ok(())
    }

    /// One page, for a guard: its frame, and whether the policy bypassed the write. The caller has
    /// the latch.
    pub(crate) fn one_page(
        &self,
        page: u64,
        op: Op,
        whole: bool,
    ) -> io::Result<(Arc<Frame>, bool)> {
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
        let access = pending.accesses[0].as_mut().expect("the only page");
        self.latch(access, change, whole)?;
        let access = pending.accesses[0].take().expect("the only page");
        Ok((access.frame, access.through))
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
