//! The vectors of the device whose policy is in the table: completions, decisions, counters.

use super::*;
use crate::replay::Unobserved;
use destage_core::Dense;
use destage_policies::{POLICIES, Setup, Visitor, build, check_params, params::Value};
use destage_ssd::config::{Table, Value as Given};
use serde_json::{Value as Json, json};
use std::path::Path;

fn vectors(file: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let text = std::fs::read_to_string(path).expect("a shipped file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn table(json: &Json) -> Table {
    serde_json::from_value(json.clone()).expect("a table")
}

/// Every decision, as vectors write it.
struct Recorder<'a>(&'a Workload, Vec<Json>);

impl Observer for Recorder<'_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        let none = Plan::new();
        let plan = plan.unwrap_or(&none);
        let lpn = |page: &Page| self.0.lpn(*page);
        let evicted: Vec<u32> = plan.evicted().iter().map(|e| lpn(&e.page)).collect();
        let flushed: Vec<Vec<u32>> =
            plan.groups().map(|(pages, _)| pages.iter().map(lpn).collect()).collect();
        let op = if r.op.is_write() { "w" } else { "r" };
        self.1.push(json!({
            "index": self.1.len(), "op": op, "page": r.lpn.0,
            "hit": hit, "evicted": evicted, "flushed": flushed,
        }));
    }
}

struct Cached<'a>(&'a Workload, &'a mut Device, &'a CacheConfig, HostConfig);

impl Visitor for Cached<'_> {
    type Output = Result<(TimedRun, Vec<Json>), RunError>;
    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        let Cached(workload, device, cache, host) = self;
        let mut recorder = Recorder(workload, Vec::new());
        let run = run_cached(workload, device, &mut policy, cache, host, &mut recorder)?;
        Ok((run, recorder.1))
    }
}

fn workload(vector: &Json, device: &DeviceConfig) -> Workload {
    let requests = vector["requests"].as_array().expect("a list").iter().map(|request| {
        let number = |i: usize| request[i].as_u64().expect("an integer");
        let op = if request[1] == "w" { Op::Write } else { Op::Read };
        (number(0), op, number(2), number(3))
    });
    Workload::new(requests, device).expect("requests on the drive")
}

/// `None` if the policy is not in the table.
fn run(vector: &Json) -> Option<(TimedRun, Vec<Json>)> {
    let config = DeviceConfig::from_table(&table(&vector["device"])).expect("a good device");
    let cache = CacheConfig::from_table(&table(&vector["cache"])).expect("a good cache");
    let host = vector.get("host").map(table).unwrap_or_default();
    let host = HostConfig::from_table(&host, &config).expect("a good host");
    let workload = workload(vector, &config);
    let mut device = Device::new(&config);
    let Some(name) = cache.policy.as_deref() else {
        let run = run_bare(&workload, &mut device, host).expect("nothing can go wrong");
        return Some((run, Vec::new()));
    };
    POLICIES.iter().find(|info| info.name == name)?;
    let given: Vec<(String, Value)> = cache
        .params
        .iter()
        .map(|(key, value)| match value {
            Given::Int(int) => (key.clone(), Value::Int(*int)),
            Given::Real(real) => (key.clone(), Value::Real(*real)),
            Given::Text(text) => (key.clone(), Value::Text(text.clone())),
            other => panic!("{key} = {other}"),
        })
        .collect();
    let params = check_params(name, given.iter().map(|(k, v)| (k.as_str(), v))).expect("good");
    let setup = Setup { params, ..Setup::new(cache.frames) };
    let cached = Cached(&workload, &mut device, &cache, host);
    let directory = Dense::new(workload.pages());
    Some(build(name, &setup, directory, cached).expect("in the table").expect("page-granular"))
}

#[test]
fn every_vector_of_a_policy_in_the_table_has_its_completions_decisions_and_counters() {
    let mut passed = 0;
    for vector in vectors("device.jsonl").into_iter().chain(vectors("device-policies.jsonl")) {
        let name = &vector["name"];
        let Some((run, decisions)) = run(&vector) else { continue };
        assert_eq!(json!(decisions), vector["decisions"], "{name}");
        assert_eq!(json!(run.completions_ns), vector["completions_ns"], "{name}");
        let counters = json!(run.counters);
        for (key, expected) in vector["counters"].as_object().expect("an object") {
            assert_eq!(counters[key], *expected, "{name}: {key}");
        }
        passed += 1;
    }
    assert_eq!(passed, 27 + 30, "without a cache, and of every policy");
}

#[test]
fn what_a_timed_run_does_not_supply_is_an_error() {
    let vector = &vectors("device-policies.jsonl")[0];
    let config = DeviceConfig::from_table(&table(&vector["device"])).expect("good");
    let cache = CacheConfig::from_table(&table(&vector["cache"])).expect("good");
    let host = HostConfig::from_table(&Table::new(), &config).expect("good");
    let workload = workload(vector, &config);
    let mut device = Device::new(&config);
    let cached = Cached(&workload, &mut device, &cache, host);
    let setup = Setup { trace_pages: Some(workload.pages().into()), ..Setup::new(4) };
    let directory = Dense::new(workload.pages());
    let refused = build("min", &setup, directory, cached).expect("in the table");
    let text = refused.expect_err("it needs the future").to_string();
    assert!(text.contains("looks at future accesses"), "{text}");
}

#[test]
fn a_page_beyond_the_drive_and_an_arrival_in_the_past_are_errors_before_the_run() {
    let mut strict = Table::new();
    strict.insert("address_mode".into(), Given::Text("error".into()));
    let config = DeviceConfig::from_table(&strict).expect("good");
    let beyond = u64::from(config.logical_pages) * 4096;
    let error = |requests: &[(Nanos, Op, u64, u64)]| {
        Workload::new(requests.iter().copied(), &config).expect_err("refused").to_string()
    };
    assert!(error(&[(0, Op::Read, beyond, 1)]).contains("request 0: page 3481 is beyond"));
    let text = error(&[(5, Op::Read, 0, 1), (4, Op::Read, 0, 1)]);
    assert_eq!(text, "request 1: it arrives at 4 ns, after 5 ns");
    assert!(Workload::new([(0, Op::Read, beyond - 1, 1)], &config).is_ok());
}

#[test]
fn an_observer_is_not_needed() {
    let vector = &vectors("device-policies.jsonl")[0];
    let config = DeviceConfig::from_table(&table(&vector["device"])).expect("good");
    let cache = CacheConfig::from_table(&table(&vector["cache"])).expect("good");
    let host = HostConfig::from_table(&Table::new(), &config).expect("good");
    let workload = workload(vector, &config);
    let mut device = Device::new(&config);
    let mut lru = destage_policies::lru::Lru::new(&Setup::new(40), Dense::new(workload.pages()));
    let run = run_cached(&workload, &mut device, &mut lru, &cache, host, &mut Unobserved);
    assert_eq!(json!(run.expect("a run").completions_ns), vector["completions_ns"]);
}
