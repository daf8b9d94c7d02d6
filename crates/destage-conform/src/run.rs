//! Runs a page vector: access by access through any policy, or through the replay loop.
//!
//! Two ways on purpose. [`run_vector`] names pages by their numbers and drives the policy as a live
//! buffer pool would; [`Dense`] numbers them by rank and goes through [`Replay`], the loop that
//! every real run uses. Both must decide what the vector says.

use super::vector::{Decision, PageCounters, PageVector};
use destage_core::{Blind, Lookup, Lpn, NEVER, Op, Page, Plan, Policy, Request};
use destage_replay::accesses::{Columns, Extent};
use destage_replay::control_commands::ControlCommands;
use destage_replay::counters::Counters;
use destage_replay::input::NextUses;
use destage_replay::observe::Observer;
use destage_replay::replay::Replay;
use destage_replay::warmup::Warmup;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Decisions of a policy on a vector, in the format of the vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// One per access.
    pub decisions: Vec<Decision>,
    /// Counted by the rules of `docs/spec/page-policies.md` 2.5.
    pub counters: PageCounters,
}

/// A policy that broke the contract of [`Policy`] and cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Number of the access, from 0, if it happened in one.
    pub access: Option<u64>,
    /// The fault, as a sentence.
    pub message: String,
}

/// Drives a policy over pages named by their numbers, one access at a time.
///
/// Built-in or of the user's own; `policy` is empty and has the vector's frames. Next uses are
/// supplied whether or not they are needed; there is no device.
///
/// # Errors
///
/// [`Fault`] if an eviction leaves the buffer as full as it was, or if it has no frame.
pub fn run_vector<P: Policy>(mut policy: P, vector: &PageVector) -> Result<Outcome, Fault> {
    let next_uses = next_uses(&vector.accesses);
    let mut decisions = Vec::with_capacity(vector.accesses.len());
    let mut counters = Counters::default();
    let mut plan = Plan::new();
    for (i, &(op, page)) in vector.accesses.iter().enumerate() {
        let mut r = Request::new(Page(page), Lpn(page), op);
        r.next_use = next_uses[i];
        plan.clear();
        let hit = match policy.request(&r) {
            Lookup::Hit(_) => {
                counters.hit(op);
                true
            }
            Lookup::Miss(mut miss) => {
                counters.miss(op);
                while policy.resident() >= policy.frames() {
                    let before = policy.resident();
                    policy.evict(&mut miss, &Blind, &mut plan);
                    if policy.resident() >= before {
                        return Err(Fault {
                            access: Some(i as u64),
                            message: format!(
                                "evict freed no frame: {before} pages resident before it, {} after",
                                policy.resident()
                            ),
                        });
                    }
                }
                counters.evicted(&plan);
                policy.admit(&r, miss);
                false
            }
            Lookup::Bypass => {
                counters.miss(op);
                counters.bypasses += 1;
                if op.is_write() && policy.writes_through() {
                    counters.written_through += 1;
                    plan.write_through(r.page);
                }
                false
            }
        };
        decisions.push(Decision::of(hit, &plan, |page| page.0));
    }
    Ok(Outcome { decisions, counters: finish(&policy, &counters, vector) })
}

/// A vector's trace as a decoded trace: pages numbered by rank.
pub(super) struct Dense {
    lpns: Vec<u64>,
    ids: Vec<u32>,
    extents: Vec<u32>,
    next_uses: Vec<u64>,
}

impl Dense {
    /// Ranks the vector's pages.
    pub(super) fn new(vector: &PageVector) -> Dense {
        let mut lpns: Vec<u64> = vector.accesses.iter().map(|&(_, page)| page).collect();
        lpns.sort_unstable();
        lpns.dedup();
        let rank = |page| lpns.partition_point(|&lpn| lpn < page) as u32;
        let ids = vector.accesses.iter().map(|&(_, page)| rank(page)).collect();
        let one_page = |op: Op| Extent::new(1, op.is_write(), false, false).0;
        let extents = vector.accesses.iter().map(|&(op, _)| one_page(op)).collect();
        Dense { lpns, ids, extents, next_uses: next_uses(&vector.accesses) }
    }

    /// Pages in ascending order.
    pub(super) fn lpns(&self) -> &[u64] {
        &self.lpns
    }

    /// Distinct pages.
    pub(super) fn pages(&self) -> u32 {
        self.lpns.len() as u32
    }

    /// Runs a policy over these ids, through the replay loop. `None` when it was stopped.
    pub(super) fn run<P: Policy>(
        &self,
        mut policy: P,
        vector: &PageVector,
        stop: &AtomicBool,
    ) -> Option<Outcome> {
        let Dense { lpns, ids, extents, next_uses } = self;
        let replay = Replay {
            columns: Columns { first_ids: ids, extents, lpns },
            next_uses: NextUses::Long(next_uses),
            warmup: Warmup::None,
            arrivals_ns: &[],
            trims: ControlCommands::NONE,
        };
        let decisions = Vec::with_capacity(ids.len());
        let mut recorder = Recorder { lpns, decisions, stop };
        let counters = replay.run(&mut policy, &mut recorder)?.counters;
        let counters = finish(&policy, &counters, vector);
        Some(Outcome { decisions: recorder.decisions, counters })
    }
}

/// Keeps every decision, pages translated back to their numbers.
struct Recorder<'a> {
    lpns: &'a [u64],
    decisions: Vec<Decision>,
    stop: &'a AtomicBool,
}

impl Observer for Recorder<'_> {
    fn access(&mut self, _: &Request, hit: bool, plan: Option<&Plan>) {
        self.decisions.push(match plan {
            Some(plan) => Decision::of(hit, plan, |page| self.lpns[page.0 as usize]),
            None => Decision { hit, ..Decision::default() },
        });
    }

    fn progress(&mut self, _: u64) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

/// The counters of a vector, with the options of its run put in.
fn finish<P: Policy>(policy: &P, counters: &Counters, vector: &PageVector) -> PageCounters {
    let mut end_flushes = 0;
    if vector.flush_at_end {
        policy.for_each_resident(&mut |_, dirty| end_flushes += u64::from(dirty));
    }
    let fetched_writes = if vector.fetch_on_write_miss { counters.write_misses } else { 0 };
    PageCounters([
        counters.read_hits,
        counters.read_misses,
        counters.write_hits,
        counters.write_misses,
        counters.read_misses + fetched_writes + counters.padding_reads,
        counters.destaged_pages + counters.padding_writes + counters.written_through + end_flushes,
        counters.evictions,
        end_flushes,
    ])
}

/// Number of the next access to the same page, for each access; [`NEVER`] if there is none.
pub(super) fn next_uses(accesses: &[(Op, u64)]) -> Vec<u64> {
    let mut next_uses = vec![NEVER; accesses.len()];
    let mut next = HashMap::new();
    for (i, &(_, page)) in accesses.iter().enumerate().rev() {
        next_uses[i] = next.insert(page, i as u64).unwrap_or(NEVER);
    }
    next_uses
}
