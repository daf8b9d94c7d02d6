//! Decisions: what the policy says to each access, under the pool's one lock and without I/O.

use crate::clock::Clock;
#[cfg(feature = "device")]
use crate::device::DeviceCache;
use crate::follow::Follower;
use crate::record::Recorded;
use crate::table::Table;
use crate::work::{Accesses, Asked, Log, Work};
use destage_core::{AnyPolicy, Blind, Lookup, Lpn, Op, Page, Plan, Policy, Request};
use std::io;
use std::ops::Range;

/// The policy, and all that has to follow its order.
pub(crate) struct Core {
    pub(crate) cache: Cache,
    pub(crate) log: Log,
    /// Ranges whose pages are being trimmed: accesses to them wait.
    pub(crate) trimming: Vec<Range<u64>>,
    pub(crate) clock: Clock,
}

/// Who decides.
pub(crate) enum Cache {
    /// The policy alone.
    Policy(AnyPolicy, Plan),
    /// It and the simulated SSD behind it.
    #[cfg(feature = "device")]
    Device(DeviceCache),
}

impl Core {
    pub(crate) fn new(cache: Cache, clock: Clock) -> Core {
        Core { cache, log: Log::default(), trimming: Vec::new(), clock }
    }

    /// The instant of a request, nanoseconds, which the record has from here on; 0 if neither it
    /// nor a simulated SSD looks at it.
    fn arrive(&mut self, what: Recorded, bytes: &Range<u64>) -> io::Result<u64> {
        match &self.cache {
            Cache::Policy(..) if self.log.record.is_none() => return Ok(0),
            Cache::Policy(..) => {}
            #[cfg(feature = "device")]
            Cache::Device(cache) => cache.check()?,
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
        let _ = now_ns;
        let latches = asked.latches;
        let Core { cache, log, .. } = self;
        match cache {
            Cache::Policy(policy, plan) => {
                let through = policy.writes_through();
                let mut follower = Follower { log, table, accesses, latches, work, through };
                for page in pages.clone() {
                    let mut r = Request::new(Page(page), Lpn(page), *op);
                    r.first_of_request = page == pages.start;
                    ask(policy, plan, &r, &mut follower);
                }
                Ok(())
            }
            #[cfg(feature = "device")]
            Cache::Device(cache) => {
                let through = true;
                let mut follower = Follower { log, table, accesses, latches, work, through };
                let end = cache.request(now_ns, *op, pages, &mut follower)?;
                work.completion_ns = work.completion_ns.max(Some(end));
                Ok(())
            }
        }
    }

    /// An access of a batch; false if its page has left meanwhile.
    pub(crate) fn note_hit(&mut self, table: &Table, page: u64, op: Op, page_bytes: u64) -> bool {
        if !self.log.resident.has(page) {
            return false;
        }
        let bytes = page * page_bytes..(page + 1) * page_bytes;
        let asked = Asked { op, bytes, pages: page..page + 1, latches: false };
        // An SSD at its end is told of at the next request: the bytes were in memory.
        _ = self.decide(table, &asked, None, &mut Work::default());
        true
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
        let _ = (now_ns, &work);
        self.log.trims.trim_requests += 1;
        let known = self.log.known.take(&asked.pages);
        let Core { cache, log, .. } = self;
        let mut forgotten = |page, dirty| log.forgotten(table, page, dirty);
        match cache {
            Cache::Policy(policy, _) => {
                for page in known {
                    if let Some(dirty) = policy.forget(Page(page)) {
                        forgotten(page, dirty);
                    }
                }
            }
            #[cfg(feature = "device")]
            Cache::Device(cache) => {
                let end = cache.trim(now_ns, &known, asked.pages.clone(), &mut forgotten)?;
                work.completion_ns = work.completion_ns.max(Some(end));
            }
        }
        Ok(())
    }

    /// A flush of the host; when the simulated SSD has served it, if it is told of flushes.
    ///
    /// # Errors
    ///
    /// The simulated SSD's end.
    pub(crate) fn flush(&mut self) -> io::Result<Option<u64>> {
        let now_ns = self.arrive(Recorded::Flush, &(0..0))?;
        match &mut self.cache {
            Cache::Policy(..) => {
                let _ = now_ns;
                Ok(None)
            }
            #[cfg(feature = "device")]
            Cache::Device(cache) => cache.flush(now_ns),
        }
    }

    /// The policy, where it decides alone.
    pub(crate) fn policy(&mut self) -> Option<&mut AnyPolicy> {
        match &mut self.cache {
            Cache::Policy(policy, _) => Some(policy),
            #[cfg(feature = "device")]
            Cache::Device(_) => None,
        }
    }
}

/// Asks a policy about one access, as a run without a device does.
fn ask(policy: &mut AnyPolicy, plan: &mut Plan, r: &Request, follower: &mut Follower<'_>) {
    plan.clear();
    let table = follower.table;
    let mut is_done = false;
    let found = match &follower.accesses {
        None => policy.request(r),
        // The frame comes near while the policy looks for the page.
        Some(_) => table.near(r.page.0, |frame| {
            let found = policy.request(r);
            if let (Lookup::Hit(_), Some(frame)) = (&found, frame) {
                follower.hit_in(r, frame);
                is_done = true;
            }
            found
        }),
    };
    match found {
        Lookup::Hit(_) if is_done => {}
        Lookup::Hit(_) => follower.hit(r),
        Lookup::Miss(mut miss) => {
            while policy.resident() >= policy.frames() {
                policy.evict(&mut miss, &Blind, plan);
            }
            if let Some(victim) = plan.evicted().last() {
                table.near(victim.page.0, |_| ()); // its frame comes near until it is let go
            }
            policy.admit(r, miss);
            follower.admitted(r, plan);
        }
        Lookup::Bypass => {
            if r.op.is_write() {
                plan.write_through(r.page);
            }
            follower.bypassed(r, plan);
        }
    }
}
