//! Vectors of kind *device*: a drive, perhaps a cache in front of it, and requests
//! (`docs/spec/device.md` 10). If `device` names another FTL, `ftl` may give its parameters, as the
//! section of that name does in a file.

use super::report::Found;
use super::vector::{
    Decision, Expected, Malformed, decisions, given, list, malformed, note, text, unexpected,
};
use crate::error::RunError;
use crate::mounted::{nominal_times, on_drive};
use crate::observe::{Completed, Observer};
use crate::spec::PolicySpec;
use crate::timed::{TimedOutcome, TimedReplay, Workload};
use crate::warmup::Warmup;
use destage_core::{Nanos, Op, Page, Plan, Policy, Request};
use destage_policies::params::Value;
use destage_policies::{Setup, Visitor, build};
use destage_ssd::config::{Table, Value as Given};
use destage_ssd::{CacheConfig, Device, DeviceConfig, HostConfig};
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// A conformance vector of the device.
pub struct DeviceVector {
    /// Its name; empty if it has none.
    pub name: String,
    /// The policy, or `none`.
    pub policy: String,
    device: DeviceConfig,
    cache: CacheConfig,
    host: HostConfig,
    setup: Setup,
    workload: Workload,
    requests: usize,
    completions_ns: Option<Vec<Nanos>>,
    decisions: Option<Vec<Expected>>,
    counters: Option<Map<String, Json>>,
    pub(super) unknown_keys: Vec<String>,
}

/// A decision as device vectors write it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DeviceDecision {
    index: u64,
    op: char,
    page: u64,
    #[serde(flatten)]
    decision: Decision,
}

/// What a run made of a vector, in the vectors' own terms.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceOutcome {
    /// Per request.
    pub completions_ns: Vec<Nanos>,
    /// Per page access of a cached run.
    pub decisions: Vec<DeviceDecision>,
    /// Every counter of section 8.
    pub counters: Map<String, Json>,
}

/// Most page accesses of a vector: vectors are small, and a wrong length is not.
const MOST_ACCESSES: u64 = 1 << 24;

/// Reads a line of kind *device*.
pub(super) fn device_vector(vector: &Map<String, Json>) -> Result<DeviceVector, Malformed> {
    let name = vector.get("name").map_or(Ok(String::new()), |name| text("name", name))?;
    let config = |key: &str, error: &dyn std::fmt::Display| malformed(key, error.to_string());
    let device = table("device", given(vector, "device")?)?;
    let ftl = vector.get("ftl").map_or(Ok(Table::new()), |found| table("ftl", found))?;
    let device = DeviceConfig::from_tables(&device, &ftl).map_err(|e| config("device", &e))?;
    let cache = vector.get("cache").map_or(Ok(Table::new()), |found| table("cache", found))?;
    let cache = CacheConfig::from_table(&cache).map_err(|e| config("cache", &e))?;
    let host = vector.get("host").map_or(Ok(Table::new()), |found| table("host", found))?;
    let host = HostConfig::from_table(&host, &device).map_err(|e| config("host", &e))?;

    let requests = list("requests", given(vector, "requests")?)?;
    let read = requests.iter().enumerate().map(|(i, found)| request(i, found));
    let read = read.collect::<Result<Vec<_>, _>>()?;
    let accesses = |length: u64| u128::from(length / u64::from(device.page_bytes)) + 2;
    if read.iter().map(|&(.., length)| accesses(length)).sum::<u128>() > MOST_ACCESSES.into() {
        let what = format!("more than {MOST_ACCESSES} page accesses: too many for a vector");
        return Err(malformed("requests", what));
    }
    let workload = Workload::new(read, &device).map_err(|e| config("requests", &e))?;

    let policy = cache.policy.clone().unwrap_or_else(|| "none".into());
    let setup = match &cache.policy {
        None => Setup::new(1),
        Some(name) => {
            let given =
                cache.params.iter().map(|(key, found)| (key.clone(), param(found))).collect();
            let spec = PolicySpec::new(name, given).map_err(|e| config("cache", &e))?;
            let drive = Device::new(&device);
            let params = spec.params(&nominal_times(&drive)).map_err(|e| config("cache", &e))?;
            let trace_pages = Some(workload.pages().into());
            on_drive(Setup { params, trace_pages, ..Setup::new(cache.frames) }, &drive)
        }
    };

    let mut unknown_keys = Vec::new();
    for key in vector.keys() {
        let known = ["name", "device", "ftl", "cache", "host", "requests"];
        let expected = ["completions_ns", "decisions", "counters"];
        if !known.contains(&key.as_str()) && !expected.contains(&key.as_str()) {
            note(&mut unknown_keys, key.clone());
        }
    }
    let completions_ns = vector.get("completions_ns").map(|found| times(found, requests.len()));
    let accesses = if cache.policy.is_some() { workload.accesses() } else { 0 };
    let decided =
        vector.get("decisions").map(|found| decisions(found, accesses, &mut unknown_keys));
    let counters = vector.get("counters").map(|found| {
        found.as_object().cloned().ok_or_else(|| unexpected("counters", "an object", found))
    });
    Ok(DeviceVector {
        name,
        policy,
        device,
        cache,
        host,
        setup,
        workload,
        requests: requests.len(),
        completions_ns: completions_ns.transpose()?,
        decisions: decided.transpose()?,
        counters: counters.transpose()?,
        unknown_keys,
    })
}

fn table(key: &str, found: &Json) -> Result<Table, Malformed> {
    let object = found.as_object().ok_or_else(|| unexpected(key, "an object", found))?;
    object
        .iter()
        .map(|(name, found)| {
            let value: Given = serde_json::from_value(found.clone()).map_err(|_| {
                let expected = "a number, a string, true, false or a list";
                unexpected(format!("{key}.{name}"), expected, found)
            })?;
            Ok((name.clone(), value))
        })
        .collect()
}

/// As the policies take it; what no parameter can be is refused there, by name.
fn param(found: &Given) -> Value {
    match found {
        Given::Null => Value::None,
        Given::Bool(b) => Value::Bool(*b),
        Given::Int(int) => Value::Int(*int),
        Given::Real(real) => Value::Real(*real),
        Given::Text(text) => Value::Text(text.clone()),
        list @ Given::List(_) => Value::Text(list.to_string()),
    }
}

fn request(i: usize, found: &Json) -> Result<(Nanos, Op, u64, u64), Malformed> {
    let Some([arrival, op, offset, length]) = found.as_array().map(Vec::as_slice) else {
        let expected = "a list [arrival_ns, \"r\" or \"w\", offset_bytes, length_bytes]";
        return Err(unexpected(format!("requests[{i}]"), expected, found));
    };
    let number = |k: usize, found: &Json| {
        let small = found.as_u64().filter(|&number| number < 1 << 62);
        small.ok_or_else(|| unexpected(format!("requests[{i}][{k}]"), "an integer 0..2^62", found))
    };
    let op = match op.as_str() {
        Some("r") => Op::Read,
        Some("w") => Op::Write,
        _ => return Err(unexpected(format!("requests[{i}][1]"), "\"r\" or \"w\"", op)),
    };
    Ok((number(0, arrival)?, op, number(2, offset)?, number(3, length)?))
}

fn times(found: &Json, requests: usize) -> Result<Vec<Nanos>, Malformed> {
    let entries = list("completions_ns", found)?;
    if entries.len() != requests {
        let what =
            format!("expected one per request ({requests}), found {} of them", entries.len());
        return Err(malformed("completions_ns", what));
    }
    let time = |(i, found): (usize, &Json)| {
        let ns = found.as_u64();
        ns.ok_or_else(|| unexpected(format!("completions_ns[{i}]"), "an integer >= 0", found))
    };
    entries.iter().enumerate().map(time).collect()
}

/// Writes down what a run decides, and when its requests complete.
struct Recorder<'a> {
    workload: &'a Workload,
    completions_ns: Vec<Nanos>,
    decisions: Vec<DeviceDecision>,
}

impl Observer for Recorder<'_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        let number = |page: Page| self.workload.lpn(page);
        let decision = match plan {
            None => Decision { hit, ..Decision::default() },
            Some(plan) => Decision::of(hit, plan, number),
        };
        self.decisions.push(DeviceDecision {
            index: self.decisions.len() as u64,
            op: if r.op.is_write() { 'w' } else { 'r' },
            page: r.lpn.0,
            decision,
        });
    }

    fn completed(&mut self, request: &Completed) {
        self.completions_ns[request.number as usize] = request.completion_ns;
    }
}

/// Runs a vector.
///
/// # Errors
///
/// As [`TimedReplay::run`].
pub(super) fn run_device(vector: &DeviceVector) -> Result<DeviceOutcome, RunError> {
    let mut device = Device::new(&vector.device);
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
    };
    let outcome = match &vector.cache.policy {
        None => {
            let outcome = replay.run_bare(&mut device, &mut recorder)?;
            recorder.decisions.clear(); // decisions are a cache's
            outcome
        }
        Some(name) => {
            let directory = destage_core::Dense::new(vector.workload.pages());
            let setup = vector.setup.clone().with_blocks_of(vector.workload.input().columns.lpns);
            let cache = &vector.cache;
            let visitor = Cached { replay, device: &mut device, cache, recorder: &mut recorder };
            build(name, &setup, directory, visitor)??
        }
    };
    let counters = match serde_json::to_value(&outcome.timing.counters) {
        Ok(Json::Object(counters)) => counters,
        _ => Map::new(),
    };
    let Recorder { completions_ns, decisions, .. } = recorder;
    Ok(DeviceOutcome { completions_ns, decisions, counters })
}

struct Cached<'a, 'b> {
    replay: TimedReplay<'a>,
    device: &'b mut Device,
    cache: &'b CacheConfig,
    recorder: &'b mut Recorder<'a>,
}

impl Visitor for Cached<'_, '_> {
    type Output = Result<TimedOutcome, RunError>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        self.replay.run(self.device, &mut policy, self.cache, self.recorder)
    }
}

impl DeviceVector {
    /// Where an outcome first differs: completions tell most, then decisions, then counters.
    pub(super) fn first_difference(&self, outcome: &DeviceOutcome) -> Option<Found> {
        let expected = self.decisions.iter().flatten();
        let mut pairs = expected.zip(&outcome.decisions);
        if let Some((expected, got)) = pairs.find(|(e, got)| !e.agrees(&got.decision)) {
            return Some(Found::Decision {
                access: got.index,
                op: got.op,
                page: got.page,
                expected: expected.clone(),
                got: got.decision.clone(),
            });
        }
        let expected = self.completions_ns.iter().flatten();
        let mut pairs = expected.zip(&outcome.completions_ns).enumerate();
        if let Some((request, (&expected, &got))) = pairs.find(|(_, (e, got))| e != got) {
            return Some(Found::Completion { request: request as u64, expected, got });
        }
        let differs = |(name, expected): (&String, &Json)| {
            let got = outcome.counters.get(name)?;
            let counter = name.clone();
            (got != expected).then(|| Found::Counter {
                counter,
                expected: expected.clone(),
                got: got.clone(),
            })
        };
        self.counters.iter().flatten().find_map(differs)
    }

    /// Keys that are compared with nothing, counters of unknown names among them.
    pub(super) fn not_compared(&self, outcome: &DeviceOutcome) -> Vec<String> {
        let mut keys = self.unknown_keys.clone();
        for name in self.counters.iter().flat_map(|counters| counters.keys()) {
            if !outcome.counters.contains_key(name) {
                note(&mut keys, format!("counters.{name}"));
            }
        }
        keys
    }
}
