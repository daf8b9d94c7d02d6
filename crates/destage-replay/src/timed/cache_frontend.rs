//! A cache run by a policy in front of the drive (`docs/spec/device.md` 7.3, 7.4).

mod noted;
mod outstanding;
mod pages;
mod writer;

use outstanding::{Outstanding, Submitted};
pub(super) use pages::{Addressed, Numbered, Pages};

use super::frontend::{Access, Frontend, PageFrontend};
use super::ledger::Ledger;

use crate::error::RunError;
use crate::input::NextUses;
use crate::observe::{Observer, Watcher};
use crate::replay::answers_of;
use destage_core::{
    Completion, DeviceView, Lookup, Lpn, NEVER, Nanos, Op, PadRun, Page, Plan, Requirements,
};
use destage_core::{Policy, Request};
use destage_ssd::config::{EvictWait, ReadWait};
use destage_ssd::{
    CacheConfig, Command, Device, DriveLpn, PendingTime, Served, Settled, WriteHint, WriterConfig,
};
use std::ops::DerefMut;

/// When a cached page has its frame, and when its data are there (7.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedPage {
    pub(super) frame: PendingTime,
    pub(super) ready: PendingTime,
}

impl CachedPage {
    fn settle(&mut self, settled: &Settled) {
        *self = CachedPage { frame: settled.now(self.frame), ready: settled.now(self.ready) };
    }
}

/// A cache in front of the drive (7.3, 7.4). `Q` owns or borrows the policy.
pub(super) struct CacheFrontend<'a, Q, T> {
    policy: Q,
    cache: CacheConfig,
    fetch_on_write_miss: bool,
    pages: T,
    next_uses: NextUses<'a>,
    plan: Plan,
    reads: u64,
    programs: u64,
    coming: [u64; 3], // pages that are likely to be evicted soon, the next one first
    // Operations that have not ended, by submission number, if the policy listens.
    submitted: Outstanding,
    writer: Option<WriterConfig>,
    ahead: Vec<Page>, // pages that it writes next
}

impl<'a, P: Policy, Q: DerefMut<Target = P>, T: Pages> CacheFrontend<'a, Q, T> {
    /// An empty cache; tells the drive what the policy will ask it.
    pub(super) fn new(
        policy: Q,
        cache: CacheConfig,
        fetch_on_write_miss: bool,
        pages: T,
        next_uses: NextUses<'a>,
        device: &mut Device,
    ) -> Self {
        if policy.counts_operations() {
            device.queues().keep_unfinished();
        }
        if policy.requirements().completions() {
            device.queues().keep_ends();
        }
        if cache.evict_wait == EvictWait::Transfer {
            device.queues().keep_transfers();
        }
        device.queues().times().free_frames(PendingTime::at(0), policy.frames());
        CacheFrontend {
            policy,
            cache,
            fetch_on_write_miss,
            pages,
            next_uses,
            plan: Plan::new(),
            reads: 0,
            programs: 0,
            coming: [u64::MAX; 3],
            submitted: Outstanding::default(),
            writer: None,
            ahead: Vec::new(),
        }
    }

    /// Counts a host operation, and remembers what its completion will be about; operations are
    /// numbered as they are submitted.
    #[inline]
    fn submitted(&mut self, page: Option<Page>, op: Op, at_ns: Nanos) {
        match op {
            Op::Read => self.reads += 1,
            Op::Write => self.programs += 1,
        }
        if self.policy.requirements().completions() {
            self.submitted.push(Submitted { page, op, at_ns });
        }
    }

    /// Evicts until a frame is free, and says when it is.
    #[inline]
    fn make_room(
        &mut self,
        device: &mut Device,
        now: Nanos,
        miss: &mut P::Miss,
        ledger: &mut Ledger,
    ) -> PendingTime {
        if self.policy.resident() < self.policy.frames() {
            // A frame never used, or one that an earlier group left.
            let frame = device.queues().times().take_frame();
            return device.queues().times().later(PendingTime::at(now), frame);
        }
        let mut frame = PendingTime::at(now);
        let mut destaged = false;
        while self.policy.resident() >= self.policy.frames() {
            let before = (self.plan.evicted().len(), self.plan.group_count());
            self.policy.evict(miss, &*device, &mut self.plan);
            if matches!(self.cache.evict_wait, EvictWait::Program | EvictWait::Transfer) {
                for at in before.0..self.plan.evicted().len() {
                    let victim = self.plan.evicted()[at].page;
                    let held = self.pages.held(victim).frame;
                    frame = device.queues().times().later(frame, held);
                }
            }
            for group in before.1..self.plan.group_count() {
                if self.plan.stays(group) {
                    self.write_and_keep(device, now, group, ledger);
                } else {
                    frame =
                        self.destage(device, now, (group, self.cache.evict_wait), frame, ledger);
                    destaged = true;
                }
            }
        }
        if destaged && self.cache.evict_wait == EvictWait::Staged {
            frame = device.queues().times().staging_free(now, self.cache.staging_pages);
        }
        for evicted in self.plan.evicted() {
            self.pages.left(evicted.page);
        }
        ledger.pages.evicted(&self.plan);
        ledger.destage_pages.add(&self.plan);
        let left = self.policy.frames() - self.policy.resident() - 1;
        if left > 0 {
            device.queues().times().free_frames(frame, left);
        }
        self.prefetch_victims(device);
        frame
    }

    /// Writes a flush group of the plan; `frame`, or the instant at which the frames that it leaves
    /// are free if that is later (`docs/spec/device.md` 12). Staged, its pages are counted, and all
    /// groups of the access decide about its frame.
    #[inline]
    fn destage(
        &mut self,
        device: &mut Device,
        now: Nanos,
        (group, evict_wait): (usize, EvictWait),
        mut frame: PendingTime,
        ledger: &mut Ledger,
    ) -> PendingTime {
        let (flushed, pads) = self.plan.group_ranges(group);
        // Padding is no miss and no write-back: its latencies are not among theirs.
        let counted = device.queues().count_latencies(false);
        for at in pads.clone() {
            let PadRun { first, pages, in_buffer } = self.plan.pad_runs()[at];
            for lpn in first.0..first.0 + pages {
                if !in_buffer && self.fetch(device, DriveLpn(lpn as u32), None, now).1 {
                    ledger.padding_reads += 1;
                }
            }
        }
        let mut next_flushed = flushed.start;
        let (mut next_run, mut next_in_run) = (pads.start, 0);
        let label = self.plan.label(group);
        device.command(Command::Access(Op::Write));
        loop {
            // Both ascend; the block is written in one pass.
            let page = self.plan.flushed()[..flushed.end].get(next_flushed).copied();
            let lpn = page.map_or(u64::MAX, |page| self.pages.lpn(page).0.into());
            let run = self.plan.pad_runs()[..pads.end].get(next_run);
            let pad = run.map(|run| run.first.0 + next_in_run);
            let lpn = match pad {
                Some(pad) if pad < lpn => {
                    next_in_run += 1;
                    if run.is_some_and(|run| run.pages == next_in_run) {
                        (next_run, next_in_run) = (next_run + 1, 0);
                    }
                    pad
                }
                _ if page.is_none() => break,
                _ => {
                    next_flushed += 1;
                    let unit = device.unit_of(device.target(Lpn(lpn)));
                    ledger.destage(device.in_gc(unit), loads(device), device.units());
                    lpn
                }
            };
            let is_pad = pad == Some(lpn);
            device.queues().count_latencies(counted && !is_pad);
            let hint = page.filter(|_| !is_pad).map(|page| self.pages.written_back(page, label));
            let served = device.write_as(DriveLpn(lpn as u32), hint.unwrap_or_default());
            self.submitted(if is_pad { None } else { page }, Op::Write, now);
            let times = device.queues().times();
            frame = match evict_wait {
                EvictWait::Program => times.later(frame, served.end),
                EvictWait::Transfer => times.later(frame, served.transferred),
                EvictWait::None => frame,
                EvictWait::Staged => {
                    if !is_pad {
                        times.stage(served.end, now, self.cache.staging_pages);
                    }
                    frame
                }
            };
        }
        device.queues().count_latencies(counted);
        frame
    }

    /// An access to a page that the policy does not take in: it goes to the drive, and its end is
    /// when the drive has served it.
    #[inline]
    fn bypass(
        &mut self,
        device: &mut Device,
        (now, lpn, bytes): (Nanos, DriveLpn, u64),
        r: &Request,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> PendingTime {
        ledger.pages.miss(r.op);
        ledger.pages.bypasses += 1;
        self.plan.clear();
        if r.op.is_write() && self.policy.writes_through() {
            ledger.pages.written_through += 1;
            self.plan.write_through(r.page);
            observer.refused(r, &self.plan);
            return self.write_through(device, now, r.page, (lpn, bytes));
        }
        observer.refused(r, &self.plan);
        self.fetch(device, lpn, Some(r.page), now)
            .0
            .map_or(PendingTime::at(now), |served| served.end)
    }

    /// Reads a page for the cache; whether that reached the flash.
    #[inline]
    fn fetch(
        &mut self,
        device: &mut Device,
        lpn: DriveLpn,
        page: Option<Page>,
        now: Nanos,
    ) -> (Option<Served>, bool) {
        device.command(Command::Access(Op::Read));
        let served = device.read(lpn);
        // What the drive served without its flash has no number, and its end is not reported.
        let reached = served.is_some_and(|served| served.submission != NEVER);
        if reached {
            self.submitted(page, Op::Read, now);
        }
        (served, reached)
    }

    /// Writes a group of which no page leaves: only its own frames wait for that
    /// (`docs/spec/ace.md`, 4).
    #[inline(never)]
    fn write_and_keep(
        &mut self,
        device: &mut Device,
        now: Nanos,
        group: usize,
        ledger: &mut Ledger,
    ) {
        // A page that stays is written from its frame: it has no staging page.
        let wait = match self.cache.evict_wait {
            EvictWait::Staged => EvictWait::Program,
            wait => wait,
        };
        let written = self.destage(device, now, (group, wait), PendingTime::at(now), ledger);
        let (flushed, _) = self.plan.group_ranges(group);
        for &page in &self.plan.flushed()[flushed] {
            let held = self.pages.held(page);
            held.frame = device.queues().times().later(held.frame, written);
        }
    }

    /// Writes a page that the policy does not take in; when its program ends
    /// (`docs/spec/further-policies.md`, 2.1). It is no write-back: nothing is sampled, and its
    /// latency is not among theirs.
    fn write_through(
        &mut self,
        device: &mut Device,
        now: Nanos,
        page: Page,
        (lpn, bytes): (DriveLpn, u64),
    ) -> PendingTime {
        if self.fetch_on_write_miss {
            self.fetch(device, lpn, Some(page), now);
        }
        let counted = device.queues().count_latencies(false);
        device.command(Command::Access(Op::Write));
        let served = device.write_as(lpn, WriteHint { bytes, label: 0 });
        device.queues().count_latencies(counted);
        self.submitted(Some(page), Op::Write, now);
        served.end
    }

    /// Prefetches the dependent loads of coming write-backs: the page's LPN, its place on flash,
    /// the block that it leaves. One step per eviction, for three victims at once.
    #[inline(always)]
    fn prefetch_victims(&mut self, device: &Device) {
        let [nearest, near, far] = self.coming;
        self.coming = [near, far, self.policy.coming_victim().map_or(u64::MAX, |page| page.0)];
        self.pages.prefetch(self.coming[2]);
        if let Some(lpn) = self.pages.hinted_lpn(near) {
            device.prefetch(lpn);
        }
        if let Some(lpn) = self.pages.hinted_lpn(nearest) {
            device.prefetch_old(lpn);
        }
    }
}

/// The longest queue and the sum of all, nanoseconds.
#[inline]
pub(super) fn loads(device: &mut Device) -> (Nanos, u128) {
    device.queues().longest_and_sum_ns()
}

impl<P: Policy, Q: DerefMut<Target = P>, T: Pages> PageFrontend for CacheFrontend<'_, Q, T> {
    #[inline(always)]
    fn prefetch(&self, device: &Device, id: u32, lpn: DriveLpn, op: Op) {
        self.policy.prefetch(Page(id.into()));
        self.pages.prefetch_held(id.into());
        if op == Op::Read {
            device.prefetch(lpn); // a write reaches the drive only when it is evicted
        }
    }

    #[inline(always)]
    fn prefetch_links(&self, _: &Device, id: u32, _: DriveLpn) {
        self.policy.prefetch_links(Page(id.into()));
    }

    #[inline]
    fn access(
        &mut self,
        device: &mut Device,
        access: Access,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> Result<PendingTime, RunError> {
        let Access { now, op, id, lpn, bytes, .. } = access;
        let page = Page(id.into());
        let mut r = Request::new(page, Lpn(lpn.0.into()), op);
        r.first_of_request = access.first_of_request;
        if self.policy.requirements().contains(Requirements::NEXT_USE) {
            r.next_use = self.next_uses.of(access.index as usize);
        }
        if self.policy.requirements().contains(Requirements::UNITS) {
            r.units = device.units_of(lpn);
        }
        match self.policy.request(&r) {
            Lookup::Hit(_) => {
                ledger.pages.hit(op);
                self.pages.accessed(page, op, bytes);
                observer.access(&r, true, None);
                let ready = self.pages.held(page).ready;
                Ok(device.queues().times().later(PendingTime::at(now), ready))
            }
            Lookup::Miss(mut miss) => {
                ledger.pages.miss(op);
                let mut data = PendingTime::at(now);
                let fetches = op == Op::Read || self.fetch_on_write_miss;
                if fetches && let Some(served) = self.fetch(device, lpn, Some(page), now).0 {
                    (data, r.fetch) = (served.end, served.submission);
                }
                self.plan.clear();
                let frame = self.make_room(device, now, &mut miss, ledger);
                if self.policy.requirements().contains(Requirements::UNITS) {
                    r.units = device.units_of(lpn);
                }
                self.policy.admit(&r, miss);
                self.pages.accessed(page, op, bytes);
                observer.access(&r, false, Some(&self.plan));
                let ready = device.queues().times().later(frame, data);
                *self.pages.held(page) = CachedPage { frame, ready };
                Ok(if fetches && self.cache.read_wait == ReadWait::Data { data } else { ready })
            }
            Lookup::Bypass => Ok(self.bypass(device, (now, lpn, bytes), &r, ledger, observer)),
        }
    }
}

impl<P: Policy, Q: DerefMut<Target = P>, T: Pages> Frontend for CacheFrontend<'_, Q, T> {
    fn erased(&mut self) -> &mut dyn Frontend {
        self
    }

    /// All completions by now, in the order of (end, number), before anything is decided.
    fn arrive(&mut self, device: &mut Device) {
        if !self.policy.requirements().completions() {
            return;
        }
        while let Some((end, submission, service_ns)) = device.queues().next_end() {
            let Some(Submitted { page, op, at_ns }) = self.submitted.take(submission) else {
                continue; // written at the end of the run, of which no policy is told
            };
            let done = Completion { page, submission, latency_ns: end - at_ns, service_ns };
            match op {
                Op::Read => self.policy.fetched(&done),
                Op::Write => self.policy.destaged(&done),
            }
        }
    }

    fn uses_idle(&self) -> bool {
        (P::ORDERED && self.writer.is_some()) || self.asks_for_idle()
    }

    fn offer(
        &mut self,
        device: &mut Device,
        at: Nanos,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> bool {
        if !device.queues().any_idle() {
            return true;
        }
        self.arrive(device);
        let asked = self.asks_for_idle() && self.ask(device, at, ledger, observer);
        let left = P::ORDERED && self.trickle(device, at, ledger, observer);
        asked || left
    }

    fn forget(&mut self, device: &mut Device, id: u32, ledger: &mut Ledger) -> Option<bool> {
        let page = Page(id.into());
        let dirty = self.policy.forget(page)?;
        ledger.control_commands.trim_cache_drops += 1;
        ledger.control_commands.trim_dirty_drops += u64::from(dirty);
        device.queues().times().free_frames(self.pages.held(page).frame, 1);
        self.pages.left(page);
        Some(dirty)
    }

    fn after_ns(&self) -> Nanos {
        self.cache.hit_ns
    }

    fn host_operations(&self) -> (u64, u64) {
        (self.reads, self.programs)
    }

    fn settle(&mut self, settled: &Settled) {
        self.pages.settle(settled);
    }

    fn pages(&self) -> usize {
        self.pages.len()
    }

    answers_of! { self.policy }

    fn dirty(&self) -> u64 {
        self.policy.dirty_pages()
    }

    fn flush(&mut self, device: &mut Device) -> u64 {
        let mut dirty = Vec::new();
        let pages = &self.pages;
        self.policy.for_each_resident(&mut |page, is_dirty| {
            if is_dirty {
                dirty.push((pages.lpn(page), page));
            }
        });
        dirty.sort_unstable(); // policies name their pages in any order
        for &(lpn, page) in &dirty {
            device.command(Command::Access(Op::Write));
            let hint = self.pages.written_back(page, 0);
            device.write_as(lpn, hint);
        }
        self.programs += dirty.len() as u64;
        dirty.len() as u64
    }
}
