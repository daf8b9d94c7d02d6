//! The product's side: one vector through the timed run.

use destage_core::{Dense, Op, Plan, Policy, Request};
use destage_engine::replay::Observer;
use destage_engine::run::RunError;
use destage_engine::timed::{TimedRun, Workload, run_bare, run_cached};
use destage_policies::{Setup, Visitor, build, check_params, params::Value};
use destage_ssd::config::{CacheConfig, DeviceConfig, HostConfig, Table, Value as Given};
use destage_ssd::device::Device;
use serde_json::{Value as Json, json};

/// `{completions_ns, decisions, counters}` of a vector's input, or why it is refused.
pub fn run(vector: &Json) -> Result<Json, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let config = DeviceConfig::from_table(&table(&vector["device"])?).map_err(|e| text(&e))?;
    let cache = CacheConfig::from_table(&table(&vector["cache"])?).map_err(|e| text(&e))?;
    let host = HostConfig::from_table(&table(&vector["host"])?, &config).map_err(|e| text(&e))?;
    let workload = workload(vector, &config)?;

    let Some(name) = cache.policy.as_deref() else {
        let mut device = Device::new(&config);
        let run = run_bare(&workload, &mut device, host).map_err(|e| text(&e))?;
        return Ok(results(&run, Vec::new()));
    };
    let given: Vec<(String, Value)> =
        cache.params.iter().map(|(key, value)| (key.clone(), param(value))).collect();
    let given = given.iter().map(|(key, value)| (key.as_str(), value));
    let params = check_params(name, given).map_err(|e| text(&e))?;
    let pages = Some(u64::from(workload.pages()));
    let setup = Setup { params, trace_pages: pages, ..Setup::new(cache.frames) };
    let directory = Dense::new(workload.pages());
    let mut device = Device::new(&config);
    let cached = Cached { workload: &workload, device: &mut device, cache: &cache, host };
    let outcome = build(name, &setup, directory, cached).map_err(|e| text(&e))?;
    let (run, decisions) = outcome.map_err(|e| text(&e))?;
    Ok(results(&run, decisions))
}

fn table(json: &Json) -> Result<Table, String> {
    match json {
        Json::Null => Ok(Table::new()),
        given => serde_json::from_value(given.clone()).map_err(|error| error.to_string()),
    }
}

fn param(value: &Given) -> Value {
    match value {
        Given::Int(int) => Value::Int(*int),
        Given::Real(real) => Value::Real(*real),
        Given::Bool(bool) => Value::Bool(*bool),
        Given::Text(text) => Value::Text(text.clone()),
        _ => Value::None,
    }
}

fn workload(vector: &Json, device: &DeviceConfig) -> Result<Workload, String> {
    let requests = vector["requests"].as_array().expect("a list").iter().map(|request| {
        let number = |i: usize| request[i].as_u64().expect("an integer");
        let op = if request[1] == "w" { Op::Write } else { Op::Read };
        (number(0), op, number(2), number(3))
    });
    Workload::new(requests, device).map_err(|error| error.to_string())
}

/// Every decision, as vectors write it.
struct Recorder<'a> {
    workload: &'a Workload,
    decisions: Vec<Json>,
}

impl Observer for Recorder<'_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        let none = Plan::new();
        let plan = plan.unwrap_or(&none);
        let evicted: Vec<u32> =
            plan.evicted().iter().map(|evicted| self.workload.lpn(evicted.page)).collect();
        let lpns = |pages: &[_]| pages.iter().map(|&page| self.workload.lpn(page)).collect();
        let flushed: Vec<Vec<u32>> = plan.groups().map(|(pages, _)| lpns(pages)).collect();
        self.decisions.push(json!({
            "index": self.decisions.len(),
            "op": if r.op.is_write() { "w" } else { "r" },
            "page": r.lpn.0,
            "hit": hit,
            "evicted": evicted,
            "flushed": flushed,
        }));
    }
}

struct Cached<'a> {
    workload: &'a Workload,
    device: &'a mut Device,
    cache: &'a CacheConfig,
    host: HostConfig,
}

impl Visitor for Cached<'_> {
    type Output = Result<(TimedRun, Vec<Json>), RunError>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        let mut recorder = Recorder { workload: self.workload, decisions: Vec::new() };
        let (cache, host) = (self.cache, self.host);
        let run = run_cached(self.workload, self.device, &mut policy, cache, host, &mut recorder)?;
        Ok((run, recorder.decisions))
    }
}

fn results(run: &TimedRun, decisions: Vec<Json>) -> Json {
    json!({
        "completions_ns": run.completions_ns,
        "decisions": decisions,
        "counters": run.counters,
    })
}
