//! The hot loop: one policy over one decoded trace, without a device.
//!
//! Nothing is hashed and nothing is allocated here, and the policy is known at compile time. The
//! time goes into waiting for memory, so the loop tells the policy which pages come next: it knows.

use crate::accesses::{Access, BLOCK, Columns, Expander};
use crate::counters::{Counters, DestageSizes, OwnCounters};
use crate::result::Warmup;
use destage_core::{
    Blind, Lookup, Lpn, NEVER, Nanos, Needs, Op, Page, Plan, Policy, Request, Units,
};
use destage_ssd::OperationRecord;
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

/// A request of a run with a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completed {
    /// Its number, from 0, warm-up included.
    pub number: u64,
    /// Read or write.
    pub op: Op,
    /// When it was issued, nanoseconds.
    pub issued_ns: Nanos,
    /// When it completes, nanoseconds.
    pub completion_ns: Nanos,
    /// Numbers of the host operations (R and W) that it caused, among all of the run.
    pub operations: Range<u64>,
}

/// Sees every decision of a run; the empty one costs nothing.
pub trait Observer {
    /// It wants to be shown every access. If not, evictions are counted a block at a time, which
    /// saves a third of the instructions of a miss.
    const SEES_ACCESSES: bool = true;

    /// After each access: what it was, whether it hit, what it evicted (`None` on a hit).
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>);

    /// It wants to be shown the operations of the device.
    const SEES_OPERATIONS: bool = false;

    /// It wants to be shown them in this run; asked once, before the first. A drive that nobody
    /// watches keeps no record of them.
    fn wants_operations(&self) -> bool {
        Self::SEES_OPERATIONS
    }

    /// With a device: it is known when a request completes. In the order of requests, but where
    /// reads go first.
    fn completed(&mut self, _: &Completed) {}

    /// With a device: operations of its units, those of a unit in the order of service.
    fn operations(&mut self, _: &mut dyn Iterator<Item = OperationRecord>) {}

    /// It wants to be shown where the policy has adapted to.
    const SEES_GAUGES: bool = false;

    /// It wants to be shown now, after an access.
    fn wants_gauges(&self) -> bool {
        false
    }

    /// A gauge of the policy ([`Policy::gauges`]), when it was asked for and when the run has ended.
    fn gauge(&mut self, _name: &'static str, _value: f64) {}

    /// After each block of accesses: how many in all. False stops the run.
    fn progress(&mut self, _accesses: u64) -> bool {
        true
    }
}

/// Shows the policy's gauges to an observer that wants them now. Nothing, if it never does.
#[inline(always)]
pub fn show_gauges<P: Policy, O: Observer>(policy: &P, observer: &mut O) {
    if O::SEES_GAUGES && observer.wants_gauges() {
        policy.gauges(&mut |name, value| observer.gauge(name, value));
    }
}

/// Sees nothing.
pub struct Unobserved;

impl Observer for Unobserved {
    const SEES_ACCESSES: bool = false;

    #[inline(always)]
    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}
}

/// The next use of each access, as wide as the trace is long.
#[derive(Clone, Copy, Debug)]
pub enum NextUses<'a> {
    /// No policy of the run needs them.
    None,
    /// Fewer than 2^32 - 1 accesses; `u32::MAX` is never.
    Short(&'a [u32]),
    /// More; `u64::MAX` is never.
    Long(&'a [u64]),
}

impl NextUses<'_> {
    #[inline(always)]
    pub(crate) fn of(&self, access: usize) -> u64 {
        match self {
            NextUses::None => NEVER,
            NextUses::Short(next) => match next[access] {
                u32::MAX => NEVER,
                next => next.into(),
            },
            NextUses::Long(next) => next[access],
        }
    }
}

/// What a run leaves behind.
#[derive(Clone, Default, Debug)]
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
}

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
        let mut done = 0;
        let Some(warm) = self.warmup.rows(requests, self.arrivals_ns) else {
            // One request at a time, because counting starts with a request, and only the policy
            // knows when it is full.
            let mut request = 0;
            while request < requests && policy.resident() < policy.frames() {
                self.part(policy, observer, request, request + 1, &mut done)?;
                request += 1;
            }
            return self.counted(policy, observer, request, &mut done);
        };
        self.part(policy, observer, 0, warm, &mut done)?;
        self.counted(policy, observer, warm, &mut done)
    }

    /// The part that counts, to the end.
    fn counted<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
        start: usize,
        done: &mut u64,
    ) -> Option<Replayed> {
        let before = OwnCounters::of(policy);
        let requests = self.columns.first_ids.len();
        let (counters, destage_pages) = self.part(policy, observer, start, requests, done)?;
        if O::SEES_GAUGES {
            policy.gauges(&mut |name, value| observer.gauge(name, value));
        }
        let own = OwnCounters::of(policy).since(&before);
        Some(Replayed { counters, own, destage_pages, warmup_requests: start as u64 })
    }

    fn part<P: Policy, O: Observer>(
        &self,
        policy: &mut P,
        observer: &mut O,
        start: usize,
        end: usize,
        done: &mut u64,
    ) -> Option<(Counters, DestageSizes)> {
        let mut counters = (Counters::default(), DestageSizes::default());
        let mut plan = Plan::new();
        let mut expander = Expander::new(self.columns, start, end);
        let mut block = [Access::default(); BLOCK + AHEAD];
        let mut filled = expander.fill(&mut block, 0);
        while filled > 0 {
            // All but the last AHEAD are run; those are known already and come first in the next
            // block, so that look-ahead never ends at a block's edge.
            let run = if filled == block.len() { BLOCK } else { filled };
            self.block(policy, observer, &block[..filled], run, *done, &mut plan, &mut counters);
            *done += run as u64;
            if !observer.progress(*done) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        Some(counters)
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
        (counters, sizes): &mut (Counters, DestageSizes),
    ) {
        for (i, &access) in block[..run].iter().enumerate() {
            if let Some(far) = block.get(i + AHEAD) {
                policy.warm(Page(far.id.into()));
            }
            if let Some(near) = block.get(i + LINKS_AHEAD) {
                policy.warm_links(Page(near.id.into()));
            }
            if let Some(next) = block.get(i + NEIGHBOURS_AHEAD) {
                policy.warm_neighbours(Page(next.id.into()));
            }
            let next_use = if P::NEEDS.contains(Needs::NEXT_USE) {
                self.next_uses.of(first_access as usize + i)
            } else {
                NEVER
            };
            let r = Request {
                page: Page(access.id.into()),
                // Every id is in the table; `get` has no panic path, so that a policy that never
                // asks for the LPN pays no load for it.
                lpn: Lpn(self.columns.lpns.get(access.id as usize).copied().unwrap_or(NEVER)),
                op: access.op(),
                first_of_request: access.first_of_request(),
                next_use,
                units: Units::NONE,
                fetch: NEVER,
            };
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
                    observer.access(&r, false, Some(plan));
                }
            }
            show_gauges(policy, observer);
        }
        counters.evicted(plan);
        sizes.add(plan);
        plan.clear();
    }
}
