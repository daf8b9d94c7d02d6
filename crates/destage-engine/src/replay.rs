//! The hot loop: one policy over one decoded trace, without a device.
//!
//! Nothing is hashed and nothing is allocated here, and the policy is known at compile time. The
//! time goes into waiting for memory, so the loop tells the policy which pages come next: it knows.

use crate::accesses::{Access, BLOCK, Columns, Expander};
use crate::control_commands::{ControlCommand, ControlCommands, ControlKind};
use crate::counters::{Counters, DestageSizes, OwnCounters, TrimCounters};
use crate::input::NextUses;
use crate::observe::{Observer, show_gauges};
use crate::warmup::Warmup;
use crate::windows::{Flash, WINDOWS, WindowBounds, WindowCounts};
use destage_core::pages::prefetch;
use destage_core::{Blind, Lookup, Lpn, NEVER, Page, Plan, Policy, Request, Requirements, Units};
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

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What was counted. `physical_reads` and `physical_writes` are left to the caller, who knows
    /// the run's options.
    pub counters: Counters,
    /// What only this policy counts.
    pub own: OwnCounters,
    /// Sizes of the flush groups.
    pub destage_pages: DestageSizes,
    /// Requests that were not counted.
    pub warmup_requests: u64,
    /// What was counted, window by window.
    pub(crate) parts: WindowCounts,
}

/// How far the loop has come.
#[derive(Default)]
struct Done {
    accesses: u64,
    control_commands: usize, // of the list
}

/// What is counted while the loop runs.
type Counted = (Counters, DestageSizes);

/// One run's input.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The decoded trace.
    pub columns: Columns<'a>,
    /// Next use of each access, for policies that need it.
    pub next_uses: NextUses<'a>,
    /// Before what nothing counts.
    pub warmup: Warmup,
    /// Arrivals, nanoseconds, not decreasing; only a warm-up by time looks at them.
    pub arrivals_ns: &'a [u64],
    /// Trims between its rows; none if they are no part of the run.
    pub trims: ControlCommands<'a>,
}

impl Replay<'_> {
    /// Runs the policy over the trace; counts what comes after the warm-up.
    ///
    /// Returns `None` when the observer stopped it.
    pub fn run<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
    ) -> Option<Replayed> {
        let requests = self.columns.first_ids.len();
        let mut done = Done::default();
        let mut warming = Counted::default();
        let Some(warm) = self.warmup.rows(requests, self.arrivals_ns) else {
            // One request at a time, because counting starts with a request, and only the policy
            // knows when it is full.
            let mut request = 0;
            while request < requests && policy.resident() < policy.frames() {
                self.part(policy, observer, request..request + 1, &mut done, &mut warming)?;
                request += 1;
            }
            return self.counted(policy, observer, request, &mut done, true);
        };
        self.part(policy, observer, 0..warm, &mut done, &mut warming)?;
        let was_full = policy.resident() >= policy.frames() || warming.0.evictions > 0;
        self.counted(policy, observer, warm, &mut done, was_full)
    }

    /// The part that counts, to the end, window by window.
    fn counted<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
        start: usize,
        done: &mut Done,
        was_full: bool,
    ) -> Option<Replayed> {
        let before = OwnCounters::of(policy);
        let all = start as u64..self.columns.first_ids.len() as u64;
        let cuts = WindowBounds::of(all.clone());
        let mut parts = WindowCounts::none();
        parts.begin(all, was_full, Flash::default());
        let mut counted = Counted::default();
        for window in 0..WINDOWS {
            let [from, to] = [cuts.start(window), cuts.start(window + 1)];
            self.part(policy, observer, from as usize..to as usize, done, &mut counted)?;
            let is_full = policy.resident() >= policy.frames();
            parts.cut(to, &counted.0, Flash::default(), is_full);
        }
        if O::SEES_GAUGES {
            policy.gauges(&mut |name, value| observer.gauge(name, value));
        }
        let own = OwnCounters::of(policy).since(&before);
        let (counters, destage_pages) = counted;
        Some(Replayed { counters, own, destage_pages, warmup_requests: start as u64, parts })
    }

    /// Some rows, counted, and the trims before each of them; behind the last row of all, the last
    /// trims.
    fn part<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
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

    #[cold]
    fn trim<P: Policy>(&self, policy: &mut P, trim: &ControlCommand, counted: &mut TrimCounters) {
        counted.trim_requests += 1;
        for id in self.trims.ids(trim, self.columns.lpns).into_iter().flatten() {
            if let Some(dirty) = policy.forget(Page(id.into())) {
                counted.trim_cache_drops += 1;
                counted.trim_dirty_drops += u64::from(dirty);
            }
        }
    }

    /// Some rows with no trim between them, counted.
    fn stretch<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
        rows: Range<usize>,
        done: &mut Done,
        counted: &mut Counted,
    ) -> Option<()> {
        if rows.is_empty() {
            return Some(());
        }
        let mut plan = Plan::new();
        let mut expander = Expander::new(self.columns, rows.start, rows.end);
        let mut block = [Access::default(); BLOCK + AHEAD];
        let mut filled = expander.fill(&mut block, 0);
        while filled > 0 {
            // All but the last AHEAD are run; those are known already and come first in the next
            // block, so that look-ahead never ends at a block's edge.
            let run = if filled == block.len() { BLOCK } else { filled };
            self.block(policy, observer, &block[..filled], run, done.accesses, &mut plan, counted);
            done.accesses += run as u64;
            if !observer.progress(done.accesses) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        Some(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one block of the loop above, kept apart for the optimiser"
    )]
    fn block<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
        block: &[Access],
        run: usize,
        first_access: u64,
        plan: &mut Plan,
        (counters, sizes): &mut Counted,
    ) {
        for (i, &access) in block[..run].iter().enumerate() {
            look_ahead(policy, block, i, self.columns.lpns);
            let r = self.request(policy, access, first_access as usize + i);
            match policy.request(&r) {
                Lookup::Hit(_) => {
                    counters.hit(r.op);
                    observer.access(&r, true, None);
                }
                Lookup::Miss(mut miss) => {
                    counters.miss(r.op);
                    while policy.resident() >= policy.frames() {
                        policy.evict(&mut miss, &Blind, plan);
                    }
                    policy.admit(&r, miss);
                    if O::SEES_ACCESSES {
                        observer.access(&r, false, Some(plan));
                    }
                    if O::SEES_ACCESSES || plan.pad_runs().len() >= MOST_PADS {
                        counters.evicted(plan);
                        sizes.add(plan);
                        plan.clear();
                    }
                }
                Lookup::Bypass => {
                    counters.miss(r.op);
                    counters.bypasses += 1;
                    let through = r.op.is_write() && policy.writes_through();
                    counters.written_through += u64::from(through);
                    if through && O::SEES_ACCESSES {
                        plan.write_through(r.page); // it is empty, and no eviction is counted in it
                        observer.refused(&r, plan);
                        plan.clear();
                    } else {
                        observer.refused(&r, plan);
                    }
                }
            }
            show_gauges(policy, observer);
        }
        counters.evicted(plan);
        sizes.add(plan);
        plan.clear();
    }

    /// What the policy is told of an access, which is the `number`th of the trace.
    #[inline(always)]
    fn request<P: Policy>(&self, policy: &P, access: Access, number: usize) -> Request {
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
fn look_ahead<P: Policy>(policy: &P, block: &[Access], at: usize, lpns: &[u64]) {
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
