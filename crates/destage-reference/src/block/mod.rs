//! Slow reference models of the policies that think in erase blocks: FAB, BPLRU, CLC, BPAC, AALRU,
//! LB-CLOCK.
//!
//! Written from `docs/spec/block-policies.md` alone, with lists of clusters that are searched from
//! one end to the other. This file holds section 1: cases, padding, the latencies that the device
//! reports, decision records and counters. The files beside it hold a policy each, or three that
//! share their state.
//!
//! Here `evictions` counts flush groups, as that document does.

mod aalru;
mod bpac;
mod clusters;
mod lb_clock;

use std::collections::BTreeSet;

use crate::{Op, Params};
use serde_json::{Map, Value, json};

/// The policies, in the order of the document.
pub const NAMES: &[&str] = &["fab", "bplru", "clc", "bpac", "aalru", "lb-clock"];

/// The input of a run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the policy.
    pub policy: String,
    /// Its parameters, trusted; `flush_at_end` and `device_pages` among them.
    pub params: Map<String, Value>,
    /// s.
    pub frames: u64,
    /// b.
    pub pages_per_block: u64,
    /// The trace.
    pub accesses: Vec<(Op, u64)>,
    /// Latencies of page reads, used in order and over again; none: nominal.
    pub read_ns: Vec<u64>,
    /// Latencies of page writes.
    pub write_ns: Vec<u64>,
}

/// The results of a run, in the layout of the vectors.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// One per access.
    pub decisions: Vec<Value>,
    /// Section 1.6, and the policy's own.
    pub counters: Map<String, Value>,
    /// `final`.
    pub last: Value,
}

/// A flush group (1.4).
#[derive(Clone, Default, Debug)]
pub(crate) struct Group {
    pub(crate) pages: BTreeSet<u64>,
    pub(crate) padding: BTreeSet<u64>,
    /// Padding pages that the buffer has a copy of.
    pub(crate) in_buffer: BTreeSet<u64>,
}

/// The outcome of one access.
#[derive(Clone, Default, Debug)]
pub(crate) struct Step {
    pub(crate) hit: bool,
    pub(crate) group: Option<Group>,
    pub(crate) dropped: Option<u64>, // a clean page
}

/// The shape of the flash below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) pages_per_block: u64,
    pub(crate) device_pages: Option<u64>,
}

impl Shape {
    pub(crate) fn block(&self, page: u64) -> u64 {
        page / self.pages_per_block
    }

    pub(crate) fn offset(&self, page: u64) -> u64 {
        page % self.pages_per_block
    }

    /// The pages of a block that exist and are not in the group.
    pub(crate) fn padding(&self, block: u64, group: &BTreeSet<u64>) -> BTreeSet<u64> {
        let first = block * self.pages_per_block;
        (0..self.pages_per_block)
            .filter_map(|offset| first.checked_add(offset))
            .filter(|page| self.device_pages.is_none_or(|pages| *page < pages))
            .filter(|page| !group.contains(page))
            .collect()
    }
}

/// A policy together with its buffer.
pub(crate) trait BlockModel {
    /// Steps 1 to 3 of section 1.3.
    fn access(&mut self, op: Op, page: u64) -> Step;

    /// The page is trimmed, resident or not (`docs/spec/device-today.md` 4.2). Its dirty bit, if it
    /// was resident.
    fn forget(&mut self, page: u64) -> Option<bool>;

    /// The latencies of what the access made the device do have arrived: periodic work.
    fn after(&mut self, _reads: &[Option<u64>], _writes: &[Option<u64>]) {}

    /// The pages whose unit is in GC, before an access; only `gcar-bplru` is told.
    fn collecting(&mut self, _pages: BTreeSet<u64>) {}

    /// Dirty pages.
    fn dirty(&self) -> u64;

    /// The policy's own counters.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// `final`.
    fn last(&self) -> Value;
}

/// A list that starts again when it has run out.
struct Cycle<'a> {
    times: &'a [u64],
    k: usize,
}

impl Cycle<'_> {
    fn next(&mut self) -> Option<u64> {
        let k = self.k;
        self.k += 1;
        if self.times.is_empty() { None } else { Some(self.times[k % self.times.len()]) }
    }
}

/// A fresh reference model; `None` if there is no such policy. Parameters as [`run`] takes them.
pub(crate) fn model(
    policy: &str,
    frames: u64,
    shape: Shape,
    params: &Params<'_>,
) -> Option<Box<dyn BlockModel>> {
    Some(match policy {
        "fab" => Box::new(clusters::Buffer::fab(frames, shape, params)),
        "bplru" => Box::new(clusters::Buffer::bplru(frames, shape, params)),
        "clc" => Box::new(clusters::Buffer::clc(frames, shape, params)),
        "bpac" => Box::new(bpac::Bpac::new(frames, shape, params)),
        "lb-clock" => Box::new(lb_clock::LbClock::new(frames, shape, params)),
        "aalru" => Box::new(aalru::Aalru::new(frames, shape, params)),
        _ => return None,
    })
}

/// The counters of section 1.6.
struct BlockCounters(Map<String, Value>);

impl BlockCounters {
    fn new() -> BlockCounters {
        let names = [
            "read_hits",
            "read_misses",
            "write_hits",
            "write_misses",
            "physical_reads",
            "physical_writes",
            "padding_reads",
            "padding_writes",
            "evictions",
            "destaged_pages",
            "clean_evictions",
            "end_flushes",
        ];
        BlockCounters(names.into_iter().map(|name| (name.to_string(), json!(0))).collect())
    }

    fn add(&mut self, name: &str, by: usize) {
        let before = self.0[name].as_u64().expect("a count");
        self.0[name] = json!(before + by as u64);
    }

    fn accessed(&mut self, op: Op, hit: bool) {
        let name = match (op, hit) {
            (Op::Read, true) => "read_hits",
            (Op::Read, false) => "read_misses",
            (Op::Write, true) => "write_hits",
            (Op::Write, false) => "write_misses",
        };
        self.add(name, 1);
    }

    /// The pages that the group reads and writes.
    fn flushed(&mut self, group: &Group) -> (usize, usize) {
        assert!(!group.pages.is_empty(), "a group has a page of the buffer");
        let from_flash = group.padding.difference(&group.in_buffer).count();
        self.add("padding_reads", from_flash);
        self.add("padding_writes", group.padding.len());
        self.add("evictions", 1);
        self.add("destaged_pages", group.pages.len());
        (from_flash, group.pages.len() + group.padding.len())
    }
}

/// A decision record (1.5).
fn decision(index: usize, op: Op, page: u64, step: Step) -> Value {
    let mut evicted: Vec<u64> = step.dropped.into_iter().collect();
    let (mut flushed, mut padded) = (Vec::new(), Vec::new());
    if let Some(group) = step.group {
        evicted.extend(&group.pages);
        flushed.push(group.pages);
        padded.push(group.padding);
    }
    json!({
        "index": index,
        "op": if op == Op::Read { "r" } else { "w" },
        "page": page,
        "hit": step.hit,
        "evicted": evicted,
        "flushed": flushed,
        "padded": padded,
    })
}

/// Runs a case through its reference model; `None` if there is no such policy.
///
/// # Panics
///
/// On a parameter of the wrong type.
pub fn run(case: &Case) -> Option<Outcome> {
    let params = &Params(&case.params);
    let shape = Shape {
        pages_per_block: case.pages_per_block,
        device_pages: params.integer("device_pages"),
    };
    let mut model = model(&case.policy, case.frames, shape, params)?;
    let mut counts = BlockCounters::new();
    let mut read_times = Cycle { times: &case.read_ns, k: 0 };
    let mut write_times = Cycle { times: &case.write_ns, k: 0 };
    let mut decisions = Vec::new();
    for (index, &(op, page)) in case.accesses.iter().enumerate() {
        let step = model.access(op, page);
        counts.accessed(op, step.hit);
        counts.add("clean_evictions", usize::from(step.dropped.is_some()));
        let (mut reads, writes) = step.group.as_ref().map_or((0, 0), |group| counts.flushed(group));
        reads += usize::from(op == Op::Read && !step.hit);
        counts.add("physical_reads", reads);
        counts.add("physical_writes", writes);
        let reads: Vec<_> = (0..reads).map(|_| read_times.next()).collect();
        let writes: Vec<_> = (0..writes).map(|_| write_times.next()).collect();
        model.after(&reads, &writes);
        decisions.push(decision(index, op, page, step));
    }
    let last = model.last();
    if params.flag("flush_at_end") {
        counts.add("end_flushes", model.dirty() as usize);
        counts.add("physical_writes", model.dirty() as usize);
    }
    let own = model.counters().into_iter().map(|(name, n)| (name.to_string(), json!(n)));
    let counters = counts.0.into_iter().chain(own).collect();
    Some(Outcome { decisions, counters, last })
}

/// Runs a trace with trims through a reference model, with nominal latencies; `None` if there is no
/// such policy.
///
/// # Panics
///
/// On a parameter of the wrong type.
pub fn run_with_trims(
    policy: &str,
    frames: u64,
    pages_per_block: u64,
    params: &Map<String, Value>,
    trace: &[crate::Step],
) -> Option<crate::Trimmed> {
    let shape = Shape { pages_per_block, device_pages: None };
    let mut model = model(policy, frames, shape, &Params(params))?;
    let mut run = crate::Trimmed { decisions: Vec::new(), dropped: Vec::new() };
    for &step in trace {
        let (op, page) = match step {
            crate::Step::Access(op, page) => (op, page),
            crate::Step::Trim(page) => {
                run.dropped.push(model.forget(page));
                continue;
            }
        };
        let Step { hit, group, dropped } = model.access(op, page);
        model.after(&[], &[]);
        let mut evicted: Vec<u64> = dropped.into_iter().collect();
        let flushed: Vec<Vec<u64>> =
            group.into_iter().map(|group| group.pages.into_iter().collect()).collect();
        evicted.extend(flushed.iter().flatten());
        run.decisions.push(crate::Decision { hit, evicted, flushed });
    }
    Some(run)
}
