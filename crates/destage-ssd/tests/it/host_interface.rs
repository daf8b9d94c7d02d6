//! The conformance vectors of a current SSD without a cache (`docs/spec/device-today.md` 12):
//! every completion and every counter.

use destage_core::{Nanos, Op};
use destage_ssd::config::{FlushMode, HostMode, Table, TrimMode};
use destage_ssd::{Command, Device, DeviceConfig, DriveLpn, Ftl, HostConfig, WriteHint};
use serde_json::{Value as Json, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::path::Path;

fn vectors() -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/device-today.jsonl");
    let text = std::fs::read_to_string(path).expect("a shipped file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn table(json: &Json) -> Table {
    serde_json::from_value(json.clone()).expect("a table of numbers, words and lists")
}

/// A request as a vector has it.
struct Request<'a> {
    arrival: Nanos,
    op: &'a str,
    offset: u64,
    length: u64,
}

impl Request<'_> {
    fn of(json: &Json) -> Request<'_> {
        let number = |i: usize| json[i].as_u64().expect("an integer");
        let op = json[1].as_str().expect("a letter");
        Request { arrival: number(0), op, offset: number(2), length: number(3) }
    }

    fn pages(&self, page: u64) -> Range<u64> {
        let end = self.offset + self.length;
        match (self.op, self.length) {
            (_, 0) => 0..0,
            ("t", _) => self.offset.div_ceil(page)..end / page,
            _ => self.offset / page..(end - 1) / page + 1,
        }
    }
}

/// Serves a request: when it completes, and how many pages it touched.
fn serve(device: &mut Device, request: &Request<'_>, config: &DeviceConfig, now: Nanos) -> Nanos {
    let pages = request.pages(config.page_bytes.into());
    let lpns = pages.map(|page| DriveLpn((page % u64::from(config.logical_pages)) as u32));
    let mut end = now;
    match request.op {
        "f" => {
            return {
                let processed = device.command(Command::Other);
                let drained = device.drained(processed);
                device.queues().times().evaluate();
                device.queues().times().instant(drained).expect("first come, first served")
            };
        }
        "t" => {
            if request.length > 0 {
                end = device.command(Command::Other);
            }
            lpns.for_each(|lpn| {
                device.trim(lpn);
            });
        }
        op => {
            let op = if op == "w" { Op::Write } else { Op::Read };
            if request.length > 0 {
                device.command(Command::Access(op));
            }
            let hint = WriteHint { bytes: request.length, label: 0 };
            for lpn in lpns {
                let served = match op {
                    Op::Write => Some(device.write_as(lpn, hint)),
                    Op::Read => device.read(lpn),
                };
                let done = served.map(|served| served.end.known().expect("first come"));
                end = end.max(done.unwrap_or(now));
                if let (Op::Read, Some(served)) = (op, served) {
                    let transferred = served.transferred.known();
                    assert_eq!(transferred, done, "a read ends when its data are with the host");
                }
            }
        }
    }
    end
}

/// Completions, and the sums that the host counts.
fn run(
    vector: &Json,
    config: &DeviceConfig,
    host: &HostConfig,
    device: &mut Device,
) -> (Vec<Nanos>, Json) {
    device.count_interface();
    if host.flush == FlushMode::Drain {
        device.serve_flushes();
    }
    let (mut outstanding, mut issue) = (BinaryHeap::new(), 0);
    let mut ends = Vec::new();
    let mut responses = BTreeMap::<&str, Vec<Nanos>>::new();
    let mut accesses = 0;
    for request in vector["requests"].as_array().expect("a list").iter().map(Request::of) {
        let ignored = match request.op {
            "t" => host.trim == TrimMode::Ignore,
            "f" => host.flush == FlushMode::Ignore,
            _ => false,
        };
        if ignored {
            continue;
        }
        let now = match host.mode {
            HostMode::Open => request.arrival,
            HostMode::Closed if outstanding.len() < host.queue_depth as usize => issue,
            HostMode::Closed => {
                let Reverse(first): Reverse<Nanos> = outstanding.pop().expect("not empty");
                issue.max(first)
            }
        };
        issue = now;
        device.advance(now);
        let end = serve(device, &request, config, now);
        outstanding.push(Reverse(end));
        ends.push(end);
        responses.entry(request.op).or_default().push(end - now);
        if matches!(request.op, "r" | "w") {
            accesses += request.pages(config.page_bytes.into()).count();
        }
    }
    device.finish();
    device.ftl().check();
    assert_eq!(device.check_conservation(), Ok(()));
    let own = own(&ends, &responses, accesses);
    let mut counters = json!(device.counters());
    counters["read_misses"] = counters["flash_reads"].clone();
    let object = counters.as_object_mut().expect("an object");
    object.extend(own.as_object().expect("an object").clone());
    (ends, counters)
}

/// Counters of the host.
fn own(ends: &[Nanos], responses: &BTreeMap<&str, Vec<Nanos>>, accesses: usize) -> Json {
    let of = |op: &str| responses.get(op).cloned().unwrap_or_default();
    let (reads, writes, flushes) = (of("r"), of("w"), of("f"));
    json!({
        "requests": ends.len(),
        "page_accesses": accesses,
        "read_requests": reads.len(),
        "read_response_ns_sum": reads.iter().sum::<Nanos>(),
        "read_response_ns_max": reads.iter().max().unwrap_or(&0),
        "write_requests": writes.len(),
        "write_response_ns_sum": writes.iter().sum::<Nanos>(),
        "write_response_ns_max": writes.iter().max().unwrap_or(&0),
        "makespan_ns": ends.iter().max(),
        "trim_requests": of("t").len(),
        "flush_requests": flushes.len(),
        "flush_wait_ns_sum": flushes.iter().sum::<Nanos>(),
    })
}

#[test]
fn every_vector_without_a_cache_has_every_completion_and_counter() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for vector in vectors().iter().filter(|vector| vector["cache"]["policy"] == "none") {
        let name = &vector["name"];
        let of = |key: &str| vector.get(key).map(table).unwrap_or_default();
        let config = DeviceConfig::from_table(&of("device")).expect("a good device");
        let config = config.with_placement(&of("placement")).expect("a good placement");
        let host = HostConfig::from_table(&of("host"), &config).expect("a good host");
        let mut device = Device::new(&config);
        let mut results = run(vector, &config, &host, &mut device);
        if let Some(future) = device.future() {
            results = run(vector, &config, &host, &mut device.foreseeing(&future));
        }
        let (completions_ns, counters) = results;
        let expected = vector["completions_ns"].as_array().expect("a list");
        assert_eq!(completions_ns.len(), expected.len(), "{name}");
        let differs = completions_ns.iter().zip(expected).position(|(got, e)| json!(got) != *e);
        if let Some(at) = differs {
            wrong.push(format!("{name}: {at}: {} {}", completions_ns[at], expected[at]));
        }
        for (key, expected) in vector["counters"].as_object().expect("an object") {
            // Without a cache nothing hits and nothing is evicted: the host counts nothing there.
            let got = counters.get(key).cloned().unwrap_or(json!(0));
            if got != *expected {
                wrong.push(format!("{name}: {key}: {got} {expected}"));
            }
        }
        tried += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(tried, 30);
}
