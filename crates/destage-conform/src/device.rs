//! Vectors of kind *device*: a drive, perhaps a cache in front of it, and requests
//! (`docs/spec/device.md` 10). If `device` names another FTL, `ftl` may give its parameters, as the
//! section of that name does in a file.

use super::block::older_default;
use super::read::{
    Count, List, Malformed, Named, PageNumber, Text, malformed, note, one_for_each, present, read,
    row, worded,
};
use super::report::{Found, decision_difference, note_missing};
use super::vector::{AccessDecision, Decision, Expected};
use destage_core::{Nanos, Op, Page, Plan, Request};
use destage_engine::mounted::{device_parameters, has_an_order, on_drive};
use destage_engine::run::suits;
use destage_engine::spec::PolicySpec;
use destage_policies::params::Value;
use destage_policies::{BuildError, Setup, dense};
use destage_replay::control_commands::{ControlCommand, ControlKind};
use destage_replay::error::RunError;
use destage_replay::observe::{Completed, Observer};
use destage_replay::timed::{Ask, TimedReplay, Workload};
use destage_replay::warmup::Warmup;
use destage_ssd::config::{FlushMode, Sched, Table, TrimMode};
use destage_ssd::{CacheConfig, Device, DeviceConfig, HostConfig, InterfaceCounters};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// A conformance vector of the device.
pub struct DeviceVector {
    /// Its name; empty if it has none.
    pub name: String,
    /// The policy, or `none`.
    pub policy: String,
    device: DeviceConfig,
    counts_interface: bool, // it counts what `docs/spec/device-today.md` 10 lists
    cache: CacheConfig,
    host: HostConfig,
    setup: Setup,
    workload: Workload,
    requests: usize,
    completions_ns: Option<Vec<Nanos>>,
    decisions: Option<Vec<Expected>>,
    written: Option<Vec<[u64; 2]>>,
    counters: Option<Map<String, Json>>,
    pub(super) unknown_keys: Vec<String>,
}

/// Outcome of a run of a vector, in the format of the vectors.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceOutcome {
    /// Per request.
    pub completions_ns: Vec<Nanos>,
    /// Per page access of a cached run.
    pub decisions: Vec<AccessDecision>,
    /// Background writes: instant, nanoseconds, and page; absent without a writer.
    pub written: Option<Vec<[u64; 2]>>,
    /// Every counter of section 8.
    pub counters: Map<String, Json>,
}

/// Most page accesses of a vector: vectors are small, and a wrong length is not.
const MOST_ACCESSES: u64 = 1 << 24;

worded!(
    /// A value of a drive's table.
    Entry(Value), "a number, a string, true, false or a list", |found| match found {
        Json::Object(_) => None,
        plain => serde_json::from_value(plain.clone()).ok(),
    }
);
worded!(
    /// An instant, an offset or a length.
    Small(u64), "an integer 0..2^62", |found| found.as_u64().filter(|&number| number < 1 << 62)
);
worded!(
    /// Read, write, trim or flush.
    Asked(Ask), "\"r\", \"w\", \"t\" or \"f\"", |found| match found.as_str() {
        Some("r") => Some(Ask::Access(Op::Read)),
        Some("w") => Some(Ask::Access(Op::Write)),
        Some("t") => Some(Ask::Trim),
        Some("f") => Some(Ask::Flush),
        _ => None,
    }
);
row!(
    /// A background write.
    Ahead(at: Count, page: PageNumber), "a list [instant_ns, page]"
);
row!(
    /// A request.
    Row(arrival: Small, ask: Asked, offset: Small, length: Small),
    "a list [arrival_ns, \"r\" or \"w\" or \"t\" or \"f\", offset_bytes, length_bytes]"
);

/// A device vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    device: BTreeMap<String, Entry>,
    #[serde(default)]
    ftl: BTreeMap<String, Entry>,
    #[serde(default)]
    cache: BTreeMap<String, Entry>,
    #[serde(default)]
    host: BTreeMap<String, Entry>,
    #[serde(default)]
    placement: BTreeMap<String, Entry>,
    requests: List<Row>,
    #[serde(default, deserialize_with = "present")]
    completions_ns: Option<List<Count>>,
    #[serde(default, deserialize_with = "present")]
    decisions: Option<List<Expected>>,
    #[serde(default, deserialize_with = "present")]
    written: Option<List<Ahead>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Named>,
}

/// Reads a line of kind *device*.
pub(super) fn device_vector(line: &Json) -> Result<DeviceVector, Malformed> {
    let (line, unknown_keys) = read::<Line>(line)?;
    let config = |key: &str, error: &dyn std::fmt::Display| malformed(key, error.to_string());
    let of_collectors = line.device.contains_key("gc_victim");
    let device = DeviceConfig::from_tables(&table(line.device), &table(line.ftl));
    let device = device.map_err(|e| config("device", &e))?;
    // Vectors of collectors have these counters of every device whose order of ends is known.
    let counts_interface = device.interface_key().is_some()
        || device.map_cache.is_some()
        || !line.placement.is_empty()
        || of_collectors && device.sched == Sched::Fcfs;
    let device = device.with_placement(&table(line.placement));
    let device = device.map_err(|e| config("placement", &e))?;
    let cache = CacheConfig::from_table(&table(line.cache)).map_err(|e| config("cache", &e))?;
    let host = HostConfig::from_table(&table(line.host), &device);
    let host = host.map_err(|e| config("host", &e))?;
    let workload = workload(line.requests.0, &device)?;
    let workload = if host.trim == TrimMode::Drop { workload.dropping_trims() } else { workload };
    let setup = setup(&cache, &device, &workload).map_err(|e| config("cache", &e))?;
    if let (Some(policy), Some(_)) = (&cache.policy, host.writer) {
        has_an_order(policy).map_err(|e| malformed("", e.to_string()))?;
    }

    if let Some(name) = &cache.policy {
        suits(name, &setup.params, &device).map_err(|e| config("", &e))?;
    }
    let control_commands = workload
        .control_commands()
        .iter()
        .filter(|control_command| is_part(control_command, &host))
        .count();
    let requests = workload.requests() + control_commands;
    let accesses = if cache.policy.is_some() { workload.accesses() } else { 0 };
    let completions = one_for_each("completions_ns", line.completions_ns, ("request", requests))?;
    Ok(DeviceVector {
        name: line.name.0,
        policy: cache.policy.clone().unwrap_or_else(|| "none".into()),
        counts_interface: counts_interface || !workload.control_commands().is_empty(),
        device,
        cache,
        host,
        setup,
        workload,
        requests,
        completions_ns: completions.map(|times| List(times).counts()),
        decisions: one_for_each("decisions", line.decisions, ("access", accesses))?,
        written: line.written.map(|List(all)| {
            all.into_iter().map(|Ahead(Count(at), PageNumber(page))| [at, page]).collect()
        }),
        counters: line.counters,
        unknown_keys,
    })
}

pub(super) fn table(entries: BTreeMap<String, Entry>) -> Table {
    entries.into_iter().map(|(name, Entry(value))| (name, value)).collect()
}

/// The requests of a vector, few enough for one.
pub(super) fn workload(rows: Vec<Row>, device: &DeviceConfig) -> Result<Workload, Malformed> {
    let accesses = |length: u64| u128::from(length / u64::from(device.page_bytes)) + 2;
    if rows.iter().map(|row| accesses(row.3.0)).sum::<u128>() > MOST_ACCESSES.into() {
        let what = format!("more than {MOST_ACCESSES} page accesses: too many for a vector");
        return Err(malformed("requests", what));
    }
    let request = |Row(Small(arrival), Asked(ask), Small(offset), Small(length))| {
        (arrival, ask, offset, length)
    };
    Workload::new(rows.into_iter().map(request), device)
        .map_err(|e| malformed("requests", e.to_string()))
}

/// Setup of the vector's policy.
fn setup(
    cache: &CacheConfig,
    device: &DeviceConfig,
    workload: &Workload,
) -> Result<Setup, BuildError> {
    let Some(name) = &cache.policy else { return Ok(Setup::new(1)) };
    let mut given: Vec<_> =
        cache.params.iter().map(|(key, found)| (key.clone(), param(found))).collect();
    if let Some((key, value)) = older_default(name)
        && !cache.params.contains_key(key)
    {
        given.push((key.into(), value));
    }
    let drive = Device::new(device);
    let params = PolicySpec::new(name, given)?.params(&device_parameters(&drive))?;
    let trace_pages = Some(workload.pages().into());
    Ok(on_drive(Setup { params, trace_pages, ..Setup::new(cache.frames) }, &drive))
}

/// The request is part of the run.
pub(super) fn is_part(control_command: &ControlCommand, host: &HostConfig) -> bool {
    match control_command.kind() {
        ControlKind::Flush => host.flush == FlushMode::Drain,
        ControlKind::Trim | ControlKind::Empty => host.trim == TrimMode::Drop,
    }
}

/// As the policies take it; what no parameter can be is refused there, by name.
fn param(found: &Value) -> Value {
    match found {
        list @ Value::List(_) => Value::Text(list.to_string()),
        plain => plain.clone(),
    }
}

/// Writes down what a run decides, and when its requests complete.
struct Recorder<'a> {
    workload: &'a Workload,
    completions_ns: Vec<Nanos>,
    decisions: Vec<AccessDecision>,
    written: Vec<[u64; 2]>,
}

impl Observer for Recorder<'_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        let number = |page: Page| self.workload.lpn(page);
        let decision = match plan {
            None => Decision { hit, ..Decision::default() },
            Some(plan) => Decision::of(hit, plan, number),
        };
        self.decisions.push(AccessDecision {
            index: self.decisions.len() as u64,
            op: if r.op.is_write() { 'w' } else { 'r' },
            page: r.lpn.0,
            decision,
        });
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        self.written.push([at_ns, self.workload.lpn(page)]);
    }

    fn completed(&mut self, request: &Completed) {
        self.completions_ns[request.number as usize] = request.completion_ns;
    }
}

/// Runs a vector; with `fk` twice, the first time for what is written.
///
/// # Errors
///
/// Errors of [`TimedReplay::run`].
pub(super) fn run_device(vector: &DeviceVector) -> Result<DeviceOutcome, RunError> {
    let mut device = Device::new(&vector.device);
    let outcome = run_on(vector, &mut device)?;
    match device.future() {
        None => Ok(outcome),
        Some(future) => run_on(vector, &mut device.foreseeing(&future)),
    }
}

fn run_on(vector: &DeviceVector, device: &mut Device) -> Result<DeviceOutcome, RunError> {
    if vector.counts_interface {
        device.count_interface();
    }
    let replay = TimedReplay {
        input: vector.workload.input(),
        host: vector.host,
        warmup: Warmup::None,
        fetch_on_write_miss: false,
        flush_at_end: false,
    };
    let mut recorder = Recorder {
        workload: &vector.workload,
        completions_ns: vec![0; vector.requests],
        decisions: Vec::new(),
        written: Vec::new(),
    };
    let outcome = match &vector.cache.policy {
        None => {
            let outcome = replay.run_bare(device, &mut recorder)?;
            recorder.decisions.clear(); // decisions are a cache's
            outcome
        }
        Some(name) => {
            let setup = vector.setup.clone().with_blocks_of(vector.workload.input().columns.lpns);
            let mut policy = dense(name, &setup, vector.workload.pages())?;
            replay.run(device, &mut policy, &vector.cache, &mut recorder)?
        }
    };
    let mut counters = match serde_json::to_value(&outcome.timing.counters) {
        Ok(Json::Object(counters)) => counters,
        _ => Map::new(),
    };
    counters.retain(|name, _| !InterfaceCounters::BEYOND_VECTORS.contains(&name.as_str()));
    let Recorder { completions_ns, decisions, written, .. } = recorder;
    let written = outcome.pages.idle_writes.map(|_| written);
    Ok(DeviceOutcome { completions_ns, decisions, written, counters })
}

/// A counter is what the vector says; of an FTL's counters, each that the vector lists.
fn agrees(got: &Json, expected: &Json) -> bool {
    match (got, expected) {
        (Json::Object(got), Json::Object(expected)) => {
            expected.iter().all(|(name, count)| got.get(name) == Some(count))
        }
        _ => got == expected,
    }
}

impl DeviceVector {
    /// Where an outcome first differs: completions tell most, then decisions, then counters.
    pub(super) fn first_difference(&self, outcome: &DeviceOutcome) -> Option<Found> {
        let of_decisions = decision_difference(self.decisions.as_deref(), &outcome.decisions);
        if of_decisions.is_some() {
            return of_decisions;
        }
        if let (Some(expected), Some(got)) = (&self.written, &outcome.written) {
            let both = expected.len().max(got.len());
            let pair = |k: usize| (expected.get(k).copied(), got.get(k).copied());
            if let Some(k) = (0..both).find(|&k| pair(k).0 != pair(k).1) {
                let (expected, got) = pair(k);
                return Some(Found::Idle { write: k as u64, expected, got });
            }
        }
        let expected = self.completions_ns.iter().flatten();
        let mut pairs = expected.zip(&outcome.completions_ns).enumerate();
        if let Some((request, (&expected, &got))) = pairs.find(|(_, (e, got))| e != got) {
            return Some(Found::Completion { request: request as u64, expected, got });
        }
        let listed = |(name, got): (&String, &Json)| {
            let expected = self.counters.as_ref()?.get(name)?;
            (!agrees(got, expected)).then(|| Found::counter(name, expected, got))
        };
        outcome.counters.iter().find_map(listed)
    }

    /// Keys that are compared with nothing, counters of unknown names among them.
    pub(super) fn not_compared(&self, outcome: &DeviceOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        if self.written.is_some() && outcome.written.is_none() {
            note(&mut keys, "written".into());
        }
        note_missing(&mut keys, "counters", self.counters.as_ref(), &outcome.counters);
        keys
    }
}
