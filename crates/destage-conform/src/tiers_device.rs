//! Vectors of two tiers with a device behind the second (`docs/spec/tiers.md` 6 and 9): their
//! content, and their runs.

use super::device::{Entry, Row, is_part, table, workload};
use super::objects::{Expectation, ObjectOutcome, ObjectVector};
use super::read::{
    Count, Frames, List, Malformed, Named, Object, Params, Text, malformed, one_for_each, option,
    present, read, values,
};
use super::tiers::{TierLine, counters, decision, lower, policies};
use destage_core::{Nanos, Plan, Policy, Request};
use destage_engine::spec::PolicySpec;
use destage_engine::tiers::LowerTiersSpec;
use destage_policies::{Setup, dense, hashed};
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::observe::{Completed, Observer};
use destage_replay::tiers::{Slots, TierDecision};
use destage_replay::timed::{
    BackingStore, BackingTimes, DiskTimes, StoreTimes, TimedReplay, Workload,
};
use destage_replay::warmup::Warmup;
use destage_ssd::config::{HostMode, TrimMode, Value};
use destage_ssd::{CacheConfig, Device, DeviceConfig, HostConfig};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Counters of the device that such a vector has, beside those of two tiers.
const OF_THE_DEVICE: [&str; 24] = [
    "requests",
    "page_accesses",
    "flash_reads",
    "flash_programs",
    "gc_moves",
    "summary_programs",
    "erases",
    "read_requests",
    "read_response_ns_sum",
    "read_response_ns_max",
    "write_requests",
    "write_response_ns_sum",
    "write_response_ns_max",
    "unit_busy_ns",
    "channel_transfer_ns",
    "channel_reads",
    "channel_programs",
    "block_erases_max",
    "makespan_ns",
    "trim_requests",
    "trim_cache_drops",
    "trim_dirty_drops",
    "flush_requests",
    "flush_wait_ns_sum",
];

/// A conformance vector of two tiers with a device.
pub(super) struct TiersDeviceVector {
    name: String,
    policy: PolicySpec,
    frames: u32,
    lower: LowerTiersSpec,
    flush_at_end: bool,
    device: DeviceConfig,
    cache: CacheConfig,
    host: HostConfig,
    backing: BackingTimes,
    slot_pages: u32,
    workload: Workload,
    requests: usize,
    expected: Expectation,
}

/// Times of the backing store, as a line has them.
#[derive(Deserialize, Default)]
struct Backing {
    read_ns: Option<Count>,
    write_ns: Option<Count>,
    disk: Option<Object<Disk>>,
}

/// A disk, as a line has it.
#[derive(Deserialize)]
struct Disk {
    pages: Count,
    seek_min_ns: Count,
    seek_max_ns: Count,
    half_turn_ns: Count,
    transfer_ns: Count,
}

impl Backing {
    /// Its times, of pages below `pages`.
    fn times(self, pages: u64) -> Result<BackingStore, Malformed> {
        let time = |given: &Option<Count>| given.as_ref().map_or(1_000_000, |&Count(ns)| ns);
        let Some(Object(disk)) = &self.disk else {
            let (read_ns, write_ns) = (time(&self.read_ns), time(&self.write_ns));
            return Ok(BackingStore::Constant(StoreTimes { read_ns, write_ns }));
        };
        if self.read_ns.is_some() || self.write_ns.is_some() {
            return Err(malformed("backing.disk", "a disk has times of its own"));
        }
        let Disk { pages: Count(size), seek_min_ns: Count(least), .. } = *disk;
        let Count(full) = disk.seek_max_ns;
        if size < pages.max(1) {
            return Err(malformed("backing.disk.pages", format!("expected {pages} or more")));
        }
        if least > full || full > 1_000_000_000 {
            let what = "expected 0..1000000000, and seek_min_ns no larger";
            return Err(malformed("backing.disk.seek_max_ns", what));
        }
        Ok(BackingStore::Disk(DiskTimes {
            pages: size,
            seek_min_ns: least,
            seek_max_ns: full,
            half_turn_ns: disk.half_turn_ns.0,
            transfer_ns: disk.transfer_ns.0,
        }))
    }
}

/// A vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    policy: Text,
    #[serde(default)]
    params: Params,
    frames: Frames,
    tier2: Object<TierLine>,
    device: BTreeMap<String, Entry>,
    #[serde(default)]
    ftl: BTreeMap<String, Entry>,
    #[serde(default)]
    cache: BTreeMap<String, Entry>,
    #[serde(default)]
    host: BTreeMap<String, Entry>,
    #[serde(default, deserialize_with = "present")]
    backing: Option<Object<Backing>>,
    #[serde(default, deserialize_with = "present")]
    slot_pages: Option<Frames>,
    requests: List<Row>,
    #[serde(default, deserialize_with = "present")]
    completions_ns: Option<List<Count>>,
    #[serde(default, deserialize_with = "present")]
    decisions: Option<List<Named>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Named>,
}

/// Reads a line of kind *two tiers with a device*.
pub(super) fn tiers_device_vector(line: &Json) -> Result<TiersDeviceVector, Malformed> {
    let (line, unknown_keys) = read::<Line>(line)?;
    let refused = |key: &str, error: &dyn std::fmt::Display| malformed(key, error.to_string());
    let mut params = values(line.params);
    let fetch_on_write_miss = option(&mut params, "fetch_on_write_miss")?;
    let flush_at_end = option(&mut params, "flush_at_end")?;
    let policy = PolicySpec::new(&line.policy.0, params.into_iter().collect())
        .map_err(|e| refused("policy", &e))?;
    let lower = lower(line.tier2.0, None, (&policy, fetch_on_write_miss))?;
    if let Some(key) = lower.between() {
        return Err(malformed("tier2", format!("{key} excludes a device")));
    }
    let device = DeviceConfig::from_tables(&table(line.device), &table(line.ftl))
        .map_err(|e| refused("device", &e))?;
    let mut cache = table(line.cache);
    for key in ["policy", "frames"] {
        if cache.contains_key(key) {
            return Err(malformed(format!("cache.{key}"), "the key is that of the vector"));
        }
    }
    // Tier 1 is no cache of the device: its times alone are.
    cache.insert("policy".into(), Value::Text("lru".into()));
    cache.insert("frames".into(), Value::Int(line.frames.0.into()));
    let cache = CacheConfig::from_table(&cache).map_err(|e| refused("cache", &e))?;
    let host =
        HostConfig::from_table(&table(line.host), &device).map_err(|e| refused("host", &e))?;
    if host.mode != HostMode::Open || host.writer.is_some() {
        return Err(malformed("host", "expected an open loop without a writer"));
    }
    let slot_pages = line.slot_pages.map_or(1, |Frames(pages)| pages);
    let needed = u64::from(lower.tier2.frames) * u64::from(slot_pages);
    if needed > u64::from(device.logical_pages) {
        let logical = device.logical_pages;
        let what = format!("{needed} pages of slots are more than the device has: {logical}");
        return Err(malformed("tier2.frames", what));
    }
    let workload = workload(line.requests.0, &device)?;
    let workload = if host.trim == TrimMode::Drop { workload.dropping_trims() } else { workload };
    let commands = workload.control_commands().iter().filter(|one| is_part(one, &host)).count();
    let requests = workload.requests() + commands;
    let backing = line.backing.map_or_else(Backing::default, |Object(backing)| backing);
    let last = workload.input().columns.lpns.last().copied();
    let backing = backing.times(last.map_or(0, |last| last + 1))?;
    let completions = one_for_each("completions_ns", line.completions_ns, ("request", requests))?;
    let decisions = one_for_each("decisions", line.decisions, ("access", workload.accesses()))?;
    Ok(TiersDeviceVector {
        name: line.name.0,
        policy,
        frames: line.frames.0,
        lower,
        flush_at_end,
        device,
        cache,
        host,
        backing: BackingTimes { backing, ..BackingTimes::default() },
        slot_pages,
        workload,
        requests,
        expected: Expectation {
            step: "access",
            decisions,
            completions_ns: completions.map(|times| List(times).counts()),
            counters: line.counters,
            unknown_keys,
        },
    })
}

impl ObjectVector for TiersDeviceVector {
    fn name(&self) -> &str {
        &self.name
    }

    fn of(&self) -> &'static str {
        "two tiers with a device"
    }

    fn expected(&self) -> &Expectation {
        &self.expected
    }

    fn policies(&self) -> String {
        policies(&self.policy, Some(&self.lower))
    }

    fn accesses(&self) -> u64 {
        self.workload.accesses() as u64
    }

    fn run(&self) -> Result<[ObjectOutcome; 2], RunError> {
        let pages = self.workload.pages();
        let params = self.policy.params(&[])?;
        let setup = Setup { params, trace_pages: Some(pages.into()), ..Setup::new(self.frames) };
        let over_dense = dense(self.policy.name, &setup, pages)?;
        let over_hashed = hashed(self.policy.name, &setup)?;
        Ok([self.replay(over_dense)?, self.replay(over_hashed)?])
    }
}

impl TiersDeviceVector {
    fn replay<P: Policy>(&self, mut tier1: P) -> Result<ObjectOutcome, RunError> {
        let input: Input<'_> = self.workload.input();
        let lpns = input.columns.lpns;
        let replay = TimedReplay {
            input,
            host: self.host,
            warmup: Warmup::None,
            fetch_on_write_miss: self.lower.tier2.rules.fetch_on_write_miss,
            flush_at_end: self.flush_at_end,
        };
        let mut device = Device::new(&self.device);
        device.count_interface();
        let trims = self.host.trim == TrimMode::Drop;
        let slots = Slots::new(lpns.len(), self.slot_pages, trims);
        let mut recorder = Recorder {
            lpns,
            below: TierDecision::default(),
            decisions: Vec::new(),
            completions_ns: vec![0; self.requests],
        };
        let tiers = (&mut tier1, self.lower.build(lpns, &[])?);
        let times = (&self.cache, self.backing);
        let outcome = replay.run_tiers(&mut device, tiers, slots, times, &mut recorder)?;
        let mut counted = match serde_json::to_value(&outcome.timing.counters) {
            Ok(Json::Object(counters)) => counters,
            _ => Map::new(),
        };
        counted.retain(|name, _| OF_THE_DEVICE.contains(&name.as_str()));
        counted.extend(counters(&outcome.pages, false));
        if let Some(Ok(Json::Object(disk))) = outcome.disk.map(serde_json::to_value) {
            counted.extend(disk);
        }
        Ok(ObjectOutcome {
            decisions: recorder.decisions,
            completions_ns: Some(recorder.completions_ns),
            counters: counted,
        })
    }
}

/// Keeps every decision and completion.
struct Recorder<'a> {
    lpns: &'a [u64],
    below: TierDecision,
    decisions: Vec<Map<String, Json>>,
    completions_ns: Vec<Nanos>,
}

impl Observer for Recorder<'_> {
    fn tiers(&mut self, decision: &TierDecision) {
        self.below = decision.clone();
    }

    fn access(&mut self, _: &Request, hit: bool, plan: Option<&Plan>) {
        self.decisions.push(decision((self.lpns, false), hit, plan, &self.below));
    }

    fn completed(&mut self, request: &Completed) {
        self.completions_ns[request.number as usize] = request.completion_ns;
    }
}
