//! The pool: what a program calls.

use crate::alone::Alone;
use crate::bell::Helper;
use crate::clock::Clock;
use crate::counters::PoolCounters;
use crate::decide::{Core, Decider};
use crate::guard::{ReadGuard, WriteGuard};
use crate::held;
use crate::options::{OWN, OpenError, Options};
use crate::record::{Lines, Record};
use crate::requests::Source;
use crate::shared::{Inner, Shared};
use crate::store::{Chosen, Store};
use crate::work::{Decisions, Done};
use destage_core::{AnyPolicy, Op, Policy};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Pages of a store in memory, as many as the policy has frames; any number of threads.
///
/// Dropping a pool without [`close`](Pool::close) writes nothing.
pub struct Pool<S: Store> {
    helpers: Vec<Helper>, // stop first
    pub(crate) shared: Arc<Shared<S>>,
}

impl<S: Store> Pool<S> {
    /// Opens a pool with a policy as users write it, such as `cflru[window_fraction=0.75]`, or
    /// `none`.
    ///
    /// # Errors
    ///
    /// The fault of the policy, the options or the store, in the terms of the command line.
    pub fn open(store: S, policy: &str, options: Options) -> Result<Pool<S>, OpenError> {
        options.check(store.pages())?;
        if let Some(device) = store.device() {
            let cache = device.decider(Chosen::Named(policy), &options, store.pages())?;
            return Ok(Self::with_cache(store, cache, options));
        }
        let policy = options.policy(policy, store.pages())?;
        Ok(Self::in_front(store, policy, options))
    }

    /// Opens a pool with a policy of one's own, whose frames are those of the options. It names
    /// pages by their numbers in the store.
    ///
    /// # Errors
    ///
    /// Errors of [`open`](Pool::open), and [`OpenError::Frames`].
    pub fn open_with<P>(store: S, policy: P, options: Options) -> Result<Pool<S>, OpenError>
    where
        P: Policy<Miss: Send> + Send + 'static,
    {
        options.check(store.pages())?;
        options.suits(&policy)?;
        if let Some(device) = store.device() {
            let policy = Chosen::Own(AnyPolicy::new(policy));
            let cache = device.decider(policy, &options, store.pages())?;
            return Ok(Self::with_cache(store, cache, options));
        }
        if policy.requirements().device() {
            return Err(OpenError::NeedsADevice(OWN.to_string()));
        }
        Ok(Self::in_front(store, AnyPolicy::new(policy), options))
    }

    /// A policy that decides alone.
    fn in_front(store: S, mut policy: AnyPolicy, options: Options) -> Pool<S> {
        if options.writer.is_some() {
            policy.keep_order();
        }
        Self::with_cache(store, Box::new(Alone::new(policy)), options)
    }

    fn with_cache(store: S, cache: Box<dyn Decider>, options: Options) -> Pool<S> {
        let (writer, early_sync) = (options.writer, options.early_sync);
        let pages = store.pages();
        let mut core = Core::new(cache, Clock::new(options.time));
        core.log.counters.idle_writes = writer.map(|_| 0);
        core.log.resident.is_kept = options.batch > 1;
        let inner = Arc::new(Inner::new(core, options, pages, store.alignment()));
        let shared = Arc::new(Shared { store, inner });
        let writer = writer.map(|writer| writer.start(&shared));
        let early_sync = early_sync.then(|| shared.start_early_syncs());
        Pool { helpers: writer.into_iter().chain(early_sync).collect(), shared }
    }

    /// A page, to be read.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::UnexpectedEof`] beyond the store, [`io::ErrorKind::Deadlock`] if this
    /// thread would wait for its own guard of the page, [`io::ErrorKind::InvalidData`] if its
    /// checksum differs; else the store's. Those of the other calls are the same.
    pub fn read(&self, page: u64) -> io::Result<ReadGuard<'_>> {
        if self.shared.options.batch > 1
            && let Some(frame) = self.shared.latch_quick(page)
        {
            held::note(&self.shared.inner, page, Op::Read);
            return Ok(ReadGuard::new(&self.shared, page, frame));
        }
        let (frame, _) = self.shared.one_page(page, Op::Read, false)?;
        Ok(ReadGuard::new(&self.shared, page, frame))
    }

    /// A page, to be changed.
    ///
    /// # Errors
    ///
    /// Errors of [`read`](Pool::read).
    pub fn write(&self, page: u64) -> io::Result<WriteGuard<'_>> {
        let (frame, through) = self.shared.one_page(page, Op::Write, false)?;
        Ok(WriteGuard::new(&*self.shared, frame, through))
    }

    /// A page, to be replaced: it is not fetched, and its bytes are zeros or older ones.
    ///
    /// # Errors
    ///
    /// Errors of [`read`](Pool::read).
    pub fn overwrite(&self, page: u64) -> io::Result<WriteGuard<'_>> {
        let (frame, through) = self.shared.one_page(page, Op::Write, true)?;
        Ok(WriteGuard::new(&*self.shared, frame, through))
    }

    /// Reads bytes, as one request.
    ///
    /// # Errors
    ///
    /// Errors of [`read`](Pool::read), and [`io::ErrorKind::InvalidInput`] if `into` is empty.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<Done> {
        let bytes = self.shared.range(offset, into.len() as u64)?;
        self.shared.read_bytes(&bytes, Some(into))
    }

    /// Whether [`read_at`](Pool::read_at) of these bytes would wait neither for a read nor for a
    /// sync of the store, as far as can be seen now: the pages are in memory, and limbo has room.
    /// It is no access, and other threads may change the answer.
    pub fn reads_at_once(&self, bytes: &Range<u64>) -> bool {
        self.shared.is_at_once(bytes, Op::Read)
    }

    /// The same of [`write_at`](Pool::write_at), which needs no pages in memory that it covers.
    pub fn writes_at_once(&self, bytes: &Range<u64>) -> bool {
        self.shared.is_at_once(bytes, Op::Write)
    }

    /// Reads bytes into the cache, as one request.
    ///
    /// # Errors
    ///
    /// Errors of [`read_at`](Pool::read_at).
    pub fn cache_at(&self, bytes: Range<u64>) -> io::Result<Done> {
        let bytes = self.checked(bytes)?;
        self.shared.read_bytes(&bytes, None)
    }

    /// Writes bytes, as one request. An error may leave some of its pages written, each wholly.
    ///
    /// # Errors
    ///
    /// Errors of [`read_at`](Pool::read_at).
    pub fn write_at(&self, offset: u64, from: &[u8]) -> io::Result<Done> {
        let bytes = self.shared.range(offset, from.len() as u64)?;
        self.shared.write_bytes(&bytes, Source::Bytes(from))
    }

    /// Makes bytes zero: whole pages by the store's discard, if it can.
    ///
    /// # Errors
    ///
    /// Errors of [`read_at`](Pool::read_at).
    pub fn zero_at(&self, bytes: Range<u64>) -> io::Result<Done> {
        let bytes = self.checked(bytes)?;
        self.shared.zero(&bytes)
    }

    /// Writes zeros, as one request, and discards nothing.
    ///
    /// # Errors
    ///
    /// Errors of [`read_at`](Pool::read_at).
    pub fn write_zeros_at(&self, bytes: Range<u64>) -> io::Result<Done> {
        let bytes = self.checked(bytes)?;
        self.shared.write_bytes(&bytes, Source::Zeros)
    }

    /// Trims the pages wholly inside the range: the policy forgets them, and they read as zeros,
    /// or as any earlier version where the store cannot discard.
    ///
    /// # Errors
    ///
    /// Errors of [`read_at`](Pool::read_at).
    pub fn trim_at(&self, bytes: Range<u64>) -> io::Result<Done> {
        let bytes = self.checked(bytes)?;
        self.shared.trim(&bytes)
    }

    /// Trims pages.
    ///
    /// # Errors
    ///
    /// Errors of [`trim_at`](Pool::trim_at).
    pub fn forget(&self, pages: Range<u64>) -> io::Result<()> {
        let page_bytes = u64::from(self.shared.options.page_bytes);
        let start = pages.start.saturating_mul(page_bytes);
        self.trim_at(start..pages.end.saturating_mul(page_bytes)).map(drop)
    }

    fn checked(&self, bytes: Range<u64>) -> io::Result<Range<u64>> {
        self.shared.range(bytes.start, bytes.end.saturating_sub(bytes.start))
    }

    /// Makes durable what was written before: every guard dropped, every call that returned.
    ///
    /// # Errors
    ///
    /// The store's. Nothing is lost then: the next flush writes it again.
    pub fn flush(&self) -> io::Result<()> {
        self.flush_request().map(drop)
    }

    /// The same; also when the simulated SSD would have answered, if it is told of flushes.
    ///
    /// # Errors
    ///
    /// As [`flush`](Pool::flush).
    pub fn flush_request(&self) -> io::Result<Done> {
        held::check(&self.shared, &(0..u64::MAX), false)?;
        held::drain(&self.shared);
        self.shared.flush()
    }

    /// Counters so far.
    pub fn counters(&self) -> PoolCounters {
        held::drain(&self.shared);
        self.shared.counters()
    }

    /// The instant of the requests that follow, with [`Time::Manual`](crate::Time::Manual); one
    /// before the last does nothing.
    pub fn set_now_ns(&self, now_ns: u64) {
        self.shared.core().clock.set(now_ns);
    }

    /// When the simulated SSD answers on the wall; `None` without one, and with
    /// [`Time::Manual`](crate::Time::Manual).
    pub fn answer_at(&self, done: Done) -> Option<Instant> {
        self.shared.core().clock.on_the_wall(done.completion_ns?)
    }

    /// Bytes that the pool gives access to: whole pages of the store.
    pub fn bytes(&self) -> u64 {
        self.shared.pages * u64::from(self.shared.options.page_bytes)
    }

    /// Records each request from now on, as a trace that Destage reads.
    ///
    /// # Errors
    ///
    /// Errors of what was recorded before, to another place.
    pub fn record(&self, to: Box<dyn Write + Send>) -> io::Result<()> {
        let before = self.flush_record();
        let mut core = self.shared.core();
        core.log.record = Some(Record::new(to, &self.shared.options.name));
        before
    }

    /// Writes each decision from now on, as `destage run --decisions` does.
    ///
    /// # Errors
    ///
    /// Errors of decisions that were written before, to another place.
    pub fn decisions(&self, to: Box<dyn Write + Send>) -> io::Result<()> {
        let before = self.flush_record();
        self.shared.core().log.decisions = Some(Decisions { lines: Lines::new(to), index: 0 });
        before
    }

    /// Writes lines of record and decisions that are still in memory.
    ///
    /// # Errors
    ///
    /// The first of any write of either; it does not end the pool, but the record.
    pub fn flush_record(&self) -> io::Result<()> {
        held::drain(&self.shared);
        self.shared.flush_record()
    }

    /// Flushes, and gives the store back.
    ///
    /// # Errors
    ///
    /// The flush's or the record's, with the pool as it was.
    pub fn close(self) -> Result<S, (Pool<S>, io::Error)> {
        if let Err(error) = self.flush().and_then(|()| self.flush_record()) {
            return Err((self, error));
        }
        let Pool { helpers, shared } = self;
        drop(helpers);
        let shared = Arc::into_inner(shared).expect("threads of the pool have ended");
        Ok(shared.store)
    }
}
