//! Decisions: what the policy says to each access, under the pool's one lock and without I/O.

use crate::clock::Clock;
use crate::follow::Follower;
use crate::record::Recorded;
use crate::table::Table;
use crate::work::{Accesses, Asked, Log, Work};
use destage_core::{AnyPolicy, Op};
use std::any::Any;
use std::io;
use std::ops::Range;

/// The policy, and all that has to follow its order.
pub(crate) struct Core {
    pub(crate) cache: Box<dyn Decider>,
    is_timed: bool, // as the decider says, as is the next: a hit asks it once
    writes_through: bool,
    pub(crate) log: Log,
    /// Ranges whose pages are being trimmed: accesses to them wait.
    pub(crate) trimming: Vec<Range<u64>>,
    pub(crate) clock: Clock,
}

/// Who decides: the policy alone, or it and the simulated SSD behind it. Instants are nanoseconds;
/// those that a call returns are when the SSD has served the request.
pub trait Decider: Any + Send {
    /// The simulated SSD, if the instants matter, has not come to its end.
    ///
    /// # Errors
    ///
    /// Why it has.
    fn check(&self) -> io::Result<()>;

    /// The instants of requests matter.
    fn is_timed(&self) -> bool;

    /// It may bypass writes.
    fn writes_through(&self) -> bool;

    /// Decides each page of a request, in ascending order, and tells `follower`.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end, here and in the other calls.
    fn request(
        &mut self,
        now_ns: u64,
        op: Op,
        pages: &Range<u64>,
        follower: &mut Follower<'_>,
    ) -> io::Result<Option<u64>>;

    /// Forgets `known`, of the pages of a trim, and tells `forgotten` those that were resident,
    /// with their dirty bits.
    ///
    /// # Errors
    ///
    /// See [`request`](Decider::request).
    fn trim(
        &mut self,
        now_ns: u64,
        known: &[u64],
        pages: Range<u64>,
        forgotten: &mut dyn FnMut(u64, bool),
    ) -> io::Result<Option<u64>>;

    /// A flush of the host.
    ///
    /// # Errors
    ///
    /// See [`request`](Decider::request).
    fn flush(&mut self, now_ns: u64) -> io::Result<Option<u64>>;

    /// The policy, where it decides alone.
    fn policy(&mut self) -> Option<&mut AnyPolicy>;

    /// Hints that these pages are asked for next.
    fn hint(&mut self, _hits: &[(u64, Op)]) {}

    /// Asks about requests of one resident page each, which have been carried out. False: each is
    /// to be a [`request`](Decider::request).
    fn hits(&mut self, _hits: &[(u64, Op)], _follower: &mut Follower<'_>) -> bool {
        false
    }
}

impl Core {
    pub(crate) fn new(cache: Box<dyn Decider>, clock: Clock) -> Core {
        let (is_timed, writes_through) = (cache.is_timed(), cache.writes_through());
        Core { cache, is_timed, writes_through, log: Log::default(), trimming: Vec::new(), clock }
    }

    /// The instant of a request, nanoseconds, which the record has from here on; 0 if neither it
    /// nor a simulated SSD looks at it.
    fn arrive(&mut self, what: Recorded, bytes: &Range<u64>) -> io::Result<u64> {
        if self.is_timed {
            self.cache.check()?;
        } else if self.log.record.is_none() {
            return Ok(0);
        }
        let now_ns = self.clock.now_ns();
        if let Some(record) = &mut self.log.record {
            record.request(now_ns, what, bytes.start, bytes.end - bytes.start);
        }
        Ok(now_ns)
    }

    /// Asks the policy about each page of a request, in ascending order; the accesses are appended,
    /// unless no thread waits for them.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end; the accesses that were decided are there then, too.
    pub(crate) fn decide(
        &mut self,
        table: &Table,
        asked: &Asked,
        accesses: Option<&mut Accesses>,
        work: &mut Work,
    ) -> io::Result<()> {
        let Asked { op, bytes, pages, .. } = asked;
        let what = if op.is_write() { Recorded::Write } else { Recorded::Read };
        let now_ns = self.arrive(what, bytes)?;
        let Core { cache, log, writes_through, .. } = self;
        let (latches, through) = (asked.latches, *writes_through);
        let mut follower = Follower { log, table, accesses, latches, work, through };
        let end = cache.request(now_ns, *op, pages, &mut follower)?;
        work.completion_ns = work.completion_ns.max(end);
        Ok(())
    }

    /// Accesses of a batch, in order; those whose pages have left meanwhile are dropped before.
    pub(crate) fn note_hits(&mut self, table: &Table, hits: &[(u64, Op)], page_bytes: u64) {
        self.cache.hint(hits);
        let Core { cache, log, writes_through, .. } = self;
        if log.record.is_none() {
            let (work, through) = (&mut Work::default(), *writes_through);
            let accesses = None;
            let mut follower = Follower { log, table, accesses, latches: false, work, through };
            if cache.hits(hits, &mut follower) {
                return;
            }
        }
        for &(page, op) in hits {
            let bytes = page * page_bytes..(page + 1) * page_bytes;
            let asked = Asked { op, bytes, pages: page..page + 1, latches: false };
            // An SSD at its end is told of at the next request: the bytes were in memory.
            _ = self.decide(table, &asked, None, &mut Work::default());
        }
    }

    /// The policy forgets the pages.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end.
    pub(crate) fn forget(
        &mut self,
        table: &Table,
        asked: &Asked,
        work: &mut Work,
    ) -> io::Result<()> {
        let now_ns = self.arrive(Recorded::Trim, &asked.bytes)?;
        self.log.trims.trim_requests += 1;
        let known = self.log.known.take(&asked.pages);
        let Core { cache, log, .. } = self;
        let mut forgotten = |page, dirty| log.forgotten(table, page, dirty);
        let end = cache.trim(now_ns, &known, asked.pages.clone(), &mut forgotten)?;
        work.completion_ns = work.completion_ns.max(end);
        Ok(())
    }

    /// A flush of the host; when the simulated SSD has served it, if it is told of flushes.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end.
    pub(crate) fn flush(&mut self) -> io::Result<Option<u64>> {
        let now_ns = self.arrive(Recorded::Flush, &(0..0))?;
        self.cache.flush(now_ns)
    }
}
