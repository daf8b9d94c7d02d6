//! Several tiers, the simulated SSD behind the second (`docs/spec/tiers.md` 6).

use super::cache_frontend::{CachedPage, loads};
use super::disk::{Disk, DiskCounters, DiskTimes};
use super::frontend::{Access, Frontend, PageFrontend};
use super::ledger::Ledger;

use crate::error::RunError;
use crate::input::NextUses;
use crate::observe::{Observer, Watcher};
use crate::replay::answers_of;
use crate::tiers::below::LowerTiers;
use crate::tiers::counters::DirtyPages;
use crate::tiers::slots::{SlotOperation, Slots, Store};
use destage_core::pages::prefetch;
use destage_core::{
    Blind, DeviceView, Lookup, Lpn, NEVER, Nanos, Op, Page, Plan, Policy, Request, Requirements,
    huge,
};
use destage_ssd::config::{EvictWait, ReadWait};
use destage_ssd::{
    CacheConfig, Command, Device, DriveLpn, PendingTime, Served, Settled, WriteHint,
};

/// Times of a store below the device, nanoseconds; it serves any number of pages at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StoreTimes {
    /// Of a read.
    pub read_ns: Nanos,
    /// Of a write.
    pub write_ns: Nanos,
}

/// Times of the stores below the device.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BackingTimes {
    /// Of tier 3.
    pub tier3: StoreTimes,
    /// Of the backing store.
    pub backing: BackingStore,
}

/// Times of the backing store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackingStore {
    /// The same for every page, any number of pages at once.
    Constant(StoreTimes),
    /// Those of a disk, one page at a time.
    Disk(DiskTimes),
}

impl Default for BackingStore {
    fn default() -> Self {
        BackingStore::Constant(StoreTimes::default())
    }
}

/// The stores below the device in a run.
pub(super) struct Stores<'a> {
    tier3: StoreTimes,
    backing: StoreTimes, // without a disk
    disk: Option<Disk>,
    lpns: &'a [u64],
}

impl<'a> Stores<'a> {
    /// Stores of pages with these LPNs.
    pub(super) fn new(times: BackingTimes, lpns: &'a [u64]) -> Self {
        let (backing, disk) = match times.backing {
            BackingStore::Constant(backing) => (backing, None),
            BackingStore::Disk(times) => (StoreTimes::default(), Some(Disk::new(times))),
        };
        Stores { tier3: times.tier3, backing, disk, lpns }
    }

    /// Whether the backing store is a disk.
    fn has_disk(&self) -> bool {
        self.disk.is_some()
    }

    fn of(&self, store: Store) -> StoreTimes {
        match store {
            Store::Tier3 => self.tier3,
            Store::Backing => self.backing,
        }
    }

    /// A page that is read or written now: when that has been done.
    fn serve(
        &mut self,
        device: &mut Device,
        (store, page): (Store, Page),
        (now, op, measured): (Nanos, Op, bool),
    ) -> PendingTime {
        if let (Store::Backing, Some(disk)) = (store, &mut self.disk) {
            let lpn = self.lpns[page.0 as usize];
            return PendingTime::at(disk.arrives(device, now, (lpn, measured)));
        }
        let StoreTimes { read_ns, write_ns } = self.of(store);
        PendingTime::at(now + if op == Op::Read { read_ns } else { write_ns })
    }

    /// A page that nothing waits for is written to the backing store from this instant on.
    fn written_back(&mut self, page: Page, (at, measured): (PendingTime, bool)) {
        let disk = self.disk.as_mut().expect("only a disk gets it");
        disk.arrives_at(at, (self.lpns[page.0 as usize], measured));
    }
}

/// Operations that have reached the flash, of all the run.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Submitted {
    reads: u64,
    programs: u64,
}

/// Reads all pages of a slot; when the last is there.
fn read_slot(
    device: &mut Device,
    slots: &Slots,
    slot: u32,
    (now, submitted): (Nanos, &mut Submitted),
) -> PendingTime {
    let mut end = PendingTime::at(now);
    device.command(Command::Access(Op::Read));
    for lpn in slots.pages_of(slot) {
        let Some(served) = device.read(DriveLpn(lpn)) else { continue };
        // What the device served without its flash has no number.
        submitted.reads += u64::from(served.submission != NEVER);
        end = device.queues().times().later(end, served.end);
    }
    end
}

/// Writes all pages of a slot; the last of their ends.
fn write_slot(
    device: &mut Device,
    slots: &Slots,
    slot: u32,
    (now, submitted): (Nanos, &mut Submitted),
) -> Served {
    let mut last =
        Served { end: PendingTime::at(now), transferred: PendingTime::at(now), submission: NEVER };
    device.command(Command::Access(Op::Write));
    for lpn in slots.pages_of(slot) {
        let served = device.write_as(DriveLpn(lpn), WriteHint::default());
        submitted.programs += 1;
        let times = device.queues().times();
        last.end = times.later(last.end, served.end);
        last.transferred = times.later(last.transferred, served.transferred);
    }
    last
}

/// Trims all pages of a slot.
fn trim_slot(device: &mut Device, slots: &Slots, slot: u32) {
    for lpn in slots.pages_of(slot) {
        device.trim(DriveLpn(lpn));
    }
}

/// Submits what an access has done below tier 1, all at `now`; `wrote` learns when each dirty
/// victim of tier 1 is written. When the data that were looked up are there.
pub(super) fn submit(
    device: &mut Device,
    slots: &mut Slots,
    (now, stores): (Nanos, &mut Stores<'_>),
    submitted: &mut Submitted,
    ledger: &mut Ledger,
    mut wrote: impl FnMut(&mut Device, PendingTime, PendingTime),
) -> PendingTime {
    let mut data = PendingTime::at(now);
    let counted = device.queues().count_latencies(true);
    device.queues().count_latencies(counted);
    let operations = std::mem::take(&mut slots.operations);
    let mut victim_read = data;
    for &operation in &operations {
        match operation {
            SlotOperation::Read(slot) => {
                let end = read_slot(device, slots, slot, (now, submitted));
                data = device.queues().times().later(data, end);
            }
            SlotOperation::ReadVictim(slot) => {
                // No request waits for it: it is no read that missed.
                device.queues().count_latencies(false);
                let before = submitted.reads;
                victim_read = read_slot(device, slots, slot, (now, submitted));
                ledger.victim_reads += submitted.reads - before;
                device.queues().count_latencies(counted);
            }
            SlotOperation::Write(slot, true) => {
                let unit = device.unit_of(device.target(Lpn(slots.first_page(slot).0.into())));
                ledger.destage(device.in_gc(unit), loads(device), device.units());
                let served = write_slot(device, slots, slot, (now, submitted));
                wrote(device, served.end, served.transferred);
            }
            SlotOperation::Write(slot, false) => {
                device.queues().count_latencies(false);
                write_slot(device, slots, slot, (now, submitted));
                device.queues().count_latencies(counted);
            }
            SlotOperation::Trim(slot) => {
                device.command(Command::Other);
                trim_slot(device, slots, slot);
            }
            SlotOperation::StoreRead(store, page) => {
                let end = stores.serve(device, (store, page), (now, Op::Read, counted));
                data = device.queues().times().later(data, end);
            }
            SlotOperation::StoreWrite(store, page) => {
                let end = stores.serve(device, (store, page), (now, Op::Write, counted));
                wrote(device, end, end);
            }
            SlotOperation::BackingWrite(page) => {
                stores.written_back(page, (PendingTime::at(now), counted));
            }
            SlotOperation::VictimWrite(page) => stores.written_back(page, (victim_read, counted)),
        }
    }
    slots.operations = operations;
    slots.operations.clear();
    data
}

/// A cache in DRAM, a cache on the device below it, and perhaps another below that.
pub(super) struct TierFrontend<'a, P> {
    policy: &'a mut P,
    cache: &'a CacheConfig,
    lower: LowerTiers<'a>,
    slots: Slots,
    stores: Stores<'a>,
    lpns: &'a [u64],
    next_uses: NextUses<'a>,
    held: Vec<CachedPage>, // by page
    plan: Plan,
    submitted: Submitted,
}

impl<'a, P: Policy> TierFrontend<'a, P> {
    /// Empty tiers.
    pub(super) fn new(
        (policy, lower): (&'a mut P, LowerTiers<'a>),
        mut slots: Slots,
        (cache, times): (&'a CacheConfig, BackingTimes),
        lpns: &'a [u64],
        next_uses: NextUses<'a>,
        device: &mut Device,
    ) -> Self {
        let held = CachedPage { frame: PendingTime::at(0), ready: PendingTime::at(0) };
        device.queues().times().free_frames(PendingTime::at(0), policy.frames());
        let stores = Stores::new(times, lpns);
        if stores.has_disk() {
            slots.over_a_disk();
        }
        TierFrontend {
            policy,
            cache,
            lower,
            slots,
            stores,
            lpns,
            next_uses,
            held: huge::table(held, lpns.len()),
            plan: Plan::new(),
            submitted: Submitted::default(),
        }
    }

    /// Pages that are dirty, in each tier and in any.
    pub(super) fn dirty_pages(&self) -> DirtyPages {
        self.lower.dirty_pages(&|visit| self.policy.for_each_resident(visit))
    }

    /// Counts of the disk, if there is one, of a run that measured from `started_ns` on and whose
    /// requests took `makespan_ns`.
    pub(super) fn disk(&mut self, measured: (Nanos, Nanos)) -> Option<DiskCounters> {
        self.stores.disk.take().map(|disk| disk.finish(measured))
    }

    /// Pages dirty in tier 1.
    pub(super) fn dirty_in_tier1(&self) -> u64 {
        self.policy.dirty_pages()
    }

    /// Submits what a miss did below; when its page has its frame, and its data are there. A page
    /// that passes through tier 1 has no frame: instead of one, it waits for its own write.
    fn times(
        &mut self,
        device: &mut Device,
        (now, was_full, passes): (Nanos, bool, bool),
        ledger: &mut Ledger,
    ) -> (PendingTime, PendingTime) {
        let TierFrontend { cache, slots, stores, submitted, plan, held, .. } = self;
        let mut frame = PendingTime::at(now);
        let evict_wait = if passes { EvictWait::Program } else { cache.evict_wait };
        if !was_full {
            let free = device.queues().times().take_frame();
            frame = device.queues().times().later(frame, free);
        } else if !passes && matches!(evict_wait, EvictWait::Program | EvictWait::Transfer) {
            for victim in plan.evicted() {
                let own = held[victim.page.0 as usize].frame;
                frame = device.queues().times().later(frame, own);
            }
        }
        let mut is_staged = false;
        let data = submit(device, slots, (now, stores), submitted, ledger, |device, end, sent| {
            let times = device.queues().times();
            match evict_wait {
                EvictWait::Program => frame = times.later(frame, end),
                EvictWait::Transfer => frame = times.later(frame, sent),
                EvictWait::None => {}
                EvictWait::Staged => {
                    times.stage(end, now, cache.staging_pages);
                    is_staged = true;
                }
            }
        });
        if is_staged {
            frame = device.queues().times().staging_free(now, cache.staging_pages);
        }
        let left = self.policy.frames() - self.policy.resident();
        if was_full && left > 0 {
            device.queues().times().free_frames(frame, left);
        }
        (frame, data)
    }

    /// Shows where the access found its page, and begins the record of the next.
    fn show(&mut self, r: &Request, hit: bool, observer: &mut Watcher<'_>) {
        if observer.watches() {
            if hit {
                self.slots.decision.tier = 1;
            }
            observer.tiers(&self.slots.decision);
            observer.access(r, hit, (!hit).then_some(&self.plan));
        }
        self.slots.decision.clear();
    }
}

impl<P: Policy> PageFrontend for TierFrontend<'_, P> {
    #[inline(always)]
    fn prefetch(&self, _: &Device, id: u32, _: DriveLpn, _: Op) {
        self.policy.prefetch(Page(id.into()));
        self.lower.tier2.prefetch(Page(id.into()));
        prefetch(&self.held, id as usize);
    }

    #[inline(always)]
    fn prefetch_links(&self, _: &Device, id: u32, _: DriveLpn) {
        self.policy.prefetch_links(Page(id.into()));
        self.lower.tier2.prefetch_copy(Page(id.into()));
    }

    fn access(
        &mut self,
        device: &mut Device,
        access: Access,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> Result<PendingTime, RunError> {
        let Access { now, op, id, .. } = access;
        let page = Page(id.into());
        // The page of the trace, which is none of the device.
        let mut r = Request::new(page, Lpn(self.lpns[id as usize]), op);
        r.first_of_request = access.first_of_request;
        if self.policy.requirements().contains(Requirements::NEXT_USE) {
            r.next_use = self.next_uses.of(access.index as usize);
        }
        let mut miss = match self.policy.request(&r) {
            Lookup::Hit(_) => {
                ledger.pages.hit(op);
                self.show(&r, true, observer);
                let ready = self.held[id as usize].ready;
                return Ok(device.queues().times().later(PendingTime::at(now), ready));
            }
            Lookup::Miss(miss) => miss,
            Lookup::Bypass => {
                // A policy out of service (`Checked`) bypasses; others are no tier 1.
                ledger.pages.miss(op);
                return Ok(PendingTime::at(now));
            }
        };
        ledger.pages.miss(op);
        self.plan.clear();
        let was_full = self.policy.resident() >= self.policy.frames();
        while self.policy.resident() >= self.policy.frames() {
            self.policy.evict(&mut miss, &Blind, &mut self.plan);
        }
        self.policy.admit(&r, miss);
        let mut below = self.lower.below(&mut ledger.pages.tiers, &mut self.slots);
        below.miss(page, op, self.plan.evicted());
        ledger.pages.evicted(&self.plan);
        ledger.destage_pages.add(&self.plan);
        let passes = self.plan.evicted().iter().any(|victim| victim.page == page);
        let (frame, data) = self.times(device, (now, was_full, passes), ledger);
        self.show(&r, false, observer);
        let ready = device.queues().times().later(frame, data);
        self.held[id as usize] = CachedPage { frame, ready };
        let is_read = op == Op::Read || self.lower.tier2.rules().fetch_on_write_miss;
        let is_early = is_read && !passes && self.cache.read_wait == ReadWait::Data;
        Ok(if is_early { data } else { ready })
    }
}

impl<P: Policy> Frontend for TierFrontend<'_, P> {
    fn erased(&mut self) -> &mut dyn Frontend {
        self
    }

    fn row(&mut self, arrival_ns: Nanos) {
        if self.lower.awaits_ns() <= arrival_ns {
            self.lower.arrived(arrival_ns);
        }
    }

    fn forget(&mut self, device: &mut Device, id: u32, ledger: &mut Ledger) -> Option<bool> {
        let page = Page(id.into());
        let above = self.policy.forget(page);
        let nothing = &mut crate::tiers::LowerCounters::default();
        let below = self.lower.below(nothing, &mut self.slots).forget(page);
        if above.is_some() {
            device.queues().times().free_frames(self.held[id as usize].frame, 1);
        }
        let trims = std::mem::take(&mut self.slots.operations);
        for operation in trims {
            if let SlotOperation::Trim(slot) = operation {
                trim_slot(device, &self.slots, slot);
            }
        }
        self.slots.decision.clear();
        let is_dirty = above == Some(true) || below == Some(true);
        let is_cached = above.is_some() || below.is_some();
        ledger.control_commands.trim_cache_drops += u64::from(is_cached);
        ledger.control_commands.trim_dirty_drops += u64::from(is_dirty);
        is_cached.then_some(is_dirty)
    }

    fn trims_pages_of_the_trace(&self) -> bool {
        false
    }

    fn after_ns(&self) -> Nanos {
        self.cache.hit_ns
    }

    fn host_operations(&self) -> (u64, u64) {
        (self.submitted.reads, self.submitted.programs)
    }

    fn settle(&mut self, settled: &Settled) {
        for held in &mut self.held {
            *held = CachedPage { frame: settled.now(held.frame), ready: settled.now(held.ready) };
        }
        if let Some(disk) = &mut self.stores.disk {
            disk.settle(settled);
        }
    }

    fn pages(&self) -> usize {
        self.held.len()
    }

    answers_of! { self.policy }

    fn dirty(&self) -> u64 {
        self.dirty_pages().in_any
    }

    /// To the backing store: the device does nothing.
    fn flush(&mut self, _: &mut Device) -> u64 {
        self.dirty_pages().in_any
    }
}

impl Submitted {
    /// Reads and programs.
    pub(super) fn operations(self) -> (u64, u64) {
        (self.reads, self.programs)
    }
}
