//! Vectors of block policies: accesses, latencies that the device reports, and what comes of them
//! (`docs/spec/block-policies.md` 1.10).
//!
//! Here, and only here, `evictions` counts flush groups, as that document does.

use super::read::{
    Access, Count, Frames, List, Malformed, Named, Object, Params, Text, malformed, one_for_each,
    option, present, read, values, worded,
};
use super::report::{Found, counter_difference, decision_difference, note_missing};
use super::run::Fault;
use super::vector::{AccessDecision, Decision, Expected};
use destage_core::{
    Blind, Completion, Lookup, Lpn, Nanos, Op, Page, Part, Plan, Policy, Request, Requirements,
};
use destage_policies::params::Value;
use destage_policies::{BuildError, MOST_PAGES_PER_BLOCK, Setup, check_params};
use destage_replay::accesses::{Columns, Extent};
use destage_replay::control_commands::ControlCommands;
use destage_replay::counters::Counters;
use destage_replay::input::NextUses;
use destage_replay::observe::Observer;
use destage_replay::replay::Replay;
use destage_replay::warmup::Warmup;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// A conformance vector of a block policy.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockVector {
    /// Its name; empty if it has none.
    pub name: String,
    /// Name of the policy.
    pub policy: String,
    params: BTreeMap<String, Value>,
    flush_at_end: bool,
    frames: u32,
    pages_per_block: u32,
    device_pages: Option<u64>,
    accesses: Vec<(Op, u64)>,
    feedback: Feedback,
    decisions: Option<Vec<Expected>>,
    counters: Option<Map<String, Json>>,
    last: Option<Map<String, Json>>,
    unknown_keys: Vec<String>,
}

/// Latencies of the device, used in order and from the start again; none: nominal times.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Feedback {
    read_ns: Vec<Nanos>,
    write_ns: Vec<Nanos>,
}

/// Outcome of a run of a vector, in the format of the vectors.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BlockOutcome {
    /// One per access.
    pub decisions: Vec<AccessDecision>,
    /// The counters of section 1.6, and the policy's own.
    pub counters: Map<String, Json>,
    /// The policy's lists before a final flush.
    #[serde(rename = "final")]
    pub last: Map<String, Json>,
}

worded!(
    /// Pages of an erase block.
    BlockPages(u32), &format!("an integer 1..{MOST_PAGES_PER_BLOCK}"), |found| {
        let pages = found.as_u64().and_then(|pages| u32::try_from(pages).ok());
        pages.filter(|pages| (1..=MOST_PAGES_PER_BLOCK).contains(pages))
    }
);
worded!(
    /// Pages that may be padded.
    DevicePages(u64), "null or an integer >= 1", |found| found.as_u64().filter(|&pages| pages > 0)
);

/// A block vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    policy: Text,
    params: Params,
    frames: Frames,
    pages_per_block: BlockPages,
    device_pages: Option<DevicePages>,
    accesses: List<Access>,
    feedback: Option<Object<Latencies>>,
    #[serde(default, deserialize_with = "present")]
    decisions: Option<List<Expected>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Named>,
    #[serde(default, deserialize_with = "present", rename = "final")]
    last: Option<Named>,
}

/// [`Feedback`] as a line has it.
#[derive(Deserialize)]
struct Latencies {
    read_ns: Option<List<Count>>,
    write_ns: Option<List<Count>>,
}

impl From<Latencies> for Feedback {
    fn from(Latencies { read_ns, write_ns }: Latencies) -> Self {
        let times = |times: Option<List<Count>>| times.map(List::counts).unwrap_or_default();
        Feedback { read_ns: times(read_ns), write_ns: times(write_ns) }
    }
}

/// Reads a line of kind *block policy*.
pub(super) fn block_vector(line: &Json) -> Result<BlockVector, Malformed> {
    let (line, unknown_keys) = read::<Line>(line)?;
    let mut params = values(line.params);
    let flush_at_end = option(&mut params, "flush_at_end")?;
    if params.remove("fetch_on_write_miss").is_some() {
        let what = "block policies do not have this option: a write miss never fetches its page";
        return Err(malformed("params.fetch_on_write_miss", what));
    }
    let device_pages = match line.device_pages {
        Some(DevicePages(pages)) => Some(pages),
        None => match params.remove("device_pages") {
            None | Some(Value::None) => None,
            Some(Value::Int(pages)) if (1..=i128::from(u64::MAX)).contains(&pages) => {
                Some(pages as u64)
            }
            Some(other) => {
                let what = format!("expected none or an integer >= 1, found {other}");
                return Err(malformed("params.device_pages", what));
            }
        },
    };
    if let Some((key, value)) = older_default(&line.policy.0) {
        params.entry(key.into()).or_insert(value);
    }
    let accesses: Vec<(Op, u64)> = line.accesses.0.into_iter().map(Into::into).collect();
    Ok(BlockVector {
        name: line.name.0,
        policy: line.policy.0,
        params,
        flush_at_end,
        frames: line.frames.0,
        pages_per_block: line.pages_per_block.0,
        device_pages,
        feedback: line.feedback.map(|Object(times)| times.into()).unwrap_or_default(),
        decisions: one_for_each("decisions", line.decisions, ("access", accesses.len()))?,
        accesses,
        counters: line.counters,
        last: line.last,
        unknown_keys,
    })
}

/// Reports flash operations as the script has them.
struct Script<'a> {
    feedback: &'a Feedback,
    reads: usize,
    writes: usize,
}

impl Script<'_> {
    fn read<P: Policy>(&mut self, policy: &mut P, page: Option<Page>) {
        let k = self.reads;
        self.reads += 1;
        if let Some(latency_ns) = at(&self.feedback.read_ns, k) {
            let submission = (self.reads + self.writes) as u64 - 1;
            policy.fetched(&Completion { page, submission, latency_ns, service_ns: latency_ns });
        }
    }

    fn write<P: Policy>(&mut self, policy: &mut P, page: Option<Page>) {
        let k = self.writes;
        self.writes += 1;
        if let Some(latency_ns) = at(&self.feedback.write_ns, k) {
            let submission = (self.reads + self.writes) as u64 - 1;
            policy.destaged(&Completion { page, submission, latency_ns, service_ns: latency_ns });
        }
    }

    /// The operations of an eviction: of each group all padding reads, then all writes.
    fn plan<P: Policy>(&mut self, policy: &mut P, plan: &Plan) {
        for (pages, pads) in plan.groups() {
            pads.iter().filter(|pad| !pad.in_buffer).for_each(|_| self.read(policy, None));
            pages.iter().for_each(|&page| self.write(policy, Some(page)));
            pads.iter().for_each(|_| self.write(policy, None));
        }
    }
}

/// The `k`th of a list that starts again when it has run out.
fn at(times: &[Nanos], k: usize) -> Option<Nanos> {
    times.get(k.checked_rem(times.len())?).copied()
}

/// A run of a vector, over either directory.
struct Run<'a> {
    vector: &'a BlockVector,
    /// Pages in ascending order, if they are named by their rank.
    ranks: Option<&'a [u64]>,
}

impl Run<'_> {
    fn page(&self, number: u64) -> Page {
        match self.ranks {
            None => Page(number),
            Some(ranks) => Page(ranks.partition_point(|&rank| rank < number) as u64),
        }
    }

    fn number(&self, page: Page) -> u64 {
        self.ranks.map_or(page.0, |ranks| ranks[page.0 as usize])
    }

    fn decision(&self, index: usize, hit: bool, plan: Option<&Plan>) -> AccessDecision {
        let (op, page) = self.vector.accesses[index];
        let empty = Plan::new();
        let mut decision = Decision::of(hit, plan.unwrap_or(&empty), |page| self.number(page));
        let unpadded = vec![Vec::new(); decision.flushed.len()];
        decision.padded.get_or_insert(unpadded);
        let op = if op.is_write() { 'w' } else { 'r' };
        AccessDecision { index: index as u64, op, page, decision }
    }

    /// Access by access, with the latencies of the script.
    fn scripted<P: Policy>(
        &self,
        policy: &mut P,
    ) -> Result<(Vec<AccessDecision>, Counters), Fault> {
        let mut counters = Counters::default();
        let mut plan = Plan::new();
        let mut script = Script { feedback: &self.vector.feedback, reads: 0, writes: 0 };
        let mut decisions = Vec::with_capacity(self.vector.accesses.len());
        for (index, &(op, number)) in self.vector.accesses.iter().enumerate() {
            let r = Request::new(self.page(number), Lpn(number), op);
            plan.clear();
            let hit = match policy.request(&r) {
                Lookup::Hit(_) => true,
                Lookup::Bypass => {
                    script.read(policy, Some(r.page));
                    false
                }
                Lookup::Miss(mut miss) => {
                    while policy.resident() >= policy.frames() {
                        let before = policy.resident();
                        policy.evict(&mut miss, &Blind, &mut plan);
                        if policy.resident() >= before {
                            let message = format!("evict freed no frame of {before}");
                            return Err(Fault { access: Some(index as u64), message });
                        }
                    }
                    script.plan(policy, &plan);
                    if !op.is_write() {
                        script.read(policy, Some(r.page));
                    }
                    policy.admit(&r, miss);
                    false
                }
            };
            if hit {
                counters.hit(op)
            } else {
                counters.miss(op)
            }
            counters.evicted(&plan);
            decisions.push(self.decision(index, hit, Some(&plan)));
        }
        Ok((decisions, counters))
    }

    /// Through the loop that every real run uses, which has no device to report latencies.
    fn replayed<P: Policy>(&self, policy: &mut P, lpns: &[u64]) -> (Vec<AccessDecision>, Counters) {
        let accesses = &self.vector.accesses;
        let ids: Vec<u32> = accesses.iter().map(|&(_, page)| self.page(page).0 as u32).collect();
        let one_page = |op: Op| Extent::new(1, op.is_write(), false, false).0;
        let extents: Vec<u32> = accesses.iter().map(|&(op, _)| one_page(op)).collect();
        let replay = Replay {
            columns: Columns { first_ids: &ids, extents: &extents, lpns },
            next_uses: NextUses::None,
            warmup: Warmup::None,
            arrivals_ns: &[],
            trims: ControlCommands::NONE,
        };
        let mut recorder = Recorder { run: self, decisions: Vec::new() };
        let counters = replay.run(policy, &mut recorder).map(|replayed| replayed.counters);
        (recorder.decisions, counters.unwrap_or_default())
    }
}

/// Keeps every decision of a replay.
struct Recorder<'a> {
    run: &'a Run<'a>,
    decisions: Vec<AccessDecision>,
}

impl Observer for Recorder<'_> {
    fn access(&mut self, _: &Request, hit: bool, plan: Option<&Plan>) {
        let decision = self.run.decision(self.decisions.len(), hit, plan);
        self.decisions.push(decision);
    }
}

impl Run<'_> {
    /// Runs the vector through this policy.
    fn over<P: Policy>(self, mut policy: P) -> Result<BlockOutcome, Fault> {
        policy.keep_periods();
        let is_silent = self.vector.feedback == Feedback::default();
        let (decisions, counters) = match self.ranks {
            Some(ranks) if is_silent => self.replayed(&mut policy, ranks),
            _ => self.scripted(&mut policy)?,
        };
        let mut end_flushes = 0;
        if self.vector.flush_at_end {
            policy.for_each_resident(&mut |_, dirty| end_flushes += u64::from(dirty));
        }
        let mut named: Map<String, Json> = [
            ("read_hits", counters.read_hits),
            ("read_misses", counters.read_misses),
            ("write_hits", counters.write_hits),
            ("write_misses", counters.write_misses),
            ("physical_reads", counters.read_misses + counters.padding_reads),
            ("physical_writes", counters.destaged_pages + counters.padding_writes + end_flushes),
            ("padding_reads", counters.padding_reads),
            ("padding_writes", counters.padding_writes),
            ("evictions", counters.destages),
            ("destaged_pages", counters.destaged_pages),
            ("clean_evictions", counters.clean_evictions),
            ("end_flushes", end_flushes),
        ]
        .into_iter()
        .map(|(name, count)| (name.to_string(), count.into()))
        .collect();
        policy.counters(&mut |name, count| {
            named.insert(name.to_string(), count.into());
        });
        let number = |page: Page| self.number(page);
        let inside = policy.inside();
        let last = inside.iter().map(|(name, part)| (name.to_string(), json(part, &number)));
        Ok(BlockOutcome { decisions, counters: named, last: last.collect() })
    }
}

fn json(part: &Part, number: &impl Fn(Page) -> u64) -> Json {
    match part {
        Part::Count(count) => (*count).into(),
        Part::Real(real) => (*real).into(),
        Part::Word(word) => (*word).into(),
        Part::Page(page) => number(*page).into(),
        Part::List(parts) => parts.iter().map(|part| json(part, number)).collect(),
    }
}

/// A vector through the built-in policy that it names, over both directories.
pub(super) struct BlockRuns {
    pub(super) dense: BlockOutcome,
    pub(super) hashed: BlockOutcome,
}

/// Why a vector could not be run.
pub(super) enum Refused {
    /// It asks for what there is not: key and message.
    Malformed(String),
    /// The policy is wrong.
    Fault(Fault),
}

/// Runs a vector.
pub(super) fn run_block(vector: &BlockVector) -> Result<BlockRuns, Refused> {
    let refused = |error: BuildError| {
        let key = match &error {
            BuildError::Unknown(_) => "policy",
            BuildError::Param(_) => "params",
        };
        Refused::Malformed(format!("{key}: {error}"))
    };
    let name = vector.policy.as_str();
    let needs = destage_policies::requirements(name).map_err(refused)?;
    if needs.device() || needs.contains(Requirements::NEXT_USE) {
        let what = "it needs what a block vector does not have";
        return Err(Refused::Malformed(format!("policy: {name}: {what}")));
    }
    let given = vector.params.iter().map(|(key, value)| (key.as_str(), value));
    let mut ranks: Vec<u64> = vector.accesses.iter().map(|&(_, page)| page).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let setup = Setup {
        params: check_params(name, given).map_err(refused)?,
        trace_pages: Some(ranks.len() as u64),
        pages_per_block: vector.pages_per_block,
        device_pages: vector.device_pages,
        ..Setup::new(vector.frames)
    };
    // Hashed first: it notices a policy that frees no frame, where the replay loop would not end.
    let hashed = destage_policies::hashed(name, &setup).map_err(refused)?;
    let hashed = Run { vector, ranks: None }.over(hashed).map_err(Refused::Fault)?;
    let setup = setup.with_blocks_of(&ranks);
    let pages = ranks.len() as u32;
    let dense = destage_policies::dense(name, &setup, pages).map_err(refused)?;
    let dense = Run { vector, ranks: Some(&ranks) }.over(dense).map_err(Refused::Fault)?;
    Ok(BlockRuns { dense, hashed })
}

impl BlockVector {
    /// Page accesses.
    pub(super) fn accesses(&self) -> u64 {
        self.accesses.len() as u64
    }

    /// Where an outcome first differs: decisions, then counters, then lists.
    pub(super) fn first_difference(&self, outcome: &BlockOutcome) -> Option<Found> {
        let of_lists = |(name, expected): (&String, &Json)| {
            let got = outcome.last.get(name)?;
            (!same(expected, got)).then(|| Found::Final {
                list: name.clone(),
                expected: expected.clone(),
                got: got.clone(),
            })
        };
        decision_difference(self.decisions.as_deref(), &outcome.decisions)
            .or_else(|| counter_difference(self.counters.as_ref(), &outcome.counters, same))
            .or_else(|| self.last.iter().flatten().find_map(of_lists))
    }

    /// Keys that are compared with nothing.
    pub(super) fn not_compared(&self, outcome: &BlockOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        note_missing(&mut keys, "counters", self.counters.as_ref(), &outcome.counters);
        note_missing(&mut keys, "final", self.last.as_ref(), &outcome.last);
        keys
    }

    /// The vector with what one run made of it as its expectation.
    pub(super) fn claim(&self, outcome: &BlockOutcome) -> BlockVector {
        let decisions = outcome.decisions.iter().map(|d| Expected::from(d.decision.clone()));
        BlockVector {
            decisions: Some(decisions.collect()),
            counters: Some(outcome.counters.clone()),
            last: Some(outcome.last.clone()),
            ..self.clone()
        }
    }
}

/// Equal, where 5 and 5.0 are the same number.
fn same(expected: &Json, got: &Json) -> bool {
    match (expected, got) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => expected == got,
    }
}

/// A parameter that a vector does not name: some are older than a default of the runs
/// (`docs/spec/block-policies.md`, 5.6).
pub(super) fn older_default(policy: &str) -> Option<(&'static str, Value)> {
    (policy == "bpac").then(|| ("pird_sampling", Value::Text("all_hits".into())))
}
