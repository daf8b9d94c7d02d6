//! The hot loop: one policy over one decoded trace, without a device.
//!
//! Nothing is hashed and nothing is allocated here, and the policy is known at compile time. The
//! time goes into waiting for memory, so the loop tells the policy which pages come next: it knows.

use crate::accesses::{Access, BLOCK, Columns, Expander};
use crate::control_commands::{ControlCommand, ControlCommands, ControlKind};
use crate::counters::{Counters, DestageSizes, OwnCounters, TrimCounters};
use crate::input::{Input, NextUses};
use crate::observe::{Observer, show_gauges};
use crate::tiers::counters::DirtyPages;
use crate::warmup::Warmup;
use crate::windows::{FlashWork, WINDOWS, WindowBounds, WindowCounts};
use destage_core::pages::prefetch;
use destage_core::{Blind, Lookup, Lpn, NEVER, Page, Plan, Policy, Request, Requirements, Units};
use destage_policies::{BuildError, Setup};
use std::collections::BTreeMap;
use std::ops::Range;

/// How far ahead a page's node is asked for. A cache miss lasts about 100 ns, an access 10 to 25.
const AHEAD: usize = 16;

/// How far ahead the node's neighbours are asked for; by then the node has come.
const LINKS_AHEAD: usize = 6;

/// And what can be found only then.
const NEIGHBOURS_AHEAD: usize = 3;

/// Runs of padding pages that are collected before they are counted: more would not stay in the
/// processor's first cache.
const MOST_PADS: usize = 512;

/// Counts of a run without a device.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Counters. `physical_reads` and `physical_writes` are left to the caller, which has
    /// the run's options.
    pub counters: Counters,
    /// The policy's own counters.
    pub own: OwnCounters,
    /// Sizes of the flush groups.
    pub destage_pages: DestageSizes,
    /// Requests that were not counted.
    pub warmup_requests: u64,
    /// Counts of each window.
    pub parts: WindowCounts,
    /// Where the policy has adapted to, at the end.
    pub gauges: BTreeMap<String, f64>,
    /// Pages that were dirty when counting began.
    pub dirty_at_start: u64,
    /// Pages that were still dirty at the end.
    pub dirty_left: u64,
}

impl Replayed {
    /// Writes all pages that are dirty at the end, with several tiers to the backing store.
    pub fn flush(&mut self) {
        let counters = &mut self.counters;
        counters.end_flushes = std::mem::take(&mut self.dirty_left);
        counters.tiers.set_pending(0, DirtyPages::default());
        counters.tiers.tier2.backing_writes += counters.end_flushes;
    }
}

/// Progress of the loop.
#[derive(Default)]
struct Done {
    accesses: u64,
    control_commands: usize, // of the list
}

/// Counts of a loop that runs.
pub(crate) type Counted = (Counters, DestageSizes);

/// One run's input.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The decoded trace.
    pub columns: Columns<'a>,
    /// Next use of each access, for policies that need it.
    pub next_uses: NextUses<'a>,
    /// Warm-up: replayed, not measured.
    pub warmup: Warmup,
    /// Arrivals, nanoseconds, not decreasing; a warm-up by time and filters in time look at them.
    pub arrivals_ns: &'a [u64],
    /// Trims between its rows; none if they are no part of the run.
    pub trims: ControlCommands<'a>,
}

impl<'a> Replay<'a> {
    /// A run over this input whose trims are no part of it.
    pub fn of(input: &Input<'a>, warmup: Warmup) -> Self {
        Replay {
            columns: input.columns,
            next_uses: input.next_uses,
            warmup,
            arrivals_ns: input.arrivals_ns,
            trims: ControlCommands::NONE,
        }
    }

    /// Runs the policy over the trace, every decision shown to the observer; counts begin after the
    /// warm-up.
    ///
    /// Returns `None` when the observer stopped it.
    pub fn run<P: Policy>(&self, policy: &mut P, observer: &mut dyn Observer) -> Option<Replayed> {
        self.whole(&mut Loop::<P, true> { policy, plan: Plan::new() }, observer)
    }

    /// Runs the policy of this name unobserved, in a loop compiled for it; the observer
    /// is asked for its progress alone.
    ///
    /// Returns `None` when the observer stopped it.
    ///
    /// # Errors
    ///
    /// Errors of [`destage_policies::build`].
    pub fn run_unwatched(
        &self,
        name: &str,
        setup: &Setup,
        observer: &mut dyn Observer,
    ) -> Result<Option<Replayed>, BuildError> {
        let pages = self.columns.lpns.len() as u32;
        // Fifty loops take most of the time of a build; tests, which have one of their own, do
        // with one.
        #[cfg(debug_assertions)]
        return Ok(self.unwatched(destage_policies::dense(name, setup, pages)?, observer));
        #[cfg(not(debug_assertions))]
        {
            let directory = destage_core::Dense::new(pages);
            let unwatched = Unwatched { replay: self, observer };
            destage_policies::build(name, setup, directory, unwatched)
        }
    }

    fn unwatched<P: Policy>(&self, mut policy: P, observer: &mut dyn Observer) -> Option<Replayed> {
        self.whole(&mut Loop::<P, false> { policy: &mut policy, plan: Plan::new() }, observer)
    }

    pub(crate) fn whole(
        &self,
        policy: &mut dyn Replays,
        observer: &mut dyn Observer,
    ) -> Option<Replayed> {
        let requests = self.columns.first_ids.len();
        let mut done = Done::default();
        let mut warming = Counted::default();
        let Some(warm) = self.warmup.rows(requests, self.arrivals_ns) else {
            // One request at a time, because counting starts with a request, and only the policy
            // knows when it is full.
            let mut request = 0;
            while request < requests && !policy.is_full() {
                self.part(policy, observer, request..request + 1, &mut done, &mut warming)?;
                request += 1;
            }
            return self.counted(policy, observer, request, &mut done, true);
        };
        self.part(policy, observer, 0..warm, &mut done, &mut warming)?;
        let was_full = policy.is_full() || warming.0.evictions > 0;
        self.counted(policy, observer, warm, &mut done, was_full)
    }

    /// The part that counts, to the end, window by window.
    fn counted(
        &self,
        policy: &mut dyn Replays,
        observer: &mut dyn Observer,
        start: usize,
        done: &mut Done,
        was_full: bool,
    ) -> Option<Replayed> {
        let before = policy.own_counters();
        let dirty_at_start = if start > 0 { policy.dirty_pages() } else { 0 };
        let all = start as u64..self.columns.first_ids.len() as u64;
        let cuts = WindowBounds::of(all.clone());
        let mut parts = WindowCounts::none();
        parts.begin(all, was_full, FlashWork::default());
        let mut counted = Counted::default();
        for window in 0..WINDOWS {
            let [from, to] = [cuts.start(window), cuts.start(window + 1)];
            self.part(policy, observer, from as usize..to as usize, done, &mut counted)?;
            parts.cut(to, &counted.0, FlashWork::default(), policy.is_full());
        }
        let mut gauges = BTreeMap::new();
        policy.gauges(&mut |name, value| {
            observer.gauge(name, value);
            gauges.insert(name.to_string(), value);
        });
        let (counters, destage_pages) = counted;
        Some(Replayed {
            counters,
            own: policy.own_counters().since(&before),
            gauges,
            destage_pages,
            warmup_requests: start as u64,
            parts,
            dirty_at_start,
            dirty_left: policy.dirty_pages(),
        })
    }

    /// Replays a range of requests with the trims that precede each; after the last request of all,
    /// the remaining trims.
    fn part(
        &self,
        policy: &mut dyn Replays,
        observer: &mut dyn Observer,
        rows: Range<usize>,
        done: &mut Done,
        counted: &mut Counted,
    ) -> Option<()> {
        let mut from = rows.start;
        let is_last = rows.end == self.columns.first_ids.len();
        while let Some(trim) = self.trims.list.get(done.control_commands)
            && (trim.row < rows.end as u64 || is_last)
        {
            let row = (trim.row as usize).max(from);
            self.stretch(policy, observer, from..row, done, counted)?;
            from = row;
            done.control_commands += 1;
            if trim.kind() != ControlKind::Flush {
                self.trim(policy, trim, &mut counted.0.trims);
            }
        }
        self.stretch(policy, observer, from..rows.end, done, counted)
    }

    fn trim(&self, policy: &mut dyn Replays, trim: &ControlCommand, counted: &mut TrimCounters) {
        counted.trim_requests += 1;
        for id in self.trims.ids(trim, self.columns.lpns).into_iter().flatten() {
            if let Some(dirty) = policy.forget(Page(id.into())) {
                counted.trim_cache_drops += 1;
                counted.trim_dirty_drops += u64::from(dirty);
            }
        }
    }

    /// Some rows with no trim between them, cut where the policy awaits an arrival.
    fn stretch(
        &self,
        policy: &mut dyn Replays,
        observer: &mut dyn Observer,
        mut rows: Range<usize>,
        done: &mut Done,
        counted: &mut Counted,
    ) -> Option<()> {
        while !rows.is_empty() && policy.awaits_ns() < u64::MAX {
            policy.arrived(self.arrivals_ns[rows.start], counted);
            let (awaited, left) = (policy.awaits_ns(), &self.arrivals_ns[rows.clone()]);
            let until = rows.start + left.partition_point(|&ns| ns < awaited);
            self.rows(policy, observer, rows.start..until, done, counted)?;
            rows.start = until;
        }
        self.rows(policy, observer, rows, done, counted)
    }

    /// Some rows with nothing between them, counted.
    fn rows(
        &self,
        policy: &mut dyn Replays,
        observer: &mut dyn Observer,
        rows: Range<usize>,
        done: &mut Done,
        counted: &mut Counted,
    ) -> Option<()> {
        if rows.is_empty() {
            return Some(());
        }
        let mut expander = Expander::new(self.columns, rows.start, rows.end);
        let mut block = [Access::default(); BLOCK + AHEAD];
        let mut filled = expander.fill(&mut block, 0);
        while filled > 0 {
            // All but the last AHEAD are run; those are known already and come first in the next
            // block, so that look-ahead never ends at a block's edge.
            let run = if filled == block.len() { BLOCK } else { filled };
            let first = done.accesses;
            policy.block(self, observer, Block { accesses: &block[..filled], run, first }, counted);
            done.accesses += run as u64;
            if !observer.progress(done.accesses) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        Some(())
    }
}

/// Accesses in a row.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    /// Accesses of the block, followed by those that are prefetched.
    pub(crate) accesses: &'a [Access],
    /// Number of accesses that are run.
    pub(crate) run: usize,
    /// Number of the first, among all of the trace.
    pub(crate) first: u64,
}

/// A policy and the loop that runs it: all that is compiled for each policy. It is called for a
/// block of accesses at a time.
pub(crate) trait Replays {
    fn block(
        &mut self,
        replay: &Replay<'_>,
        observer: &mut dyn Observer,
        block: Block<'_>,
        counted: &mut Counted,
    );
    fn is_full(&self) -> bool;
    fn forget(&mut self, page: Page) -> Option<bool>;
    /// The arrival from which on [`arrived`](Replays::arrived) is to be called, ns; the largest
    /// number: never. Above the last that it was called with.
    fn awaits_ns(&self) -> u64 {
        u64::MAX
    }
    /// A request arrives, before its accesses; what was due since the last one is counted.
    fn arrived(&mut self, _now_ns: u64, _counted: &mut Counted) {}
    fn own_counters(&self) -> OwnCounters;
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64));
    fn dirty_pages(&self) -> u64;
}

/// Answers about the policy of a loop or a front end: whether it is full, its counters and gauges.
macro_rules! answers_of {
    ($self:ident.$policy:ident) => {
        fn is_full(&$self) -> bool {
            $self.$policy.resident() >= $self.$policy.frames()
        }

        fn own_counters(&$self) -> crate::counters::OwnCounters {
            crate::counters::OwnCounters::of(&*$self.$policy)
        }

        fn gauges(&$self, show: &mut dyn FnMut(&'static str, f64)) {
            $self.$policy.gauges(show);
        }
    };
}
pub(crate) use answers_of;

/// Is told of the misses of a block.
pub(crate) trait Misses {
    /// The access missed and its page was admitted; the plan has so many evicted pages now.
    #[inline(always)]
    fn missed(&mut self, _: &Request, _evicted: usize) {}

    /// The access missed and its page was not admitted.
    #[inline(always)]
    fn bypassed(&mut self) {}
}

/// Misses without a listener.
impl Misses for () {}

/// The loop over a block. Unobserved, evictions are counted a block at a time, which saves a
/// third of the instructions of a miss.
struct Loop<'p, P, const WATCHED: bool> {
    policy: &'p mut P,
    plan: Plan,
}

impl<P: Policy, const WATCHED: bool> Replays for Loop<'_, P, WATCHED> {
    fn block(
        &mut self,
        replay: &Replay<'_>,
        observer: &mut dyn Observer,
        block: Block<'_>,
        (counters, sizes): &mut Counted,
    ) {
        let (policy, plan, counted) =
            (&mut *self.policy, &mut self.plan, (&mut *counters, &mut *sizes));
        run_block::<P, (), WATCHED>(policy, plan, &mut (), replay, observer, block, counted);
        count_evicted(plan, counters, sizes);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        self.policy.forget(page)
    }

    fn dirty_pages(&self) -> u64 {
        self.policy.dirty_pages()
    }

    answers_of! { self.policy }
}

/// Runs the policy over a block; the pages that it evicted since they were counted last are in
/// `plan`.
#[inline(always)]
pub(crate) fn run_block<P: Policy, M: Misses, const WATCHED: bool>(
    policy: &mut P,
    plan: &mut Plan,
    misses: &mut M,
    replay: &Replay<'_>,
    observer: &mut dyn Observer,
    block: Block<'_>,
    (counters, sizes): (&mut Counters, &mut DestageSizes),
) {
    for (i, &access) in block.accesses[..block.run].iter().enumerate() {
        look_ahead(policy, block.accesses, i, replay.columns.lpns);
        let r = replay.request(policy, access, block.first as usize + i);
        match policy.request(&r) {
            Lookup::Hit(_) => {
                counters.hit(r.op);
                if WATCHED {
                    observer.access(&r, true, None);
                }
            }
            Lookup::Miss(mut miss) => {
                counters.miss(r.op);
                while policy.resident() >= policy.frames() {
                    policy.evict(&mut miss, &Blind, plan);
                }
                policy.admit(&r, miss);
                misses.missed(&r, plan.evicted().len());
                if WATCHED {
                    observer.access(&r, false, Some(plan));
                }
                if WATCHED || plan.pad_runs().len() >= MOST_PADS {
                    count_evicted(plan, counters, sizes);
                }
            }
            Lookup::Bypass => {
                counters.miss(r.op);
                counters.bypasses += 1;
                let through = r.op.is_write() && policy.writes_through();
                counters.written_through += u64::from(through);
                misses.bypassed();
                if WATCHED {
                    if through {
                        plan.write_through(r.page); // it is empty: no eviction is counted in it
                    }
                    observer.refused(&r, plan);
                    plan.clear();
                }
            }
        }
        if WATCHED {
            show_gauges(policy, observer);
        }
    }
}

/// Counts the evictions of a plan and clears it.
#[inline(always)]
pub(crate) fn count_evicted(plan: &mut Plan, counters: &mut Counters, sizes: &mut DestageSizes) {
    counters.evicted(plan);
    sizes.add(plan);
    plan.clear();
}

/// An unobserved run, for whichever policy is built.
#[cfg(not(debug_assertions))]
struct Unwatched<'a> {
    replay: &'a Replay<'a>,
    observer: &'a mut dyn Observer,
}

#[cfg(not(debug_assertions))]
impl destage_policies::Visitor for Unwatched<'_> {
    type Output = Option<Replayed>;

    fn visit<P: Policy>(self, policy: P) -> Option<Replayed> {
        self.replay.unwatched(policy, self.observer)
    }
}

impl Replay<'_> {
    /// The request of an access, the `number`th of the trace.
    #[inline(always)]
    pub(crate) fn request<P: Policy>(&self, policy: &P, access: Access, number: usize) -> Request {
        let next_use = if policy.requirements().contains(Requirements::NEXT_USE) {
            self.next_uses.of(number)
        } else {
            NEVER
        };
        Request {
            page: Page(access.id.into()),
            // Every id is in the table; `get` has no panic path, so that a policy that never
            // asks for the LPN pays no load for it.
            lpn: Lpn(self.columns.lpns.get(access.id as usize).copied().unwrap_or(NEVER)),
            op: access.op(),
            first_of_request: access.first_of_request(),
            next_use,
            units: Units::NONE,
            fetch: NEVER,
        }
    }
}

/// Tells the memory which pages come next.
#[inline(always)]
pub(crate) fn look_ahead<P: Policy>(policy: &P, block: &[Access], at: usize, lpns: &[u64]) {
    if let Some(far) = block.get(at + AHEAD) {
        policy.prefetch(Page(far.id.into()));
        if P::READS_LPN {
            prefetch(lpns, far.id as usize);
        }
    }
    if let Some(near) = block.get(at + LINKS_AHEAD) {
        policy.prefetch_links(Page(near.id.into()));
    }
    if let Some(next) = block.get(at + NEIGHBOURS_AHEAD) {
        policy.prefetch_neighbours(Page(next.id.into()));
    }
}
